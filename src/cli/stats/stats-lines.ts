import type { SessionUsage } from '../../compaction/usage-totals.ts'
import type { MessageCounts, Session } from '../../storage/storage.ts'
import type { Context } from '../command.ts'
import { count, counted, money, percent } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { CATEGORIES, type RequestFigures } from './request-figures.ts'
import { sourceOfEstimate, sourceOfReserve, sourceOfWindow } from './sources.ts'
import { glyphOf, usageBar } from './usage-bar.ts'

/** The bar is no wider, columns; so wide where there is no terminal. */
const WIDEST = 72
const PLAIN_WIDTH = 60

type Shown = Pick<Context, 'out' | 'style'>

/** A session's context for people: one model in full, several side by side. */
export function statsLines(
  context: Shown,
  session: Session,
  counts: MessageCounts,
  models: readonly RequestFigures[],
  usage: SessionUsage,
): string[] {
  const { style, out } = context
  const name = safeLine(session.title === undefined ? session.id : `${session.id} · ${session.title}`)
  const head = [
    ...paragraph(name, out).map((line) => style.bold(line)),
    ...paragraph(countsOf(session, counts), out),
  ]
  if (models.length === 0) return [...head, '', 'It holds no message, so there is nothing to send yet.']
  const body = models.length === 1 ? oneModel(context, models[0]!) : sideBySide(context, models)
  return [...head, '', ...body, ...billed(context, usage)]
}

function countsOf(
  { hidden, activeCompactions }: Session,
  { messages, bookkeeping, visible }: MessageCounts,
): string {
  const kinds = [
    [hidden.condensed, 'behind summaries'],
    [hidden.truncated, 'truncated'],
    [hidden.byHand, 'by hand'],
  ] as const
  const all = kinds.reduce((sum, [rows]) => sum + rows, 0)
  const by = kinds.filter(([rows]) => rows > 0).map(([rows, how]) => `${count(rows)} ${how}`)
  const hiddenText = all === 0 ? 'none hidden' : `${count(all)} hidden (${by.join(', ')})`
  const besides = bookkeeping === 0 ? '' : `${counted(bookkeeping, 'line')} of bookkeeping, `
  return `${counted(messages, 'message')}, ${besides}${counted(visible, 'row')} in the view, ${hiddenText}; ${counted(activeCompactions, 'compaction')} in force`
}

function modelName({ stats: { provider, model } }: RequestFigures): string {
  return model === undefined ? provider : `${provider}/${model}`
}

function oneModel({ out, style }: Shown, figures: RequestFigures): string[] {
  const { stats, breakdown, free } = figures
  const width = out.isTerminal ? Math.max(20, Math.min(WIDEST, out.columns - 2)) : PLAIN_WIDTH
  const bar = usageBar(figures, width, style)
  const used = `${count(stats.estimatedInputTokens)} of ${count(inputRoom(figures))} tokens, ${percent(stats.usageRatio)}`
  const rows = CATEGORIES.filter((category) => breakdown[category] > 0).map((category) => [
    `${glyphOf(category, style)} ${category}`,
    count(breakdown[category]),
    shareOf(breakdown[category], stats.availableInputTokens),
  ])
  rows.push([`${style.dim('·')} free`, count(free), shareOf(free, stats.availableInputTokens)])
  const columns: Column[] = [
    { title: 'CATEGORY' },
    { title: 'TOKENS', align: 'right' },
    { title: 'OF THE INPUT', align: 'right' },
  ]
  return [
    ...paragraph(safeLine(`${modelName(figures)}: ${used} · ${stateOf(figures)}`), out).map(
      stateStyle(figures, style),
    ),
    '',
    bar.bar,
    bar.marks,
    ...paragraph(bar.legend, out).map((line) => style.dim(line)),
    '',
    ...table(columns, rows, out, style),
    '',
    ...figureLines(out, figures)
      .flatMap((line) => paragraph(safeLine(line), out))
      .map((line) => style.dim(line)),
  ]
}

