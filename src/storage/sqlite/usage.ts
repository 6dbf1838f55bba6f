import { defined } from '../../messages/defined.ts'
import {
  type Calibration,
  type Measurement,
  NOTHING_LEARNED,
  type Readings,
  recordReport,
} from '../../tokens/calibration.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { type Sizes, SizesSum, tokensOf } from '../../tokens/measure.ts'
import {
  type LearnedLimit,
  LIMIT_KINDS,
  type NamedLimit,
  type UsageOutcome,
  type UsageReport,
} from '../storage.ts'
import { addBilled } from './billing.ts'
import { SIZE_TOTALS, sizesOf } from './commit.ts'
import { columnsOf } from './compaction-row.ts'
import type { Connection, Row } from './connection.ts'
import { damaged, storedNumber } from './content-codec.ts'
import { encodeKind, encodeRole } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { VISIBLE } from './view.ts'

/*
 * Reports of providers: the size of a session's last request, the calibration of a model, the limits in overflow errors. They are not
 * part of a session's history, so its version stays.
 */

const MEASUREMENT = `m.estimator, m.view_epoch, m.tokens, m.held, m.history, m.standing, m.pending, m.first_tokens,
  m.first_estimate, m.at`
const CALIBRATION_COLUMNS = 6
const CALIBRATION = `c.grown_samples, c.grown_measured, c.grown_estimated, c.whole_samples, c.whole_measured, c.whole_estimated`

