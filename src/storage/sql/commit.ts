import { stringifyJson } from '../../core/messages/json.ts'
import {
  type Coverage,
  countRows,
  coverageOf,
  encodeCoverage,
  type RowSet,
} from '../../core/model/coverage.ts'
import { recheckSteps } from '../../core/model/laws.ts'
import { type CompactionKind, contentOf, insertSpeaks, isCondensing } from '../../core/model/plan.ts'
import { countSent, sumSizes } from '../../core/model/view.ts'
import { addSizes, NO_SIZES, type Sizes, SizesSum, subtractSizes } from '../../core/tokens/measure.ts'
import type { CommitStep, Lease, RunCommit, RunStart, Snapshot } from '../storage.ts'
import { isPurgedSince, writeAudit } from './audit.ts'
import { ADD_SIZES, SIZE_COLUMNS, sizeColumns, sizesOf } from './columns.ts'
import { type CompactionRow, stale, writeCompaction } from './compaction-row.ts'
import { settleJob } from './jobs.ts'
import {
  clearLease,
  expireAttempts,
  leaseOfId,
  liveRun,
  recordFailure,
  requirePlanned,
  runningAttempts,
} from './lease.ts'
import { viewIndex } from './planning.ts'
import { insertReplacement, refreshShown } from './replacements.ts'
import { COUNT_RETIRED, COUNT_SENT, encodeFlags, encodeKind, encodeRole } from './row-codec.ts'
import type { StoredSession } from './sessions.ts'
import { type Sql, writing } from './sql.ts'
import { VISIBLE } from './view.ts'
import { begun, type Step, type Work } from './work.ts'

/*
 * Tags are set by ranges of positions, because an update through the partial index of visible rows would change the index it scans, and
 * lists of rows are slow. If the number of changed rows differs from the size of the set, another writer has changed them.
 */

/**
 * Returns conditions that together select the rows of a set, with their values: one condition for each range of positions and each inserted
 * row, or one for all of a kind if each costs a round trip.
 */
export function* placesIn(
  { isRemote }: Sql,
  session: number,
  { positions, inserted }: RowSet,
): Generator<readonly [where: string, ...values: unknown[]]> {
  if (isRemote && positions.length > 1) {
    // An array, because for a subquery the server would guess the number of positions and might read them again for each row.
    const among = '= any (array(select generate_series({int k 0}, {int k 1}) from {elements ?} k))'
    yield [`{family} session = ? and position ${among}`, session, JSON.stringify(positions)]
    positions = []
  }
  if (isRemote && inserted.length > 1) {
    const ordinals = JSON.stringify(inserted.map(({ ordinal }) => ordinal))
    yield [
      '{family} session = ? and position is null and ordinal = any (array(select value from {list ?} k))',
      ...[session, ordinals],
    ]
    inserted = []
  }
  for (const [from, to] of positions)
    yield ['{family} session = ? and position between ? and ?', session, from, to]
  for (const { ordinal } of inserted)
    yield ['{family} session = ? and position is null and ordinal = ?', session, ordinal]
}

function parentColumn(kind: CompactionKind): 'condense_parent' | 'truncation_parent' {
  return isCondensing(kind) ? 'condense_parent' : 'truncation_parent'
}

function hiddenCounter(kind: CompactionKind): 'hidden_condensed' | 'hidden_truncated' | 'hidden_manual' {
  if (isCondensing(kind)) return 'hidden_condensed'
  return kind === 'manual' ? 'hidden_manual' : 'hidden_truncated'
}

/**
 * Hides or shows the rows of a compaction. Returns whether all of them could be changed: they were visible and not pinned (a rewind hides
 * pinned rows too), or had its tag.
 */
export function* setTags(
  sql: Sql,
  session: number,
  { kind, no }: { readonly kind: CompactionKind; readonly no: number },
  { hidden, rewinds }: Coverage,
  isActive: boolean,
): Work<boolean> {
  const column = parentColumn(kind)
  const free = rewinds === true ? VISIBLE : `${VISIBLE} and pinned = 0`
  const [before, after] = isActive ? [null, no] : [no, null]
  let changed = 0
  for (const [where, ...values] of placesIn(sql, session, hidden)) {
    const statement = `update undertext_messages set ${column} = ? where ${where} and ${isActive ? free : 'true'} and ${column} is not distinct from ?`
    changed += yield* sql.change(statement, after, ...values, before)
  }
  return changed === countRows(hidden)
}

