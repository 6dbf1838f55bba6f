import type { z } from 'zod'
import { defined, type JsonObject } from '../../core/messages/json.ts'
import { minimumSavingsOf } from '../../core/model/prompt-cache.ts'
import type { Stage, StageSettings } from '../../core/stages/stage.ts'
import { chosenSummarizer } from '../../core/summarizers/judge-answer.ts'
import {
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  estimateOf,
  estimateRequest,
  offlineSummaryTokens,
  scaledFigures,
  summaryRoom,
  targetAt,
} from '../../core/tokens/budget.ts'
import { expectedTokens, type Outlook, outlook, type Readings } from '../../core/tokens/calibration.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import type { Sizes } from '../../core/tokens/measure.ts'
import {
  isMediaDue,
  type MediaBudget,
  type MediaFigures,
  mediaBudget,
  mediaFigures,
  mediaLimitsOf,
  withPending,
} from '../../core/tokens/media-limits.ts'
import { availableInput, lowerLimit, registryOf, type WindowRegistry } from '../../core/tokens/windows.ts'
import type { RunOfJob } from '../../storage/storage.ts'
import type { ChosenModel } from './model.ts'
import { type Configuration, DEFAULTS, nonDefaults, pick, type ResolvedConfig } from './resolve.ts'
import {
  type CheckedCall,
  type compactionConfigSchema,
  SETTING_NAMES,
  SETTING_SOURCES,
  type SettingName,
} from './settings.ts'
import {
  DEFAULT_STAGES,
  MAX_RETAINED_MESSAGES,
  STAGE_SWITCHES,
  type StageSwitch,
  stagesOf,
  withWindow,
} from './stages.ts'

/** How far a view may end from its target, as a share of the target. */
export const TARGET_TOLERANCE = 0.05

/** Minimum share of the history that is removed after an overflow of unknown size. */
const OVERFLOW_SHARE = 0.3

/** The checked options of a compaction. */
export type CompactionOptions = z.output<typeof compactionConfigSchema>

/** The config of one run: the options of its call, completed from the settings, with its stages created. */
export type RunConfig = Omit<CompactionOptions, 'stages' | StageSwitch> & {
  /** The stages in order; each runs only while the history is over the target. */
  readonly pipeline: readonly Stage[]
  /** The summarizer that `summarizer` replaces because it can't be used: `provider:model` as requested, or a name. */
  readonly insteadOf?: string
  /** Tokens at which compaction is due, if they lower the target because none is given. */
  readonly dueTokens?: number | undefined
  /** Usage at which compaction is due. */
  readonly threshold?: number | undefined
  /** The target of a requested run if the request is already within `target`. */
  readonly requestedTarget?: number | undefined
  /** The background job that the run is made for. */
  readonly job?: RunOfJob | undefined
  /** Tables of context windows, from the preset. Default: those of the preset `default`. */
  readonly windows?: WindowRegistry
}

/** Returns the config of one run of a session; `undefined` if the settings switch this package off (`enabled: false`). */
export function runConfig(
  configuration: Configuration,
  session: { readonly config: JsonObject | undefined },
  call: CheckedCall,
): RunConfig | undefined {
  const { trigger = 'manual' } = call
  const resolved = configuration.ofCall(session.config, call)
  const { settings, sources } = resolved
  if (!settings.enabled) return undefined
  const isAutomatic = trigger === 'auto'
  const isTargetGiven =
    settings.targetTokens !== undefined || (sources.target !== 'default' && sources.target !== 'preset')
  const values = nonDefaults(resolved, SETTING_NAMES)
  return {
    ...values,
    ...call,
    // Without the names in the settings: the session may have its own.
    provider: call.provider,
    model: call.model,
    // The minimum in the settings applies to automatic runs only.
    minimumSavings: isAutomatic ? values.minimumSavings : call.minimumSavings,
    windows: registryOf(settings.preset),
    dueTokens: isTargetGiven ? undefined : settings.thresholdTokens,
    threshold: settings.threshold,
    requestedTarget: trigger === 'manual' ? resolved.requestedTarget : undefined,
    // A session that doesn't summarize automatically still does so on request.
    pipeline: pipelineOf(resolved, call, isAutomatic && !settings.enableAutoSummarize),
    ...chosenSummarizer(settings.summarizer, settings.summarizationProvider, settings.summarizationModel),
  }
}

/** Returns the config of a run over a plain array, which has no settings besides its options. */
export function arrayRunConfig(options: CompactionOptions): RunConfig {
  const { stages } = options
  const off = stages === undefined ? STAGE_SWITCHES.filter((name) => options[name] === false) : []
  return { ...options, pipeline: stagesOf(stages ?? DEFAULT_STAGES, new Set(off)) }
}

