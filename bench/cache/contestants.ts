import type { Settings } from 'undertext'
import { DEDUP_THRESHOLD, KEEP_RECENT_RATIO, TRUNCATION_FRACTION } from 'undertext/arrays'

/** How a session is kept within a window: a store with settings of its own. */
export type Contestant = { readonly name: string; readonly config: Settings }

/** Further targets, to see what the default costs. */
const TARGETS = [0.6, 0.5, 0.3]

/** Where a run stops by the founding documents, as this project's design reads them. */
const FOUNDING_TARGET = 0.6

/** The newest messages that fit, and nothing else. */
const WINDOW: Settings = { stages: [{ stage: 'sliding_window', fitBudget: true }, 'cut'] }

/** The first compacts nothing, the second is what lost references are compared with. */
export const CONTESTANTS: readonly Contestant[] = [
  { name: 'no compaction', config: { auto: false } },
  { name: 'window', config: { stages: [{ stage: 'sliding_window', fitBudget: true }, 'cut'] } },
  {
    // Seed 003's own figures, which do not scale with the window.
    name: 'founding defaults',
    config: {
      preset: 'neurolink',
      pruneProtectTokens: 40_000,
      pruneMinimumSavings: 20_000,
      deduplicateMinimumSavings: DEDUP_THRESHOLD,
      keepRecentRatio: KEEP_RECENT_RATIO,
      truncationFraction: TRUNCATION_FRACTION,
      target: FOUNDING_TARGET,
      minimumSavings: 0,
    },
  },
  { name: 'ours', config: {} },
  { name: 'ours, minimumSavings 0', config: { minimumSavings: 0 } },
  ...TARGETS.map((target) => ({ name: `ours, target ${target}`, config: { target } })),
  { name: 'window, target 0.6', config: { ...WINDOW, target: FOUNDING_TARGET } },
]