/** The sums that `sizesOf` reads. */
export const SIZE_TOTALS = SIZE_COLUMNS.map((name) => `coalesce(sum(${name}), 0)`).join(', ')

/** The current figures of some rows: how many are sent, and their sizes as shown. */
export type RowFigures = {
  readonly sent: number
  readonly sizes: Sizes
  /** The number of rows of which retention removed something. */
  readonly retired: number
}

export const NO_FIGURES: RowFigures = { sent: 0, sizes: NO_SIZES, retired: 0 }

/** Returns the figures of all rows of a set. */
export function* figuresOfSet(sql: Sql, session: number, set: RowSet): Work<RowFigures> {
  let sent = 0
  let retired = 0
  const sum = new SizesSum()
  for (const [where, ...values] of placesIn(sql, session, set)) {
    const statement = `select ${COUNT_SENT}, ${COUNT_RETIRED}, ${SIZE_TOTALS} from undertext_messages where ${where}`
    const [count, removed, ...totals] = (yield* sql.get(statement, ...values))!
    sent += count as number
    retired += removed as number
    sum.add(sizesOf(totals))
  }
  return { sent, sizes: sum.value, retired }
}

type CounterChange = {
  /** The number of appended messages, and the `newestAt` after them. */
  readonly appended?: { readonly messages: number; readonly newestAt: number }
  /** The number of rows that aren't silent. */
  readonly visible?: number
  readonly sizes: Sizes
  readonly hidden?: { readonly kind: CompactionKind; readonly rows: number }
  readonly inserted?: number
  readonly retired?: number
  readonly activeCompactions?: number
}

/**
 * Changes the counters within the caller's transaction. Raises the version, and also the view epoch, unless rows that others have read are
 * unchanged.
 */
export function moveCounters(sql: Sql, session: number, change: CounterChange, isSeen = true): Step<void> {
  const counter = hiddenCounter(change.hidden?.kind ?? 'condense')
  const { appended, visible = 0, inserted = 0, retired = 0, activeCompactions = 0 } = change
  // Other changes leave the index of the newest sessions as it is.
  const append = appended === undefined ? '' : 'messages = messages + ?, newest_at = ?,'
  return sql.run(
    `update undertext_sessions set ${append} visible = visible + ?, ${ADD_SIZES}, ${counter} = ${counter} + ?,
       inserted = inserted + ?, retired = retired + ?, active_compactions = active_compactions + ?, updated_at = ?,
       version = version + 1, view_epoch = view_epoch + ? where {family} no = ?`,
    ...(appended === undefined ? [] : [appended.messages, appended.newestAt]),
    ...[visible, ...sizeColumns(change.sizes), change.hidden?.rows ?? 0, inserted, retired],
    ...[activeCompactions, Date.now(), isSeen ? 1 : 0, session],
  )
}

/**
 * Commits a run in one transaction, all steps or none.
 *
 * If the view epoch is the snapshot's, only appends have happened since, and the plans are valid. Otherwise they are checked again, step by
 * step, against the current view. Throws `STALE_PLAN`; nothing is changed then.
 */
