import { shownTitle } from '../../core/messages/title.ts'
import { toolsSchema } from '../../core/tokens/tool-definitions.ts'
import { isAssumed } from '../../core/tokens/windows.ts'
import type { MessageCounts, Session } from '../../storage/storage.ts'
import type { ContextStats } from '../../store/compaction/stats.ts'
import type { StatsOptions } from '../../store/config/store-options.ts'
import type { SessionUsage } from '../../store/usage.ts'
import type { Context, Output, Sink, Style } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { providerAndModel, readTextFile, systemPromptOf } from '../options.ts'
import {
  bytes as bytesText,
  count,
  counted,
  listing,
  money,
  percent,
  shares,
  time,
} from '../output/figures.ts'
import { inspectHint } from '../output/hints.ts'
import { sentence, writeLines } from '../output/layout.ts'
import { nulled } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { momentOf, openSession } from '../references.ts'
import { WARNING_RATIO } from './chat/reporter.ts'

type StatsCommandOptions = Given<'stats'>

export async function showStats(
  context: Context,
  given: string,
  options: StatsCommandOptions,
): Promise<number> {
  const request = await requestOf(context, options)
  const { store, id } = await openSession(context, 'read', given)
  const { settings } = await store.sessions.config(id)
  const at = options.at === undefined ? undefined : await momentOf(store, id, options.at)
  const models: RequestFigures[] = []
  for (const name of options.model ?? [undefined]) {
    const { provider, model } = providerAndModel({ model: name })
    const stats = await store.getContextStats(id, provider, model, { ...request, ...(at && { at }) })
    if (stats !== null) models.push(requestFigures(stats, settings))
  }
  const session = await store.sessions.get(id, { counts: true })
  const usage = await store.requests.usage(id)
  if (context.json) {
    const { hidden, activeCompactions: compactionsInForce } = session
    context.printJson({
      session: id,
      ...session.counts,
      hidden,
      compactionsInForce,
      models: models.map(statsJson),
      usage,
    })
  } else {
    writeLines(context.out, statsLines(context, session, models, usage))
    const moment = models[0]?.stats.moment
    if (moment !== undefined) {
      const place = `after position ${moment.position} and entry ${moment.auditNo} of the audit`
      writeLines(context.out, ['', `The context is as of the past, ${place}; counts and usage are current.`])
    }
    writeLines(context.out, inspectHint(context, id))
  }
  return EXIT.done
}

/** The content of the request besides the history. */
async function requestOf({ cwd }: Context, options: StatsCommandOptions): Promise<StatsOptions> {
  const { prompt, tools, maxTokens } = options
  return {
    system: await systemPromptOf(options, cwd),
    prompt,
    tools: tools === undefined ? undefined : await readTools(cwd, tools),
    maxOutputTokens: maxTokens,
  }
}

async function readTools(cwd: string, path: string): Promise<StatsOptions['tools']> {
  const text = await readTextFile(cwd, path)
  let tools: unknown
  try {
    tools = JSON.parse(text)
  } catch {
    throw new CliError('BAD_DATA', `${path} isn't JSON.`, { facts: { path } })
  }
  const read = toolsSchema.safeParse(tools)
  if (read.success) return read.data
  throw new CliError(
    'BAD_DATA',
    `${path} must contain a list of tool definitions, or an object that maps names to tools.`,
    {
      facts: { path },
    },
  )
}

function statsJson({ stats, breakdown, free, target, due }: RequestFigures) {
  const { moment, provider, model, estimator, source, estimated, measured, calibration } = stats
  const { outputReserve, inputLimit, usageRatio, images, bytes, threshold, fixed } = stats
  const { tokens, source: from, entry } = stats.contextWindow
  const usedOf = ({ used, limit }: ContextStats['images']) => nulled({ used, limit })
  return {
    ...(moment !== undefined && { moment }),
    ...nulled({ provider, model, estimator, tokens: stats.estimatedInputTokens, source, estimated }),
    ...{ measured, calibration },
    window: nulled({ tokens, source: from, entry, assumed: isAssumed(stats.contextWindow) }),
    ...nulled({ outputReserve, inputLimit, available: stats.availableInputTokens, usageRatio }),
    ...{ images: usedOf(images), bytes: usedOf(bytes), fits: stats.withinBudget },
    ...{ compactionDue: stats.shouldCompact, compactionHeldBack: stats.heldBack === true },
    ...{ threshold, dueAt: due, target, breakdown: { ...breakdown, free }, fixed },
  }
}

