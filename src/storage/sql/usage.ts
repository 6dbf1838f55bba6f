import { isUndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import type { Moment } from '../../core/model/moment.ts'
import {
  type Calibration,
  type FixedPart,
  type Measurement,
  NOTHING_LEARNED,
  type Readings,
  type Report,
  recordReport,
} from '../../core/tokens/calibration.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { type Sizes, SizesSum, tokensOf } from '../../core/tokens/measure.ts'
import {
  type LearnedLimit,
  LIMIT_KINDS,
  type NamedLimit,
  type PastStats,
  type SessionStats,
  type UsageOutcome,
  type UsageReport,
} from '../storage.ts'
import { addBilled } from './billing.ts'
import { sizesOf } from './columns.ts'
import { SIZE_TOTALS } from './commit.ts'
import { columnsOf } from './compaction-row.ts'
import { damaged, storedNumber } from './content-codec.ts'
import { pointOf, readFiguresAt } from './moments.ts'
import { noteRequest, type PastReport, reportOfView } from './requests.ts'
import { COUNT_SENT, encodeKind, encodeRole } from './row-codec.ts'
import { decodeFigures, FIGURE_COUNT, FIGURES_OF_S, requireSession, type StoredSession } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import { VISIBLE } from './view.ts'
import { begun, type Work } from './work.ts'

/*
 * Reports of providers: the size of a session's last request, the calibration of a model, the limits in overflow errors. They are not
 * part of a session's history, so its version stays.
 */

const MEASUREMENT = `m.estimator, m.view_epoch, m.tokens, m.held, m.history, m.standing, m.pending, m.first_tokens,
  m.first_estimate, m.at`
const CALIBRATION_COLUMNS = 6
const CALIBRATION = `c.grown_samples, c.grown_measured, c.grown_estimated, c.whole_samples, c.whole_measured, c.whole_estimated`

/** The system prompt and tools of the last reported request of the session, after its provider: they are the same for all its models. */
const FIXED = `(select f.provider || ' ' || f.standing from undertext_measurements f where {family f} f.session = s.no and f.estimator = s.estimator
     order by f.at desc limit 1)`

/** The columns of the readings, from `s` for a provider and model, each given four times. */
const READINGS = `${FIXED}, w.tokens, i.tokens, ${CALIBRATION}, ${MEASUREMENT}`
const OF_MODEL = `from undertext_sessions s
     left join undertext_limits w on w.provider = ? and w.model = ? and w.kind = 'window'
     left join undertext_limits i on i.provider = ? and i.model = ? and i.kind = 'input'
     left join undertext_calibrations c on c.provider = ? and c.model = ? and c.estimator = s.estimator
     left join undertext_measurements m on {family m} m.session = s.no and m.provider = ? and m.model = ?
     where {family s} s.id = ?`

const READINGS_QUERY = `select ${READINGS} ${OF_MODEL}`
const STATS_QUERY = `select ${FIGURES_OF_S}, ${READINGS} ${OF_MODEL}`

/** The figures of a session and its readings for a model, in one statement: both are read before every call of a model. */
export function* readStats(
  sql: Sql,
  id: string,
  provider: string,
  model: string,
): Work<SessionStats | undefined> {
  return yield* sql.outside('getContextStats', () => statsOf(sql, id, provider, model))
}

/** The same within the caller's transaction. */
function* statsOf(sql: Sql, id: string, provider: string, model: string): Work<SessionStats | undefined> {
  yield* sql.enter(id)
  const key = [provider, model]
  const row = sql.isDistributed
    ? yield* distributedStats(sql, id, provider, model)
    : yield* sql.get(STATS_QUERY, ...key, ...key, ...key, ...key, id)
  if (row === undefined) return undefined
  return {
    figures: decodeFigures(row, `session ${id}`),
    readings: decodeReadings(row.slice(FIGURE_COUNT)),
  }
}

/** The same at a moment. */
export function* readPastStats(
  sql: Sql,
  id: string,
  provider: string,
  model: string,
  moment: Moment,
  estimatorOf: (session: StoredSession) => Estimator,
): Work<PastStats | undefined> {
  return yield* sql.read('getContextStats', function* () {
    const now = yield* statsOf(sql, id, provider, model)
    if (now === undefined) return undefined
    const session = yield* requireSession(sql, id)
    const point = yield* pointOf(sql, session, moment)
    const figures = { ...now.figures, ...(yield* readFiguresAt(sql, session, point)), undoneAutomatic: 0 }
    const request = 'request' in moment ? moment.request : undefined
    const reported = yield* reportOfView(sql, session, point, { provider, model, request })
    const measurement =
      reported && (yield* pastMeasurement(sql, session, reported, estimatorOf(session), provider))
    return { point, figures, readings: { ...now.readings, measurement, fixed: undefined } }
  })
}

/** A report as if it had just been made: past figures are compared with it, not with the last report of today. */
function* pastMeasurement(
  sql: Sql,
  session: StoredSession,
  { tokens, at, point }: PastReport,
  estimator: Estimator,
  provider: string,
): Work<Measurement> {
  const { visibleSizes, visibleCount } = yield* readFiguresAt(sql, session, point)
  const history = tokensOf(visibleSizes, visibleCount, estimator, provider)
  return {
    ...{ viewEpoch: session.viewEpoch, estimator: session.estimator, tokens, held: tokens, at },
    estimate: { history, standing: 0, pending: 0 },
    ...{ firstTokens: undefined, firstEstimate: 0 },
  }
}

export function* getReadings(sql: Sql, id: string, provider: string, model: string): Work<Readings> {
  return yield* sql.outside('getContextStats', () => readReadings(sql, id, provider, model))
}

/** The readings of a session for a model, in one statement: they are read before every call of a model. */
export function* readReadings(sql: Sql, id: string, provider: string, model: string): Work<Readings> {
  yield* sql.enter(id)
  if (sql.isDistributed) {
    const row = yield* distributedStats(sql, id, provider, model)
    return decodeReadings(row?.slice(FIGURE_COUNT))
  }
  const key = [provider, model]
  return decodeReadings(yield* sql.get(READINGS_QUERY, ...key, ...key, ...key, ...key, id))
}

/**
 * The row of the stats on a cluster, where one statement would bring the rows of the models to the worker of the session: two statements,
 * of which the second does not wait for the first.
 */
function* distributedStats(sql: Sql, id: string, provider: string, model: string): Work<Row | undefined> {
  const ofSession = sql.get(
    `select ${FIGURES_OF_S}, s.estimator, ${FIXED}, ${MEASUREMENT} from undertext_sessions s
     left join undertext_measurements m on {family m} m.session = s.no and m.provider = ? and m.model = ?
     where {family s} s.id = ?`,
    ...[provider, model, id],
  )
  const ofModel = yield* sql.all(
    `select c.estimator, w.tokens, i.tokens, ${CALIBRATION} from (select 1 as one) o
     left join undertext_limits w on w.provider = ? and w.model = ? and w.kind = 'window'
     left join undertext_limits i on i.provider = ? and i.model = ? and i.kind = 'input'
     left join undertext_calibrations c on c.provider = ? and c.model = ?`,
    ...[provider, model, provider, model, provider, model],
  )
  const session = yield* ofSession
  if (session === undefined) return undefined
  const [estimator, fixed, ...measurement] = session.slice(FIGURE_COUNT)
  const calibrated = ofModel.find((row) => row[0] === estimator)
  const [, window, input] = ofModel[0]!
  const calibration = calibrated?.slice(3) ?? Array<null>(CALIBRATION_COLUMNS).fill(null)
  return [...session.slice(0, FIGURE_COUNT), fixed, window, input, ...calibration, ...measurement]
}

function decodeReadings(row: Row | undefined): Readings {
  if (row === undefined)
    return { learned: NOTHING_LEARNED, calibration: undefined, measurement: undefined, fixed: undefined }
  const { optional, text } = columnsOf(row, 'limit')
  const calibration = row.slice(3, 3 + CALIBRATION_COLUMNS)
  const measurement = row.slice(3 + CALIBRATION_COLUMNS)
  return {
    fixed: decodeFixed(text(0)),
    learned: { window: optional(1), input: optional(2) },
    calibration: calibration[0] === null ? undefined : decodeCalibration(calibration),
    measurement: measurement[0] === null ? undefined : decodeMeasurement(measurement),
  }
}

function decodeFixed(fixed: string | undefined): FixedPart | undefined {
  if (fixed === undefined) return undefined
  const end = fixed.lastIndexOf(' ')
  return { provider: fixed.slice(0, end), tokens: Number(fixed.slice(end + 1)) }
}

function decodeCalibration(row: Row): Calibration {
  const { number } = columnsOf(row, 'calibration')
  return {
    grown: { samples: number(0), measured: number(1), estimated: number(2) },
    whole: { samples: number(3), measured: number(4), estimated: number(5) },
  }
}

function decodeMeasurement(row: Row): Measurement {
  const { text, number, optional } = columnsOf(row, 'measurement')
  return {
    estimator: text(0) ?? '',
    viewEpoch: number(1),
    tokens: number(2),
    held: number(3),
    estimate: { history: number(4), standing: number(5), pending: number(6) },
    firstTokens: optional(7),
    firstEstimate: number(8),
    at: number(9),
  }
}

/** Records a provider's report of a request; when the view has changed since, only the billed tokens. Throws `SESSION_NOT_FOUND`. */
export function* recordUsage(
  sql: Sql,
  id: string,
  usage: UsageReport,
  estimatorOf: (session: StoredSession) => Estimator,
): Work<UsageOutcome> {
  // In PostgreSQL the rows of a model would be a queue for all its sessions, so they have a short transaction of their own.
  const isApart = sql.dialect === 'postgres'
  const { outcome, report } = yield* sql.write('recordUsage', function* () {
    const noted = yield* noteReport(sql, id, usage, estimatorOf)
    return isApart ? noted : { ...noted, outcome: yield* learn(sql, usage, noted) }
  })
  if (!isApart) return outcome
  try {
    return yield* sql.write('recordUsage', () => learn(sql, usage, { outcome, report }))
  } catch (error) {
    // The report is stored, so an error would count it twice if the caller tries again. A sample of a statistic may be missing.
    if (isUndertextError(error)) return outcome
    throw error
  }
}

type Noted = { readonly outcome: UsageOutcome; readonly report: Report | undefined }

/** Stores what concerns the session, within the caller's transaction. */
function* noteReport(
  sql: Sql,
  id: string,
  usage: UsageReport,
  estimatorOf: (session: StoredSession) => Estimator,
): Work<Noted> {
  const { provider, model, tokens } = usage
  yield* sql.enter(id)
  const requiring = begun(requireSession(sql, id))
  const reading = begun(readReadings(sql, id, provider, model))
  const noting = usage.request && noteRequest(sql, id, usage.request)
  const session = yield* requiring
  const before = yield* reading
  const requestId = noting && (yield* noting(session))
  const isStale = usage.viewEpoch !== undefined && usage.viewEpoch !== session.viewEpoch
  if (usage.billed !== undefined) yield* addBilled(sql, session.no, usage, usage.billed, isStale)
  if (isStale || tokens === 0 || session.visibleCount === 0) {
    const outcome = { recorded: false, before, after: before, estimate: undefined, requestId }
    return { outcome, report: undefined }
  }
  const sent = yield* sentRows(sql, session, usage.position)
  const history = tokensOf(sent.sizes, sent.rows, estimatorOf(session), provider)
  const estimate = { history, standing: usage.standing, pending: usage.pending }
  const { viewEpoch, estimator } = session
  const report = { tokens, viewEpoch, estimator, estimate, at: usage.at ?? Date.now() }
  const { measurement } = recordReport(before, report)
  yield* writeMeasurement(sql, session.no, usage, measurement)
  const outcome = {
    recorded: true,
    before,
    after: { ...before, measurement, fixed: { provider, tokens: usage.standing } },
    estimate,
    requestId,
  }
  return { outcome, report }
}

/** Stores what a report says of its model: limits and calibration, within the caller's transaction. */
function* learn(sql: Sql, usage: UsageReport, { outcome, report }: Noted): Work<UsageOutcome> {
  const { before, after } = outcome
  const isApart = sql.dialect === 'postgres' && report !== undefined
  const locking = isApart ? begun(lockCalibration(sql, usage, report.estimator)) : undefined
  const isRefuted = usage.wentThrough && (yield* refuteLimits(sql, usage))
  const isLearned = usage.limit !== undefined && (yield* writeLimit(sql, usage, usage.limit))
  const learned = isRefuted || isLearned ? yield* readLearned(sql, usage) : before.learned
  if (report === undefined) return { ...outcome, after: { ...after, learned } }
  const known = locking === undefined ? before.calibration : yield* locking
  const { calibration } = recordReport({ measurement: before.measurement, calibration: known }, report)
  yield* writeCalibration(sql, usage, report.estimator, calibration)
  return { ...outcome, after: { ...after, calibration, learned } }
}

function* readLearned(sql: Sql, { provider, model }: ModelKey): Work<Readings['learned']> {
  const statement = 'select kind, tokens from undertext_limits where provider = ? and model = ?'
  const rows = yield* sql.all(statement, provider, model)
  const of = (kind: string): number | undefined =>
    rows.find((row) => row[0] === kind)?.[1] as number | undefined
  return { window: of('window'), input: of('input') }
}

/** The calibration of a model, which no other report changes until the end of the transaction. PostgreSQL only. */
function* lockCalibration(
  sql: Sql,
  { provider, model }: ModelKey,
  estimator: string,
): Work<Calibration | undefined> {
  const row = yield* sql.get(
    `select ${CALIBRATION} from undertext_calibrations c where provider = ? and model = ? and estimator = ? for update`,
    provider,
    model,
    estimator,
  )
  return row && decodeCalibration(row)
}

/**
 * The visible rows that were in a request: up to a position, or all except the assistant's messages at the end, which are its answer.
 * Reads only the rows after those, never the whole view.
 */
function* sentRows(
  sql: Sql,
  { no, visibleCount, visibleSizes }: StoredSession,
  position: number | undefined,
): Work<{ readonly sizes: Sizes; readonly rows: number }> {
  const last =
    position === undefined ? yield* lastAsked(sql, no) : ([position, Number.MAX_SAFE_INTEGER] as const)
  if (last === undefined) return { sizes: visibleSizes, rows: visibleCount }
  const after = (yield* sql.get(
    `select ${COUNT_SENT}, ${SIZE_TOTALS} from undertext_messages {index undertext_visible}
     where {family} session = ? and ${VISIBLE} and (anchor, ordinal) > (?, ?)`,
    no,
    ...last,
  ))!
  const sizes = new SizesSum(visibleSizes)
  sizes.subtract(sizesOf(after.slice(1)))
  return { sizes: sizes.value, rows: visibleCount - storedNumber(after[0], `session no. ${no}`) }
}

/** The place of the last visible row that is not a message of the assistant; `undefined` when there is none. */
function* lastAsked(sql: Sql, session: number): Work<readonly [number, number] | undefined> {
  const row = yield* sql.get(
    `select anchor, ordinal from undertext_messages {index undertext_visible}
     where {family} session = ? and ${VISIBLE} and not (role = ? and kind = ?) order by anchor desc, ordinal desc limit 1`,
    session,
    encodeRole('assistant'),
    encodeKind('message'),
  )
  return row && [storedNumber(row[0], 'message'), storedNumber(row[1], 'message')]
}

type ModelKey = Pick<UsageReport, 'provider' | 'model'>

function* writeMeasurement(
  sql: Sql,
  session: number,
  { provider, model }: ModelKey,
  { estimator, viewEpoch, tokens, held, estimate, firstTokens, firstEstimate, at }: Measurement,
): Work<void> {
  yield* sql.run(
    `insert into undertext_measurements ({family,} session, provider, model, estimator, view_epoch, tokens, held, history,
       standing, pending, first_tokens, first_estimate, at) values ({?,} ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict ({family,} session, provider, model) do update set estimator = excluded.estimator, view_epoch = excluded.view_epoch, tokens = excluded.tokens, held = excluded.held, history = excluded.history, standing = excluded.standing, pending = excluded.pending, first_tokens = excluded.first_tokens, first_estimate = excluded.first_estimate, at = excluded.at`,
    session,
    provider,
    model,
    estimator,
    viewEpoch,
    tokens,
    held,
    estimate.history,
    estimate.standing,
    estimate.pending,
    firstTokens ?? null,
    firstEstimate,
    at,
  )
}

function* writeCalibration(
  sql: Sql,
  { provider, model }: ModelKey,
  estimator: string,
  { grown, whole }: Calibration,
): Work<void> {
  yield* sql.run(
    `insert into undertext_calibrations (provider, model, estimator, grown_samples, grown_measured, grown_estimated,
       whole_samples, whole_measured, whole_estimated, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (provider, model, estimator) do update set grown_samples = excluded.grown_samples, grown_measured = excluded.grown_measured, grown_estimated = excluded.grown_estimated, whole_samples = excluded.whole_samples, whole_measured = excluded.whole_measured, whole_estimated = excluded.whole_estimated, at = excluded.at`,
    provider,
    model,
    estimator,
    grown.samples,
    grown.measured,
    grown.estimated,
    whole.samples,
    whole.measured,
    whole.estimated,
    Date.now(),
  )
}

/** A request of this size succeeded, so lower limits are wrong and removed; returns whether there were any. */
function* refuteLimits(sql: Sql, { provider, model, tokens }: UsageReport): Work<boolean> {
  const refuted = yield* sql.change(
    'delete from undertext_limits where provider = ? and model = ? and tokens < ?',
    provider,
    model,
    tokens,
  )
  return refuted > 0
}

/** Stores a limit if it is the lowest of its kind; returns whether it is. */
function* writeLimit(sql: Sql, { provider, model }: ModelKey, { kind, tokens }: NamedLimit): Work<boolean> {
  const written = yield* sql.change(
    `insert into undertext_limits (provider, model, kind, tokens, at) values (?, ?, ?, ?, ?)
     on conflict (provider, model, kind) do update set tokens = excluded.tokens, at = excluded.at where excluded.tokens < undertext_limits.tokens`,
    provider,
    model,
    kind,
    tokens,
    Date.now(),
  )
  return written > 0
}

/** Records a limit that a provider named for a model; returns the limit of its kind that applies now. */
export function* learnLimit(sql: Sql, provider: string, model: string, limit: NamedLimit): Work<number> {
  return yield* sql.write('learnLimit', function* () {
    yield* writeLimit(sql, { provider, model }, limit)
    const row = yield* sql.get(
      'select tokens from undertext_limits where provider = ? and model = ? and kind = ?',
      provider,
      model,
      limit.kind,
    )
    return storedNumber(row?.[0], 'limit')
  })
}

/** Removes the learned limits of a model; returns whether there were any. */
export function* forgetLimit(sql: Sql, provider: string, model: string): Work<boolean> {
  return yield* sql.write('forgetLimit', function* () {
    return (
      (yield* sql.change('delete from undertext_limits where provider = ? and model = ?', provider, model)) >
      0
    )
  })
}

/** All learned limits, by provider and model. */
export function* readLimits(sql: Sql): Work<LearnedLimit[]> {
  return yield* sql.outside('listLimits', function* () {
    const statement =
      'select provider, model, kind, tokens, at from undertext_limits order by provider, model, kind'
    return (yield* sql.all(statement)).map((row) => {
      const { text, number } = columnsOf(row, 'limit')
      const kind = LIMIT_KINDS.find((one) => one === row[2])
      if (kind === undefined) throw damaged('record', 'limit')
      const model = defined({ model: text(1) || undefined })
      return { provider: text(0) ?? '', ...model, kind, tokens: number(3), at: number(4) }
    })
  })
}
