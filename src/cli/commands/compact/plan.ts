import { listIn } from '../../../core/messages/json.ts'
import { type Message, partsOf, type Role, type ViewMessage } from '../../../core/messages/message.ts'
import { withReplacements } from '../../../core/messages/overlay.ts'
import type { CompactionKind } from '../../../core/model/plan.ts'
import type {
  CompactionPreview,
  IdleReason,
  OffTarget,
  PlannedCompaction,
} from '../../../store/compaction/result.ts'
import type { PreviewOptions } from '../../../store/config/store-options.ts'
import type { Store } from '../../../store/store.ts'
import { positionWords } from '../../../transfer/document/options.ts'
import { sessionRows, spokenRows } from '../../../transfer/session-rows.ts'
import type { Output, Style } from '../../command.ts'
import {
  count,
  counted,
  fromTo,
  listing,
  mediaOf,
  mediaText,
  percent,
  reasoningText,
} from '../../output/figures.ts'
import { paragraph, sentence, widthOf } from '../../output/layout.ts'
import { viewContent } from '../../output/message-text.ts'
import { nulled, safeLine } from '../../output/safe-text.ts'
import { type Column, table } from '../../output/table.ts'
import { tokenCounter } from '../../token-counter.ts'

/** A preview of a compaction, and the session and the model that it was made for. */
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

export type IdleCause = IdleReason | 'NO_MESSAGES'

/** Why a session was not compacted: the end of the sentence "Nothing to compact: …". */
export const IDLE_REASONS: { readonly [reason in IdleCause]: string } = {
  NO_MESSAGES: 'there are no messages',
  NOTHING_TO_COMPACT: 'the history is already within the target',
  NO_PROGRESS: 'the history is over the target, but no stage found anything that it may remove',
  SUMMARY_FAILED: 'a summary was rejected, and there was nothing else to do',
  VETOED: 'a hook vetoed it',
  SAVES_TOO_LITTLE: 'it would save too few tokens',
}

/** What happens to a row of the view. */
type RowAction = 'hidden' | 'summarized' | 'pruned' | 'shortened' | 'kept'

