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
import { createHash } from 'node:crypto'
import { invalid, isUndertextError } from '../../errors.ts'
import { MAX_NAME_LENGTH } from '../../messages/check.ts'
import { canonicalJson, isObject, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { Message, NewMessage } from '../../messages/message.ts'
import { fromAnthropic } from '../anthropic/from-anthropic.ts'
import { toAnthropic } from '../anthropic/to-anthropic.ts'
import { jsonMessageAt, keptFor, listAt } from '../wire.ts'
import { CLAUDE_AGENT_SDK, encodeName } from './key.ts'
import type { SessionStoreEntry } from './types.ts'

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
