/*
 * What providers report, and what is made of it. A provider's figure is of a whole request: history, and a system
 * prompt and tools the store may know nothing of. Two things are learnt: how many tokens the model makes of one
 * estimated token (the ratio), and how much of a request the store does not see. Pure; the storage keeps the rows.
 */

/** Bounds of the ratio, and of how far one report may move what we expect. Source: checklist F5. */
const MIN_RATIO = 0.5
const MAX_RATIO = 2
/** The least share of an estimate that is taken to be really there, however low a report was. */
const LEAST_SEEN = 0.01
/** Reports after which a ratio counts. */
const MIN_SAMPLES = 3
/**
 * The most of a first report's surplus that is taken for unseen while no ratio is known, as a share of the estimate. More
 * would leave a long history no room: 200,000 tokens reported where 104,000 were estimated are no 96,000 tokens of tools.
 */
const MOST_UNSEEN = 0.25
/** What is left of older reports when one is added: the last twenty or so decide. */
const DECAY = 0.95

/** Sums of reported and of estimated tokens, older ones counting less and less. */
type Tally = { readonly samples: number; readonly measured: number; readonly estimated: number }

/** What was learnt of a provider's model for one estimator. */
export type Calibration = {
  /** What was added between two reports of one view. Free of all the store does not see, so it decides as soon as there is enough of it. */
  readonly grown: Tally
  /** Whole requests: all there is to go by until then. */
  readonly whole: Tally
}

const NO_TALLY: Tally = { samples: 0, measured: 0, estimated: 0 }
export const NO_CALIBRATION: Calibration = { grown: NO_TALLY, whole: NO_TALLY }

/** Estimated tokens of a request by what becomes of them: without any calibration. */
export type Estimate = {
  readonly history: number
  /** System prompt and tool definitions: in every request, told to the store or not. */
  readonly standing: number
  /** The prompt and files that are in this request and not in the history yet. */
  readonly pending: number
}

/** The last report for a session and a model. */
export type Measurement = {
  /** The view it is of: it is stale as soon as the session's is another. */
  readonly viewEpoch: number
  readonly estimator: string
  /** What the provider reported, tokens. */
  readonly tokens: number
  /** What counts of it: held to half and twice of what was expected, until the next report confirms it. */
  readonly held: number
  /** The estimate of the same request. */
  readonly estimate: Estimate
  /** The first report that was believed of that view, and the estimate of its request without what stands. */
  readonly firstTokens: number | undefined
  readonly firstEstimate: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Tokens the model makes of one estimated token: 1 until three reports, then between 0.5 and 2. */
export function ratioOf({ grown, whole }: Calibration): number {
  const tally = grown.samples >= MIN_SAMPLES ? grown : whole
  return tally.samples >= MIN_SAMPLES ? bounded(tally.measured / tally.estimated, MIN_RATIO, MAX_RATIO) : 1
}

/** Reports the ratio is made of. */
export function samplesOf({ grown, whole }: Calibration): number {
  return grown.samples >= MIN_SAMPLES ? grown.samples : Math.max(grown.samples, whole.samples)
}

/** What a prediction was made from. `measured`: the report itself, of exactly this request. */
export type EstimateSource = 'measured' | 'measured+estimated' | 'calibrated' | 'estimated'

/** How estimates of a request become its true size. */
export type Outlook = {
  /** Tokens of the request that are in no estimate: what the store was not told of. */
  readonly unseen: number
  /** True tokens an estimated one. */
  readonly ratio: number
  readonly source: EstimateSource
}

export const PLAIN_OUTLOOK: Outlook = { unseen: 0, ratio: 1, source: 'estimated' }

/** The lowest limits overflow errors named, tokens: of question and answer together, and of the question alone. */
export type LearnedTokens = { readonly window: number | undefined; readonly input: number | undefined }

export const NOTHING_LEARNED: LearnedTokens = { window: undefined, input: undefined }

/** The readings of a session for one model. */
export type Readings = {
  readonly measurement: Measurement | undefined
  readonly calibration: Calibration | undefined
  readonly learned: LearnedTokens
}

/**
 * How large a request will be: the last report plus what was added since, when it is of the view as it is now; else the
 * estimate by the ratio, plus what the last report showed to be unseen.
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
  // A report that cannot be of the whole request tells nothing of its size.
  if (isDoubted(measurement, calibration)) {
    const known = samplesOf(calibration) >= MIN_SAMPLES || unseen > 0
    return known ? { unseen, ratio, source: 'calibrated' } : PLAIN_OUTLOOK
  }
  const source = added === 0 ? 'measured' : 'measured+estimated'
  // What is seen is never nothing: planning divides by it.
  const least = LEAST_SEEN * ratio * estimated
  // A report that waits to be confirmed only moves what we expect towards it: what is told now may explain it better.
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

/** A provider's report of the size of a request, and what was estimated of the same request. */
type Report = {
  readonly tokens: number
  readonly viewEpoch: number
  readonly estimator: string
  readonly estimate: Estimate
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Smaller requests are not judged by their reports, tokens: no window is so small, and a few odd texts may make up all of them. */
const LEAST_JUDGED = 2_000

/**
 * Whether a report is far below what its request must hold: less than half of the estimate by the ratio of the model. The ratio is held
 * to 0.5 and more, so no language and no estimator explains that. A server that cuts a prompt to its window and answers without an error
 * (Ollama at `num_ctx`) reports so; and a caller that leaves out what came from a cache. Such a report says nothing of the model.
 */
export function isFarBelow(
  { tokens, estimate }: Pick<Report, 'tokens' | 'estimate'>,
  calibration: Calibration | undefined,
): boolean {
  const expected = ratioOf(calibration ?? NO_CALIBRATION) * totalOf(estimate)
  return expected >= LEAST_JUDGED && tokens < MIN_RATIO * expected
}

/** The same of a report that was recorded, unless it was believed: a prompt that is cut does not grow with the view, this one did. */
export function isDoubted(measurement: Measurement, calibration: Calibration | undefined): boolean {
  return measurement.held !== measurement.tokens && isFarBelow(measurement, calibration)
}

/** Whether a report grew with the view since the last, by a quarter to twice of what was added, or repeats one that is believed. */
function growsAlong({ tokens, estimate }: Report, last: Measurement | undefined): boolean {
  if (last === undefined) return false
  const added = addedSince(last.estimate, estimate)
  const grown = tokens - last.tokens
  if (added <= 0) return last.held === last.tokens && isNear(tokens, last.tokens)
  return grown >= MIN_RATIO * MIN_RATIO * added && grown <= MAX_RATIO * added
}

/** The readings after a report: the measurement takes the place of the last one, the calibration moves a little. */
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
  const isShort = isFarBelow(report, calibration) && !growsAlong(report, same)
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
    // A figure that may be a slip, or the weight of tools nobody told of, says nothing of the model.
    calibration: isBelieved ? withSample(calibration, report, last, isConfirmed) : calibration,
  }
}

