import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { detectFormat } from '../../src/adapters/detect.ts'
import { fromChatMessages } from '../../src/adapters/flat/from-chat-messages.ts'
import { toChatMessages } from '../../src/adapters/flat/to-chat-messages.ts'
import { fromGemini, toGemini } from '../../src/adapters/google/index.ts'
import {
  fromOpenAI,
  fromOpenAIResponses,
  toOpenAI,
  toOpenAIResponses,
} from '../../src/adapters/openai/index.ts'
import { isUndertextError, type Message, type NewMessage } from '../../src/index.ts'
import { counted, glimpse } from './text.ts'

/** A file that cannot be used: one sentence for whoever named it. */
export class UnusableFile extends Error {}

type Format = NonNullable<ReturnType<typeof detectFormat>>
type Entry = { readonly [field: string]: unknown }
type Conversation = { readonly messages: readonly object[]; readonly system?: unknown }

/** A conversation somebody has in a file. */
export type Transcript = {
  readonly name: string
  readonly fileBytes: number
  readonly format: Format
  /** The model it names, when it names one. */
  readonly model: string | undefined
  readonly messages: readonly NewMessage[]
  /** Conversations in the file; this is the largest. */
  readonly conversations: number
  /** Its number in the file, from 1. */
  readonly number: number
  /** Entries of the file that were no messages. */
  readonly skipped: number
  /** Whether messages of the store, back in their own form, are what the file holds. */
  readonly sameAs: (messages: readonly Message[]) => boolean
}

/**
 * Reads a transcript: JSON lines or a JSON array of messages in Anthropic's, OpenAI's, Gemini's or our own form, or of
 * conversations `{ messages: […] }`, of which the largest is taken. Throws `UnusableFile`.
 */
export function readTranscript(path: string): Transcript {
  const { text, fileBytes, name } = readText(path)
  const { conversations, skipped } = conversationsIn(entriesIn(text, name), name)
  const sizes = conversations.map((conversation) => JSON.stringify(conversation).length)
  const largest = sizes.indexOf(Math.max(...sizes))
  const conversation = conversations[largest]!
  const { messages } = conversation
  if (messages.length === 0) throw new UnusableFile(`${name} holds no messages.`)
  const format = detectFormat(messages)
  if (format === undefined) {
    throw new UnusableFile(
      `${name} is in no form we know: its entries are messages of neither Anthropic nor OpenAI, or of both.`,
    )
  }
  return {
    name,
    fileBytes,
    format,
    model: modelIn(messages),
    messages: neutral(conversation, format, name),
    conversations: conversations.length,
    number: largest + 1,
    skipped,
    sameAs: (stored) => isSame(stored, conversation, format),
  }
}

function modelIn(messages: readonly object[]): string | undefined {
  for (const { model } of messages as readonly Entry[]) {
    if (typeof model === 'string' && /^[\w.:@/-]{1,60}$/.test(model)) return model
  }
  return undefined
}

function readText(path: string): { text: string; fileBytes: number; name: string } {
  const { INIT_CWD } = process.env
  // npm runs scripts in the package's folder; the name was given in the caller's.
  const full = existsSync(path) || INIT_CWD === undefined ? resolve(path) : resolve(INIT_CWD, path)
  const name = glimpse(basename(full))
  const found = statSync(full, { throwIfNoEntry: false })
  if (found === undefined) throw new UnusableFile(`There is no file ${glimpse(path)}.`)
  if (found.isDirectory()) throw new UnusableFile(`${name} is a folder; a file of messages is wanted.`)
  try {
    const text = readFileSync(full, 'utf8').replace(/^\ufeff/, '')
    if (text.trim() === '') throw new UnusableFile(`${name} is empty.`)
    return { text, fileBytes: found.size, name }
  } catch (error) {
    if (error instanceof UnusableFile) throw error
    throw new UnusableFile(
      `${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`,
    )
  }
}

/** A whole JSON text, or one a line. */
function entriesIn(text: string, name: string): Entry[] {
  const whole = parsed(text)
  const lines = whole === undefined ? linesIn(text, name) : Array.isArray(whole) ? whole : [whole]
  return lines.map((entry: unknown, at) => {
    if (typeof entry === 'object' && entry !== null && !Array.isArray(entry)) return entry as Entry
    throw new UnusableFile(`Entry ${at + 1} of ${name} is no JSON object, so it cannot be a message.`)
  })
}

function linesIn(text: string, name: string): unknown[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const entry = parsed(line)
    if (entry === undefined) throw new UnusableFile(`Line ${at + 1} of ${name} is not JSON.`)
    return [entry]
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined // not JSON: the caller knows what to say of it
  }
}

function conversationsIn(
  entries: readonly Entry[],
  name: string,
): { conversations: Conversation[]; skipped: number } {
  const conversations = entries.filter(isConversation)
  if (conversations.length > 0) {
    if (conversations.length === entries.length) return { conversations, skipped: 0 }
    const mixed = counted(entries.length - conversations.length, 'other entry', 'other entries')
    throw new UnusableFile(`${name} mixes ${counted(conversations.length, 'conversation')} with ${mixed}.`)
  }
  // Logs of coding agents wrap each message, and have lines of other kinds between.
  const wrapped = entries.flatMap(({ message }) => (isMessage(message) ? [message] : []))
  if (wrapped.length > 0 && !entries.some(isMessage)) {
    return { conversations: [{ messages: wrapped }], skipped: entries.length - wrapped.length }
  }
  return { conversations: [{ messages: entries }], skipped: 0 }
}

function isConversation(entry: Entry): entry is Entry & Conversation {
  return Array.isArray(entry.messages)
}

function isMessage(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && 'role' in value && 'content' in value
}

function neutral({ messages, system }: Conversation, format: Format, name: string): readonly NewMessage[] {
  try {
    if (format === 'anthropic') return fromAnthropic(system === undefined ? messages : { messages, system })
    if (format === 'openai') return fromOpenAI(messages)
    if (format === 'flat') return fromChatMessages(messages)
    if (format === 'gemini') return fromGemini(messages)
    if (format === 'openai-responses') return fromOpenAIResponses(messages)
    return messages as readonly NewMessage[]
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    throw new UnusableFile(`${name} holds a message that cannot be taken in: ${error.facts.problems}`)
  }
}

function isSame(stored: readonly Message[], { messages, system }: Conversation, format: Format): boolean {
  const same = (a: unknown, b: unknown): boolean => sorted(a) === sorted(b)
  if (format === 'openai') return same(toOpenAI(stored), messages)
  if (format === 'flat') return same(toChatMessages(stored), messages)
  if (format === 'gemini') return same(toGemini(stored).contents, messages)
  if (format === 'openai-responses') return same(toOpenAIResponses(stored), messages)
  if (format === 'neutral') return same(stored.map(ownFields), messages.map(ownFields))
  return same(toAnthropic(stored), system === undefined ? { messages } : { system, messages })
}

function ownFields({ role, content, metadata }: Partial<Message>): object {
  return { role, content, ...(metadata !== undefined && { metadata }) }
}

/** JSON with its keys in order: two values are equal when these are. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
