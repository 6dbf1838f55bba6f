import { isUndertextError } from '../../core/errors.ts'
import { listIn } from '../../core/messages/json.ts'
import type { PositionRange, StoredMessage } from '../../core/messages/message.ts'
import { shownTitle, titleFrom } from '../../core/messages/title.ts'
import { mergeRanges } from '../../core/model/expansion.ts'
import type { Sizes } from '../../core/tokens/measure.ts'
import type { AuditEntry, Compaction, MessageCounts, Session } from '../../storage/storage.ts'
import type { ContextStats } from '../../store/compaction/stats.ts'
import type { Store } from '../../store/store.ts'
import { counted, type DocumentSettings, figure, positionWords, time } from './options.ts'

/** The texts of both document formats about a session, its compactions and its rows. Foreign text is marked, and the writer escapes it. */
export type Fact = {
  readonly name: string
  /** Text of this package. */
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

/** Returns the non-empty categories of the view's size, with their shares in thousandths, which add up to 1,000. */
export function sharesOf(
  sizes: Sizes,
): readonly { readonly name: string; readonly key: keyof Sizes; readonly share: number }[] {
  const total = CATEGORIES.reduce((sum, [key]) => sum + sizes[key], 0)
  let before = 0
  let shared = 0
  return CATEGORIES.flatMap(([key, name]) => {
    before += sizes[key]
    const share = total === 0 ? 0 : Math.round((before / total) * 1_000) - shared
    shared += share
    return sizes[key] > 0 ? [{ name, key, share }] : []
  })
}

/** The heading of a document. */
export function headingOf(
  { session: { id, title = '' } }: SessionDocument,
  settings: DocumentSettings,
): string {
  return settings.title ?? (shownTitle(title) || id)
}

/** Returns the facts of the session itself. A title that is too long for the heading is one of them. */
export function sessionFacts(
  { session, stats, compactions }: SessionDocument,
  exportedAt: number | undefined,
): Fact[] {
  const { title = '' } = session
  const isCut = (titleFrom(title) ?? '') !== shownTitle(title)
  return [
    ...given('Session', session.id),
    ...given('Title', isCut ? title : undefined),
    ...given('Owner', session.owner),
    ...given('Provider', session.provider),
    ...given('Model', session.model),
    { name: 'Created', words: time(session.createdAt) },
    { name: 'Changed', words: time(session.updatedAt) },
    ...fact('Archived', session.archivedAt === undefined ? '' : time(session.archivedAt)),
    { name: 'Messages', words: `${figure(session.counts.messages)} in the log` },
    { name: 'Sent now', words: `${figure(session.counts.visible)} messages, summaries and markers included` },
    ...fact('Hidden', hiddenWords(session.hidden)),
    ...fact('Tokens', stats === undefined ? '' : tokenWords(stats)),
    ...fact(
      'Compactions',
      compactions.length === 0
        ? ''
        : `${figure(compactions.length)}, ${figure(session.activeCompactions)} in force`,
    ),
    ...fact('Exported', exportedAt === undefined ? '' : time(exportedAt)),
  ]
}

function hiddenWords({ condensed, truncated, manual }: Session['hidden']): string {
  const causes = [
    { count: condensed, words: 'by summaries' },
    { count: truncated, words: 'by truncation' },
    { count: manual, words: 'manually' },
  ].filter(({ count }) => count > 0)
  if (causes.length === 0) return ''
  const hidden = `${figure(condensed + truncated + manual)} messages`
  if (causes.length === 1) return `${hidden} ${causes[0]!.words}`
  return `${hidden}: ${causes.map(({ count, words }) => `${figure(count)} ${words}`).join(', ')}`
}

function tokenWords({ breakdown, source, availableInputTokens }: ContextStats): string {
  const tokens = breakdown.conversationHistory
  const share = availableInputTokens > 0 ? `, ${((tokens / availableInputTokens) * 100).toFixed(1)} %` : ''
  return `${figure(tokens)} sent now (${source})${share} of ${figure(availableInputTokens)} available`
}

function fact(name: string, words: string): Fact[] {
  return words === '' ? [] : [{ name, words }]
}

function given(name: string, value: string | undefined): Fact[] {
  return value === undefined ? [] : [{ name, words: '', given: value }]
}

/** Returns the facts of a compaction, apart from its number, kind and status. */
export function compactionFacts({ compaction, changes, positions }: DocumentCompaction): Fact[] {
  const { partsReplaced, tokensBefore, tokensAfter, cost } = compaction
  return [
    { name: 'Made', words: `${time(compaction.createdAt)}, ${compaction.trigger}` },
    ...given('By', compaction.actor),
    ...given('Why', compaction.reason),
    ...(positions.length > 0
      ? [{ name: 'Hides', words: positionWords(positions), position: positions[0]![0] }]
      : []),
    ...fact('Shows differently', partsReplaced === 0 ? '' : counted(partsReplaced, 'part')),
    { name: 'Tokens', words: `${figure(tokensBefore)} before, ${figure(tokensAfter)} after` },
    ...given('Summarizer', compaction.summarizer),
    ...given('Model', compaction.model),
    ...fact('Cost', cost === undefined ? '' : `${cost} US dollars`),
    ...given('Error', compaction.error),
    ...changes.map(({ event, at, actor }): Fact => {
      const name = `${event.charAt(0).toUpperCase()}${event.slice(1)}`
      return { name, words: time(at), ...(actor !== undefined && { given: actor }) }
    }),
    ...given('Id', compaction.id),
  ]
}

/** Returns a compaction in short: `compaction 2 (condense, in force)`. */
export function compactionName({ number, compaction }: DocumentCompaction): string {
  return `compaction ${number} (${compaction.kind}, ${statusWords(compaction)})`
}

/** Returns the name of a row: its position and role, or the positions that it replaces. */
export function rowName(row: StoredMessage, by: DocumentCompaction | undefined): string {
  if (row.kind === 'message') return `${row.position} · ${row.role}`
  const word = row.kind === 'summary' ? 'Summary' : 'Marker'
  return by === undefined || by.positions.length === 0 ? word : `${word} of ${positionWords(by.positions)}`
}

/** The methods of a store that a document needs. */
export type DocumentStore = Pick<Store, 'sessions' | 'getMessages' | 'listCompactions' | 'getContextStats'>

type CountedSession = Session & { readonly counts: MessageCounts }

/** A compaction with its history, and its number in a document. */
export type DocumentCompaction = {
  /** Counts from 1. */
  readonly number: number
  readonly compaction: Compaction
  /** The times at which it was undone, redone or ended, oldest first. */
  readonly changes: readonly Pick<AuditEntry, 'event' | 'at' | 'actor'>[]
  /** The positions of the log that it hides, including those beneath summaries. */
  readonly positions: readonly PositionRange[]
}

/** The part of a document before the conversation. */
export type SessionDocument = {
  readonly session: CountedSession
  /** Absent for a session without messages, and if the store doesn't have its estimator. */
  readonly stats: ContextStats | undefined
  readonly compactions: readonly DocumentCompaction[]
  readonly byId: ReadonlyMap<string, DocumentCompaction>
}

/** Reads the part of a document before the conversation. Throws `SESSION_NOT_FOUND`. */
export async function readDocument(store: DocumentStore, sessionId: string): Promise<SessionDocument> {
  const session = await store.sessions.get(sessionId, { counts: true })
  const stats = await statsOf(store, session)
  const listed = await store.listCompactions(sessionId)
  const changes = listed.length === 0 ? new Map<string, never>() : await changesOf(store, sessionId)
  const positionsOf = coveredPositions(listed)
  const compactions = listed.map((compaction, index) => ({
    number: index + 1,
    compaction,
    changes: changes.get(compaction.id) ?? [],
    positions: positionsOf(compaction),
  }))
  return {
    session,
    stats,
    compactions,
    byId: new Map(compactions.map((one) => [one.compaction.id, one])),
  }
}

async function statsOf(store: DocumentStore, session: Session): Promise<ContextStats | undefined> {
  try {
    return (await store.getContextStats(session.id)) ?? undefined
  } catch (error) {
    if (isUndertextError(error, 'ESTIMATOR_UNKNOWN')) return undefined
    throw error
  }
}

/** Returns whether the session has changed since the export began. */
export async function hasChanged(store: DocumentStore, session: Session): Promise<boolean> {
  const now = await store.sessions.get(session.id)
  return now.version !== session.version || now.incarnation !== session.incarnation
}

const AUDIT_PAGE = 1_000

async function changesOf(
  store: DocumentStore,
  sessionId: string,
): Promise<ReadonlyMap<string, Pick<AuditEntry, 'event' | 'at' | 'actor'>[]>> {
  const changes = new Map<string, Pick<AuditEntry, 'event' | 'at' | 'actor'>[]>()
  for await (const { event, at, actor, compactionId } of auditEntries(store, sessionId)) {
    if (compactionId === undefined || event === 'created' || event === 'started') continue
    listIn(changes, compactionId).push({ event, at, actor })
  }
  return changes
}

/** Yields all audit entries of a session, oldest first. */
export async function* auditEntries(
  store: Pick<Store, 'sessions'>,
  sessionId: string,
): AsyncGenerator<AuditEntry> {
  for (let after = 0; ; ) {
    const entries = await store.sessions.audit(sessionId, { after, limit: AUDIT_PAGE })
    yield* entries
    if (entries.length < AUDIT_PAGE) return
    after = entries.at(-1)!.no
  }
}

/** Why a row is hidden, and by which compaction. */
export type HiddenReason = { readonly why: string; readonly by: DocumentCompaction | undefined }

/** Returns why a row is hidden; `undefined` for a visible row. */
export function hiddenReason(row: StoredMessage, { byId }: SessionDocument): HiddenReason | undefined {
  if (!row.hidden) return undefined
  // An inserted row of an inactive compaction is hidden for that reason, even if another compaction covered it before.
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

/** Returns the status of a compaction in words. */
export function statusWords({ status }: Compaction): string {
  return status === 'active' ? 'in force' : status
}

/**
 * Returns a function that lists the positions of the log that a compaction hides, including those beneath summaries. `compactions` are
 * those of one session.
 */
export function coveredPositions(
  compactions: readonly Compaction[],
): (compaction: Compaction) => readonly PositionRange[] {
  const byOrdinal = new Map(compactions.map((one) => [one.coverage.inserted?.ordinal, one]))
  const known = new Map<string, readonly PositionRange[]>()
  const positionsOf = ({ id, coverage: { hidden } }: Compaction): readonly PositionRange[] => {
    const found = known.get(id)
    if (found !== undefined) return found
    // Damaged coverage may be circular.
    known.set(id, [])
    const beneath = hidden.inserted.flatMap(({ ordinal }) => {
      const inner = byOrdinal.get(ordinal)
      return inner === undefined ? [] : positionsOf(inner)
    })
    const positions = mergeRanges([...hidden.positions, ...beneath])
    known.set(id, positions)
    return positions
  }
  return positionsOf
}
