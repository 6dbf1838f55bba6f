import { z } from 'zod'
import { labelSchema, nameSchema, shareSchema } from '../messages/check.ts'
import { PATH_ARGUMENTS, READ_TOOLS } from '../messages/tool-names.ts'
import { minimumSavingsOf } from '../model/prompt-cache.ts'
import { cut } from '../stages/cut.ts'
import { DEDUP_THRESHOLD, deduplicate } from '../stages/deduplicate.ts'
import { PRUNE_PLACEHOLDER, PRUNE_PROTECTED_TOOLS, prune } from '../stages/prune.ts'
import { createStage, isStage, type StageSpec, specProblem } from '../stages/registry.ts'
import type { Placeholder, Stage, StageSettings } from '../stages/stage.ts'
import { summarize } from '../stages/summarize.ts'
import { TRUNCATION_MARKER, truncate } from '../stages/truncate.ts'
import { type RunOfJob, TRIGGERS } from '../storage/storage.ts'
import { SUMMARY_SECTIONS, summarizerSchema } from '../summarizers/summarizer.ts'
import { DEFAULT_COMPACTION_TARGET, estimateOf, estimateRequest, requestSchema } from '../tokens/budget.ts'
import { expectedTokens, type Outlook, outlook, type Readings } from '../tokens/calibration.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { offlineSummaryTokens, scaledFigures, summaryRoom } from '../tokens/scaled-figures.ts'
import { availableInput, lowerLimit, type WindowRegistry } from '../tokens/windows.ts'
import type { ChosenModel } from './model.ts'

/** What must go, at least, after an overflow that named no size. Source: design 3.6. */
const OVERFLOW_SHARE = 0.3

/** How long a summarizer may take, milliseconds. Source: checklist S3-U04. */
export const SUMMARY_TIMEOUT_MS = 120_000
/** How long a run waits for another process's, milliseconds. */
const DEFAULT_WAIT_MS = 30_000

const placeholderSchema = z.custom<Exclude<Placeholder, string>>(
  (value) => typeof value === 'function',
  'must be a text or a function',
)

