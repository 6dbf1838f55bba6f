import type { ContextStats } from '../../compaction/stats.ts'
import { percentOf } from '../../events.ts'
import { count } from '../output/figures.ts'

/** Usage above which it is told how full the context is. Source: seed 003's command line. */
export const TOLD_ABOVE = 0.6

/** How full the context is after a turn. `warning`: compaction is due. */
export type UsageWarning = {
  readonly level: 'info' | 'warning'
  /** Whole percent of what there is room for. */
  readonly percent: number
  readonly tokens: number
  readonly availableTokens: number
}

/**
 * What is to be said of usage after a turn: nothing up to 60 percent, then the share, and from the threshold on which compaction is due
 * a warning. Nothing where compaction is off. Source: seed 003, "CLI Session Warnings".
 */
export function usageWarning(
  stats: Pick<
    ContextStats,
    'usageRatio' | 'threshold' | 'estimatedInputTokens' | 'availableInputTokens'
  > | null,
  isCompacting: boolean,
): UsageWarning | undefined {
  if (stats === null || !isCompacting) return undefined
  const { usageRatio, threshold, estimatedInputTokens: tokens, availableInputTokens: availableTokens } = stats
  const figures = { percent: percentOf(tokens, availableTokens), tokens, availableTokens }
  if (usageRatio >= threshold) return { level: 'warning', ...figures }
  return usageRatio > TOLD_ABOVE ? { level: 'info', ...figures } : undefined
}

/** The lines of a warning, without colours. */
export function warningLines({ level, percent, tokens, availableTokens }: UsageWarning): readonly string[] {
  if (level === 'info') return [`Context: ${percent}% used`]
  return [
    `Context usage: ${percent}% of window (${count(tokens)} / ${count(availableTokens)} tokens)`,
    'Auto-compaction will trigger to preserve conversation quality.',
  ]
}
