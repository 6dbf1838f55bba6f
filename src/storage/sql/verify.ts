import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { pairToolUse } from '../../core/messages/call-results.ts'
import { defined } from '../../core/messages/json.ts'
import {
  COMPACTION_STATUSES,
  containsRow,
  countRows,
  type Finding,
  type FindingCode,
  type RowSet,
} from '../../core/model/coverage.ts'
import { isCondensing } from '../../core/model/plan.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { writeAudit } from './audit.ts'
import { SIZE_COLUMNS, sizeColumns } from './columns.ts'
import { loadCompactions, type StoredCompaction } from './compactions.ts'
import { blobPlaces } from './content-codec.ts'
import { expireDeadInTransaction } from './lease.ts'
import {
  countAll,
  type Recounted,
  recountRows,
  resetCounters,
  storedCounters,
  writeRecounted,
} from './recount.ts'
import { requestBlobs } from './requests.ts'
import { encodeTools, rowId } from './row-codec.ts'
import { estimatorOf, requireSession, resetNewest, type StoredSession } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import { Done, type Step, type Work } from './work.ts'

/** The codes of findings about derived data, which a repair can compute again. */
const REPAIRABLE: ReadonlySet<FindingCode> = new Set([
  ...(['TAG_MISSING', 'TAG_WRONG', 'TAG_CYCLE', 'ORPHAN_TAG', 'FOREIGN_TAG'] as const),
  ...(['SIZE_DRIFT', 'INDEX_DRIFT', 'COUNTER_DRIFT'] as const),
])

const TAG_NAMES = ['condenseParent', 'truncationParent', 'retiredBy'] as const
/** The tags of a row, in the order of `TAG_NAMES`, as numbers of compactions. */
type Tags = [condense: number | null, truncate: number | null, retire: number | null]

type BlobState = 'missing' | { readonly damaged: boolean; readonly references: number }

type TaggedRow = {
  readonly key: number
  readonly id: string
  readonly position: number | null
  readonly ordinal: number
  readonly insertedBy: number | null
  readonly tags: Tags
  /** The stored index columns: tool calls, replacements and sizes. */
  readonly tools: unknown
  readonly shown: unknown
  readonly sizes: Row
}

/**
 * Checks the invariants of a session: tags and shown replacements match the compactions; counters and sizes match the rows; positions,
 * pairs, contents, blobs and guards are intact.
 *
 * With `repair`, all derived data is computed again in one transaction, and the repair is recorded in the audit. Contents are never
 * changed. Throws `SESSION_NOT_FOUND`.
 */
export function* verifySession(
  sql: Sql,
  id: string,
  repair: boolean,
): Work<{ findings: Finding[]; repaired: boolean }> {
  const check = function* (): Work<{ findings: Finding[]; repaired: boolean }> {
    const session = yield* requireSession(sql, id)
    const checks = yield* Check.of(sql, session)
    const findings = yield* checks.run()
    if (!repair || !findings.some(({ repairable }) => repairable)) return { findings, repaired: false }
    yield* checks.repair()
    yield* writeAudit(sql, session.no, { event: 'repaired', detail: { findings: findings.length } })
    return { findings, repaired: true }
  }
  // Attempts whose process has died are first marked as expired.
  if (!sql.readonly) yield* expireDeadInTransaction(sql, 'sessions.verify', id)
  return repair ? yield* sql.write('sessions.verify', check) : yield* sql.read('sessions.verify', check)
}

class Check {
  readonly #sql: Sql
  readonly #session: StoredSession
  readonly #estimator: Estimator
  readonly #findings: Finding[] = []
  readonly #rows: readonly TaggedRow[]
  readonly #byKey: ReadonlyMap<number, TaggedRow>
  readonly #compactions: ReadonlyMap<number, StoredCompaction>
  readonly #recounted: Recounted[] = []
  readonly #expected = new Map<TaggedRow, Tags>()
  /** The inserted rows, by the number of their compaction. */
  readonly #inserted: ReadonlyMap<number, TaggedRow>

