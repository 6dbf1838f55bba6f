import { listIn } from '../../../core/messages/json.ts'
import { type Message, partsOf, type Role, type ViewMessage } from '../../../core/messages/message.ts'
import { withReplacements } from '../../../core/messages/overlay.ts'
import type { CompactionKind } from '../../../core/model/plan.ts'
import type { CompactionPreview, IdleReason, PlannedCompaction } from '../../../store/compaction/result.ts'
import type { PreviewOptions } from '../../../store/config/store-options.ts'
import type { Store } from '../../../store/store.ts'
import { sessionRows, spokenRows } from '../../../transfer/session-rows.ts'
import { mediaOf } from '../../output/figures.ts'
import { viewContent } from '../../output/message-text.ts'
import { tokenCounter } from '../../token-counter.ts'

/** A preview of a compaction, and what it was made for. */
export type ShownPlan = {
  readonly sessionId: string
  /** The provider and the model whose context window applies. */
  readonly provider: string
  readonly model: string | undefined
  /** The estimator of the session. */
  readonly estimator: string
  readonly preview: CompactionPreview
}

/** Previews a compaction; `undefined` for a session without messages. */
export async function makePlan(
  store: Store,
  sessionId: string,
  options: PreviewOptions,
): Promise<ShownPlan | undefined> {
  const preview = await store.previewCompaction(sessionId, options)
  const stats = await store.getContextStats(sessionId, options.provider, options.model)
  if (preview === null || stats === null) return undefined
  const { provider, model, estimator } = stats
  return { sessionId, provider, model, estimator, preview }
}

export type WhyNothing = IdleReason | 'NO_MESSAGES'

/** Why a session was not compacted: the end of the sentence "Nothing to compact: …". */
export const WHY_NOTHING: { readonly [reason in WhyNothing]: string } = {
  NO_MESSAGES: 'there are no messages',
  NOTHING_TO_COMPACT: 'the history is within the target already',
  NO_PROGRESS: 'the history is over the target, but no stage finds anything it may remove',
  SUMMARY_FAILED: 'a summary was not accepted, and there was nothing else to do',
  VETOED: 'a hook vetoed it',
  SAVES_TOO_LITTLE: 'it would save too little',
}

/** What happens to a row of the view. */
export type RowAction = 'hidden' | 'summarized' | 'pruned' | 'shortened' | 'kept'

