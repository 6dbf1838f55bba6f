import { extractiveSummarizer } from './extractive.ts'
import type { Summarizer } from './summarizer.ts'

/** Who writes the summaries of a run, and who was asked for and cannot. */
type ChosenSummarizer = {
  readonly summarizer: Summarizer
  /** Provider and model that were asked for (`vertex:gemini-2.5-flash`), where nobody can use them. */
  readonly insteadOf?: string
}

/**
 * Who writes when a config names a provider and a model for its summaries: the summarizer, if it can use them, else the extractive
 * one, and then it is said in whose place. A summarizer that does not say what it can use is asked.
 */
export function chosenSummarizer(
  given: Summarizer | undefined,
  provider: string | undefined,
  model: string | undefined,
): ChosenSummarizer {
  const asked = { ...(provider && { provider }), ...(model && { model }) }
  const insteadOf = [asked.provider, asked.model].filter((name) => name !== undefined).join(':')
  const summarizer = given ?? extractiveSummarizer
  const canWrite = summarizer !== extractiveSummarizer && summarizer.canUse?.(asked) !== false
  if (canWrite) return { summarizer }
  if (insteadOf !== '') return { summarizer: extractiveSummarizer, insteadOf }
  return summarizer === extractiveSummarizer
    ? { summarizer }
    : { summarizer: extractiveSummarizer, insteadOf: summarizer.name }
}
