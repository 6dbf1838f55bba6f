import type { MomentPoint } from '../../core/model/moment.ts'
import {
  type BudgetCheckResult,
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  estimateOf,
  estimateRequest,
  hasFixedPart,
  weighRequest,
} from '../../core/tokens/budget.ts'
import {
  type EstimateSource,
  isDoubted,
  NO_CALIBRATION,
  outlook,
  type Readings,
  ratioOf,
  samplesOf,
  totalOf,
} from '../../core/tokens/calibration.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { type Sizes, tokensOf } from '../../core/tokens/measure.ts'
import {
  isMediaDue,
  isWithinMedia,
  type MediaUse,
  maxImages,
  mediaBudget,
  mediaFigures,
  mediaLimitsOf,
  withPending,
} from '../../core/tokens/media-limits.ts'
import { type ModelProfile, type ProfileSubject, profileOf } from '../../core/tokens/profiles.ts'
import {
  availableInput,
  type ContextWindow,
  type ContextWindows,
  DEFAULT_OUTPUT_RESERVE_RATIO,
  getOutputReserve,
  lowerLimit,
  MAX_DEFAULT_OUTPUT_RESERVE,
  registryOf,
} from '../../core/tokens/windows.ts'
import type { SessionFigures } from '../../storage/storage.ts'
import { type ChosenModel, resolveModel, windowOf } from '../config/model.ts'
import type { ResolvedSettings } from '../config/settings.ts'
import type { CheckedStats } from '../config/store-options.ts'

/** How full a session's context is. */
export type ContextStats = {
  /** Tokens that would be sent now, by the best known figures (see `source`). The sum of `breakdown`. */
  readonly estimatedInputTokens: number
  readonly availableInputTokens: number
  readonly usageRatio: number
  /** Whether compaction is due: tokens, images or bytes have reached the threshold, and `heldBack` is absent. */
  readonly shouldCompact: boolean
  /**
   * Present if usage has reached the threshold but a user undid an automatic compaction. Compaction is due again if the request doesn't
   * fit, and as usual after the user compacts.
   */
  readonly heldBack?: true
  /** Number of messages of the view that are sent, without silent ones (such as an agent's bookkeeping). */
  readonly messageCount: number
  /** Whether the request fits: its tokens, and its images and bytes if the provider's limits are known. */
  readonly withinBudget: boolean
  /** Images of the request, and their limit if it is known. Claude's limit is 20 if one of them has a side above 2,000 pixels. */
  readonly images: MediaUse
  /** Bytes of the request: images and files in base64, and an estimate of the text (four bytes per token). */
  readonly bytes: MediaUse
  readonly breakdown: BudgetCheckResult['breakdown']
  /**
   * Known tokens of the system prompt and tools, and their source. `given`: the call. `last-request`: the session's last request with
   * recorded usage, for a call with neither `system` nor `tools`. `none`: unknown; tokens that reports show besides the history are then in
   * `breakdown.unseen`.
   */
  readonly fixed: { readonly tokens: number; readonly source: 'given' | 'last-request' | 'none' }
  /** Provider of the limits and token counts. */
  readonly provider: string
  readonly model?: string
  readonly estimator: string
  /** Number of messages in the log, which is its last position; includes silent messages, which `sessions.get` leaves out. */
  readonly storedMessages: number
  /** Number of hidden messages, by what hid them. */
  readonly hidden: { readonly condensed: number; readonly truncated: number; readonly manual: number }
  /** Sizes of the view by category, in the estimator's units. */
  readonly sizes: Sizes
  readonly activeCompactions: number
  /**
   * The source of `estimatedInputTokens`. `measured`: the provider's report of exactly this request. `measured+estimated`: the report, plus
   * an estimate of what was added since. `calibrated`: the estimate, corrected by earlier reports of the model. `estimated`: the estimator
   * alone.
   */
  readonly source: EstimateSource
  /** Tokens of the same request, by the estimator alone. */
  readonly estimated: number
  /** The provider's last report for this session and model; `null` without one. */
  readonly measured: MeasuredTokens | null
  /** Real tokens per token of this estimator, learned from the model's reports (1 with fewer than three reports). */
  readonly calibration: { readonly ratio: number; readonly samples: number }
  readonly contextWindow: ContextWindow
  /** Maximum input tokens that the provider accepts, if an overflow error reported them. */
  readonly inputLimit?: number
  readonly outputReserve: { readonly tokens: number; readonly source: 'maxOutputTokens' | 'share' | 'most' }
  /** Maximum input tokens by the settings. */
  readonly contextWindowTarget?: number
  /** The usage at which compaction is due, as a share of the available input. */
  readonly threshold: number
  /** The figures assumed for the model, and the source of each. Shared and frozen. */
  readonly profile: ModelProfile
  /** The moment of the figures, if one was given. They are then estimates. */
  readonly moment?: MomentPoint
}