export const commitRun = writing(
  'compactSession',
  function* (sql: Sql, snapshot: Snapshot, run: RunCommit, lease: Lease | undefined): Work<void> {
    const sessionId = snapshot.session.id
    yield* sql.enter(sessionId)
    // These reads don't depend on what is written, so they are started before anything is awaited.
    const planned = begun(requirePlanned(sql, snapshot))
    const holding = begun(leaseOfId(sql, sessionId))
    const noting = begun(attemptNumbers(sql, run.steps))
    const session = yield* planned
    const held = yield* holding
    if (lease !== undefined && held?.runId !== lease.runId)
      throw stale(sessionId, 'another process took over the compaction')
    const noted = yield* noting
    const running = begun(runningAttempts(sql, session.no))
    if (run.job !== undefined) yield* settleJob(sql, sessionId, run.job, run.steps.length > 0)
    if (session.viewEpoch !== snapshot.session.viewEpoch) {
      if (yield* isPurgedSince(sql, session.no, snapshot.session.viewEpoch))
        throw stale(sessionId, 'something was removed from its messages')
      const now = yield* viewIndex(sql, session, snapshot.view.provider)
      recheckSteps(sessionId, run.steps, now, snapshot.session.messageCount)
    }
    const checking = begun(requireKeys(sql, session, run.steps))
    const keys = new Map<number, number>()
    let ordinal = session.inserted
    // Every step raises the version, so ranks are unique and in commit order.
    let rank = session.version
    for (const step of run.steps) {
      if (step.plan.insert !== undefined) ordinal += 1
      const planned = coverageOf(step.before, step.plan, undefined)
      const coverage: Coverage = {
        ...planned,
        hidden: withRealOrdinals(planned.hidden, snapshot, session.inserted),
        beside: withRealOrdinals(planned.beside, snapshot, session.inserted),
      }
      rank += 1
      yield* commitStep(sql, session, run, step, { coverage, ordinal, rank, noted }, keys)
    }
    yield* checking
    if (session.undoneAutomatic > 0 && isCompacting(run))
      yield* sql.run('update undertext_sessions set undone_automatic = 0 where {family} no = ?', session.no)
    for (const attempt of run.failed) yield* recordFailure(sql, session, run, attempt)
    if (lease !== undefined) return yield* clearLease(sql, session.no)
    const ended = new Set([...run.steps, ...run.failed].map(({ id }) => id))
    const dead = (yield* running).filter(({ id }) => !ended.has(id))
    yield* expireAttempts(sql, session.no, dead, liveRun(sql, held))
  },
)

/** Returns the numbers of the steps that were recorded when their summaries were requested. */
function* attemptNumbers(sql: Sql, steps: readonly CommitStep[]): Work<ReadonlyMap<string, number>> {
  const rows = yield* sql.all(
    'select id, no from undertext_compactions where {family} id in (select value from {texts ?} k)',
    JSON.stringify(steps.map(({ id }) => id)),
  )
  return new Map(rows as unknown as [string, number][])
}

/** Returns whether a run is a compaction by this package: not manual, imported, or recorded for a provider. */
function isCompacting({ trigger, steps }: RunCommit): boolean {
  if (trigger === 'import' || trigger === 'provider') return false
  return steps.some(({ plan }) => plan.kind !== 'manual')
}

/**
 * Throws `STALE_PLAN` if rows have other keys. Replacements are stored by key; if the session was purged and restored since the plan, the
 * old keys may belong to another session.
 */
function* requireKeys(sql: Sql, session: StoredSession, steps: readonly CommitStep[]): Work<void> {
  const rows = new Map<number, readonly [key: number, anchor: number, ordinal: number]>()
  for (const { plan } of steps) {
    for (const { row } of [...plan.replace, ...plan.requires])
      if (row.key >= 0) rows.set(row.key, [row.key, row.anchor, row.ordinal])
  }
  if (rows.size === 0) return
  const found = (yield* sql.get(
    `select count(*) from {elements ?} k {cross} undertext_messages m on {family m} m.key = {int k 0}
     where m.session = ? and m.anchor = {int k 1} and m.ordinal = {int k 2}`,
    JSON.stringify([...rows.values()]),
    session.no,
  ))!
  if (found[0] !== rows.size) throw stale(session.id, 'the session was restored in the meantime')
}

/**
 * The context of a step. `tokensBefore`: the tokens of the history, if they differ from the planned view's. `noted`: the numbers of the
 * steps that were already recorded; if absent, PostgreSQL has to be asked.
 */
type StepPlace = {
  readonly coverage: Coverage
  readonly ordinal: number
  readonly rank: number
  readonly tokensBefore?: number
  readonly noted?: ReadonlyMap<string, number>
}