/** The readings of a session for a model, in one statement: they are read before every call of a model. */
export function readReadings(connection: Connection, id: string, provider: string, model: string): Readings {
  const row = connection.get(
    `select w.tokens, i.tokens, ${CALIBRATION}, ${MEASUREMENT} from undertext_sessions s
     left join undertext_limits w on w.provider = ? and w.model = ? and w.kind = 'window'
     left join undertext_limits i on i.provider = ? and i.model = ? and i.kind = 'input'
     left join undertext_calibrations c on c.provider = ? and c.model = ? and c.estimator = s.estimator
     left join undertext_measurements m on m.session = s.no and m.provider = ? and m.model = ?
     where s.id = ?`,
    ...[provider, model, provider, model, provider, model, provider, model, id],
  )
  if (row === undefined) return { learned: NOTHING_LEARNED, calibration: undefined, measurement: undefined }
  const { optional } = columnsOf(row, 'limit')
  const calibration = row.slice(2, 2 + CALIBRATION_COLUMNS)
  const measurement = row.slice(2 + CALIBRATION_COLUMNS)
  return {
    learned: { window: optional(0), input: optional(1) },
    calibration: calibration[0] === null ? undefined : decodeCalibration(calibration),
    measurement: measurement[0] === null ? undefined : decodeMeasurement(measurement),
  }
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
export function recordUsage(
  connection: Connection,
  id: string,
  usage: UsageReport,
  estimatorOf: (session: StoredSession) => Estimator,
): UsageOutcome {
  return connection.write('recordUsage', () => {
    const session = requireSession(connection, id)
    const { provider, model, tokens } = usage
    const before = readReadings(connection, id, provider, model)
    const isRefuted = usage.wentThrough && refuteLimits(connection, usage)
    const isLearned = usage.limit !== undefined && writeLimit(connection, usage, usage.limit)
    const learned =
      isRefuted || isLearned ? readReadings(connection, id, provider, model).learned : before.learned
    const isStale = usage.viewEpoch !== undefined && usage.viewEpoch !== session.viewEpoch
    if (usage.billed !== undefined) addBilled(connection, session.no, usage, usage.billed, isStale)
    if (isStale || tokens === 0 || session.visibleCount === 0)
      return { recorded: false, before, after: { ...before, learned }, estimate: undefined }
    const sent = sentRows(connection, session, usage.position)
    const history = tokensOf(sent.sizes, sent.rows, estimatorOf(session), provider)
    const estimate = { history, standing: usage.standing, pending: usage.pending }
    const { viewEpoch, estimator } = session
    const measured = recordReport(before, { tokens, viewEpoch, estimator, estimate, at: Date.now() })
    writeMeasurement(connection, session.no, usage, measured.measurement)
    writeCalibration(connection, usage, estimator, measured.calibration)
    return { recorded: true, before, after: { ...measured, learned }, estimate }
  })
}

/**
 * The visible rows that were in a request: up to a position, or all except the assistant's messages at the end, which are its answer.
 * Reads only the rows after those, never the whole view.
 */
function sentRows(
  connection: Connection,
  { no, visibleCount, visibleSizes }: StoredSession,
  position: number | undefined,
): { readonly sizes: Sizes; readonly rows: number } {
  const last =
    position === undefined ? lastAsked(connection, no) : ([position, Number.MAX_SAFE_INTEGER] as const)
  if (last === undefined) return { sizes: visibleSizes, rows: visibleCount }
  const after = connection.get(
    `select count(*), ${SIZE_TOTALS} from undertext_messages indexed by undertext_visible
     where session = ? and ${VISIBLE} and (anchor, ordinal) > (?, ?)`,
    no,
    ...last,
  )!
  const sizes = new SizesSum(visibleSizes)
  sizes.subtract(sizesOf(after.slice(1)))
  return { sizes: sizes.value, rows: visibleCount - storedNumber(after[0], `session no. ${no}`) }
}

/** The place of the last visible row that is not a message of the assistant; `undefined` when there is none. */
function lastAsked(connection: Connection, session: number): readonly [number, number] | undefined {
  const row = connection.get(
    `select anchor, ordinal from undertext_messages indexed by undertext_visible
     where session = ? and ${VISIBLE} and not (role = ? and kind = ?) order by anchor desc, ordinal desc limit 1`,
    session,
    encodeRole('assistant'),
    encodeKind('message'),
  )
  return row && [storedNumber(row[0], 'message'), storedNumber(row[1], 'message')]
}

type ModelKey = Pick<UsageReport, 'provider' | 'model'>

function writeMeasurement(
  connection: Connection,
  session: number,
  { provider, model }: ModelKey,
  { estimator, viewEpoch, tokens, held, estimate, firstTokens, firstEstimate, at }: Measurement,
): void {
  connection.run(
    `insert or replace into undertext_measurements (session, provider, model, estimator, view_epoch, tokens, held, history,
       standing, pending, first_tokens, first_estimate, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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

function writeCalibration(
  connection: Connection,
  { provider, model }: ModelKey,
  estimator: string,
  { grown, whole }: Calibration,
): void {
  connection.run(
    `insert or replace into undertext_calibrations (provider, model, estimator, grown_samples, grown_measured, grown_estimated,
       whole_samples, whole_measured, whole_estimated, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
function refuteLimits(connection: Connection, { provider, model, tokens }: UsageReport): boolean {
  const refuted = connection.run(
    'delete from undertext_limits where provider = ? and model = ? and tokens < ?',
    provider,
    model,
    tokens,
  )
  return refuted > 0
}

/** Stores a limit if it is the lowest of its kind; returns whether it is. */
function writeLimit(
  connection: Connection,
  { provider, model }: ModelKey,
  { kind, tokens }: NamedLimit,
): boolean {
  const written = connection.run(
    `insert into undertext_limits (provider, model, kind, tokens, at) values (?, ?, ?, ?, ?)
     on conflict (provider, model, kind) do update set tokens = excluded.tokens, at = excluded.at where excluded.tokens < tokens`,
    provider,
    model,
    kind,
    tokens,
    Date.now(),
  )
  return written > 0
}

/** Records a limit that a provider named for a model; returns the limit of its kind that applies now. */
export function learnLimit(
  connection: Connection,
  provider: string,
  model: string,
  limit: NamedLimit,
): number {
  return connection.write('learnLimit', () => {
    writeLimit(connection, { provider, model }, limit)
    const row = connection.get(
      'select tokens from undertext_limits where provider = ? and model = ? and kind = ?',
      provider,
      model,
      limit.kind,
    )
    return storedNumber(row?.[0], 'limit')
  })
}

/** Removes the learned limits of a model; returns whether there were any. */
export function forgetLimit(connection: Connection, provider: string, model: string): boolean {
  return connection.write(
    'forgetLimit',
    () =>
      connection.run('delete from undertext_limits where provider = ? and model = ?', provider, model) > 0,
  )
}

/** All learned limits, by provider and model. */
export function readLimits(connection: Connection): LearnedLimit[] {
  return connection.outside('listLimits', () => {
    const sql =
      'select provider, model, kind, tokens, at from undertext_limits order by provider, model, kind'
    return connection.all(sql).map((row) => {
      const { text, number } = columnsOf(row, 'limit')
      const kind = LIMIT_KINDS.find((one) => one === row[2])
      if (kind === undefined) throw damaged('record', 'limit')
      const model = defined({ model: text(1) || undefined })
      return { provider: text(0) ?? '', ...model, kind, tokens: number(3), at: number(4) }
    })
  })
}
