import type { RunSettings } from '../config/compaction.ts'
import type { Message } from '../messages/message.ts'
import type { CompactionStage } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { CommitStep, FailedAttempt, Snapshot } from '../storage/storage.ts'

/** What a model would be asked for, shown in place of a summary that was not made. */
export type PendingSummary = {
  readonly summarizer: string
  /** What it would read. */
  readonly messages: readonly Message[]
  readonly inputTokens: number
  /** Upper bound of what it may answer; the figures of the preview count it in full. */
  readonly maxTokens: number
}

/** A planned run: everything a commit needs, and nothing written. */
export type PlannedRun = {
  readonly snapshot: Snapshot
  readonly settings: RunSettings
  readonly steps: readonly CommitStep[]
  readonly failed: readonly FailedAttempt[]
  readonly stagesUsed: readonly CompactionStage[]
  readonly after: View
  readonly pending: readonly PendingSummary[]
  /** Tokens of the view, in the estimator's, that its provider reported as cached; `undefined` where it did not. */
  readonly cachedTokens?: number | undefined
  /** Its stages would save less than they must, so nothing of what they planned is left. */
  readonly heldBack?: true
}
