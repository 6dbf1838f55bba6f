import { createHash } from 'node:crypto'
import { invalid, isUndertextError } from '../../core/errors.ts'
import { MAX_NAME_LENGTH, readable } from '../../core/messages/check.ts'
import { canonicalJson, defined, isObject, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import type { Message, NewMessage } from '../../core/messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import { fromAnthropic } from '../anthropic/from-anthropic.ts'
import { toAnthropic } from '../anthropic/to-anthropic.ts'
import { fields, filledText, optional, text } from '../shapes.ts'
import { jsonMessageAt, keptFor, listAt } from '../wire.ts'

/*
 * Types of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`, an optional peer) that this package uses. Tests compare them with the
 * SDK's own types. Source: `SessionStore` and its neighbors in the SDK's `sdk.d.ts`, 0.3.
 */

/** Names a transcript: the SDK's `SessionKey`. */
export type SessionKey = {
  readonly projectKey: string
  readonly sessionId: string
  /** The path of a subagent's transcript; absent for the session's own. */
  readonly subpath?: string
}

/** One line of a transcript: the SDK's `SessionStoreEntry`. Any JSON object with a `type`. */
export type SessionStoreEntry = {
  type: string
  uuid?: string
  timestamp?: string
  [field: string]: unknown
}

/** A session in a list. `mtime`: milliseconds since 1970, when something was last appended. */
export type ListedSession = { sessionId: string; mtime: number }

/** The SDK's summary of a session for its list: its `SessionSummaryEntry`. `data` is the SDK's own. */
export type SessionSummaryEntry = ListedSession & { data: Record<string, unknown> }

/** The SDK's `foldSessionSummary`: adds entries to a summary. Pure. */
export type FoldSessionSummary = (
  previous: SessionSummaryEntry | undefined,
  key: { projectKey: string; sessionId: string },
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry

/** The store methods that the adapter needs. */
export type TranscriptStore = Pick<
  Store,
  'append' | 'sessions' | 'compactions' | 'forOwner' | 'getMessages' | 'rewind' | 'undoCompaction'
>

/*
 * Session ids of transcripts. A key of the SDK becomes `claude-agent-sdk/<projectKey>/<sessionId>`, followed by
 * `/<subpath>` for a subagent. Each piece is escaped so that any text can be restored.
 */

/** The name under which this adapter keeps everything: ids of sessions, metadata. */
export const CLAUDE_AGENT_SDK = 'claude-agent-sdk'

/** A transcript and its session. */
export type Transcript = {
  readonly key: SessionKey
  /** The session of the store. */
  readonly id: string
  /** Its owner: the project. */
  readonly owner: string
  /** Whether it is a session's own transcript, not a subagent's. */
  readonly isMain: boolean
}

/** Characters that a name cannot hold, or that divide names: NUL, slashes, unpaired surrogates, and the escape sign. */
const ESCAPED = /[\0%/]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g
const EMPTY = '%'

/** Encodes a text as a name: characters that a name cannot hold become `%` and the four hexadecimal digits of the UTF-16 unit. */
export function encodeName(text: string): string {
  return readable('encodeName', () => {
    if (text === '') return EMPTY
    return text.replace(ESCAPED, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  })
}

/** Restores the text of a name: `decodeName(encodeName(text))` is `text`. */
export function decodeName(name: string): string {
  return readable('decodeName', () => {
    if (name === EMPTY) return ''
    return name.replace(/%([0-9a-f]{4})/g, (_, unit: string) =>
      String.fromCharCode(Number.parseInt(unit, 16)),
    )
  })
}

const keyShape = fields({ projectKey: text, sessionId: filledText, subpath: optional(filledText) })

/** Reads a key. Throws `INVALID_INPUT` for a key that doesn't name a transcript or is too long. */
export function transcriptOf(key: unknown): Transcript {
  const { projectKey, sessionId, subpath } = keyShape(key, 'key')
  const owner = ownerOf(projectKey)
  const id = idOf(projectKey, sessionId, subpath)
  if (id.length > MAX_NAME_LENGTH)
    throw invalid(`key: must not be longer than ${MAX_NAME_LENGTH} characters in total`)
  return { key: { projectKey, sessionId, ...defined({ subpath }) }, id, owner, isMain: subpath === undefined }
}

/** Returns the owner of a project's sessions. Throws `INVALID_INPUT`. */
export function ownerOf(projectKey: unknown): string {
  const owner = encodeName(text(projectKey, 'projectKey'))
  if (owner.length > MAX_NAME_LENGTH)
    throw invalid(`projectKey: must not be longer than ${MAX_NAME_LENGTH} characters`)
  return owner
}

function idOf(projectKey: string, sessionId: string, subpath: string | undefined): string {
  const names = [projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])]
  return [CLAUDE_AGENT_SDK, ...names.map(encodeName)].join('/')
}

/** Returns the key of a session, or `undefined` if the session doesn't hold a transcript. */
export function keyOfSession(id: string): SessionKey | undefined {
  return readable('keyOfSession', () => {
    const [head, projectKey, sessionId, subpath, ...more] = id.split('/')
    if (head !== CLAUDE_AGENT_SDK || projectKey === undefined || sessionId === undefined || more.length > 0)
      return undefined
    return {
      projectKey: decodeName(projectKey),
      sessionId: decodeName(sessionId),
      ...(subpath !== undefined && { subpath: decodeName(subpath) }),
    }
  })
}

/*
 * Entries of a transcript as messages of a session, and back, exactly.
 *
 * Conversation entries become messages: the parts by the conversion of Anthropic, the rest of the entry (`uuid`, `parentUuid`, `cwd`,
 * `toolUseResult` …) in the metadata. All other entries become messages without parts, which aren't sent to a model and don't begin a turn.
 * Their role is `tool`, so that they count neither as user nor as assistant messages, and not `system`, so that a compaction can hide them
 * with the messages around.
 *
 * Reserved in `metadata['claude-agent-sdk']`: `envelope` is an entry without its `message`, `entry` a whole entry, `deleted` marks the end
 * of the rows that a deletion hid and holds the deletion's name.
 */

/** The depth of an entry in the metadata that holds it. */
const DEPTH_KEPT = 2

/**
 * Converts entries to messages to be appended, one each. `isMain`: the entries belong to a session's own
 * transcript, where a sidechain is another conversation and is not sent.
 *
 * Throws `INVALID_INPUT`, which names the place and never quotes the content, for a value that isn't a list of JSON objects with a `type`.
 */
export function messagesOf(entries: unknown, isMain: boolean): NewMessage[] {
  return listAt(entries, 'entries').map((value, index) => {
    const place = `entries[${index}]`
    const entry = jsonMessageAt(value, place)
    text(entry.type, `${place}.type`)
    const problem = jsonProblem(entry, DEPTH_KEPT)
    if (problem !== undefined) throw invalid(`${place}: contains ${problem}`)
    return messageOf(entry, isMain)
  })
}

function messageOf(entry: JsonObject, isMain: boolean): NewMessage {
  const createdAt = typeof entry.timestamp === 'string' ? Date.parse(entry.timestamp) : Number.NaN
  const idempotencyKey = keyOfUuid(entry.uuid)
  return {
    ...(isSpoken(entry, isMain) ? spokenMessage(entry) : silent({ entry })),
    ...(Number.isSafeInteger(createdAt) && { createdAt }),
    ...defined({ idempotencyKey }),
  }
}

/** An entry as a message without parts. `entry` must be JSON. */
export function silentMessageOf(entry: JsonObject): Message {
  return silent({ entry })
}

/** A message without parts that keeps fields. */
function silent(kept: JsonObject): Message {
  return { role: 'tool', content: [], metadata: { [CLAUDE_AGENT_SDK]: kept } }
}

/** The message after the last one that a deletion hides. It is hidden with them, and marks the deletion. */
export function deletionMark(deletion: string): NewMessage {
  return silent({ deleted: deletion })
}

/**
 * Whether an entry is sent to the model: user and assistant messages, and tool results, except content that Claude Code only displays and
 * errors that it stores instead of a response.
 */
export function isSpoken(entry: JsonObject, isMain: boolean): boolean {
  const { type, message, isSidechain, isVisibleInTranscriptOnly, isApiErrorMessage } = entry
  if (type !== 'user' && type !== 'assistant') return false
  if (!isObject(message) || message.role !== type) return false
  if (isVisibleInTranscriptOnly === true || isApiErrorMessage === true) return false
  return !(isMain && isSidechain === true)
}

/** An entry that the conversion does not restore exactly is kept whole beside the parts that could be read. */
function spokenMessage({ message, ...envelope }: JsonObject): Message {
  const read = readMessage(message as JsonObject)
  if (read === undefined) return silent({ entry: { ...envelope, message } })
  const { role, content, metadata } = read
  if (canonicalJson(toAnthropic([read]).messages) !== canonicalJson([message]))
    return { role, content, metadata: { [CLAUDE_AGENT_SDK]: { entry: { ...envelope, message } } } }
  return { role, content, metadata: { ...metadata, [CLAUDE_AGENT_SDK]: { envelope } } }
}

function readMessage(message: JsonObject): Message | undefined {
  try {
    const [read, ...more] = fromAnthropic([message])
    return more.length === 0 ? read : undefined
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) return undefined
    throw error
  }
}

