import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { check, shareSchema } from '../../core/messages/check.ts'
import { defined, filledText, type JsonObject } from '../../core/messages/json.ts'
import type { ChatMessage } from '../../core/model/message-parts.ts'
import type { Plan, PlannedReplacement } from '../../core/model/plan.ts'
import type { View } from '../../core/model/view.ts'
import { prune } from '../../core/stages/clear-tool-outputs.ts'
import { deduplicate } from '../../core/stages/deduplicate.ts'
import type { PlanningStage } from '../../core/stages/stage.ts'
import { KEEP_RECENT_RATIO } from '../../core/stages/summarize.ts'
import { truncate } from '../../core/stages/truncate.ts'
import { extractiveSummarizer } from '../../core/summarizers/extractive.ts'
import type { Summarizer } from '../../core/summarizers/summarizer.ts'
import { tokensOfText } from '../../core/tokens/measure.ts'
import { getContextWindowSize } from '../../core/tokens/windows.ts'
import { type CompactionResult, figuresOf, outlineOf } from '../../store/compaction/result.ts'
import type { ContentReader } from '../../store/compaction/row-sources.ts'
import { type PlannedRun, Run } from '../../store/compaction/run.ts'
import { resolveModel } from '../../store/config/model.ts'
import { pick } from '../../store/config/resolve.ts'
import { arrayRunConfig, type CompactionOptions, resolveSettings } from '../../store/config/run-config.ts'
import { compactionConfigSchema } from '../../store/config/settings.ts'
import {
  type ArrayRows,
  type ArrayStep,
  applySteps,
  contextIn,
  replaceParts,
  rowsOf,
  stepOf,
} from './rows.ts'

/* The default stages over an array: each one alone, and all of them in the order of the store's pipeline. */

const truncationConfigSchema = z.strictObject({
  /** Share, 0 to 1, of the messages after the first pair to remove. Default 0.5. */
  fraction: shareSchema.optional(),
  /** The text of the marker. Default: `TRUNCATION_MARKER`. */
  marker: z.string().min(1).optional(),
})
/** Options of `truncateWithSlidingWindow`. */
export type TruncationConfig = z.input<typeof truncationConfigSchema>

/** The result of `truncateWithSlidingWindow`. */
export type TruncationResult = {
  readonly truncated: boolean
  /** The remaining messages: [first pair…, marker, …kept messages]. */
  readonly messages: ChatMessage[]
  /** The number of removed messages, always even; excludes the marker of an earlier truncation. */
  readonly messagesRemoved: number
  /** The given array with `truncationParent` on the removed messages and the marker in their place; no message is lost. */
  readonly tagged: ChatMessage[]
  /** The id for undoing: `removeTruncationTags(tagged, truncationId)`. Absent if nothing was done. */
  readonly truncationId?: string
}

/**
 * Removes the oldest messages after the first two from a plain array, like the last stage of the pipeline.
 *
 * The first two messages stay, with the results of their calls. Of the messages after them, `fraction` is removed, oldest first: the
 * largest even number that separates no call from its result. System and pinned messages and summaries stay and aren't counted; neither are
 * hidden messages. Four or fewer visible messages aren't truncated.
 *
 * The given array and its objects aren't changed. Throws `INVALID_INPUT`.
 */
export function truncateWithSlidingWindow(
  messages: readonly ChatMessage[],
  config: TruncationConfig = {},
): TruncationResult {
  const { fraction, marker } = check(truncationConfigSchema, config, 'truncateWithSlidingWindow')
  const step = stepBy(truncate, rowsOf(messages, '', 'truncateWithSlidingWindow'), {
    truncationFraction: fraction,
    truncationMarker: marker,
  })
  return {
    truncated: step !== undefined,
    ...applySteps(messages, step === undefined ? [] : [step]),
    messagesRemoved: step?.plan.hide.filter(({ kind }) => kind === 'message').length ?? 0,
    ...defined({ truncationId: step?.id }),
  }
}

