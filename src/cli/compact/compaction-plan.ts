import type { PlannedCompaction } from '../../compaction/preview.ts'
import { type Message, partsOf, type Role, type ViewMessage } from '../../core/message.ts'
import { withReplacements } from '../../core/overlay.ts'
import type { CompactionKind } from '../../core/plan.ts'

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

/** What is known of a row while a plan is read, stage after stage. */
type Shown = { readonly message: ViewMessage; readonly tools: readonly string[]; content: Message['content'] }

/**
 * A preview row by row. `view` is the view as it is; `pending` says that a model is still to write what summaries say. Pure.
 */
export function compactionPlan(
  compactions: readonly PlannedCompaction[],
  view: readonly ViewMessage[],
  measure: Measure,
  pending: boolean,
): CompactionPlan {
  const names = toolNames(view)
  const rows = new Map<string, Shown>(
    view.map((message) => [
      message.id,
      { message, tools: toolsOf(message, names), content: message.content },
    ]),
  )
  const order = new Map(view.map(({ id }, at) => [id, at] as const))
  const touched = new Set<string>()
  const stages = compactions.map((compaction): PlannedStage => {
    const replaced = replacedRows(compaction, rows, measure)
    const hidden = hiddenRows(compaction, rows, measure)
    const planned = [...replaced, ...hidden].sort((a, b) => order.get(a.messageId)! - order.get(b.messageId)!)
    for (const { messageId } of planned) touched.add(messageId)
    const { id: compactionId, stage, kind, tokensBefore, tokensAfter, inserts } = compaction
    return {
      compactionId,
      stage,
      kind,
      tokensBefore,
      tokensAfter,
      rows: planned,
      ...(inserts && { inserts: { ...inserts, pending: pending && inserts.kind === 'summary' } }),
    }
  })
  const kept = view.filter(({ id }) => !touched.has(id)).map(({ id }) => keptRow(rows.get(id)!, measure))
  return { stages, kept }
}

function keptRow({ message, tools }: Shown, measure: Measure): PlannedRow {
  const tokens = measure(message)
  return { ...rowOf(message, tools), action: 'kept', why: '', tokensBefore: tokens, tokensAfter: tokens }
}

function rowOf({ id, position, kind, role }: ViewMessage, tools: readonly string[]) {
  return { messageId: id, kind, role, tools, ...(position !== undefined && { position }) }
}

/** Rows that show other texts, each once however many of its parts do. */
function replacedRows(
  { stage, kind, replaces }: PlannedCompaction,
  rows: ReadonlyMap<string, Shown>,
  measure: Measure,
): PlannedRow[] {
  const texts = new Map<string, Map<number, string>>()
  for (const { messageId, part, text } of replaces) {
    const parts = texts.get(messageId) ?? new Map<number, string>()
    texts.set(messageId, parts.set(part, text))
  }
  return [...texts].flatMap(([id, parts]) => {
    const row = rows.get(id)
    if (row === undefined) return []
    const tokensBefore = measure(row)
    row.content = withReplacements(row.content, (part) => parts.get(part))
    const action = kind === 'prune' ? ('pruned' as const) : ('shortened' as const)
    const why = REASONS[stage] ?? REASONS[kind] ?? stage
    return [{ ...rowOf(row.message, row.tools), action, why, tokensBefore, tokensAfter: measure(row) }]
  })
}

/** Rows that go. One that an earlier stage of the same run inserts is no row of the view, and has no line. */
function hiddenRows(
  { stage, kind, hides, inserts }: PlannedCompaction,
  rows: ReadonlyMap<string, Shown>,
  measure: Measure,
): PlannedRow[] {
  const isSummarized = inserts?.kind === 'summary'
  return hides.flatMap((id) => {
    const row = rows.get(id)
    if (row === undefined) return []
    const why = isSummarized ? 'stands in the summary' : (REASONS[stage] ?? REASONS[kind] ?? stage)
    const action = isSummarized ? ('summarized' as const) : ('hidden' as const)
    return [{ ...rowOf(row.message, row.tools), action, why, tokensBefore: measure(row), tokensAfter: 0 }]
  })
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

/** Names of tools by the ids of their calls. */
function toolNames(view: readonly ViewMessage[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const message of view)
    for (const part of partsOf(message))
      if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
  return names
}

function toolsOf(message: ViewMessage, names: ReadonlyMap<string, string>): string[] {
  const tools = partsOf(message).flatMap((part) => {
    if (part.type === 'tool-call') return [part.toolName]
    if (part.type !== 'tool-result') return []
    return [part.toolName ?? names.get(part.toolCallId) ?? 'a tool']
  })
  return [...new Set(tools)]
}
