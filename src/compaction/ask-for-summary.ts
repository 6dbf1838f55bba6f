import { SUMMARY_TIMEOUT_MS } from '../config/compaction.ts'
import { errorName, isUndertextError } from '../errors.ts'
import { MAX_TIMER_MS } from '../messages/timer.ts'
import type { View } from '../model/view.ts'
import type { SummaryRecord } from '../storage/storage.ts'
import type { Summarizer } from '../summarizers/summarizer.ts'
import { Bill } from './bill.ts'
import type { SummaryMaterial } from './summary-material.ts'
import { unlessAborted } from './waiting.ts'
import { type WrittenSummary, writeSummary } from './write-summary.ts'

/** How a summarizer is asked. */
export type AskOptions = {
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
  /** The view whose estimator and provider count. */
  readonly view: Pick<View, 'estimator' | 'provider'>
  /** Called after each answer, with all that is to be noted so far; waited for. */
  readonly answered: ((record: SummaryRecord) => unknown) | undefined
}

/**
 * Asks a summarizer for one summary, for no longer than `timeoutMs` milliseconds. Answers what was written, or the code of the error;
 * and, either way, who was asked and what it cost. Never rejects.
 */
export async function askForSummary(
  summarizer: Summarizer,
  material: SummaryMaterial,
  request: Parameters<typeof writeSummary>[2],
  { timeoutMs = SUMMARY_TIMEOUT_MS, signal: own, view, answered }: AskOptions,
): Promise<
  { readonly record: SummaryRecord } & ({ readonly written: WrittenSummary } | { readonly error: string })
> {
  const recorded = (record: Omit<SummaryRecord, 'summarizer'>): SummaryRecord => ({
    summarizer: summarizer.name,
    ...record,
  })
  const bill = new Bill((record) => answered?.(recorded(record)))
  const timeout = new AbortController()
  // Not AbortSignal.timeout: its timer would let the process end in the middle of the wait.
  const timer = setTimeout(() => timeout.abort(), Math.min(timeoutMs, MAX_TIMER_MS))
  const signal = own === undefined ? timeout.signal : AbortSignal.any([own, timeout.signal])
  try {
    const work = writeSummary(
      summarizer,
      material,
      { ...request, signal },
      view.estimator,
      view.provider,
      bill,
    )
    const written = await unlessAborted(work, signal)
    return { written, record: recorded(bill.record()) }
  } catch (error) {
    const code = timeout.signal.aborted ? 'SUMMARY_TIMEOUT' : failureCode(error)
    return { error: code, record: recorded(bill.record()) }
  } finally {
    clearTimeout(timer)
  }
}

/** What an attempt is noted to have failed with: what went wrong with the call, where that is known. */
export function failureCode(error: unknown): string {
  return isUndertextError(error, 'MODEL_CALL_FAILED') ? error.facts.error : errorName(error)
}