/** Commits one step within the caller's transaction; returns its number. `keys` collects the keys of the rows that steps insert. */
export function* commitStep(
  sql: Sql,
  session: StoredSession,
  run: RunStart,
  step: CommitStep,
  { coverage, ordinal, rank, tokensBefore = step.before.tokens, noted }: StepPlace,
  keys: Map<number, number>,
): Work<number> {
  const { plan } = step
  const keyOf = (key: number): number => (key < 0 ? keys.get(key)! : key)
  const requires = plan.requires.map(({ row, part, by }) => [keyOf(row.key), part, by])
  const row: CompactionRow = {
    id: step.id,
    kind: plan.kind,
    status: 'active',
    params: plan.params,
    coverage: encodeCoverage(coverage),
    requires: requires.length === 0 ? null : JSON.stringify(requires),
    rowsHidden: plan.hide.length,
    partsReplaced: plan.replace.length,
    rowsInserted: plan.insert === undefined ? 0 : 1,
    tokensBefore,
    tokensAfter: step.after.tokens,
    summary: step.summary,
    // Imported compactions were made in the past.
    createdAt: run.trigger === 'import' ? step.createdAt : undefined,
    rank,
  }
  const next = yield* sql.nextNo('undertext_compactions', session.no)
  const writing = begun(writeCompaction(sql, session, run, row, next))
  const no = noted?.get(step.id) ?? (noted === undefined ? null : next) ?? (yield* writing)
  const tagging = begun(setTags(sql, session.no, { kind: plan.kind, no }, coverage, true))
  yield* writing
  if (!(yield* tagging)) throw stale(session.id, 'its messages have changed')
  if (step.inserted !== undefined && plan.insert !== undefined) {
    keys.set(step.inserted.key, yield* insertRow(sql, session, step, no, ordinal))
  }
  let sizes: Sizes = subtractSizes(plan.insert?.sizes ?? NO_SIZES, sumSizes(plan.hide))
  if (plan.replace.length > 0) {
    for (const one of plan.replace) yield* insertReplacement(sql, no, keyOf(one.row.key), one)
    sizes = addSizes(sizes, yield* refreshShown(sql, no, true))
  }
  const rows = plan.insert === undefined ? 0 : 1
  yield* moveCounters(sql, session.no, {
    visible: rows - countSent(plan.hide),
    sizes,
    hidden: { kind: plan.kind, rows: plan.hide.length },
    inserted: rows,
    activeCompactions: 1,
  })
  yield* writeAudit(sql, session.no, {
    event: 'created',
    compaction: no,
    run: run.runId,
    actor: run.actor,
    detail: {
      kind: plan.kind,
      rows: plan.hide.length,
      parts: plan.replace.length,
      tokensBefore,
      tokensAfter: step.after.tokens,
    },
  })
  return no
}

/**
 * Corrects ordinals: a plan may hide a row that an earlier step of the same run inserts. The plan used the next ordinal at the time of its
 * snapshot, and rows inserted since have increased it.
 */
function withRealOrdinals(set: RowSet, snapshot: Snapshot, insertedBefore: number): RowSet {
  const moved = insertedBefore + 1 - snapshot.nextOrdinal
  if (moved === 0) return set
  const inserted = set.inserted.map(({ anchor, ordinal }) => ({
    anchor,
    ordinal: ordinal >= snapshot.nextOrdinal ? ordinal + moved : ordinal,
  }))
  return { positions: set.positions, inserted }
}

function* insertRow(
  sql: Sql,
  session: StoredSession,
  step: CommitStep,
  no: number,
  ordinal: number,
): Work<number> {
  const insert = step.plan.insert!
  const key = yield* sql.insert(
    `insert into undertext_messages ({family,} key, session, anchor, ordinal, kind, role, flags, ${SIZE_COLUMNS.join(', ')},
       created_at, inserted_by) values ({?,} ?, ?, ?, ?, ?, ?, ?, ${SIZE_COLUMNS.map(() => '?').join(', ')}, ?, ?)`,
    sql.keyOf(session.no, { ordinal }),
    session.no,
    step.inserted!.anchor,
    ordinal,
    encodeKind(insert.kind),
    encodeRole(insert.role),
    encodeFlags({ hasReasoning: false, speaks: insertSpeaks(insert), hasBlock: false, isRetired: false }),
    ...sizeColumns(insert.sizes),
    step.createdAt,
    no,
  )
  yield* sql.run(
    'insert into undertext_contents ({family,} key, content, metadata) values ({?,} ?, ?, ?)',
    key,
    JSON.stringify(contentOf(insert)),
    Object.keys(insert.metadata).length === 0 ? null : stringifyJson(insert.metadata),
  )
  return key
}
