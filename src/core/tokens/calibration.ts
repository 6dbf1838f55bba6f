/*
 * Learns from providers' reports. A report covers a whole request: the history, and a system prompt and tools that the store may not
 * have. Two figures are learned: the real tokens per estimated token (the ratio), and the part of a request that the store doesn't see.
 * Pure; the storage keeps the rows.
 */

/** The bounds of the ratio, and of the effect of one report. */
const MIN_RATIO = 0.5
const MAX_RATIO = 2
/** The minimum share of an estimate that is assumed to be real, however low a report was. */
const MIN_SEEN_SHARE = 0.01
/** The number of reports from which a ratio applies. */
const MIN_SAMPLES = 3
/**
 * The maximum part of a first report's surplus that counts as unseen if no ratio is known, as a share of the estimate. A higher limit
 * would leave no room for a long history: if 200,000 tokens are reported and 104,000 were estimated, that doesn't mean 96,000 tokens of
 * tools.
 */
const MAX_UNSEEN_SHARE = 0.25
/** The factor by which older reports are weighted down when one is added: about the last twenty decide. */
const DECAY = 0.95

/** Sums of reported and estimated tokens, with decaying weights. */
type Tally = { readonly samples: number; readonly measured: number; readonly estimated: number }

/** The calibration of a provider's model for one estimator. */
export type Calibration = {
  /** Differences between two reports of one view. They contain nothing unseen, so they decide once there are enough of them. */
  readonly grown: Tally
  /** Whole requests, which decide until then. */
  readonly whole: Tally
}

const NO_TALLY: Tally = { samples: 0, measured: 0, estimated: 0 }
export const NO_CALIBRATION: Calibration = { grown: NO_TALLY, whole: NO_TALLY }

/** Estimated tokens of a request by lifetime, uncalibrated. */
export type Estimate = {
  readonly history: number
  /** System prompt and tool definitions, which are in every request, whether or not the store has them. */
  readonly standing: number
  /** The prompt and files of this request that are not in the history yet. */
  readonly pending: number
}

