import type { View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/*
 * What a run does to a provider's prompt cache. A provider keeps what it has read of a request, from its beginning up to the first
 * byte that is another one the next time. Everything here is worked out from the view's index, without contents.
 */

/**
 * What a token costs that is read from the cache, and one that is written into it, in tokens of plain input. Source: Anthropic's
 * page on prompt caching (lifetime of five minutes). Others charge 0.1 to 0.5 for reading and nothing for writing.
 */
const CACHE_READ_PRICE = 0.1
const CACHE_WRITE_PRICE = 1.25

/** Requests that a session is taken to go on for: what is gone is not read in any of them. A judgement: docs/prompt-cache.md. */
const REQUESTS_AHEAD = 100

/** Least savings of a run nobody asked for, as a share of the history, and at most, tokens. Source: docs/prompt-cache.md. */
const MINIMUM_SAVINGS_SHARE = 0.05
const MINIMUM_SAVINGS_MOST = 20_000

/** Where a run first changes the view, and what of a cached prefix ends there. Tokens are the estimator's. */
export type FirstChanged = {
  /** Place in the log of the first row of the view that changes; of a summary or a marker, the place of the last message it stands for. */
  readonly position: number
  /** Its index in the view as it was. */
  readonly index: number
  readonly messageId: string
  /** Tokens of the rows before it, which stay as they are. */
  readonly tokensBefore: number
  /** Tokens of the view that are taken to be cached, and how many of them are given up. */
  readonly cachedTokens: number
  readonly tokensGivenUp: number
  /** `reported`: by the last recorded usage of this view. `assumed`: all that was sent with the last request. */
  readonly source: 'reported' | 'assumed'
}

/** What is known of the cache: tokens of the view, in the estimator's, that the provider reported; `undefined` where it did not. */
type Cached = number | undefined

/**
 * Where `after` first differs from `before`; `undefined` when it does not. `cached` holds of the view before. Pure; in
 * proportion to the rows.
 */
export function firstChangedOf(before: View, after: View, cached?: Cached): FirstChanged | undefined {
  const { rows } = before
  const index = rows.findIndex((row, at) => after.rows[at] !== row)
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

/** What the last request held: everything before the newest answer. */
function sentTokens(view: View): number {
  const last = view.rows.findLastIndex(isAnswer)
  return view.tokensOfRows(view.rows.slice(0, Math.max(0, last)))
}

function isAnswer({ kind, role }: ViewRow): boolean {
  return kind === 'message' && role === 'assistant'
}

/** The least an automatic run saves of a history where nothing else is said, tokens. */
export function minimumSavingsOf(historyTokens: number): number {
  return Math.min(MINIMUM_SAVINGS_MOST, Math.floor(historyTokens * MINIMUM_SAVINGS_SHARE))
}

/**
 * What a run is worth, tokens: those it saves, less what it costs to write again the cached ones behind the first change that
 * stay. A saved token is not read in `REQUESTS_AHEAD` requests; a token written again costs the difference of the two prices once.
 */
export function worthOf(tokensSaved: number, rewrittenTokens: number): number {
  return (
    tokensSaved -
    (rewrittenTokens * (CACHE_WRITE_PRICE - CACHE_READ_PRICE)) / (CACHE_READ_PRICE * REQUESTS_AHEAD)
  )
}

/** Whether a run is worth `minimum` tokens at least. `tokensAfter` of the view are left by it; 0 holds nothing back. */
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
  // What is behind the change and stays is written again, as far as it was cached.
  const left = Math.max(0, tokensAfter - changed.tokensBefore)
  return worthOf(before.tokens - tokensAfter, Math.min(left, changed.tokensGivenUp)) >= minimum
}
