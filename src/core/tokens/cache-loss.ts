import type { PriceOf } from './prices.ts'
import { canonicalProvider, claudeModel } from './providers.ts'

/*
 * What a provider could have read from its prompt cache, by the usage reports of two requests. Sources, as of November 2026: Anthropic,
 * "Prompt caching"; OpenAI, "Prompt caching"; Google, "Context caching" (implicit caching); DeepSeek, "Context Caching".
 */

/** A request with the billed tokens. Input excludes tokens that were read from or written to the cache. */
export type CachedRequest = {
  readonly provider: string
  readonly model?: string
  readonly usage?: {
    readonly inputTokens: number
    readonly cacheReadTokens?: number
    readonly cacheCreationTokens?: number
    readonly outputTokens: number
  }
  /** Milliseconds since 1970. */
  readonly at: number
}

type Usage = NonNullable<CachedRequest['usage']>

/**
 * The providers that cache every request without being asked, and the fewest tokens that they cache. Google's minimum depends on the model;
 * this is the highest.
 */
const AUTOMATIC: ReadonlyMap<string, number> = new Map([
  ['openai', 1_024],
  ['azure', 1_024],
  ['google-ai', 4_096],
  ['vertex', 4_096],
  ['deepseek', 1_024],
])

/** These providers read whole blocks (OpenAI: of 128 tokens), so up to two blocks fewer than they hold isn't a loss. */
const BLOCKS = 256

const MINUTE = 60_000

/**
 * Returns the shortest time after which a provider may have dropped its cache, in milliseconds: five minutes for Anthropic (an hour only on
 * request) and for OpenAI, whose models from GPT-5.6 on, which report what they write, keep it for 30; an hour for DeepSeek ("a few hours").
 * Google states no time; five minutes are assumed for it and all others.
 */
export function cacheLifetimeMs({ provider, usage }: CachedRequest): number {
  const name = canonicalProvider(provider)
  if (name === 'deepseek') return 60 * MINUTE
  const isOpenAi = name === 'openai' || name === 'azure'
  return (isOpenAi && (usage?.cacheCreationTokens ?? 0) > 0 ? 30 : 5) * MINUTE
}

/**
 * Returns the tokens that the provider could have read from its cache for a request and did not: those that it held after the request
 * before, as far as this one has so many, minus those that it read. `undefined` if neither report says anything about caching. A report
 * without a figure means 0 if the other one has figures.
 *
 * What it held is what the request before read and wrote. A provider that caches automatically and reports no writes held the whole input,
 * if that has at least the provider's minimum.
 */
export function lostTokens(before: CachedRequest, after: CachedRequest): number | undefined {
  const [one, other] = [before.usage, after.usage]
  if (one === undefined || other === undefined) return undefined
  if (!reportsCache(one) && !reportsCache(other)) return undefined
  const minimum = automaticMinimum(after)
  if (inputOf(other) < minimum) return 0
  const read = other.cacheReadTokens ?? 0
  const lost = Math.min(heldAfter(before, one), inputOf(other)) - read
  return lost < (minimum > 0 ? BLOCKS : 0) ? 0 : Math.max(0, lost)
}

function heldAfter(request: CachedRequest, usage: Usage): number {
  const { cacheReadTokens = 0, cacheCreationTokens = 0 } = usage
  const minimum = automaticMinimum(request)
  const isWhole = minimum > 0 && cacheCreationTokens === 0 && inputOf(usage) >= minimum
  return isWhole ? inputOf(usage) : cacheReadTokens + cacheCreationTokens
}

/** Returns the fewest tokens that a provider caches without being asked; 0 if it caches on request, or if nothing is known of it. */
function automaticMinimum({ provider, model }: CachedRequest): number {
  if (model !== undefined && claudeModel(model) !== undefined) return 0
  return AUTOMATIC.get(canonicalProvider(provider)) ?? 0
}

function reportsCache({ cacheReadTokens, cacheCreationTokens }: Usage): boolean {
  return cacheReadTokens !== undefined || cacheCreationTokens !== undefined
}

function inputOf({ inputTokens, cacheReadTokens = 0, cacheCreationTokens = 0 }: Usage): number {
  return inputTokens + cacheReadTokens + cacheCreationTokens
}

/**
 * Returns what lost tokens of a request cost more than if they had been read from the cache, in US dollars; `null` if no price is known.
 * They were written again as far as the request wrote to the cache, because they precede its new tokens, else billed as input.
 */
export function costOfLost(request: CachedRequest, lost: number, priceOf: PriceOf): number | null {
  const { usage, provider, model, at } = request
  if (usage === undefined) return null
  const { inputTokens, cacheReadTokens = 0, cacheCreationTokens = 0, outputTokens } = usage
  const written = Math.min(lost, cacheCreationTokens)
  const price = (again: number, afresh: number): number | null =>
    priceOf({
      ...{ provider, model, at, outputTokens, requests: 1 },
      inputTokens: inputTokens - afresh,
      cacheReadTokens: cacheReadTokens + again + afresh,
      cacheCreationTokens: cacheCreationTokens - again,
    })
  const [billed, cached] = [price(0, 0), price(written, Math.min(lost - written, inputTokens))]
  return billed === null || cached === null ? null : Math.max(0, billed - cached)
}
