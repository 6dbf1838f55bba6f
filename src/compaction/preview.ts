import type { RunConfig } from '../config/run-config.ts'
import type { ViewMessage } from '../messages/message.ts'
import type { CompactionStage } from '../model/plan.ts'
import { type FirstChanged, firstChangedOf } from '../model/prompt-cache.ts'
import type { RunStart } from '../storage/storage.ts'
import { type CompactionOutline, type IdleReason, idleReason, outlineOf, viewAfter } from './result.ts'
import type { PendingSummary, PlannedRun } from './run-draft.ts'

/** One compaction of a preview: what it would hide, replace and insert. */
export type PlannedCompaction = CompactionOutline & {
  /** Ids of the messages it would hide. */
  readonly hides: readonly string[]
  /** Parts it would replace, and the text shown instead. */
  readonly replaces: readonly { readonly messageId: string; readonly part: number; readonly text: string }[]
  /** The summary or marker it would insert. */
  readonly inserts?: { readonly kind: 'summary' | 'marker'; readonly text: string }
}

/** What a preview was made from. `start`: the run that its plans were made for; the first use consumes it. */
type PreviewSource = { readonly run: PlannedRun; readonly config: RunConfig; start: RunStart | undefined }

const sources = new WeakMap<CompactionPreview, PreviewSource>()

/**
 * What a compaction would do; nothing was written. `compactSession(sessionId, preview)` applies exactly this, or throws
 * `STALE_PLAN` when the view has changed since. Messages that were appended since do not count as a change.
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
  /** The requests to a model; the figures count its summaries in full. Absent when every text is known. */
  readonly summaryPending?: readonly PendingSummary[]
  /** The first row of the view that would change: a provider's cached prefix ends before it. */
  readonly firstChanged?: FirstChanged

  constructor(run: PlannedRun, config: RunConfig, start: RunStart, view: readonly ViewMessage[]) {
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
    sources.set(this, { run, config, start })
  }
}

/** What a preview was made from; `undefined` for an object that only looks like a preview. */
export function planOfPreview(preview: CompactionPreview): PreviewSource | undefined {
  return sources.get(preview)
}
