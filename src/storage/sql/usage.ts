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
import { columnsOfAlias, MEASURED, sizesOf, upsertInto } from './columns.ts'
import { SIZE_TOTALS } from './commit.ts'
import { damaged, storedNumber, storedOptional, storedText } from './content-codec.ts'
import { pointOf, readFiguresAt } from './moments.ts'
import { noteRequest, type PastReport, reportOfView } from './requests.ts'
import { COUNT_SENT, encodeKind, encodeRole } from './row-codec.ts'
import {
  decodeFigures,
  estimatorOf,
  FIGURE_COUNT,
  FIGURES_OF_S,
  rejectAmbiguous,
  requireSession,
  type StoredSession,
} from './sessions.ts'
import { outside, type Row, reading, type Sql, writing } from './sql.ts'
import { VISIBLE } from './view.ts'
import { begun, type Work } from './work.ts'

/*
 * Reports of providers: the size of a session's last request, the calibration of a model, and the limits in overflow errors. They aren't
 * part of a session's history, so they don't change its version.
 */

const MODEL_KEY = ['provider', 'model'] as const
/** The samples of growing and of whole requests: measured and estimated tokens. */
const CALIBRATION = ['grown', 'whole'].flatMap((of) =>
  ['samples', 'measured', 'estimated'].map((name) => `${of}_${name}`),
)
const CALIBRATION_OF_C = columnsOfAlias('c', CALIBRATION)

/**
 * SQL: the system prompt and tools of the session's last reported request, after its provider, because they are the same for all models of
 * a provider.
 */
const FIXED = `(select f.provider || ' ' || f.standing from undertext_measurements f where {family f} f.session = s.no and f.estimator = s.estimator
     order by f.at desc limit 1)`

/** SQL: the columns of the readings, from `s`, for a provider and model that are each passed four times. */
const READINGS = `${FIXED}, w.tokens, i.tokens, ${CALIBRATION_OF_C}, ${MEASURED.of('m')}`
const OF_MODEL = `from undertext_sessions s
     left join undertext_limits w on w.provider = ? and w.model = ? and w.kind = 'window'
     left join undertext_limits i on i.provider = ? and i.model = ? and i.kind = 'input'
     left join undertext_calibrations c on c.provider = ? and c.model = ? and c.estimator = s.estimator
     left join undertext_measurements m on {family m} m.session = s.no and m.provider = ? and m.model = ?
     where {family s} {named s} s.id = ?`

const READINGS_QUERY = `select ${READINGS} ${OF_MODEL}`
const STATS_QUERY = `select ${FIGURES_OF_S}, ${READINGS} ${OF_MODEL}`

/** Reads the figures of a session and its readings for a model in one statement, because both are read before every call of a model. */
export const readStats = outside('getContextStats', statsOf)

/** Like `readStats`, within the caller's transaction. */
function* statsOf(sql: Sql, id: string, provider: string, model: string): Work<SessionStats | undefined> {
  yield* sql.enter(id)
  const key = [provider, model]
  const row = sql.isDistributed
    ? yield* distributedStats(sql, id, provider, model)
    : yield* sql.get(STATS_QUERY, ...key, ...key, ...key, ...key, id)
  if (row === undefined) {
    yield* rejectAmbiguous(sql, id)
    return undefined
  }
  return {
    figures: decodeFigures(row, `session ${id}`),
    readings: decodeReadings(row.slice(FIGURE_COUNT)),
  }
}

/** Like `readStats`, at a moment of the past. */
export const readPastStats = reading(
  'getContextStats',
  function* (
    sql: Sql,
    id: string,
    provider: string,
    model: string,
    moment: Moment,
  ): Work<PastStats | undefined> {
    const now = yield* statsOf(sql, id, provider, model)
    if (now === undefined) return undefined
    const session = yield* requireSession(sql, id)
    const point = yield* pointOf(sql, session, moment)
    const figures = { ...now.figures, ...(yield* readFiguresAt(sql, session, point)), undoneAutomatic: 0 }
    const request = 'request' in moment ? moment.request : undefined
    const reported = yield* reportOfView(sql, session, point, { provider, model, request })
    const measurement =
      reported && (yield* pastMeasurement(sql, session, reported, estimatorOf(sql, session), provider))
    return { point, figures, readings: { ...now.readings, measurement, fixed: undefined } }
  },
)

/**
 * Returns a past report as if it had just been made, because past figures must be compared with it, and not with the current last report.
 */
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

export const getReadings = outside('getContextStats', readReadings)

