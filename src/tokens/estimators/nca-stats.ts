import { z } from 'zod'
import { check } from '../../messages/check.ts'
import { estimateNcaMessages, type NcaMessage } from './nca.ts'

/** Usage, in percent of the target, at which a warning is due. Source: seed 004. */
export const NCA_ATTENTION_PERCENT = 80

const configSchema = z.strictObject({
  /** Tokens the context should not exceed; 0 counts as 1. */
  contextWindowTarget: z.int().nonnegative().default(32_000),
  /** Percent of the target at which summarizing is due. */
  autoSummarizeThreshold: z.int().min(0).max(100).default(75),
  enableAutoSummarize: z.boolean().default(true),
})
export type NcaStatsConfig = z.input<typeof configSchema>

/** How full a context is, in the manner of seed 004. */
export type NcaStats = {
  readonly contextWindow: number
  /** Tokens of `nca`. */
  readonly estimatedTokens: number
  readonly messageCount: number
  /** Of the target, whole, at most 100. */
  readonly usagePercent: number
  readonly needsAttention: boolean
  readonly shouldSummarize: boolean
  /** Either of them. */
  readonly needsCompaction: boolean
}

/** How full the context is. Throws `INVALID_INPUT`. Source: seed 004 (defaults 32,000 and 75), checklist S4-U01. */
export function ncaContextStats(messages: readonly NcaMessage[], config: NcaStatsConfig = {}): NcaStats {
  const checked = check(configSchema, config, 'ncaContextStats')
  const contextWindow = Math.max(1, checked.contextWindowTarget)
  const estimatedTokens = estimateNcaMessages(messages)
  const usagePercent = Math.floor(Math.min(100, (estimatedTokens * 100) / contextWindow))
  const needsAttention = usagePercent >= NCA_ATTENTION_PERCENT
  const shouldSummarize = checked.enableAutoSummarize && usagePercent >= checked.autoSummarizeThreshold
  return {
    contextWindow,
    estimatedTokens,
    messageCount: messages.length,
    usagePercent,
    needsAttention,
    shouldSummarize,
    needsCompaction: needsAttention || shouldSummarize,
  }
}
