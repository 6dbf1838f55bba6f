import { isUndertextError, UndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import type { NewMessage, StoredMessage } from '../../core/messages/message.ts'
import type { Compaction } from '../../storage/storage.ts'
import { unlessUnknown } from '../../store/arguments.ts'
import { redactionOf, type Store } from '../../store/store.ts'
import { type PromptHistory, readPrompt } from './prompt-matching.ts'

/** Why this adapter hides messages: `params.why` of the compaction, and a sentence for its readers. */
const REASONS = {
  diverged: 'the application continued from an earlier message',
  late: 'the question was rewound before its answer was stored',
  withdrawn: 'the turn failed before the model answered',
  rewound: 'the chat continued from an earlier message',
} as const
export type Why = keyof typeof REASONS

const BY = 'ai-sdk'

/** The options with which this adapter hides messages. */
export function causeOf(why: Why) {
  return { reason: REASONS[why], params: { by: BY, why } }
}

/** Why this adapter made a compaction; `undefined` if it didn't make it. */
export function whyOf({ params }: Compaction): unknown {
  return params.by === BY ? params.why : undefined
}

/**
 * Returns the ids of messages that are no longer part of the conversation: rewound, hidden by this adapter, or hidden by an earlier summary
 * or truncation that was itself rewound. Messages hidden to save tokens or by a user are still part of it.
 */
function rewoundIds(rows: readonly StoredMessage[], compactions: readonly Compaction[]): ReadonlySet<string> {
  const active = compactions.filter(({ kind, status }) => kind === 'manual' && status === 'active')
  const rewinds = active.filter(({ params }) => params.rewind === true)
  const own = active.filter((compaction) => whyOf(compaction) !== undefined)
  const ids = new Set([...rewinds, ...own].map(({ id }) => id))
  if (ids.size === 0) return new Set()
  const spans = rewinds.map(spanOf)
  const stored = new Map<string, StoredMessage>()
  for (const row of rows) {
    const compaction = row.condenseId ?? row.truncationId
    if (row.kind !== 'message' && compaction !== undefined) stored.set(compaction, row)
  }

  const isRewound = (row: StoredMessage): boolean => {
    if (row.truncationParent !== undefined && ids.has(row.truncationParent)) return true
    const parent = row.condenseParent ?? row.truncationParent
    if (parent === undefined) return false
    const place = row.position ?? row.anchor
    if (spans.some(([from, to]) => from < place && place < to)) return true
    const inserted = stored.get(parent)
    return inserted !== undefined && isRewound(inserted)
  }
  return new Set(rows.filter((row) => row.kind === 'message' && isRewound(row)).map(({ id }) => id))
}

/** The first and the last position a rewind hid. */
function spanOf({ coverage }: Compaction): readonly [from: number, to: number] {
  const { positions } = coverage.hidden
  return [positions[0]?.[0] ?? 0, positions.at(-1)?.[1] ?? 0]
}

/** How to handle an application that continues a conversation before its end. */
export type OnDivergence = 'setAside' | 'append' | 'error'

type ReadingStore = Pick<Store, 'getMessages' | 'listCompactions' | 'compactions'>

/** A prompt compared with the session. */
type SessionReading = {
  readonly fresh: readonly NewMessage[]
  /** Messages of the log after the point that the prompt continues, oldest first. */
  readonly beyond: readonly StoredMessage[]
  /** The last position of the log when it was read; 0 if it was empty. */
  readonly position: number
}

/** The number of messages read in addition to the prompt's, because results may be separate messages. */
const MARGIN = 16

/**
 * Compares a prompt with the end of the log, and with the whole log only if the prompt has an answer that is not at the end. An unknown
 * session is empty.
 */
export async function readSession(
  store: ReadingStore,
  sessionId: string,
  prompt: readonly NewMessage[],
  history: PromptHistory,
): Promise<SessionReading> {
  // The application has its texts as they were before the store redacted them.
  const redaction = redactionOf(store)
  const compare = async (limit?: number) => {
    const options = { order: 'backward' as const, ...defined({ limit }) }
    const rows = (await unlessUnknown(store.getMessages(sessionId, options))) ?? []
    const { log, messages, position } = await readLog(store, sessionId, rows.reverse())
    const { fresh, shared } = readPrompt(log, prompt, history, redaction && ((text) => redaction.text(text)))
    return { fresh, beyond: log.slice(shared), position, messages }
  }
  const window = prompt.length + MARGIN
  const { messages, ...reading } = await compare(window)
  const isWhole = messages.length < window || messages[0]?.position === 1
  const isClear = reading.fresh.length < prompt.length && reading.beyond.length === 0
  const looksBack = history === 'whole' || prompt.some(({ role }) => role === 'assistant')
  if (isWhole || isClear || !looksBack || history === 'new') return reading
  return compare()
}

/** The messages among the rows of a log; `log` has those that are still part of the conversation, `rewound` the others. */
export async function readLog(
  store: Pick<Store, 'listCompactions'>,
  sessionId: string,
  rows: readonly StoredMessage[],
) {
  const messages = rows.filter(({ kind }) => kind === 'message')
  const isTouched = rows.some(({ truncationParent }) => truncationParent !== undefined)
  const ids = isTouched ? rewoundIds(rows, await store.listCompactions(sessionId)) : new Set<string>()
  return {
    messages,
    log: messages.filter(({ id }) => !ids.has(id)),
    rewound: messages.filter(({ id }) => ids.has(id)),
    /** The last position; 0 if there are no messages. */
    position: messages.at(-1)?.position ?? 0,
  }
}

/**
 * Hides the messages after the point that the application continues; returns the compaction's id, so that it can be undone. Throws
 * `HISTORY_DIVERGED` for messages that a summary replaces, or that are pinned.
 */
export async function setAside(
  store: ReadingStore,
  sessionId: string,
  beyond: readonly StoredMessage[],
  { onDivergence, actor }: { readonly onDivergence: OnDivergence; readonly actor?: string | undefined },
): Promise<string | undefined> {
  if (beyond.length === 0 || onDivergence === 'append') return undefined
  const diverged = (why: string): UndertextError => {
    const position = (beyond[0]?.position ?? 1) - 1
    return new UndertextError('HISTORY_DIVERGED', { sessionId, position, why })
  }
  if (onDivergence === 'error') throw diverged('the option onDivergence forbids it')
  if (beyond.some(({ condenseParent }) => condenseParent !== undefined))
    throw diverged('a summary replaces messages after it')
  const visible = beyond.filter(({ hidden, role }) => !hidden && role !== 'system')
  if (visible.some(({ pinned }) => pinned)) throw diverged('a message after it is pinned')
  if (visible.length === 0) return undefined
  return hideRows(store, sessionId, visible, 'diverged', actor)
}

/**
 * Hides messages and returns the compaction's id. Messages of calls without a result stay. If the newest message is one of them, the
 * application is still working on it, and nothing is hidden.
 */
export async function hideRows(
  store: Pick<Store, 'compactions'>,
  sessionId: string,
  rows: readonly StoredMessage[],
  why: Why,
  actor: string | undefined,
): Promise<string | undefined> {
  const hide = async (ids: readonly string[]): Promise<string> =>
    (await store.compactions.hide(sessionId, ids, { ...causeOf(why), ...defined({ actor }) })).id
  const ids = rows.map(({ id }) => id)
  try {
    return await hide(ids)
  } catch (error) {
    if (!isUndertextError(error, 'PENDING_TOOL_CALLS')) throw error
    const open = new Set(error.facts.messageIds)
    const last = ids.at(-1)!
    return open.has(last) ? undefined : hide(ids.filter((id) => !open.has(id)))
  }
}