const deduplicationConfigSchema = z.strictObject({
  /** Minimum saving as a share, 0 to 1, of the size of the re-read files. Default 0.3 (`DEDUP_THRESHOLD`). */
  minimumSavings: shareSchema.optional(),
  /** Tools whose results are file contents. Default: the common names. */
  readTools: z.array(z.string()).optional(),
  /** Arguments that contain the file's path. Default: the common names. */
  pathArguments: z.array(z.string()).optional(),
  /** Whether a result that begins with text like "Read file x" counts as a read. Default true. */
  byText: z.boolean().optional(),
})
/** Options of `deduplicateFileReads`. */
export type DeduplicationConfig = z.input<typeof deduplicationConfigSchema>

/** The result of `deduplicateFileReads`. */
export type DeduplicationResult<M extends ChatMessage = ChatMessage> = {
  /** Whether anything was replaced: the saving reached `minimumSavings`. */
  readonly deduplicated: boolean
  /** All messages, with superseded reads replaced with references to the latest read; hidden messages are unchanged. */
  readonly messages: M[]
  /** The number of distinct files with replaced reads. */
  readonly filesDeduped: number
}

/**
 * Replaces earlier reads of a file in a plain array with "[File <path> - refer to latest read below]".
 *
 * A read is recognized by its tool and path argument, or by the beginning of a tool result: `read`, `reading`, `read_file`, `readFile`,
 * `Read file` or `cat` and a path, with or without quotes or backticks. The rest of a text, and the assistant's texts, aren't searched,
 * because such words there are prose. An earlier read is replaced only if a later one contains all its lines.
 *
 * Only contents of tool results change; the given array and its objects don't. Throws `INVALID_INPUT`.
 */
export function deduplicateFileReads<M extends ChatMessage>(
  messages: readonly M[],
  config: DeduplicationConfig = {},
): DeduplicationResult<M> {
  const checked = check(deduplicationConfigSchema, config, 'deduplicateFileReads')
  const plan = stepBy(deduplicate, rowsOf(messages, '', 'deduplicateFileReads'), {
    deduplicateMinimumSavings: checked.minimumSavings,
    readTools: checked.readTools,
    pathArguments: checked.pathArguments,
    deduplicateByText: checked.byText,
  })?.plan
  return {
    deduplicated: plan !== undefined,
    messages: replaceParts(messages, plan?.replace ?? []),
    filesDeduped: Number(plan?.params.files ?? 0),
  }
}

const pruneConfigSchema = z.strictObject({
  /** Tokens of the newest tool outputs that are kept. Default 40,000. */
  protectTokens: z.int().nonnegative().optional(),
  /** Minimum saving, tokens. Default 20,000. */
  minimumSavings: z.int().nonnegative().optional(),
  /** Tools whose outputs are never pruned and don't count as kept ones. Default ["skill"]. */
  protectedTools: z.array(z.string()).optional(),
  /** The text in place of a pruned output. Default "[Tool result cleared]". */
  placeholder: z.string().min(1).optional(),
  /** Whether failed results are pruned too. Default false. */
  failedResults: z.boolean().optional(),
  /** The provider for which tokens are counted. Default: none, multiplier 1. */
  provider: z.string().optional(),
})
/** Options of `pruneToolOutputs`. */
export type PruneConfig = z.input<typeof pruneConfigSchema>

/** The result of `pruneToolOutputs`. */
export type PruneResult<M extends ChatMessage = ChatMessage> = {
  /** Whether anything was pruned: the saving reached `minimumSavings`. */
  readonly pruned: boolean
  /** All messages, with the placeholder in pruned outputs; hidden messages are unchanged. */
  readonly messages: M[]
  /** Estimated tokens of the pruned outputs minus those of their placeholders. */
  readonly tokensSaved: number
}

/**
 * Replaces old tool outputs in a plain array with a placeholder.
 *
 * An output is kept while the newer outputs total less than `protectTokens`. All older ones are cleared, or none if that would save less
 * than `minimumSavings`. Failed results (unless `failedResults`), results shorter than the placeholder and results of protected tools are
 * kept. Only contents of tool results change; the given array and its objects don't. Throws `INVALID_INPUT`.
 */
