/**
 * Parts whole numbers sum up to `whole`, in proportion to weights: the largest remainders are rounded up. Where nothing has weight
 * everything is 0.
 */
export function shares(whole: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  if (sum <= 0) return weights.map(() => 0)
  const exact = weights.map((weight) => (whole * weight) / sum)
  const parts = exact.map(Math.floor)
  const order = exact
    .map((value, at) => ({ at, rest: value - Math.floor(value) }))
    .sort((a, b) => b.rest - a.rest || a.at - b.at)
  const missing = whole - parts.reduce((total, part) => total + part, 0)
  for (const { at } of order.slice(0, missing)) parts[at]! += 1
  return parts
}
