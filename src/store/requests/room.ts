import { UndertextError } from '../../core/errors.ts'
import { MAX_TIMER_MS } from '../../core/messages/check.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { readCall } from '../config/read-settings.ts'
import { requestsSummaries } from '../config/run-config.ts'
import type { ResolvedSettings } from '../config/settings.ts'
import { DEFAULT_STAGES, stagesOf } from '../config/stages.ts'
import type { CompactOptions } from '../config/store-options.ts'
import type { CheckedPrepare } from './options.ts'

/** The time limit of one call, shared by all its waits for models and other runs. */
export class Deadline {
  readonly #sessionId: string
  readonly #end: number
  readonly signal: AbortSignal | undefined

  constructor(sessionId: string, waitMs: number, signal: AbortSignal | undefined) {
    this.#sessionId = sessionId
    this.#end = Date.now() + waitMs
    this.signal = signal
    this.throwIfAborted()
  }

  get leftMs(): number {
    return Math.max(0, Math.min(MAX_TIMER_MS, this.#end - Date.now()))
  }

  throwIfAborted(): void {
    if (this.signal?.aborted) throw new UndertextError('ABORTED', { sessionId: this.#sessionId })
  }

  /** Runs `work` with a signal that fires with the caller's signal or at the deadline. Returns `TIMED_OUT` after the deadline. */
  async within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | typeof TIMED_OUT> {
    const end = new AbortController()
    const timer = setTimeout(() => end.abort(), this.leftMs)
    const signal = this.signal === undefined ? end.signal : AbortSignal.any([this.signal, end.signal])
    try {
      return await work(signal)
    } catch (error) {
      this.throwIfAborted()
      if (end.signal.aborted) return TIMED_OUT
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

export const TIMED_OUT = Symbol('out of time')

/** A run that neither calls a model nor waits. */
export const WITHOUT_WAITING = { withoutModel: true, whenBusy: 'withoutModel', waitMs: 0 } as const

/**
 * Returns the stages that always make room: hiding the oldest turns and cutting contents. In a session that summarizes, further summaries
 * replace the hidden turns. `undefined` if that is switched off.
 */
export function lastResort(
  { compaction }: CheckedPrepare,
  settings: ResolvedSettings,
): CompactOptions['stages'] {
  const call = readCall(compaction ?? {}, 'compaction')
  if ((call.enableTruncate ?? settings.enableTruncate) === false) return undefined
  const isSummarizing = (call.enableSummarize ?? settings.enableSummarize) !== false
  const off = new Set(isSummarizing ? [] : (['enableSummarize'] as const))
  const stages = stagesOf(call.stages ?? settings.stages ?? DEFAULT_STAGES, off)
  const room = (call.emergencyCut ?? settings.emergencyCut) === false ? ['truncate'] : ['truncate', 'cut']
  const media = (call.enableMedia ?? settings.enableMedia) === false ? [] : ['media']
  return [...media, ...(stages.some(requestsSummaries) ? ['summarize'] : []), ...room]
}

/** Returns the caller's compaction settings without a range and a target, which only a manual run has. */
export function automaticSettings(compaction: CheckedPrepare['compaction']): CompactOptions {
  const call = readCall(compaction ?? {}, 'compaction')
  const { range: _range, summary: _summary, target: _share, targetTokens: _tokens, ...rest } = call
  return rest as CompactOptions
}

/** Returns the known tokens of a request that a shorter history wouldn't change. */
export function fixedTokens({ breakdown }: ContextStats): number {
  const { systemPrompt, currentPrompt, toolDefinitions, fileAttachments } = breakdown
  return systemPrompt + currentPrompt + toolDefinitions + fileAttachments
}
