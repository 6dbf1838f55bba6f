import type { IdleReason, OffTarget } from '../../store/compaction/result.ts'
import type { CompactOptions } from '../../store/config/store-options.ts'

/* The settings of a preview, and what its result means in words. */

/** The stages that a preview can switch off, in the order in which they run. */
export const STAGES = [
  { key: 'enableMedia', label: 'Media', hint: 'replaces old images and files with a text' },
  { key: 'enablePrune', label: 'Prune', hint: 'clears old tool outputs' },
  { key: 'enableDeduplicate', label: 'Deduplicate', hint: 'replaces repeated file reads' },
  { key: 'enableSummarize', label: 'Summarize', hint: 'replaces old messages with a summary' },
  { key: 'enableTruncate', label: 'Truncate', hint: 'hides the oldest messages' },
  { key: 'emergencyCut', label: 'Cut', hint: 'shortens overlong contents if nothing else is enough' },
] as const
type StageKey = (typeof STAGES)[number]['key']

/** What the reader set. `target` is in percent of the available input. */
export type PreviewSettings = {
  readonly target: number
  readonly stages: { readonly [key in StageKey]: boolean }
  /** Digits, or empty for the default. */
  readonly keepRecentTokens: string
  readonly reason: string
}

/** Returns the options that differ from the session's own settings, so that those stay in force. */
export function optionsOf(set: PreviewSettings, own: PreviewSettings): CompactOptions {
  const switched = STAGES.filter(({ key }) => set.stages[key] !== own.stages[key])
  const kept = Number(set.keepRecentTokens)
  const reason = set.reason.trim()
  return {
    ...(set.target !== own.target && { target: set.target / 100 }),
    ...Object.fromEntries(switched.map(({ key }) => [key, set.stages[key]])),
    ...(set.keepRecentTokens.trim() !== '' &&
      Number.isInteger(kept) &&
      kept >= 0 && { keepRecentTokens: kept }),
    ...(reason !== '' && { reason }),
  }
}

/** Why a preview would change nothing. */
export const IDLE_WORDS: { readonly [reason in IdleReason]: string } = {
  NOTHING_TO_COMPACT: 'The history is within the target already. Lower the target to compact it further.',
  NO_PROGRESS: 'The history is over the target, but no enabled stage finds anything to remove.',
  SUMMARY_FAILED: 'The summary was rejected, and there was nothing else to do.',
  VETOED: 'The application vetoed the run.',
  SAVES_TOO_LITTLE: 'It would save too little to be worth it.',
}

/** Why a preview ends above or below its target. */
export const OFF_TARGET_WORDS: { readonly [reason in OffTarget]: string } = {
  KEPT_TOO_LARGE: 'It ends above the target: what stays is too large, or no enabled stage removes it.',
  SUMMARY_FAILED: 'It ends above the target, because a summary was rejected.',
  NEXT_TOO_LARGE: 'It ends below the target: the next message would not fit, and messages are kept whole.',
  REMOVED_MORE: 'It ends below the target: a stage removed everything that it found.',
}
