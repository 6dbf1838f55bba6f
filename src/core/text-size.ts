import { z } from 'zod'
import type { Estimator } from './tokens.ts'

/** An estimator, where a pure function can be given one. */
export const estimatorSchema = z.custom<Estimator>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Estimator).measureText === 'function' &&
    typeof (value as Estimator).toTokens === 'function',
  'must be an estimator: { name, measureText, toTokens, … }',
)

/** Tokens of a text that stands alone, as an estimator counts for a provider. */
export function tokensOfText(text: string, estimator: Estimator, provider?: string): number {
  return estimator.toTokens(estimator.measureText(text), provider)
}
