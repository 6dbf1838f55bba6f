import { firstChange } from './reasoning.ts'
import type { View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/*
 * The effect of a run on a provider's prompt cache. A provider caches a request from its beginning up to the first byte that changes.
 * Everything here is computed from the view's index, without contents.
 */

/**
 * The price of a token that is read from the cache, and of one that is written to it, in tokens of plain input, from Anthropic's
 * documentation of prompt caching (lifetime of five minutes). Others charge 0.1 to 0.5 for reading and nothing for writing.
 */
const CACHE_READ_PRICE = 0.1
const CACHE_WRITE_PRICE = 1.25

/** The assumed number of further requests of a session, none of which reads a hidden token (docs/prompt-cache.md). */
const REQUESTS_AHEAD = 100

/** The minimum savings of an automatic run, as a share of the history, and its maximum in tokens (docs/prompt-cache.md). */
const MINIMUM_SAVINGS_SHARE = 0.05
const MINIMUM_SAVINGS_MOST = 20_000

/** The first change of a view by a run, and the cached prefix that it ends. Tokens are the estimator's. */
export type FirstChanged = {
  /** The position of the first row that changes; for a summary or a marker, of the last message that it represents. */
  readonly position: number
  /** Its index in the view before the run. */
  readonly index: number
  readonly messageId: string
  /** Tokens of the rows before it, which do not change. */
  readonly tokensBefore: number
  /** Tokens of the view that are assumed to be cached, and how many of them are invalidated. */
  readonly cachedTokens: number
  readonly tokensGivenUp: number
  /** `reported`: from the last recorded usage of this view. `assumed`: everything that the last request held. */
  readonly source: 'reported' | 'assumed'
}

/** Tokens of the view that the provider reported as cached, in the estimator's tokens; `undefined` without a report. */
type Cached = number | undefined

/**
 * The first difference between `before` and `after`; `undefined` when there is none. `cached` belongs to the view before. Takes linear
 * time.
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

/** The last request: everything before the newest answer. */
function sentTokens(view: View): number {
  const last = view.rows.findLastIndex(isAnswer)
  return view.tokensOfRows(view.rows.slice(0, Math.max(0, last)))
}

function isAnswer({ kind, role }: ViewRow): boolean {
  return kind === 'message' && role === 'assistant'
}

/** The default minimum savings of an automatic run, tokens. */
export function minimumSavingsOf(historyTokens: number): number {
  return Math.min(MINIMUM_SAVINGS_MOST, Math.floor(historyTokens * MINIMUM_SAVINGS_SHARE))
}

/**
 * The worth of a run in tokens: the saved ones, less the cost of writing the cached ones after the first change again. A saved token
 * is not read in `REQUESTS_AHEAD` requests; a token that is written again costs the difference of the two prices once.
 */
export function worthOf(tokensSaved: number, rewrittenTokens: number): number {
  return (
    tokensSaved -
    (rewrittenTokens * (CACHE_WRITE_PRICE - CACHE_READ_PRICE)) / (CACHE_READ_PRICE * REQUESTS_AHEAD)
  )
}

/** Whether a run is worth at least `minimum` tokens; with 0 every run is. `tokensAfter` is the size of the view after it. */
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
