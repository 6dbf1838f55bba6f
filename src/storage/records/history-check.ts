import { HeadCheck } from './head-check.ts'
import type { Hiding } from './hiding.ts'
import {
  type EndRecord,
  HISTORY_FORMAT,
  HISTORY_VERSION,
  type HistoryCounts,
  type HistoryHead,
  type HistoryRecord,
  isRow,
} from './records.ts'
import { RowCheck } from './row-check.ts'
import { formProblem } from './schemas.ts'

/**
 * Holds the records of one history to what must be true of them, one after the other, and holds no more of them than what comes before
 * the rows. Says what is wrong by field and rule, never by what somebody said. After a problem it is of no use any more.
 */
export class HistoryCheck {
  #hasHeader = false
  readonly #headCheck = new HeadCheck()
  #rows: RowCheck | undefined
  #head: HistoryHead | undefined
  #hiding: Hiding | undefined
  #isDone = false

  /** What is wrong with the next record, or `undefined`. */
  take(value: unknown): string | undefined {
    const problem = this.#isDone ? 'the history has ended' : (versionProblem(value) ?? formProblem(value))
    return problem ?? this.#next(value as HistoryRecord)
  }

  /** The session of it, as soon as it is known. */
  get session(): HistoryHead['session'] | undefined {
    return this.#headCheck.session
  }

  /** What came before the rows, once the first of them or the end has come. */
  get head(): { readonly head: HistoryHead; readonly hiding: Hiding } | undefined {
    return this.#head && { head: this.#head, hiding: this.#hiding! }
  }

  /** Whether the record that says so was the last. */
  get isDone(): boolean {
    return this.#isDone
  }

  get counts(): HistoryCounts {
    const { compactions = [], audit = [] } = this.#head ?? {}
    const rows = this.#rows?.counts ?? { messages: 0, inserted: 0, replacements: 0 }
    return { compactions: compactions.length, audit: audit.length, ...rows }
  }

  #next(record: HistoryRecord): string | undefined {
    if (record.type === 'header') {
      if (this.#hasHeader) return 'a history has one header'
      this.#hasHeader = true
      return undefined
    }
    if (!this.#hasHeader) return 'a history begins with its header'
    if (isRow(record) || record.type === 'replacement' || record.type === 'end') {
      const problem = this.#closeHead()
      if (problem !== undefined) return problem
      if (record.type === 'end') return this.#end(record)
      return isRow(record) ? this.#rows!.row(record) : this.#rows!.replacement(record)
    }
    return this.#rows === undefined ? this.#headCheck.add(record) : 'it must come before the rows'
  }

  #closeHead(): string | undefined {
    if (this.#rows !== undefined) return undefined
    const closed = this.#headCheck.close()
    if (typeof closed === 'string') return closed
    this.#head = closed.head
    this.#hiding = closed.hiding
    this.#rows = new RowCheck(closed.head, closed.hiding)
    return undefined
  }

  #end(record: EndRecord): string | undefined {
    const problem = this.#rows!.close()
    if (problem !== undefined) return problem
    for (const [name, count] of Object.entries(this.counts))
      if (record[name as keyof HistoryCounts] !== count)
        return `${name} must be ${count}: records are missing or too many`
    this.#isDone = true
    return undefined
  }
}

/** A format of another name, or of a later version, is said so before anything else is looked at. */
function versionProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { type, format, version } = value as { readonly [name: string]: unknown }
  if (type !== 'header') return undefined
  if (format !== HISTORY_FORMAT) return 'it is no history of undertext'
  if (typeof version === 'number' && version > HISTORY_VERSION)
    return `it is of version ${version}, and this package reads up to ${HISTORY_VERSION}: upgrade it`
  return undefined
}
