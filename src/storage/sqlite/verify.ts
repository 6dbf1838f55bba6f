import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { pairToolUse } from '../../messages/pairing.ts'
import type { Finding, FindingCode } from '../../model/coverage.ts'
import { countRows, holdsRow, type RowSet } from '../../model/coverage.ts'
import type { MessageIndex } from '../../model/message-parts.ts'
import { COMPACTION_STATUSES } from '../../model/nesting.ts'
import { isCondensing } from '../../model/plan.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { writeAudit } from './audit.ts'
import { loadCompactions, type StoredCompaction } from './compactions.ts'
import type { Connection, Row } from './connection.ts'
import { blobPlaces } from './content-codec.ts'
import { endDead } from './lease.ts'
import { guardProblems } from './migrate.ts'
import { countAll, type Recounted, recountRows, resetCounters, writeRecounted } from './recount.ts'
import { encodeTools, rowId } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'

/** What a row's tags must be, by what is in force. */
type Tags = { condenseParent: number | null; truncationParent: number | null; retiredBy: number | null }

/** What became of a blob. */
type BlobState = 'missing' | { readonly damaged: boolean; readonly references: number }

type TaggedRow = Tags & {
  readonly key: number
  readonly id: string
  readonly position: number | null
  readonly ordinal: number
  readonly insertedBy: number | null
}

/**
 * Holds a session to what must be true of it: tags and shown replacements against coverage and statuses,
 * counters and sizes against the rows, positions, pairs, contents, blobs, guards.
 *
 * With `repair`, everything that is an index of something else is rebuilt from it, in one transaction, and a row
 * of the audit says so. Contents are never touched. Throws `SESSION_NOT_FOUND`.
 */
export function verifySession(
  connection: Connection,
  id: string,
  estimator: (session: StoredSession) => Estimator,
  repair: boolean,
): { findings: Finding[]; repaired: boolean } {
  const look = (): { findings: Finding[]; repaired: boolean } => {
    const session = requireSession(connection, id)
    const check = new Check(connection, session, estimator(session))
    const findings = check.run()
    if (!repair || !findings.some(({ repairable }) => repairable)) return { findings, repaired: false }
    check.mend()
    writeAudit(connection, session.no, { event: 'repaired', detail: { findings: findings.length } })
    return { findings, repaired: true }
  }
  // An attempt whose process died has ended, whichever verb finds it first.
  if (!connection.readonly) endDead(connection, 'verifySession', id)
  return repair ? connection.write('verifySession', look) : connection.read('verifySession', look)
}

class Check {
  readonly #connection: Connection
  readonly #session: StoredSession
  readonly #estimator: Estimator
  readonly #findings: Finding[] = []
  readonly #rows: readonly TaggedRow[]
  readonly #compactions: readonly StoredCompaction[]
  readonly #recounted: Recounted[] = []
  readonly #expected = new Map<number, Tags>()
  /** The rows that compactions inserted, by the compaction's number. */
  readonly #inserted: ReadonlyMap<number, TaggedRow>

  constructor(connection: Connection, session: StoredSession, estimator: Estimator) {
    this.#connection = connection
    this.#session = session
    this.#estimator = estimator
    this.#compactions = loadCompactions(connection, session.no)
    this.#rows = connection
      .all(
        `select key, id, position, ordinal, inserted_by, condense_parent, truncation_parent, retired_by
         from undertext_messages where session = ? order by anchor, ordinal`,
        session.no,
      )
      .map((row) => this.#decode(row))
    this.#inserted = new Map(
      this.#rows.flatMap((row) => (row.insertedBy === null ? [] : [[row.insertedBy, row] as const])),
    )
  }

  run(): Finding[] {
    this.#guards()
    this.#positions()
    this.#insertions()
    this.#records()
    this.#tags()
    this.#contents()
    this.#pairs()
    this.#counters()
    return this.#findings
  }