/** A row of the view, and what a compaction does to it. Tokens of the row alone, by the session's estimator. */
export type PlannedRow = {
  readonly messageId: string
  /** Absent for summaries and markers. */
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

/** A compaction of a plan, with its rows in the view's order. */
export type PlannedStage = Pick<PlannedCompaction, 'stage' | 'kind' | 'tokensBefore' | 'tokensAfter'> & {
  readonly compactionId: string
  readonly rows: readonly PlannedRow[]
  /** The summary or marker to be inserted. `pending`: a model has yet to write it. */
  readonly inserts?: { readonly kind: 'summary' | 'marker'; readonly text: string; readonly pending: boolean }
}

export type CompactionPlan = {
  readonly stages: readonly PlannedStage[]
  readonly kept: readonly PlannedRow[]
}

/** Works out a preview row by row. Reads the whole view, page by page: its texts are much larger than the plan. */
export async function planRows(
  store: Store,
  { sessionId, provider, estimator, preview }: ShownPlan,
): Promise<CompactionPlan> {
  // The store counted with this estimator, so it is built in.
  const tokens = (await tokenCounter(estimator, provider))!
  const session = await store.sessions.get(sessionId)
  async function* view(): AsyncGenerator<ViewMessage> {
    for await (const row of spokenRows(sessionRows(store, session, { visible: true, shown: true })))
      yield { ...row, content: viewContent(row) }
  }
  const isPending = (preview.summaryPending ?? []).length > 0
  return compactionPlan(preview.compactions, view(), tokens.own, isPending)
}

/** A tool by its name, or by the id of its call. */
type Tool = { readonly name: string } | { readonly callId: string }

/** What the compaction at index `at` does to a row. */
type Change = { readonly at: number; readonly texts: Map<number, string>; isHidden: boolean }

/** A row before the names of all tools are known. */
type Draft = Omit<PlannedRow, 'tools'> & { readonly tools: readonly Tool[] }

/** Plans compactions of a view, of which one row at a time is held. `pending`: a model has yet to write the summaries. */
export async function compactionPlan(
  compactions: readonly PlannedCompaction[],
  view: Iterable<ViewMessage> | AsyncIterable<ViewMessage>,
  measure: (message: Pick<Message, 'content'>) => number,
  pending: boolean,
): Promise<CompactionPlan> {
  const changes = changesByRow(compactions)
  const names = new Map<string, string>()
  const planned: Draft[][] = compactions.map(() => [])
  const kept: Draft[] = []
  for await (const message of view) {
    for (const part of partsOf(message))
      if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
    const { id, position, kind, role, content } = message
    const row = {
      messageId: id,
      kind,
      role,
      tools: toolsOf(message),
      ...(position !== undefined && { position }),
    }
    let tokens = measure(message)
    const found = changes.get(id)
    if (found === undefined)
      kept.push({ ...row, action: 'kept', why: '', tokensBefore: tokens, tokensAfter: tokens })
    let shown = content
    // A row is replaced first, in one line however many of its parts are, and then hidden.
    for (const { at, texts, isHidden } of found ?? []) {
      const { stage, kind } = compactions[at]!
      const why = REASONS[stage] ?? REASONS[kind] ?? stage
      if (texts.size > 0) {
        shown = withReplacements(shown, (part) => texts.get(part))
        const tokensAfter = measure({ content: shown })
        const action = replacingAction(compactions[at]!)
        planned[at]!.push({ ...row, action, why, tokensBefore: tokens, tokensAfter })
        tokens = tokensAfter
      }
      if (isHidden) {
        const action = hidingAction(compactions[at]!)
        const whyHidden = action === 'summarized' ? 'replaced by the summary' : why
        planned[at]!.push({ ...row, action, why: whyHidden, tokensBefore: tokens, tokensAfter: 0 })
      }
    }
  }
  const rowOf = ({ tools, ...row }: Draft): PlannedRow => ({ ...row, tools: toolNames(tools, names) })
  const stages = compactions.map(({ id, stage, kind, tokensBefore, tokensAfter, inserts }, at) => ({
    compactionId: id,
    stage,
    kind,
    tokensBefore,
    tokensAfter,
    rows: planned[at]!.map(rowOf),
    ...(inserts && { inserts: { ...inserts, pending: pending && inserts.kind === 'summary' } }),
  }))
  return { stages, kept: kept.map(rowOf) }
}

/** The changes to each row, in the order of the compactions. */
function changesByRow(compactions: readonly PlannedCompaction[]): ReadonlyMap<string, readonly Change[]> {
  const changes = new Map<string, Change[]>()
  const changeOf = (id: string, at: number): Change => {
    const ofRow = listIn(changes, id)
    if (ofRow.at(-1)?.at !== at) ofRow.push({ at, texts: new Map(), isHidden: false })
    return ofRow.at(-1)!
  }
  for (const [at, { replaces, hides }] of compactions.entries()) {
    for (const { messageId, part, text } of replaces) changeOf(messageId, at).texts.set(part, text)
    for (const id of hides) changeOf(id, at).isHidden = true
  }
  return changes
}

/** What a compaction does to rows for which it shows other texts. */
export function replacingAction({ kind }: PlannedCompaction): RowAction {
  return kind === 'prune' ? 'pruned' : 'shortened'
}

/** What a compaction does to rows that it hides. */
export function hidingAction({ inserts }: PlannedCompaction): RowAction {
  return inserts?.kind === 'summary' ? 'summarized' : 'hidden'
}

const REASONS: { readonly [stage in string | CompactionKind]?: string } = {
  prune: 'an old tool output',
  clear_tool_results: 'an old tool output',
  deduplicate: 'the same is read again later',
  truncate: 'among the oldest turns',
  sliding_window: 'before the window of newest messages',
  priority_based: 'worth least',
  drop_reasoning: 'old reasoning',
  cut: 'too long for the remaining room',
}

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

/** A plan for programs, as docs/cli-compact.md describes it. */
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
    ...mediaOf(preview),
    targetTokens: preview.targetTokens,
    reachedTarget: preview.reachedTarget,
    offTarget: preview.offTarget ?? null,
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
    invalidatedReasoning: preview.invalidatedReasoning ?? null,
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
