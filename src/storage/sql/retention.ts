import { createHash } from 'node:crypto'
import { UndertextError } from '../../core/errors.ts'
import { listIn, stringifyJson } from '../../core/messages/json.ts'
import { outputText, type Part, type ToolResultContent } from '../../core/messages/message.ts'
import {
  changesSent,
  cutoff,
  isUntouched,
  planRemoval,
  type RemovedPart,
  type RetainedRow,
  requestCutoff,
} from '../../core/retention/plan.ts'
import { type ResolvedRetention, removesContent } from '../../core/retention/rules.ts'
import {
  type ContentClass,
  retiredMedia,
  retiredPart,
  type Tombstone,
  tombstonesIn,
} from '../../core/retention/tombstone.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { measurePart, unitsOf } from '../../core/tokens/measure.ts'
import {
  RETENTION_PHASES,
  type RetentionPlace,
  type RetentionRequest,
  type RetentionStep,
  type SessionRetirement,
  type SessionVerdict,
} from '../retention.ts'
import { RETIRED_BY_RULE, writeAudit, writeRemoval } from './audit.ts'
import { loadPointerTargets } from './compactions.ts'
import { dropReferences } from './content-codec.ts'
import { discardSome, setAside } from './imports.ts'
import { forgetRequestHashes, requestBlobs } from './requests.ts'
import { lockSharing, type NewContent, type NewText, rewriteRows, type SharingRow } from './rewrite.ts'
import { decodeShown, RETIRED } from './row-codec.ts'
import { estimatorOf, FORKS_OF, requireSession, type StoredSession } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import { contentsOf, KEY_OF_CONTENT, M_VISIBLE, metadataOf } from './view.ts'
import type { Work } from './work.ts'

/*
 * Retention, in steps that hold the lock of writers only briefly. `core/retention/plan.ts` decides what goes. Each step plans and removes
 * in one transaction, so nothing it relies on can change in between, and a step that was never committed is simply done again.
 */

const VERB = 'privacy.applyRetention'
/** The number of rows that one step looks at, and of bytes of contents that it reads, so that no writer waits long. */
const [PAGE_ROWS, PAGE_BYTES] = [100, 400_000]
/** The bytes that a blob counts while a page is chosen, because its size isn't read. Images seldom have more. */
const BLOB_BYTES = 200_000
/** Contents below this size get no hash: what is so short can be found by trying. */
const MIN_HASHED_BYTES = 1_024

/** The events of the audit on which neither undo nor a moment of the past depends. */
const INFORMATIVE = ['archived', 'unarchived', 'repaired', 'reestimated', RETIRED_BY_RULE]
  .map((event) => `'${event}'`)
  .join(', ')

type Figures = { rows: number; parts: number; bytes: number }
type Counts = { [C in ContentClass]?: Figures }

/** `Retention.step`. A page of which nothing is removed isn't written. */
export function* retainStep(sql: Sql, id: string, request: RetentionRequest): Work<RetentionStep> {
  rejectReadonly(sql, request)
  const { phase } = request.from
  const work = function* (isDry: boolean): Work<RetentionStep> {
    if (!isDry) yield* sql.enterAlone(id)
    const session = yield* requireSession(sql, id)
    if (phase === 'requests') return yield* retainRequests(sql, session, request, isDry)
    if (phase === 'audit') return yield* retainAudit(sql, session, request, isDry)
    return yield* retainRows(sql, session, request, isDry)
  }
  const planned = yield* sql.read(VERB, () => work(true))
  if (request.dryRun || isNothing(planned)) return planned
  return yield* sql.erase(VERB, () => work(false), true)
}

/** Throws `STORE_READONLY`, whether or not there is something to remove. */
function rejectReadonly(sql: Sql, { dryRun }: { readonly dryRun: boolean }): void {
  if (sql.readonly && !dryRun) throw new UndertextError('STORE_READONLY', { verb: VERB })
}

function isNothing({ content, requests, audit }: RetentionStep): boolean {
  return Object.keys(content).length === 0 && requests === 0 && audit === 0
}