/** Returns the readings of a session for a model, in one statement, because they are read before every call of a model. */
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
 * Reads the row of the stats on a cluster, where a single statement would transfer the rows of the models to the session's worker. Uses two
 * statements that don't wait for each other.
 */
function* distributedStats(sql: Sql, id: string, provider: string, model: string): Work<Row | undefined> {
  const ofSession = sql.get(
    `select ${FIGURES_OF_S}, s.estimator, ${FIXED}, ${MEASURED.of('m')} from undertext_sessions s
     left join undertext_measurements m on {family m} m.session = s.no and m.provider = ? and m.model = ?
     where {family s} {named s} s.id = ?`,
    ...[provider, model, id],
  )
  const ofModel = yield* sql.all(
    `select c.estimator, w.tokens, i.tokens, ${CALIBRATION_OF_C} from (select 1 as one) o
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
  const calibration = calibrated?.slice(3) ?? Array<null>(CALIBRATION.length).fill(null)
  return [...session.slice(0, FIGURE_COUNT), fixed, window, input, ...calibration, ...measurement]
}

function decodeReadings(row: Row | undefined): Readings {
  if (row === undefined)
    return { learned: NOTHING_LEARNED, calibration: undefined, measurement: undefined, fixed: undefined }
  const calibration = row.slice(3, 3 + CALIBRATION.length)
  const measurement = row.slice(3 + CALIBRATION.length)
  return {
    fixed: decodeFixed(storedText(row[0], 'limit')),
    learned: { window: storedOptional(row[1], 'limit'), input: storedOptional(row[2], 'limit') },
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
  const number = (at: number): number => storedNumber(row[at], 'calibration')
  const of = (at: number): Calibration['grown'] => ({
    ...{ samples: number(at), measured: number(at + 1), estimated: number(at + 2) },
  })
  return { grown: of(0), whole: of(3) }
}

function decodeMeasurement(row: Row): Measurement {
  const { history, standing, pending, ...measured } = MEASURED.all(row, 0, 'measurement')
  return { ...measured, estimate: { history, standing, pending } }
}

/** Records a provider's report of a request; if the view has changed since, only the billed tokens. Throws `SESSION_NOT_FOUND`. */
export function* recordUsage(sql: Sql, id: string, usage: UsageReport): Work<UsageOutcome> {
  // In PostgreSQL, all sessions of a model would queue for its rows, which are therefore updated in their own short transaction.
  const isApart = sql.isShared
  const { outcome, report } = yield* sql.write('requests.recordUsage', function* () {
    const noted = yield* noteReport(sql, id, usage)
    return isApart ? noted : { ...noted, outcome: yield* learn(sql, usage, noted) }
  })
  if (!isApart) return outcome
  try {
    return yield* sql.write('requests.recordUsage', () => learn(sql, usage, { outcome, report }))
  } catch (error) {
    // The report is stored. An error now would make the caller retry and count it twice, while a missing sample of a statistic does no
    // harm.
    if (isUndertextError(error)) return outcome
    throw error
  }
}

type Noted = { readonly outcome: UsageOutcome; readonly report: Report | undefined }

/** Stores the session's part of a report, within the caller's transaction. */
function* noteReport(sql: Sql, id: string, usage: UsageReport): Work<Noted> {
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
  const history = tokensOf(sent.sizes, sent.rows, estimatorOf(sql, session), provider)
  const estimate = { history, standing: usage.standing, pending: usage.pending }
  const { viewEpoch, estimator } = session
  const report = { tokens, viewEpoch, estimator, estimate, at: usage.at ?? Date.now() }
  const { measurement } = recordReport(before, report)
  const measured = MEASURED.write({ ...measurement, ...measurement.estimate })
  yield* sql.run(WRITE_MEASUREMENT, session.no, provider, model, ...measured)
  const outcome = {
    recorded: true,
    before,
    after: { ...before, measurement, fixed: { provider, tokens: usage.standing } },
    estimate,
    requestId,
  }
  return { outcome, report }
}

/** Stores the model's part of a report, its limits and calibration, within the caller's transaction. */
function* learn(sql: Sql, usage: UsageReport, { outcome, report }: Noted): Work<UsageOutcome> {
  const { before, after } = outcome
  const isApart = sql.isShared && report !== undefined
  const locking = isApart ? begun(lockCalibration(sql, usage, report.estimator)) : undefined
  const isRefuted = usage.wasAccepted && (yield* refuteLimits(sql, usage))
  const isLearned = usage.limit !== undefined && (yield* writeLimit(sql, usage, usage.limit))
  const learned = isRefuted || isLearned ? yield* readLearned(sql, usage) : before.learned
  if (report === undefined) return { ...outcome, after: { ...after, learned } }
  const known = locking === undefined ? before.calibration : yield* locking
  const { calibration } = recordReport({ measurement: before.measurement, calibration: known }, report)
  const samples = [calibration.grown, calibration.whole].flatMap((of) => [
    of.samples,
    of.measured,
    of.estimated,
  ])
  yield* sql.run(WRITE_CALIBRATION, usage.provider, usage.model, report.estimator, ...samples, Date.now())
  return { ...outcome, after: { ...after, calibration, learned } }
}

function* readLearned(sql: Sql, { provider, model }: ModelKey): Work<Readings['learned']> {
  const statement = 'select kind, tokens from undertext_limits where provider = ? and model = ?'
  const rows = yield* sql.all(statement, provider, model)
  const of = (kind: string): number | undefined =>
    rows.find((row) => row[0] === kind)?.[1] as number | undefined
  return { window: of('window'), input: of('input') }
}

/** Returns and locks the calibration of a model until the end of the transaction. PostgreSQL only. */
function* lockCalibration(
  sql: Sql,
  { provider, model }: ModelKey,
  estimator: string,
): Work<Calibration | undefined> {
  const row = yield* sql.get(
    `select ${CALIBRATION_OF_C} from undertext_calibrations c where provider = ? and model = ? and estimator = ? for update`,
    provider,
    model,
    estimator,
  )
  return row && decodeCalibration(row)
}

/**
 * Returns the sums of the visible rows that were in a request: those up to a position, or all except the trailing assistant messages, which
 * are its answer. Reads only the rows after those, never the whole view.
 */
function* sentRows(
  sql: Sql,
  { no, visibleCount, visibleSizes }: StoredSession,
  position: number | undefined,
): Work<{ readonly sizes: Sizes; readonly rows: number }> {
  const last =
    position === undefined ? yield* lastRequestPlace(sql, no) : ([position, Number.MAX_SAFE_INTEGER] as const)
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

/** Returns the place of the last visible row that isn't an assistant message; `undefined` if there is none. */
function* lastRequestPlace(sql: Sql, session: number): Work<readonly [number, number] | undefined> {
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

const WRITE_MEASUREMENT = upsertInto('undertext_measurements', ['session', ...MODEL_KEY], MEASURED.names)
const WRITE_CALIBRATION = upsertInto(
  'undertext_calibrations',
  [...MODEL_KEY, 'estimator'],
  [...CALIBRATION, 'at'],
)
const WRITE_LIMIT = `${upsertInto('undertext_limits', [...MODEL_KEY, 'kind'], ['tokens', 'at'])}
  where excluded.tokens < undertext_limits.tokens`

/** Removes limits that are below the size of a successful request, because they are wrong; returns whether there were any. */
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
  const written = yield* sql.change(WRITE_LIMIT, provider, model, kind, tokens, Date.now())
  return written > 0
}

/** Records a limit that a provider reported for a model; returns the limit of this kind that now applies. */
export const learnLimit = writing(
  'limits.set',
  function* (sql: Sql, provider: string, model: string, limit: NamedLimit): Work<number> {
    yield* writeLimit(sql, { provider, model }, limit)
    const row = yield* sql.get(
      'select tokens from undertext_limits where provider = ? and model = ? and kind = ?',
      provider,
      model,
      limit.kind,
    )
    return storedNumber(row?.[0], 'limit')
  },
)

/** Removes the learned limits of a model; returns whether there were any. */
export const forgetLimit = writing(
  'limits.forget',
  function* (sql: Sql, provider: string, model: string): Work<boolean> {
    return (
      (yield* sql.change('delete from undertext_limits where provider = ? and model = ?', provider, model)) >
      0
    )
  },
)

/** Returns all learned limits, by provider and model. */
export const readLimits = outside('limits.list', function* (sql: Sql): Work<LearnedLimit[]> {
  const statement =
    'select provider, model, kind, tokens, at from undertext_limits order by provider, model, kind'
  return (yield* sql.all(statement)).map((row) => {
    const kind = LIMIT_KINDS.find((one) => one === row[2])
    if (kind === undefined) throw damaged('record', 'limit')
    const model = defined({ model: storedText(row[1], 'limit') || undefined })
    const [tokens, at] = [storedNumber(row[3], 'limit'), storedNumber(row[4], 'limit')]
    return { provider: storedText(row[0], 'limit') ?? '', ...model, kind, tokens, at }
  })
})
