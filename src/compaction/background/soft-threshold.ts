import { DEFAULT_BACKGROUND_THRESHOLD } from '../../config/background.ts'
import type { ResolvedConfig } from '../../config/resolve.ts'
import { DEFAULT_COMPACTION_THRESHOLD } from '../../tokens/budget.ts'
import type { ContextStats } from '../stats.ts'

/**
 * The usage from which a session is compacted in the background. One that nobody said stays as far below the threshold at which
 * compaction is due as 0.7 is below 0.8.
 */
export function softThreshold(
  { settings, sources }: ResolvedConfig,
  { threshold }: Pick<ContextStats, 'threshold'>,
): number {
  if (sources.backgroundThreshold !== 'default') return settings.backgroundThreshold
  const following = (threshold * DEFAULT_BACKGROUND_THRESHOLD) / DEFAULT_COMPACTION_THRESHOLD
  return Math.min(DEFAULT_BACKGROUND_THRESHOLD, following)
}