const PROFILE_SETTINGS = [
  'maxOutputTokens',
  'target',
  'targetTokens',
  'keepRecentTokens',
  'pruneProtectTokens',
  'pruneMinimumSavings',
  'summaryMaxTokens',
] as const

/** A provider's report of a request's size. */
export type MeasuredTokens = {
  readonly inputTokens: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** Whether the report describes the current view, apart from appended messages. Otherwise it is used for no figure. */
  readonly isCurrent: boolean
  /**
   * Present if the report is less than half of what the request must have contained, so it is used for no figure. See
   * `requests.recordUsage`.
   */
  readonly isFarBelow?: true
}

/** Computes stats from the counters of a session and the readings of its model. */
export function contextStats(
  figures: SessionFigures,
  readings: Readings,
  given: {
    readonly provider: string | undefined
    readonly model: string | undefined
    readonly request: CheckedStats
    readonly settings: ResolvedSettings
    /** Provider and model to use if none are given. */
    readonly own: Pick<SessionFigures, 'provider' | 'model'>
    readonly estimator: Estimator
    readonly contextWindows: ContextWindows | undefined
  },
): ContextStats {
  const { request, settings, estimator } = given
  const chosen = resolveModel(given.own, given.provider, given.model)
  const history = tokensOf(figures.visibleSizes, figures.visibleCount, estimator, chosen.key)
  const raw = estimateRequest(chosen.key, request, history, estimator, readings.fixed)
  const estimate = estimateOf(raw)
  const { viewEpoch } = figures
  const expected = outlook(readings, { viewEpoch, estimator: estimator.name, estimate })
  const contextWindow = windowOf(
    chosen,
    figures.config,
    given.contextWindows,
    readings.learned.window,
    registryOf(settings.preset),
  )
  const maxOutputTokens = request.maxOutputTokens ?? settings.maxOutputTokens
  const target = request.contextWindowTarget ?? settings.contextWindowTarget ?? 0
  const inputLimit = lowerLimit(readings.learned.input, target)
  const threshold = thresholdOf(request, settings, () =>
    availableInput(contextWindow.tokens, maxOutputTokens, inputLimit),
  )
  const budget = weighRequest({
    raw,
    outlook: expected,
    contextWindow: contextWindow.tokens,
    inputLimit,
    maxOutputTokens,
    threshold,
  })
  const { calibration = NO_CALIBRATION, measurement } = readings
  const limits = mediaLimitsOf(chosen, contextWindow.tokens, settings.mediaLimits)
  // A threshold in tokens doesn't apply to media.
  const share = request.threshold ?? settings.threshold ?? DEFAULT_COMPACTION_THRESHOLD
  const media = mediaBudget(limits, share, 0)
  const sizes = withPending(figures.visibleSizes, request.pendingMedia)
  const used = mediaFigures(sizes, budget.estimatedInputTokens)
  const withinBudget = budget.withinBudget && isWithinMedia(used, media.limit)
  const isDue = budget.shouldCompact || (settings.enableMedia !== false && isMediaDue(used, media))
  const isHeldBack = figures.undoneAutomatic > 0 && isDue && withinBudget
  const stats: { -readonly [K in keyof ContextStats]: ContextStats[K] } = {
    estimatedInputTokens: budget.estimatedInputTokens,
    availableInputTokens: budget.availableInputTokens,
    usageRatio: budget.usageRatio,
    shouldCompact: isDue && !isHeldBack,
    messageCount: figures.visibleCount,
    withinBudget,
    images: useOf(used.images, maxImages(used.largeImages, media.limit)),
    bytes: useOf(used.bytes, media.limit.bytes),
    breakdown: budget.breakdown,
    fixed: fixedPart(request, budget.breakdown, Math.round(expected.ratio * (raw.unseen ?? 0))),
    provider: chosen.provider,
    estimator: figures.estimator,
    storedMessages: figures.messageCount,
    hidden: figures.hidden,
    sizes: figures.visibleSizes,
    activeCompactions: figures.activeCompactions,
    source: expected.source,
    estimated: totalOf(estimate),
    measured:
      measurement === undefined
        ? null
        : {
            inputTokens: measurement.tokens,
            at: measurement.at,
            isCurrent: measurement.viewEpoch === viewEpoch && measurement.estimator === estimator.name,
            ...(isDoubted(measurement, calibration) && { isFarBelow: true as const }),
          },
    calibration: { ratio: ratioOf(calibration), samples: samplesOf(calibration) },
    contextWindow,
    outputReserve: outputReserve(contextWindow.tokens, maxOutputTokens),
    threshold,
    profile: cachedProfile(chosen, contextWindow, readings.learned.input, estimator, {
      settings,
      maxOutputTokens,
      threshold,
      target,
    }),
  }
  if (isHeldBack) stats.heldBack = true
  if (chosen.model !== undefined) stats.model = chosen.model
  if (readings.learned.input !== undefined) stats.inputLimit = readings.learned.input
  if (target > 0) stats.contextWindowTarget = target
  return stats
}