/** The last report for a session and a model. */
export type Measurement = {
  /** The view of the report: if the session's view has changed, the report is stale. */
  readonly viewEpoch: number
  readonly estimator: string
  /** The reported tokens. */
  readonly tokens: number
  /** The tokens that are used: limited to between half and twice the expected size until the next report confirms them. */
  readonly held: number
  /** The estimate of the same request. */
  readonly estimate: Estimate
  /** The first accepted report of the same view, and the estimate of its request without system prompt and tools. */
  readonly firstTokens: number | undefined
  readonly firstEstimate: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Returns the real tokens per estimated token: 1 until there are three reports, then between 0.5 and 2. */
export function ratioOf({ grown, whole }: Calibration): number {
  const tally = grown.samples >= MIN_SAMPLES ? grown : whole
  return tally.samples >= MIN_SAMPLES ? bounded(tally.measured / tally.estimated, MIN_RATIO, MAX_RATIO) : 1
}

/** Returns the number of reports in the ratio. */
export function samplesOf({ grown, whole }: Calibration): number {
  return grown.samples >= MIN_SAMPLES ? grown.samples : Math.max(grown.samples, whole.samples)
}

/** The source of a prediction. `measured`: the report of exactly this request. */
export type EstimateSource = 'measured' | 'measured+estimated' | 'calibrated' | 'estimated'

/** The conversion of a request's estimates to its real size. */
export type Outlook = {
  /** Tokens of the request that are not in any estimate, because the store doesn't have their content. */
  readonly unseen: number
  /** Real tokens per estimated token. */
  readonly ratio: number
  readonly source: EstimateSource
}

export const PLAIN_OUTLOOK: Outlook = { unseen: 0, ratio: 1, source: 'estimated' }

/** The lowest limits in overflow errors, in tokens: of input and output together, and of the input alone. */
export type LearnedTokens = { readonly window: number | undefined; readonly input: number | undefined }

export const NOTHING_LEARNED: LearnedTokens = { window: undefined, input: undefined }

/** Estimated tokens of a request's system prompt and tools, and the provider that received them: each provider counts differently. */
export type FixedPart = { readonly tokens: number; readonly provider: string }

/** The readings of a session for one model. */
export type Readings = {
  readonly measurement: Measurement | undefined
  readonly calibration: Calibration | undefined
  readonly learned: LearnedTokens
  /** The system prompt and tools of the session's last reported request, of any model. */
  readonly fixed: FixedPart | undefined
}

/**
 * Predicts the size of a request: if the last report belongs to the current view, that report plus later additions; otherwise the
 * estimate by the ratio, plus the unseen part of the last report.
 */
export function outlook(
  { measurement, calibration = NO_CALIBRATION }: Pick<Readings, 'measurement' | 'calibration'>,
  now: { readonly viewEpoch: number; readonly estimator: string; readonly estimate: Estimate },
): Outlook {
  const ratio = ratioOf(calibration)
  const isUsable = measurement !== undefined && measurement.estimator === now.estimator
  const unseen = isUsable ? unseenBy(measurement, calibration, now.estimate.standing) : 0
  if (!isUsable || measurement.viewEpoch !== now.viewEpoch) {
    const isPlain = ratio === 1 && unseen === 0 && samplesOf(calibration) < MIN_SAMPLES
    return isPlain ? PLAIN_OUTLOOK : { unseen, ratio, source: 'calibrated' }
  }
  const added = addedSince(measurement.estimate, now.estimate)
  const estimated = totalOf(now.estimate)
  // A report that cannot cover the whole request is no evidence of its size.
  if (isDoubted(measurement, calibration)) {
    const known = samplesOf(calibration) >= MIN_SAMPLES || unseen > 0
    return known ? { unseen, ratio, source: 'calibrated' } : PLAIN_OUTLOOK
  }
  const source = added === 0 ? 'measured' : 'measured+estimated'
  // Never 0: planning divides by it.
  const least = MIN_SEEN_SHARE * ratio * estimated
  // An unconfirmed report only moves the prediction toward it: the current system prompt and tools may explain it better.
  const held = measurement.held + ratio * added
  const believed = measurement.tokens + ratio * added
  const tokens = Math.max(
    least,
    bounded(ratio * estimated, Math.min(held, believed), Math.max(held, believed)),
  )
  if (estimated === 0) return { unseen: tokens, ratio, source }
  const known = Math.min(unseen, tokens - least)
  return { unseen: known, ratio: (tokens - known) / estimated, source }
}

/** A provider's report of a request, and the estimate of the same request. */
export type Report = {
  readonly tokens: number
  readonly viewEpoch: number
  readonly estimator: string
  readonly estimate: Estimate
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Requests below this size, in tokens, are not checked against their reports: a few unusual texts may dominate them. */
const MIN_JUDGED_TOKENS = 2_000

/**
 * Returns whether a report is far below the size of its request: less than half of the estimate by the model's ratio. The ratio is at
 * least 0.5, so no language and no estimator explains such a report. Possible causes are servers that silently cut a prompt to their
 * window (Ollama at `num_ctx`) and callers that omit cached tokens. Such a report is no evidence about the model.
 */
export function isFarBelow(
  { tokens, estimate }: Pick<Report, 'tokens' | 'estimate'>,
  calibration: Calibration | undefined,
): boolean {
  const expected = ratioOf(calibration ?? NO_CALIBRATION) * totalOf(estimate)
  return expected >= MIN_JUDGED_TOKENS && tokens < MIN_RATIO * expected
}

/**
 * Returns whether a recorded report is far below the size of its request, unless it was accepted: a cut prompt doesn't grow with the
 * view, but this one did.
 */
export function isDoubted(measurement: Measurement, calibration: Calibration | undefined): boolean {
  return measurement.held !== measurement.tokens && isFarBelow(measurement, calibration)
}

/** Returns whether a report grew with the view since the last one, by a quarter to twice the addition, or repeats an accepted report. */
function growsWith({ tokens, estimate }: Report, last: Measurement | undefined): boolean {
  if (last === undefined) return false
  const added = addedSince(last.estimate, estimate)
  const grown = tokens - last.tokens
  if (added <= 0) return last.held === last.tokens && isNear(tokens, last.tokens)
  return grown >= MIN_RATIO * MIN_RATIO * added && grown <= MAX_RATIO * added
}

/** Returns the readings after a report: the measurement replaces the last one, the calibration moves slightly. */
export function recordReport(
  { measurement, calibration = NO_CALIBRATION }: Pick<Readings, 'measurement' | 'calibration'>,
  report: Report,
): { readonly measurement: Measurement; readonly calibration: Calibration } {
  const { tokens, estimate } = report
  const last = measurement?.estimator === report.estimator ? measurement : undefined
  const same = last?.viewEpoch === report.viewEpoch ? last : undefined
  const ratio = ratioOf(calibration)
  const expected = expectedTokens(outlook({ measurement: last, calibration }, report), estimate)
  const isConfirmed =
    same !== undefined && isNear(tokens, same.tokens + ratio * addedSince(same.estimate, estimate))
  const isShort = isFarBelow(report, calibration) && !growsWith(report, same)
  const isBelieved = !isShort && (isConfirmed || isNear(tokens, expected))
  const first = firstOf(same, isConfirmed) ?? (isBelieved ? { tokens, estimate: sized(estimate) } : undefined)
  return {
    measurement: {
      viewEpoch: report.viewEpoch,
      estimator: report.estimator,
      tokens,
      held: Math.round(
        isBelieved
          ? tokens
          : isShort
            ? expected
            : bounded(tokens, MIN_RATIO * expected, MAX_RATIO * expected),
      ),
      estimate,
      firstTokens: first?.tokens,
      firstEstimate: first?.estimate ?? 0,
      at: report.at,
    },
    // A figure that may be an error, or may include unknown tools, is no evidence about the model.
    calibration: isBelieved ? withSample(calibration, report, last, isConfirmed) : calibration,
  }
}

/** Returns the first accepted report of a view: the one stored earlier, or the previous report if this one confirms it. */
function firstOf(
  same: Measurement | undefined,
  isConfirmed: boolean,
): { readonly tokens: number; readonly estimate: number } | undefined {
  if (same?.firstTokens !== undefined) return { tokens: same.firstTokens, estimate: same.firstEstimate }
  return same !== undefined && isConfirmed
    ? { tokens: same.tokens, estimate: sized(same.estimate) }
    : undefined
}

/** Returns the total of an estimated request, in tokens. */
export function totalOf({ history, standing, pending }: Estimate): number {
  return history + standing + pending
}

/** Returns the part of an estimate that is history and prompt. */
function sized({ history, pending }: Estimate): number {
  return history + pending
}

function withSample(
  calibration: Calibration,
  { tokens, estimate, viewEpoch }: Report,
  last: Measurement | undefined,
  isConfirmed: boolean,
): Calibration {
  const isSameView = last?.viewEpoch === viewEpoch
  const added = isSameView ? addedSince(last.estimate, estimate) : 0
  if (isSameView && added > 0) {
    const isSound = isConfirmed || last.held === last.tokens
    return isSound
      ? { ...calibration, grown: tallied(calibration.grown, tokens - last.tokens, added) }
      : calibration
  }
  const estimated = totalOf(estimate)
  if (estimated === 0) return calibration
  // Reports of one view that didn't grow cannot distinguish the unseen part from the ratio; a report of another view can.
  const unseen = last === undefined || isSameView ? 0 : unseenBy(last, calibration, estimate.standing)
  return { ...calibration, whole: tallied(calibration.whole, tokens - unseen, estimated) }
}

/** Returns a tally with one more pair; an outlier moves it no further than the bounds of the ratio. */
function tallied(tally: Tally, measured: number, estimated: number): Tally {
  return {
    samples: tally.samples + 1,
    measured: tally.measured * DECAY + bounded(measured, MIN_RATIO * estimated, MAX_RATIO * estimated),
    estimated: tally.estimated * DECAY + estimated,
  }
}

/** Returns the expected tokens of an estimated request. */
export function expectedTokens({ unseen, ratio }: Outlook, estimate: Estimate): number {
  return unseen + ratio * totalOf(estimate)
}

/**
 * Returns the unseen part of a reported request: everything except history, prompt, files, and the known system prompt and tools. If no
 * ratio is known, a surplus may have either cause: then only the part that no ratio can explain, or a small share, counts as unseen.
 */
function unseenBy(
  { firstTokens, firstEstimate }: Measurement,
  calibration: Calibration,
  standing: number,
): number {
  if (firstTokens === undefined) return 0
  const estimated = firstEstimate + standing
  const surplus = Math.max(0, firstTokens - ratioOf(calibration) * estimated)
  const isKnown = samplesOf(calibration) >= MIN_SAMPLES
  return isKnown || firstTokens > MAX_RATIO * estimated
    ? surplus
    : Math.min(surplus, MAX_UNSEEN_SHARE * estimated)
}

/** Returns the estimated tokens added between two requests of one view. System prompt and tools only count if both requests have them. */
function addedSince(then: Estimate, now: Estimate): number {
  const standing = then.standing > 0 && now.standing > 0 ? now.standing - then.standing : 0
  return now.history - then.history + now.pending - then.pending + standing
}

function isNear(value: number, expected: number): boolean {
  return value >= MIN_RATIO * expected && value <= MAX_RATIO * expected
}

function bounded(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
