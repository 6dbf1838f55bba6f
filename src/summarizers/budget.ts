import { CHARS_PER_TOKEN, neurolinkEstimator } from '../tokens/tokens.ts'

/** The longest text, in UTF-16 units, that `estimateTokens` counts as no more than `maxTokens`. */
export function unitsWithin(maxTokens: number): number {
  if (!(maxTokens > 0)) return 0
  if (!Number.isFinite(maxTokens)) return Number.MAX_SAFE_INTEGER
  // Tokens grow by at least one a step, so the answer lies at or below `maxTokens` and is found by halving.
  let fits = 0
  let tooMany = Math.floor(maxTokens) + 1
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2)
    if (neurolinkEstimator.toTokens(middle) <= maxTokens) fits = middle
    else tooMany = middle
  }
  return fits * CHARS_PER_TOKEN
}
