import {
  type AuditEntry,
  type Compaction,
  type CompactionResult,
  type Message,
  type Store,
  validateHistory,
} from '../../src/index.ts'
import { claim, heading, paint, say, table, tell } from './screen.ts'
import { cell, counted, figure, glimpse, shortId } from './text.ts'

/** What is shown of a summary and of a rendering. */
const SUMMARY_LINES = 8
const SUMMARY_TITLE_COLUMNS = 26
const RENDERED_MESSAGES = 4

/** The audit, the summary and the view as a provider gets it. */
export async function showAudit(
  store: Store,
  sessionId: string,
  { messages }: CompactionResult,
): Promise<void> {
  heading(5, 'The audit')
  showCompactions(await store.listCompactions(sessionId))
  const summary = messages.find(({ kind }) => kind === 'summary')
  if (summary !== undefined) showSummary(summary)
  await showRendering(store, sessionId)
}

export function showCompactions(compactions: readonly Compaction[]): void {
  table(
    [
      { title: 'id' },
      { title: 'kind' },
      { title: 'status' },
      { title: 'hid', side: 'right' },
      { title: 'parts', side: 'right', spare: true },
      { title: 'before', side: 'right' },
      { title: 'after', side: 'right' },
      { title: 'who', spare: true },
      { title: 'why', elastic: true, colour: paint.dim },
    ],
    compactions.map((one) => [
      paint.dim(shortId(one.id)),
      one.kind,
      one.status === 'active' ? paint.green(one.status) : paint.yellow(one.status),
      figure(one.rowsHidden),
      figure(one.partsReplaced),
      figure(one.tokensBefore),
      figure(one.tokensAfter),
      one.actor ?? '',
      glimpse(one.reason ?? ''),
    ]),
  )
}

/** Of each section its title and how it begins; of a text without sections its first lines. */
function showSummary(summary: Message): void {
  const text = typeof summary.content === 'string' ? summary.content : ''
  const sections = text.split(/^## /m).filter((section) => section.trim() !== '')
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  say()
  tell(`The summary, written without a model, has ${counted(lines.length, 'line')}. How it begins:`)
  if (sections.length < 2) {
    for (const line of lines.slice(0, SUMMARY_LINES)) say(`${paint.dim('│')} ${glimpse(line)}`)
    return
  }
  for (const section of sections) {
    const [title = '', first = ''] = section.split('\n')
    say(
      `${paint.dim('│')} ${cell(glimpse(title), SUMMARY_TITLE_COLUMNS)}  ${paint.dim(glimpse(first.replace(/^- /, '')))}`,
    )
  }
}

async function showRendering(store: Store, sessionId: string): Promise<void> {
  const stats = await store.getContextStats(sessionId)
  const provider = stats?.provider ?? 'openai'
  const { messages, mends } = await store.renderHistory(sessionId, { provider })
  say()
  tell(`The view rendered for ${provider}: ${counted(messages.length, 'message')}, ${mendText(mends)}.`)
  table(
    [
      { title: '#', side: 'right' },
      { title: 'role' },
      { title: 'parts' },
      { title: 'begins', elastic: true, colour: paint.dim },
    ],
    messages
      .slice(0, RENDERED_MESSAGES)
      .map((message, at) => [String(at + 1), message.role, partsText(message), glimpse(openingOf(message))]),
  )
  const problems = validateHistory(messages, provider)
  claim(
    problems.length === 0,
    problems.length === 0
      ? `validateHistory finds nothing ${provider} would refuse.`
      : `validateHistory finds ${counted(problems.length, 'problem')}, first ${problems[0]?.code}.`,
  )
}

function mendText(mends: readonly { readonly kind: string }[]): string {
  if (mends.length === 0) return 'nothing had to be mended'
  const kinds = [...new Set(mends.map(({ kind }) => kind))]
  const times = kinds.map((kind) => `${mends.filter((mend) => mend.kind === kind).length} ${kind}`)
  return `${counted(mends.length, 'mend')} (${times.join(', ')})`
}

function partsText({ content }: Message): string {
  if (typeof content === 'string') return 'text'
  const kinds = [...new Set(content.map(({ type }) => type))]
  return kinds
    .map((kind) => {
      const count = content.filter(({ type }) => type === kind).length
      return count === 1 ? kind : `${count} ${kind}`
    })
    .join(', ')
}

function openingOf({ content }: Message): string {
  if (typeof content === 'string') return content
  const [part] = content
  switch (part?.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'tool-call':
      return `${part.toolName} ${JSON.stringify(part.input)}`
    case 'tool-result':
      return 'value' in part.output && typeof part.output.value === 'string'
        ? part.output.value
        : (part.toolName ?? '')
    default:
      return ''
  }
}

/** Everything that happened, from the log that is only ever added to. */
export function showLog(entries: readonly AuditEntry[], compactions: readonly Compaction[]): void {
  const kinds = new Map(compactions.map(({ id, kind }) => [id, kind] as const))
  const steps = entries.map(({ event, compactionId }) => {
    const kind = compactionId === undefined ? undefined : kinds.get(compactionId)
    return kind === undefined ? event : `${event} ${kind}`
  })
  tell(`The log, which only grows: ${steps.join(', ')}.`)
}
