import { partsOf } from '../../core/messages/message.ts'
import type { CacheCause, RequestComparison } from '../../store/requests/compare.ts'
import type { RecordedRequest, RenderedRequest } from '../../store/requests/recorded.ts'
import type { Store } from '../../store/store.ts'
import type { Context, Output } from '../command.ts'
import type { Given } from '../declarations.ts'
import { EXIT } from '../errors.ts'
import { count, counted, listing, money, reasoningText, time } from '../output/figures.ts'
import { report } from '../output/layout.ts'
import { shownPieces } from '../output/message-text.ts'
import { nulled, safeLine, safeText } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { findRequest, openSession } from '../references.ts'

type RequestsOptions = Given<'requests'>

export async function showRequests(
  context: Context,
  given: string,
  request: string | undefined,
  options: RequestsOptions,
): Promise<number> {
  const { store, id } = await openSession(context, 'read', given)
  if (request === undefined && options.answer === undefined) return list(context, store, id, options)
  const key =
    options.answer === undefined ? await findRequest(store, id, request!) : { answer: options.answer }
  const found = await store.requests.get(id, key)
  await show(context, found, await store.requests.compare(id, found.id), options)
  return EXIT.done
}

const COLUMNS: readonly Column[] = [
  { title: 'ID', isName: true },
  { title: 'SENT' },
  { title: 'MODEL', flexible: 'clip' },
  { title: 'HISTORY', align: 'right' },
  { title: 'ANSWER', align: 'right' },
  { title: 'INPUT', align: 'right' },
  { title: 'CACHED', align: 'right', isExtra: true },
  { title: 'OUTPUT', align: 'right' },
]

const CHANGED: Column = { title: 'CHANGED', isExtra: true }

async function list(
  context: Context,
  store: Store,
  id: string,
  { limit, after }: RequestsOptions,
): Promise<number> {
  const from = after === undefined ? {} : { after: await findRequest(store, id, after) }
  const found = await store.requests.list(id, { limit: limit + 1, ...from })
  const page = found.slice(0, limit)
  const more = found.length > limit
  return report(context, { session: id, requests: page.map(requestJson), more }, () =>
    page.length === 0
      ? [after === undefined ? 'No requests are recorded.' : 'There are no further requests.']
      : listLines(context, page, more),
  )
}

function listLines({ out, style }: Output, page: readonly RecordedRequest[], more: boolean): string[] {
  // Few requests change what precedes the history.
  const hasChanges = page.some(({ changed }) => changed !== undefined)
  const rows = page.map((one) => [
    { text: shortName(one), style: style.cyan },
    { text: time(one.at, out), style: style.dim },
    modelOf(one),
    `1–${count(one.position)}`.replace(/^1–0$/, ''),
    rangeText(one.answerPositions),
    one.usage === undefined ? '' : count(inputOf(one)),
    one.usage?.cacheReadTokens === undefined ? '' : count(one.usage.cacheReadTokens),
    one.usage === undefined ? '' : count(one.usage.outputTokens),
    ...(hasChanges ? [changedWords(one)] : []),
  ])
  const next = `${counted(page.length, 'request')} shown; next: --after ${shortName(page.at(-1)!)}`
  const end = more && out.isTerminal ? ['', style.dim(next)] : []
  return [...table(hasChanges ? [...COLUMNS, CHANGED] : COLUMNS, rows, out, style), ...end]
}

/** The number of a request within its session: `r12`. */
function shortName({ id }: Pick<RecordedRequest, 'id'>): string {
  return id.slice(id.lastIndexOf(':') + 1)
}

function modelOf({ provider, model }: RecordedRequest): string {
  return model === undefined ? provider : `${provider}/${model}`
}

/** `system, tools`: what differs from the request before. */
function changedWords({ changed }: RecordedRequest): string {
  return listing(changed?.system === true && 'system', changed?.tools === true && 'tools')
}

/** All input tokens, cached ones included. */
function inputOf({ usage }: RecordedRequest): number {
  const { inputTokens = 0, cacheReadTokens = 0, cacheCreationTokens = 0 } = usage ?? {}
  return inputTokens + cacheReadTokens + cacheCreationTokens
}

function rangeText(range: readonly [number, number] | undefined): string {
  if (range === undefined) return ''
  return range[0] === range[1] ? count(range[0]) : `${count(range[0])}–${count(range[1])}`
}