/** A row of the view, and what a compaction does to it. Tokens of the row alone, by the session's estimator. */
type PlannedRow = {
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
type PlannedStage = Pick<PlannedCompaction, 'stage' | 'kind' | 'tokensBefore' | 'tokensAfter'> & {
  readonly compactionId: string
  readonly rows: readonly PlannedRow[]
  /** The summary or marker to be inserted. `pending`: a model has yet to write it. */
  readonly inserts?: { readonly kind: 'summary' | 'marker'; readonly text: string; readonly pending: boolean }
}

type CompactionPlan = {
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

/** Plans the compactions of a view, holding one row in memory at a time. `pending`: a model has yet to write the summaries. */
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
function replacingAction({ kind }: PlannedCompaction): RowAction {
  return kind === 'prune' ? 'pruned' : 'shortened'
}

/** What a compaction does to rows that it hides. */
function hidingAction({ inserts }: PlannedCompaction): RowAction {
  return inserts?.kind === 'summary' ? 'summarized' : 'hidden'
}

const REASONS: { readonly [stage in string | CompactionKind]?: string } = {
  prune: 'an old tool output',
  clear_tool_results: 'an old tool output',
  deduplicate: 'read again later',
  truncate: 'among the oldest turns',
  sliding_window: 'before the window of newest messages',
  priority_based: 'lowest priority',
  drop_reasoning: 'old reasoning',
  cut: 'too long for the remaining space',
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
  const { reason, tokensBefore, tokensAfter, tokensSaved, firstChanged, summaryPending = [] } = preview
  const { targetTokens, reachedTarget, offTarget, fits, invalidatedReasoning = null } = preview
  const { position: firstChangedPosition, cachedTokens, tokensGivenUp, source } = firstChanged ?? {}
  return {
    ...nulled({ session: sessionId, provider, model, reason, tokensBefore, tokensAfter, tokensSaved }),
    ...mediaOf(preview),
    ...nulled({ targetTokens, reachedTarget, offTarget, fits }),
    cache: firstChanged ? { firstChangedPosition, cachedTokens, tokensGivenUp, source } : null,
    invalidatedReasoning,
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

const COLUMNS: readonly Column[] = [
  { title: 'POSITION', align: 'right' },
  { title: 'WHO', flexible: 'clip' },
  { title: 'WHAT HAPPENS' },
  { title: 'WHY', flexible: 'clip' },
  { title: 'BEFORE', align: 'right' },
  { title: 'AFTER', align: 'right' },
  { title: 'SAVED', align: 'right' },
]

/** Lines of a summary that a terminal shows without `--full`. */
const SUMMARY_LINES = 12

/** The whole plan, row by row and grouped by stage, and the rows that stay. */
export function planLines(
  shown: ShownPlan,
  { stages, kept }: CompactionPlan,
  output: Output,
  isFull: boolean,
): string[] {
  const { preview } = shown
  const most = isFull || !output.out.isTerminal ? Number.POSITIVE_INFINITY : SUMMARY_LINES
  return [
    ...headLines(shown, output),
    ...preview.compactions.flatMap((compaction, at) => [
      '',
      ...titleLines(compaction, output),
      ...rowTable(stages[at]!, output),
      ...insertLines(stages[at]!, preview, output, most),
    ]),
    ...keptLines(kept, output),
    '',
    ...totalLines(preview, output),
  ]
}

/** A line per stage, and the totals, as shown before the question. */
export function shortPlanLines(shown: ShownPlan, output: Output): string[] {
  const stages = shown.preview.compactions.flatMap((compaction) => titleLines(compaction, output, '  '))
  return [...headLines(shown, output), ...stages, ...totalLines(shown.preview, output)]
}

function headLines({ sessionId, provider, model }: ShownPlan, output: Output): string[] {
  const { bold, cyan } = output.style
  const window = model === undefined ? provider : `${provider}/${model}`
  return mixedLine(
    [[bold, 'Plan'], ' for session ', [cyan, sessionId], `, for the window of ${window}`],
    output,
  )
}

function titleLines(compaction: PlannedCompaction, output: Output, indent = ''): string[] {
  const { bold, green } = output.style
  const { stage, tokensBefore, tokensAfter, replaces, rowsHidden } = compaction
  const replaced = new Set(replaces.map(({ messageId }) => messageId)).size
  const actions = listing(
    replaced > 0 && `${counted(replaced, 'row')} ${replacingAction(compaction)}`,
    rowsHidden > 0 && `${counted(rowsHidden, 'row')} ${hidingAction(compaction)}`,
  )
  const figures = `  ${actions}  ${fromTo(tokensBefore, tokensAfter)}, `
  return mixedLine(
    [[bold, stage], figures, [green, `saves ${count(tokensBefore - tokensAfter)}`]],
    output,
    indent,
  )
}

const COLORS: { readonly [action in RowAction]: keyof Style } = {
  hidden: 'red',
  summarized: 'magenta',
  pruned: 'yellow',
  shortened: 'yellow',
  kept: 'green',
}

function rowTable(stage: PlannedStage, { out, style }: Output): string[] {
  const rows = stage.rows.map(({ position, kind, role, tools, action, why, tokensBefore, tokensAfter }) => [
    position === undefined ? kind : String(position),
    kind === 'message' ? [role, tools.join(', ')].join(' ').trim() : kind,
    { text: action, style: style[COLORS[action]] },
    { text: why, style: style.dim },
    count(tokensBefore),
    count(tokensAfter),
    count(tokensBefore - tokensAfter),
  ])
  return table(COLUMNS, rows, out, style)
}

/** The text to be inserted, or a description of the summary that a model would write. */
function insertLines(
  { inserts }: PlannedStage,
  preview: CompactionPreview,
  { out, style }: Output,
  most: number,
): string[] {
  if (inserts === undefined) return []
  if (inserts.pending)
    return (preview.summaryPending ?? []).flatMap(({ summarizer, messages, inputTokens, maxTokens }) =>
      sentence(
        `summary pending: ${summarizer} would read ${counted(messages.length, 'message')} (${count(inputTokens)} tokens) and write up to ${count(maxTokens)} tokens; the figures assume the maximum`,
        out,
        style.yellow,
      ),
    )
  const lines = paragraph(inserts.text, out, '  ')
  const left = lines.length - most
  return [
    '',
    style.bold(`the ${inserts.kind} to be inserted`),
    ...lines.slice(0, most).map((line) => style.dim(line)),
    ...(left > 0 ? [style.dim(`  … ${counted(left, 'more line')}; --full shows all`)] : []),
  ]
}

/** The rows that stay, most of a session, with neighbors combined. */
function keptLines(kept: readonly PlannedRow[], output: Output): string[] {
  if (kept.length === 0) return []
  const { out, style } = output
  const tokens = kept.reduce((sum, row) => sum + row.tokensAfter, 0)
  const figures = `  ${counted(kept.length, 'row')}  ${count(tokens)} tokens`
  return [
    '',
    ...mixedLine([[style.bold, 'kept'], figures], output),
    ...sentence(rowsText(kept), out, style.dim, '  '),
  ]
}

/** `positions 1–4, 9, one summary`. */
function rowsText(rows: readonly PlannedRow[]): string {
  const ranges: [number, number][] = []
  const others: string[] = []
  for (const { position, kind } of rows) {
    const last = ranges.at(-1)
    if (position === undefined) others.push(`one ${kind}`)
    else if (last !== undefined && position === last[1] + 1) last[1] = position
    else ranges.push([position, position])
  }
  return [...(ranges.length > 0 ? [positionWords(ranges)] : []), ...others].join(', ')
}

/** Why the history ends more than 5 % off its target. */
const OFF_TARGET_REASONS: { readonly [W in OffTarget]: string } = {
  KEPT_TOO_LARGE: 'the rows that stay are larger',
  SUMMARY_FAILED: 'a summary was rejected',
  NEXT_TOO_LARGE: 'the next message would not fit',
  REMOVED_MORE: 'a stage removes more than needed, or the settings keep less',
}

/** Tokens before and after, the target, whether the request fits, and what the run invalidates. */
function totalLines(preview: CompactionPreview, output: Output): string[] {
  const { bold, green, yellow, red, dim } = output.style
  const { tokensBefore, tokensAfter, tokensSaved, targetTokens, reachedTarget, fits } = preview
  const { firstChanged } = preview
  const share = tokensBefore === 0 ? 0 : tokensSaved / tokensBefore
  const figures = `  history ${fromTo(tokensBefore, tokensAfter)}, saves ${count(tokensSaved)} (${percent(share)})${mediaText(preview)}`
  const target: Piece = reachedTarget ? [green, 'reached'] : [yellow, 'not reached']
  const why = preview.offTarget === undefined ? '' : ` (${OFF_TARGET_REASONS[preview.offTarget]})`
  const fit: Piece = fits ? [green, 'fits the window'] : [red, "doesn't fit the window"]
  const lines = [
    ...mixedLine([[bold, 'total'], figures], output),
    ...mixedLine(
      [`target ${count(targetTokens)} tokens: `, target, `${why}; the request `, fit],
      output,
      '  ',
    ),
  ]
  if (firstChanged !== undefined && firstChanged.tokensGivenUp > 0) {
    const { position, cachedTokens, tokensGivenUp, source } = firstChanged
    const known = source === 'reported' ? 'reported by the provider' : 'estimated'
    const text = `prompt cache: the history changes from position ${position} on; ${count(tokensGivenUp)} of ${count(cachedTokens)} cached tokens are invalidated (${known})`
    for (const line of sentence(text, output.out, dim, '  ')) lines.push(line)
  }
  const reasoning = reasoningText(preview)
  if (reasoning !== '') {
    const text = `reasoning: ${reasoning} after that position, because this model checks the messages before it`
    for (const line of sentence(text, output.out, dim, '  ')) lines.push(line)
  }
  return lines
}

/** A piece of a line: stored text, made safe here, and its style. */
type Piece = string | readonly [style: (text: string) => string, text: string]

/** A line of several styles. If it does not fit the terminal it is wrapped without styles. */
function mixedLine(pieces: readonly Piece[], { out }: Output, indent = ''): string[] {
  const texts = pieces.map((piece) => safeLine(typeof piece === 'string' ? piece : piece[1]))
  const plain = texts.join('')
  if (out.isTerminal && widthOf(plain) + widthOf(indent) > out.columns) return paragraph(plain, out, indent)
  const styled = pieces.map((piece, at) => (typeof piece === 'string' ? texts[at]! : piece[0](texts[at]!)))
  return [indent + styled.join('')]
}
