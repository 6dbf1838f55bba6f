import { z } from 'zod'
import type { Estimator } from '../tokens.ts'

/** Figures every estimator has: tokens, not negative. */
const FIGURES = ['mediaTokens', 'tokensPerMessage', 'tokensPerConversation'] as const

/** An estimator, wherever one can be handed in. */
export const estimatorSchema = z.custom<Estimator>(
  isEstimator,
  `must be an estimator: { name, measureText, toTokens, ${FIGURES.join(', ')} }`,
)

/** Whether a value has what every estimator has. A figure that is missing would make all others NaN. */
export function isEstimator(value: unknown): value is Estimator {
  if (typeof value !== 'object' || value === null) return false
  const { name, measureText, toTokens } = value as Partial<Estimator>
  return (
    typeof name === 'string' &&
    typeof measureText === 'function' &&
    typeof toTokens === 'function' &&
    FIGURES.every((figure) => isFigure((value as Partial<Estimator>)[figure]))
  )
}

function isFigure(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
