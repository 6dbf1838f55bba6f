import { z } from 'zod'
import type { SummaryUsage } from '../summarizer.ts'

const perMillion = z.number().nonnegative()
/** Prices of a model's tokens, US dollars for a million. */
export const priceSchema = z.strictObject({
  input: perMillion,
  output: perMillion,
  /** Of input read from the provider's cache. Default: as `input`. */
  cacheRead: perMillion.optional(),
  /** Of input written to it. Default: as `input`. */
  cacheWrite: perMillion.optional(),
})
/** What a model's tokens cost. */
export type ModelPrice = z.output<typeof priceSchema>

const MILLION = 1_000_000

/** What tokens cost, US dollars; `undefined` when nobody said how many there were. `inputTokens` counts cached ones too. */
export function costOf(usage: SummaryUsage | undefined, price: ModelPrice): number | undefined {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheCreationTokens = 0 } = usage ?? {}
  if (inputTokens === undefined && outputTokens === undefined) return undefined
  const fresh = Math.max(0, (inputTokens ?? 0) - cacheReadTokens - cacheCreationTokens)
  const dollars =
    fresh * price.input +
    cacheReadTokens * (price.cacheRead ?? price.input) +
    cacheCreationTokens * (price.cacheWrite ?? price.input) +
    (outputTokens ?? 0) * price.output
  return dollars / MILLION
}
