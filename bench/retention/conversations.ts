import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ChatMessage, Message } from 'undertext'
import { fromAnthropic } from 'undertext/anthropic'
import { detectFormat } from 'undertext/formats'
import { fromOpenAI } from 'undertext/openai'

/** One conversation, in the neutral form, system messages aside: they are sent with every request and never compacted. */
export type Conversation = { readonly name: string; readonly messages: readonly ChatMessage[] }
export type File = { readonly name: string; readonly conversations: readonly Conversation[] }

/** What is measured when no files are named. */
const CORPUS = [
  'coding-session.anthropic.jsonl',
  'claude-code.openai.jsonl',
  'aider.openai.jsonl',
  'issue-resolver.openai.jsonl',
  'react-agent.openai.jsonl',
  'airline-support.openai.jsonl',
  'retail-support.openai.jsonl',
  'travel-zh.openai.jsonl',
  'tooltalk.openai.jsonl',
  'irc-support.openai.jsonl',
  'claude-code-long.openai.jsonl',
]

/** The files named, or those of the corpus beside the repository that are there. */
export function filesToMeasure(named: readonly string[]): string[] {
  if (named.length > 0) return [...named]
  return CORPUS.map(corpusPath).filter((path) => existsSync(path))
}

/** Where a file of the corpus is. */
export function corpusPath(name: string): string {
  const folder = process.env.UNDERTEXT_SHARED ?? fileURLToPath(new URL('../../../shared', import.meta.url))
  return join(folder, 'corpus', name)
}

/**
 * Reads a file of JSON lines or of JSON: a message a line, or a conversation a line (`{ messages: [...] }` or a list).
 * Messages are of Anthropic's, OpenAI's or the neutral form.
 */
export function readConversations(path: string): File {
  const text = readFileSync(path, 'utf8').trim()
  const values = path.endsWith('.json')
    ? listed(JSON.parse(text))
    : text.split('\n').map((line) => JSON.parse(line) as unknown)
  const name = basename(path)
  const lists = values.map(messagesIn)
  const conversations = lists.every((list) => list !== undefined)
    ? lists.map((list, at) => ({ name: `${name}:${at + 1}`, messages: neutral(list) }))
    : [{ name, messages: neutral(values) }]
  return { name, conversations }
}

function listed(value: unknown): unknown[] {
  const messages = messagesIn(value)
  return messages === undefined ? [value] : [messages]
}

function messagesIn(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  const { messages } = (value ?? {}) as { messages?: unknown }
  return Array.isArray(messages) ? messages : undefined
}

function neutral(messages: readonly unknown[]): Message[] {
  const format = detectFormat(messages as never)
  const found =
    format === 'openai'
      ? fromOpenAI(messages as never)
      : format === 'anthropic'
        ? fromAnthropic(messages as never)
        : (messages as Message[])
  return found.filter(({ role }) => role !== 'system')
}