  static *of(sql: Sql, session: StoredSession): Work<Check> {
    const rows = yield* sql.all(
      `select key, id, position, ordinal, inserted_by, condense_parent, truncation_parent, retired_by, tools, shown,
           ${SIZE_COLUMNS.join(', ')}
         from undertext_messages where {family} session = ? order by anchor, ordinal`,
      session.no,
    )
    return new Check(sql, session, estimatorOf(sql, session), yield* loadCompactions(sql, session.no), rows)
  }

  private constructor(
    sql: Sql,
    session: StoredSession,
    estimator: Estimator,
    compactions: readonly StoredCompaction[],
    rows: readonly Row[],
  ) {
    this.#sql = sql
    this.#session = session
    this.#estimator = estimator
    this.#compactions = new Map(compactions.map((one) => [one.no, one] as const))
    this.#rows = rows.map(
      ([key, id, position, ordinal, insertedBy, condense, truncate, retire, tools, shown, ...sizes]) => ({
        key: key as number,
        id: rowId(session.incarnation, id, position, ordinal),
        position: position as number | null,
        ordinal: ordinal as number,
        insertedBy: insertedBy as number | null,
        tags: [condense, truncate, retire] as Tags,
        tools,
        shown,
        sizes,
      }),
    )
    this.#byKey = new Map(this.#rows.map((row) => [row.key, row] as const))
    this.#inserted = new Map(
      this.#rows.flatMap((row) => (row.insertedBy === null ? [] : [[row.insertedBy, row] as const])),
    )
  }

  *run(): Work<Finding[]> {
    yield* this.#checkGuards()
    this.#checkPositions()
    this.#checkInsertions()
    yield* this.#checkCompactions()
    yield* this.#checkTags()
    yield* this.#checkContents()
    this.#checkPairs()
    yield* this.#checkCounters()
    yield* this.#checkNewest()
    return this.#findings
  }

  /** Rewrites tags, shown replacements, sizes, index columns and counters, within the caller's transaction. */
  *repair(): Work<void> {
    for (const [{ key }, tags] of this.#expected) {
      yield* this.#sql.run(
        'update undertext_messages set condense_parent = ?, truncation_parent = ?, retired_by = ? where {family} key = ?',
        ...tags,
        key,
      )
    }
    for (const row of this.#recounted) yield* writeRecounted(this.#sql, row)
    yield* resetCounters(this.#sql, this.#session.no)
    if (!(yield* this.#newestAt()).isSound) yield* resetNewest(this.#sql, this.#session.no)
  }

  #report(code: FindingCode, detail: string, messageId?: string, compactionId?: string): void {
    const repairable = REPAIRABLE.has(code)
    this.#findings.push({ code, detail, repairable, ...defined({ messageId, compactionId }) })
  }

  /** Drops a finding about sizes that were counted with the bytes of a damaged blob, because they aren't the row's true sizes. */
  #forgetDrift(messageId: string | undefined): void {
    const at = this.#findings.findIndex((one) => one.code === 'SIZE_DRIFT' && one.messageId === messageId)
    if (at !== -1) this.#findings.splice(at, 1)
  }

  *#checkGuards(): Work<void> {
    const { missing, changed, foreign } = yield* this.#sql.guardProblems()
    for (const name of missing) this.#report('GUARD_MISSING', `the trigger ${name} is missing`)
    for (const name of changed) this.#report('GUARD_CHANGED', `the trigger ${name} was changed`)
    for (const name of foreign)
      this.#report('FOREIGN_TRIGGER', `the trigger ${name} on an undertext table doesn't belong to undertext`)
  }

  #checkPositions(): void {
    let expected = 1
    for (const { position, id } of this.#rows) {
      if (position === null) continue
      if (position !== expected)
        this.#report('POSITION_GAP', `position ${position} follows ${expected - 1}`, id)
      expected = position + 1
    }
  }

  /** A compaction inserts one row; a second one would repeat the same content. */
  #checkInsertions(): void {
    for (const row of this.#rows) {
      if (row.insertedBy === null || this.#inserted.get(row.insertedBy) === row) continue
      const { id } = this.#compactions.get(row.insertedBy) ?? {}
      this.#report('INSERTED_TWICE', 'its compaction also inserted another row', row.id, id)
    }
  }

  /** Undo, redo and exports depend on the figures of a compaction. They can't be repaired, because they aren't stored anywhere else. */
  *#checkCompactions(): Work<void> {
    const replaced = new Map(
      (yield* this.#sql.all(
        `select c.no, count(*) from undertext_compactions c join undertext_replacements r on {family r} r.compaction = c.no
         where {family c} c.session = ? group by c.no`,
        this.#session.no,
      )) as [number, number][],
    )
    const report = (id: string, detail: string): void =>
      this.#report('COMPACTION_DAMAGED', detail, undefined, id)
    for (const compaction of this.#compactions.values()) {
      const { no, id, status, rank, coverage, turned, rowsHidden, partsReplaced } = compaction
      if (!COMPACTION_STATUSES.includes(status)) report(id, 'its status is unknown')
      if (status !== 'active' && status !== 'undone') continue
      // Compactions that a rewind undid or redid came into force before it.
      const others = [...turned.lifted, ...turned.restored]
      const isEarlier = (other: number): boolean => (this.#compactions.get(other)?.rank ?? rank) < rank
      if (others.length > 0 && (coverage.rewinds !== true || !others.every(isEarlier)))
        report(id, "it lists undone or redone compactions that don't precede it")
      const parts = replaced.get(no) ?? 0
      if (parts !== partsReplaced)
        report(id, `it replaces ${partsReplaced} parts, but ${parts} texts are stored`)
      const rows = countRows(coverage.hidden)
      if (rows !== rowsHidden) report(id, `it hides ${rowsHidden} rows, but its coverage has ${rows}`)
    }
  }

  *#checkTags(): Work<void> {
    this.#expectTags()
    const nameOf = (no: number | null): string =>
      no === null ? 'none' : (this.#compactions.get(no)?.id ?? `no. ${no}`)
    for (const row of this.#rows) {
      for (const tag of row.tags)
        if (tag !== null && !this.#compactions.has(tag)) yield* this.#reportStrayTag(row, tag)
      const expected = this.#expected.get(row)!
      for (const [at, name] of TAG_NAMES.entries()) {
        const [found, due] = [row.tags[at]!, expected[at]!]
        if (found === due) continue
        const code = found === null ? 'TAG_MISSING' : 'TAG_WRONG'
        this.#report(code, `${name} is ${nameOf(found)}; expected ${nameOf(due)}`, row.id)
      }
      this.#checkCycle(row)
    }
  }

  /** Computes the tags from the compactions: active ones hide the rows that they cover. */
  #expectTags(): void {
    const byPosition = new Map<number, Tags>()
    const byOrdinal = new Map<number, Tags>()
    for (const row of this.#rows) {
      const tags: Tags = [null, null, null]
      this.#expected.set(row, tags)
      if (row.position === null) byOrdinal.set(row.ordinal, tags)
      else byPosition.set(row.position, tags)
    }
    const setTag = (set: RowSet, tag: 0 | 1 | 2, no: number): void => {
      const mark = (tags: Tags | undefined): void => {
        if (tags !== undefined) tags[tag] = no
      }
      for (const [from, to] of set.positions)
        for (let position = from; position <= to; position++) mark(byPosition.get(position))
      for (const { ordinal } of set.inserted) mark(byOrdinal.get(ordinal))
    }
    for (const { no, kind, status, coverage } of this.#compactions.values()) {
      if (status === 'active') setTag(coverage.hidden, isCondensing(kind) ? 0 : 1, no)
      else if (coverage.inserted !== undefined)
        setTag({ positions: [], inserted: [coverage.inserted] }, 2, no)
    }
  }

  *#reportStrayTag(row: TaggedRow, no: number): Work<void> {
    const other = yield* this.#sql.get('select id from undertext_compactions where {family} no = ?', no)
    if (other === undefined)
      this.#report('ORPHAN_TAG', `a tag refers to compaction no. ${no}, which doesn't exist`, row.id)
    else
      this.#report(
        'FOREIGN_TAG',
        'a tag refers to a compaction of another session',
        row.id,
        other[0] as string,
      )
  }

  /** Follows the hiding parents of an inserted row: a path that leads back to the row would make it hide itself. */
  #checkCycle(row: TaggedRow): void {
    const seen = new Set<number>()
    for (let at = row.insertedBy === null ? undefined : row; at !== undefined; ) {
      const parent = hidingParent(at)
      if (parent === null) return
      if (parent === row.insertedBy || seen.has(parent)) {
        const { id } = this.#compactions.get(parent) ?? {}
        this.#report('TAG_CYCLE', 'it is hidden by the compaction that inserted it', row.id, id)
        return
      }
      seen.add(parent)
      at = this.#inserted.get(parent)
    }
  }

  *#checkContents(): Work<void> {
    const present = new Set<number>()
    const damaged = new Map<number, string>()
    const blobs = new Map<number, string>()
    const onDamaged: Parameters<typeof recountRows>[4] = (key, error, places) => {
      damaged.set(key, error.facts.detail)
      if (places !== null) blobs.set(key, places)
    }
    const use = (row: Recounted): Step<void> => {
      this.#recounted.push(row)
      if (row.blobs !== null) blobs.set(row.key, row.blobs)
      present.add(row.key)
      this.#checkRow(this.#byKey.get(row.key)!, row)
      return new Done(undefined)
    }
    yield* recountRows(this.#sql, this.#session.no, this.#estimator, use, onDamaged)
    for (const { key, id } of this.#rows)
      if (!present.has(key) && !damaged.has(key))
        this.#report('CONTENT_MISSING', 'its content is missing', id)
    const lacking = yield* this.#checkBlobs(blobs, damaged)
    for (const [key, detail] of damaged)
      if (!lacking.has(key)) this.#report('CONTENT_DAMAGED', detail, this.#byKey.get(key)?.id)
  }

  #checkRow(row: TaggedRow, { index, replacements, shown, shownSizes }: Recounted): void {
    const expected = sizeColumns(shownSizes)
    if (!isDeepStrictEqual(row.sizes, expected))
      this.#report('SIZE_DRIFT', `sizes are ${row.sizes.join(' ')}; expected ${expected.join(' ')}`, row.id)
    if (replacements.some(({ isCorrect }) => !isCorrect))
      this.#report('SIZE_DRIFT', 'the savings of its replacements are wrong', row.id)
    if (row.tools !== encodeTools(index))
      this.#report('INDEX_DRIFT', 'the index of its calls and results is wrong', row.id)
    if (row.shown !== shown)
      this.#report('TAG_WRONG', "the replacements that it shows aren't the active ones", row.id)
  }

  /** Returns the rows that lack a blob, so that they aren't also reported as damaged. */
  *#checkBlobs(
    blobs: ReadonlyMap<number, string>,
    damaged: ReadonlyMap<number, string>,
  ): Work<ReadonlySet<number>> {
    const known = new Map<string, BlobState>()
    const lacking = new Set<number>()
    for (const [key, places] of blobs) {
      for (const hash of hashesOf(key, places, damaged)) {
        const state = known.get(hash) ?? (yield* this.#blobState(hash))
        known.set(hash, state)
        const id = this.#byKey.get(key)?.id
        if (state === 'missing') {
          lacking.add(key)
          this.#report('BLOB_MISSING', `blob ${hash} is missing`, id)
          continue
        }
        if (state.damaged) {
          this.#forgetDrift(id)
          this.#report('BLOB_DAMAGED', `the bytes of blob ${hash} don't match its hash`, id)
        }
        if (state.references < 1) this.#report('BLOB_REFERENCES', `blob ${hash} has no references`, id)
      }
    }
    for (const [hash, count] of yield* requestBlobs(this.#sql, this.#session.no)) {
      const state = known.get(hash) ?? (yield* this.#blobState(hash))
      if (state === 'missing') this.#report('BLOB_MISSING', `blob ${hash} of a request is missing`)
      else if (state.damaged) this.#report('BLOB_DAMAGED', `the bytes of blob ${hash} don't match its hash`)
      else if (state.references < count)
        this.#report('BLOB_REFERENCES', `blob ${hash} has fewer references than the requests that need it`)
    }
    return lacking
  }

  *#blobState(hash: string): Work<BlobState> {
    const row = yield* this.#sql.get(
      'select reference_count, bytes from undertext_blobs where {family} hash = ?',
      Buffer.from(hash, 'hex'),
    )
    if (!(row?.[1] instanceof Uint8Array)) return 'missing'
    const sum = createHash('sha256').update(row[1]).digest('hex')
    return { damaged: sum !== hash, references: row[0] as number }
  }

  /** A call and its result are hidden by the same compaction or are both visible, except for late results. */
  #checkPairs(): void {
    const coverageOf = (no: number | null) => (no === null ? undefined : this.#compactions.get(no)?.coverage)
    // A rewound call takes no result of a later call with the same id, and a call whose result was rewound is open again.
    const isRewound = (row: TaggedRow): boolean => coverageOf(hidingParent(row))?.rewinds === true
    const rows = this.#rows.filter((row) => row.position !== null && !isRewound(row))
    const indexes = new Map(this.#recounted.map(({ key, index }) => [key, index] as const))
    const { pairs } = pairToolUse(rows.map(({ key }) => indexes.get(key)))
    const open = [...this.#compactions.values()].filter(({ coverage }) => coverage.openCalls)
    for (const { call, result } of pairs) {
      const [a, b] = [rows[call.row]!, rows[result.row]!]
      const [parentA, parentB] = [hidingParent(a), hidingParent(b)]
      if (parentA === parentB || coverageOf(parentA)?.openCalls === true) continue
      // A late result may be hidden alone, and its call may become visible without it.
      const place = { position: a.position!, ordinal: a.ordinal }
      if (parentA === null && open.some(({ coverage }) => containsRow(coverage.hidden, place))) continue
      this.#report('PARTED_PAIR', "a call and its result aren't hidden together", b.id)
    }
  }

  *#checkCounters(): Work<void> {
    const stored = yield* storedCounters(this.#sql, this.#session.no)
    const counted = yield* countAll(this.#sql, this.#session.no)
    if (isDeepStrictEqual(stored, counted)) return
    this.#report('COUNTER_DRIFT', `counters are ${stored.join(' ')}; expected ${counted.join(' ')}`)
  }

  *#checkNewest(): Work<void> {
    const { newestAt, lastAt, isSound } = yield* this.#newestAt()
    if (isSound) return
    this.#report('COUNTER_DRIFT', `newest_at is ${newestAt}; the last message has the time ${lastAt}`)
  }

  /**
   * Compares the time by which the session is listed with its last message. It is earlier if the message had a time in the future when it
   * was stored, but not earlier than the session.
   */
  *#newestAt(): Work<{ readonly newestAt: number; readonly lastAt: number; readonly isSound: boolean }> {
    const { no, createdAt, updatedAt } = this.#session
    const last = this.#rows.findLast(({ position }) => position !== null)
    const [newestAt, lastAt] = (yield* this.#sql.get(
      `select newest_at, coalesce((select m.created_at from undertext_messages m where {family m} m.key = ?), 0)
       from undertext_sessions where {family} no = ?`,
      ...[last?.key ?? null, no],
    )) as unknown as readonly [number, number]
    const isCapped = newestAt < lastAt && newestAt >= Math.min(createdAt, updatedAt)
    return { newestAt, lastAt, isSound: newestAt === lastAt || isCapped }
  }
}

function hidingParent({ tags: [condense, truncate] }: TaggedRow): number | null {
  return condense ?? truncate
}

/** Returns the hashes in the stored list of a row's blobs. A list that can't be read was already reported with the row. */
function hashesOf(key: number, blobs: string, damaged: ReadonlyMap<number, string>): ReadonlySet<string> {
  try {
    return new Set(blobPlaces(blobs, key).map(([, , hash]) => hash))
  } catch (error) {
    if (damaged.has(key)) return new Set()
    throw error
  }
}
