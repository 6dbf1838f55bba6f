import type { CompactionResult } from '../../compaction/result.ts'

/** What a compaction took, as the SDK counts it. */
export type CompactionAnswer = {
  usage: {
    inputTokens: number
    outputTokens: number
    totalTokens: number
    inputTokensDetails: { [name: string]: number }
    outputTokensDetails: { [name: string]: number }
    endpoint: string
  }
}

/**
 * The tokens of all summaries of a run, in the SDK's words; null when no model was asked. `inputTokens` holds those read from and
 * written to a cache. Source: `RequestUsage` of `@openai/agents-core`.
 */
export function usageOf(result: CompactionResult | null): CompactionAnswer | null {
  if (result?.usage === undefined) return null
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens, cacheCreationTokens } = result.usage
  return {
    usage: {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      inputTokensDetails: {
        ...(cacheReadTokens !== undefined && { cached_tokens: cacheReadTokens }),
        ...(cacheCreationTokens !== undefined && { cache_write_tokens: cacheCreationTokens }),
      },
      outputTokensDetails: {},
      endpoint: 'undertext.compactSession',
    },
  }
}
