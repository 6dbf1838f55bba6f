import type { IdleReason } from '../../compaction/result.ts'

/** Why a session was not compacted; one without messages has no result that could say so. */
export type WhyNothing = IdleReason | 'NO_MESSAGES'

/** The rest of the sentence "Nothing to compact: …", without a full stop. */
export const WHY_NOTHING: { readonly [reason in WhyNothing]: string } = {
  NO_MESSAGES: 'there are no messages',
  NOTHING_TO_COMPACT: 'the history is within the target already',
  NO_PROGRESS: 'the history is over the target, but no stage finds anything it may take',
  SUMMARY_FAILED: 'a summary was not accepted, and nothing else was to be done',
  VETOED: 'somebody who was asked said no',
  SAVES_TOO_LITTLE: 'it would save too little',
}
