import { readCall } from '../config/layers.ts'
import type { ResolvedSettings } from '../config/resolve.ts'
import type { CompactOptions } from '../store-options.ts'
import type { CheckedPrepare } from './options.ts'

/** A run that asks nobody and waits for nobody. */
export const WITHOUT_WAITING = { withoutModel: true, whenBusy: 'withoutModel', waitMs: 0 } as const

/** The stages that make room whatever happens; `undefined` where that is switched off. */
export function lastResort(
  { compaction }: CheckedPrepare,
  settings: ResolvedSettings,
): CompactOptions['stages'] {
  const call = readCall(compaction ?? {}, 'compaction')
  if ((call.enableTruncate ?? settings.enableTruncate) === false) return undefined
  return (call.emergencyCut ?? settings.emergencyCut) === false ? ['truncate'] : ['truncate', 'cut']
}

/** The settings of a compaction without what only a run of the caller's own can mean: a range, a target. */
export function ownRun(compaction: CheckedPrepare['compaction']): CompactOptions {
  const call = readCall(compaction ?? {}, 'compaction')
  const { range: _range, summary: _summary, target: _share, targetTokens: _tokens, ...rest } = call
  return rest as CompactOptions
}
