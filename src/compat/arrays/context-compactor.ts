import { z } from 'zod'
import { check, shareSchema } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/defined.ts'
import { filledText, isJsonObject, type JsonObject } from '../../core/messages/json.ts'
import type { ChatMessage } from '../../core/model/message-parts.ts'
import type { CompactionStage } from '../../core/model/plan.ts'
import { KEEP_RECENT_RATIO } from '../../core/stages/summarize.ts'
import { extractiveSummarizer } from '../../core/summarizers/extractive.ts'
import type { Summarizer } from '../../core/summarizers/summarizer.ts'
import { getContextWindowSize } from '../../core/tokens/windows.ts'
import {
  type CompactionOutline,
  type IdleReason,
  idleReason,
  type OffTarget,
  offTarget,
  outlineOf,
} from '../../store/compaction/result.ts'
import { type ContentReader, type PlannedRun, Run } from '../../store/compaction/run.ts'
import { resolveModel } from '../../store/config/model.ts'
import { arrayRunConfig, type CompactionOptions, resolveSettings } from '../../store/config/run-config.ts'
import { compactionConfigSchema } from '../../store/config/settings.ts'
import { applySteps, rowsOf } from './rows.ts'

/** The options without those that need a store: places in a log, triggers, authorship, waiting. */
const arrayConfigSchema = z.strictObject(compactionConfigSchema.shape).omit({
  range: true,
  summary: true,
  trigger: true,
  reportedTokens: true,
  actor: true,
  minimumSavings: true,
  reason: true,
  waitMs: true,
})

/** The options of `CompactionConfig` that apply without a store. */
export type ArrayCompactionConfig = z.input<typeof arrayConfigSchema>

const targetSchema = z.int().nonnegative().optional()

/** The result of `ContextCompactor.compact`, over plain messages. */
export type ArrayCompactionResult = {
  /** Whether anything was applied. */
  readonly compacted: boolean
  /** The stages used, in order. The emergency cut counts as truncation. */
  readonly stagesUsed: CompactionStage[]
  /** Estimated tokens of the visible messages before and after, and the difference. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly tokensSaved: number
  /** The compacted array: the effective history of `tagged`. */
  readonly messages: ChatMessage[]
  /**
   * The given array with tags on the hidden messages, and summaries and markers in their places. The ids in `compactions` remove them
   * again. Originals of replaced texts are only in the given array.
   */
  readonly tagged: ChatMessage[]
  /** The compactions, in order. */
  readonly compactions: CompactionOutline[]
  /** Summaries that were requested and not used: a code or an error's name. */
  readonly failed: { readonly status: PlannedRun['failed'][number]['status']; readonly error: string }[]
  readonly targetTokens: number
  /** Whether the messages are within the target. */
  readonly reachedTarget: boolean
  /** Why the messages end more than 5 % above or below the target. Absent otherwise, and when nothing was applied. */
  readonly offTarget?: OffTarget
  /** Whether the whole request fits the model's window. */
  readonly fits: boolean
  /** Why nothing was applied. */
  readonly reason?: IdleReason
}

/**
 * Compacts plain arrays with the store's pipeline: prune, deduplicate, summarize, truncate, each only while the messages are over the
 * target. The changes that a store would record as tags are in the result.
 */
export class ContextCompactor {
  readonly #config: z.output<typeof arrayConfigSchema>

  /** Takes the config of `compactSession`, without the options that need a store. Throws `INVALID_INPUT`. */
  constructor(config: ArrayCompactionConfig = {}) {
    this.#config = check(arrayConfigSchema, config, 'ContextCompactor')
  }

