import { defined, type JsonObject } from '../../core/messages/json.ts'
import type { ViewMessage } from '../../core/messages/message.ts'
import { textsByRow, withReplacements } from '../../core/messages/overlay.ts'
import { type CompactionKind, type CompactionStage, stageOf } from '../../core/model/plan.ts'
import { type FirstChanged, firstChangedOf } from '../../core/model/prompt-cache.ts'
import type { InvalidatedReasoning } from '../../core/model/reasoning.ts'
import type { SummaryUsage } from '../../core/summarizers/summarizer.ts'
import { isMediaDue, isWithinMedia } from '../../core/tokens/media-limits.ts'
import type { CommitStep, FailedAttempt, RunStart, SummaryRecord } from '../../storage/storage.ts'
import { type RunConfig, TARGET_TOLERANCE } from '../config/run-config.ts'
import { mediaChange, mediaIn, type PendingSummary, type PlannedRun } from './run.ts'
import { SummaryCost, type SummaryNotes } from './write-summary.ts'

/** One compaction of a preview: the rows it would hide, replace and insert. */
export type PlannedCompaction = CompactionOutline & {
  /** Ids of the messages that it would hide. */
  readonly hides: readonly string[]
  /** Parts that it would replace, and the texts shown in their place. */
  readonly replaces: readonly { readonly messageId: string; readonly part: number; readonly text: string }[]
  /** The summary or marker that it would insert. */
  readonly inserts?: { readonly kind: 'summary' | 'marker'; readonly text: string }
}

/** The source of a preview. `start` is the run for which its plans were made; the first use consumes it. */
type PreviewSource = { readonly run: PlannedRun; readonly config: RunConfig; start: RunStart | undefined }

const sources = new WeakMap<CompactionPreview, PreviewSource>()

/**
 * The result of planning a compaction; nothing was written. `compactSession(sessionId, preview)` applies exactly this plan, or throws
 * `STALE_PLAN` if the view has changed since. Messages appended since don't count as a change.
 */
export class CompactionPreview {
  declare readonly sessionId: string
  /** The fields of `CompactionResult` as they would be after applying the preview. */
  declare readonly compacted: boolean
  declare readonly stagesUsed: CompactionStage[]
  declare readonly tokensBefore: number
  declare readonly tokensAfter: number
  declare readonly tokensSaved: number
  declare readonly imagesBefore: number
  declare readonly imagesAfter: number
  declare readonly mediaBytesBefore: number
  declare readonly mediaBytesAfter: number
  declare readonly messages: ViewMessage[]
  declare readonly compactions: PlannedCompaction[]
  declare readonly targetTokens: number
  declare readonly reachedTarget: boolean
  declare readonly offTarget?: OffTarget
  declare readonly fits: boolean
  declare readonly reason?: IdleReason
  /** The pending requests to a model; the figures count their summaries at maximum size. Absent if every text is known. */
  declare readonly summaryPending?: readonly PendingSummary[]
  /** The first row of the view that would change; a provider's cached prefix ends before it. */
  declare readonly firstChanged?: FirstChanged
  /** Reasoning that would stay in the view but no longer be sent, for models that check what precedes it (docs/prompt-cache.md). */
  declare readonly invalidatedReasoning?: InvalidatedReasoning

  /** @internal */
  constructor(run: PlannedRun, config: RunConfig, start: RunStart, view: readonly ViewMessage[]) {
    const fields: CompactionPreview = {
      sessionId: run.snapshot.session.id,
      ...figuresOf(run),
      messages: viewAfter(view, run),
      compactions: run.steps.map((step) => ({
        ...outlineOf(step),
        hides: step.plan.hide.map(({ id }) => id),
        replaces: step.plan.replace.map(({ row, part, text }) => ({ messageId: row.id, part, text })),
        ...(step.plan.insert && { inserts: { kind: step.plan.insert.kind, text: step.plan.insert.text } }),
      })),
      ...(run.pending.length > 0 && { summaryPending: run.pending }),
    }
    Object.assign(this, fields)
    sources.set(this, { run, config, start })
  }
}

