import { createHash } from 'node:crypto'
import { isUndertextError, UndertextError } from '../errors.ts'
import { isObject } from '../messages/json.ts'
import type { EndRecord } from '../storage/records/records.ts'
import { ENDS_WITHIN } from './lines.ts'

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
export class HistoryCursor {
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