/** Returns the place after a page: the next page, or the first of the next phase. */
function placeAfter({ phase }: RetentionPlace, last: number | undefined): Pick<RetentionStep, 'next'> {
  if (last !== undefined) return { next: { phase, after: last } }
  const next = RETENTION_PHASES[RETENTION_PHASES.indexOf(phase) + 1]
  return next === undefined ? {} : { next: { phase: next, after: 0 } }
}

/* Rows */

/** SQL: what retention needs to know of a row `m`. */
const FACTS = `select m.key, ${KEY_OF_CONTENT}, m.session, m.created_at, case when ${M_VISIBLE} then null else coalesce(h.changed_at, 0) end,
    m.pinned, m.shown, m.flags, m.source, m.position, m.ordinal`
const HIDER = `left join undertext_compactions h on {family h} h.no = coalesce(m.condense_parent, m.truncation_parent, m.retired_by)`
const PAGES = {
  messages: `${FACTS} from undertext_messages m ${HIDER}
    where {family m} m.session = ? and m.position > ? order by m.position limit ?`,
  inserted: `${FACTS} from undertext_messages m ${HIDER}
    where {family m} m.session = ? and m.position is null and m.ordinal > ? order by m.ordinal limit ?`,
}
const BY_KEYS = `${FACTS} from {list ?} k {cross} undertext_messages m on {family m} m.key = k.value ${HIDER}`

type RowFacts = Omit<RetainedRow, 'rules' | 'required'> & {
  readonly key: number
  readonly content: number
  readonly session: number
  readonly isRetired: boolean
}

function factsOf(row: Row): RowFacts {
  const [key, content, session, createdAt, hiddenAt, pinned, shown, flags] = row
  return {
    ...{ key: key as number, content: content as number, session: session as number },
    createdAt: createdAt as number,
    hiddenAt: (hiddenAt as number | null) ?? undefined,
    isPinned: pinned === 1,
    replaced: new Set(decodeShown(shown, key as number).map(({ part }) => part)),
    isRetired: (flags as number) >= RETIRED,
  }
}

function* retainRows(
  sql: Sql,
  session: StoredSession,
  request: RetentionRequest,
  isDry: boolean,
): Work<RetentionStep> {
  const { from, rulesOf, now } = request
  const isLog = from.phase === 'messages'
  const rules = rulesOf(session.config)
  const found = removesContent(rules)
    ? yield* sql.all(PAGES[isLog ? 'messages' : 'inserted'], session.no, from.after, PAGE_ROWS)
    : []
  const placeOf = (row: Row): number => row[isLog ? 9 : 10] as number
  const content: Counts = {}
  // A content is removed where it is stored; its copies in forks have a say in it.
  const due = found.filter((row) => {
    const facts = factsOf(row)
    return row[8] === null && !isUntouched({ ...facts, rules }, now)
  })
  const chosen = yield* withinBytes(sql, due)
  const last = chosen.length < due.length ? placeOf(chosen.at(-1)!) : lastOf(found, placeOf)
  const step = { content, requests: 0, audit: 0, ...placeAfter(from, last) }
  if (chosen.length === 0) return step
  const sharing = yield* lockSharing(
    sql,
    session,
    chosen.map(([key]) => key as number),
  )
  const plan = yield* planRows(sql, sharing, request, content)
  if (isDry || (plan.contents.size === 0 && plan.texts.length === 0)) return step
  const rows = sharing.filter(({ content }) => plan.touched.has(content))
  yield* sql.unguarded(`retention of session no. ${session.no}`, function* () {
    yield* rewriteRows(sql, rows, plan)
    for (const [{ id, no, owner = null }, { from }] of plan.sent) {
      yield* sql.enter(id, owner)
      yield* forgetRequestHashes(sql, no, from)
    }
  })
  yield* record(sql, rows, plan, request, content)
  return step
}

function lastOf(found: readonly Row[], placeOf: (row: Row) => number): number | undefined {
  return found.length < PAGE_ROWS ? undefined : placeOf(found.at(-1)!)
}