/** A stage, or what a configuration calls it. */
const stageSchema = z.custom<Stage | StageSpec>().superRefine((value, context) => {
  const message = isStage(value) ? undefined : specProblem(value)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const tokens = z.int().nonnegative()
/** Everything a compaction can be told. The first block is seed 003's; all of it is optional. */
export const compactionConfigSchema = z
  .strictObject({
    /** Stage 1, default true. */
    enablePrune: z.boolean().optional(),
    /** Stage 2, default true. */
    enableDeduplicate: z.boolean().optional(),
    /** Stage 3, default true. */
    enableSummarize: z.boolean().optional(),
    /** Stage 4, default true; also the emergency cut. */
    enableTruncate: z.boolean().optional(),
    /**
     * The stages of the run, in order, instead of the four and the emergency cut: names, names with options, or stages
     * of the application's own. Each runs only while the history is over the target.
     */
    stages: z.array(stageSchema).min(1).max(100).readonly().optional(),
    /** Tokens of recent tool outputs to protect. Default 40,000, at most a quarter of the available input. */
    pruneProtectTokens: tokens.optional(),
    /** Least tokens pruning must save. Default 20,000, at most a tenth of the available input. */
    pruneMinimumSavings: tokens.optional(),
    /** Tools whose outputs are never pruned. Default ["skill"]. */
    pruneProtectedTools: z.array(z.string()).readonly().optional(),
    /** Who is to write summaries: handed to the summarizer. Where it cannot use them, the extractive one writes. */
    summarizationProvider: z.string().optional(),
    /** Likewise: the model of `summarizationProvider`. */
    summarizationModel: z.string().optional(),
    /** Share of the messages to keep unsummarized, at least 4. Default: by tokens, see `keepRecentTokens`. */
    keepRecentRatio: shareSchema.optional(),
    /** Share of the messages after the first pair to hide in stage 4. Default: by tokens, until the target. */
    truncationFraction: shareSchema.optional(),
    /** What stage 4 hides first, by tokens: the oldest turns, or the messages worth least. Default "oldest". */
    truncationOrder: z.enum(['oldest', 'importance']).optional(),
    /** Provider the figures are for. Default: the session's own, else "openai". */
    provider: z.string().optional(),

    /** Model the window is of. Default: the session's own. */
    model: z.string().optional(),
    ...requestSchema.shape,
    /** Most tokens of input, whatever the model's window leaves; 0 for no such limit. Source: seed 004. */
    contextWindowTarget: tokens.optional(),
    /** Share of the available input the whole request is brought down to. Default 0.4. */
    target: shareSchema.optional(),
    /** Tokens the history is brought down to, instead of `target`. */
    targetTokens: tokens.optional(),
    /** Tokens of the newest turns that are never summarized. Default: what the target leaves beside the summary. */
    keepRecentTokens: tokens.optional(),
    /**
     * Least tokens a run must save, what it costs of the prompt cache counted in; 0: whatever it saves. Default of automatic runs: 5 %
     * of the history, at most 20,000; of all others 0.
     */
    minimumSavings: tokens.optional(),
    /** What a pruned output shows: a text, with `{tokens}` and `{tool}` filled in, or a function that makes one. */
    prunePlaceholder: z.union([z.string().min(1), placeholderSchema]).optional(),
    /** Tools whose results show files. Default: the usual names. */
    readTools: z.array(z.string()).readonly().optional(),
    /** Arguments that name the file. Default: the usual names. */
    pathArguments: z.array(z.string()).readonly().optional(),
    /** Share of the re-read files' size deduplication must save. Default 0.3. */
    deduplicateMinimumSavings: shareSchema.optional(),
    /** Whether results of other tools are taken for reads when they begin with words like "Read file x". Default true. */
    deduplicateByText: z.boolean().optional(),
    /** Who writes the summary. Default: the store's, else the extractive one, which needs no model. */
    summarizer: summarizerSchema.optional(),
    /** Titles of the sections asked for. Default: the ten. */
    summarySections: z.array(z.string().min(1)).min(1).readonly().optional(),
    /**
     * Most tokens of a summary. Default with a model: 5 % of the available input, between 500 and 4,000. Without one it fills
     * what the tail leaves of the target: `docs/summaries.md`.
     */
    summaryMaxTokens: z.int().positive().optional(),
    /** How long a summarizer may take for one summary, milliseconds. Default 120,000. */
    summaryTimeoutMs: z.int().positive().optional(),
    /** Whether the extractive summarizer may step in when another one fails or is refused. Default false. */
    offlineFallback: z.boolean().optional(),
    /** The truncation marker's text, or false for none. Default: the seed's. */
    truncationMarker: z.union([z.string().min(1), z.literal(false)]).optional(),
    /** Whether over-long contents are cut when nothing else makes the request fit. Default true. */
    emergencyCut: z.boolean().optional(),

    /** Condense exactly the visible rows between two positions, both included, and do nothing else. */
    range: z
      .strictObject({ from: z.int().positive(), to: z.int().positive() })
      .refine(({ from, to }) => from <= to, 'from must not be behind to')
      .optional(),
    /** The text to stand for `range`. Default: the summarizer is asked. */
    summary: z.string().min(1).optional(),

    /** Why the run was started. Default "manual". "overflow" goes on without waiting for anybody. */
    trigger: z.enum(TRIGGERS).optional(),
    /** After an overflow: the size of the request as the provider reported it, tokens. */
    reportedTokens: z.int().positive().optional(),
    actor: nameSchema.optional(),
    reason: labelSchema.optional(),
    /** Whether to go on with the stages that need no model, as an overflow does. Default false. */
    withoutModel: z.boolean().optional(),
    /**
     * What to do when another run still goes on after `waitMs`: "refuse" with `COMPACTION_IN_PROGRESS` (default), or go on with
     * the stages that need no model.
     */
    whenBusy: z.enum(['refuse', 'withoutModel']).optional(),
    /** How long to wait for other runs, of this process and of others, milliseconds. Default 30,000. */
    waitMs: z.int().nonnegative().optional(),
    signal: z.instanceof(AbortSignal).optional(),
  })
  .refine(({ range, summary }) => summary === undefined || range !== undefined, 'summary needs a range')

export type CompactionConfig = z.input<typeof compactionConfigSchema>
/** Checked, and what no caller can say. */
export type CheckedConfig = z.output<typeof compactionConfigSchema> & {
  /** Who was to write the summaries and cannot, so that `summarizer` does: `provider:model` as asked for, or a summarizer. */
  readonly insteadOf?: string
  /** The job in the background that the run is made for. */
  readonly job?: RunOfJob | undefined
  /** The tables of windows that the preset in force reads. Default: those of the preset `default`. */
  readonly windows?: WindowRegistry
}

/** A run's figures and settings: plain values, everything filled in. */
export type RunSettings = {
  readonly provider: string
  readonly model: string | undefined
  readonly availableTokens: number
  /** What the history is to come down to, in the estimator's tokens. */
  readonly targetTokens: number
  /** Most tokens of history with which the whole request still fits, in the estimator's tokens. */
  readonly limitTokens: number
  /** What else is in the request, in true tokens, and how many of those one of the estimator's is worth. */
  readonly othersTokens: number
  readonly scale: number
  /** Least tokens of history that must be saved, in the estimator's tokens; 0 for whatever it is. */
  readonly minimumSavings: number
  readonly stages: StageSettings
  /** In order, each only while the history is over the target. */
  readonly pipeline: readonly Stage[]
}

/** What the settings of a run are made for. */
type RunSubject = {
  readonly chosen: ChosenModel
  /** Tokens, input and output together. */
  readonly contextWindow: number
  /** The most the provider takes of input alone, tokens, where it was learnt. */
  readonly inputLimit?: number | undefined
  /** The session's view, and what was reported and learnt of it; nothing for a plain array. */
  readonly viewEpoch: number
  readonly readings: Pick<Readings, 'measurement' | 'calibration'>
  /** Estimated tokens of the history, uncalibrated, as all of planning counts. */
  readonly historyTokens: number
  readonly estimator: Estimator
}

/**
 * Fills in a config. Planning counts in the estimator's tokens, so what a window leaves for the history is brought down
 * to those: less what else is in the request, by the ratio that was measured.
 */
export function resolveSettings(config: CheckedConfig, subject: RunSubject): RunSettings {
  const { chosen, contextWindow, historyTokens, estimator } = subject
  const raw = estimateRequest(chosen.key, config, historyTokens, estimator)
  const estimate = estimateOf(raw)
  const found = outlook(subject.readings, {
    viewEpoch: subject.viewEpoch,
    estimator: estimator.name,
    estimate,
  })
  const inputLimit = lowerLimit(subject.inputLimit, config.contextWindowTarget)
  const available = Math.max(0, availableInput(contextWindow, config.maxTokens, inputLimit))
  const others = expectedTokens(found, { ...estimate, history: 0 })
  const scale = found.ratio * overflowScale(config, expectedTokens(found, estimate))
  const share = Math.floor((config.target ?? DEFAULT_COMPACTION_TARGET) * available)
  const target = config.targetTokens ?? share - others
  const targetTokens = Math.max(0, Math.floor(target / scale))
  return {
    provider: chosen.provider,
    model: chosen.model,
    availableTokens: available,
    targetTokens: mustShrink(config, found)
      ? Math.min(targetTokens, Math.floor(historyTokens * (1 - OVERFLOW_SHARE)))
      : targetTokens,
    limitTokens: Math.max(0, Math.floor((available - others) / scale)),
    othersTokens: others,
    scale,
    minimumSavings: leastSavings(config, historyTokens, scale),
    stages: resolveStages(config, available, targetTokens),
    pipeline: pipelineOf(config),
  }
}

/** What a run must save, in the estimator's tokens. Who asks for a run gets it, and after an overflow nothing is held back. */
function leastSavings(
  { minimumSavings, trigger, range }: CheckedConfig,
  historyTokens: number,
  scale: number,
): number {
  if (trigger === 'overflow' || range !== undefined) return 0
  if (minimumSavings !== undefined) return Math.ceil(minimumSavings / scale)
  return trigger === 'auto' ? minimumSavingsOf(historyTokens) : 0
}

/** The stages a config asks for, in order. */
function pipelineOf(config: CheckedConfig): Stage[] {
  if (config.stages !== undefined)
    return config.stages.map((stage) => (isStage(stage) ? stage : createStage(stage)))
  const mayTruncate = config.enableTruncate ?? true
  return [
    ...((config.enablePrune ?? true) ? [prune] : []),
    ...((config.enableDeduplicate ?? true) ? [deduplicate] : []),
    ...((config.enableSummarize ?? true) ? [summarize] : []),
    ...(mayTruncate ? [truncate] : []),
    ...(mayTruncate && (config.emergencyCut ?? true) ? [cut] : []),
  ]
}

/** Whether a run by this config may ask a model. */
export function mayAskModel(config: CheckedConfig): boolean {
  return config.summarizer?.usesModel === true && mayAsk(config)
}

/** Whether a run by this config may ask its summarizer for a text. */
function mayAsk(config: CheckedConfig): boolean {
  return config.range === undefined ? pipelineOf(config).some(mayBeAsked) : config.summary === undefined
}

function mayBeAsked(stage: Stage): boolean {
  return 'summaries' in stage || ('stages' in stage && stage.stages.some(mayBeAsked))
}

/** After an overflow the provider's figure is the truth: by how much what we expected was too low. */
function overflowScale({ trigger, reportedTokens }: CheckedConfig, expected: number): number {
  if (trigger !== 'overflow' || reportedTokens === undefined || expected <= 0) return 1
  return Math.max(1, reportedTokens / expected)
}

/** After an overflow that named no size nobody knows how far too large the request was. */
function mustShrink({ trigger, reportedTokens }: CheckedConfig, { source }: Outlook): boolean {
  const isMeasured = source === 'measured' || source === 'measured+estimated'
  return trigger === 'overflow' && reportedTokens === undefined && !isMeasured
}

function resolveStages(config: CheckedConfig, available: number, targetTokens: number): StageSettings {
  const scaled = scaledFigures(available, targetTokens)
  return {
    pruneProtectTokens: config.pruneProtectTokens ?? scaled.pruneProtectTokens,
    pruneMinimumSavings: config.pruneMinimumSavings ?? scaled.pruneMinimumSavings,
    pruneProtectedTools: config.pruneProtectedTools ?? PRUNE_PROTECTED_TOOLS,
    prunePlaceholder: config.prunePlaceholder ?? PRUNE_PLACEHOLDER,
    readTools: config.readTools ?? READ_TOOLS,
    pathArguments: config.pathArguments ?? PATH_ARGUMENTS,
    deduplicateMinimumSavings: config.deduplicateMinimumSavings ?? DEDUP_THRESHOLD,
    deduplicateByText: config.deduplicateByText ?? true,
    keepRecentTokens: config.keepRecentTokens,
    keepRecentRatio: config.keepRecentRatio,
    ...summaryTokens(config, available, targetTokens),
    summarySections: config.summarySections ?? SUMMARY_SECTIONS,
    truncationFraction: config.truncationFraction,
    truncationOrder: config.truncationOrder ?? 'oldest',
    truncationMarker:
      config.truncationMarker === false ? undefined : (config.truncationMarker ?? TRUNCATION_MARKER),
  }
}

/** What a tail leaves to the summary, and the most a summary may take when the tail needs less than it might. */
function summaryTokens(
  { summaryMaxTokens, summarizer }: CheckedConfig,
  available: number,
  targetTokens: number,
): Pick<StageSettings, 'summaryRoomTokens' | 'summaryMaxTokens'> {
  const beside = (most: number): Pick<StageSettings, 'summaryRoomTokens' | 'summaryMaxTokens'> => ({
    summaryRoomTokens: summaryRoom(most, targetTokens),
    summaryMaxTokens: most,
  })
  if (summaryMaxTokens !== undefined) return beside(summaryMaxTokens)
  if (summarizer?.usesModel === true) {
    return beside(scaledFigures(available, targetTokens).summaryMaxTokens)
  }
  return offlineSummaryTokens(targetTokens)
}

export function waitMsOf(config: CheckedConfig): number {
  return config.waitMs ?? DEFAULT_WAIT_MS
}
