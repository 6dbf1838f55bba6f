import type { ModelUsage, RecordedUsage } from './storage/storage.ts'

/** Tokens of requests, sums. Input without what came from a cache or went into it, where the provider tells them apart. */
export type UsageTotals = {
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
}

/** What summaries took: of those that reported it, by one summarizer and model. */
export type SummaryTotals = {
  readonly summarizer: string
  readonly model?: string
  /** Summaries that were asked for and reported usage or cost. */
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** US dollars, as far as it was reported. */
  readonly cost: number
}

/** What a session was billed for. */
export type SessionUsage = {
  /** All requests of all models; summaries apart. */
  readonly total: UsageTotals
  readonly models: readonly ModelUsage[]
  readonly summaries: {
    readonly total: Omit<SummaryTotals, 'summarizer' | 'model'>
    readonly models: readonly SummaryTotals[]
  }
}

type Bill = { requests: number; inputTokens: number; outputTokens: number; cost: number }

/** Adds up what is recorded of a session. Pure. Source: checklist S0-U19. */
export function sessionUsage({ models, summaries }: RecordedUsage): SessionUsage {
  const byModel = new Map<
    string,
    { readonly name: Pick<SummaryTotals, 'summarizer' | 'model'>; bill: Bill }
  >()
  const all = noBill()
  for (const { summarizer, model, usage, cost } of summaries) {
    const key = JSON.stringify([summarizer, model ?? null])
    const entry = byModel.get(key) ?? {
      name: { summarizer, ...(model !== undefined && { model }) },
      bill: noBill(),
    }
    byModel.set(key, entry)
    for (const bill of [entry.bill, all]) {
      bill.requests += 1
      bill.inputTokens += numberIn(usage, 'inputTokens')
      bill.outputTokens += numberIn(usage, 'outputTokens')
      bill.cost += cost ?? 0
    }
  }
  const sum = (of: (usage: ModelUsage) => number): number =>
    models.reduce((total, usage) => total + of(usage), 0)
  return {
    total: {
      requests: sum(({ requests }) => requests),
      inputTokens: sum(({ inputTokens }) => inputTokens),
      cacheReadTokens: sum(({ cacheReadTokens }) => cacheReadTokens),
      cacheCreationTokens: sum(({ cacheCreationTokens }) => cacheCreationTokens),
      outputTokens: sum(({ outputTokens }) => outputTokens),
    },
    models,
    summaries: { total: all, models: [...byModel.values()].map(({ name, bill }) => ({ ...name, ...bill })) },
  }
}

function noBill(): Bill {
  return { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 }
}

/** A figure of a summarizer's own report, which may hold anything. */
function numberIn(usage: RecordedUsage['summaries'][number]['usage'], name: string): number {
  const value = usage !== undefined && Object.hasOwn(usage, name) ? usage[name] : undefined
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}
