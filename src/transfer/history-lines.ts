import { createHash } from 'node:crypto'
import { invalid, isUndertextError, UndertextError } from '../core/errors.ts'
import { isIterable, taken } from '../core/messages/check.ts'
import { defined, isObject, stringifyJson } from '../core/messages/json.ts'
import { HistoryCheck } from '../storage/records/history-check.ts'
import {
  type EndRecord,
  HISTORY_FORMAT,
  type HistoryCounts,
  type HistoryRecord,
} from '../storage/records/records.ts'
import type { RestoreOptions, SessionRestore } from '../store/history/restore-session.ts'
import type { Store } from '../store/store.ts'
import { ENDS_WITHIN } from './lines.ts'
import type { Head } from './source.ts'

/** A line without its end, or the reason why it can't be read. Numbers count from 1. */
export type HistoryLine = { readonly number: number } & (
  | { readonly text: string }
  | { readonly problem: string }
)
/** The lines of a file of histories: as yielded by `readLines`, or as texts. */
export type HistoryLines = AsyncIterable<HistoryLine | string> | Iterable<HistoryLine | string>

/** The problem of a line: field and rule, never content. */
export type HistoryProblem = { readonly line: number; readonly why: string }

/** Errors of a single history that don't affect the others. */
const HISTORY_ERRORS = ['HISTORY_REFUSED', 'SESSION_EXISTS', 'ESTIMATOR_UNKNOWN'] as const

/** Why a history isn't restored: a problem of its content, or a conflict with the store. */
export type RefusedHistory = HistoryProblem & { readonly code: (typeof HISTORY_ERRORS)[number] }

/** A position in the lines, from which histories are read one after the other. */
export class HistoryCursor {
  readonly #lines: AsyncIterator<unknown> | Iterator<unknown>
  /** A line that was read ahead and belongs to the next record. */
  #kept: HistoryLine | undefined
  /** The number of the last line read. */
  last = 0
  #own: unknown
  #isWhole = true
  /** The number of the first line of the current history. */
  #first = 0

  #count = 0

  /** Throws `INVALID_INPUT`. */
  constructor(lines: HistoryLines, what: string) {
    if (!isIterable(lines))
      throw invalid(
        `${what}: lines: must be iterable, such as readLines(createReadStream(file)), or an array of lines`,
      )
    this.#lines = Symbol.asyncIterator in lines ? lines[Symbol.asyncIterator]() : lines[Symbol.iterator]()
  }

  /** Returns the number of the first line of the next history; `undefined` after the last one. Blank lines in between are ignored. */
  async begin(): Promise<number | undefined> {
    for (;;) {
      const line = await this.#next()
      if (line === undefined) return undefined
      if ('text' in line && line.text.trim() === '') continue
      this.#kept = line
      this.#isWhole = false
      this.#first = line.number
      return line.number
    }
  }

  async close(): Promise<void> {
    await this.#lines.return?.()
  }

  /**
   * Yields the records of the history that begins here. Throws `HISTORY_REFUSED` for an invalid line, and at the end for a wrong checksum.
   */
  async *records(): AsyncGenerator<unknown, void, undefined> {
    const sum = createHash('sha256')
    for (let count = 0; ; count++) {
      const line = await this.#next()
      if (line === undefined) throw this.#refused(ENDS_WITHIN)
      const value = this.#parsed(line)
      if (count > 0 && isHeader(value)) throw this.#cutBy(line)
      if (isEnd(value)) {
        this.#isWhole = true
        if (value.sha256 !== sum.digest('hex'))
          throw this.#refused('its checksum does not match: lines were changed')
        yield value
        return
      }
      if ('text' in line) sum.update(`${line.text}\n`)
      yield value
    }
  }

  /** Moves to the beginning of the next history: after the end of this one, or at a header. */
  async skip(): Promise<void> {
    while (!this.#isWhole) {
      const line = await this.#next()
      if (line === undefined) return
      const value = 'text' in line ? parse(line.text) : undefined
      if (isEnd(value)) return
      if (isHeader(value) && line.number !== this.#first) return this.#keep(line)
    }
  }

  /** Returns why a history is rejected, and where in the file; `undefined` for other errors. */
  refusal(error: unknown, first: number): RefusedHistory | undefined {
    if (!isUndertextError(error)) return undefined
    if (isUndertextError(error, 'HISTORY_REFUSED')) {
      const { line, why } = error.facts
      return { code: 'HISTORY_REFUSED', line: error === this.#own ? line : first + line - 1, why }
    }
    const code = HISTORY_ERRORS.find((one) => one === error.code)
    return code && { code, line: first, why: error.message }
  }

  async #next(): Promise<HistoryLine | undefined> {
    const kept = this.#kept
    this.#kept = undefined
    const line = kept ?? this.#line((await this.#lines.next()).value)
    if (line !== undefined) this.last = line.number
    return line
  }

  /** A text is the next line, with or without its line feed. */
  #line(given: unknown): HistoryLine | undefined {
    if (given === undefined) return undefined
    this.#count++
    if (typeof given === 'string') return { number: this.#count, text: given.replace(/\r?\n?$/, '') }
    if (isObject(given) && Number.isSafeInteger(given.number)) {
      if (typeof given.text === 'string' || typeof given.problem === 'string') return given as HistoryLine
    }
    throw invalid(`lines[${this.#count - 1}]: must be a string, or a line as readLines yields it`)
  }

  #keep(line: HistoryLine): void {
    this.#kept = line
    this.last = line.number - 1
  }

