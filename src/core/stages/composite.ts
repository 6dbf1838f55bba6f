import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import type { CompositeStage, Stage } from './stage.ts'

const optionsSchema = z.strictObject({
  /** The target size of the history, tokens. Default: the target of the run. */
  budget: z.int().nonnegative().optional(),
})
type CompositeStageOptions = z.input<typeof optionsSchema>

/**
 * Several stages as one, in order: each runs only while the history is over the budget, which is checked after each. Composites may be
 * nested. Throws `INVALID_INPUT`.
 */
export function compositeStage(
  stages: readonly Stage[],
  options: CompositeStageOptions = {},
  what = 'composite',
): CompositeStage {
  if (!Array.isArray(stages)) throw invalid(`${what}: stages must be a list`)
  const { budget } = check(optionsSchema, options, what)
  return { name: 'composite', stages: [...stages], ...(budget !== undefined && { budget }) }
}
