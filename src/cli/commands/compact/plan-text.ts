import type { CompactionPreview, OffTarget, PlannedCompaction } from '../../../store/compaction/result.ts'
import { positionWords } from '../../../transfer/document/options.ts'
import type { Output, Style } from '../../command.ts'
import { count, counted, fromTo, listing, mediaText, percent, reasoningText } from '../../output/figures.ts'
import { paragraph, sentence, widthOf } from '../../output/layout.ts'
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

/** A line per stage, and the totals: what is shown before the question. */
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
    replaced > 0 && `${counted(replaced, 'row')} ${WORDS[replacingAction(compaction)]}`,
    rowsHidden > 0 && `${counted(rowsHidden, 'row')} ${WORDS[hidingAction(compaction)]}`,
  )
  const figures = `  ${actions}  ${fromTo(tokensBefore, tokensAfter)}, `
  return mixedLine(
    [[bold, stage], figures, [green, `saves ${count(tokensBefore - tokensAfter)}`]],
    output,
    indent,
  )
}

const WORDS: { readonly [action in RowAction]: string } = {
  hidden: 'hidden',
  summarized: 'summarized',
  pruned: 'pruned',
  shortened: 'shortened',
  kept: 'kept',
}

const COLOURS: { readonly [action in RowAction]: keyof Style } = {
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
    { text: WORDS[action], style: style[COLOURS[action]] },
    { text: why, style: style.dim },
    count(tokensBefore),
    count(tokensAfter),
    count(tokensBefore - tokensAfter),
  ])
  return table(COLUMNS, rows, out, style)
}

/** The text to be inserted, or what a model would be asked for. */
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
        `summary pending: ${summarizer} would read ${counted(messages.length, 'message')} (${count(inputTokens)} tokens) and write ${count(maxTokens)} tokens at most; the figures count those in full`,
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
    ...(left > 0 ? [style.dim(`  … ${counted(left, 'line')} more; --full shows all`)] : []),
  ]
}

/** The rows that stay, most of a session, with neighbours combined. */
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
const WHY_OFF_TARGET: { readonly [W in OffTarget]: string } = {
  KEPT_TOO_LARGE: 'what stays is larger',
  SUMMARY_FAILED: 'a summary was not accepted',
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
  const why = preview.offTarget === undefined ? '' : ` (${WHY_OFF_TARGET[preview.offTarget]})`
  const fit: Piece = fits ? [green, 'fits the window'] : [red, 'does not fit the window']
  const lines = [
    ...mixedLine([[bold, 'in all'], figures], output),
    ...mixedLine(
      [`target ${count(targetTokens)} tokens: `, target, `${why}; the request `, fit],
      output,
      '  ',
    ),
  ]
  if (firstChanged !== undefined && firstChanged.tokensGivenUp > 0) {
    const { position, cachedTokens, tokensGivenUp, source } = firstChanged
    const known = source === 'reported' ? 'as its provider reported' : 'as far as can be known'
    const text = `prompt cache: the history changes from position ${position} on; ${count(tokensGivenUp)} of ${count(cachedTokens)} cached tokens are invalidated (${known})`
    for (const line of sentence(text, output.out, dim, '  ')) lines.push(line)
  }
  const reasoning = reasoningText(preview)
  if (reasoning !== '') {
    const text = `reasoning: ${reasoning} after that place; this model checks what precedes it`
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