/** Returns the source of a preview; `undefined` for an object that only looks like a preview. */
export function planOfPreview(preview: CompactionPreview): PreviewSource | undefined {
  return sources.get(preview)
}

/** Why a run changed nothing. */
export type IdleReason =
  /** The history is already within the target. */
  | 'NOTHING_TO_COMPACT'
  /** The history is over the target, and no stage found anything to remove. */
  | 'NO_PROGRESS'
  /** A summary by a summarizer or a stage was rejected, and there was nothing else to do. */
  | 'SUMMARY_FAILED'
  /** A hook vetoed the run; see `compactions.onBefore`. */
  | 'VETOED'
  /** The run would save less than `minimumSavings`, and the request fits without it. */
  | 'SAVES_TOO_LITTLE'

/** Why a view ends more than 5 % above or below its target. */
export type OffTarget =
  /** Above: the messages that stay are too large, or no enabled stage removes them. */
  | 'KEPT_TOO_LARGE'
  /** Above: a summary by a summarizer or a stage was rejected. */
  | 'SUMMARY_FAILED'
  /** Below: the next message, or the next call with its results, doesn't fit; messages are kept whole. */
  | 'NEXT_TOO_LARGE'
  /** Below: a stage removed everything it found, a model wrote less than it may, or the settings keep fewer messages. */
  | 'REMOVED_MORE'

/** The result of a run. */
export type CompactionResult = {
  /** Whether anything was applied. */
  readonly compacted: boolean
  /** The stages that were used, in order. The emergency cut counts as truncation. */
  readonly stagesUsed: CompactionStage[]
  /** Tokens of the history before and after, by the session's estimator, uncalibrated, and the difference. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly tokensSaved: number
  /** Number of images in the history before and after. */
  readonly imagesBefore: number
  readonly imagesAfter: number
  /** Bytes of its images and files in base64, before and after. */
  readonly mediaBytesBefore: number
  readonly mediaBytesAfter: number
  /** The view after the run. */
  readonly messages: ViewMessage[]
  /** The id of the run, to undo and redo all of it; also present if nothing was applied but something failed. */
  readonly runId: string
  /** The compactions of the run, in order. */
  readonly compactions: CompactionOutline[]
  /** Summaries that were requested and rejected. */
  readonly failed: FailedSummary[]
  /** Tokens, and cost in US dollars, of all requested summaries, accepted or not; absent if no summarizer reported them. */
  readonly usage?: SummaryUsage
  readonly cost?: number
  /** The target of the history in the same tokens; a target in real tokens is converted. */
  readonly targetTokens: number
  /** Whether the history is within the target. */
  readonly reachedTarget: boolean
  /** Why the history ends more than 5 % above or below the target. Absent otherwise, and if nothing was applied. */
  readonly offTarget?: OffTarget
  /** Whether the whole request fits the window and the provider's limits on images and bytes. */
  readonly fits: boolean
  /** Why nothing was applied. */
  readonly reason?: IdleReason
  /** The first row of the view that changed; a provider's cached prefix ends before it. Absent if nothing was applied. */
  readonly firstChanged?: FirstChanged
  /**
   * Reasoning that stays in the view but is no longer sent, because the model checks what precedes it (docs/prompt-cache.md). Absent for
   * other models, and if nothing was applied.
   */
  readonly invalidatedReasoning?: InvalidatedReasoning
}

