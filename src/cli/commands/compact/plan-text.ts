import type { CompactionPreview, PlannedCompaction } from '../../../compaction/preview.ts'
import { positionWords } from '../../../transfer/document/options.ts'
import type { Context, Sink, Style } from '../../command.ts'
import { count, counted, percent } from '../../output/figures.ts'
import { paragraph, widthOf } from '../../output/layout.ts'
import { safeLine } from '../../output/safe-text.ts'
import { type Column, table } from '../../output/table.ts'
import {
  type CompactionPlan,
  hidingAction,
  type PlannedRow,
  type PlannedStage,
  type RowAction,
  replacingAction,
  type ShownPlan,
} from './plan.ts'

const COLUMNS: readonly Column[] = [
  { title: 'POSITION', align: 'right' },
  { title: 'WHO', flexible: 'clip' },
  { title: 'WHAT HAPPENS' },
  { title: 'WHY', flexible: 'clip' },
  { title: 'BEFORE', align: 'right' },
  { title: 'AFTER', align: 'right' },
  { title: 'SAVED', align: 'right' },
]

/** Lines of a summary that a terminal shows when nobody asks for all. */
const SUMMARY_LINES = 12

/** The whole plan, row by row, grouped by stage, and what stays. With `isFull` a terminal shows a summary's whole text too. */
export function planText(
  shown: ShownPlan,
  plan: CompactionPlan,
  { out, style }: Pick<Context, 'out' | 'style'>,
  isFull: boolean,
): string {
  const { preview } = shown
  const most = isFull || !out.isTerminal ? Number.POSITIVE_INFINITY : SUMMARY_LINES
  const stages = preview.compactions.flatMap((compaction, at) => [
    '',
    ...titleLines(compaction, out, style),
    ...stageLines(plan.stages[at]!, preview, out, style, most),
  ])
  return [
    ...headLines(shown, out, style),
    ...stages,
    ...keptLines(plan.kept, out, style),
    '',
    ...totalLines(preview, out, style),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

/** A line a stage, and the totals: what is shown before the question. */
export function shortPlanText(shown: ShownPlan, { out, style }: Pick<Context, 'out' | 'style'>): string {
  const { preview } = shown
  const lines = preview.compactions.flatMap((compaction) => titleLines(compaction, out, style, '  '))
  return [...headLines(shown, out, style), ...lines, ...totalLines(preview, out, style)]
    .map((line) => `${line}\n`)
    .join('')
}

function headLines({ sessionId, provider, model }: ShownPlan, out: Sink, { bold, cyan }: Style): string[] {
  const window = model === undefined ? provider : `${provider}/${model}`
  const pieces = [{ text: 'Plan', style: bold }, ' for session ', { text: sessionId, style: cyan }]
  return mixedLine([...pieces, `, for the window of ${window}`], out)
}

function titleLines(compaction: PlannedCompaction, out: Sink, { bold, green }: Style, indent = ''): string[] {
  const { stage: name, tokensBefore, tokensAfter } = compaction
  const figures = `  ${actionsOf(compaction)}  ${count(tokensBefore)} → ${count(tokensAfter)} tokens, `
  const saved = `saves ${count(tokensBefore - tokensAfter)}`
  return mixedLine([{ text: name, style: bold }, figures, { text: saved, style: green }], out, indent)
}

/** `12 rows pruned`, `40 rows summarized`. */
function actionsOf(compaction: PlannedCompaction): string {
  const replaced = new Set(compaction.replaces.map(({ messageId }) => messageId)).size
  return [
    ...(replaced > 0 ? [`${counted(replaced, 'row')} ${WORDS[replacingAction(compaction)]}`] : []),
    ...(compaction.rowsHidden > 0
      ? [`${counted(compaction.rowsHidden, 'row')} ${WORDS[hidingAction(compaction)]}`]
      : []),
  ].join(', ')
}

const WORDS: { readonly [action in RowAction]: string } = {
  hidden: 'hidden',
  summarized: 'summarized',
  pruned: 'pruned',
  shortened: 'shown shorter',
  kept: 'kept',
}

function stageLines(
  stage: PlannedStage,
  preview: CompactionPreview,
  out: Sink,
  style: Style,
  most: number,
): string[] {
  const rows = stage.rows.map((row) => [
    positionOf(row),
    whoOf(row),
    { text: WORDS[row.action], style: LOOKS[row.action](style) },
    { text: row.why, style: style.dim },
    count(row.tokensBefore),
    count(row.tokensAfter),
    count(row.tokensBefore - row.tokensAfter),
  ])
  return [...table(COLUMNS, rows, out, style), ...insertLines(stage, preview, out, style, most)]
}

const LOOKS: { readonly [action in RowAction]: (style: Style) => (text: string) => string } = {
  hidden: ({ red }) => red,
  summarized: ({ magenta }) => magenta,
  pruned: ({ yellow }) => yellow,
  shortened: ({ yellow }) => yellow,
  kept: ({ green }) => green,
}

function positionOf({ position, kind }: PlannedRow): string {
  return position === undefined ? kind : String(position)
}

function whoOf({ role, kind, tools }: PlannedRow): string {
  if (kind !== 'message') return kind
  return tools.length === 0 ? role : `${role} ${tools.join(', ')}`
}

/** The text that comes in, or what a model would be asked for. */
function insertLines(
  { inserts }: PlannedStage,
  preview: CompactionPreview,
  out: Sink,
  style: Style,
  most: number,
): string[] {
  if (inserts === undefined) return []
  if (!inserts.pending) {
    const lines = paragraph(inserts.text, out, '  ')
    const left = lines.length - most
    const more = left > 0 ? [style.dim(`  … ${counted(left, 'line')} more; --full shows all`)] : []
    return [
      '',
      style.bold(`the ${inserts.kind} that comes`),
      ...lines.slice(0, most).map((line) => style.dim(line)),
      ...more,
    ]
  }
  return (preview.summaryPending ?? []).flatMap(({ summarizer, messages, inputTokens, maxTokens }) => {
    const text = `summary pending: ${summarizer} would read ${counted(messages.length, 'message')} (${count(inputTokens)} tokens) and write ${count(maxTokens)} tokens at most; the figures count those in full`
    return paragraph(text, out).map((line) => style.yellow(line))
  })
}

/** Rows that stay, neighbours on one line: they are most of a session. */
function keptLines(kept: readonly PlannedRow[], out: Sink, style: Style): string[] {
  if (kept.length === 0) return []
  const tokens = kept.reduce((sum, row) => sum + row.tokensAfter, 0)
  const title = [
    { text: 'kept', style: style.bold },
    `  ${counted(kept.length, 'row')}  ${count(tokens)} tokens`,
  ]
  const which = paragraph(rowsWords(kept), out, '  ').map((line) => style.dim(line))
  return ['', ...mixedLine(title, out), ...which]
}

/** `positions 1–4, 9, one summary`. */
function rowsWords(rows: readonly PlannedRow[]): string {
  const found: [number, number][] = []
  const others: string[] = []
  for (const { position, kind } of rows) {
    const last = found.at(-1)
    if (position === undefined) others.push(`one ${kind}`)
    else if (last !== undefined && position === last[1] + 1) last[1] = position
    else found.push([position, position])
  }
  return [...(found.length > 0 ? [positionWords(found)] : []), ...others].join(', ')
}

/** Before, after, target, whether it fits, and the cost for the prompt cache. */
function totalLines(preview: CompactionPreview, out: Sink, style: Style): string[] {
  const { tokensBefore, tokensAfter, tokensSaved, targetTokens, reachedTarget, fits } = preview
  const share = tokensBefore === 0 ? 0 : tokensSaved / tokensBefore
  const figures = `  history ${count(tokensBefore)} → ${count(tokensAfter)} tokens, saves ${count(tokensSaved)} (${percent(share)})`
  const target = reachedTarget
    ? { text: 'reached', style: style.green }
    : { text: 'not reached', style: style.yellow }
  const fit = fits
    ? { text: 'fits the window', style: style.green }
    : { text: 'does not fit the window', style: style.red }
  return [
    ...mixedLine([{ text: 'in all', style: style.bold }, figures], out),
    ...mixedLine([`target ${count(targetTokens)} tokens: `, target, '; the request ', fit], out, '  '),
    ...cacheLines(preview, out, style),
  ]
}

function cacheLines({ firstChanged }: CompactionPreview, out: Sink, style: Style): string[] {
  if (firstChanged === undefined || firstChanged.tokensGivenUp === 0) return []
  const { position, cachedTokens, tokensGivenUp, source } = firstChanged
  const known = source === 'reported' ? 'as its provider reported' : 'as far as can be known'
  const text = `prompt cache: the history changes from position ${position} on; ${count(tokensGivenUp)} of ${count(cachedTokens)} cached tokens are given up (${known})`
  return paragraph(text, out, '  ').map((line) => style.dim(line))
}

/** A piece of a line: stored text, made safe here, and how it is to look. */
type Piece = string | { readonly text: string; readonly style: (text: string) => string }

/** A line of several looks. Where it does not fit a terminal it is wrapped, and then without its looks. */
function mixedLine(pieces: readonly Piece[], sink: Sink, indent = ''): string[] {
  const texts = pieces.map((piece) => safeLine(typeof piece === 'string' ? piece : piece.text))
  const plain = texts.join('')
  if (sink.isTerminal && widthOf(plain) + widthOf(indent) > sink.columns)
    return paragraph(plain, sink, indent)
  const styled = pieces.map((piece, at) => (typeof piece === 'string' ? texts[at]! : piece.style(texts[at]!)))
  return [indent + styled.join('')]
}
