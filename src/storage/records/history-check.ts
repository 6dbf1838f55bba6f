import { type NewMessage, partsOf } from '../../core/messages/message.ts'
import { messageProblem } from '../../core/messages/message-check.ts'
import { mayShow } from '../../core/messages/overlay.ts'
import { isCondensing } from '../../core/model/plan.ts'
import { HeadCheck } from './head-check.ts'
import {
  type CompactionRecord,
  type EndRecord,
  formProblem,
  HISTORY_FORMAT,
  HISTORY_VERSION,
  type HistoryCounts,
  type HistoryHead,
  type HistoryRecord,
  type InsertedRecord,
  isRow,
  type MessageRecord,
  type ReplacementRecord,
  type RowRecord,
  recordId,
} from './records.ts'
import { type Hiding, namedTags, withBytes } from './row-fields.ts'

/** The fields of the last row that later records are checked against. */
type LastRow = {
  readonly id: string
  readonly content: NewMessage['content']
  /** The last replacement of the row: the part, and the index of the compaction in the list. */
  part: number
  by: number
}

/**
 * Checks rows and replacements one after the other: without gaps, in view order, and with the tags that follow from coverage and statuses.
 */
class RowCheck {
  readonly #head: HistoryHead
  readonly #hiding: Hiding
  readonly #indexes: ReadonlyMap<string, number>
  /** The highest part that compactions depend on, by row id. An entry is removed once its row is checked. */
  readonly #required = new Map<string, number>()
  readonly #replaced: number[]
  readonly counts = { messages: 0, inserted: 0, replacements: 0 }
  #anchor = 0
  #ordinal = 0
  #row: LastRow | undefined

  constructor(head: HistoryHead, hiding: Hiding) {
    this.#head = head
    this.#hiding = hiding
    this.#indexes = new Map(head.compactions.map(({ id }, index) => [id, index]))
    this.#replaced = head.compactions.map(() => 0)
    for (const { requires = [] } of head.compactions) {
      for (const { message, part, by = [] } of requires) {
        for (const id of by) this.#require(id, 0)
        this.#require(message, part)
      }
    }
  }

