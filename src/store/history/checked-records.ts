import { UndertextError } from '../../core/errors.ts'
import { HistoryCheck } from '../../storage/records/history-check.ts'
import {
  type HistoryHead,
  type HistoryRecord,
  isRow,
  type ReplacementRecord,
  type RowRecord,
} from '../../storage/records/records.ts'

/** The records of one history, from its header to its end. */
export type HistoryRecords = AsyncIterable<HistoryRecord> | Iterable<HistoryRecord>

/** A record after the head, with its number. */
export type NumberedRecord = { readonly line: number; readonly record: RowRecord | ReplacementRecord }

/** Makes a `HISTORY_REFUSED`. Records count from 1, like the lines of a file with one history. */
export function refused(line: number, why: string): UndertextError<'HISTORY_REFUSED'> {
  return new UndertextError('HISTORY_REFUSED', { line, why })
}

/** Records that are checked as they arrive. Throws `HISTORY_REFUSED`, and what the records throw. */
export class CheckedRecords {
  readonly #check = new HistoryCheck()
  readonly #records: AsyncGenerator<HistoryRecord, void, undefined>
  #first: HistoryRecord | undefined
  #line = 0

  constructor(records: HistoryRecords) {
    this.#records = this.#checked(records)
  }

  /** The number of records so far. */
  get line(): number {
    return this.#line
  }

  /** The records before the rows. */
  async head(): Promise<HistoryHead> {
    for (;;) {
      const next = await this.#records.next()
      const { head } = this.#check
      if (head !== undefined) {
        this.#first = next.value ?? undefined
        return head.head
      }
    }
  }

  /** The rows and replacements up to the end, which is required. */
  async *rows(): AsyncGenerator<NumberedRecord, void, undefined> {
    const first = this.#first
    if (first !== undefined && isBody(first)) yield { line: this.#line, record: first }
    for await (const record of this.#records) if (isBody(record)) yield { line: this.#line, record }
  }

  /** Stops early and closes the iterator. */
  async close(): Promise<void> {
    await this.#records.return()
  }

  async *#checked(records: HistoryRecords): AsyncGenerator<HistoryRecord, void, undefined> {
    for await (const record of records) {
      this.#line += 1
      const problem = this.#check.take(record)
      if (problem !== undefined) throw refused(this.#line, problem)
      yield record
    }
    if (!this.#check.isDone) throw refused(this.#line, 'it ends before its end')
  }
}

export function isBody(record: HistoryRecord): record is RowRecord | ReplacementRecord {
  return isRow(record) || record.type === 'replacement'
}