/** Returns the stages of a run. `withoutSummaries`: the settings don't allow summaries. */
function pipelineOf(resolved: ResolvedConfig, { range }: CheckedCall, withoutSummaries: boolean): Stage[] {
  const { settings } = resolved
  // A range is condensed without stages, and with `auto` off nothing is hidden automatically.
  if (range !== undefined || (withoutSummaries && !settings.auto)) return []
  // Stages with higher precedence than a switch ignore the switch.
  const counts = (name: SettingName): boolean => precedence(resolved, name) >= precedence(resolved, 'stages')
  const off = new Set(STAGE_SWITCHES.filter((name) => settings[name] === false && counts(name)))
  if (withoutSummaries) off.add('enableSummarize')
  // A maximum that comes only from the preset is the default of the preset's own windows.
  const isBounded =
    precedence(resolved, 'maxRetainedMessages') > PRESET_PRECEDENCE && counts('maxRetainedMessages')
  const stages = settings.stages ?? DEFAULT_STAGES
  const given = nonDefaults(resolved, ['prunePlaceholder', 'pruneProtectedTools'])
  return stagesOf(isBounded ? withWindow(stages) : stages, off, {
    retained: settings.maxRetainedMessages ?? MAX_RETAINED_MESSAGES,
    placeholder: given.prunePlaceholder,
    protectedTools: given.pruneProtectedTools,
  })
}

function precedence({ sources }: ResolvedConfig, name: SettingName): number {
  return SETTING_SOURCES.length - SETTING_SOURCES.indexOf(sources[name])
}
const PRESET_PRECEDENCE = SETTING_SOURCES.length - SETTING_SOURCES.indexOf('preset')

/** Whether a run with this config may call a model. */
export function mayCallModel({ summarizer, range, summary, pipeline }: RunConfig): boolean {
  if (summarizer?.usesModel !== true) return false
  return range === undefined ? pipeline.some(requestsSummaries) : summary === undefined
}

/** Whether a stage, or one within it, requests summaries. */
export function requestsSummaries(stage: Stage): boolean {
  return 'summaries' in stage || ('stages' in stage && stage.stages.some(requestsSummaries))
}

/** The token figures of a run, and the settings of its stages with every default filled in. */
export type RunSettings = {
  readonly availableTokens: number
  /** The size to which the history is reduced, in tokens of the estimator. */
  readonly targetTokens: number
  /** Maximum size of the history with which the whole request still fits, in tokens of the estimator. */
  readonly limitTokens: number
  /** Real tokens of the rest of the request. */
  readonly othersTokens: number
  /** Real tokens per token of the estimator. */
  readonly scale: number
  /** Minimum tokens of history to save, in tokens of the estimator; 0 for no minimum. */
  readonly minimumSavings: number
  /** The limits of images and bytes, and the usage at which they are due. */
  readonly media: MediaBudget
  /**
   * Whether an automatic run was started only because of images or bytes; stages that only save tokens then leave the history unchanged.
   */
  readonly isForMedia: boolean
  /** Images and files of the request besides the history. */
  readonly pendingMedia: MediaFigures | undefined
  readonly stages: StageSettings
}

type RunSubject = {
  readonly chosen: ChosenModel
  /** Tokens of input and output together. */
  readonly contextWindow: number
  /** Maximum input tokens that the provider accepts, if learned from an error. */
  readonly inputLimit?: number | undefined
  readonly viewEpoch: number
  readonly readings: Pick<Readings, 'measurement' | 'calibration' | 'fixed'>
  /** Estimated tokens of the history, uncalibrated. All planning counts in these. */
  readonly historyTokens: number
  /** Sizes of the history. */
  readonly sizes: Sizes
  readonly estimator: Estimator
}

/**
 * Computes the figures of a run. Planning counts in tokens of the estimator, so the room that a window leaves for the history is converted
 * to those: less the rest of the request, by the measured ratio.
 */
