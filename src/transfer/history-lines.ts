import { createHash } from 'node:crypto'
import { isUndertextError, UndertextError } from '../errors.ts'
import type { RestoreOptions, SessionRestore } from '../history/restore-session.ts'
import { taken } from '../messages/check.ts'
import { isObject, stringifyJson } from '../messages/json.ts'
import { HistoryCheck } from '../storage/records/history-check.ts'
import {
  type EndRecord,
  HISTORY_FORMAT,
  type HistoryCounts,
  type HistoryRecord,
} from '../storage/records/records.ts'
import type { Store } from '../store/store.ts'
import { ENDS_WITHIN } from './lines.ts'
import type { Head, SourceEvent } from './source.ts'

/** The events of a file, conversation by conversation. */
export class EventCursor {
  readonly #events: AsyncIterator<SourceEvent>
  /** The event that was read ahead: the beginning of the next conversation. */
  #ahead: SourceEvent | undefined
  #isOver = false

  constructor(events: AsyncIterable<SourceEvent>) {
    this.#events = inConversations(events)[Symbol.asyncIterator]()
  }

  /** Goes to the next conversation, past what is left of the one at hand; false when there is none. */
  async next(): Promise<boolean> {
    while (this.#ahead === undefined && !this.#isOver) await this.#read()
    const isThere = this.#ahead !== undefined
    this.#ahead = undefined
    return isThere
  }

  /** What is left of the conversation at hand. */
  async *rest(): AsyncGenerator<SourceEvent, void, undefined> {
    for (;;) {
      const event = await this.#read()
      if (event === undefined) return
      yield event
    }
  }

  /** Gives up the reading. */
  async close(): Promise<void> {
    await this.#events.return?.()
  }

  /** The next event of the conversation at hand. */
  async #read(): Promise<SourceEvent | undefined> {
    if (this.#ahead !== undefined || this.#isOver) return undefined
    const { done, value } = await this.#events.next()
    if (done === true) this.#isOver = true
    else if (value.type === 'conversation') this.#ahead = value
    else return value
    return undefined
  }
}

/** Events that begin with a conversation: what is told before the first one belongs to it. */
export async function* inConversations(
  events: AsyncIterable<SourceEvent>,
): AsyncGenerator<SourceEvent, void, undefined> {
  let before: SourceEvent[] | undefined = []
  for await (const event of events) {
    if (before !== undefined) {
      const isBegun = event.type === 'conversation'
      if (!isBegun && event.type !== 'message') {
        before.push(event)
        continue
      }
      yield isBegun ? event : { type: 'conversation', at: {} }
      yield* before
      before = undefined
      if (isBegun) continue
    }
    yield event
  }
  if (before === undefined || before.length === 0) return
  yield { type: 'conversation', at: {} }
  yield* before
}

/** A line without its end, or why there is none to be had. Numbers count from 1. */
export type HistoryLine = { readonly number: number } & (
  | { readonly text: string }
  | { readonly problem: string }
)
export type HistoryLines = AsyncIterable<HistoryLine> | Iterable<HistoryLine>

/** What is wrong with a line: by field and rule, never by what stands in it. */
export type HistoryProblem = { readonly line: number; readonly why: string }

/** Errors that say one history cannot be restored, and nothing of the others. */
const OF_HISTORY = ['HISTORY_REFUSED', 'SESSION_EXISTS', 'ESTIMATOR_UNKNOWN'] as const

/** Why a history is not restored: what stands in it, or what the store has against it. */
export type RefusedHistory = HistoryProblem & { readonly code: (typeof OF_HISTORY)[number] }

/** A place in the lines, from which histories are read one after the other. */
class HistoryCursor {
  readonly #lines: AsyncIterator<HistoryLine> | Iterator<HistoryLine>
  /** A line that was read and belongs to what comes next. */
  #kept: HistoryLine | undefined
  /** The number of the last line read. */
  last = 0
  #own: unknown
  #isWhole = true

  constructor(lines: HistoryLines) {
    this.#lines = Symbol.asyncIterator in lines ? lines[Symbol.asyncIterator]() : lines[Symbol.iterator]()
  }

  /** The number of the first line of the next history, or `undefined` behind the last one. Blank lines between them are nothing. */
  async begin(): Promise<number | undefined> {
    for (;;) {
      const line = await this.#next()
      if (line === undefined) return undefined
      if ('text' in line && line.text.trim() === '') continue
      this.#kept = line
      return line.number
    }
  }

  /** The records of the history that begins here. Throws `HISTORY_REFUSED` for a line that is none, and at the end for a checksum that is another. */
  async *records(): AsyncGenerator<unknown, void, undefined> {
    this.#isWhole = false
    const sum = createHash('sha256')
    for (let count = 0; ; count++) {
      const line = await this.#next()
      if (line === undefined) throw this.#refused(ENDS_WITHIN)
      const value = this.#parsed(line)
      if (count > 0 && isHeader(value)) throw this.#cutBy(line)
      if (isEnd(value)) {
        this.#isWhole = true
        if (value.sha256 !== sum.digest('hex'))
          throw this.#refused('its checksum is another: lines were changed')
        yield value
        return
      }
      if ('text' in line) sum.update(`${line.text}\n`)
      yield value
    }
  }

  /** Goes on to where the next history begins: behind the end of this one, or at a header. */
  async skip(): Promise<void> {
    while (!this.#isWhole) {
      const line = await this.#next()
      if (line === undefined) return
      const value = 'text' in line ? parse(line.text) : undefined
      if (isEnd(value)) return
      if (isHeader(value)) return this.#keep(line)
    }
  }

  /** Why a history is refused, and where in the file; `undefined` for what is no refusal. */
  refusal(error: unknown, first: number): RefusedHistory | undefined {
    if (!isUndertextError(error)) return undefined
    if (isUndertextError(error, 'HISTORY_REFUSED')) {
      const { line, why } = error.facts
      return { code: 'HISTORY_REFUSED', line: error === this.#own ? line : first + line - 1, why }
    }
    const code = OF_HISTORY.find((one) => one === error.code)
    return code && { code, line: first, why: error.message }
  }

  async #next(): Promise<HistoryLine | undefined> {
    const kept = this.#kept
    this.#kept = undefined
    const line = kept ?? (await this.#lines.next()).value
    if (line !== undefined) this.last = (line as HistoryLine).number
    return line as HistoryLine | undefined
  }

  #keep(line: HistoryLine): void {
    this.#kept = line
    this.last = line.number - 1
  }

  /** Another history begins where this one has not ended. */
  #cutBy(line: HistoryLine): UndertextError<'HISTORY_REFUSED'> {
    const error = this.#refused('another history begins before its end')
    this.#keep(line)
    this.#isWhole = true
    return error
  }

  #parsed(line: HistoryLine): unknown {
    if ('problem' in line) throw this.#refused(line.problem)
    const value = parse(line.text)
    if (value === undefined) throw this.#refused('it is no JSON')
    return value
  }

  #refused(why: string): UndertextError<'HISTORY_REFUSED'> {
    const error = new UndertextError('HISTORY_REFUSED', { line: this.last, why })
    this.#own = error
    return error
  }
}

/** The sentences of `JSON.parse` quote what stands there, so none of it is kept. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isHeader(value: unknown): boolean {
  return isObject(value) && value.type === 'header'
}

function isEnd(value: unknown): value is EndRecord {
  return isObject(value) && value.type === 'end'
}

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
