import type { Database } from 'better-sqlite3'
import BetterSqlite3 from 'better-sqlite3'
import { expect } from 'vitest'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { dumpOf, expectFailure } from '../support/failures.ts'
import { type Fault, FaultySet } from './faults.ts'
import { standingOf } from './standing.ts'
import { fill, S, type WritingVerb } from './verbs.ts'

/** A store on a copy of the same filled database, and what a verb needs made. */
type Arranged = {
  readonly database: Database
  readonly store: Store
  readonly arranged: never
}

let filled: Buffer | undefined

/** The filled database, made once: a copy of it takes no time. */
export async function filledDatabase(): Promise<Buffer> {
  if (filled !== undefined) return filled
  const database = new BetterSqlite3(':memory:')
  await fill(await openStore(database))
  filled = database.serialize()
  database.close()
  return filled
}

/** The same for a verb: a connection that has prepared nothing yet, unless what it needs lives in the store. */
async function arranger(verb: WritingVerb, set: FaultySet): Promise<() => Promise<Arranged>> {
  const arrangeAnew = async (): Promise<Arranged> => {
    const database = new BetterSqlite3(await filledDatabase())
    set.lay(database)
    const store = await openStore(database)
    return { database, store, arranged: (await verb.arrange?.(store, database)) as never }
  }
  if (verb.keepsStore === true) return arrangeAnew
  const { database, arranged } = await arrangeAnew()
  const copy = database.serialize()
  database.close()
  return async () => {
    const own = new BetterSqlite3(copy)
    set.lay(own)
    return { database: own, store: await openStore(own), arranged }
  }
}

/** What came of a verb whose statements failed one after the other. */
export type Sweep = {
  /** Statements of the verb when nothing fails, those that are prepared included. */
  readonly statements: number
  /** Faults met. */
  readonly faults: number
  /** Faults after which the verb was refused and nothing was done. */
  readonly refused: number
  /** Statements after which the verb was refused although its work was done. */
  readonly refusedDone: ReadonlySet<string>
  /** Statements whose failure the verb lived through. */
  readonly survived: ReadonlySet<string>
  /** Statements whose failure left a lease. */
  readonly leases: ReadonlySet<string>
}

/**
 * Lets the first statement of a verb fail, then the second, and so on, until the verb runs through without meeting
 * a fault; and holds the store to its promises after each. As long as nothing was changed the same store goes on, so
 * that the verb is tried again after every failure.
 */
export async function sweep(
  verb: WritingVerb,
  faultsOf: (sql: string, times: number) => readonly Fault[],
): Promise<Sweep> {
  const { after, unchanged, half, statements } = await reference(verb)
  const [refusedDone, survived, leases] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const set = new FaultySet(faultsOf)
  const arrange = await arranger(verb, set)
  let [faults, refused] = [0, 0]
  let one = await arrange()
  for (;;) {
    const { store, database, arranged } = one
    const before = database.serialize()
    const { error, watch } = await set.during(() => verb.act(store, arranged))
    const { failed } = watch
    if (failed === undefined) {
      expect(error, `${verb.name} without a fault`).toBeUndefined()
      expectSame(await standingOf(store, database), after, verb.name)
      database.close()
      return { statements, faults, refused, refusedDone, survived, leases }
    }
    faults += 1
    const what = `${verb.name}, statement ${watch.count}, ${failed.fault.name}: ${failed.sql}`
    expect(database.inTransaction, `${what}: an open transaction`).toBe(false)
    if (error !== undefined) expectFailure(error, failed.fault.code, what)
    if (isUnchanged(database, before)) {
      expect(error, `${what}: nothing was said, and nothing done`).toBeDefined()
      refused += 1
      continue
    }
    expect(watch.commits, `${what}: something changed without a commit`).toBeGreaterThan(0)
    const rest = await standingOf(store, database, 'without attempts')
    // Where an attempt is all there is, only a closer look tells.
    const isDone = same(unchanged.before, unchanged.after)
      ? same(await standingOf(store, database), after)
      : same(rest, unchanged.after)
    const isHalf = !isDone && half !== undefined && same(rest, half)
    const expected = isDone ? unchanged.after : isHalf ? half : unchanged.before
    expectSame(rest, expected, `${what}: neither as before nor as after`)
    if (error === undefined) {
      expect(isDone, `${what}: nothing was said, and not everything done`).toBe(true)
      survived.add(failed.sql)
    } else if (isDone) refusedDone.add(failed.sql)
    else refused += 1
    if (holdsLease(database)) leases.add(failed.sql)
    if (isHalf) await checkInOrder(store, what)
    else await checkUsable(one, verb, isDone, unchanged.after, what)
    database.close()
    one = await arrange()
  }
}