/** The figures of one compaction of a run. */
export type CompactionOutline = {
  readonly id: string
  readonly kind: CompactionKind
  /** The stage that planned it. */
  readonly stage: string
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly rowsInserted: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The name of the summarizer that wrote the summary; `given` for a text from the caller. */
  readonly summarizer?: string
  /** The model that wrote the summary, as its provider names it. */
  readonly model?: string
  readonly usage?: SummaryUsage
  /** US dollars. */
  readonly cost?: number
  /**
   * What the summarizer replaced: another summarizer whose attempts failed (see `failed`), or the requested provider and model
   * (`vertex:gemini-2.5-flash`) that the summarizer in the settings couldn't use.
   */
  readonly insteadOf?: string
  /** Number of requests and rules that the summary shortens because each alone was too long. Absent if there are none. */
  readonly shortened?: number
  /**
   * Number of lines that were missing from a model's summary and added from the log, and of its lines that are corrected there.
   * Absent if there are none.
   */
  readonly added?: number
  readonly corrected?: number
}

/** A summary that was requested and rejected. */
export type FailedSummary = {
  readonly id: string
  /** `rejected`: it wasn't smaller than the rows it would replace. */
  readonly status: FailedAttempt['status']
  /** A code (of the answer, `ANSWER_PROBLEMS`; or of the call, `SUMMARY_TIMEOUT`, `HTTP_429` and the like), or an error's name. */
  readonly error: string
  readonly summarizer: string
  readonly model?: string
  readonly usage?: SummaryUsage
  readonly cost?: number
}

/** Returns the figures that a preview and a result have in common. */
export function figuresOf(planned: PlannedRun, idle?: IdleReason) {
  const { snapshot, settings, steps, after } = planned
  const tokensBefore = snapshot.view.tokens
  return {
    compacted: steps.length > 0,
    stagesUsed: stagesOf(steps),
    tokensBefore,
    tokensAfter: after.tokens,
    tokensSaved: tokensBefore - after.tokens,
    ...mediaChange(planned),
    targetTokens: settings.targetTokens,
    reachedTarget: after.tokens <= settings.targetTokens,
    fits:
      after.tokens <= settings.limitTokens && isWithinMedia(mediaIn(after, settings), settings.media.limit),
    ...defined({
      reason: idle ?? idleReason(planned),
      offTarget: idle === undefined ? offTarget(planned) : undefined,
      firstChanged: firstChangedOf(snapshot.view, after, planned.cachedTokens),
      invalidatedReasoning: planned.invalidatedReasoning,
    }),
  }
}

/** Returns the stages that planned the steps. The emergency cut is part of truncation. */
function stagesOf(steps: readonly CommitStep[]): CompactionStage[] {
  const names = steps.map(({ plan }) => stageOf(plan))
  return [...new Set(names.map((name) => (name === 'cut' ? 'truncate' : name)))]
}

/** Returns the result of a run: its figures, and the view after the commit. `idle`: why nothing was applied. */
export function resultOf(
  planned: PlannedRun,
  runId: string,
  messages: ViewMessage[],
  idle?: IdleReason,
): CompactionResult {
  return {
    ...figuresOf(planned, idle),
    messages,
    runId,
    compactions: planned.steps.map(outlineOf),
    failed: planned.failed.map(({ id, status, error, summary }) => {
      return { id, status, error, ...writerOf(summary) }
    }),
    ...costOf(planned),
  }
}

/** Returns the figures of a planned compaction. */
export function outlineOf({ id, plan, before, after, summary }: CommitStep): CompactionOutline {
  const { insteadOf } = plan.params
  return {
    id,
    kind: plan.kind,
    stage: stageOf(plan),
    rowsHidden: plan.hide.length,
    partsReplaced: plan.replace.length,
    rowsInserted: plan.insert === undefined ? 0 : 1,
    tokensBefore: before.tokens,
    tokensAfter: after.tokens,
    ...(summary !== undefined && writerOf(summary)),
    ...(summary !== undefined && typeof insteadOf === 'string' && { insteadOf }),
    ...(summary !== undefined && figuresIn(plan.params)),
  }
}

function figuresIn({ shortened, added, corrected }: JsonObject): SummaryNotes {
  const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
  return defined({ shortened: number(shortened), added: number(added), corrected: number(corrected) })
}

