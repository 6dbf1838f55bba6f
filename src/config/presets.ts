import { CLEARED_PLACEHOLDER } from '../stages/clear-tool-results.ts'
import { PRUNE_PLACEHOLDER } from '../stages/prune.ts'
import { KEEP_RECENT_RATIO } from '../stages/summarize.ts'
import { TRUNCATION_FRACTION } from '../stages/truncate.ts'
import { NINE_SECTIONS } from '../summarizers/summarizer.ts'
import { DEFAULT_COMPACTION_THRESHOLD } from '../tokens/budget.ts'
import { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from '../tokens/scaled-figures.ts'
import type { LayerValues, PresetName } from './settings.ts'
import { MAX_RETAINED_MESSAGES } from './stages.ts'

/** Target size of a context, tokens. Source: seed 004, checklist S4-13. */
export const NCA_CONTEXT_WINDOW_TARGET = 32_000
/** Where the three other systems' compositions stop at the default threshold; with a lower one they follow it. Source: design 3.6. */
const OTHERS_TARGET = 0.6

/** Percent of the target at which nca summarizes. Source: seed 004, checklist S4-15. */
export const NCA_AUTO_SUMMARIZE_THRESHOLD = 75

/** What nca's summaries speak of. Source: seed 004, checklist S4-42 to S4-44. */
export const NCA_SECTIONS: readonly string[] = [
  'Key topics and goals discussed',
  'Important decisions or findings',
  'Critical context (file paths, variable names, errors)',
]

/** What neuron's summaries speak of. Source: seed 000, checklist S0-39. */
export const NEURON_SECTIONS: readonly string[] = ['Key information', 'Decisions made', 'Tool call results']

/**
 * The layer of settings beneath all that is said, one a system: stages, estimator, thresholds, texts. How a summary is
 * shown (role, header, place) goes by the preset's name too: `src/rendering/rows.ts`.
 *
 * Every composition ends with `cut`, which acts only when a request would not fit its window whatever the others did.
 */
export const PRESETS: { readonly [P in PresetName]: LayerValues } = {
  /** The defaults of this package: prune, deduplicate, summarize and truncate, with figures that scale with the window. */
  default: {},

  /**
   * NeuroLink as its documentation has it: absolute figures, a tail counted in messages, its formula for tokens. A run comes
   * down to where it was started, whatever it saves, and only before a request (conflict C-05).
   */
  neurolink: {
    estimator: 'neurolink',
    target: DEFAULT_COMPACTION_THRESHOLD,
    minimumSavings: 0,
    background: false,
    pruneProtectTokens: PRUNE_PROTECT_TOKENS,
    pruneMinimumSavings: PRUNE_MINIMUM_SAVINGS,
    keepRecentRatio: KEEP_RECENT_RATIO,
    truncationFraction: TRUNCATION_FRACTION,
    summarySections: NINE_SECTIONS,
  },

  /** Seed 000: cheap first, then a window of the last messages with a summary of what went; its examples' counts. */
  neuron: {
    estimator: 'neuron',
    stages: [
      { stage: 'clear_tool_results', keep: 2 },
      { stage: 'sliding_window', last: 10, summarize: true },
      // The window alone where the summary fails. Source: conflict C-32.
      { stage: 'sliding_window', last: 10 },
      'cut',
    ],
    target: OTHERS_TARGET,
    prunePlaceholder: CLEARED_PLACEHOLDER,
    summarySections: NEURON_SECTIONS,
    /** It warns of nothing; the loop asks before every turn. Source: checklist S0-U01. */
    warningLevels: [],
  },

  /** Seed 001: the newest that fit; without a summary, as its history manager has it by default (S1-U10). */
  promptfleet: {
    estimator: 'promptfleet',
    stages: [{ stage: 'sliding_window', fitBudget: true }, 'cut'],
    target: OTHERS_TARGET,
    prunePlaceholder: PRUNE_PLACEHOLDER,
    warningLevels: [],
  },

  /** Seed 004: the last 50 with a summary of what went, at 75 percent of 32,000 tokens; a warning at 80. */
  nca: {
    estimator: 'nca',
    // Fewer than 50 where those are too large. Source: checklist S4-U07.
    // The window alone where the summary fails. Source: checklist S4-U06.
    stages: [
      { stage: 'sliding_window', summarize: true, shrinkToFit: true },
      { stage: 'sliding_window', shrinkToFit: true },
      'cut',
    ],
    contextWindowTarget: NCA_CONTEXT_WINDOW_TARGET,
    target: OTHERS_TARGET,
    maxRetainedMessages: MAX_RETAINED_MESSAGES,
    autoSummarizeThreshold: NCA_AUTO_SUMMARIZE_THRESHOLD,
    enableAutoSummarize: true,
    autoCompactOnFinish: false,
    warningLevels: [0.8],
    summarySections: NCA_SECTIONS,
  },
}