type Reference = {
  readonly after: unknown
  /** The same without attempts at summaries: those are noted whatever comes of them. */
  readonly unchanged: { readonly before: unknown; readonly after: unknown }
  /** The same after the first of two transactions; `undefined` for a verb of one. */
  readonly half: unknown
  readonly statements: number
}

/** The verb when nothing fails. */
async function reference(verb: WritingVerb): Promise<Reference> {
  const set = new FaultySet(() => [])
  const { database, store, arranged } = await (await arranger(verb, set))()
  const look = async (): Promise<[unknown, unknown]> => [
    await standingOf(store, database),
    await standingOf(store, database, 'without attempts'),
  ]
  const [before, restBefore] = await look()
  const { error, watch } = await set.during(() => verb.act(store, arranged))
  if (error !== undefined) throw error
  const [after, restAfter] = await look()
  expect(same(before, after), `${verb.name} changes something`).toBe(false)
  database.close()
  const { first, ...rest } = verb
  const half = first && (await reference({ ...rest, act: first }))
  return {
    after,
    unchanged: { before: restBefore, after: restAfter },
    half: half?.unchanged.after,
    statements: watch.count,
  }
}

/** What came of a verb on a disk with less and less missing. */
export type Filling = { readonly refused: number; readonly rolledBack: number }

/**
 * A disk that is really full: the database may grow by no page, then by one, by two, until the verb runs through.
 * SQLite then takes some transactions back by itself; and nothing else can be written either until there is room.
 */
export async function fillDisk(verb: WritingVerb): Promise<Filling> {
  const { unchanged, half } = await reference(verb)
  let [refused, rolledBack] = [0, 0]
  const set = new FaultySet(() => [])
  const arrange = await arranger(verb, set)
  for (let pages = 0; ; pages++) {
    const one = await arrange()
    const { store, database, arranged } = one
    const before = database.serialize()
    database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true })) + pages}`)
    const { error, watch } = await set.during(() => verb.act(store, arranged))
    database.pragma('max_page_count = 1000000')
    const what = `${verb.name}, room for ${pages} pages`
    if (error === undefined) {
      expectSame(await standingOf(store, database, 'without attempts'), unchanged.after, what)
      database.close()
      return { refused, rolledBack }
    }
    refused += 1
    if (watch.rolledBack > 0) rolledBack += 1
    expectFailure(error, 'STORE_FULL', what)
    expect(database.inTransaction, what).toBe(false)
    const rest = await standingOf(store, database, 'without attempts')
    const isHalf = half !== undefined && same(rest, half)
    if (!isHalf && !isUnchanged(database, before)) expectSame(rest, unchanged.before, what)
    if (isHalf) await checkInOrder(store, what)
    else await checkUsable(one, verb, false, unchanged.after, what)
    database.close()
  }
}

/** Whether every row is as it was; usually the very bytes are. */
function isUnchanged(database: Database, before: Buffer): boolean {
  if (database.serialize().equals(before)) return true
  const other = new BetterSqlite3(before)
  const isSame = dumpOf(database) === dumpOf(other)
  other.close()
  return isSame
}

function expectSame(actual: unknown, expected: unknown, what: string): void {
  if (!same(actual, expected)) expect(actual, what).toEqual(expected)
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Whatever failed, the session is in order, and the same verb does its work now or says that it was done. */
async function checkUsable(
  { store, database, arranged }: Arranged,
  verb: WritingVerb,
  isDone: boolean,
  after: unknown,
  what: string,
): Promise<void> {
  if (verb.repairs !== true || isDone) await checkInOrder(store, what)
  const outcome = await outcomeOf(() => verb.act(store, arranged))
  if (isDone) expect(['done', verb.again ?? 'done'], `${what}: tried again`).toContain(outcome)
  else {
    expect(outcome, `${what}: tried again`).toBe('done')
    expectSame(await standingOf(store, database, 'without attempts'), after, `${what}: tried again`)
  }
}

export async function checkInOrder(store: Store, what: string): Promise<void> {
  for (const { id } of await store.sessions.list())
    expect((await store.sessions.verify(id)).findings, `${what}: sessions.verify of ${id}`).toEqual([])
}

async function outcomeOf(act: () => Promise<unknown>): Promise<string> {
  try {
    await act()
    return 'done'
  } catch (error) {
    return isUndertextError(error) ? error.code : (error as Error).message
  }
}

function holdsLease(database: Database): boolean {
  const row = database
    .prepare('select 1 from undertext_sessions where id = ? and lease_run is not null')
    .get(S)
  return row !== undefined
}
