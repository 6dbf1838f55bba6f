/** Fractions and token counts of settings that scale with the window. Source: checklist C-23 and F5. */
const PRUNE_PROTECT_SHARE = 0.25
const PRUNE_MINIMUM_SHARE = 0.1
const SUMMARY_SHARE = 0.05
const SUMMARY_LEAST_TOKENS = 500
const SUMMARY_MOST_TOKENS = 4_000
/**
 * Offline: six tenths of a target of up to 16,000 tokens, and a tenth of what is beyond, at most 16,000 more. What a session's
 * files define and its calls did grows slower than the session. Source: measured, docs/summaries.md.
 */
const SUMMARY_ROOM_SHARE = 0.6
/** Of the first 16,000, where the tail needs less than it might: its groups are not parted. */
const OFFLINE_MOST_SHARE = 0.9
const OFFLINE_FULL_TARGET = 16_000
const OFFLINE_MORE_SHARE = 0.1
const OFFLINE_MORE_TOKENS = 16_000

/** Settings of the stages that scale, tokens. */
export type ScaledFigures = {
  readonly pruneProtectTokens: number
  readonly pruneMinimumSavings: number
  /** What the target leaves beside a model's summary. */
  readonly keepRecentTokens: number
  readonly summaryMaxTokens: number
}

/** Why a figure is what it is: a share of what is available, or the most or the least it may be. */
export type ScaleSource = 'share' | 'most' | 'least'

/**
 * What the stages go by where nothing else was said: for planning and for profiles alike. `availableTokens` is what a request may
 * take, `targetTokens` what the history is to come down to. Source: checklist F5.
 */
export function scaledFigures(availableTokens: number, targetTokens: number): ScaledFigures {
  const summaryMaxTokens = Math.min(
    SUMMARY_MOST_TOKENS,
    Math.max(SUMMARY_LEAST_TOKENS, shareOf(availableTokens, SUMMARY_SHARE)),
  )
  return {
    pruneProtectTokens: Math.min(PRUNE_PROTECT_TOKENS, shareOf(availableTokens, PRUNE_PROTECT_SHARE)),
    pruneMinimumSavings: Math.min(PRUNE_MINIMUM_SAVINGS, shareOf(availableTokens, PRUNE_MINIMUM_SHARE)),
    keepRecentTokens: Math.max(0, targetTokens - summaryRoom(summaryMaxTokens, targetTokens)),
    summaryMaxTokens,
  }
}

/** What a tail leaves to a summary that may take so much, tokens: all of it, unless the target is small. */
export function summaryRoom(summaryMaxTokens: number, targetTokens: number): number {
  return Math.min(summaryMaxTokens, shareOf(targetTokens, SUMMARY_ROOM_SHARE))
}

/** What a tail leaves to a summary that costs nothing, and the most it may take when the tail needs less than it might, tokens. */
export function offlineSummaryTokens(targetTokens: number): {
  readonly summaryRoomTokens: number
  readonly summaryMaxTokens: number
} {
  const full = Math.min(targetTokens, OFFLINE_FULL_TARGET)
  const more = Math.min(OFFLINE_MORE_TOKENS, (targetTokens - full) * OFFLINE_MORE_SHARE)
  return {
    summaryRoomTokens: Math.floor(full * SUMMARY_ROOM_SHARE + more),
    summaryMaxTokens: Math.max(SUMMARY_LEAST_TOKENS, Math.floor(full * OFFLINE_MOST_SHARE + more)),
  }
}

/** Where each of them comes from. */
export function scaleSources(availableTokens: number): {
  readonly [F in keyof ScaledFigures]: ScaleSource
} {
  const summary = shareOf(availableTokens, SUMMARY_SHARE)
  return {
    pruneProtectTokens:
      shareOf(availableTokens, PRUNE_PROTECT_SHARE) < PRUNE_PROTECT_TOKENS ? 'share' : 'most',
    pruneMinimumSavings:
      shareOf(availableTokens, PRUNE_MINIMUM_SHARE) < PRUNE_MINIMUM_SAVINGS ? 'share' : 'most',
    keepRecentTokens: 'share',
    summaryMaxTokens:
      summary >= SUMMARY_MOST_TOKENS ? 'most' : summary <= SUMMARY_LEAST_TOKENS ? 'least' : 'share',
  }
}

function shareOf(tokens: number, share: number): number {
  return Math.floor(tokens * share)
}

/** Tokens of recent tool outputs that pruning leaves alone. Source: seed 003. */
export const PRUNE_PROTECT_TOKENS = 40_000

/** Least saving, in tokens, for pruning to be applied. Source: seed 003. */
export const PRUNE_MINIMUM_SAVINGS = 20_000