/** Returns the entry of a message, or `undefined` for a message from elsewhere and for the mark of a deletion. */
export function entryOf({ role, content, metadata }: Message): SessionStoreEntry | undefined {
  const { [CLAUDE_AGENT_SDK]: _, ...rest } = metadata ?? {}
  const { entry, envelope } = keptFor(CLAUDE_AGENT_SDK, metadata) ?? {}
  if (isObject(entry)) return entry as SessionStoreEntry
  if (!isObject(envelope)) return undefined
  const [message] = toAnthropic([{ role, content, metadata: rest }]).messages
  return { ...(envelope as SessionStoreEntry), message }
}

/** The name of the deletion that a message marks. */
export function deletionOf({ metadata }: Message): string | undefined {
  const deletion = keptFor(CLAUDE_AGENT_SDK, metadata)?.deleted
  return typeof deletion === 'string' ? deletion : undefined
}

/**
 * Returns an entry's `uuid` as an idempotency key, hashed if it is too long; `undefined` for an entry without a `uuid`. Such a key never
 * begins with `%` and a letter after `f`.
 */
export function keyOfUuid(uuid: unknown): string | undefined {
  if (typeof uuid !== 'string' || uuid === '') return undefined
  const name = encodeName(uuid)
  if (name.length <= MAX_UUID_LENGTH) return name
  return `%sha256-${createHash('sha256').update(name).digest('hex')}`
}

/** Leaves room for the suffix of entries after a deletion. */
const MAX_UUID_LENGTH = MAX_NAME_LENGTH - 100

/*
 * The metadata of a session under the name of this adapter:
 *
 * - `key`: the key of the transcript, for people;
 * - `summary`: the SDK's summary, and the position up to which it was folded;
 * - `deleted`: whether entries were deleted, so that they may come again.
 */

/** The metadata that this adapter keeps in a session. */
export function keptOf({ metadata }: Pick<Session, 'metadata'>): JsonObject {
  return keptFor(CLAUDE_AGENT_SDK, metadata) ?? {}
}

/** Changes some of these fields. The metadata is read again just before, so that changes of the application are kept. */
export async function keepIn(store: TranscriptStore, id: string, fields: JsonObject): Promise<void> {
  const session = await store.sessions.get(id)
  const kept = { ...keptOf(session), ...fields }
  await store.sessions.update(id, { metadata: { ...session.metadata, [CLAUDE_AGENT_SDK]: kept } })
}