export function resolveSettings(config: RunConfig, subject: RunSubject): RunSettings {
  const { chosen, contextWindow, historyTokens, estimator } = subject
  const raw = estimateRequest(chosen.key, config, historyTokens, estimator, subject.readings.fixed)
  const estimate = estimateOf(raw)
  const found = outlook(subject.readings, {
    viewEpoch: subject.viewEpoch,
    estimator: estimator.name,
    estimate,
  })
  const inputLimit = lowerLimit(subject.inputLimit, config.contextWindowTarget)
  const available = Math.max(0, availableInput(contextWindow, config.maxOutputTokens, inputLimit))
  const others = expectedTokens(found, { ...estimate, history: 0 })
  const scale = found.ratio * overflowScale(config, expectedTokens(found, estimate))
  const { dueTokens, target: given = DEFAULT_COMPACTION_TARGET } = config
  const isDueByTokens = dueTokens !== undefined && available > 0
  const historyAt = (target: number): number => {
    const share = Math.floor((isDueByTokens ? targetAt(dueTokens / available, target) : target) * available)
    return Math.max(0, Math.floor((config.targetTokens ?? share - others) / scale))
  }
  const usual = historyAt(given)
  const { requestedTarget } = config
  const targetTokens =
    requestedTarget === undefined || historyTokens > usual ? usual : historyAt(requestedTarget)
  const { threshold = DEFAULT_COMPACTION_THRESHOLD } = config
  const media = mediaBudget(
    mediaLimitsOf(chosen, contextWindow, config.mediaLimits),
    threshold,
    targetAt(threshold, given),
  )
  const expectedNow = others + scale * historyTokens
  const isTokensDue = expectedNow >= (dueTokens ?? threshold * available)
  return {
    media,
    pendingMedia: config.pendingMedia,
    isForMedia:
      config.trigger === 'auto' &&
      config.job === undefined &&
      !isTokensDue &&
      isMediaDue(mediaFigures(withPending(subject.sizes, config.pendingMedia), expectedNow), media),
    availableTokens: available,
    targetTokens: mustShrink(config, found)
      ? Math.min(targetTokens, Math.floor(historyTokens * (1 - OVERFLOW_SHARE)))
      : targetTokens,
    limitTokens: Math.max(0, Math.floor((available - others) / scale)),
    othersTokens: others,
    scale,
    minimumSavings: minimumSavingsFor(config, historyTokens, scale),
    stages: stageSettings(config, available, targetTokens),
  }
}

/** Requested runs save whatever they can, unless the call gives a minimum; runs after an overflow ignore the minimum. */
function minimumSavingsFor(
  { minimumSavings, trigger, range }: RunConfig,
  historyTokens: number,
  scale: number,
): number {
  if (trigger === 'overflow' || range !== undefined) return 0
  if (minimumSavings !== undefined) return Math.ceil(minimumSavings / scale)
  return trigger === 'auto' ? minimumSavingsOf(historyTokens) : 0
}

/** Returns the factor by which the expected size was too low. After an overflow the provider's figure is correct. */
function overflowScale({ trigger, reportedTokens }: RunConfig, expected: number): number {
  if (trigger !== 'overflow' || reportedTokens === undefined || expected <= 0) return 1
  return Math.max(1, reportedTokens / expected)
}

/** Whether an overflow reported no size and no measurement exists, so that the excess is unknown. */
function mustShrink({ trigger, reportedTokens }: RunConfig, { source }: Outlook): boolean {
  const isMeasured = source === 'measured' || source === 'measured+estimated'
  return trigger === 'overflow' && reportedTokens === undefined && !isMeasured
}

/** Stage settings that don't scale with the window. */
const STAGE_SETTINGS = [
  'keepRecentMedia',
  'pruneProtectedTools',
  'prunePlaceholder',
  'pruneFailedResults',
  'readTools',
  'userTools',
  'pathArguments',
  'deduplicateMinimumSavings',
  'deduplicateByText',
  'summarySections',
  'truncationOrder',
] as const

export function stageSettings(config: RunConfig, available: number, targetTokens: number): StageSettings {
  const scaled = scaledFigures(available, targetTokens)
  const { truncationMarker = DEFAULTS.truncationMarker } = config
  return {
    ...pick(DEFAULTS, STAGE_SETTINGS),
    ...defined(pick(config, STAGE_SETTINGS)),
    pruneProtectTokens: config.pruneProtectTokens ?? scaled.pruneProtectTokens,
    pruneMinimumSavings: config.pruneMinimumSavings ?? scaled.pruneMinimumSavings,
    keepRecentTokens: config.keepRecentTokens,
    keepRecentRatio: config.keepRecentRatio,
    ...summaryTokens(config, scaled.summaryMaxTokens, targetTokens),
    truncationFraction: config.truncationFraction,
    truncationMarker: truncationMarker === false ? undefined : truncationMarker,
  }
}

/** Returns the tokens that the recent messages leave for the summary, and the maximum if they need fewer than they may take. */
function summaryTokens(
  { summaryMaxTokens, summarizer }: RunConfig,
  scaledMaximum: number,
  targetTokens: number,
): Pick<StageSettings, 'summaryRoomTokens' | 'summaryMaxTokens'> {
  const maximum = summaryMaxTokens ?? (summarizer?.usesModel === true ? scaledMaximum : undefined)
  if (maximum === undefined) return offlineSummaryTokens(targetTokens)
  return { summaryRoomTokens: summaryRoom(maximum, targetTokens), summaryMaxTokens: maximum }
}