  #require(id: string, part: number): void {
    this.#required.set(id, Math.max(part, this.#required.get(id) ?? 0))
  }

  row(record: RowRecord): string | undefined {
    const problem =
      (record.type === 'message' ? this.#message(record) : this.#inserted(record)) ??
      this.#tags(record) ??
      this.#content(record)
    if (problem !== undefined || this.#row === undefined) return problem
    const part = this.#required.get(this.#row.id)
    if (part === undefined) return undefined
    if (part >= partsOf(this.#row).length) return "a compaction refers to a part that its row doesn't have"
    this.#required.delete(this.#row.id)
    return undefined
  }

  #message({ position, id }: MessageRecord): string | undefined {
    if (position !== this.counts.messages + 1) return `position must be ${this.counts.messages + 1}`
    if (position > this.#head.session.messages)
      return 'there are more messages than the session record states'
    if (id?.startsWith(`${this.#head.session.incarnation}:`) === true)
      return 'id must not have the form of the ids that undertext assigns in this session'
    this.counts.messages = position
    this.#anchor = position
    this.#ordinal = 0
    return undefined
  }

  #inserted({ type, anchor, ordinal, compaction }: InsertedRecord): string | undefined {
    const isNext = anchor > this.#anchor || (anchor === this.#anchor && ordinal > this.#ordinal)
    if (anchor !== this.counts.messages || !isNext) return 'it must follow the message of its anchor'
    this.#anchor = anchor
    this.#ordinal = ordinal
    this.counts.inserted += 1
    const inserter = this.#compaction(this.#hiding.inserterOf(ordinal))
    if (inserter === undefined || inserter.id !== compaction || inserter.inserts![0] !== anchor)
      return "its compaction doesn't insert it"
    const isSummary = type === 'summary'
    return isSummary === isCondensing(inserter.kind)
      ? undefined
      : 'its compaction inserts a row of another kind'
  }

  #compaction(index: number | undefined): CompactionRecord | undefined {
    return index === undefined ? undefined : this.#head.compactions[index]
  }

  #tags(record: RowRecord): string | undefined {
    const expected = namedTags(this.#hiding.tagsOf(record), this.#head.compactions)
    for (const tag of ['condenseParent', 'truncationParent'] as const)
      if (record[tag] !== expected[tag]) return `${tag} doesn't match the compactions in force`
    if (record.type !== 'message' && record.retired !== expected.retired)
      return "retired doesn't match its compaction"
    return undefined
  }

  #content(record: RowRecord): string | undefined {
    const { role, content: value, metadata, bytes = [] } = record
    const message = { role, content: value, ...(metadata !== undefined && { metadata }) }
    const problem = messageProblem(message)
    if (problem !== undefined) return problem.replace(/^\./, '')
    const content = withBytes(value as NewMessage['content'], bytes)
    if (content === undefined) return 'bytes must name parts that contain base64'
    this.#row = { id: recordId(this.#head.session.incarnation, record), content, part: 0, by: -1 }
    return undefined
  }

  replacement({ compaction, message, part, text }: ReplacementRecord): string | undefined {
    const row = this.#row
    if (row?.id !== message) return 'it must follow its row'
    const by = this.#indexes.get(compaction)
    if (by === undefined) return 'its compaction is missing'
    if (part < row.part || (part === row.part && by <= row.by))
      return 'replacements of a row must be ordered by part and compaction'
    row.part = part
    row.by = by
    this.#replaced[by]! += 1
    this.counts.replacements += 1
    const original = partsOf(row)[part]
    if (original === undefined) return "the row doesn't have that part"
    if (text === null)
      return this.#compaction(by)!.rewinds === true ? undefined : 'only a rewind can show an original again'
    return mayShow(original, text) ? undefined : 'that part cannot be replaced with a text'
  }

  /** Returns the problem at the end, such as missing rows. */
  close(): string | undefined {
    const { session, compactions } = this.#head
    if (this.counts.messages !== session.messages)
      return 'there are fewer messages than the session record states'
    if (this.counts.inserted !== session.inserted)
      return 'there are fewer inserted rows than the session record states'
    if (this.#required.size > 0) return 'a compaction refers to a missing row'
    const wrong = compactions.findIndex(({ partsReplaced }, index) => partsReplaced !== this.#replaced[index])
    return wrong === -1 ? undefined : 'partsReplaced of a compaction must be the number of its replacements'
  }
}

/**
 * Checks the records of one history one after the other, keeping only those before the rows. A problem names field and rule, never content.
 * After a problem, the check can't be used again.
 */
export class HistoryCheck {
  #hasHeader = false
  readonly #headCheck = new HeadCheck()
  #rows: RowCheck | undefined
  #head: HistoryHead | undefined
  #hiding: Hiding | undefined
  #isDone = false

  /** Returns the problem of the next record; `undefined` if it is valid. */
  take(value: unknown): string | undefined {
    const problem = this.#isDone ? 'the history has ended' : (versionProblem(value) ?? formProblem(value))
    return problem ?? this.#next(value as HistoryRecord)
  }

  /** The session, once it is known. */
  get session(): HistoryHead['session'] | undefined {
    return this.#headCheck.session
  }

  /** The records before the rows, once the first row or the end is known. */
  get head(): { readonly head: HistoryHead; readonly hiding: Hiding } | undefined {
    return this.#head && { head: this.#head, hiding: this.#hiding! }
  }

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
      if (this.#hasHeader) return 'a history must have only one header'
      this.#hasHeader = true
      return undefined
    }
    if (!this.#hasHeader) return 'a history must begin with its header'
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
        return `${name} must be ${count}: there are too few or too many records`
    this.#isDone = true
    return undefined
  }
}

/** Reports another format or version before any other problem. */
function versionProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { type, format, version } = value as { readonly [name: string]: unknown }
  if (type !== 'header') return undefined
  if (format !== HISTORY_FORMAT) return "it isn't an undertext history"
  if (typeof version === 'number' && version !== HISTORY_VERSION)
    return `it has version ${version} of the format, but this package reads version ${HISTORY_VERSION}: use the version of undertext that wrote it`
  return undefined
}