/** Returns the first of some rows whose contents together aren't too large for one step, at least one. */
function* withinBytes(sql: Sql, rows: readonly Row[]): Work<readonly Row[]> {
  if (rows.length === 0) return rows
  const sizes = new Map(
    (yield* sql.all(
      'select key, length(content), blobs from undertext_contents where {family} key in (select value from {list ?} k)',
      JSON.stringify(rows.map(([, content]) => content)),
    )).map(([key, length, blobs]) => [key, (length as number) + blobsIn(blobs) * BLOB_BYTES] as const),
  )
  let bytes = 0
  const end = rows.findIndex(([, content]) => {
    bytes += sizes.get(content) ?? 0
    return bytes > PAGE_BYTES
  })
  return end === -1 ? rows : rows.slice(0, Math.max(1, end))
}

/** Returns the number of blobs in a stored list. */
function blobsIn(list: unknown): number {
  return typeof list === 'string' ? list.split('],[').length : 0
}

type RowsPlan = {
  readonly contents: Map<number, NewContent>
  readonly texts: NewText[]
  /** The keys of the contents that change, or whose replacements do. */
  readonly touched: Set<number>
  /** The sessions whose view sends something else afterwards: how many rows, and the first place. */
  readonly sent: Map<StoredSession, { readonly rows: number; readonly from: number }>
}

/** Plans the removal of contents, given all rows that share them, and adds to the counts. */
function* planRows(
  sql: Sql,
  sharing: readonly SharingRow[],
  { rulesOf, now }: RetentionRequest,
  counts: Counts,
): Work<RowsPlan> {
  const sessions = new Map(sharing.map(({ session }) => [session.no, session] as const))
  const rules = new Map<number, ResolvedRetention>()
  const required = new Map<number, ReadonlyMap<number, ReadonlySet<number>>>()
  for (const [no, { config }] of sessions) {
    rules.set(no, rulesOf(config))
    required.set(no, yield* requiredParts(sql, no))
  }
  const keys = JSON.stringify(sharing.map(({ key }) => key))
  const byContent = new Map<number, (RetainedRow & RowFacts)[]>()
  for (const row of yield* sql.all(BY_KEYS, keys)) {
    const facts = factsOf(row)
    const pointedAt = required.get(facts.session)!.get(facts.key) ?? NOTHING
    listIn(byContent, facts.content).push({ ...facts, rules: rules.get(facts.session)!, required: pointedAt })
  }
  const owners = [...byContent.keys()]
  const contents = yield* contentsOf(sql, owners)
  const metadata = yield* metadataOf(sql, owners)
  const plan: RowsPlan = { contents: new Map(), texts: [], touched: new Set(), sent: new Map() }
  const anchors = new Map(sharing.map(({ key, anchor }) => [key, anchor] as const))
  for (const [key, rows] of byContent) {
    // The row that stores the content comes first, so its rules name the class.
    rows.sort((a, b) => Number(b.key === key) - Number(a.key === key))
    const content = contents.get(key)!
    const removed = planRemoval(content, rows, now, bytesOf)
    if (removed.length > 0) {
      const owner = sharing.find((row) => row.key === key) ?? sharing.find((row) => row.content === key)!
      const estimator = estimatorOf(sql, owner.session)
      const keepsOptions = rows.some(({ hiddenAt }) => hiddenAt === undefined)
      const isWhole = removed.every(({ rule }) => rule === 'hidden')
      plan.contents.set(key, {
        content: withTombstones(content, removed, { estimator, keepsOptions, now, counts }),
        metadata: isWhole ? undefined : metadata.get(key),
      })
      plan.touched.add(key)
      for (const row of rows) {
        if (!changesSent(removed, row)) continue
        const session = sessions.get(row.session)!
        const anchor = anchors.get(row.key)!
        const { rows: others, from } = plan.sent.get(session) ?? { rows: 0, from: anchor }
        plan.sent.set(session, { rows: others + 1, from: Math.min(from, anchor) })
      }
    }
  }
  yield* addTexts(sql, byContent, contents, plan)
  return plan
}

