import { z } from 'zod'
import { check } from '../messages/check.ts'
import { slidingWindowShape, slidingWindowStage } from '../stages/sliding-window.ts'
import { shapeKeys, split } from './options.ts'
import { type Strategy, strategyOf, strategyShape, summaryShape } from './strategy.ts'

const optionsSchema = z.strictObject({ ...slidingWindowShape, ...strategyShape, ...summaryShape })
export type SlidingWindowOptions = z.input<typeof optionsSchema>

/**
 * Keeps the newest messages: the newest `last` besides system messages (seed 000), or the newest that fit the budget
 * (`fitBudget: true`, seed 001). System and pinned messages, waiting calls and live summaries always stay; a call and its
 * results are never parted. With `summarize: true` a summary stands for exactly what goes, and the name is
 * `sliding_window_with_summary`.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function slidingWindow(options: SlidingWindowOptions): Strategy {
  const [own, face] = split(check(optionsSchema, options, 'slidingWindow'), shapeKeys(slidingWindowShape))
  const stage = slidingWindowStage(own)
  const goesByTokens = own.fitBudget === true || own.shrinkToFit === true
  return strategyOf(stage, face, { needsTarget: goesByTokens })
}
