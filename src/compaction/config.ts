import { z } from 'zod'
import { DEFAULT_COMPACTION_TARGET, estimateOf, estimateRequest, requestSchema } from '../core/budget.ts'
import { expectedTokens, type Outlook, outlook, type Readings } from '../core/calibration.ts'
import { labelSchema, nameSchema } from '../core/check.ts'
import { DEDUP_THRESHOLD } from '../core/stages/deduplicate.ts'
import {
  PRUNE_MINIMUM_SAVINGS,
  PRUNE_PLACEHOLDER,
  PRUNE_PROTECT_TOKENS,
  PRUNE_PROTECTED_TOOLS,
} from '../core/stages/prune.ts'
import type { StageSettings } from '../core/stages/stage.ts'
import { TRUNCATION_MARKER } from '../core/stages/truncate.ts'
import type { Estimator } from '../core/tokens.ts'
import { PATH_ARGUMENTS, READ_TOOLS } from '../core/tool-names.ts'
import { availableInput } from '../core/windows.ts'
import { TRIGGERS } from '../storage/storage.ts'
import { SUMMARY_SECTIONS } from '../summarizers/summarizer.ts'
import { summarizerSchema } from '../summarizers/summarizer-schema.ts'
import type { ChosenModel } from './model.ts'

/** Fractions and token counts of settings that scale with the window. Source: checklist C-23 and F5. */
const PRUNE_PROTECT_SHARE = 0.25
const PRUNE_MINIMUM_SHARE = 0.1
const SUMMARY_SHARE = 0.05
const SUMMARY_LEAST_TOKENS = 500
const SUMMARY_MOST_TOKENS = 4_000
/**
 * Offline: six tenths of a target of up to 16,000 tokens, and a tenth of what is beyond, at most 16,000 more. What a session's
 * files define and its calls did grows slower than the session. Source: measured, docs/summaries.md.
 */
const OFFLINE_SUMMARY_SHARE = 0.6
/** Of the first 16,000, where the tail needs less than it might: its groups are not parted. */
const OFFLINE_MOST_SHARE = 0.9
const OFFLINE_FULL_TARGET = 16_000
const OFFLINE_MORE_SHARE = 0.1
const OFFLINE_MORE_TOKENS = 16_000
/** What must go, at least, after an overflow that named no size. Source: design 3.6. */
const OVERFLOW_SHARE = 0.3

/** How long a summarizer may take, milliseconds. Source: checklist S3-U04. */
export const SUMMARY_TIMEOUT_MS = 120_000
/** How long a run waits for another process's, milliseconds. */
const DEFAULT_WAIT_MS = 30_000

const tokens = z.int().nonnegative()
const share = z.number().min(0).max(1)

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
    /** Tokens of recent tool outputs to protect. Default 40,000, at most a quarter of the available input. */
    pruneProtectTokens: tokens.optional(),
    /** Least tokens pruning must save. Default 20,000, at most a tenth of the available input. */
    pruneMinimumSavings: tokens.optional(),
    /** Tools whose outputs are never pruned. Default ["skill"]. */
    pruneProtectedTools: z.array(z.string()).optional(),
    /** Passed on to the summarizer. */
    summarizationProvider: z.string().optional(),
    /** Passed on to the summarizer. */
    summarizationModel: z.string().optional(),
    /** Share of the messages to keep unsummarized, at least 4. Default: by tokens, see `keepRecentTokens`. */
    keepRecentRatio: share.optional(),
    /** Share of the messages after the first pair to hide in stage 4. Default: by tokens, until the target. */
    truncationFraction: share.optional(),
    /** Provider the figures are for. Default: the session's own, else "openai". */
    provider: z.string().optional(),

    /** Model the window is of. Default: the session's own. */
    model: z.string().optional(),
    ...requestSchema.shape,
    /** Share of the available input the whole request is brought down to. Default 0.6. */
    target: share.optional(),
    /** Tokens the history is brought down to, instead of `target`. */
    targetTokens: tokens.optional(),
    /** Tokens of the newest turns that are never summarized. Default: what the target leaves beside the summary. */
    keepRecentTokens: tokens.optional(),
    /** What a pruned output shows. */
    prunePlaceholder: z.string().min(1).optional(),
    /** Tools whose results show files. Default: the usual names. */
    readTools: z.array(z.string()).optional(),
    /** Arguments that name the file. Default: the usual names. */
    pathArguments: z.array(z.string()).optional(),
    /** Share of the re-read files' size deduplication must save. Default 0.3. */
    deduplicateMinimumSavings: share.optional(),
    /** Whether results of other tools are taken for reads when they begin with words like "Read file x". Default true. */
    deduplicateByText: z.boolean().optional(),
    /** Who writes the summary. Default: the store's, else the extractive one, which needs no model. */
    summarizer: summarizerSchema.optional(),
    /** Titles of the sections asked for. Default: the ten. */
    summarySections: z.array(z.string().min(1)).min(1).optional(),
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
    /** How long to wait for another process's run, milliseconds. Default 30,000. */
    waitMs: z.int().nonnegative().optional(),
    signal: z.instanceof(AbortSignal).optional(),
  })
  .refine(({ range, summary }) => summary === undefined || range !== undefined, 'summary needs a range')

