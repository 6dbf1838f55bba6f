import type { CheckedConfig } from '../config/compaction.ts'
import type { ViewMessage } from '../messages/message.ts'
import type { CompactionStage } from '../model/plan.ts'
import { type FirstChanged, firstChangedOf } from '../model/prompt-cache.ts'
import type { RunStart } from '../storage/storage.ts'
import type { PendingSummary, PlannedRun } from './planned-run.ts'
import { type CompactionOutline, type IdleReason, idleReason, outlineOf, viewAfter } from './result.ts'

/** One compaction a preview proposes: what would go, what would be shown differently, what would come. */
export type PlannedCompaction = CompactionOutline & {
  /** Ids of the messages it would hide. */
  readonly hides: readonly string[]
  /** Parts it would show differently, and the text shown. */
  readonly replaces: readonly { readonly messageId: string; readonly part: number; readonly text: string }[]
  /** The summary or marker it would insert. */
  readonly inserts?: { readonly kind: 'summary' | 'marker'; readonly text: string }
}

/** What stands behind a preview. `start` names the run its plans were made for; the first use takes it up. */
type Behind = { readonly run: PlannedRun; readonly config: CheckedConfig; start: RunStart | undefined }

const plannedRuns = new WeakMap<CompactionPreview, Behind>()

/**
 * What a compaction would do. Nothing was written. `compactSession(sessionId, preview)` applies exactly this, or
 * refuses with `STALE_PLAN` when the view has changed since; what was appended since is no reason to refuse.
 */
export class CompactionPreview {
  readonly sessionId: string
  /** The fields of `CompactionResult`, as they would be. */
  readonly compacted: boolean
  readonly stagesUsed: CompactionStage[]
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly tokensSaved: number
  readonly messages: ViewMessage[]
  readonly compactions: PlannedCompaction[]
  readonly targetTokens: number
  readonly reachedTarget: boolean
  readonly fits: boolean
  readonly reason?: IdleReason
  /** What a model would be asked; the figures count its answer in full. Absent when every text is known. */
  readonly summaryPending?: readonly PendingSummary[]
  /** The first row of the view that would change: a provider's cached prefix ends before it. */
  readonly firstChanged?: FirstChanged

  constructor(run: PlannedRun, config: CheckedConfig, start: RunStart, view: readonly ViewMessage[]) {
    const { snapshot, settings, steps, after, pending } = run
    this.sessionId = snapshot.session.id
    this.compacted = steps.length > 0
    this.stagesUsed = [...run.stagesUsed]
    this.tokensBefore = snapshot.view.tokens
    this.tokensAfter = after.tokens
    this.tokensSaved = this.tokensBefore - this.tokensAfter
    this.messages = viewAfter(view, run)
    this.compactions = steps.map((step) => ({
      ...outlineOf(step),
      hides: step.plan.hide.map(({ id }) => id),
      replaces: step.plan.replace.map(({ row, part, text }) => ({ messageId: row.id, part, text })),
      ...(step.plan.insert && { inserts: { kind: step.plan.insert.kind, text: step.plan.insert.text } }),
    }))
    this.targetTokens = settings.targetTokens
    this.reachedTarget = after.tokens <= settings.targetTokens
    this.fits = after.tokens <= settings.limitTokens
    const reason = idleReason(run)
    if (reason !== undefined) this.reason = reason
    if (pending.length > 0) this.summaryPending = pending
    const changed = firstChangedOf(snapshot.view, after, run.cachedTokens)
    if (changed !== undefined) this.firstChanged = changed
    plannedRuns.set(this, { run, config, start })
  }
}

/** The plan behind a preview; `undefined` for anything that only looks like one. */
export function plannedRunOf(preview: CompactionPreview): Behind | undefined {
  return plannedRuns.get(preview)
}
