import { createHash } from 'node:crypto'
import { invalid, isUndertextError } from '../../errors.ts'
import { MAX_NAME_LENGTH } from '../../messages/check.ts'
import { canonicalJson, isObject, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { Message, NewMessage } from '../../messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import { fromAnthropic } from '../anthropic/from-anthropic.ts'
import { toAnthropic } from '../anthropic/to-anthropic.ts'
import { jsonMessageAt, keptFor, listAt } from '../wire.ts'
import type { SessionKey, SessionStoreEntry, TranscriptStore } from './types.ts'

/*
 * Transcripts by the names of sessions. A key of the SDK becomes `claude-agent-sdk/<projectKey>/<sessionId>`, with
 * `/<subpath>` behind it for a subagent's. Each piece is written so that any text can be read back.
 */

/** The name under which everything of this adapter is kept: ids of sessions, metadata. */
export const CLAUDE_AGENT_SDK = 'claude-agent-sdk'

/** A transcript and where it is kept. */
export type Transcript = {
  readonly key: SessionKey
  /** The session of the store. */
  readonly id: string
  /** Its owner: the project. */
  readonly owner: string
  /** Whether it is a session's own transcript, and no subagent's. */
  readonly isMain: boolean
}

/** What cannot stand in a name, or divides names: NUL, slashes, halves of surrogate pairs, and the sign of escapes. */
const ESCAPED = /[\0%/]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g
const EMPTY = '%'

/** Any text as a name: what cannot stand in one as `%` and the four hexadecimal digits of its UTF-16 unit. */
export function encodeName(text: string): string {
  if (text === '') return EMPTY
  return text.replace(ESCAPED, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The text of a name: `decodeName(encodeName(text))` is the text. */
export function decodeName(name: string): string {
  if (name === EMPTY) return ''
  return name.replace(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
}

/** Reads a key. Throws `INVALID_INPUT` for one that names no transcript, or is longer than a name can be. */
export function transcriptOf(key: unknown): Transcript {
  if (!isObject(key)) throw invalid('key: must be an object')
  const { projectKey, sessionId, subpath } = key
  if (typeof projectKey !== 'string') throw invalid('key.projectKey: must be a string')
  if (typeof sessionId !== 'string' || sessionId === '')
    throw invalid('key.sessionId: must be a text, not empty')
  if (subpath !== undefined && (typeof subpath !== 'string' || subpath === ''))
    throw invalid('key.subpath: must be a text, not empty, or absent')
  const owner = ownerOf(projectKey)
  const id = idOf(projectKey, sessionId, subpath)
  if (id.length > MAX_NAME_LENGTH)
    throw invalid(`key: must not be longer than ${MAX_NAME_LENGTH} characters in all`)
  const named = { projectKey, sessionId, ...(subpath !== undefined && { subpath }) }
  return { key: named, id, owner, isMain: subpath === undefined }
}

/** The owner of a project's sessions. Throws `INVALID_INPUT`. */
export function ownerOf(projectKey: unknown): string {
  if (typeof projectKey !== 'string') throw invalid('projectKey: must be a string')
  const owner = encodeName(projectKey)
  if (owner.length > MAX_NAME_LENGTH)
    throw invalid(`projectKey: must not be longer than ${MAX_NAME_LENGTH} characters`)
  return owner
}

function idOf(projectKey: string, sessionId: string, subpath: string | undefined): string {
  const names = [projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])]
  return [CLAUDE_AGENT_SDK, ...names.map(encodeName)].join('/')
}

/** The key of a session of the store; `undefined` for one that holds no transcript. */
export function keyOfSession(id: string): SessionKey | undefined {
  const [head, projectKey, sessionId, subpath, ...more] = id.split('/')
  if (head !== CLAUDE_AGENT_SDK || projectKey === undefined || sessionId === undefined || more.length > 0)
    return undefined
  return {
    projectKey: decodeName(projectKey),
    sessionId: decodeName(sessionId),
    ...(subpath !== undefined && { subpath: decodeName(subpath) }),
  }
}

/*
 * Entries of a transcript as messages of a session, and back, exactly.
 *
 * What was said becomes a message: the parts by the conversion of Anthropic's form, the rest of the entry (`uuid`,
 * `parentUuid`, `cwd`, `toolUseResult` …) beside it. Everything else becomes a message of no parts, which no model is
 * sent and no turn begins with: role `tool`, so that nobody takes it for the user's words or an answer, and not `system`,
 * so that a compaction can hide it with what stands around it.
 *
 * Reserved in `metadata['claude-agent-sdk']`: `envelope` is an entry without its `message`, `entry` a whole one,
 * `deleted` marks the end of what a deletion hid, and holds the name of that deletion.
 */

/** How deep an entry lies in the metadata it is kept in. */
const DEPTH_KEPT = 2

/**
 * Entries as messages to be appended, one each. `isMain`: of a session's own transcript; there a sidechain is somebody
 * else's conversation and says nothing.
 *
 * Throws `INVALID_INPUT` with the place, and without what stands there, for what is no list of JSON objects with a `type`.
 */
export function messagesOf(entries: unknown, isMain: boolean): NewMessage[] {
  return listAt(entries, 'entries').map((value, index) => {
    const place = `entries[${index}]`
    const entry = jsonMessageAt(value, place)
    if (typeof entry.type !== 'string') throw invalid(`${place}.type: must be a string`)
    const problem = jsonProblem(entry, DEPTH_KEPT)
    if (problem !== undefined) throw invalid(`${place}: holds ${problem}`)
    return messageOf(entry, isMain)
  })
}

function messageOf(entry: JsonObject, isMain: boolean): NewMessage {
  const createdAt = typeof entry.timestamp === 'string' ? Date.parse(entry.timestamp) : Number.NaN
  const idempotencyKey = keyOfUuid(entry.uuid)
  return {
    ...(isSpoken(entry, isMain) ? spokenMessage(entry) : silent({ entry })),
    ...(Number.isSafeInteger(createdAt) && { createdAt }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
}

/** An entry as a message that says nothing to anybody. `entry` is an object that JSON can say. */
export function silentMessageOf(entry: JsonObject): Message {
  return silent({ entry })
}

/** A message that says nothing to anybody and keeps something. */
function silent(kept: JsonObject): Message {
  return { role: 'tool', content: [], metadata: { [CLAUDE_AGENT_SDK]: kept } }
}

/** The message behind the last one that a deletion hides. It is hidden with them, and tells of it. */
export function deletionMark(deletion: string): NewMessage {
  return silent({ deleted: deletion })
}

/**
 * Whether an entry is part of what the model is sent: words of the user and the model, and results of tools. Not what
 * Claude Code only shows, nor the errors it puts in an answer's place.
 */
export function isSpoken(entry: JsonObject, isMain: boolean): boolean {
  const { type, message, isSidechain, isVisibleInTranscriptOnly, isApiErrorMessage } = entry
  if (type !== 'user' && type !== 'assistant') return false
  if (!isObject(message) || message.role !== type) return false
  if (isVisibleInTranscriptOnly === true || isApiErrorMessage === true) return false
  return !(isMain && isSidechain === true)
}

/** What does not come out of the conversion as it went in is kept whole beside what could be read of it. */
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

/** The entry a message was made of; `undefined` for a message that somebody else appended, and for the mark of a deletion. */
export function entryOf({ role, content, metadata }: Message): SessionStoreEntry | undefined {
  const { [CLAUDE_AGENT_SDK]: _, ...rest } = metadata ?? {}
  const { entry, envelope } = keptFor(CLAUDE_AGENT_SDK, metadata) ?? {}
  if (isObject(entry)) return entry as SessionStoreEntry
  if (!isObject(envelope)) return undefined
  const [message] = toAnthropic([{ role, content, metadata: rest }]).messages
  return { ...(envelope as SessionStoreEntry), message }
}

/** The name of the deletion a message marks the end of. */
export function deletionOf({ metadata }: Message): string | undefined {
  const deletion = keptFor(CLAUDE_AGENT_SDK, metadata)?.deleted
  return typeof deletion === 'string' ? deletion : undefined
}

/**
 * An entry's `uuid` as an idempotency key, by its hash when it is too long; nothing for an entry without one. A key that begins with `%` and
 * a letter behind `f` is no entry's `uuid`.
 */
export function keyOfUuid(uuid: unknown): string | undefined {
  if (typeof uuid !== 'string' || uuid === '') return undefined
  const name = encodeName(uuid)
  if (name.length <= LONGEST_UUID) return name
  return `%sha256-${createHash('sha256').update(name).digest('hex')}`
}

/** Leaves room for what tells entries after a deletion from those before. */
const LONGEST_UUID = MAX_NAME_LENGTH - 100

/*
 * What the adapter keeps in the metadata of a session, under its own name:
 *
 * - `key`: the transcript's key, for people who look at it;
 * - `summary`: the SDK's summary, and how far it was folded;
 * - `deleted`: whether something of it was deleted, so that its entries may come again.
 */

/** What is kept in a session's metadata. */
export function keptOf({ metadata }: Pick<Session, 'metadata'>): JsonObject {
  return keptFor(CLAUDE_AGENT_SDK, metadata) ?? {}
}

/** Changes some of it. The metadata are read again right before, so that what the application set meanwhile stays. */
export async function keepIn(store: TranscriptStore, id: string, fields: JsonObject): Promise<void> {
  const session = await store.getSession(id)
  const kept = { ...keptOf(session), ...fields }
  await store.updateSession(id, { metadata: { ...session.metadata, [CLAUDE_AGENT_SDK]: kept } })
}
