import { createHash } from 'node:crypto'
import { isUndertextError } from '../errors.ts'
import type { RestoreOptions, SessionRestore } from '../history/restore-session.ts'
import { isObject, stringifyJson } from '../messages/json.ts'
import { taken } from '../messages/taken.ts'
import { HistoryCheck } from '../storage/records/history-check.ts'
import { HISTORY_FORMAT, type HistoryCounts, type HistoryRecord } from '../storage/records/records.ts'
import type { Store } from '../store/store.ts'
import {
  HistoryCursor,
  type HistoryLines,
  type HistoryProblem,
  type RefusedHistory,
} from './history-cursor.ts'
import { ENDS_WITHIN } from './lines.ts'
import type { Head } from './source.ts'

/*
 * Histories as lines of text, a JSON object a line (docs/history-format.md). Several may follow each other in one file.
 *
 * - `historyLines(store.exportSession(id))`: the lines of one, each with its line feed, to be written one after the other.
 * - `checkHistory(lines)`: what stands in a file and what is wrong with it, without a store; one answer a history.
 * - `restoreFrom(store, lines)`: restores them, one answer a history.
 *
 * Lines come as `readLines` gives them. A file that was cut, or in which a byte is another, is known by the checksum in its last line.
 */

/** What stands in a history. */
export type CheckedHistory = {
  /** Its first and its last line. */
  readonly line: number
  readonly lastLine: number
  /** Absent when it was bad before it said so. */
  readonly session?: { readonly id: string; readonly title?: string }
  readonly counts: HistoryCounts
  /** The first thing that is wrong with it; then it is not restored. */
  readonly problem?: HistoryProblem
}

/** What became of a history. */
export type RestoredHistory = {
  readonly line: number
  readonly lastLine: number
} & ({ readonly restored: SessionRestore } | { readonly refused: RefusedHistory })

export type RestoreFromOptions = Pick<RestoreOptions, 'owner' | 'signal'> & {
  /** What the sessions are called, in the order of the histories. What is `undefined` keeps its own id. */
  readonly ids?: readonly (string | undefined)[]
}

/** Whether a file begins as a history does, or as one that has lost its header: that is refused, and not taken for a file of somebody else. */
export function recogniseHistory({ values }: Head): boolean {
  const [first] = values
  if (!isObject(first)) return false
  if (first.type === 'session') return 'incarnation' in first && 'viewEpoch' in first
  return first.type === 'header' && first.format === HISTORY_FORMAT
}

/** The lines of records, with the checksum in the last one. Throws what the records throw. */
export async function* historyLines(
  records: AsyncIterable<HistoryRecord> | Iterable<HistoryRecord>,
): AsyncGenerator<string, void, undefined> {
  const sum = createHash('sha256')
  for await (const record of records) {
    const line = `${stringifyJson(record.type === 'end' ? { ...record, sha256: sum.digest('hex') } : record)}\n`
    yield line
    if (record.type === 'end') return
    sum.update(line)
  }
}

/** Looks at the histories of a file and answers each: what is in it, and the first thing that is wrong with it. Writes nothing. */
export async function* checkHistory(lines: HistoryLines): AsyncGenerator<CheckedHistory, void, undefined> {
  const cursor = new HistoryCursor(lines)
  for (let first = await cursor.begin(); first !== undefined; first = await cursor.begin()) {
    const check = new HistoryCheck()
    const problem = await problemIn(cursor, check)
    if (problem !== undefined) await cursor.skip()
    const { session } = check
    yield {
      line: first,
      lastLine: cursor.last,
      ...(session !== undefined && { session: titled(session) }),
      counts: check.counts,
      ...(problem !== undefined && { problem }),
    }
  }
}

function titled({ id, title }: { id: string; title?: string }): { id: string; title?: string } {
  return title === undefined ? { id } : { id, title }
}

async function problemIn(cursor: HistoryCursor, check: HistoryCheck): Promise<HistoryProblem | undefined> {
  try {
    for await (const record of cursor.records()) {
      const why = check.take(record)
      if (why !== undefined) return { line: cursor.last, why }
    }
    return check.isDone ? undefined : { line: cursor.last, why: ENDS_WITHIN }
  } catch (error) {
    if (isUndertextError(error, 'HISTORY_REFUSED')) return error.facts
    throw error
  }
}

/**
 * Restores the histories of a file, one after the other, and answers each when it is done or refused: nothing of a refused one is stored, and
 * the others are. Throws what else `restoreSession` throws (`STORE_FULL`, `ABORTED` …); what was answered before stays restored.
 */
export function restoreFrom(
  store: Pick<Store, 'restoreSession'>,
  lines: HistoryLines,
  options: RestoreFromOptions = {},
): AsyncGenerator<RestoredHistory, void, undefined> {
  return restored(store, lines, taken(options))
}

async function* restored(
  store: Pick<Store, 'restoreSession'>,
  lines: HistoryLines,
  { ids = [], ...options }: RestoreFromOptions,
): AsyncGenerator<RestoredHistory, void, undefined> {
  const cursor = new HistoryCursor(lines)
  for (let ordinal = 0; ; ordinal++) {
    const line = await cursor.begin()
    if (line === undefined) return
    const id = ids[ordinal]
    const records = cursor.records() as AsyncIterable<HistoryRecord>
    try {
      const restored = await store.restoreSession(records, { ...options, ...(id !== undefined && { id }) })
      yield { line, lastLine: cursor.last, restored }
    } catch (error) {
      const refused = cursor.refusal(error, line)
      if (refused === undefined) throw error
      await cursor.skip()
      yield { line, lastLine: cursor.last, refused }
    }
  }
}