const NOTHING: ReadonlySet<number> = new Set()

/** Returns the parts, by the key of their row, to which visible rows of a session point. */
function* requiredParts(sql: Sql, session: number): Work<ReadonlyMap<number, ReadonlySet<number>>> {
  const targets = yield* loadPointerTargets(sql, session)
  const required = new Map<number, Set<number>>()
  if (targets.length === 0) return required
  const pointers = targets.flatMap(({ by }) => by)
  const seen = new Set(
    (yield* sql.all(
      `select m.key from {list ?} k {cross} undertext_messages m on {family m} m.key = k.value where ${M_VISIBLE}`,
      JSON.stringify(pointers),
    )).map(([key]) => key as number),
  )
  for (const { key, part, by } of targets) {
    if (by.length > 0 && !by.some((pointer) => seen.has(pointer))) continue
    const parts = required.get(key) ?? new Set()
    required.set(key, parts.add(part))
  }
  return required
}

/** Returns a content with tombstones in place of the removed parts, and counts them. */
function withTombstones(
  content: readonly Part[],
  removed: readonly RemovedPart[],
  how: {
    readonly estimator: Estimator
    readonly keepsOptions: boolean
    readonly now: number
    readonly counts: Counts
  },
): readonly Part[] {
  const { estimator, keepsOptions, now, counts } = how
  const rows = new Set<ContentClass>()
  const tombstone = (entry: Part | ToolResultContent, rule: ContentClass): Tombstone => {
    const bytes = bytesOf(entry)
    const sizes = measurePart(entry as Part, estimator)
    const tokens = estimator.toTokens(unitsOf(sizes)) + sizes.media
    const figures = counts[rule] ?? { rows: 0, parts: 0, bytes: 0 }
    counts[rule] = figures
    if (!rows.has(rule)) figures.rows += 1
    rows.add(rule)
    figures.parts += 1
    figures.bytes += bytes
    const payload = payloadOf(entry)
    const sha256 = payload.length < MIN_HASHED_BYTES ? {} : { sha256: digestOf(payload) }
    return { rule, bytes, tokens, ...sha256, at: now }
  }
  return content.map((part, at) => {
    const own = removed.filter((one) => one.part === at)
    const whole = own.find(({ item }) => item === undefined)
    if (whole !== undefined) return retiredPart(part, tombstone(part, whole.rule), keepsOptions)
    if (own.length === 0 || part.type !== 'tool-result' || part.output.type !== 'content') return part
    const value = part.output.value.map((entry, item) => {
      const found = own.find((one) => one.item === item)
      if (found === undefined || (entry.type !== 'image' && entry.type !== 'file')) return entry
      return retiredMedia(entry, tombstone(entry, found.rule))
    })
    return { ...part, output: { ...part.output, value } }
  })
}

/** Returns the size of a part as stored: that of its bytes, or of its JSON in UTF-8. */
function bytesOf(entry: Part | ToolResultContent): number {
  if (entry.type === 'image' || entry.type === 'file') return payloadOf(entry).length
  return Buffer.byteLength(stringifyJson(entry))
}

/** Returns the content of a part: its text, its bytes (decoded from base64), or else its JSON. */
function payloadOf(entry: Part | ToolResultContent): Buffer {
  switch (entry.type) {
    case 'text':
    case 'reasoning':
      return Buffer.from(entry.text)
    case 'image':
    case 'file': {
      const data = entry.type === 'image' ? entry.image : entry.data
      if (typeof data !== 'string') return Buffer.from(data)
      const decoded = Buffer.from(data, 'base64')
      return decoded.toString('base64') === data ? decoded : Buffer.from(data)
    }
    case 'tool-result': {
      const { type } = entry.output
      return Buffer.from(
        type === 'text' || type === 'error-text'
          ? outputText(entry.output)
          : stringifyJson(entry.output.value),
      )
    }
    case 'tool-call':
      return Buffer.from(stringifyJson(entry.input))
    case 'provider':
      return Buffer.from(stringifyJson(entry.data))
  }
}

