import type { CompactionPreview } from '../../compaction/preview.ts'
import type { Context, Sink, Style } from '../command.ts'
import { count, counted, percent } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { type Column, table } from '../output/table.ts'
import type { CompactionPlan, PlannedRow, PlannedStage, RowAction } from './compaction-plan.ts'

/** What there is to show of a compaction that is not made yet. */
export type ShownPlan = {
  readonly sessionId: string
  /** Whose window it is made for. */
  readonly provider: string
  readonly model: string | undefined
  readonly preview: CompactionPreview
  readonly plan: CompactionPlan
}

const COLUMNS: readonly Column[] = [
  { title: 'POSITION', align: 'right' },
  { title: 'WHO', flexible: true },
  { title: 'WHAT HAPPENS' },
  { title: 'WHY', flexible: true },
  { title: 'BEFORE', align: 'right' },
  { title: 'AFTER', align: 'right' },
  { title: 'SAVED', align: 'right' },
]

/** The whole plan, row by row, grouped by stage, and what stays. */
export function planText(shown: ShownPlan, { out, style }: Pick<Context, 'out' | 'style'>): string {
  const { preview, plan } = shown
  const stages = plan.stages.flatMap((stage) => ['', ...stageLines(stage, preview, out, style)])
  return [
    ...headLines(shown, style),
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
  const { preview, plan } = shown
  const lines = plan.stages.map((stage) => `  ${stageTitle(stage, style)}`)
  return [...headLines(shown, style), ...lines, ...totalLines(preview, out, style)]
    .map((line) => `${line}\n`)
    .join('')
}

function headLines({ sessionId, provider, model }: ShownPlan, style: Style): string[] {
  const window = model === undefined ? provider : `${provider}/${model}`
  return [`${style.bold('Plan')} for session ${style.cyan(sessionId)}, for the window of ${window}`]
}

function stageTitle({ stage, rows, tokensBefore, tokensAfter }: PlannedStage, style: Style): string {
  const saved = tokensBefore - tokensAfter
  return `${style.bold(stage)}  ${actionsOf(rows)}  ${count(tokensBefore)} → ${count(tokensAfter)} tokens, ${style.green(`saves ${count(saved)}`)}`
}

/** `12 rows pruned`, `40 rows summarized`. */
function actionsOf(rows: readonly PlannedRow[]): string {
  const counts = new Map<RowAction, number>()
  for (const { action } of rows) counts.set(action, (counts.get(action) ?? 0) + 1)
  return [...counts].map(([action, times]) => `${counted(times, 'row')} ${WORDS[action]}`).join(', ')
}

const WORDS: { readonly [action in RowAction]: string } = {
  hidden: 'hidden',
  summarized: 'summarized',
  pruned: 'pruned',
  shortened: 'shown shorter',
  kept: 'kept',
}

function stageLines(stage: PlannedStage, preview: CompactionPreview, out: Sink, style: Style): string[] {
  const rows = stage.rows.map((row) => [
    placeOf(row),
    whoOf(row),
    { text: WORDS[row.action], style: LOOKS[row.action](style) },
    { text: row.why, style: style.dim },
    count(row.tokensBefore),
    count(row.tokensAfter),
    count(row.tokensBefore - row.tokensAfter),
  ])
  return [
    stageTitle(stage, style),
    ...table(COLUMNS, rows, out, style),
    ...insertLines(stage, preview, out, style),
  ]
}

const LOOKS: { readonly [action in RowAction]: (style: Style) => (text: string) => string } = {
  hidden: ({ red }) => red,
  summarized: ({ magenta }) => magenta,
  pruned: ({ yellow }) => yellow,
  shortened: ({ yellow }) => yellow,
  kept: ({ green }) => green,
}

function placeOf({ position, kind }: PlannedRow): string {
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
): string[] {
  if (inserts === undefined) return []
  if (!inserts.pending)
    return [
      '',
      style.bold(`${inserts.kind} that comes:`),
      ...paragraph(inserts.text, out, '  ').map((line) => style.dim(line)),
    ]
  return (preview.summaryPending ?? []).map(({ summarizer, messages, inputTokens, maxTokens }) =>
    style.yellow(
      `summary pending: ${summarizer} would read ${counted(messages.length, 'message')} (${count(inputTokens)} tokens) and write ${count(maxTokens)} tokens at most; the figures count those in full`,
    ),
  )
}

/** Rows that stay, neighbours on one line: they are most of a session. */
function keptLines(kept: readonly PlannedRow[], out: Sink, style: Style): string[] {
  if (kept.length === 0) return []
  const tokens = kept.reduce((sum, row) => sum + row.tokensAfter, 0)
  const title = `${style.bold('kept')}  ${counted(kept.length, 'row')}  ${count(tokens)} tokens`
  return ['', title, ...paragraph(`positions ${ranges(kept)}`, out, '  ').map((line) => style.dim(line))]
}

function ranges(rows: readonly PlannedRow[]): string {
  const found: [number, number][] = []
  const others: string[] = []
  for (const { position, kind } of rows) {
    const last = found.at(-1)
    if (position === undefined) others.push(`one ${kind}`)
    else if (last !== undefined && position === last[1] + 1) last[1] = position
    else found.push([position, position])
  }
  const shown = found.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`))
  return [...shown, ...others].join(', ')
}

/** Before, after, target, whether it fits, and the cost for the prompt cache. */
function totalLines(preview: CompactionPreview, out: Sink, style: Style): string[] {
  const { tokensBefore, tokensAfter, tokensSaved, targetTokens, reachedTarget, fits } = preview
  const share = tokensBefore === 0 ? 0 : tokensSaved / tokensBefore
  const target = reachedTarget ? style.green('reached') : style.yellow('not reached')
  const fit = fits ? style.green('fits the window') : style.red('does not fit the window')
  return [
    `${style.bold('in all')}  history ${count(tokensBefore)} → ${count(tokensAfter)} tokens, saves ${count(tokensSaved)} (${percent(share)})`,
    `  target ${count(targetTokens)} tokens: ${target}; the request ${fit}`,
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
