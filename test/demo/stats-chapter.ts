import { DEFAULT_COMPACTION_THRESHOLD } from '../../src/core/tokens/budget.ts'
import { estimatorNamed, getContextWindowSize } from '../../src/core/tokens/index.ts'
import type { ContextStats, Store } from '../../src/index.ts'
import { bar, claim, columns, fact, heading, paint, say, table } from './screen.ts'
import { type Standing, standingOf } from './standing.ts'
import { bytes, figure, percent } from './text.ts'

/** What is known of the process that recorded the session, and of its file. */
type Recorded = {
  readonly sessionId: string
  readonly processId: number
  readonly hash: string
  readonly fileBytes: number
}

/** The file as another process finds it, and how full the context is. */
export async function showStats(
  store: Store,
  { sessionId, processId, hash, fileBytes }: Recorded,
): Promise<Standing> {
  heading(2, 'The file, opened again by a new process')
  const stats = await store.getContextStats(sessionId)
  if (stats === null) throw new Error('The session is empty.')
  const before = await standingOf(store, sessionId)
  fact('process', `${process.pid} (the conversation was recorded by ${processId}, which has ended)`)
  fact('file', `one SQLite file, ${bytes(fileBytes)}`)
  const window = getContextWindowSize(stats.provider, stats.model)
  const reserve = window - stats.availableInputTokens
  fact('model', [stats.provider, stats.model].filter((name) => name !== undefined).join(' / '))
  fact('window', `${figure(window)} tokens, ${figure(reserve)} of them kept for the answer`)
  const { condensed, truncated, manual } = stats.hidden
  fact(
    'messages',
    `${figure(stats.storedMessages)} stored, ${figure(stats.messageCount)} visible, ` +
      `${figure(condensed + truncated + manual)} hidden`,
  )
  say()
  showFill(stats)
  say()
  showCategories(stats)
  say()
  claim(before.hash === hash, 'The view has the bytes the first process saw.')
  return before
}

/** Used and available as one bar, with a mark where compaction is due. */
export function showFill(stats: ContextStats, name = 'context'): void {
  const { usageRatio, shouldCompact } = stats
  const colour = shouldCompact ? paint.red : paint.green
  const width = Math.max(10, columns - 2 - 13 - 10)
  const label = paint.dim(name.padEnd(13))
  say(
    label +
      bar(usageRatio, width, colour, DEFAULT_COMPACTION_THRESHOLD) +
      colour(usageText(usageRatio).padStart(9)),
  )
  const due = shouldCompact ? 'compaction is due' : 'compaction is not due'
  const mark = `(${paint.yellow('┃')} ${percent(DEFAULT_COMPACTION_THRESHOLD)})`
  const used = `${figure(stats.estimatedInputTokens)} of ${figure(stats.availableInputTokens)} tokens`
  say(`${' '.repeat(13)}${used}, ${due} ${mark}`)
}

export function usageText(ratio: number): string {
  return ratio >= 2 ? `${ratio.toFixed(1)} x` : `${(ratio * 100).toFixed(1)} %`
}

/** What the tokens are spent on. */
function showCategories({ sizes, provider, messageCount, breakdown, estimator }: ContextStats): void {
  const all = breakdown.conversationHistory
  const counting = estimatorNamed(estimator)!
  const tokens = (units: number): number => counting.toTokens(units, provider)
  const framing = messageCount * counting.tokensPerMessage + counting.tokensPerConversation
  const rows = (
    [
      ['tool results', tokens(sizes.toolResults)],
      ['tool calls', tokens(sizes.toolCalls)],
      ['text', tokens(sizes.text)],
      ['reasoning', tokens(sizes.reasoning)],
      ['media', sizes.media],
      ['framing', framing],
    ] as const
  ).filter(([, count]) => count > 0)
  const width = Math.max(8, Math.min(34, columns - 40))
  table(
    [
      { title: 'spent on' },
      { title: 'tokens', side: 'right' },
      { title: 'share', side: 'right' },
      { title: '', spare: true },
    ],
    rows.map(([name, count]) => [name, figure(count), percent(count / all), bar(count / all, width)]),
  )
}
