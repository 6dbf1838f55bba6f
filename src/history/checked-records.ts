import { UndertextError } from '../errors.ts'
import { HistoryCheck } from '../storage/records/history-check.ts'
import type { HistoryHead, HistoryRecord, ReplacementRecord, RowRecord } from '../storage/records/records.ts'

/** Records to be restored: those of one history, from its header to its end. */
export type HistoryRecords = AsyncIterable<HistoryRecord> | Iterable<HistoryRecord>

/** A record behind the head, and which one it is. */
export type NumberedRecord = { readonly line: number; readonly record: RowRecord | ReplacementRecord }

/** `HISTORY_REFUSED`: records count from 1, as the lines of a file with one history do. */
export function refused(line: number, why: string): UndertextError<'HISTORY_REFUSED'> {
  return new UndertextError('HISTORY_REFUSED', { line, why })
}

/** Records that are looked at as they come. Throws `HISTORY_REFUSED`, and what the records throw. */
export class CheckedRecords {
  readonly #check = new HistoryCheck()
  readonly #records: AsyncGenerator<HistoryRecord, void, undefined>
  #first: HistoryRecord | undefined
  #line = 0

  constructor(records: HistoryRecords) {
    this.#records = this.#checked(records)
  }

  /** The records' number so far. */
  get line(): number {
    return this.#line
  }

  /** What stands before the rows. */
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

  /** The rows and what is shown in their place, up to the end, which must be there. */
  async *rows(): AsyncGenerator<NumberedRecord, void, undefined> {
    const first = this.#first
    if (first !== undefined && isBody(first)) yield { line: this.#line, record: first }
    for await (const record of this.#records) if (isBody(record)) yield { line: this.#line, record }
  }

  /** Gives up: whoever makes the records is told that no more are wanted. */
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

function isBody(record: HistoryRecord): record is RowRecord | ReplacementRecord {
  const { type } = record
  return type === 'message' || type === 'summary' || type === 'marker' || type === 'replacement'
}
