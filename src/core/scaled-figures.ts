import { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from './stages/prune.ts'

/** Fractions and token counts of settings that scale with the window. Source: checklist C-23 and F5. */
const PRUNE_PROTECT_SHARE = 0.25
const PRUNE_MINIMUM_SHARE = 0.1
const KEEP_RECENT_SHARE = 0.3
const SUMMARY_SHARE = 0.05
const SUMMARY_LEAST_TOKENS = 500
const SUMMARY_MOST_TOKENS = 4_000

/** Settings of the stages that scale, tokens. */
export type ScaledFigures = {
  readonly pruneProtectTokens: number
  readonly pruneMinimumSavings: number
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
  return {
    pruneProtectTokens: Math.min(PRUNE_PROTECT_TOKENS, shareOf(availableTokens, PRUNE_PROTECT_SHARE)),
    pruneMinimumSavings: Math.min(PRUNE_MINIMUM_SAVINGS, shareOf(availableTokens, PRUNE_MINIMUM_SHARE)),
    keepRecentTokens: shareOf(targetTokens, KEEP_RECENT_SHARE),
    summaryMaxTokens: Math.min(
      SUMMARY_MOST_TOKENS,
      Math.max(SUMMARY_LEAST_TOKENS, shareOf(availableTokens, SUMMARY_SHARE)),
    ),
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
