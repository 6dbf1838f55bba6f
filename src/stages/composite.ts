import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import type { CompositeStage, Stage } from './stage.ts'

const optionsSchema = z.strictObject({
  /** Tokens the history is to come down to. Default: what the run is to reach. */
  budget: z.int().nonnegative().optional(),
})
type CompositeStageOptions = z.input<typeof optionsSchema>

/**
 * Several stages as one, in order: each runs only while the history takes more than the budget, which is asked again
 * after each (seed 000). A composite may stand in another. Throws `INVALID_INPUT`.
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
