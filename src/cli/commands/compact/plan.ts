import type { CompactionPreview, PlannedCompaction } from '../../../compaction/preview.ts'
import type { IdleReason } from '../../../compaction/result.ts'
import type { PreviewOptions } from '../../../config/store-options.ts'
import { type Message, partsOf, type Role, type ViewMessage } from '../../../messages/message.ts'
import { withReplacements } from '../../../messages/overlay.ts'
import type { CompactionKind } from '../../../model/plan.ts'
import type { SqliteStore } from '../../../store/open.ts'
import { sessionRows } from '../../../transfer/session-rows.ts'
import { viewContent } from '../../output/message-text.ts'
import { tokenCounter } from '../../token-counter.ts'
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

/** What becomes of a row of the view. */
export type RowAction = 'hidden' | 'summarized' | 'pruned' | 'shortened' | 'kept'

/** One row of the view, and what a compaction does to it. Tokens of the row alone, by the session's estimator. */
export type PlannedRow = {
  readonly messageId: string
  /** Place in the log; absent on summaries and markers. */
  readonly position?: number
  readonly kind: ViewMessage['kind']
  readonly role: Role
  /** Tools whose results or calls it holds. */
  readonly tools: readonly string[]
  readonly action: RowAction
  readonly why: string
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** One compaction of a plan, with its rows in the view's order. */
export type PlannedStage = {
  readonly compactionId: string
  readonly stage: string
  readonly kind: CompactionKind
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly rows: readonly PlannedRow[]
  /** The summary or marker that comes. `pending`: a model is still to write it. */
  readonly inserts?: { readonly kind: 'summary' | 'marker'; readonly text: string; readonly pending: boolean }
}

export type CompactionPlan = {
  readonly stages: readonly PlannedStage[]
  readonly kept: readonly PlannedRow[]
}

/** Tokens of one message. */
type Measure = (message: Pick<Message, 'content'>) => number

/** A tool by its name, or by the id of its call. */
type Tool = { readonly name: string } | { readonly callId: string }

/** What a compaction of the plan does to one row. */
type Touch = { readonly at: number; readonly texts: Map<number, string>; isHidden: boolean }

/** A row before all names of tools are known. */
type Draft = Omit<PlannedRow, 'tools'> & { readonly named: readonly Tool[] }

/**
 * A preview row by row. `view` is the view as it is, of which one row at a time is held; `pending` says that a model is still to write what
 * summaries say. Pure.
 */
export async function compactionPlan(
  compactions: readonly PlannedCompaction[],
  view: Iterable<ViewMessage> | AsyncIterable<ViewMessage>,
  measure: Measure,
  pending: boolean,
): Promise<CompactionPlan> {
  const touches = touchesOf(compactions)
  const names = new Map<string, string>()
  const planned: Draft[][] = compactions.map(() => [])
  const kept: Draft[] = []
  for await (const message of view) {
    for (const part of partsOf(message))
      if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
    const touched = touches.get(message.id)
    if (touched === undefined) kept.push(keptRow(message, measure))
    else
      for (const [at, draft] of touchedRows(message, touched, compactions, measure)) planned[at]!.push(draft)
  }
  const rowOf = ({ messageId, kind, role, named, ...rest }: Draft): PlannedRow => ({
    messageId,
    kind,
    role,
    tools: toolNames(named, names),
    ...rest,
  })
  const stages = compactions.map((compaction, at): PlannedStage => {
    const { id: compactionId, stage, kind, tokensBefore, tokensAfter, inserts } = compaction
    return {
      compactionId,
      stage,
      kind,
      tokensBefore,
      tokensAfter,
      rows: planned[at]!.map(rowOf),
      ...(inserts && { inserts: { ...inserts, pending: pending && inserts.kind === 'summary' } }),
    }
  })
  return { stages, kept: kept.map(rowOf) }
}

/** By row what is done to it, in the order in which it is done. */
function touchesOf(compactions: readonly PlannedCompaction[]): ReadonlyMap<string, readonly Touch[]> {
  const touches = new Map<string, Touch[]>()
  const touch = (id: string, at: number): Touch => {
    const known = touches.get(id) ?? []
    const last = known.at(-1)
    if (last?.at === at) return last
    const added: Touch = { at, texts: new Map(), isHidden: false }
    touches.set(id, known)
    known.push(added)
    return added
  }
  for (const [at, { replaces, hides }] of compactions.entries()) {
    for (const { messageId, part, text } of replaces) touch(messageId, at).texts.set(part, text)
    for (const id of hides) touch(id, at).isHidden = true
  }
  return touches
}

function keptRow(message: ViewMessage, measure: Measure): Draft {
  const tokens = measure(message)
  return { ...placeOf(message), action: 'kept', why: '', tokensBefore: tokens, tokensAfter: tokens }
}

function placeOf(message: ViewMessage) {
  const { id, position, kind, role } = message
  return { messageId: id, kind, role, named: toolsOf(message), ...(position !== undefined && { position }) }
}

/**
 * A row by each compaction that does something to it: first it shows other texts, once however many of its parts do, then it goes. One that an
 * earlier stage of the same run inserts is no row of the view, and has no line.
 */
function touchedRows(
  message: ViewMessage,
  touched: readonly Touch[],
  compactions: readonly PlannedCompaction[],
  measure: Measure,
): [number, Draft][] {
  const place = placeOf(message)
  let { content } = message
  let tokens = measure(message)
  return touched.flatMap(({ at, texts, isHidden }) => {
    const { stage, kind } = compactions[at]!
    const drafts: [number, Draft][] = []
    const why = REASONS[stage] ?? REASONS[kind] ?? stage
    if (texts.size > 0) {
      const tokensBefore = tokens
      content = withReplacements(content, (part) => texts.get(part))
      tokens = measure({ content })
      const action = replacingAction(compactions[at]!)
      drafts.push([at, { ...place, action, why, tokensBefore, tokensAfter: tokens }])
    }
    if (isHidden) {
      const action = hidingAction(compactions[at]!)
      const whyHidden = action === 'summarized' ? 'stands in the summary' : why
      drafts.push([at, { ...place, action, why: whyHidden, tokensBefore: tokens, tokensAfter: 0 }])
    }
    return drafts
  })
}

/** What becomes of rows that a compaction shows differently. */
export function replacingAction({ kind }: PlannedCompaction): RowAction {
  return kind === 'prune' ? 'pruned' : 'shortened'
}

/** What becomes of rows that a compaction hides. */
export function hidingAction({ inserts }: PlannedCompaction): RowAction {
  return inserts?.kind === 'summary' ? 'summarized' : 'hidden'
}

const REASONS: { readonly [stageOrKind: string]: string } = {
  prune: 'an old tool output',
  clear_tool_results: 'an old tool output',
  deduplicate: 'the same is read again later',
  truncate: 'among the oldest turns',
  sliding_window: 'before the window of newest messages',
  priority_based: 'worth least',
  drop_reasoning: 'old reasoning',
  cut: 'too long for what is left',
}

/** The tools whose calls or results a row holds. */
function toolsOf(message: ViewMessage): Tool[] {
  return partsOf(message).flatMap((part): Tool | readonly Tool[] => {
    if (part.type === 'tool-call') return { name: part.toolName }
    if (part.type !== 'tool-result') return []
    return part.toolName === undefined ? { callId: part.toolCallId } : { name: part.toolName }
  })
}

function toolNames(tools: readonly Tool[], names: ReadonlyMap<string, string>): string[] {
  return [...new Set(tools.map((one) => ('name' in one ? one.name : (names.get(one.callId) ?? 'a tool'))))]
}

/** A preview of a compaction; `undefined` for a session without messages. */
export async function makePlan(
  store: SqliteStore,
  sessionId: string,
  config: PreviewOptions,
): Promise<ShownPlan | undefined> {
  const preview = await store.previewCompaction(sessionId, config)
  const stats = await store.getContextStats(sessionId, config.provider, config.model)
  if (preview === null || stats === null) return undefined
  const { provider, model, estimator } = stats
  return { sessionId, provider, model, estimator, preview }
}

/** What a preview means row by row. Reads the whole view. */
export async function planRows(
  store: SqliteStore,
  { sessionId, provider, estimator, preview }: ShownPlan,
): Promise<CompactionPlan> {
  // The store has counted by it, so it is one of ours.
  const tokens = (await tokenCounter(estimator, provider))!
  const view = await viewOf(store, sessionId)
  return await compactionPlan(preview.compactions, view, tokens.own, isPending(preview))
}

/** The view as it is, a page at a time: of a long one its texts are much more than its plan. */
async function viewOf(store: SqliteStore, sessionId: string): Promise<AsyncIterable<ViewMessage>> {
  const session = await store.getSession(sessionId)
  return (async function* () {
    for await (const row of sessionRows(store, session, { visible: true, shown: true }))
      yield { ...row, content: viewContent(row) }
  })()
}

function isPending({ summaryPending = [] }: CompactionPreview): boolean {
  return summaryPending.length > 0
}

/** A plan for programs: docs/cli-compact.md has the shape. */
export function planJson({ sessionId, provider, model, preview }: ShownPlan, plan: CompactionPlan) {
  const { firstChanged: first, summaryPending = [] } = preview
  return {
    session: sessionId,
    provider,
    model: model ?? null,
    reason: preview.reason ?? null,
    tokensBefore: preview.tokensBefore,
    tokensAfter: preview.tokensAfter,
    tokensSaved: preview.tokensSaved,
    targetTokens: preview.targetTokens,
    reachedTarget: preview.reachedTarget,
    fits: preview.fits,
    cache:
      first === undefined
        ? null
        : {
            firstChangedPosition: first.position,
            cachedTokens: first.cachedTokens,
            tokensGivenUp: first.tokensGivenUp,
            source: first.source,
          },
    stages: plan.stages.map(({ compactionId, rows, inserts, ...stage }) => ({
      compaction: compactionId,
      ...stage,
      rows: rows.map(rowJson),
      inserts: inserts ?? null,
    })),
    kept: plan.kept.map(rowJson),
    summaryPending: summaryPending.map(({ summarizer, messages, inputTokens, maxTokens }) => ({
      summarizer,
      messages: messages.length,
      inputTokens,
      maxTokens,
    })),
  }
}

function rowJson({ messageId, position, why, ...row }: PlannedRow) {
  return { id: messageId, position: position ?? null, ...row, why: why === '' ? null : why }
}

/** What there is to show of a compaction that is not made yet. */
export type ShownPlan = {
  readonly sessionId: string
  /** Whose window it is made for. */
  readonly provider: string
  readonly model: string | undefined
  /** Counts the tokens of the session. */
  readonly estimator: string
  readonly preview: CompactionPreview
}
