import type { ContextStats } from '../../compaction/stats.ts'
import { isUndertextError } from '../../errors.ts'
import { listIn } from '../../messages/lists.ts'
import type { PositionRange, StoredMessage } from '../../messages/message.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import type { Sizes } from '../../tokens/tokens.ts'
import { standsFor } from '../import-histories.ts'
import { sessionRows } from '../session-rows.ts'
import { type DocumentSettings, figure, positionWords, time } from './options.ts'

/** The texts of both documents about a session, its compactions and its rows. Foreign text is marked, and the writer escapes it. */
export type Fact = {
  readonly name: string
  /** Our own text. */
  readonly words: string
  /** Foreign text: an id, the name of a model. */
  readonly given?: string
  /** The position that the text links to. */
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

/** The facts of the session. */
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

/** The facts of a compaction, besides its number, kind and status. */
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

/** A compaction in short: `compaction 2 (condense, in force)`. */
export function compactionName({ number, compaction }: DocumentCompaction): string {
  return `compaction ${number} (${compaction.kind}, ${statusWords(compaction)})`
}

/** The name of a row: its position and role, or the positions it replaces. */
export function rowName(row: StoredMessage, by: DocumentCompaction | undefined): string {
  if (row.kind === 'message') return `${row.position} · ${row.role}`
  const word = row.kind === 'summary' ? 'Summary' : 'Marker'
  return by === undefined || by.standsFor.length === 0 ? word : `${word} of ${positionWords(by.standsFor)}`
}

/** The methods of a store that a document needs. */
export type DocumentStore = Pick<
  Store,
  'getSession' | 'getMessages' | 'listCompactions' | 'getAuditLog' | 'getContextStats'
>

type Session = Awaited<ReturnType<DocumentStore['getSession']>>

/** A compaction with its number in a document and its history. */
export type DocumentCompaction = {
  /** 1 for the first one. */
  readonly number: number
  readonly compaction: Compaction
  /** When it was undone, redone, or ended, oldest first. */
  readonly changes: readonly Pick<AuditEntry, 'event' | 'at' | 'actor'>[]
  /** The positions of the log that it hides, including those of the summaries below it. */
  readonly standsFor: readonly PositionRange[]
}

/** The contents of a document before the conversation. */
export type SessionDocument = {
  readonly session: Session
  /** Absent for a session without messages, and when the store does not have its estimator. */
  readonly stats: ContextStats | undefined
  readonly compactions: readonly DocumentCompaction[]
  readonly byId: ReadonlyMap<string, DocumentCompaction>
}

/** Reads the contents before the conversation. Throws `SESSION_NOT_FOUND`. */
export async function readDocument(store: DocumentStore, sessionId: string): Promise<SessionDocument> {
  const session = await store.getSession(sessionId)
  const stats = await statsOf(store, session)
  const listed = await store.listCompactions(sessionId)
  const changes = listed.length === 0 ? new Map<string, never>() : await changesOf(store, sessionId)
  const positionsOf = standsFor(listed)
  const compactions = listed.map((compaction, index) => ({
    number: index + 1,
    compaction,
    changes: changes.get(compaction.id) ?? [],
    standsFor: positionsOf(compaction),
  }))
  return { session, stats, compactions, byId: new Map(compactions.map((one) => [one.compaction.id, one])) }
}

async function statsOf(store: DocumentStore, session: Session): Promise<ContextStats | undefined> {
  try {
    return (await store.getContextStats(session.id)) ?? undefined
  } catch (error) {
    if (isUndertextError(error, 'ESTIMATOR_UNKNOWN')) return undefined
    throw error
  }
}

/** The rows of a session at the beginning of the export, with the texts they show. */
export function rowsOf(store: DocumentStore, session: Session): AsyncGenerator<StoredMessage> {
  return sessionRows(store, session, { shown: true })
}

/** An entry of a document's conversation: a row, or the number of messages omitted there. */
type DocumentRow = StoredMessage | { readonly left: number }

/** The rows of a document, in order. Omitted inserted rows are not counted, because they are not messages. */
export async function* shownRows(
  store: DocumentStore,
  session: Session,
  { hidden }: Pick<DocumentSettings, 'hidden'>,
): AsyncGenerator<DocumentRow> {
  let left = 0
  for await (const row of rowsOf(store, session)) {
    if (row.hidden && hidden === 'omit') {
      if (row.kind === 'message') left++
      continue
    }
    if (left > 0) yield { left }
    left = 0
    yield row
  }
  if (left > 0) yield { left }
}

/** Whether the session has changed since the beginning of the export. */
export async function hasChanged(store: DocumentStore, session: Session): Promise<boolean> {
  const now = await store.getSession(session.id)
  return now.version !== session.version || now.incarnation !== session.incarnation
}

const AUDIT_PAGE = 1_000

async function changesOf(
  store: DocumentStore,
  sessionId: string,
): Promise<ReadonlyMap<string, Pick<AuditEntry, 'event' | 'at' | 'actor'>[]>> {
  const changes = new Map<string, Pick<AuditEntry, 'event' | 'at' | 'actor'>[]>()
  for (let after = 0; ; ) {
    const entries = await store.getAuditLog(sessionId, { after, limit: AUDIT_PAGE })
    for (const { event, at, actor, compactionId } of entries) {
      if (compactionId === undefined || event === 'created' || event === 'started') continue
      listIn(changes, compactionId).push({ event, at, actor })
    }
    if (entries.length < AUDIT_PAGE) return changes
    after = entries.at(-1)!.no
  }
}

/** Why a row is hidden, and by which compaction. */
type HiddenReason = { readonly why: string; readonly by: DocumentCompaction | undefined }

/** `undefined` for a visible row. */
export function hiddenReason(row: StoredMessage, { byId }: SessionDocument): HiddenReason | undefined {
  if (!row.hidden) return undefined
  // An inserted row of an inactive compaction is hidden for that reason, whatever covered it before.
  if (row.retiredBy !== undefined)
    return { why: 'its compaction is not in force', by: byId.get(row.retiredBy) }
  if (row.condenseParent !== undefined)
    return { why: 'a summary replaces it', by: byId.get(row.condenseParent) }
  const by = byId.get(row.truncationParent!)
  return { why: by === undefined ? 'a compaction hides it' : hidingWords(by.compaction), by }
}

function hidingWords({ kind, params }: Compaction): string {
  if (kind === 'truncate') return 'it was truncated'
  if (kind !== 'manual') return 'a compaction hides it'
  return params.rewind === true ? 'it was rewound' : 'it was hidden manually'
}

/** The compaction that inserted a row. */
export function insertedBy(row: StoredMessage, { byId }: SessionDocument): DocumentCompaction | undefined {
  return byId.get(row.condenseId ?? row.truncationId ?? '')
}

/** The status of a compaction in words. */
export function statusWords({ status }: Compaction): string {
  return status === 'active' ? 'in force' : status
}
