import { z } from 'zod'
import { compareTexts } from '../core/messages/characters.ts'
import { nameSchema } from '../core/messages/check.ts'
import { defined } from '../core/messages/json.ts'
import type { PriceOf } from '../core/tokens/prices.ts'
import type { CostsQuery, RecordedCosts } from '../storage/storage.ts'
import { timeSchema } from './config/store-options.ts'
import { billOf } from './usage.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** The times whose days a `Date` can name at every offset, in milliseconds before and after 1970. */
const MAX_TIME = 8_640_000_000_000_000 - DAY_MS

export const costsSchema = z.strictObject({
  /** Only this session. */
  session: nameSchema.optional(),
  /** Only requests and compactions from this time on, up to this time: milliseconds since 1970, or a `Date`. */
  from: timeSchema.optional(),
  to: timeSchema.optional(),
  /** Where days begin: the minutes by which local time is ahead of UTC, from -840 to 840. Default 0. */
  utcOffsetMinutes: z.int().min(-840).max(840).default(0),
})
/** Options of `requests.costs`. */
export type CostsOptions = z.input<typeof costsSchema>

/** The requests of a day to one model, and their tokens. */
export type DayOfRequests = {
  /** For example `2026-11-29`. */
  readonly day: string
  readonly provider: string
  readonly model?: string
  readonly requests: number
  /** Without the tokens that were read from a cache or written to it. */
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  /** US dollars by the list prices of the day; `null` if no price is known. */
  readonly cost: number | null
  /** The cost of the same tokens if nothing had been cached. */
  readonly uncachedCost: number | null
}

/** The compactions of a day by one summarizer and model, or without a summarizer. */
export type DayOfCompactions = {
  /** For example `2026-11-29`. */
  readonly day: string
  readonly summarizer?: string
  readonly model?: string
  /** The number of compactions that were applied, including those undone since. */
  readonly compactions: number
  /** The tokens by which they shortened the history, each when it was applied. */
  readonly tokensSaved: number
  /**
   * US dollars as reported, otherwise by list prices, including failed attempts. 0 without a summarizer; `null` if the summarizer reported
   * neither a cost nor tokens whose price is known.
   */
  readonly cost: number | null
}

/** What requests and compactions cost by day and model, newest day first. */
export type Costs = {
  readonly requests: readonly DayOfRequests[]
  readonly compactions: readonly DayOfCompactions[]
}

/** Returns the query for checked options. Times without a day in the calendar are left out. */
export function costsQuery({
  session,
  from = -MAX_TIME,
  to = MAX_TIME,
  utcOffsetMinutes,
}: z.output<typeof costsSchema>): CostsQuery {
  return {
    session,
    from: Math.max(from, -MAX_TIME),
    to: Math.min(to, MAX_TIME),
    offsetMs: utcOffsetMinutes * MINUTE_MS,
  }
}

/** Adds prices to recorded sums. Pure. */
export function costsOf({ requests, compactions, summaries }: RecordedCosts, priceOf: PriceOf): Costs {
  const groups = new Map<string, { -readonly [K in keyof DayOfCompactions]: DayOfCompactions[K] }>()
  const groupOf = (day: number, summarizer: string | undefined, model: string | undefined) => {
    const key = JSON.stringify([day, summarizer ?? null, model ?? null])
    const group = groups.get(key) ?? {
      ...{ day: nameOf(day), ...defined({ summarizer, model }), compactions: 0, tokensSaved: 0 },
      cost: summarizer === undefined ? 0 : null,
    }
    groups.set(key, group)
    return group
  }
  for (const { day, summarizer, model, compactions: count, tokensSaved, cost } of compactions) {
    const group = groupOf(day, summarizer, model)
    group.compactions = count
    group.tokensSaved = tokensSaved
    if (cost !== undefined) group.cost = cost
  }
  for (const { day, at, ...summary } of summaries) {
    const { cost } = billOf(summary, priceOf, at)
    const group = groupOf(day, summary.summarizer || undefined, summary.model)
    if (cost !== null) group.cost = (group.cost ?? 0) + cost
  }
  return {
    requests: requests
      .map((one) => pricedDay(one, priceOf))
      .sort((a, b) => byDay(a, b, a.provider, b.provider)),
    compactions: [...groups.values()].sort((a, b) => byDay(a, b, a.summarizer, b.summarizer)),
  }
}

function pricedDay(
  { day, provider, model, at, ...sums }: RecordedCosts['requests'][number],
  priceOf: PriceOf,
): DayOfRequests {
  const { inputTokens, cacheReadTokens, cacheCreationTokens } = sums
  const whole = inputTokens + cacheReadTokens + cacheCreationTokens
  const uncached = { ...sums, inputTokens: whole, cacheReadTokens: 0, cacheCreationTokens: 0 }
  return {
    ...{ day: nameOf(day), provider, ...defined({ model }), ...sums },
    cost: priceOf({ provider, model, at, ...sums }),
    uncachedCost: priceOf({ provider, model, at, ...uncached }),
  }
}

function nameOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().split('T')[0]!
}

type Dated = { readonly day: string; readonly model?: string }

/** Orders by day, newest first, then by name and model. */
function byDay(a: Dated, b: Dated, nameOfA = '', nameOfB = ''): number {
  return (
    compareTexts(b.day, a.day) || compareTexts(nameOfA, nameOfB) || compareTexts(a.model ?? '', b.model ?? '')
  )
}
