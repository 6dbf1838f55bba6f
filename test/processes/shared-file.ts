import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type CompactionConfig, openStore, type Store, type StoredMessage } from '../../src/index.ts'
import { ONLY } from '../storage/contract/support.ts'
import { historyOf, shapeIn, unexplained } from './explain.ts'
import type { Fleet } from './fleet.ts'
import type { Outcomes, Sent } from './jobs.ts'
import { TURN_LENGTH, turnOf } from './turns.ts'

/** One round of every kind of compaction, over and over, each down to a few turns of the newest. */
export const EVERY_KIND: readonly CompactionConfig[] = [
  { ...ONLY.prune, targetTokens: 0, pruneProtectTokens: 200, pruneMinimumSavings: 0 },
  { ...ONLY.summarize, targetTokens: 400, keepRecentTokens: 300 },
  { ...ONLY.truncate, targetTokens: 700 },
  { targetTokens: 900, keepRecentTokens: 300, pruneProtectTokens: 100, pruneMinimumSavings: 0 },
]

/** What may become of a compaction while others change the session. Source: the doc comment of `compactSession`. */
const COMPACTING = [
  'compacted',
  'NOTHING_TO_COMPACT',
  'NO_PROGRESS',
  'SUMMARY_FAILED',
  'STALE_PLAN',
  'COMPACTION_IN_PROGRESS',
]
/** The same for an undo and a redo. */
const UNDOING = ['undo', 'redo', 'unchanged', 'nothing there', 'HAS_ACTIVE_DEPENDENTS', 'INPUT_NOT_VISIBLE']

export function freshFolder(): { readonly folder: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-processes-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export function expectOutcomes(outcomes: Outcomes, allowed: readonly string[]): void {
  expect(
    Object.keys(outcomes).filter((word) => !allowed.includes(word)),
    JSON.stringify(outcomes),
  ).toEqual([])
}

/** How many of the fleet do what. The rest stand by. */
export type Crew = {
  readonly appenders: number
  readonly compactors: number
  readonly undoers: number
  readonly readers: number
}

/**
 * Lets a crew loose on sessions of one file: appenders send their turns to all of them, the others work on the
 * first. Then holds the file to what everybody was told.
 */
export async function crowd(
  fleet: Fleet,
  file: string,
  sessions: readonly string[],
  crew: Crew,
  turns: number,
): Promise<void> {
  const session = sessions[0]!
  await makeSessions(file, sessions)
  const members = [...fleet.members]
  const take = (count: number) => members.splice(0, count)
  const [appenders, compactors, undoers, readers] = [
    take(crew.appenders),
    take(crew.compactors),
    take(crew.undoers),
    take(crew.readers),
  ]
  const compacting = compactors.map((member, at) =>
    member.do('compact', { file, session, name: `compactor ${at}`, configs: EVERY_KIND }),
  )
  const undoing = undoers.map((member, at) =>
    member.do('undo', { file, session, name: `undoer ${at}`, seed: at + 1 }),
  )
  const reading = readers.map((member) => member.do('watch', { file, session }))
  const appended = await Promise.all(
    appenders.map((member, at) =>
      member.do('append', { file, sessions, name: `sender ${at}`, turns, pauseMs: 8 }),
    ),
  )
  for (const member of [...compactors, ...undoers]) member.stop()
  const [compacted, undone] = [await Promise.all(compacting), await Promise.all(undoing)]
  for (const member of readers) member.stop()
  const seen = await Promise.all(reading)

  for (const { outcomes } of appended) expect(outcomes).toEqual({ appended: turns * sessions.length })
  for (const outcomes of compacted) expectOutcomes(outcomes, COMPACTING)
  for (const outcomes of undone) expectOutcomes(outcomes, UNDOING)
  const store = await openStore(file)
  const history = await historyOf(store, session)
  const length = TURN_LENGTH * (1 + turns * appenders.length)
  for (const { problems, shapes, stored, compared } of seen) {
    expect(problems).toEqual([])
    expect(unexplained(history, shapes)).toBeUndefined()
    expect(unexplained(history, stored)).toBeUndefined()
    expect(shapes.at(-1)).toBe(shapeIn(history, history.states.length - 1, length))
    expect(compared).toBeGreaterThan(0)
    // A reader that saw one view only would prove nothing.
    expect(shapes.length).toBeGreaterThan(2)
  }
  for (const one of sessions)
    await expectWhole(
      store,
      one,
      appended.map(({ sent }) => sent),
      turns,
    )
  await store.close()
}

/** Every session begins with one turn, so that it is there for all. */
async function makeSessions(file: string, sessions: readonly string[]): Promise<void> {
  const store = await openStore(file)
  for (const session of sessions) await store.append(session, turnOf('first', 1))
  await store.close()
}

/** Nothing is lost, nothing is there twice, everybody's turns stand in the order they were sent; and all of it comes back. */
async function expectWhole(
  store: Store,
  session: string,
  sent: readonly (readonly Sent[])[],
  turns: number,
): Promise<void> {
  expect((await store.sessions.verify(session)).findings).toEqual([])
  const log = (await store.getMessages(session)).filter(({ position }) => position !== undefined)
  const length = TURN_LENGTH * (1 + turns * sent.length)
  expect(log.map(({ position }) => position)).toEqual(Array.from({ length }, (_, at) => at + 1))
  sent.forEach((all, sender) => {
    const own = all.filter((one) => one.session === session)
    expect(own.map(({ turn }) => turn)).toEqual(Array.from({ length: turns }, (_, at) => at + 1))
    expect([...own].sort((a, b) => a.position - b.position)).toEqual(own)
    for (const { turn, position } of own)
      expect(log.slice(position - 1, position - 1 + TURN_LENGTH).map(bodyOf)).toEqual(
        turnOf(`sender ${sender}`, turn),
      )
  })
  for (const { id } of (await store.listCompactions(session)).reverse())
    await store.undoCompaction(session, id, { cascade: true })
  const view = await store.getEffectiveHistory(session)
  expect(view.map(bodyOf)).toEqual(log.map(bodyOf))
  expect((await store.sessions.verify(session)).findings).toEqual([])
}

function bodyOf({ role, content }: Pick<StoredMessage, 'role' | 'content'>): object {
  return { role, content }
}

/** A store with one session of so many turns, closed. */
export async function storeOf(file: string, session: string, turns: number): Promise<void> {
  const store = await openStore(file)
  for (let turn = 1; turn <= turns; turn++) await store.append(session, turnOf('first', turn))
  await store.close()
}

/** The whole fleet opens a file that is not there yet, at the same moment, again and again with a fresh one. */
export async function openAtOnce(fleet: Fleet, folder: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const file = join(folder, `fresh-${round}.db`)
    const start = Date.now() + 50
    const outcomes = await Promise.all(
      fleet.members.map((member, at) => member.do('open', { file, name: `opener ${at}`, start })),
    )
    // The positions in whatever order: everybody appended one message, and no two got the same place.
    expect(outcomes.sort(), `round ${round}`).toEqual(
      fleet.members.map((_, at) => `appended ${at + 1}`).sort(),
    )
    const store = await openStore(file)
    const said = (await store.getMessages('shared')).map(({ content }) => content)
    expect(said.sort()).toEqual(fleet.members.map((_, at) => `opener ${at}`).sort())
    expect((await store.sessions.verify('shared')).findings).toEqual([])
    await store.close()
  }
}
