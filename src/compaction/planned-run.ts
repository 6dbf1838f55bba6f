import type { RunSettings } from '../config/compaction.ts'
import { isUndertextError } from '../errors.ts'
import type { Message } from '../messages/message.ts'
import type { CompactionStage } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { CommitStep, FailedAttempt, Snapshot } from '../storage/storage.ts'

/** How often something is planned when somebody changes the view in between. */
export const MOST_PLANS = 5

/** Plans and commits without a model, so nothing was paid for: a plan that went stale is simply made again. */
export async function replanned<T>(planAndCommit: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await planAndCommit()
    } catch (error) {
      if (!isUndertextError(error, 'STALE_PLAN') || attempt === MOST_PLANS) throw error
    }
  }
}

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
