import type { ModelUsage, RecordedUsage } from '../storage/storage.ts'
import type { PriceOf } from '../tokens/prices.ts'

/** US dollars. `null`: no price is known. */
type Cost = number | null

/** Tokens of requests, sums. Input without what came from a cache or went into it, where the provider tells them apart. */
export type UsageTotals = {
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  /** Of the requests whose price is known; `null` when none is. */
  readonly cost: Cost
  /** Requests whose price is not known, so that they are not in `cost`. */
  readonly unpricedRequests: number
}

/** What summaries took: of those that reported it, by one summarizer and model. */
export type SummaryTotals = {
  readonly summarizer: string
  readonly model?: string
  /** Summaries that were asked for and reported usage or cost. */
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** As it was reported, else by the list of prices; `null` when neither is known of any. */
  readonly cost: Cost
}

/** What a session was billed for. */
export type SessionUsage = {
  /** Of all costs. */
  readonly currency: 'USD'
  /** All requests of all models; summaries apart. */
  readonly total: UsageTotals
  readonly models: readonly (ModelUsage & {
    /** By the list prices of `@pydantic/genai-prices` at the time of the last report. */
    readonly cost: Cost
  })[]
  readonly summaries: {
    readonly total: Omit<SummaryTotals, 'summarizer' | 'model'>
    readonly models: readonly SummaryTotals[]
  }
}

type Bill = { requests: number; inputTokens: number; outputTokens: number; cost: Cost }

/** Adds up what is recorded of a session. Pure. Source: checklist S0-U19. */
export function sessionUsage({ models, summaries }: RecordedUsage, priceOf: PriceOf): SessionUsage {
  const byModel = new Map<
    string,
    { readonly name: Pick<SummaryTotals, 'summarizer' | 'model'>; bill: Bill }
  >()
  const all = noBill(0)
  for (const summary of summaries) {
    const { summarizer, model } = summary
    const key = JSON.stringify([summarizer, model ?? null])
    const entry = byModel.get(key) ?? {
      name: { summarizer, ...(model !== undefined && { model }) },
      bill: noBill(null),
    }
    byModel.set(key, entry)
    addSummary([entry.bill, all], summary, priceOf)
  }
  if (all.cost === 0 && summaries.length > 0 && [...byModel.values()].every(({ bill }) => bill.cost === null))
    all.cost = null
  const priced = models.map((usage) => ({ ...usage, cost: priceOf({ ...usage, model: usage.model }) }))
  return {
    currency: 'USD',
    total: totalOf(priced),
    models: priced,
    summaries: { total: all, models: [...byModel.values()].map(({ name, bill }) => ({ ...name, ...bill })) },
  }
}

function totalOf(models: SessionUsage['models']): UsageTotals {
  const sum = (of: (usage: ModelUsage) => number): number =>
    models.reduce((total, usage) => total + of(usage), 0)
  const known = models.filter(({ cost }) => cost !== null)
  const requests = sum((usage) => usage.requests)
  return {
    requests,
    inputTokens: sum(({ inputTokens }) => inputTokens),
    cacheReadTokens: sum(({ cacheReadTokens }) => cacheReadTokens),
    cacheCreationTokens: sum(({ cacheCreationTokens }) => cacheCreationTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cost: models.length > 0 && known.length === 0 ? null : known.reduce((all, { cost }) => all + cost!, 0),
    unpricedRequests: requests - known.reduce((all, usage) => all + usage.requests, 0),
  }
}

function addSummary(
  bills: readonly Bill[],
  { model, usage, cost }: RecordedUsage['summaries'][number],
  priceOf: PriceOf,
): void {
  const inputTokens = numberIn(usage, 'inputTokens')
  const outputTokens = numberIn(usage, 'outputTokens')
  const cacheReadTokens = numberIn(usage, 'cacheReadTokens')
  const cacheCreationTokens = numberIn(usage, 'cacheCreationTokens')
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheCreationTokens)
  const tokens = { requests: 1, inputTokens: fresh, cacheReadTokens, cacheCreationTokens, outputTokens }
  // A summarizer names its model as `provider/model` or by the model alone.
  const listed = () => priceOf({ ...tokens, provider: undefined, model, at: Date.now() })
  const known = cost ?? listed()
  for (const bill of bills) {
    bill.requests += 1
    bill.inputTokens += inputTokens
    bill.outputTokens += outputTokens
    if (known !== null) bill.cost = (bill.cost ?? 0) + known
  }
}

function noBill(cost: Cost): Bill {
  return { requests: 0, inputTokens: 0, outputTokens: 0, cost }
}

/** A figure of a summarizer's own report, which may hold anything. */
function numberIn(usage: RecordedUsage['summaries'][number]['usage'], name: string): number {
  const value = usage !== undefined && Object.hasOwn(usage, name) ? usage[name] : undefined
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}
