import { failureCode } from '../compaction/ask-for-summary.ts'
import type { SummarySource } from '../compaction/summary-chunks.ts'
import { SummaryMaterial } from '../compaction/summary-material.ts'
import { unlessAborted } from '../compaction/waiting.ts'
import { type WrittenSummary, writeSummary } from '../compaction/write-summary.ts'
import { standingFor, UndertextError } from '../errors.ts'
import { MAX_TIMER_MS } from '../messages/timer.ts'
import type { Summarizer } from '../summarizers/summarizer.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'

/** One summary that is asked for. */
export type SummaryQuestion = {
  readonly sources: readonly SummarySource[]
  readonly maxTokens: number
  /** How many summaries deep; `undefined` for one of messages. */
  readonly level: number | undefined
  readonly sections: readonly string[]
  readonly timeoutMs: number
  readonly estimator: Estimator
  readonly provider: string
}

/**
 * Asks a summarizer once and takes no for an error: rejects with `SUMMARIZER_FAILED` when it throws, takes longer than
 * `timeoutMs` milliseconds, or answers nothing. `originalErrorOf` has what it threw.
 */
export async function askSummarizer(
  summarizer: Summarizer,
  question: SummaryQuestion,
): Promise<WrittenSummary> {
  const { sources, maxTokens, level, sections, timeoutMs, estimator, provider } = question
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), Math.min(timeoutMs, MAX_TIMER_MS))
  const { signal } = timeout
  const request = { sessionId: '', sections, maxTokens, signal, ...(level !== undefined && { level }) }
  let written: WrittenSummary
  try {
    const material = SummaryMaterial.of(sources, summarizer, level)
    written = await unlessAborted(writeSummary(summarizer, material, request, estimator, provider), signal)
  } catch (error) {
    if (signal.aborted) throw summarizerFailed(summarizer, 'SUMMARY_TIMEOUT')
    throw standingFor(summarizerFailed(summarizer, failureCode(error)), error)
  } finally {
    clearTimeout(timer)
  }
  if (written.problem !== undefined) throw summarizerFailed(summarizer, written.problem)
  if (written.text.trim() === '' || written.answer.text.trim() === '')
    throw summarizerFailed(summarizer, 'EMPTY_SUMMARY')
  return written
}

/** `SUMMARIZER_FAILED`, with a code or an error's name as the reason. */
function summarizerFailed({ name }: Summarizer, error: string): UndertextError<'SUMMARIZER_FAILED'> {
  return new UndertextError('SUMMARIZER_FAILED', { summarizer: name, error })
}