function digestOf(payload: Buffer): string {
  return createHash('sha256').update(payload).digest('hex')
}

/**
 * Adds the replacements of removed parts in rows that no view shows: a shortened output repeats what was removed. They then show the
 * original, of which only the tombstone is left.
 */
function* addTexts(
  sql: Sql,
  byContent: ReadonlyMap<number, readonly RowFacts[]>,
  contents: ReadonlyMap<number, readonly Part[]>,
  plan: RowsPlan,
): Work<void> {
  const hidden = [...byContent].filter(
    ([key, rows]) =>
      rows.every(({ hiddenAt }) => hiddenAt !== undefined) &&
      (plan.contents.has(key) || rows.some(({ isRetired }) => isRetired)),
  )
  if (hidden.length === 0) return
  const contentOf = new Map(hidden.flatMap(([key, rows]) => rows.map((row) => [row.key, key] as const)))
  const replaced = yield* sql.all(
    `select r.compaction, r.message, r.part from {list ?} k {cross} undertext_replacements r on {family r} r.message = k.value
     where r.text <> 'null'`,
    JSON.stringify([...contentOf.keys()]),
  )
  for (const [compaction, row, part] of replaced as unknown as readonly [number, number, number][]) {
    const key = contentOf.get(row)!
    const now = (plan.contents.get(key)?.content as readonly Part[] | undefined) ?? contents.get(key)!
    if (now[part] === undefined || tombstonesIn(now[part]).length === 0) continue
    plan.texts.push({ compaction, row, part, text: null })
    plan.touched.add(key)
  }
}

/** Records a removal in the audit of each session whose rows it changed. */
function* record(
  sql: Sql,
  rows: readonly SharingRow[],
  { sent }: RowsPlan,
  { actor, reason }: RetentionRequest,
  content: Counts,
): Work<void> {
  const sessions = new Map<StoredSession, number>()
  for (const { session } of rows) sessions.set(session, (sessions.get(session) ?? 0) + 1)
  for (const [session, count] of sessions) {
    yield* sql.enter(session.id, session.owner ?? null)
    const parts = Object.fromEntries(Object.entries(content).map(([name, figures]) => [name, figures.parts]))
    const changed = sent.get(session)
    const detail = {
      ...{ rows: count, parts, reason: reason ?? null },
      ...(changed !== undefined && { sent: changed.rows }),
    }
    yield* writeRemoval(sql, session.no, { event: RETIRED_BY_RULE, actor, detail })
  }
}

/* Requests and audit */

/** SQL: whether the view shows an answer of the request `r`. */
const SHOWN_ANSWER = `exists (select 1 from undertext_messages m where {family m} m.session = r.session
  and m.position between r.answer_first and r.answer_last and ${M_VISIBLE})`
/** SQL: old requests, except the newest, whose number must not be used again. */
const OLD_REQUESTS = `select r.no from undertext_requests r where {family r} r.session = ? and r.no > ?
    and r.no < (select max(n.no) from undertext_requests n where {family n} n.session = ?)
    and (r.at <= ? or (r.at <= ? and not ${SHOWN_ANSWER}))
  order by r.no limit ?`
/** An age that nothing has. */
const NEVER = -1

function* retainRequests(
  sql: Sql,
  { no, config }: StoredSession,
  { from, now, rulesOf }: RetentionRequest,
  isDry: boolean,
): Work<RetentionStep> {
  const { requests } = rulesOf(config)
  if (requests.length === 0) return { ...NOTHING_FOUND, ...placeAfter(from, undefined) }
  const [shown = NEVER, other = NEVER] = [true, false].map((isShown) => requestCutoff(requests, isShown, now))
  const found = yield* sql.all(OLD_REQUESTS, no, from.after, no, shown, other, PAGE_ROWS)
  const step = { ...NOTHING_FOUND, requests: found.length, ...placeAfter(from, lastNo(found)) }
  if (isDry || found.length === 0) return step
  const numbers = JSON.stringify(found.map(([request]) => request))
  yield* sql.unguarded(`old requests of session no. ${no}`, function* () {
    const blobs = yield* requestBlobs(sql, no, numbers)
    yield* sql.run(
      'delete from undertext_requests where {family} session = ? and no in (select value from {list ?} k)',
      ...[no, numbers],
    )
    if (blobs.size > 0) yield* dropReferences(sql, blobs)
  })
  return step
}