  /**
   * Compacts messages down to `targetTokens` of history. Default: the config's `targetTokens`, else its `target`
   * (0.4) of the input of its `provider` and `model`, less the rest of the request in the config.
   *
   * Resolves whatever the summarizer does: when it fails, truncation takes over and `failed` has the reason. The given array and its
   * objects are not changed. Rejects with `INVALID_INPUT`, and with `ABORTED` after `signal`.
   */
  async compact(messages: readonly ChatMessage[], targetTokens?: number): Promise<ArrayCompactionResult> {
    const target = check(targetSchema, targetTokens, 'compact: targetTokens') ?? this.#config.targetTokens
    const run = await runPipeline(messages, { ...this.#config, targetTokens: target }, 'compact')
    const { steps, failed, stagesUsed, after, settings, snapshot } = run
    const tokensBefore = snapshot.view.tokens
    const tokensAfter = after.tokens
    const reason = idleReason(run)
    return {
      compacted: steps.length > 0,
      stagesUsed: [...stagesUsed],
      tokensBefore,
      tokensAfter,
      tokensSaved: tokensBefore - tokensAfter,
      ...applySteps(run.given, steps),
      compactions: steps.map(outlineOf),
      failed: failed.map(({ status, error }) => ({ status, error })),
      targetTokens: settings.targetTokens,
      reachedTarget: tokensAfter <= settings.targetTokens,
      fits: tokensAfter <= settings.limitTokens,
      ...defined({ reason, offTarget: offTarget(run) }),
    }
  }
}

const { summarizer, summarySections, summaryMaxTokens, summaryTimeoutMs, offlineFallback, signal } =
  compactionConfigSchema.shape

const summarizeConfigSchema = z.strictObject({
  /** The provider of the summarizing model, passed to the summarizer. */
  provider: z.string().optional(),
  /** The summarizing model, passed to the summarizer. */
  model: z.string().optional(),
  /** The share of the messages to keep, 0 to 1, at least 4 messages. Default 0.3. */
  keepRecentRatio: shareSchema.optional(),
  /**
   * Passed to the summarizer as `memoryConfig` of its request. Its `summarizationProvider` and `summarizationModel` apply when `provider`
   * and `model` are absent.
   */
  memoryConfig: z.record(z.string(), z.unknown()).optional(),
  summarizer,
  summarySections,
  summaryMaxTokens,
  summaryTimeoutMs,
  offlineFallback,
  signal,
})
/**
 * The options of `summarizeMessages`. `summarizer` (default `extractiveSummarizer`, no model),
 * `summarySections`, `summaryMaxTokens`, `summaryTimeoutMs`, `offlineFallback` and `signal` are those of
 * `CompactionConfig`.
 */
export type SummarizeConfig = z.input<typeof summarizeConfigSchema>

/** The result of `summarizeMessages`. */
export type SummarizeResult = {
  readonly summarized: boolean
  /** [summary, …recent messages]; system messages stay in their places, usually before the summary. */
  readonly messages: ChatMessage[]
  /**
   * The summarizer's own text. The summary message may contain more: notes and lines from the log, and the digest of tool calls after it.
   */
  readonly summaryText?: string
  /** The given array with `condenseParent` on the summarized messages and the summary after them; nothing is lost. */
  readonly tagged: ChatMessage[]
  /** The ids for the undo: `removeCondensationTags(tagged, condenseId)` for each. Usually one; none when nothing was done. */
  readonly condenseIds: string[]
  /** Why a requested summary was not used: a code or an error's name, never text of the conversation. */
  readonly failure?: string
}

/**
 * Replaces the older messages of a plain array by a summary.
 *
 * Keeps max(4, ceil(n × `keepRecentRatio`)) of the n visible messages, and more where the cut would separate a call from its result; four
 * or fewer messages are not summarized. An earlier summary is merged into the new one. The summary has the role `system`,
 * `metadata.isSummary` and a new `condenseId`. When the summarizer fails, returns nothing, or writes more than it replaces, nothing is
 * done and `summarized` is false.
 *
 * The given array and its objects are not changed. Throws `INVALID_INPUT`, and `ABORTED` after `signal`.
 */
export async function summarizeMessages(
  messages: readonly ChatMessage[],
  config: SummarizeConfig = {},
): Promise<SummarizeResult> {
  const checked = check(summarizeConfigSchema, config, 'summarizeMessages')
  const run = await runPipeline(messages, pipelineConfig(checked), 'summarizeMessages')
  const texts = run.steps.map(({ id }) => run.ownTexts.get(id) ?? '')
  const failure = run.failed[0]?.error
  return {
    summarized: texts.length > 0,
    ...applySteps(run.given, run.steps),
    condenseIds: run.steps.map(({ id }) => id),
    ...(texts.length > 0 && { summaryText: texts.join('\n\n') }),
    ...defined({ failure }),
  }
}

/** The pipeline with the summarizing stage only, and a target of 0. */
function pipelineConfig(config: z.output<typeof summarizeConfigSchema>): CompactionOptions {
  const { provider, model, keepRecentRatio, memoryConfig, summarizer: given, ...rest } = config
  return {
    ...rest,
    enablePrune: false,
    enableDeduplicate: false,
    enableTruncate: false,
    targetTokens: 0,
    keepRecentRatio: keepRecentRatio ?? KEEP_RECENT_RATIO,
    summarizationProvider: provider ?? filledText(memoryConfig?.summarizationProvider),
    summarizationModel: model ?? filledText(memoryConfig?.summarizationModel),
    summarizer: withMemoryConfig(given ?? extractiveSummarizer, memoryConfig),
  }
}

/** A summarizer whose requests include the memory config. */
function withMemoryConfig(
  summarizer: Summarizer,
  memoryConfig: { readonly [name: string]: unknown } | undefined,
): Summarizer {
  if (memoryConfig === undefined) return summarizer
  const { name, usesModel, maxInputTokens, tokensPerMessage, asksAgain } = summarizer
  // Field by field: those of an instance of a class may be inherited, and its methods need their object.
  return {
    name,
    usesModel,
    ...defined({ maxInputTokens, tokensPerMessage, asksAgain }),
    ...(summarizer.inputTokensFor !== undefined && {
      inputTokensFor: (request) => summarizer.inputTokensFor?.(request),
    }),
    summarize: (request) => summarizer.summarize(Object.assign({}, request, { memoryConfig })),
  }
}

type Snapshot = PlannedRun['snapshot']

/**
 * Plans a run over an array with the store's pipeline: the same stages in the same order, the same defaults, the same rules for
 * summaries. Nothing is stored; the array is not changed.
 *
 * The array may grow meanwhile: `given` is its content at the call. Throws `INVALID_INPUT` for unreadable messages, and `ABORTED`.
 */
async function runPipeline(
  messages: readonly ChatMessage[],
  options: CompactionOptions,
  what: string,
): Promise<PlannedRun & { readonly given: readonly ChatMessage[] }> {
  const config = arrayRunConfig(options)
  const chosen = resolveModel(undefined, config.provider, config.model)
  const rows = rowsOf(messages, chosen.key, what)
  const given = [...messages]
  // An array has no session: planning reads only the id of one, for its errors.
  const session = { id: '' } as Snapshot['session']
  const snapshot: Snapshot = { session, view: rows.view, nextOrdinal: 1 }
  const settings = resolveSettings(config, {
    chosen,
    contextWindow: getContextWindowSize(chosen.key, chosen.model),
    viewEpoch: 0,
    readings: { measurement: undefined, calibration: undefined, fixed: undefined },
    historyTokens: rows.view.tokens,
    sizes: rows.view.sizes,
    estimator: rows.view.estimator,
  })
  const contents: ContentReader = {
    contents: () => rows.parts,
    metadata: (_id, keys) => {
      const found = keys.map((key) => [key, given[key - 1]?.metadata] as const)
      return new Map(found.filter((entry): entry is [number, JsonObject] => isJsonObject(entry[1])))
    },
    // An array has no replacements: its messages are what they show.
    shownTexts: () => new Map(),
  }
  const run = await new Run({ storage: contents, snapshot, settings, config, mode: {} }).plan()
  return { ...run, given }
}
