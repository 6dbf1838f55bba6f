import { expect } from 'vitest'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { fileWith, readFile } from '../support/files.ts'

/* Files as Claude's web page exports them, and what is told of them. */

export type Fields = { readonly [field: string]: unknown }

export const ROOT = '00000000-0000-4000-8000-000000000000'
export const AT = { line: 1, element: 1 }
export const TIME = '2025-11-22T10:00:00.123456Z'
export const MILLISECONDS = Date.UTC(2025, 10, 22, 10, 0, 0, 123)

/** A message as exports have it: times and lists that say nothing are there. */
export function message(uuid: string, sender: string, content: unknown, more: Fields = {}): Fields {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content, citations: [] }] : content
  return {
    uuid,
    text: typeof content === 'string' ? content : '',
    content: blocks,
    sender,
    created_at: TIME,
    updated_at: TIME,
    attachments: [],
    files: [],
    ...more,
  }
}

export function talk(chat_messages: readonly unknown[], more: Fields = {}): Fields {
  return { uuid: 'talk-1', name: 'A talk', summary: '', created_at: TIME, chat_messages, ...more }
}

/** Messages that follow one another by their parents. */
export function chain(...messages: readonly Fields[]): Fields[] {
  return messages.map((each, i) => ({ ...each, parent_message_uuid: messages[i - 1]?.uuid ?? ROOT }))
}

export async function eventsOf(value: unknown, branches = false): Promise<readonly SourceEvent[]> {
  const path = await fileWith('conversations.json', JSON.stringify([value]))
  const { source, events } = await readFile(path, branches)
  expect(source).toBe('claude')
  return events
}

export const messagesIn = (events: readonly SourceEvent[]) =>
  events.flatMap((event) => (event.type === 'message' ? [event.message] : []))
export const spoken = async (...messages: readonly Fields[]): Promise<unknown[]> =>
  messagesIn(await eventsOf(talk(messages))).map(({ role, content }) => ({ role, content }))
export const text = (role: string, words: string) => ({ role, content: [{ type: 'text', text: words }] })
export const notesIn = (events: readonly SourceEvent[]) =>
  events.flatMap((event) => (event.type === 'note' ? [`${event.kind}: ${event.why}`] : []))
export const problemsIn = (events: readonly SourceEvent[]) => events.filter(({ type }) => type === 'problem')
