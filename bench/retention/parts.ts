import type { ChatMessage, Part } from 'undertext'

/** Escapes of blanks in JSON that is a text: `\nprint` is no name. */
const ESCAPES = /\\[nrt]/g

/** The parts of a neutral message. */
export function partsOf({ content }: ChatMessage): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Everything a model reads of messages: texts, reasoning, calls with their arguments, results. */
export function textOf(messages: readonly ChatMessage[]): string {
  return messages.flatMap((message) => partsOf(message).flatMap((part) => stringsIn(part))).join('\n')
}

/** What the assistant itself writes: texts, reasoning and the arguments of its calls. */
export function wordsOfAssistant(messages: readonly ChatMessage[]): string {
  const texts: string[] = []
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const part of partsOf(message)) {
      if (part.type === 'text' || part.type === 'reasoning') texts.push(part.text.replaceAll(ESCAPES, ' '))
      else if (part.type === 'tool-call') texts.push(...stringsIn(part.input))
    }
  }
  return texts.join('\n')
}

/** The longest argument of a call, and block of code in a text, that says something; a longer one is new code. */
const LONGEST_SAID = 300
const BLOCK = /```[^\n]*\n([\s\S]*?)(?:```|$)/g

/**
 * What the assistant says: its prose and short arguments. Of the names in new code, the assistant needs few from before. The messages are
 * those that a `TextAgentReader` returned, which adds calls in texts to the message with their result.
 */
export function saidByAssistant(messages: readonly ChatMessage[]): string {
  const texts: string[] = []
  for (const message of messages) {
    for (const part of partsOf(message)) {
      if (part.type === 'tool-call')
        texts.push(...stringsIn(part.input).filter(({ length }) => length <= LONGEST_SAID))
      else if (message.role === 'assistant' && (part.type === 'text' || part.type === 'reasoning'))
        texts.push(
          part.text
            .replaceAll(BLOCK, (block, code: string) => (code.length <= LONGEST_SAID ? block : '\n'))
            .replaceAll(ESCAPES, ' '),
        )
    }
  }
  return texts.join('\n')
}

/** The texts and numbers in a value, names of fields and what only connects messages aside. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value.replaceAll(ESCAPES, ' ')]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  const found: string[] = []
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'type' || name === 'toolCallId' || name === 'providerOptions' || name === 'signature')
      continue
    for (const text of stringsIn(inner)) found.push(text)
  }
  return found
}
