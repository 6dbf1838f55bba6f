import { z } from 'zod'
import { check } from '../messages/check.ts'
import { priority } from './priority.ts'
import { slidingWindow } from './sliding-window.ts'
import { type Strategy, strategyShape, summaryShape } from './strategy.ts'

/** The kinds of strategies that a configuration may name. Source: seed 001, checklist S1-22 to S1-27, S1-U08. */
export const STRATEGY_KINDS = ['sliding_window', 'sliding_window_with_summary', 'priority_based'] as const
export type ContextStrategyKind = (typeof STRATEGY_KINDS)[number]

/** What a kind is when none is said. Source: checklist S1-U08. */
const DEFAULT_KIND: ContextStrategyKind = 'sliding_window'

const optionsSchema = z.strictObject({ ...strategyShape, ...summaryShape })
export type CreateStrategyOptions = z.input<typeof optionsSchema>

const MAKERS: { readonly [K in ContextStrategyKind]: (options: CreateStrategyOptions) => Strategy } = {
  sliding_window: ({ maxTokens, estimator, provider }) =>
    slidingWindow({ fitBudget: true, keepNewest: 'nothing', maxTokens, estimator, provider }),
  // Without somebody who writes it there is no summary, and the name says so (checklist S1-27).
  sliding_window_with_summary: (options) => {
    const plain = MAKERS.sliding_window(options)
    if (options.summarizer === undefined) return plain
    const window = slidingWindow({ fitBudget: true, summarize: true, ...options })
    return {
      ...window,
      async apply(messages, budget) {
        const result = await window.apply(messages, budget)
        return result.overBudget ? plain.apply(messages, budget) : result
      },
    }
  },
  priority_based: ({ maxTokens, estimator, provider }) =>
    priority({ keepNewest: 'nothing', maxTokens, estimator, provider }),
}

/**
 * The strategy of a kind, as a configuration names it. Default: "sliding_window", the newest that fit. "…_with_summary" needs
 * a `summarizer`; without one it is the plain window, and is called so. What `apply` returns fits the budget, also when the newest
 * message alone does not: only system messages that are too large themselves make it `overBudget`. A summary that does not fit is left
 * out. Throws `INVALID_INPUT`, for an unknown kind too.
 */
export function createStrategy(
  kind: ContextStrategyKind = DEFAULT_KIND,
  options: CreateStrategyOptions = {},
): Strategy {
  const checked = check(z.enum(STRATEGY_KINDS), kind, 'createStrategy: kind')
  return MAKERS[checked](check(optionsSchema, options, 'createStrategy'))
}