export function pruneToolOutputs<M extends ChatMessage>(
  messages: readonly M[],
  config: PruneConfig = {},
): PruneResult<M> {
  const checked = check(pruneConfigSchema, config, 'pruneToolOutputs')
  const rows = rowsOf(messages, checked.provider ?? '', 'pruneToolOutputs')
  const plan = stepBy(prune, rows, {
    pruneProtectTokens: checked.protectTokens,
    pruneMinimumSavings: checked.minimumSavings,
    pruneProtectedTools: checked.protectedTools,
    prunePlaceholder: checked.placeholder,
    pruneFailedResults: checked.failedResults,
  })?.plan
  const replace = plan?.replace ?? []
  return {
    pruned: plan !== undefined,
    messages: replaceParts(messages, replace),
    tokensSaved: replace.reduce((sum, replacement) => sum + savedTokens(rows.view, replacement), 0),
  }
}

/** Returns the tokens that one replacement saves, counted as in the stage. */
function savedTokens({ estimator, provider }: View, { row, part, text }: PlannedReplacement): number {
  const result = row.results.find((entry) => entry.part === part)
  if (result === undefined) return 0
  const shown = tokensOfText(text, estimator, provider)
  return estimator.toTokens(result.units, provider) + result.media - shown
}

/** Returns the change that a stage makes to an array of any size; `undefined` if there is none. */
function stepBy(
  stage: PlanningStage<Plan | undefined>,
  rows: ArrayRows,
  settings: Parameters<typeof contextIn>[1],
): ArrayStep | undefined {
  const plan = stage.plan(rows.view, contextIn(rows, defined(settings), 0, Number.MAX_SAFE_INTEGER))
  return plan && { ...stepOf(rows.view, plan), id: uuidv7() }
}

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

/** The figures that a result over an array shares with a result of the store. */
const FIGURES = [
  'compacted',
  'stagesUsed',
  'tokensBefore',
  'tokensAfter',
  'tokensSaved',
  'targetTokens',
  'reachedTarget',
  'offTarget',
  'reason',
] as const

/** The result of `ContextCompactor.compact`, over plain messages. */
export type ArrayCompactionResult = Pick<CompactionResult, (typeof FIGURES)[number] | 'compactions'> & {
  /** The compacted array: the effective history of `tagged`. */
  readonly messages: ChatMessage[]
  /**
   * The given array with tags on the hidden messages, and summaries and markers in their places. To remove them again, use the ids in
   * `compactions`. Originals of replaced texts are only in the given array.
   */
  readonly tagged: ChatMessage[]
  /** Summaries that were requested and not used, with a code or an error's name. */
  readonly failed: { readonly status: PlannedRun['failed'][number]['status']; readonly error: string }[]
  /** Whether the whole request fits the model's window. */
  readonly fits: boolean
}

/**
 * Compacts plain arrays with the store's pipeline: prune, deduplicate, summarize, truncate, each only while the messages are over the
 * target. The result contains the changes that a store would record as tags.
 */
export class ContextCompactor {
  readonly #config: z.output<typeof arrayConfigSchema>

  /** Takes the config of `compactSession`, without the options that need a store. Throws `INVALID_INPUT`. */
  constructor(config: ArrayCompactionConfig = {}) {
    this.#config = check(arrayConfigSchema, config, 'ContextCompactor')
  }