function useOf(used: number, limit: number): MediaUse {
  return limit === Number.POSITIVE_INFINITY ? { used } : { used, limit }
}

function fixedPart(
  request: CheckedStats,
  { systemPrompt, toolDefinitions }: BudgetCheckResult['breakdown'],
  last: number,
): ContextStats['fixed'] {
  if (hasFixedPart(request)) return { tokens: systemPrompt + toolDefinitions, source: 'given' }
  return last > 0 ? { tokens: last, source: 'last-request' } : { tokens: 0, source: 'none' }
}

/** Returns the usage at which compaction is due; a number of tokens is converted to a share of the available tokens. */
function thresholdOf(request: CheckedStats, settings: ResolvedSettings, available: () => number): number {
  const { threshold, thresholdTokens } =
    request.threshold === undefined && request.thresholdTokens === undefined ? settings : request
  if (thresholdTokens === undefined) return threshold ?? DEFAULT_COMPACTION_THRESHOLD
  const tokens = available()
  // If no tokens are available, any request is too large, and usage is 1.
  return tokens > 0 ? thresholdTokens / tokens : 1
}

function outputReserve(
  contextWindow: number,
  maxOutputTokens: number | undefined,
): ContextStats['outputReserve'] {
  const tokens = getOutputReserve(contextWindow, maxOutputTokens)
  if (maxOutputTokens !== undefined) return { tokens, source: 'maxOutputTokens' }
  const isMost = contextWindow * DEFAULT_OUTPUT_RESERVE_RATIO > MAX_DEFAULT_OUTPUT_RESERVE
  return { tokens, source: isMost ? 'most' : 'share' }
}

function overridesOf(
  { settings, maxOutputTokens, threshold, target }: ProfileInput,
  learnedInput: number | undefined,
): ProfileSubject['overrides'] {
  return {
    ...Object.fromEntries(PROFILE_SETTINGS.map((name) => [name, settings[name]])),
    maxOutputTokens,
    threshold: threshold === DEFAULT_COMPACTION_THRESHOLD ? undefined : threshold,
    target: settings.target === DEFAULT_COMPACTION_TARGET ? undefined : settings.target,
    inputLimit: target > 0 && target < (learnedInput ?? target + 1) ? target : undefined,
  }
}

type CachedProfile = {
  readonly contextWindow: ContextWindow
  readonly learnedInput: number | undefined
  readonly estimator: Estimator
  readonly input: ProfileInput
  readonly profile: ModelProfile
}

type ProfileInput = {
  /** Resolved once per store or session, so the same object means the same settings. */
  readonly settings: ResolvedSettings
  readonly maxOutputTokens: number | undefined
  readonly threshold: number
  /** Maximum tokens of input; 0 for no maximum. */
  readonly target: number
}

/** The most recent profiles, by provider and model: a conversation requests the same one before every call. */
const profiles = new Map<string, CachedProfile>()
const MAX_PROFILES = 64

function cachedProfile(
  { key, model }: ChosenModel,
  contextWindow: ContextWindow,
  learnedInput: number | undefined,
  estimator: Estimator,
  input: ProfileInput,
): ModelProfile {
  const name = `${key}\n${model}`
  const last = profiles.get(name)
  if (
    last !== undefined &&
    last.profile.model === model &&
    last.contextWindow.tokens === contextWindow.tokens &&
    last.contextWindow.source === contextWindow.source &&
    last.contextWindow.entry === contextWindow.entry &&
    last.learnedInput === learnedInput &&
    last.estimator === estimator &&
    last.input.settings === input.settings &&
    last.input.maxOutputTokens === input.maxOutputTokens &&
    last.input.threshold === input.threshold &&
    last.input.target === input.target
  )
    return last.profile
  const profile = profileOf({
    provider: key,
    model,
    contextWindow,
    learnedInput,
    estimator,
    estimatorSource: 'session',
    overrides: overridesOf(input, learnedInput),
    isTableGiven: false,
  })
  for (const figure of Object.values(profile)) {
    Object.freeze(figure)
    if (typeof figure === 'object') Object.freeze(figure.value)
  }
  Object.freeze(profile)
  if (profiles.size >= MAX_PROFILES) profiles.clear()
  profiles.set(name, { contextWindow, learnedInput, estimator, input, profile })
  return profile
}