/** The parts of a request, in the order of the bar, and how each is drawn: distinguishable without colors too. */
const CATEGORIES = {
  system: ['■', 'yellow'],
  text: ['█', 'green'],
  reasoning: ['░', 'gray'],
  calls: ['▓', 'blue'],
  results: ['▒', 'cyan'],
  media: ['▚', 'magenta'],
  prompt: ['▶', 'green'],
  tools: ['▤', 'yellow'],
  files: ['▥', 'magenta'],
  unseen: ['▞', 'gray'],
} as const satisfies { readonly [category: string]: readonly [glyph: string, color: keyof Style] }
type Category = keyof typeof CATEGORIES
const NAMES = Object.keys(CATEGORIES) as Category[]
const FREE = '·'
const MARK = '▴'

/** The figures of a session for one model, in tokens. */
export type RequestFigures = {
  readonly stats: ContextStats
  readonly breakdown: { readonly [category in Category]: number }
  /** Left of the available input; 0 if the request is too large. */
  readonly free: number
  /** The size of the whole request after a compaction. */
  readonly target: number
  /** The size at which compaction is due. */
  readonly due: number
}

/**
 * The figures of the bar. The stats count the history as a whole; it is divided by the sizes of its parts, so that they add up to it.
 * `target` is a share of the available input, `targetTokens` counts the history alone.
 */
export function requestFigures(
  stats: ContextStats,
  settings: { readonly target?: number | undefined; readonly targetTokens?: number | undefined },
): RequestFigures {
  const { sizes, breakdown, estimatedInputTokens, threshold } = stats
  const history = breakdown.conversationHistory
  const weights = [sizes.text, sizes.reasoning, sizes.toolCalls, sizes.toolResults, sizes.media]
  const [text = 0, reasoning = 0, calls = 0, results = 0, media = 0] = shares(history, weights)
  const available = inputRoom(stats)
  return {
    stats,
    breakdown: {
      system: breakdown.systemPrompt,
      text,
      reasoning,
      calls,
      results,
      media,
      prompt: breakdown.currentPrompt,
      tools: breakdown.toolDefinitions,
      files: breakdown.fileAttachments,
      unseen: breakdown.unseen ?? 0,
    },
    free: Math.max(0, available - estimatedInputTokens),
    target:
      settings.targetTokens === undefined
        ? Math.floor((settings.target ?? 0) * available)
        : settings.targetTokens + estimatedInputTokens - history,
    due: Math.ceil(threshold * available),
  }
}

/** Tokens available for input; 0 if the answer alone fills the window. */
function inputRoom({ availableInputTokens }: ContextStats): number {
  return Math.max(0, availableInputTokens)
}

function drawn(category: Category, width: number, style: Style): string {
  const [glyph, color] = CATEGORIES[category]
  return style[color](glyph.repeat(width))
}

/** The available input as a bar, below it marks at the target, at 60 % and where compaction is due, and what they mark. */
function usageBar({ stats, breakdown, target }: RequestFigures, width: number, style: Style) {
  const { usageRatio, availableInputTokens, threshold } = stats
  const used = usageRatio > 0 ? Math.max(1, Math.round(Math.min(1, usageRatio) * width)) : 0
  const cells = shares(
    used,
    NAMES.map((category) => breakdown[category]),
  )
  const bar = NAMES.map((category, at) => drawn(category, cells[at]!, style)).join('')
  const marks = [
    { share: availableInputTokens > 0 ? target / availableInputTokens : 0, name: 'target' },
    { share: WARNING_RATIO, name: 'warning' },
    { share: threshold, name: 'compaction due' },
  ].sort((a, b) => a.share - b.share)
  const marked = new Set(
    marks.map(({ share }) => Math.min(width - 1, Math.max(0, Math.round(share * width) - 1))),
  )
  return {
    bar: bar + style.dim(FREE.repeat(width - used)),
    marks: Array.from({ length: width }, (_, at) => (marked.has(at) ? MARK : ' '))
      .join('')
      .trimEnd(),
    legend: `${MARK} ${marks.map(({ share, name }) => `${percent(share)} ${name}`).join(' · ')}`,
  }
}