  /**
   * Compacts messages down to `targetTokens` of history. Default: the config's `targetTokens`, else its `target` (0.4) of the input of its
   * `provider` and `model`, minus the rest of the request in the config.
   *
   * Resolves even if the summarizer fails: truncation then takes over, and `failed` has the reason. The given array and its objects aren't
   * changed. Rejects with `INVALID_INPUT`, and with `ABORTED` if `signal` fires.
   */
  async compact(messages: readonly ChatMessage[], targetTokens?: number): Promise<ArrayCompactionResult> {
    const target = check(targetSchema, targetTokens, 'compact: targetTokens') ?? this.#config.targetTokens
    const run = await runPipeline(messages, { ...this.#config, targetTokens: target }, 'compact')
    const { given, steps, failed, after, settings } = run
    return {
      ...pick(figuresOf(run), FIGURES),
      ...applySteps(given, steps),
      compactions: steps.map(outlineOf),
      failed: failed.map(({ status, error }) => ({ status, error })),
      fits: after.tokens <= settings.limitTokens,
    }
  }
}

const { summarizer, summarySections, summaryMaxTokens, summaryTimeoutMs, offlineFallback, signal } =
  compactionConfigSchema.shape

const summarizeConfigSchema = z.strictObject({
  /** Provider of the summarizing model, passed to the summarizer. */
  provider: z.string().optional(),
  /** Model that summarizes, passed to the summarizer. */
  model: z.string().optional(),
  /** Share of the messages to keep, 0 to 1, at least 4 messages. Default 0.3. */
  keepRecentRatio: shareSchema.optional(),
  /**
   * Passed to the summarizer as `memoryConfig` of its request. Its `summarizationProvider` and `summarizationModel` apply if `provider` and
   * `model` are absent.
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
 * Options of `summarizeMessages`. `summarizer` (default `extractiveSummarizer`, which needs no model), `summarySections`,
 * `summaryMaxTokens`, `summaryTimeoutMs`, `offlineFallback` and `signal` are those of `CompactionConfig`.
 */
export type SummarizeConfig = z.input<typeof summarizeConfigSchema>

/** The result of `summarizeMessages`. */
export type SummarizeResult = {
  readonly summarized: boolean
  /** [summary, …recent messages]; system messages stay in their places, usually before the summary. */
  readonly messages: ChatMessage[]
  /**
   * The summarizer's own text. The summary message may contain more: notes and lines from the log, and the digest of tool calls at the end.
   */
  readonly summaryText?: string
  /** The given array with `condenseParent` on the summarized messages and the summary after them; no message is lost. */
  readonly tagged: ChatMessage[]
  /** The ids for undoing: `removeCondensationTags(tagged, condenseId)` for each. Usually one; empty if nothing was done. */
  readonly condenseIds: string[]
  /** Why a requested summary wasn't used: a code or an error's name, never text of the conversation. */
  readonly failure?: string
}

/**
 * Replaces the older messages of a plain array with a summary.
 *
 * Keeps max(4, ceil(n × `keepRecentRatio`)) of the n visible messages, and more if the cut would separate a call from its result; four or
 * fewer messages aren't summarized. An earlier summary is merged into the new one. The summary has the role `system`, `metadata.isSummary`
 * and a new `condenseId`. If the summarizer fails, returns nothing, or writes more than it replaces, nothing is done and `summarized` is
 * false.
 *
 * The given array and its objects aren't changed. Throws `INVALID_INPUT`, and `ABORTED` if `signal` fires.
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

/** Returns the pipeline with only the summarizing stage, and a target of 0. */
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

/** Returns a summarizer whose requests include the memory config. */
function withMemoryConfig(
  summarizer: Summarizer,
  memoryConfig: { readonly [name: string]: unknown } | undefined,
): Summarizer {
  if (memoryConfig === undefined) return summarizer
  const { name, usesModel, maxInputTokens, tokensPerMessage, asksAgain } = summarizer
  // Field by field: the fields of a class instance may be inherited, and its methods need their object.
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
 * Plans a run over an array with the store's pipeline: the same stages in the same order, the same defaults, the same rules for summaries.
 * Nothing is stored; the array isn't changed.
 *
 * The array may grow during the run: `given` is its content at the time of the call. Throws `INVALID_INPUT` for unreadable messages, and
 * `ABORTED`.
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
  // An array has no session: planning only reads a session's id, for its errors.
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
      const found = keys.map((key) => [key, rows.metadata.get(key)] as const)
      return new Map(found.filter((entry): entry is [number, JsonObject] => entry[1] !== undefined))
    },
    // An array has no replacements: its messages are shown as they are.
    shownTexts: () => new Map(),
  }
  const run = await new Run({ storage: contents, snapshot, settings, config, mode: {} }).plan()
  return { ...run, given }
}