export type CompactionConfig = z.input<typeof compactionConfigSchema>
export type CheckedConfig = z.output<typeof compactionConfigSchema>

/** A run's figures and settings: plain values, everything filled in. */
export type RunSettings = {
  readonly provider: string
  readonly model: string | undefined
  readonly availableTokens: number
  /** What the history is to come down to, in the estimator's tokens. */
  readonly targetTokens: number
  /** Most tokens of history with which the whole request still fits, in the estimator's tokens. */
  readonly limitTokens: number
  readonly stages: StageSettings
  readonly enabled: {
    readonly prune: boolean
    readonly deduplicate: boolean
    readonly summarize: boolean
    readonly truncate: boolean
    readonly cut: boolean
  }
}

/** What the settings of a run are made for. */
export type RunSubject = {
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
  const available = Math.max(0, availableInput(contextWindow, config.maxTokens, subject.inputLimit))
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
    stages: resolveStages(config, available, targetTokens),
    enabled: {
      prune: config.enablePrune ?? true,
      deduplicate: config.enableDeduplicate ?? true,
      summarize: config.enableSummarize ?? true,
      truncate: config.enableTruncate ?? true,
      cut: (config.enableTruncate ?? true) && (config.emergencyCut ?? true),
    },
  }
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
  return {
    pruneProtectTokens:
      config.pruneProtectTokens ??
      Math.min(PRUNE_PROTECT_TOKENS, Math.floor(available * PRUNE_PROTECT_SHARE)),
    pruneMinimumSavings:
      config.pruneMinimumSavings ??
      Math.min(PRUNE_MINIMUM_SAVINGS, Math.floor(available * PRUNE_MINIMUM_SHARE)),
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
  if (summaryMaxTokens !== undefined) return { summaryRoomTokens: summaryMaxTokens, summaryMaxTokens }
  if (summarizer?.usesModel === true) {
    const share = Math.floor(available * SUMMARY_SHARE)
    const most = Math.min(SUMMARY_MOST_TOKENS, Math.max(SUMMARY_LEAST_TOKENS, share))
    return { summaryRoomTokens: most, summaryMaxTokens: most }
  }
  const full = Math.min(targetTokens, OFFLINE_FULL_TARGET)
  const more = Math.min(OFFLINE_MORE_TOKENS, (targetTokens - full) * OFFLINE_MORE_SHARE)
  return {
    summaryRoomTokens: Math.floor(full * OFFLINE_SUMMARY_SHARE + more),
    summaryMaxTokens: Math.max(SUMMARY_LEAST_TOKENS, Math.floor(full * OFFLINE_MOST_SHARE + more)),
  }
}

export function waitMsOf(config: CheckedConfig): number {
  return config.waitMs ?? DEFAULT_WAIT_MS
}