  /** Rebuilds tags, shown replacements, sizes, index columns and counters, within the caller's transaction. */
  mend(): void {
    for (const { key } of this.#rows) {
      const tags = this.#expected.get(key)!
      this.#connection.run(
        'update undertext_messages set condense_parent = ?, truncation_parent = ?, retired_by = ? where key = ?',
        tags.condenseParent,
        tags.truncationParent,
        tags.retiredBy,
        key,
      )
    }
    for (const row of this.#recounted) writeRecounted(this.#connection, row)
    resetCounters(this.#connection, this.#session.no)
  }

  #decode([
    key,
    id,
    position,
    ordinal,
    insertedBy,
    condenseParent,
    truncationParent,
    retiredBy,
  ]: Row): TaggedRow {
    return {
      key: key as number,
      id: rowId(this.#session.incarnation, id, position, ordinal),
      position: position as number | null,
      ordinal: ordinal as number,
      insertedBy: insertedBy as number | null,
      condenseParent: condenseParent as number | null,
      truncationParent: truncationParent as number | null,
      retiredBy: retiredBy as number | null,
    }
  }

  #found(
    code: FindingCode,
    detail: string,
    repairable: boolean,
    messageId?: string,
    compactionId?: string,
  ): void {
    this.#findings.push({
      code,
      detail,
      repairable,
      ...(messageId !== undefined && { messageId }),
      ...(compactionId !== undefined && { compactionId }),
    })
  }

  #guards(): void {
    const { missing, changed, foreign } = guardProblems(this.#connection)
    for (const name of missing) this.#found('GUARD_MISSING', `the trigger ${name} is gone`, false)
    for (const name of changed) this.#found('GUARD_CHANGED', `the trigger ${name} is not ours`, false)
    for (const name of foreign)
      this.#found('FOREIGN_TRIGGER', `the trigger ${name} on a table of ours was made by others`, false)
  }

  #positions(): void {
    let expected = 1
    for (const { position, id } of this.#rows) {
      if (position === null) continue
      if (position !== expected)
        this.#found('POSITION_GAP', `position ${position} where ${expected} was due`, false, id)
      expected = position + 1
    }
  }

  /** A compaction stands for what it covers with one row; a second would say the same things twice. */
  #insertions(): void {
    for (const row of this.#rows) {
      if (row.insertedBy === null || this.#inserted.get(row.insertedBy) === row) continue
      const id = this.#compactions.find(({ no }) => no === row.insertedBy)?.id
      this.#found('INSERTED_TWICE', 'its compaction inserted another row too', false, row.id, id)
    }
  }

  /** What compactions say of themselves must be what is there: undo, redo and exports go by it. Nothing else tells it, so nothing mends it. */
  #records(): void {
    const replaced = new Map(
      this.#connection.all(
        `select c.no, count(*) from undertext_compactions c join undertext_replacements r on r.compaction = c.no
         where c.session = ? group by c.no`,
        this.#session.no,
      ) as [number, number][],
    )
    const damaged = (id: string, detail: string): void =>
      this.#found('COMPACTION_DAMAGED', detail, false, undefined, id)
    const ranks = new Map(this.#compactions.map(({ no, rank }) => [no, rank] as const))
    for (const { no, id, status, rank, coverage, turned, rowsHidden, partsReplaced } of this.#compactions) {
      if (!COMPACTION_STATUSES.includes(status)) damaged(id, 'its status is none')
      if (status !== 'active' && status !== 'undone') continue
      // What its undo turns back came into force before it.
      const others = [...turned.lifted, ...turned.restored]
      const isEarlier = (other: number): boolean => (ranks.get(other) ?? rank) < rank
      if (others.length > 0 && (coverage.rewinds !== true || !others.every(isEarlier)))
        damaged(id, 'it turned compactions that no rewind here can have turned')
      const parts = replaced.get(no) ?? 0
      if (parts !== partsReplaced)
        damaged(id, `it replaces ${partsReplaced} parts, and ${parts} texts are there`)
      const rows = countRows(coverage.hidden)
      if (rows !== rowsHidden) damaged(id, `it hides ${rowsHidden} rows, and ${rows} are named`)
    }
  }

  #tags(): void {
    this.#expectTags()
    const byNo = new Map(this.#compactions.map((compaction) => [compaction.no, compaction] as const))
    for (const row of this.#rows) {
      for (const parent of [row.condenseParent, row.truncationParent, row.retiredBy]) {
        if (parent !== null && !byNo.has(parent)) this.#strayTag(row, parent)
      }
      const expected = this.#expected.get(row.key)!
      for (const tag of ['condenseParent', 'truncationParent', 'retiredBy'] as const) {
        if (row[tag] === expected[tag]) continue
        const code = row[tag] === null ? 'TAG_MISSING' : 'TAG_WRONG'
        const name = (no: number | null): string => (no === null ? 'none' : (byNo.get(no)?.id ?? `no. ${no}`))
        this.#found(code, `${tag} is ${name(row[tag])}, and must be ${name(expected[tag])}`, true, row.id)
      }
      this.#cycle(row, byNo)
    }
  }

  /** The tags as coverage and statuses say: what is in force hides what it covers. */
  #expectTags(): void {
    const byPosition = new Map<number, Tags>()
    const byOrdinal = new Map<number, Tags>()
    for (const { key, position, ordinal } of this.#rows) {
      const tags = { condenseParent: null, truncationParent: null, retiredBy: null }
      this.#expected.set(key, tags)
      if (position === null) byOrdinal.set(ordinal, tags)
      else byPosition.set(position, tags)
    }
    const each = (set: RowSet, mark: (tags: Tags) => void): void => {
      for (const [from, to] of set.positions) {
        for (let position = from; position <= to; position++) {
          const tags = byPosition.get(position)
          if (tags !== undefined) mark(tags)
        }
      }
      for (const { ordinal } of set.inserted) {
        const tags = byOrdinal.get(ordinal)
        if (tags !== undefined) mark(tags)
      }
    }
    for (const { no, kind, status, coverage } of this.#compactions) {
      if (status === 'active') {
        each(coverage.hidden, (tags) => {
          if (isCondensing(kind)) tags.condenseParent = no
          else tags.truncationParent = no
        })
      } else if (coverage.inserted !== undefined) {
        each({ positions: [], inserted: [coverage.inserted] }, (tags) => {
          tags.retiredBy = no
        })
      }
    }
  }

  #strayTag(row: TaggedRow, parent: number): void {
    const other = this.#connection.get('select id from undertext_compactions where no = ?', parent)
    if (other === undefined)
      this.#found('ORPHAN_TAG', `a tag names compaction no. ${parent}, which is not there`, true, row.id)
    else
      this.#found(
        'FOREIGN_TAG',
        'a tag names a compaction of another session',
        true,
        row.id,
        other[0] as string,
      )
  }

  /** Follows the hiding parents of an inserted row upwards; coming back to it would hide it by itself. */
  #cycle(row: TaggedRow, byNo: ReadonlyMap<number, StoredCompaction>): void {
    if (row.insertedBy === null) return
    const seen = new Set<number>()
    for (let at: TaggedRow | undefined = row; at !== undefined; ) {
      const parent: number | null = at.condenseParent ?? at.truncationParent
      if (parent === null) return
      if (parent === row.insertedBy || seen.has(parent)) {
        this.#found(
          'TAG_CYCLE',
          'it is hidden by what it inserted itself',
          true,
          row.id,
          byNo.get(parent)?.id,
        )
        return
      }
      seen.add(parent)
      at = this.#inserted.get(parent)
    }
  }

  #contents(): void {
    const stored = new Map<number, Row>(
      this.#connection
        .all(
          `select key, tools, shown, size_text, size_reasoning, size_calls, size_results, size_media
           from undertext_messages where session = ?`,
          this.#session.no,
        )
        .map((row) => [row[0] as number, row] as const),
    )
    const ids = new Map(this.#rows.map(({ key, id }) => [key, id] as const))
    const present = new Set<number>()
    const damaged = new Map<number, string>()
    const blobs = new Map<number, string>()
    const recountedRows = recountRows(
      this.#connection,
      this.#session.no,
      this.#estimator,
      (key, error, places) => {
        damaged.set(key, error.facts.detail)
        if (places !== null) blobs.set(key, places)
      },
    )
    for (const recounted of recountedRows) {
      this.#recounted.push(recounted)
      if (recounted.blobs !== null) blobs.set(recounted.key, recounted.blobs)
      present.add(recounted.key)
      this.#row(ids.get(recounted.key)!, stored.get(recounted.key)!, recounted)
    }
    for (const { key, id } of this.#rows)
      if (!present.has(key) && !damaged.has(key))
        this.#found('CONTENT_MISSING', 'its content is gone', false, id)
    const lacking = this.#blobs(blobs, ids, damaged)
    for (const [key, detail] of damaged)
      if (!lacking.has(key)) this.#found('CONTENT_DAMAGED', detail, false, ids.get(key))
  }

  #row(id: string, stored: Row, { index, replacements, shown, shownSizes }: Recounted): void {
    const sizes = stored.slice(3, 8)
    const expected = [
      shownSizes.text,
      shownSizes.reasoning,
      shownSizes.toolCalls,
      shownSizes.toolResults,
      shownSizes.media,
    ]
    if (!isDeepStrictEqual(sizes, expected)) {
      this.#found('SIZE_DRIFT', `sizes are ${sizes.join(' ')}, and must be ${expected.join(' ')}`, true, id)
    }
    if (replacements.some(({ isRight }) => !isRight)) {
      this.#found('SIZE_DRIFT', 'what its replacements save is counted wrongly', true, id)
    }
    if (stored[1] !== encodeTools(index))
      this.#found('INDEX_DRIFT', 'the index of its calls and results is wrong', true, id)
    if (stored[2] !== shown)
      this.#found('TAG_WRONG', 'it shows other replacements than those in force', true, id)
  }

  /** Answers the rows that lack a blob: that they cannot be read is said by that. */
  #blobs(
    blobs: ReadonlyMap<number, string>,
    ids: ReadonlyMap<number, string>,
    damaged: ReadonlyMap<number, string>,
  ): ReadonlySet<number> {
    const known = new Map<string, BlobState>()
    const lacking = new Set<number>()
    for (const [key, places] of blobs) {
      for (const hash of this.#hashesOf(key, places, damaged)) {
        const state = known.get(hash) ?? this.#blob(hash)
        known.set(hash, state)
        const id = ids.get(key)
        if (state === 'missing') {
          lacking.add(key)
          this.#found('BLOB_MISSING', `blob ${hash} is gone`, false, id)
          continue
        }
        if (state.damaged) this.#found('BLOB_DAMAGED', `the bytes of blob ${hash} are others`, false, id)
        if (state.references < 1)
          this.#found('BLOB_REFERENCES', `blob ${hash} counts no reference`, false, id)
      }
    }
    return lacking
  }

  /** A list of blobs that cannot be read was found damaged with its row. */
  #hashesOf(key: number, blobs: string, damaged: ReadonlyMap<number, string>): ReadonlySet<string> {
    try {
      return new Set(blobPlaces(blobs, key).map(([, , hash]) => hash))
    } catch (error) {
      if (damaged.has(key)) return new Set()
      throw error
    }
  }

  #blob(hash: string): BlobState {
    const row = this.#connection.get(
      'select reference_count, bytes from undertext_blobs where hash = ?',
      Buffer.from(hash, 'hex'),
    )
    if (!(row?.[1] instanceof Uint8Array)) return 'missing'
    const sum = createHash('sha256').update(row[1]).digest('hex')
    return { damaged: sum !== hash, references: row[0] as number }
  }

  /** A call and its result are hidden by the same compaction or both visible, but for results that came late. */
  #pairs(): void {
    const rows = this.#rows.filter(({ position }) => position !== null)
    const indexes = new Map<number, MessageIndex>(
      this.#recounted.map(({ key, index }) => [key, index] as const),
    )
    const { pairs } = pairToolUse(rows.map(({ key }) => indexes.get(key)))
    const open = this.#compactions.filter(({ coverage }) => coverage.openCalls)
    const late = new Set(open.map(({ no }) => no))
    const rewinds = new Set(
      this.#compactions.filter(({ coverage }) => coverage.rewinds === true).map(({ no }) => no),
    )
    const placeOf = ({ position, ordinal }: TaggedRow) => ({ position: position ?? undefined, ordinal })
    for (const { call, result } of pairs) {
      const [a, b] = [rows[call.row]!, rows[result.row]!]
      const [parentA, parentB] = [
        a.condenseParent ?? a.truncationParent,
        b.condenseParent ?? b.truncationParent,
      ]
      if (parentA === parentB || (parentA !== null && late.has(parentA))) continue
      // A rewind may begin between a call and its result: the call waits again.
      if (parentB !== null && rewinds.has(parentB)) continue
      // A result that came while its call was hidden may be hidden by itself, and the call come back without it.
      if (parentA === null && open.some(({ coverage }) => holdsRow(coverage.hidden, placeOf(a)))) continue
      this.#found('PARTED_PAIR', 'a call and its result are not hidden together', false, b.id)
    }
  }

  #counters(): void {
    const counted = countAll(this.#connection, this.#session.no)
    const { session } = { session: this.#session }
    const kept = [
      session.messageCount,
      session.inserted,
      session.visibleCount,
      session.visibleSizes.text,
      session.visibleSizes.reasoning,
      session.visibleSizes.toolCalls,
      session.visibleSizes.toolResults,
      session.visibleSizes.media,
      session.hidden.condensed,
      session.hidden.truncated,
      session.hidden.byHand,
      session.retired,
      session.activeCompactions,
    ]
    if (isDeepStrictEqual(kept, counted)) return
    this.#found('COUNTER_DRIFT', `counters are ${kept.join(' ')}, and must be ${counted.join(' ')}`, true)
  }
}
