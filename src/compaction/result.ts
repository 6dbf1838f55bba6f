import type { ViewMessage } from '../messages/message.ts'
import { textsByRow, withReplacements } from '../messages/overlay.ts'
import { type CompactionKind, type CompactionStage, stageOf } from '../model/plan.ts'
import { type FirstChanged, firstChangedOf } from '../model/prompt-cache.ts'
import type { CommitStep, FailedAttempt, SummaryRecord } from '../storage/storage.ts'
import type { SummaryUsage } from '../summarizers/summarizer.ts'
import type { PlannedRun } from './run-draft.ts'
import { Bill } from './write-summary.ts'

/** Why nothing was done. */
export type IdleReason =
  /** The history is within the target already. */
  | 'NOTHING_TO_COMPACT'
  /** It is over the target, and no stage found anything it may take. */
  | 'NO_PROGRESS'
  /** A summary, by a summarizer or of a stage's own, was not accepted, and nothing else was to be done. */
  | 'SUMMARY_FAILED'
  /** A hook that was asked before the commit said no; see `onBeforeCompaction`. */
  | 'VETOED'
  /** It would save less than `minimumSavings`, and the request fits as it is. */
  | 'SAVES_TOO_LITTLE'

/** What a run did: seed 003's fields first. */
export type CompactionResult = {
  /** Whether anything was applied. */
  readonly compacted: boolean
  /** Which stages were used, in order. The emergency cut counts as truncation. */
  readonly stagesUsed: CompactionStage[]
  /** Tokens of the history before and after by the session's estimator, uncalibrated, and the difference. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly tokensSaved: number
  /** The effective history afterwards. */
  readonly messages: ViewMessage[]
  /** The run's id, for undo and redo of all of it; also when nothing was applied but something failed. */
  readonly runId: string
  /** The compactions it is made of, in order. */
  readonly compactions: CompactionOutline[]
  /** Summaries that were asked for and not accepted. */
  readonly failed: FailedSummary[]
  /** Tokens and money (US dollars) of all summaries that were asked for, taken or not; absent where nobody said. */
  readonly usage?: SummaryUsage
  readonly cost?: number
  /** What the history was to come down to, in the same tokens: a target in true ones is turned into them. */
  readonly targetTokens: number
  /** Whether the history is within the target. */
  readonly reachedTarget: boolean
  /** Whether the whole request fits the window. */
  readonly fits: boolean
  /** Why nothing was applied. */
  readonly reason?: IdleReason
  /** The first row of the view that was changed: a provider's cached prefix ends before it. Absent when nothing was applied. */
  readonly firstChanged?: FirstChanged
}

/** One compaction of a run, in figures. */
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
  /** Who wrote the summary, by its name; `given` for a text of the caller's. */
  readonly summarizer?: string
  /** The model that wrote it, as its provider names it. */
  readonly model?: string
  readonly usage?: SummaryUsage
  /** US dollars. */
  readonly cost?: number
  /**
   * Who was to write it and did not: a summarizer whose attempts failed (they stand in `failed`), or the provider and model that were
   * asked for (`vertex:gemini-2.5-flash`) and that nobody could use.
   */
  readonly insteadOf?: string
}

/** A summary that was asked for and not taken. */
export type FailedSummary = {
  readonly id: string
  /** `rejected`: it was no smaller than what it stands for. */
  readonly status: FailedAttempt['status']
  /** A code: of the answer (`ANSWER_PROBLEMS`), of the call (`SUMMARY_TIMEOUT`, `HTTP_429` and the like), or an error's name. */
  readonly error: string
  readonly summarizer: string
  readonly model?: string
  readonly usage?: SummaryUsage
  readonly cost?: number
}

/** What a run's caller is told: its figures, and the view as it is after the commit. `idle`: why nothing of the plan was applied. */
export function resultOf(
  planned: PlannedRun,
  runId: string,
  messages: ViewMessage[],
  idle?: IdleReason,
): CompactionResult {
  const { snapshot, settings } = planned
  const tokensBefore = snapshot.view.tokens
  const tokensAfter = planned.after.tokens
  const reason = idle ?? idleReason(planned)
  const firstChanged = firstChangedOf(snapshot.view, planned.after, planned.cachedTokens)
  return {
    compacted: planned.steps.length > 0,
    stagesUsed: [...planned.stagesUsed],
    tokensBefore,
    tokensAfter,
    tokensSaved: tokensBefore - tokensAfter,
    messages,
    runId,
    compactions: planned.steps.map(outlineOf),
    failed: planned.failed.map(failedSummary),
    ...spentOn(planned),
    targetTokens: settings.targetTokens,
    reachedTarget: tokensAfter <= settings.targetTokens,
    fits: tokensAfter <= settings.limitTokens,
    ...(reason !== undefined && { reason }),
    ...(firstChanged !== undefined && { firstChanged }),
  }
}

/** A planned compaction, in figures. */
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
  }
}

function failedSummary({ id, status, error, summary }: FailedAttempt): FailedSummary {
  return { id, status, error, ...writerOf(summary) }
}

/** What all summaries of a run cost, taken or not. */
function spentOn({ steps, failed }: PlannedRun): Pick<CompactionResult, 'usage' | 'cost'> {
  const bill = new Bill()
  for (const { summary } of [...steps, ...failed])
    if (summary !== undefined) bill.add({ text: '', ...writerOf(summary) })
  const { usage, cost } = bill.total('')
  return { ...(usage !== undefined && { usage }), ...(cost !== undefined && { cost }) }
}

function writerOf({ summarizer, model, usage, cost }: SummaryRecord) {
  return {
    summarizer,
    ...(model !== undefined && { model }),
    ...(usage !== undefined && { usage: usage as SummaryUsage }),
    ...(cost !== undefined && { cost }),
  }
}

/** Why a planned run changes nothing; `undefined` when it changes something. */
export function idleReason({
  steps,
  failed,
  heldBack,
  snapshot,
  settings,
}: PlannedRun): IdleReason | undefined {
  if (steps.length > 0) return undefined
  if (failed.length > 0) return 'SUMMARY_FAILED'
  if (heldBack === true) return 'SAVES_TOO_LITTLE'
  return snapshot.view.tokens <= settings.targetTokens ? 'NOTHING_TO_COMPACT' : 'NO_PROGRESS'
}

/**
 * The view as it would be with a planned run in force, made of the view as it is. What was appended since the
 * plan stays at the end.
 */
export function viewAfter(
  view: readonly ViewMessage[],
  { steps, snapshot, after }: PlannedRun,
): ViewMessage[] {
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

/** Rows that a run is about to insert have no id yet; it is the one their place gives them. */
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
