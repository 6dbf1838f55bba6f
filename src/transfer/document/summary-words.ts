import type { ContextStats } from '../../compaction/stats.ts'
import type { StoredMessage } from '../../messages/message.ts'
import type { Sizes } from '../../tokens/tokens.ts'
import { figure, positionWords, time } from './options.ts'
import { type DocumentCompaction, type SessionDocument, statusWords } from './session-document.ts'

/** The words both documents say of a session, its compactions and its rows. What stands apart was said by others, and is made harmless by the writer. */
export type Fact = {
  readonly name: string
  /** Our own words. */
  readonly words: string
  /** Somebody's: an id, the name of a model. */
  readonly given?: string
  /** The position the words lead to. */
  readonly position?: number
}

const CATEGORIES = [
  ['text', 'text'],
  ['reasoning', 'reasoning'],
  ['toolCalls', 'tool calls'],
  ['toolResults', 'tool results'],
  ['media', 'images and files'],
] as const satisfies readonly (readonly [keyof Sizes, string])[]

/** The categories of the view's size that are not empty, with their share of it, in thousandths; together 1,000. */
export function sharesOf(
  sizes: Sizes,
): readonly { readonly name: string; readonly key: keyof Sizes; readonly share: number }[] {
  const total = CATEGORIES.reduce((sum, [key]) => sum + sizes[key], 0)
  let before = 0
  let told = 0
  return CATEGORIES.flatMap(([key, name]) => {
    before += sizes[key]
    const share = total === 0 ? 0 : Math.round((before / total) * 1_000) - told
    told += share
    return sizes[key] > 0 ? [{ name, key, share }] : []
  })
}

/** What is said of the session itself. */
export function sessionFacts(
  { session, stats, compactions }: SessionDocument,
  exportedAt: number | undefined,
): Fact[] {
  const hidden = session.hidden.condensed + session.hidden.truncated + session.hidden.byHand
  const { condensed, truncated, byHand } = session.hidden
  const causes = [condensed, truncated, byHand].filter((count) => count > 0).length
  const several = (count: number): string => (causes > 1 ? `${figure(count)} ` : '')
  const parts = [
    condensed > 0 ? `${several(condensed)}by summaries` : '',
    truncated > 0 ? `${several(truncated)}by truncation` : '',
    byHand > 0 ? `${several(byHand)}by hand` : '',
  ].filter((part) => part !== '')
  return [
    { name: 'Session', words: '', given: session.id },
    ...given('Owner', session.owner),
    ...given('Provider', session.provider),
    ...given('Model', session.model),
    { name: 'Created', words: time(session.createdAt) },
    { name: 'Changed', words: time(session.updatedAt) },
    ...(session.archivedAt === undefined ? [] : [{ name: 'Archived', words: time(session.archivedAt) }]),
    { name: 'Messages', words: `${figure(session.messageCount)} in the log` },
    { name: 'Sent now', words: `${figure(session.visibleCount)} messages, summaries and markers included` },
    ...(hidden > 0
      ? [
          {
            name: 'Hidden',
            words: `${figure(hidden)} messages${parts.length > 1 ? ':' : ''} ${parts.join(', ')}`,
          },
        ]
      : []),
    ...(stats === undefined
      ? []
      : [
          {
            name: 'Tokens',
            words: tokenWords(stats),
          },
        ]),
    ...(compactions.length > 0
      ? [
          {
            name: 'Compactions',
            words: `${figure(compactions.length)}, ${figure(session.activeCompactions)} in force`,
          },
        ]
      : []),
    ...(exportedAt === undefined ? [] : [{ name: 'Exported', words: time(exportedAt) }]),
  ]
}

function tokenWords({ breakdown, source, availableInputTokens }: ContextStats): string {
  const tokens = breakdown.conversationHistory
  const share = availableInputTokens > 0 ? `, ${((tokens / availableInputTokens) * 100).toFixed(1)} %` : ''
  return `${figure(tokens)} sent now (${source})${share} of ${figure(availableInputTokens)} available`
}

function given(name: string, value: string | undefined): Fact[] {
  return value === undefined ? [] : [{ name, words: '', given: value }]
}

/** What is said of a compaction, besides its number, kind and status. */
export function compactionFacts({ compaction, changes, standsFor }: DocumentCompaction): Fact[] {
  const { partsReplaced, tokensBefore, tokensAfter, cost } = compaction
  return [
    { name: 'Made', words: `${time(compaction.createdAt)}, ${compaction.trigger}` },
    ...given('By', compaction.actor),
    ...given('Why', compaction.reason),
    ...(standsFor.length > 0
      ? [{ name: 'Hides', words: positionWords(standsFor), position: standsFor[0]![0] }]
      : []),
    ...(partsReplaced > 0
      ? [
          {
            name: 'Shows differently',
            words: `${figure(partsReplaced)} ${partsReplaced === 1 ? 'part' : 'parts'}`,
          },
        ]
      : []),
    { name: 'Tokens', words: `${figure(tokensBefore)} before, ${figure(tokensAfter)} after` },
    ...given('Summarizer', compaction.summarizer),
    ...given('Model', compaction.model),
    ...(cost === undefined ? [] : [{ name: 'Cost', words: `${cost} US dollars` }]),
    ...given('Error', compaction.error),
    ...changes.map(({ event, at, actor }): Fact => {
      const name = `${event.charAt(0).toUpperCase()}${event.slice(1)}`
      return { name, words: time(at), ...(actor !== undefined && { given: actor }) }
    }),
    { name: 'Id', words: '', given: compaction.id },
  ]
}

/** A compaction in a few words: `compaction 2 (condense, in force)`. */
export function compactionName({ number, compaction }: DocumentCompaction): string {
  return `compaction ${number} (${compaction.kind}, ${statusWords(compaction)})`
}

/** What a row is called: its position and who speaks, or what it stands for. */
export function rowName(row: StoredMessage, by: DocumentCompaction | undefined): string {
  if (row.kind === 'message') return `${row.position} · ${row.role}`
  const word = row.kind === 'summary' ? 'Summary' : 'Marker'
  return by === undefined || by.standsFor.length === 0 ? word : `${word} of ${positionWords(by.standsFor)}`
}
