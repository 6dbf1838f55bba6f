import { createHash } from 'node:crypto'
import { REQUEST_TEXTS } from '../requests.ts'
import {
  type CompactionRecord,
  HEAD_LISTS,
  type HeadRecord,
  type HistoryHead,
  type NoteRecord,
  type RequestRecord,
  type RowSetRecord,
  type SessionRecord,
} from './records.ts'
import { Hiding } from './row-fields.ts'

const ORDER = Object.keys(HEAD_LISTS)

type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer R)[] ? R[] : T[K] }

/** The maximum size of an audit record as JSON, in bytes; it bounds a row of any file. */
const MAX_AUDIT_BYTES = 16_384

const BILLED = ['cacheReadTokens', 'cacheCreationTokens', 'outputTokens'] as const

/** Attempts never changed a row. */
const isAttempt = ({ status }: CompactionRecord): boolean => status !== 'active' && status !== 'undone'

/**
 * Checks the records before the rows against each other: references exist, and active compactions hide every row at most once. `add`
 * receives the records in order; `close` checks the whole.
 */
export class HeadCheck {
  session: SessionRecord | undefined
  readonly #lists = Object.fromEntries(
    Object.values(HEAD_LISTS).map((list) => [list, [] as HeadRecord[]]),
  ) as unknown as Writable<Omit<HistoryHead, 'session'>>
  readonly #compactions = new Map<string, CompactionRecord>()
  /** Names that must be unique: of compactions, models of figures, operations, and notes and their keys. */
  readonly #names = new Set<string>()
  readonly #unused = new Set<string>()
  #phase = 0

  /** Returns the problem of the next record; `undefined` if it is valid. */
  add(record: HeadRecord): string | undefined {
    const phase = ORDER.indexOf(record.type)
    if (record.type === 'session') {
      if (this.session !== undefined) return 'a history must have only one session'
      this.session = record
      return undefined
    }
    if (this.session === undefined) return 'the session must follow the header'
    if (phase < this.#phase) return `records of type ${record.type} must come earlier`
    this.#phase = phase
    const problem = this.#problem(record, this.session)
    ;(this.#lists[HEAD_LISTS[record.type]] as HeadRecord[]).push(record)
    return problem
  }

  /** Returns the first problem of the whole, or the head. */
  close(): string | { readonly head: HistoryHead; readonly hiding: Hiding } {
    const { session } = this
    if (session === undefined) return 'the session is missing'
    const hiding = new Hiding(this.#lists.compactions)
    const problem = this.#insertions(session) ?? this.#hiders(hiding) ?? this.#undos() ?? this.#turned()
    if (problem !== undefined) return problem
    if (this.#unused.size > 0) return "a piece doesn't belong to any request"
    return { head: { session, ...this.#lists }, hiding }
  }

  #problem(record: Exclude<HeadRecord, SessionRecord>, session: SessionRecord): string | undefined {
    switch (record.type) {
      case 'compaction':
        return this.#compaction(record, session)
      case 'audit':
        if (Buffer.byteLength(JSON.stringify(record)) > MAX_AUDIT_BYTES)
          return `an audit record must not be longer than ${MAX_AUDIT_BYTES} bytes`
        if (record.position > session.messages) return 'position must be that of a message in the session'
        return this.#known(record.compaction)
      case 'usage':
        return this.#once(`usage ${JSON.stringify([record.provider, record.model])}`)
      case 'measurement':
        if (record.viewEpoch > session.viewEpoch) return 'viewEpoch must not be greater than the session’s'
        return this.#once(`measurement ${JSON.stringify([record.provider, record.model])}`)
      case 'operation':
        if (record.positions.some((position) => position > session.messages))
          return 'positions must be those of messages in the session'
        return this.#known(record.compaction) ?? this.#once(`operation ${record.id}`)
      case 'piece':
        if (createHash('sha256').update(record.text).digest('hex') !== record.sha256)
          return 'sha256 must match its text'
        this.#unused.add(record.sha256)
        return this.#once(`piece ${record.sha256}`)
      case 'request':
        return this.#request(record, session)
      case 'note':
        return this.#note(record)
    }
  }

  #request(record: RequestRecord, { messages }: SessionRecord): string | undefined {
    const { position, audit, promptRange, answer, inputTokens } = record
    if (Math.max(position, promptRange?.[1] ?? 0, answer?.[1] ?? 0) > messages)
      return 'positions must be those of messages in the session'
    if (audit > this.#lists.audit.length) return 'audit must be the number of an audit record'
    if (inputTokens === undefined && BILLED.some((name) => record[name] !== undefined))
      return 'inputTokens is required with the other token counts'
    for (const hash of REQUEST_TEXTS.flatMap((name) => record[name] ?? [])) {
      if (!this.#names.has(`piece ${hash}`)) return 'one of its pieces is missing'
      this.#unused.delete(hash)
    }
    return undefined
  }

  #note(record: NoteRecord): string | undefined {
    const { id, no, key, source, sourceSession, replacedBy, forgottenAt } = record
    if (no <= (this.#lists.notes.at(-1)?.no ?? 0)) return 'notes must be in the order of their numbers'
    if (replacedBy !== undefined && replacedBy <= no) return 'replacedBy must be the number of a later note'
    if ((source === undefined) !== (sourceSession === undefined))
      return 'source and sourceSession must be given together'
    const isCurrent = replacedBy === undefined && forgottenAt === undefined
    const again = key !== undefined && isCurrent ? this.#once(`note of ${key}`) : undefined
    return again ?? this.#once(`note ${id}`)
  }

  #once(name: string): string | undefined {
    if (this.#names.has(name)) return 'it duplicates an earlier record'
    this.#names.add(name)
    return undefined
  }

  #known(id: string | undefined): string | undefined {
    return id === undefined || this.#compactions.has(id) ? undefined : 'its compaction is missing'
  }

  #compaction(record: CompactionRecord, session: SessionRecord): string | undefined {
    if (this.#compactions.has(record.id)) return 'a compaction with its id already exists'
    this.#compactions.set(record.id, record)
    const { rank, hides = {}, beside = {}, inserts, rewinds, kind } = record
    if (rank > session.version) return 'rank must not be greater than the session’s version'
    for (const set of [hides, beside, { inserted: inserts === undefined ? [] : [inserts] }])
      if (!isWithin(set, session, isAttempt(record))) return "it names rows that the session doesn't have"
    if (overlap(hides, beside)) return 'it cannot hide a row and leave it in view'
    if (inserts !== undefined && hides.inserted?.some(([, ordinal]) => ordinal === inserts[1]))
      return 'it cannot hide the row that it inserts'
    if (rewinds === true && kind !== 'manual') return 'only a manual compaction can be a rewind'
    if (isAttempt(record)) return attemptProblem(record)
    if (record.rowsHidden !== rowsOf(hides)) return 'rowsHidden must be the number of rows that it hides'
    if (record.undoneWithRun !== undefined && record.status !== 'undone')
      return 'undoneWithRun requires the status undone'
    return undefined
  }

  /** Checks that one compaction inserts each ordinal, and that only later compactions cover the inserted row. */
  #insertions(session: SessionRecord): string | undefined {
    const inserters = new Map<number, CompactionRecord>()
    for (const record of this.#lists.compactions) {
      if (record.inserts === undefined) continue
      if (inserters.has(record.inserts[1])) return 'two compactions insert the same row'
      inserters.set(record.inserts[1], record)
    }
    if (inserters.size !== session.inserted) return 'an inserted row has no compaction'
    for (const record of this.#lists.compactions) {
      if (isAttempt(record)) continue
      const covered = [...(record.hides?.inserted ?? []), ...(record.beside?.inserted ?? [])]
      for (const [anchor, ordinal] of covered) {
        const inserter = inserters.get(ordinal)!
        if (inserter.inserts![0] !== anchor) return 'a compaction covers a row at the wrong place'
        if (inserter.rank >= record.rank) return 'a compaction covers a row that a later one inserts'
      }
    }
    return undefined
  }

  #hiders(hiding: Hiding): string | undefined {
    if (hiding.isTwice) return 'two compactions in force hide the same message'
    const hidden = new Set<number>()
    for (const { status, hides } of this.#lists.compactions) {
      if (status !== 'active') continue
      for (const [, ordinal] of hides?.inserted ?? []) {
        if (hidden.has(ordinal)) return 'two compactions in force hide the same row'
        hidden.add(ordinal)
        if (this.#lists.compactions[hiding.inserterOf(ordinal)!]!.status !== 'active')
          return "a compaction in force hides a row inserted by one that isn't in force"
      }
    }
    return undefined
  }

  #undos(): string | undefined {
    for (const { undoneWithRun } of this.#lists.compactions) {
      if (undoneWithRun === undefined) continue
      if (this.#lists.audit[undoneWithRun - 1]?.event !== 'run undone')
        return 'undoneWithRun must be the number of the audit record of an undone run'
    }
    return undefined
  }

  /** Checks that a rewind undoes and redoes only earlier compactions. */
  #turned(): string | undefined {
    for (const record of this.#lists.compactions) {
      const { lifts, restores, turned, rewinds, rank } = record
      const named = [
        ...(lifts ?? []),
        ...(restores ?? []),
        ...(turned?.lifted ?? []),
        ...(turned?.restored ?? []),
      ]
      if (named.length > 0 && rewinds !== true) return 'only a rewind can lift or restore compactions'
      if (named.some((id) => !this.#compactions.has(id) || this.#compactions.get(id)!.rank >= rank))
        return "a rewind lifts or restores compactions that don't precede it"
    }
    return undefined
  }
}

function attemptProblem(record: CompactionRecord): string | undefined {
  const { inserts, partsReplaced, undoneWithRun } = record
  const isBare = inserts === undefined && partsReplaced === 0 && undoneWithRun === undefined
  return isBare ? undefined : 'a compaction that was never in force cannot insert or replace anything'
}

/** Checks that the rows exist. An attempt may also name rows that its run would have inserted. */
function isWithin(
  { positions = [], inserted = [] }: RowSetRecord,
  session: SessionRecord,
  isTried: boolean,
): boolean {
  if (!positions.every(([, to]) => to <= session.messages)) return false
  return isTried || inserted.every(([anchor, at]) => anchor <= session.messages && at <= session.inserted)
}

function rowsOf({ positions = [], inserted = [] }: RowSetRecord): number {
  return positions.reduce((sum, [from, to]) => sum + to - from + 1, inserted.length)
}

function overlap(a: RowSetRecord, b: RowSetRecord): boolean {
  const ordinals = new Set(a.inserted?.map(([, ordinal]) => ordinal))
  if (b.inserted?.some(([, ordinal]) => ordinals.has(ordinal))) return true
  const ranges = [...(a.positions ?? []), ...(b.positions ?? [])].sort(([x], [y]) => x - y)
  return ranges.some(([from], index) => index > 0 && ranges[index - 1]![1] >= from)
}
