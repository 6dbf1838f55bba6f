import { type Message, type NewMessage, type Part, partsOf, type ViewMessage } from '../messages/message.ts'
import type { Prompt } from './options.ts'

/** The messages of a prompt; none for an empty text. */
export function promptMessages(prompt: Prompt | undefined): readonly NewMessage[] {
  if (prompt === undefined || prompt === '') return []
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }]
  return Array.isArray(prompt) ? (prompt as readonly NewMessage[]) : [prompt as NewMessage]
}

/**
 * The prompt with a section of files: before the words of its last message that is the user's, for documents are read before the
 * question; as a message of its own where nobody asks anything.
 */
export function withSection(prompt: readonly NewMessage[], section: string): readonly NewMessage[] {
  if (section === '') return prompt
  const at = prompt.findLastIndex(({ role }) => role === 'user')
  if (at === -1) return [...prompt, { role: 'user', content: section }]
  const asked = prompt[at]!
  const parts = partsOf(asked)
  // Results of tools stay first, for they answer what stands before the message.
  const results = parts.findLastIndex(({ type }) => type === 'tool-result') + 1
  const content: Part[] = [
    ...parts.slice(0, results),
    { type: 'text', text: section },
    ...parts.slice(results),
  ]
  return prompt.with(at, { ...asked, content })
}

/** Messages that are not stored, as rows behind a view. */
export function asRows(prompt: readonly NewMessage[]): ViewMessage[] {
  return prompt.map(({ idempotencyKey: _key, id, createdAt = 0, ...message }, index) => ({
    ...(message as Message),
    id: id ?? `prompt-${index + 1}`,
    kind: 'message' as const,
    createdAt,
  }))
}

/** What the user asks, as text. */
export function questionOf(prompt: readonly NewMessage[]): string | undefined {
  const asked = prompt.findLast(({ role }) => role === 'user')
  if (asked === undefined) return undefined
  return partsOf(asked)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
}