function requestJson(one: RecordedRequest) {
  const { id, provider, model, position, audit, rendering, renderer, hash, at } = one
  const { usage, cost, promptPositions, answerPositions, changed } = one
  const { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens } = usage ?? {}
  return {
    ...nulled({ id, provider, model, position, audit, promptPositions, answerPositions, changed }),
    usage: usage ? nulled({ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }) : null,
    cost: cost ?? null,
    ...{ rendering, renderer, hash, at },
  }
}

/** What was lost of the prompt cache since the request before. */
function cacheJson(found: RequestComparison) {
  const { before = null, causes } = found
  const { compactionIds = [], lost = null } = found.before === undefined ? {} : found
  return { before, causes, compactionIds, lost }
}

async function show(
  context: Context,
  one: RenderedRequest,
  compared: RequestComparison,
  { fold }: RequestsOptions,
): Promise<void> {
  if (context.json) {
    const { sessionId, matches, reason, system, tools, messages, files } = one
    const sent = { system: system ?? null, tools: tools ?? null, messages, files: files ?? null }
    context.printJson({
      session: sessionId,
      request: { ...requestJson(one), matches, reason: reason ?? null, cache: cacheJson(compared), ...sent },
    })
    return
  }
  await context.page(`${requestLines(context, one, compared, fold && context.out.isTerminal).join('\n')}\n`)
}

const MISMATCH_REASONS: { readonly [R in NonNullable<RenderedRequest['reason']>]: string } = {
  redacted: 'the store redacted texts of what was sent',
  renderer: 'another version of the package rendered it',
  purged: 'a text that was sent no longer exists',
  history: "the messages that were sent aren't those of the history",
}

const CAUSES: { readonly [C in CacheCause]: string } = {
  first: 'the first request',
  model: 'another model',
  tools: 'other tools',
  system: 'another system prompt',
  compaction: 'a compaction',
  undo: 'an undo',
  rewind: 'a rewind',
  rendering: 'another rendering',
  changed: 'other messages',
  expired: 'the time since then',
  unknown: 'no known cause',
}

/** `Prompt cache lost since r11: 5,000 tokens, $0.0173 (a compaction).` */
function cacheLines(found: RequestComparison): string[] {
  if (found.before === undefined || found.causes.length === 0) return []
  const causes = found.causes.map((cause) => CAUSES[cause]).join(', ')
  const name = shortName({ id: found.before })
  if (found.lost === undefined) return [`Doesn't continue ${name}: ${causes}.`]
  const { tokens, cost } = found.lost
  const lost = listing(counted(tokens, 'token'), cost !== null && money(cost))
  return [`Prompt cache lost since ${name}: ${lost} (${causes}).`]
}

function requestLines(
  { out, style }: Output,
  one: RenderedRequest,
  compared: RequestComparison,
  fold: boolean,
): string[] {
  const { usage, system, tools, messages, matches, reason } = one
  const head = listing(
    `${shortName(one)} to ${safeLine(modelOf(one))}`,
    time(one.at, out),
    usage !== undefined && `${count(inputOf(one))} tokens in, ${count(usage.outputTokens)} out`,
    typeof one.cost === 'number' && money(one.cost),
    one.answerPositions !== undefined && `answer at ${rangeText(one.answerPositions)}`,
  )
  const verdict = matches
    ? style.green('These are the bytes that were sent.')
    : style.yellow(`This isn't what was sent: ${MISMATCH_REASONS[reason!]}.`)
  const section = (title: string, lines: readonly string[]): string[] => [
    '',
    style.bold(title),
    ...lines.map((line) => `  ${line}`),
  ]
  const changed =
    one.changed === undefined
      ? []
      : [`Changed since the previous request: ${listing(changedWords(one), reasoningText(one.changed))}.`]
  return [
    style.bold(head),
    verdict,
    ...changed,
    ...cacheLines(compared),
    ...(system === undefined ? [] : section('system', safeText(system).split('\n'))),
    ...(tools === undefined ? [] : section('tools', tools.map(toolLine))),
    ...messages.flatMap(({ role, content }) =>
      section(
        role,
        shownPieces(partsOf({ content }), fold).flatMap(({ head: title, text }) =>
          [...(title === undefined ? [] : [title]), text].flatMap((part) => part.split('\n')),
        ),
      ),
    ),
  ]
}

/** The name of a tool in any provider's form, else its JSON. */
function toolLine(tool: unknown): string {
  const { name, function: inner, toolSpec } = (tool ?? {}) as { readonly [key: string]: unknown }
  const found = [tool, inner, toolSpec, { name }].flatMap((one) => {
    const own = (one as { readonly name?: unknown } | null | undefined)?.name
    return typeof own === 'string' ? [own] : []
  })
  return safeLine(found[0] ?? JSON.stringify(tool))
}
