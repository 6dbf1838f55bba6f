import { z } from 'zod'
import { check } from '../messages/check.ts'
import { summarizeOlderShape, summarizeOlderStage } from '../stages/summarize-older.ts'
import { shapeKeys, split } from './options.ts'
import { type Strategy, strategyOf, strategyShape, summaryShape } from './strategy.ts'

const optionsSchema = z.strictObject({ ...summarizeOlderShape, ...strategyShape, ...summaryShape })
export type SummarizeOlderOptions = z.input<typeof optionsSchema>

/**
 * A summary in place of all but the newest `keepLast` messages (seeds 000 and 004). System messages stay where they are and
 * are not counted. With nothing older the summarizer is not asked.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function summarizeOlder(options: SummarizeOlderOptions): Strategy {
  const [own, face] = split(check(optionsSchema, options, 'summarizeOlder'), shapeKeys(summarizeOlderShape))
  return strategyOf(summarizeOlderStage(own), face)
}
