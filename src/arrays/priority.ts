import { z } from 'zod'
import { check } from '../messages/check.ts'
import { priorityShape, priorityStage } from '../stages/priority.ts'
import { shapeKeys, split } from './options.ts'
import { type Strategy, strategyOf, strategyShape } from './strategy.ts'

const optionsSchema = z.strictObject({ ...priorityShape, ...strategyShape })
export type PriorityOptions = z.input<typeof optionsSchema>

/**
 * Keeps the highest-scoring messages that fit the budget (seed 001): a call and its results are one unit and score as the
 * call; system and pinned messages, waiting calls, live summaries and the newest turn always stay.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function priority(options: PriorityOptions = {}): Strategy {
  const [own, face] = split(check(optionsSchema, options, 'priority'), shapeKeys(priorityShape))
  return strategyOf(priorityStage(own), face, { needsTarget: true })
}
