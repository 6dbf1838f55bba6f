import type { ContextStats } from '../../compaction/stats.ts'
import type { SessionUsage } from '../../compaction/usage.ts'
import type { MessageCounts, Session } from '../../storage/storage.ts'
import { TOLD_ABOVE } from '../chat/usage-warning.ts'
import type { Context, Sink, Style } from '../command.ts'
import { count, counted, money, percent, time } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { shares } from '../output/shares.ts'
import { type Column, table } from '../output/table.ts'
import { CATEGORIES, type Category, type RequestFigures } from './request-figures.ts'

/** How each category is drawn: told apart without colours too. */
const LOOKS: { readonly [category in Category]: { readonly glyph: string; readonly colour: keyof Style } } = {
  system: { glyph: '■', colour: 'yellow' },
  text: { glyph: '█', colour: 'green' },
  reasoning: { glyph: '░', colour: 'gray' },
  calls: { glyph: '▓', colour: 'blue' },
  results: { glyph: '▒', colour: 'cyan' },
  media: { glyph: '▚', colour: 'magenta' },
  prompt: { glyph: '▶', colour: 'green' },
  tools: { glyph: '▤', colour: 'yellow' },
  files: { glyph: '▥', colour: 'magenta' },
  unseen: { glyph: '▞', colour: 'gray' },
}
const FREE = '·'
const MARK = '▴'

function glyphOf(category: Category, style: Style): string {
  const { glyph, colour } = LOOKS[category]
  return style[colour](glyph)
}

/** A bar, the marks beneath it, and what they mark. */
type UsageBar = { readonly bar: string; readonly marks: string; readonly legend: string }

/** The available input as a bar of `width` columns, and beneath it marks at the target, at 60 % and where compaction is due. */
function usageBar({ stats, breakdown, target }: RequestFigures, width: number, style: Style): UsageBar {
  const { usageRatio, availableInputTokens, threshold } = stats
  const used = usageRatio > 0 ? Math.max(1, Math.round(Math.min(1, usageRatio) * width)) : 0
  const cells = shares(
    used,
    CATEGORIES.map((category) => breakdown[category]),
  )
  const drawn = CATEGORIES.map((category, at) => {
    const { glyph, colour } = LOOKS[category]
    return style[colour](glyph.repeat(cells[at]!))
  }).join('')
  const bar = drawn + style.dim(FREE.repeat(width - used))
  const targetShare = availableInputTokens > 0 ? target / availableInputTokens : 0
  const marks = [
    { share: targetShare, name: 'target' },
    { share: TOLD_ABOVE, name: 'warning' },
    { share: threshold, name: 'compaction due' },
  ].sort((a, b) => a.share - b.share)
  const line = Array.from({ length: width }, (_, at) =>
    marks.some(({ share }) => cellOf(share, width) === at) ? MARK : ' ',
  )
  const names = marks.map(({ share, name }) => `${percent(share)} ${name}`).join(' · ')
  return { bar, marks: line.join('').trimEnd(), legend: `${MARK} ${names}` }
}

function cellOf(share: number, width: number): number {
  return Math.min(width - 1, Math.max(0, Math.round(share * width) - 1))
}

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

/** Where the figure of the request comes from, as a sentence. */
function sourceOfEstimate(
  { source, measured, estimated, estimator, calibration }: ContextStats,
  out: Sink,
): string {
  const own = `the estimator ${estimator} alone says ${count(estimated)}`
  switch (source) {
    case 'measured':
      return `the provider's own report of this request (${time(measured?.at ?? 0, out)}); ${own}`
    case 'measured+estimated':
      return `the provider's last report (${count(measured?.inputTokens ?? 0)} tokens, ${time(measured?.at ?? 0, out)}) and an estimate of what came since; ${own}`
    case 'calibrated':
      return `the estimator ${estimator}, corrected by ${calibration.ratio.toFixed(3)} as ${count(calibration.samples)} reports of this model showed; ${own}`
    case 'estimated':
      return `the estimator ${estimator}; no provider has reported on this model yet`
  }
}

/** Why the window is what it is. */
function sourceOfWindow({ contextWindow: { source, entry } }: ContextStats): string {
  const name = entry === undefined ? '' : `, entry ${entry}`
  switch (source) {
    case 'learned':
      return 'learnt from an overflow error of the provider'
    case 'session':
      return `the session's own table${name}`
    case 'store':
      return `the settings of the store${name}`
    case 'package':
      return `the package @pydantic/genai-prices${name}`
    case 'registry':
      return `the founding table of models${name}`
    case 'default':
      return 'nobody knows this model; the default'
  }
}

/** Why so much is kept free for the answer. */
function sourceOfReserve({ outputReserve: { source } }: ContextStats): string {
  switch (source) {
    case 'maxTokens':
      return 'maxTokens, as asked for'
    case 'share':
      return 'a share of the window, for nobody said maxTokens'
    case 'most':
      return 'the most that is kept, for nobody said maxTokens'
  }
}