/** Widest bar, and its width without a terminal, in columns. */
const MAX_BAR_WIDTH = 72
const PLAIN_BAR_WIDTH = 60

type CountedSession = Session & { readonly counts: MessageCounts }

/** The context of a session for people: one model in full, several side by side. */
export function statsLines(
  output: Output,
  session: CountedSession,
  models: readonly RequestFigures[],
  usage: SessionUsage,
): string[] {
  const { style, out } = output
  const name = session.title === undefined ? session.id : `${session.id} · ${shownTitle(session.title)}`
  const head = [...sentence(name, out, style.bold), ...sentence(countsText(session), out), '']
  if (models.length === 0)
    return [
      ...head,
      session.messageCount === 0
        ? 'It has no messages yet.'
        : 'Figures are disabled for this session (`enabled`).',
    ]
  const body = models.length === 1 ? oneModel(output, models[0]!) : sideBySide(output, models)
  return [...head, ...body, ...billed(output, usage)]
}

function countsText({ hidden, activeCompactions, counts: own }: CountedSession): string {
  const { condensed, truncated, manual } = hidden
  const { messages, bookkeeping, visible } = own
  const all = condensed + truncated + manual
  const kinds = listing(
    condensed > 0 && `${count(condensed)} summarized`,
    truncated > 0 && `${count(truncated)} truncated`,
    manual > 0 && `${count(manual)} manually`,
  )
  const counts = listing(
    counted(messages, 'message'),
    bookkeeping > 0 && `${counted(bookkeeping, 'line')} of bookkeeping`,
    `${counted(visible, 'row')} in the view`,
    all === 0 ? 'none hidden' : `${count(all)} hidden (${kinds})`,
  )
  return `${counts}; ${counted(activeCompactions, 'compaction')} in force`
}

function modelName({
  provider,
  model,
}: {
  readonly provider: string
  readonly model?: string | undefined
}): string {
  return model === undefined ? provider : `${provider}/${model}`
}

function oneModel({ out, style }: Output, figures: RequestFigures): string[] {
  const { stats, breakdown, free, due, target } = figures
  const width = out.isTerminal ? Math.max(20, Math.min(MAX_BAR_WIDTH, out.columns - 2)) : PLAIN_BAR_WIDTH
  const { bar, marks, legend } = usageBar(figures, width, style)
  const used = `${count(stats.estimatedInputTokens)} of ${count(inputRoom(stats))} tokens, ${percent(stats.usageRatio)}`
  const shareOf = (part: number): string =>
    stats.availableInputTokens > 0 ? percent(part / stats.availableInputTokens) : ''
  const rows = NAMES.filter((category) => breakdown[category] > 0).map((category) => [
    `${drawn(category, 1, style)} ${category}`,
    count(breakdown[category]),
    shareOf(breakdown[category]),
  ])
  rows.push([`${style.dim(FREE)} free`, count(free), shareOf(free)])
  const columns: Column[] = [
    { title: 'CATEGORY' },
    { title: 'TOKENS', align: 'right' },
    { title: 'OF THE INPUT', align: 'right' },
  ]
  const sources = [
    `Tokens: ${sourceOfEstimate(stats, out)}.`,
    ...(stats.fixed.source === 'last-request'
      ? [`System prompt and tools: ${count(stats.fixed.tokens)} tokens, as in the last request.`]
      : []),
    `Window: ${count(stats.contextWindow.tokens)} tokens, ${sourceOfWindow(stats)}.`,
    `Answer: ${count(stats.outputReserve.tokens)} tokens reserved, ${RESERVE_SOURCES[stats.outputReserve.source]}.`,
    ...(stats.inputLimit === undefined
      ? []
      : [
          `Input: at most ${count(stats.inputLimit)} tokens, according to an overflow error of the provider.`,
        ]),
    ...mediaLines(stats),
    `Compaction: due at ${count(due)} tokens, then down to ${count(target)}.`,
  ]
  return [
    ...sentence(`${modelName(stats)}: ${used} · ${stateOf(stats)}`, out, stateStyle(stats, style)),
    '',
    bar,
    marks,
    ...sentence(legend, out, style.dim),
    '',
    ...table(columns, rows, out, style),
    '',
    ...sources.flatMap((line) => sentence(line, out, style.dim)),
  ]
}

