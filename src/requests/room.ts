import type { ContextStats } from '../compaction/stats.ts'
import { readCall } from '../config/read-settings.ts'
import type { ResolvedSettings } from '../config/resolve.ts'
import type { CompactOptions, StatsOptions } from '../config/store-options.ts'
import type { CheckedPrepare } from './options.ts'
import type { World } from './world.ts'

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

/** What of a request no shorter history changes, as far as it is known, tokens. */
export function fixedTokens({ breakdown }: ContextStats): number {
  const { systemPrompt, currentPrompt, toolDefinitions, fileAttachments } = breakdown
  return systemPrompt + currentPrompt + toolDefinitions + fileAttachments
}

/** What may bring a request down to what fits, in the order it is tried; `undefined` are the session's own stages. */
export function stagesFor(options: CheckedPrepare, { settings }: World): CompactOptions['stages'][] {
  const last = lastResort(options, settings)
  return last === undefined ? [undefined] : [undefined, last]
}

/** What a run is told that brings a whole request down to so many tokens without asking anybody. */
export function downTo(
  tokens: number,
  { compaction, provider, model }: CheckedPrepare,
  { threshold: _share, thresholdTokens: _tokens, ...pending }: StatsOptions,
  stages: CompactOptions['stages'],
  signal: AbortSignal | undefined,
): CompactOptions {
  return {
    trigger: 'auto',
    ...ownRun(compaction),
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...pending,
    ...(stages !== undefined && { stages }),
    ...(signal !== undefined && { signal }),
    contextWindowTarget: tokens,
    target: 1,
    ...WITHOUT_WAITING,
  }
}