/** The first report of a view that is believed: that of before, or the one before this, when this confirms it. */
function firstOf(
  same: Measurement | undefined,
  isConfirmed: boolean,
): { readonly tokens: number; readonly estimate: number } | undefined {
  if (same?.firstTokens !== undefined) return { tokens: same.firstTokens, estimate: same.firstEstimate }
  return same !== undefined && isConfirmed
    ? { tokens: same.tokens, estimate: sized(same.estimate) }
    : undefined
}

/** The whole of an estimated request, tokens. */
export function totalOf({ history, standing, pending }: Estimate): number {
  return history + standing + pending
}

/** What of an estimate the history and the prompt make. */
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
  // Reports of one view that did not grow cannot tell the unseen from the ratio; another view's report can.
  const unseen = last === undefined || isSameView ? 0 : unseenBy(last, calibration, estimate.standing)
  return { ...calibration, whole: tallied(calibration.whole, tokens - unseen, estimated) }
}

/** A tally with one more pair; a wild one moves it no further than the bounds of the ratio. */
function tallied(tally: Tally, measured: number, estimated: number): Tally {
  return {
    samples: tally.samples + 1,
    measured: tally.measured * DECAY + bounded(measured, MIN_RATIO * estimated, MAX_RATIO * estimated),
    estimated: tally.estimated * DECAY + estimated,
  }
}

/** Tokens of an estimated request. */
export function expectedTokens({ unseen, ratio }: Outlook, estimate: Estimate): number {
  return unseen + ratio * totalOf(estimate)
}

/**
 * What a report showed to be in its request besides history, prompt, files, and the standing parts that are told now. While no
 * ratio is known, a surplus may be either: then only what no ratio can explain, or a small share, is taken for unseen.
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
  return isKnown || firstTokens > MAX_RATIO * estimated ? surplus : Math.min(surplus, MOST_UNSEEN * estimated)
}

/** Estimated tokens between two requests of one view. What stands counts only when both were told of it. */
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
