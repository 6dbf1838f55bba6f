import { firstChange } from './reasoning.ts'
import type { View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/*
 * The effect of a run on a provider's prompt cache. A provider caches a request from its beginning up to the first byte that changes.
 * Everything here is computed from the view's index, without contents.
 */

/**
 * The price of reading a token from the cache and of writing one to it, in tokens of plain input, from Anthropic's documentation of
 * prompt caching (lifetime of five minutes). Other providers charge 0.1 to 0.5 for reading and nothing for writing.
 */
const CACHE_READ_PRICE = 0.1
const CACHE_WRITE_PRICE = 1.25

/** The assumed number of further requests of a session, each of which saves the hidden tokens (docs/prompt-cache.md). */
const REQUESTS_AHEAD = 100

/** The minimum savings of an automatic run, as a share of the history, and its upper limit in tokens (docs/prompt-cache.md). */
const REQUIRED_SAVINGS_SHARE = 0.05
const MAX_REQUIRED_SAVINGS = 20_000

/** The first change of a view by a run, and the cached prefix that it invalidates. Tokens are the estimator's. */
export type FirstChanged = {
  /** The position of the first row that changes; for a summary or a marker, of the last message that it represents. */
  readonly position: number
  /** The index of that row in the view before the run. */
  readonly index: number
  readonly messageId: string
  /** Tokens of the unchanged rows before it. */
  readonly tokensBefore: number
  /** Tokens of the view that are assumed to be cached, and the number of them that are invalidated. */
  readonly cachedTokens: number
  readonly tokensGivenUp: number
  /** `reported`: from the last recorded usage of this view. `assumed`: everything in the last request. */
  readonly source: 'reported' | 'assumed'
}

/** Tokens of the view that the provider reported as cached, in the estimator's tokens; `undefined` if nothing was reported. */
type Cached = number | undefined

/**
 * Returns the first difference between `before` and `after`; `undefined` if there is none. `cached` belongs to the view before. Takes
 * linear time.
 */
export function firstChangedOf(before: View, after: View, cached?: Cached): FirstChanged | undefined {
  const { rows } = before
  const index = firstChange(before, after)
  const row = rows[index]
  if (row === undefined) return undefined
  const tokensBefore = before.tokensOfRows(rows.slice(0, index))
  const cachedTokens = Math.min(cached ?? sentTokens(before), before.tokens)
  return {
    position: row.position ?? row.anchor,
    index,
    messageId: row.id,
    tokensBefore,
    cachedTokens,
    tokensGivenUp: Math.max(0, cachedTokens - tokensBefore),
    source: cached === undefined ? 'assumed' : 'reported',
  }
}

/** Returns the tokens of the last request: everything before the newest answer. */
function sentTokens(view: View): number {
  const last = view.rows.findLastIndex(isAnswer)
  return view.tokensOfRows(view.rows.slice(0, Math.max(0, last)))
}

function isAnswer({ kind, role }: ViewRow): boolean {
  return kind === 'message' && role === 'assistant'
}

/** Returns the default minimum savings of an automatic run, in tokens. */
export function minimumSavingsOf(historyTokens: number): number {
  return Math.min(MAX_REQUIRED_SAVINGS, Math.floor(historyTokens * REQUIRED_SAVINGS_SHARE))
}

/**
 * Returns the worth of a run in tokens: the savings minus the cost of rewriting the cached tokens after the first change. A saved token
 * is not read in `REQUESTS_AHEAD` requests; a rewritten token costs the difference of the two prices once.
 */
export function worthOf(tokensSaved: number, rewrittenTokens: number): number {
  return (
    tokensSaved -
    (rewrittenTokens * (CACHE_WRITE_PRICE - CACHE_READ_PRICE)) / (CACHE_READ_PRICE * REQUESTS_AHEAD)
  )
}

/**
 * Returns whether a run is worth at least `minimum` tokens; if `minimum` is 0, every run is. `tokensAfter` is the size of the view after
 * the run.
 */
export function isWorthIt({
  changed,
  before,
  tokensAfter,
  minimum,
}: {
  readonly changed: FirstChanged | undefined
  readonly before: View
  readonly tokensAfter: number
  readonly minimum: number
}): boolean {
  if (minimum <= 0 || changed === undefined) return true
  // Cached rows after the change are written again.
  const left = Math.max(0, tokensAfter - changed.tokensBefore)
  return worthOf(before.tokens - tokensAfter, Math.min(left, changed.tokensGivenUp)) >= minimum
}
