import type { calcPrice } from '@pydantic/genai-prices'
import { packageName } from './package-windows.ts'
import { canonicalProvider } from './providers.ts'
import { modelNames } from './windows.ts'

/** Imports the package of prices. This takes about as long as opening a store, so it is done on demand. */
export const pricePackage = (): Promise<typeof import('@pydantic/genai-prices')> =>
  import('@pydantic/genai-prices')

/** Tokens of requests to one model. Input excludes tokens that were read from or written to a cache. */
type PricedTokens = {
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  /** The time whose prices apply, in milliseconds since 1970. */
  readonly at: number
}

/** Returns the price of tokens in US dollars, or `null` if no price is known. */
export type PriceOf = (tokens: PricedTokens) => number | null

/**
 * Loads the list prices of `@pydantic/genai-prices`. If a price depends on the size of a request (Gemini above 200,000 tokens), the price
 * for the average size is used.
 */
export async function listPrices(): Promise<PriceOf> {
  const { calcPrice: price } = await pricePackage()
  return (tokens) => {
    if (tokens.model === undefined || tokens.requests === 0) return null
    for (const model of modelNames(tokens.model)) {
      const dollars = priced(price, tokens, model)
      if (dollars !== null) return dollars * tokens.requests
    }
    return null
  }
}

/** Returns the cost of a request of the average size. */
function priced(price: typeof calcPrice, tokens: PricedTokens, model: string): number | null {
  const { provider, requests, inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens, at } = tokens
  const usage = {
    input_tokens: (inputTokens + cacheReadTokens + cacheCreationTokens) / requests,
    cache_read_tokens: cacheReadTokens / requests,
    cache_write_tokens: cacheCreationTokens / requests,
    output_tokens: outputTokens / requests,
  }
  const named = provider === undefined ? { model } : packageName(canonicalProvider(provider), model)
  try {
    const found = price(usage, named.model, {
      ...('provider' in named && { providerId: named.provider }),
      timestamp: new Date(at),
    })
    return found === null || Object.keys(found.model_price).length === 0 ? null : found.total_price
  } catch {
    // The package throws if its prices don't apply to the usage, such as prices of images.
    return null
  }
}
