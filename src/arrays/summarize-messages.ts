import { z } from 'zod'
import type { CompactionOptions } from '../config/run-config.ts'
import { compactionConfigSchema } from '../config/settings.ts'
import { check, shareSchema } from '../messages/check.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { KEEP_RECENT_RATIO } from '../stages/summarize.ts'
import { extractiveSummarizer } from '../summarizers/extractive.ts'
import type { Summarizer } from '../summarizers/summarizer.ts'
import { applySteps } from './applied.ts'
import { runPipeline } from './run-pipeline.ts'

const { summarizer, summarySections, summaryMaxTokens, summaryTimeoutMs, offlineFallback, signal } =
  compactionConfigSchema.shape

const summarizeConfigSchema = z.strictObject({
  /** Provider of the model that summarizes; passed on to the summarizer. */
  provider: z.string().optional(),
  /** The model that summarizes; passed on to the summarizer. */
  model: z.string().optional(),
  /** Share, 0 to 1, of the messages to keep unsummarized, at least 4. Default 0.3 (seed 003). */
  keepRecentRatio: shareSchema.optional(),
  /**
   * Passed on to the summarizer, as `memoryConfig` of its request. Its `summarizationProvider` and
   * `summarizationModel` count where `provider` and `model` are not given.
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
 * What `summarizeMessages` can be told; see there. `summarizer` (default `extractiveSummarizer`, no model),
 * `summarySections`, `summaryMaxTokens`, `summaryTimeoutMs`, `offlineFallback` and `signal` are those of
 * `CompactionConfig`.
 */
export type SummarizeConfig = z.input<typeof summarizeConfigSchema>

export type SummarizeResult = {
  readonly summarized: boolean
  /** [summary, …recent messages]; system messages stay where they were, before the summary as a rule. */
  readonly messages: ChatMessage[]
  /** The summarizer's text alone. The summary message may say more: what tools did, behind it. */
  readonly summaryText?: string
  /** The array given with `condenseParent` on what was summarized and the summary behind it; nothing is lost. */
  readonly tagged: ChatMessage[]
  /** Undoes it: `removeCondensationTags(tagged, condenseId)`, each of them. Mostly one; none when nothing was done. */
  readonly condenseIds: string[]
  /** Why a summary was asked for and not used: a code or an error's name, never text of the conversation. */
  readonly failure?: string
}

/**
 * Puts a summary in place of the older messages of a plain array: stage 3 of seed 003.
 *
 * Kept are max(4, ceil(n × `keepRecentRatio`)) of the n visible messages, and more where the cut would part a call
 * from its result; four or fewer are left alone. An earlier summary is merged into the new one. The summary has the
 * role `system`, `metadata.isSummary` and a new `condenseId`. When the summarizer fails, answers nothing, or writes
 * more than it stands for, nothing is done and `summarized` is false.
 *
 * The array given and its objects are not changed. Throws `INVALID_INPUT`, and `ABORTED` after `signal`.
 */
export async function summarizeMessages(
  messages: readonly ChatMessage[],
  config: SummarizeConfig = {},
): Promise<SummarizeResult> {
  const checked = check(summarizeConfigSchema, config, 'summarizeMessages')
  const run = await runPipeline(messages, pipelineConfig(checked), 'summarizeMessages')
  const summaries = run.steps.map(({ plan }) => plan.insert!)
  const failure = run.failed[0]?.error
  return {
    summarized: summaries.length > 0,
    ...applySteps(run.given, run.steps),
    condenseIds: run.steps.map(({ id }) => id),
    ...(summaries.length > 0 && {
      summaryText: summaries.map(({ text, metadata }) => ownText(text, metadata.textLength)).join('\n\n'),
    }),
    ...(failure !== undefined && { failure }),
  }
}

/** The pipeline with nothing but stage 3, and a target that no history is within. */
function pipelineConfig(config: z.output<typeof summarizeConfigSchema>): CompactionOptions {
  const { provider, model, keepRecentRatio, memoryConfig, summarizer: given, ...rest } = config
  return {
    ...rest,
    enablePrune: false,
    enableDeduplicate: false,
    enableTruncate: false,
    targetTokens: 0,
    keepRecentRatio: keepRecentRatio ?? KEEP_RECENT_RATIO,
    summarizationProvider: provider ?? textIn(memoryConfig?.summarizationProvider),
    summarizationModel: model ?? textIn(memoryConfig?.summarizationModel),
    summarizer: withMemoryConfig(given ?? extractiveSummarizer, memoryConfig),
  }
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A summarizer whose requests carry the memory config as well. */
function withMemoryConfig(
  asked: Summarizer,
  memoryConfig: { readonly [name: string]: unknown } | undefined,
): Summarizer {
  if (memoryConfig === undefined) return asked
  return {
    name: asked.name,
    usesModel: asked.usesModel,
    ...(asked.maxInputTokens !== undefined && { maxInputTokens: asked.maxInputTokens }),
    ...(asked.inputTokensFor !== undefined && {
      inputTokensFor: (request) => asked.inputTokensFor?.(request),
    }),
    ...(asked.tokensPerMessage !== undefined && { tokensPerMessage: asked.tokensPerMessage }),
    ...(asked.asksAgain !== undefined && { asksAgain: asked.asksAgain }),
    summarize: (request) => {
      const extended = { ...request, memoryConfig }
      return asked.summarize(extended)
    },
  }
}

/** A summary's text without the digest of tool calls behind it. */
function ownText(text: string, textLength: unknown): string {
  return typeof textLength === 'number' ? text.slice(0, textLength) : text
}