function costOf({ steps, failed }: PlannedRun): Pick<CompactionResult, 'usage' | 'cost'> {
  const spent = new SummaryCost()
  for (const { summary } of [...steps, ...failed])
    if (summary !== undefined) spent.add({ text: '', ...writerOf(summary) })
  const { usage, cost } = spent.total('')
  return defined({ usage, cost })
}

function writerOf({ summarizer, model, usage, cost }: SummaryRecord) {
  return { summarizer, ...defined({ model, usage: usage as SummaryUsage | undefined, cost }) }
}

/** Returns why a planned run changes nothing; `undefined` if it changes something. */
function idleReason(planned: PlannedRun): IdleReason | undefined {
  const { steps, failed, isHeldBack, snapshot, settings } = planned
  if (steps.length > 0) return undefined
  if (failed.length > 0) return 'SUMMARY_FAILED'
  if (isHeldBack === true) return 'SAVES_TOO_LITTLE'
  const isDue = isMediaDue(mediaIn(snapshot.view, settings), settings.media)
  return snapshot.view.tokens <= settings.targetTokens && !isDue ? 'NOTHING_TO_COMPACT' : 'NO_PROGRESS'
}

/** Returns why a planned run ends off its target; `undefined` if it doesn't, or changes nothing. */
function offTarget({ steps, failed, after, settings }: PlannedRun): OffTarget | undefined {
  const last = steps.at(-1)
  const { targetTokens } = settings
  if (last === undefined || Math.abs(after.tokens - targetTokens) <= TARGET_TOLERANCE * targetTokens)
    return undefined
  if (after.tokens > targetTokens) return failed.length > 0 ? 'SUMMARY_FAILED' : 'KEPT_TOO_LARGE'
  return newestHidden(last) > targetTokens - after.tokens ? 'NEXT_TOO_LARGE' : 'REMOVED_MORE'
}

/** Returns the tokens of the newest rows that a step hides and that could only be kept together; 0 if it hides none. */
function newestHidden({ plan, before }: CommitStep): number {
  let tokens = 0
  for (const row of plan.hide.toReversed()) {
    tokens += before.tokensOfRow(row)
    const index = before.indexOf(row.key)
    if (index !== undefined && before.turns.isLegalCut(index)) break
  }
  return tokens
}

/** Returns the view with a planned run in force. Messages appended since planning stay at the end. */
function viewAfter(view: readonly ViewMessage[], { steps, snapshot, after }: PlannedRun): ViewMessage[] {
  const { incarnation } = snapshot.session
  const messages = new Map(view.map((message) => [message.id, message] as const))
  for (const { plan, inserted, id, createdAt } of steps) {
    for (const [row, texts] of textsByRow(plan.replace)) {
      const rowId = idIn(row, incarnation)
      const message = messages.get(rowId)
      if (message !== undefined) messages.set(rowId, overlay(message, texts))
    }
    if (inserted === undefined || plan.insert === undefined) continue
    const { kind, role, text, metadata } = plan.insert
    const rowId = idIn(inserted, incarnation)
    messages.set(rowId, {
      id: rowId,
      kind,
      role,
      content: text,
      createdAt,
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(kind === 'summary' ? { condenseId: id } : { truncationId: id, isTruncationMarker: true }),
    })
  }
  const planned = new Set(snapshot.view.rows.map((row) => row.id))
  const kept = after.rows.flatMap((row) => messages.get(idIn(row, incarnation)) ?? [])
  return [...kept, ...view.filter((message) => !planned.has(message.id))]
}

/** Rows that a run inserts have no id yet; it is derived from their place. */
function idIn(
  row: { readonly key: number; readonly id: string; readonly ordinal: number },
  incarnation: string,
): string {
  return row.key < 0 ? `${incarnation}:s${row.ordinal}` : row.id
}

function overlay(message: ViewMessage, texts: ReadonlyMap<number, string>): ViewMessage {
  const replacedParts = [...new Set([...(message.replacedParts ?? []), ...texts.keys()])].sort(
    (a, b) => a - b,
  )
  const content = withReplacements(message.content, (part) => texts.get(part))
  return { ...message, content, replacedParts }
}