function figureLines(out: Shown['out'], { stats, due, target }: RequestFigures): string[] {
  return [
    `Tokens: ${sourceOfEstimate(stats, out)}.`,
    `Window: ${count(stats.contextWindow.tokens)} tokens, ${sourceOfWindow(stats)}.`,
    `Answer: ${count(stats.outputReserve.tokens)} tokens kept free, ${sourceOfReserve(stats)}.`,
    ...(stats.inputLimit === undefined
      ? []
      : [
          `Input: no more than ${count(stats.inputLimit)} tokens, as an overflow error of the provider said.`,
        ]),
    `Compaction: due at ${count(due)} tokens, then down to ${count(target)}.`,
  ]
}

/** None where the answer is to be longer than the window. */
function inputRoom({ stats }: RequestFigures): number {
  return Math.max(0, stats.availableInputTokens)
}

function shareOf(part: number, whole: number): string {
  return whole > 0 ? percent(part / whole) : ''
}

function stateOf({ stats }: RequestFigures): string {
  if (!stats.withinBudget) return 'too large'
  if (stats.heldBack === true) return 'fits; compaction is held back, since an automatic one was undone'
  return stats.shouldCompact ? 'compaction is due' : 'fits'
}

function stateStyle({ stats }: RequestFigures, style: Context['style']): (text: string) => string {
  if (!stats.withinBudget) return style.red
  return stats.shouldCompact ? style.yellow : style.green
}

function sideBySide({ out, style }: Shown, models: readonly RequestFigures[]): string[] {
  const columns: Column[] = [
    { title: 'MODEL', flexible: 'wrap' },
    { title: 'WINDOW', align: 'right' },
    { title: 'INPUT', align: 'right' },
    { title: 'TOKENS', align: 'right' },
    { title: 'USED', align: 'right' },
    { title: 'FREE', align: 'right' },
    { title: 'STATE', flexible: 'wrap' },
    { title: 'WINDOW FROM', flexible: 'wrap' },
    { title: 'TOKENS FROM', flexible: 'wrap' },
  ]
  const rows = models.map((figures) => [
    modelName(figures),
    count(figures.stats.contextWindow.tokens),
    count(inputRoom(figures)),
    count(figures.stats.estimatedInputTokens),
    percent(figures.stats.usageRatio),
    count(figures.free),
    { text: stateOf(figures), style: stateStyle(figures, style) },
    figures.stats.contextWindow.source,
    figures.stats.source,
  ])
  return table(columns, rows, out, style)
}

/** What was billed, where providers reported it. */
function billed({ out, style }: Shown, { models, summaries }: SessionUsage): string[] {
  const rows = [
    ...models.map(
      ({
        provider,
        model,
        requests,
        inputTokens,
        cacheReadTokens,
        cacheCreationTokens,
        outputTokens,
        cost,
      }) => [
        model === undefined ? provider : `${provider}/${model}`,
        count(requests),
        count(inputTokens),
        count(cacheReadTokens),
        count(cacheCreationTokens),
        count(outputTokens),
        cost === null ? 'unknown' : money(cost),
      ],
    ),
    ...summaries.models
      .filter(({ inputTokens, outputTokens, cost }) => inputTokens + outputTokens + (cost ?? 0) > 0)
      .map(({ summarizer, model, requests, inputTokens, outputTokens, cost }) => [
        `summaries by ${model ?? summarizer}`,
        count(requests),
        count(inputTokens),
        '',
        '',
        count(outputTokens),
        cost === null ? 'unknown' : cost === 0 ? '' : money(cost),
      ]),
  ]
  if (rows.length === 0) return []
  const columns: Column[] = [
    { title: 'BILLED', flexible: 'wrap' },
    { title: 'REQUESTS', align: 'right' },
    { title: 'INPUT', align: 'right' },
    { title: 'CACHE READ', align: 'right' },
    { title: 'CACHE WRITE', align: 'right' },
    { title: 'OUTPUT', align: 'right' },
    { title: 'COST', align: 'right' },
  ]
  return ['', ...table(columns, rows, out, style)]
}