const NOTHING_FOUND = { content: {}, requests: 0, audit: 0 } as const

function lastNo(found: readonly Row[]): number | undefined {
  return found.length < PAGE_ROWS ? undefined : (found.at(-1)![0] as number)
}

/**
 * SQL: old entries of the audit that nothing depends on. The last entry of a session and of the whole audit stay, because their numbers must
 * not be used again, and so do those that requests name as their moment.
 */
const OLD_ENTRIES = `select a.no from undertext_audit a where {family a} a.session = ? and a.no > ? and a.at <= ?
    and a.event in (${INFORMATIVE}) and {number a.detail sent} is null
    and a.no < (select max(n.no) from undertext_audit n where {family n} n.session = ?)
    and a.no not in (select r.audit from undertext_requests r where {family r} r.session = ?)
  order by a.no limit ?`

function* retainAudit(
  sql: Sql,
  { no, config }: StoredSession,
  { from, now, rulesOf }: RetentionRequest,
  isDry: boolean,
): Work<RetentionStep> {
  const before = cutoff(rulesOf(config).audit, now)
  if (before === undefined) return { ...NOTHING_FOUND, ...placeAfter(from, undefined) }
  const found = yield* sql.all(OLD_ENTRIES, no, from.after, before, no, no, PAGE_ROWS)
  const step = { ...NOTHING_FOUND, audit: found.length, ...placeAfter(from, lastNo(found)) }
  if (isDry || found.length === 0) return step
  yield* sql.unguarded(`old entries of the audit of session no. ${no}`, function* () {
    yield* sql.run(
      'delete from undertext_audit where {family} session = ? and no in (select value from {list ?} k)',
      ...[no, JSON.stringify(found.map(([entry]) => entry))],
    )
  })
  return step
}

/* Whole sessions */

/** `Retention.retire`. */
export function* retireSession(sql: Sql, id: string, request: SessionRetirement): Work<SessionVerdict> {
  rejectReadonly(sql, request)
  const { actor, reason, rule, staged } = request
  const judge = function* (): Work<SessionVerdict & { readonly session?: StoredSession }> {
    const session = yield* requireSession(sql, id)
    if (session.incarnation !== request.incarnation || session.version !== request.version)
      return { stays: 'changed' }
    const fork = yield* sql.get(`select 1 from undertext_sessions where ${FORKS_OF} limit 1`, session.no)
    if (fork !== undefined) return { stays: 'forks' }
    const pinned = 'select 1 from undertext_messages where {family} session = ? and pinned = 1 limit 1'
    if (!request.pinned && (yield* sql.get(pinned, session.no)) !== undefined) return { stays: 'pinned' }
    return { messages: session.messageCount, session }
  }
  const { session: _, ...planned } = yield* sql.read(VERB, judge)
  if (request.dryRun || 'stays' in planned) return planned
  const removing = function* (): Work<SessionVerdict> {
    yield* sql.enterAlone(id)
    const { session, ...verdict } = yield* judge()
    if (session === undefined) return verdict
    const messages = session.messageCount
    const detail = { sessionId: id, reason: reason ?? null, messages, rule }
    yield* writeAudit(sql, 0, { event: 'purged', actor, detail })
    yield* setAside(sql, id, staged)
    return verdict
  }
  return yield* sql.erase(VERB, removing, true)
}

/** `Retention.discard`. */
export function* discardRetired(sql: Sql, id: string, rows: number): Work<boolean> {
  return yield* discardSome(sql, id, rows, true)
}

/** `Retention.release`. */
export function* releaseSpace(sql: Sql): Work<boolean> {
  return yield* sql.releaseSpace()
}