/** The images and bytes of a request that has any media. */
function mediaLines({ images, bytes, sizes }: ContextStats): string[] {
  if (images.used === 0 && sizes.mediaBytes === 0) return []
  const ofMost = ({ used, limit }: ContextStats['images'], text: (value: number) => string): string =>
    limit === undefined ? text(used) : `${text(used)} of ${text(limit)}`
  return [`Media: ${ofMost(images, count)} images, ${ofMost(bytes, bytesText)}.`]
}

function stateOf({ withinBudget, heldBack, shouldCompact }: ContextStats): string {
  if (!withinBudget) return 'too large'
  if (heldBack === true) return 'fits; automatic compaction is paused, because one was undone'
  return shouldCompact ? 'compaction is due' : 'fits'
}

function stateStyle({ withinBudget, shouldCompact }: ContextStats, style: Style): (text: string) => string {
  if (!withinBudget) return style.red
  return shouldCompact ? style.yellow : style.green
}

function sideBySide({ out, style }: Output, models: readonly RequestFigures[]): string[] {
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
  const rows = models.map(({ stats, free }) => [
    modelName(stats),
    count(stats.contextWindow.tokens),
    count(inputRoom(stats)),
    count(stats.estimatedInputTokens),
    percent(stats.usageRatio),
    count(free),
    { text: stateOf(stats), style: stateStyle(stats, style) },
    stats.contextWindow.source,
    stats.source,
  ])
  return table(columns, rows, out, style)
}

/** The tokens and costs that providers reported. */
function billed({ out, style }: Output, { models, summaries }: SessionUsage): string[] {
  const rows = [
    ...models.map((one) => [
      modelName({ provider: one.provider, model: one.model }),
      count(one.requests),
      count(one.inputTokens),
      count(one.cacheReadTokens),
      count(one.cacheCreationTokens),
      count(one.outputTokens),
      one.cost === null ? 'unknown' : money(one.cost),
    ]),
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

function sourceOfEstimate(
  { source, measured, estimated, estimator, calibration }: ContextStats,
  out: Sink,
): string {
  const alone = `the estimator ${estimator} alone counts ${count(estimated)}`
  const at = time(measured?.at ?? 0, out)
  return {
    measured: `the provider's own report of this request (${at}); ${alone}`,
    'measured+estimated': `the provider's last report (${count(measured?.inputTokens ?? 0)} tokens, ${at}) and an estimate of the messages since; ${alone}`,
    calibrated: `the estimator ${estimator}, corrected by ${calibration.ratio.toFixed(3)} after ${count(calibration.samples)} reports on this model`,
    estimated: `the estimator ${estimator}; no provider has reported on this model yet`,
  }[source]
}

/** The source of a window that only the application knows. */
const OWN_WINDOW = 'set it with contextWindows in the session, the settings file or openStore'

function sourceOfWindow({ contextWindow, provider }: ContextStats): string {
  const { source, entry } = contextWindow
  const name = entry === undefined ? '' : `, entry ${entry}`
  return {
    learned: 'learned from an overflow error of the provider',
    session: `the session's own table${name}`,
    store: `contextWindows of the settings or of openStore${name}`,
    package: `the package @pydantic/genai-prices${name}`,
    registry: isAssumed(contextWindow)
      ? `assumed for ${provider}, because the window of this model isn't known; ${OWN_WINDOW}`
      : `the built-in table of models${name}`,
    default: `assumed, because the window of this model is unknown; ${OWN_WINDOW}`,
  }[source]
}

/** The reason for the number of tokens kept free for the answer. */
const RESERVE_SOURCES: { readonly [source in ContextStats['outputReserve']['source']]: string } = {
  maxOutputTokens: 'maxOutputTokens, as requested',
  share: "a share of the window, because maxOutputTokens isn't given",
  most: "the maximum reserve, because maxOutputTokens isn't given",
}