  /** Returns the error for a history that begins before the end of this one. */
  #cutBy(line: HistoryLine): UndertextError<'HISTORY_REFUSED'> {
    const error = this.#refused('another history begins before its end')
    this.#keep(line)
    this.#isWhole = true
    return error
  }

  #parsed(line: HistoryLine): unknown {
    if ('problem' in line) throw this.#refused(line.problem)
    const value = parse(line.text)
    if (value === undefined) throw this.#refused('it is not JSON')
    return value
  }

  #refused(why: string): UndertextError<'HISTORY_REFUSED'> {
    const error = new UndertextError('HISTORY_REFUSED', { line: this.last, why })
    this.#own = error
    return error
  }
}

/** The messages of `JSON.parse` quote content, so they aren't used. */
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
 * Histories as lines of text, one JSON object per line (docs/history-format.md). A file may contain several histories in sequence.
 *
 * - `historyLines(store.sessions.export(id))` yields the lines of one history, each with its line feed, to write in sequence.
 * - `checkHistory(lines)` checks a file without a store and yields one result per history.
 * - `restoreFrom(store, lines)` restores the histories and yields one result per history.
 *
 * `readLines` produces the lines. The checksum in the last line detects a truncated file or a changed byte.
 */

/** The contents of a history. */
export type CheckedHistory = {
  /** Its first and its last line. */
  readonly line: number
  readonly lastLine: number
  /** Absent if an earlier line is invalid. */
  readonly session?: { readonly id: string; readonly title?: string }
  readonly counts: HistoryCounts
  /** Its first problem. A history with a problem isn't restored. */
  readonly problem?: HistoryProblem
}

/** The result of restoring a history. */
export type RestoredHistory = {
  readonly line: number
  readonly lastLine: number
} & ({ readonly restored: SessionRestore } | { readonly refused: RefusedHistory })

/** Options of `restoreFrom`. */
export type RestoreFromOptions = Pick<RestoreOptions, 'owner' | 'signal'> & {
  /** The ids of the sessions, in the order of the histories. `undefined` keeps the original id. */
  readonly ids?: readonly (string | undefined)[]
}

/**
 * Returns whether a file begins like a history, or like a history without its header; the latter is rejected, instead of being treated as a
 * foreign file.
 */
export function recognizeHistory({ values }: Head): boolean {
  const [first] = values
  if (!isObject(first)) return false
  if (first.type === 'session') return 'incarnation' in first && 'viewEpoch' in first
  return first.type === 'header' && first.format === HISTORY_FORMAT
}

/** Yields the lines of records, with the checksum in the last one. Errors of the records are passed on. */
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

/**
 * Checks the histories of a file, and yields the contents and the first problem of each. Writes nothing. Throws `INVALID_INPUT` if `lines`
 * isn't a sequence of lines.
 */
export function checkHistory(lines: HistoryLines): AsyncGenerator<CheckedHistory, void, undefined> {
  return checked(new HistoryCursor(lines, 'checkHistory'))
}

async function* checked(cursor: HistoryCursor): AsyncGenerator<CheckedHistory, void, undefined> {
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
 * Restores the histories of a file one after the other, and yields a result for each. Nothing of a rejected history is stored, and the
 * others are restored. Throws `INVALID_INPUT` if `lines` isn't a sequence of lines, and the other errors of `sessions.import`
 * (`STORE_FULL`, `ABORTED` …); histories whose result was yielded stay restored.
 */
export function restoreFrom(
  store: Pick<Store, 'sessions'>,
  lines: HistoryLines,
  options: RestoreFromOptions = {},
): AsyncGenerator<RestoredHistory, void, undefined> {
  return restored(store, new HistoryCursor(lines, 'restoreFrom'), taken(options))
}

async function* restored(
  store: Pick<Store, 'sessions'>,
  cursor: HistoryCursor,
  { ids = [], ...options }: RestoreFromOptions,
): AsyncGenerator<RestoredHistory, void, undefined> {
  for (let ordinal = 0; ; ordinal++) {
    const next = await restoreNext(store, cursor, { ...options, ...defined({ id: ids[ordinal] }) })
    if (next === undefined) return
    yield next
  }
}

/** Restores the next history; returns `undefined` after the last one. */
export async function restoreNext(
  store: Pick<Store, 'sessions'>,
  cursor: HistoryCursor,
  options: RestoreOptions,
): Promise<RestoredHistory | undefined> {
  const line = await cursor.begin()
  if (line === undefined) return undefined
  try {
    const restored = await store.sessions.import(cursor.records() as AsyncIterable<HistoryRecord>, options)
    return { line, lastLine: cursor.last, restored }
  } catch (error) {
    const refused = cursor.refusal(error, line)
    if (refused === undefined) throw error
    await cursor.skip()
    return { line, lastLine: cursor.last, refused }
  }
}
