import type { ContextStats } from '../../compaction/stats.ts'
import { shares } from '../output/shares.ts'

/** What a request is made of, in the order of the bar. */
export const CATEGORIES = [
  'system',
  'text',
  'reasoning',
  'calls',
  'results',
  'media',
  'prompt',
  'tools',
  'files',
  'unseen',
] as const
export type Category = (typeof CATEGORIES)[number]

/** A session beside one model, tokens. */
export type RequestFigures = {
  readonly stats: ContextStats
  readonly breakdown: { readonly [category in Category]: number }
  /** Left of the available input; 0 when the request is too large. */
  readonly free: number
  /** What a compaction brings the whole request down to. */
  readonly target: number
  /** Where compaction is due. */
  readonly due: number
}

/**
 * The figures of the bar. The history is one figure of the stats; its parts are told by their sizes, so that they add up to it.
 * `target`: the share of the available input a run goes down to; `targetTokens`: tokens of history, where the settings say so.
 */
export function requestFigures(
  stats: ContextStats,
  settings: { readonly target?: number | undefined; readonly targetTokens?: number | undefined },
): RequestFigures {
  const {
    systemPrompt,
    conversationHistory,
    currentPrompt,
    toolDefinitions,
    fileAttachments,
    unseen = 0,
  } = stats.breakdown
  const { sizes } = stats
  const parts = [sizes.text, sizes.reasoning, sizes.toolCalls, sizes.toolResults, sizes.media]
  const [text = 0, reasoning = 0, calls = 0, results = 0, media = 0] = shares(conversationHistory, parts)
  const others = stats.estimatedInputTokens - conversationHistory
  const available = Math.max(0, stats.availableInputTokens)
  const target =
    settings.targetTokens === undefined
      ? Math.floor((settings.target ?? 0) * available)
      : settings.targetTokens + others
  return {
    stats,
    breakdown: {
      system: systemPrompt,
      text,
      reasoning,
      calls,
      results,
      media,
      prompt: currentPrompt,
      tools: toolDefinitions,
      files: fileAttachments,
      unseen,
    },
    free: Math.max(0, available - stats.estimatedInputTokens),
    target,
    due: Math.ceil(stats.threshold * available),
  }
}
