import { type Calibration, type Measurement, type Readings, recordReport } from '../../core/calibration.ts'
import { type Estimator, type Sizes, SizesSum, tokensOf } from '../../core/tokens.ts'
import type { LearnedLimit, UsageOutcome, UsageReport } from '../storage.ts'
import type { Connection, Row } from './connection.ts'
import { storedNumber, storedText } from './content-codec.ts'
import { VISIBLE } from './history.ts'
import { encodeKind, encodeRole } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { SIZE_TOTALS, sizesOf } from './tagging.ts'

/*
 * What providers reported: the last size of a session's request, the ratio of a model, the limits overflow errors named.
 * None of it is part of a session's history, so no version is raised.
 */

const MEASUREMENT = `m.estimator, m.view_epoch, m.tokens, m.held, m.history, m.standing, m.pending, m.first_tokens,
  m.first_estimate, m.at`
const CALIBRATION = `c.grown_samples, c.grown_measured, c.grown_estimated, c.whole_samples, c.whole_measured, c.whole_estimated`

/** The readings of a session for a model, in one statement: this stands before every call of a model. */
export function readReadings(connection: Connection, id: string, provider: string, model: string): Readings {
  const row = connection.get(
    `select l.tokens, ${CALIBRATION}, ${MEASUREMENT} from undertext_sessions s
     left join undertext_limits l on l.provider = ? and l.model = ?
     left join undertext_calibrations c on c.provider = ? and c.model = ? and c.estimator = s.estimator
     left join undertext_measurements m on m.session = s.no and m.provider = ? and m.model = ?
     where s.id = ?`,
    provider,
    model,
    provider,
    model,
    provider,
    model,
    id,
  )
  if (row === undefined) return { learnedLimit: undefined, calibration: undefined, measurement: undefined }
  return {
    learnedLimit: row[0] === null ? undefined : storedNumber(row[0], 'limit'),
    calibration: row[1] === null ? undefined : decodeCalibration(row),
    measurement: row[7] === null ? undefined : decodeMeasurement(row),
  }
}

function decodeCalibration(row: Row): Calibration {
  const number = (at: number): number => storedNumber(row[at], 'calibration')
  return {
    grown: { samples: number(1), measured: number(2), estimated: number(3) },
    whole: { samples: number(4), measured: number(5), estimated: number(6) },
  }
}

function decodeMeasurement(row: Row): Measurement {
  const number = (at: number): number => storedNumber(row[at], 'measurement')
  return {
    estimator: storedText(row[7], 'measurement') ?? '',
    viewEpoch: number(8),
    tokens: number(9),
    held: number(10),
    estimate: { history: number(11), standing: number(12), pending: number(13) },
    firstTokens: row[14] === null ? undefined : number(14),
    firstEstimate: number(15),
    at: number(16),
  }
}

/** Notes what a provider reported of a request; nothing when the view is not the one it was made from. Throws `SESSION_NOT_FOUND`. */
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
    const isStale = usage.viewEpoch !== undefined && usage.viewEpoch !== session.viewEpoch
    if (isStale || tokens === 0 || session.visibleCount === 0)
      return { recorded: false, before, after: before, estimate: undefined }
    const sent = sentRows(connection, session, usage.position)
    const history = tokensOf(sent.sizes, sent.rows, estimatorOf(session), provider)
    const estimate = { history, standing: usage.standing, pending: usage.pending }
    const { viewEpoch, estimator } = session
    const learned = recordReport(before, { tokens, viewEpoch, estimator, estimate, at: Date.now() })
    writeMeasurement(connection, session.no, usage, learned.measurement)
    writeCalibration(connection, usage, estimator, learned.calibration)
    // A request of that size went through, so the limit is not there any more.
    const isRefuted = usage.wentThrough && (before.learnedLimit ?? tokens) < tokens
    if (isRefuted) deleteLimit(connection, provider, model)
    const learnedLimit = isRefuted ? undefined : before.learnedLimit
    return { recorded: true, before, after: { ...learned, learnedLimit }, estimate }
  })
}

/**
 * The visible rows that were in a request: up to a position, or all but the answers at the end, which cannot have been in
 * the request they answer. Looks at what stands behind, never at the whole view.
 */
function sentRows(
  connection: Connection,
  { no, visibleCount, visibleSizes }: StoredSession,
  position: number | undefined,
): { readonly sizes: Sizes; readonly rows: number } {
  const last =
    position === undefined ? lastAsked(connection, no) : ([position, Number.MAX_SAFE_INTEGER] as const)
  if (last === undefined) return { sizes: visibleSizes, rows: visibleCount }
  const behind = connection.get(
    `select count(*), ${SIZE_TOTALS} from undertext_messages indexed by undertext_visible
     where session = ? and ${VISIBLE} and (anchor, ordinal) > (?, ?)`,
    no,
    ...last,
  )!
  const sizes = new SizesSum(visibleSizes)
  sizes.subtract(sizesOf(behind.slice(1)))
  return { sizes: sizes.value, rows: visibleCount - storedNumber(behind[0], `session no. ${no}`) }
}

/** The place of the last visible row that is no message of the assistant's; `undefined` when there is none. */
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

/** Keeps the lowest limit a provider named for a model; answers the one that counts now. */
export function learnLimit(connection: Connection, provider: string, model: string, tokens: number): number {
  return connection.write('learnLimit', () => {
    connection.run(
      `insert into undertext_limits (provider, model, tokens, at) values (?, ?, ?, ?)
       on conflict (provider, model) do update set tokens = excluded.tokens, at = excluded.at where excluded.tokens < tokens`,
      provider,
      model,
      tokens,
      Date.now(),
    )
    const row = connection.get(
      'select tokens from undertext_limits where provider = ? and model = ?',
      provider,
      model,
    )
    return storedNumber(row?.[0], 'limit')
  })
}

/** Within the caller's transaction; answers whether there was a limit. */
function deleteLimit(connection: Connection, provider: string, model: string): boolean {
  return connection.run('delete from undertext_limits where provider = ? and model = ?', provider, model) > 0
}

/** Forgets what was learnt of a model's limit; answers whether there was anything. */
export function forgetLimit(connection: Connection, provider: string, model: string): boolean {
  return connection.write('forgetLimit', () => deleteLimit(connection, provider, model))
}

/** All limits that were learnt, by provider and model. */
export function readLimits(connection: Connection): LearnedLimit[] {
  return connection.readOne('listLimits', () =>
    connection
      .all('select provider, model, tokens, at from undertext_limits order by provider, model')
      .map((row) => {
        const model = storedText(row[1], 'limit') ?? ''
        return {
          provider: storedText(row[0], 'limit') ?? '',
          ...(model !== '' && { model }),
          tokens: storedNumber(row[2], 'limit'),
          at: storedNumber(row[3], 'limit'),
        }
      }),
  )
}
