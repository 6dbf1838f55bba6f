import { expect } from 'vitest'
import { calibratedEstimator } from '../../src/core/tokens/index.ts'
import { addSizes, measureMessage, NO_SIZES } from '../../src/core/tokens/measure.ts'
import {
  type Compaction,
  isUndertextError,
  type Store,
  type StoredMessage,
  type ViewMessage,
} from '../../src/index.ts'
import { messagesOf } from './turn-script.ts'

/* What must hold of the session, at every moment and in the end. */

/** Rows that two compactions in force hide, in words; none ever. */
export function hiddenTwice(compactions: readonly Compaction[]): string[] {
  const by = new Map<string, string>()
  const found: string[] = []
  const hide = (row: string, id: string): void => {
    if (by.has(row)) found.push(`${row} is hidden by ${by.get(row)} and by ${id}`)
    by.set(row, id)
  }
  for (const { id, status, coverage } of compactions) {
    if (status !== 'active') continue
    for (const [from, to] of coverage.hidden.positions)
      for (let position = from; position <= to; position++) hide(`position ${position}`, id)
    for (const { ordinal } of coverage.hidden.inserted) hide(`inserted row ${ordinal}`, id)
  }
  return found
}

/** Looks at the session once while others work on it; what it finds wrong, in words. */
export async function problemsNow(store: Store, session: string): Promise<string[]> {
  const problems = hiddenTwice(await store.listCompactions(session))
  const before = await store.sessions.get(session)
  const view = await store.getEffectiveHistory(session, { provenance: true })
  const after = await store.sessions.get(session)
  problems.push(...standingProblems(view))
  if (before.version === after.version) problems.push(...figureProblems(before, view))
  for (const { code } of (await store.sessions.verify(session)).findings)
    problems.push(`sessions.verify: ${code}`)
  return problems
}

/** Every position stands in the view once, by itself or by what stands for it. */
function standingProblems(view: readonly ViewMessage[]): string[] {
  const problems: string[] = []
  const standing = view.flatMap(({ positions }) => positions ?? [])
  let next = 1
  for (const [from, to] of [...standing].sort((a, b) => a[0] - b[0])) {
    if (from !== next) problems.push(`position ${next} stands ${from < next ? 'twice' : 'nowhere'}`)
    next = to + 1
  }
  return problems
}

/** The counters against the rows, counted anew. */
function figureProblems(
  { visibleCount, visibleSizes }: { readonly visibleCount: number; readonly visibleSizes: unknown },
  view: readonly ViewMessage[],
): string[] {
  const sizes = view.reduce((sum, one) => addSizes(sum, measureMessage(one, calibratedEstimator)), NO_SIZES)
  const [kept, counted] = [
    [visibleCount, visibleSizes],
    [view.length, sizes],
  ].map((figures) => JSON.stringify(figures))
  return kept === counted ? [] : [`counters ${kept}, counted ${counted}`]
}

/**
 * The log holds exactly what the processes said, each message once, in gapless positions, each process's in its order;
 * answers where each label stands.
 */
export function expectWholeLog(
  rows: readonly StoredMessage[],
  processes: number,
  turns: number,
): ReadonlyMap<string, number> {
  const log = rows.filter(({ position }) => position !== undefined)
  expect(log.map(({ position }) => position)).toEqual(log.map((_, at) => at + 1))
  const positionOf = new Map(log.map(({ idempotencyKey, position }) => [idempotencyKey!, position!] as const))
  expect(positionOf.size, 'each message once').toBe(log.length)
  const byPosition = new Map(log.map((row) => [row.position!, row] as const))
  let said = 0
  for (let process = 0; process < processes; process++) {
    let last = 0
    for (let turn = 1; turn <= turns; turn++)
      for (const { role, content, idempotencyKey } of messagesOf(process, turn)) {
        said += 1
        const position = positionOf.get(idempotencyKey!)
        expect(position, `${idempotencyKey} is stored`).toBeGreaterThan(last)
        last = position!
        const row = byPosition.get(position!)!
        expect(JSON.stringify([row.role, row.content]), idempotencyKey).toBe(JSON.stringify([role, content]))
      }
  }
  expect(log.length, 'nothing else is stored').toBe(said)
  return positionOf
}

/**
 * Undoes everything in force, newest first, until the view is the plain log byte for byte, and puts all of it back, oldest
 * first, until the view is what it was.
 *
 * `hadOpenLoops`: a call that nobody had answered may have been hidden, and its result have come since. Putting that
 * compaction back would part the two, so it is refused, and what builds on it too. Source: laws 1 and 2.
 */
export async function expectAllUndone(store: Store, session: string, hadOpenLoops: boolean): Promise<void> {
  const text = async (): Promise<string> => JSON.stringify(await store.getEffectiveHistory(session))
  const compacted = await text()
  const inForce = (await store.listCompactions(session)).filter(({ status }) => status === 'active')
  for (const { id } of inForce.toReversed()) await store.undoCompaction(session, id, { cascade: true })
  const log = (await store.getMessages(session)).filter(({ position }) => position !== undefined)
  const view = await store.getEffectiveHistory(session)
  expect(view.map(({ id }) => id)).toEqual(log.map(({ id }) => id))
  expect(JSON.stringify(view.map(shownOf))).toBe(JSON.stringify(log.map(shownOf)))
  expect((await store.sessions.verify(session)).findings).toEqual([])
  const refused = new Set<string>()
  for (const { id, coverage } of inForce) {
    try {
      await store.redoCompaction(session, id, { cascade: true })
    } catch (error) {
      if (!hadOpenLoops || !isUndertextError(error, 'INPUT_NOT_VISIBLE')) throw error
      if (refused.size === 0)
        expect(coverage.openCalls, 'the first that is refused hid an open call').toBe(true)
      refused.add(id)
    }
  }
  if (refused.size === 0) expect(await text()).toBe(compacted)
  expect((await store.sessions.verify(session)).findings).toEqual([])
}

function shownOf({ id, position, role, content }: ViewMessage | StoredMessage): unknown {
  return { id, position, role, content }
}
