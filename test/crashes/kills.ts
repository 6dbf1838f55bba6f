import { rmSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import type { Database } from '../../src/storage/sqlite/driver.ts'
import { randomFrom } from '../support/random.ts'
import type { Job, Report } from './child.ts'
import type { Children } from './children.ts'
import {
  ENABLING,
  isWork,
  KILLED_VERBS,
  type KilledVerb,
  type Operation,
  prepare,
  slowModel,
} from './operations.ts'
import { standingOf } from './standing.ts'

/**
 * What was killed, by the verb in flight, and how it was found; `opening` is one too, `nothing` was between two verbs.
 * `worked` counts how often the verb was acknowledged and had done something.
 */
export class Tally extends Map<string, { before: number; after: number; worked: number }> {
  of(name: string): { before: number; after: number; worked: number } {
    const count = this.get(name) ?? { before: 0, after: 0, worked: 0 }
    this.set(name, count)
    return count
  }
}

/** What processes are killed in. */
export const VICTIMS: readonly (KilledVerb | 'opening')[] = [...KILLED_VERBS, 'opening']

/** The same in another order. */
export function shuffled<T>(all: readonly T[], seed: number): T[] {
  const random = randomFrom(seed)
  return all
    .map((one) => [random(), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one)
}

/** Everything of a round of kills on one file that is kept from kill to kill. */
type Round = {
  readonly children: Children
  readonly file: string
  readonly durability: Job['durability']
  /** A store in memory to which the same is done: what the file must be. */
  readonly shadow: Store
  readonly shadowDatabase: Database
  readonly random: () => number
  readonly tally: Tally
  next: number
}

/** How long verbs take, and of how many statements they are, as the children say. */
const typical = new Map<string, { ms: number; statements: number }>([['opening', { ms: 6, statements: 30 }]])

const UNKNOWN = { ms: 3, statements: 20 }

/** Statements are counted only where a process is to die at one of them. */
function learn(verb: string, ms: number, statements: number): void {
  const known = typical.get(verb) ?? { ...UNKNOWN, ms }
  typical.set(verb, {
    ms: (known.ms + ms) / 2,
    statements: statements === 0 ? known.statements : Math.ceil((known.statements + statements) / 2),
  })
}

/**
 * Works on one new file with a process for each of the verbs named, kills each process in that verb, and holds the
 * file after each to what was acknowledged.
 */
export async function killRound(
  children: Children,
  seed: number,
  verbs: readonly (KilledVerb | 'opening')[],
  tally: Tally,
): Promise<void> {
  const random = randomFrom(seed)
  const shadowDatabase = new BetterSqlite3(':memory:')
  const round: Round = {
    children,
    file: join(children.folder, `${seed}.db`),
    durability: seed % 2 === 0 ? 'full' : 'normal',
    shadow: await openStore(shadowDatabase),
    shadowDatabase,
    random,
    tally,
    next: 1,
  }
  for (const [index, verb] of verbs.entries()) {
    const what = `seed ${seed} (${round.durability}), kill ${index}, ${verb}`
    try {
      await killOnce(round, verb, what)
    } catch (error) {
      throw (error as Error).message.startsWith(what) ? error : new Error(what, { cause: error })
    }
  }
  shadowDatabase.close()
  for (const ending of ['', '-wal', '-shm']) rmSync(round.file + ending, { force: true })
}

async function killOnce(round: Round, verb: KilledVerb | 'opening', what: string): Promise<void> {
  const { random } = round
  const session = random() < 0.6 ? 's0' : 's1'
  const any = (): KilledVerb => KILLED_VERBS[Math.floor(random() * KILLED_VERBS.length)]!
  const before: KilledVerb[] = [...(random() < 0.5 ? [any()] : []), 'append a batch']
  const target = verb === 'opening' ? [] : [...(ENABLING[verb] ?? []), verb]
  const operations = [...before, ...target, any()].map((one): Operation => {
    const pick = (): number => Math.floor(random() * 2 ** 20)
    return { number: round.next++, verb: one, session, picks: [pick(), pick(), pick()] }
  })
  const during = verb === 'opening' ? verb : operations[before.length + target.length - 1]!.number
  const { ms, statements } = typical.get(verb) ?? UNKNOWN
  const death =
    random() < 0.5
      ? { during, afterMs: random() * 1.2 * ms }
      : { during, atStatement: 1 + Math.floor(random() * 1.3 * statements) }
  const { file, durability } = round
  const reports = await round.children.run({ file, durability, operations, death })
  const kill = 'afterMs' in death ? `after ${death.afterMs} ms` : `at statement ${death.atStatement}`
  await check(round, operations, reports, session, `${what}, ${kill}`)
}

/** Does in the shadow what the child said was done, and holds the file to it. */
async function check(
  round: Round,
  operations: readonly Operation[],
  reports: readonly Report[],
  session: string,
  what: string,
): Promise<void> {
  const { shadow, shadowDatabase, tally } = round
  const byNumber = new Map(operations.map((operation) => [operation.number, operation] as const))
  let inFlight: Operation | 'opening' | undefined
  for (const report of reports) {
    if (report.event === 'ready' || report.event === 'end') continue
    if (report.event === 'begun')
      inFlight = report.number === 'opening' ? 'opening' : byNumber.get(report.number)
    if (report.event !== 'done') continue
    inFlight = undefined
    if (report.number === 'opening') {
      learn('opening', report.ms, report.statements)
      continue
    }
    const operation = byNumber.get(report.number)!
    const act = await prepare(shadow, operation)
    expect(act, `${what}: ${operation.verb} had something to do`).toBeDefined()
    const outcome = JSON.parse(JSON.stringify((await act!()) ?? null))
    expect(report.outcome, `${what}: what ${operation.verb} answered`).toEqual(outcome)
    learn(operation.verb, report.ms, report.statements)
    if (isWork(outcome)) tally.of(operation.verb).worked += 1
  }

  const database = new BetterSqlite3(round.file)
  const store = await openStore(round.file, { durability: round.durability })
  try {
    expect(database.pragma('integrity_check', { simple: true }), what).toBe('ok')
    const found = JSON.stringify(await standingOf(store, database))
    const isBefore = found === JSON.stringify(await standingOf(shadow, shadowDatabase))
    const name = typeof inFlight === 'object' ? inFlight.verb : (inFlight ?? 'nothing')
    if (!isBefore && typeof inFlight === 'object') await (await prepare(shadow, inFlight))!()
    const flying = `${what}; in flight: ${name}`
    if (!isBefore)
      expect(JSON.parse(found), `${flying}: neither as before nor as after`).toEqual(
        await standingOf(shadow, shadowDatabase),
      )
    tally.of(name)[isBefore ? 'before' : 'after'] += 1
    await checkUsable(round, store, session, flying)
    expect(JSON.stringify(await standingOf(store, database)), `${flying}: works on`).toBe(
      JSON.stringify(await standingOf(shadow, shadowDatabase)),
    )
  } finally {
    await store.close()
    database.close()
  }
}

/** Nobody stands in the way, everything is in order, and the store can be worked with; the shadow does the same. */
async function checkUsable({ shadow }: Round, store: Store, session: string, what: string): Promise<void> {
  for (const { id } of [...(await store.sessions.list()), ...(await store.sessions.list({ archived: true }))])
    expect((await store.sessions.verify(id)).findings, `${what}: sessions.verify of ${id}`).toEqual([])
  const config = { targetTokens: 200, keepRecentTokens: 50, waitMs: 0, summarizer: slowModel(0) }
  for (const one of [store, shadow]) {
    await one.append(session, [{ role: 'user', content: 'Still there?' }])
    // With no time to wait: a lease of the dead must not stand in the way.
    const run = await one.compactSession(session, config)
    if (run!.compacted) expect((await one.undoCompaction(session, run!.runId)).changed, what).toBe(true)
    const left = (await one.listCompactions(session)).filter(({ status }) => status === 'running')
    expect(left, `${what}: attempts that nobody works on`).toEqual([])
  }
  expect((await store.sessions.verify(session)).findings, what).toEqual([])
}
