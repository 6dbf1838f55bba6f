import { withoutMarkup } from '../../core/messages/client-markup.ts'
import { isObject, type Json, stringifyJson } from '../../core/messages/json.ts'
import { mediaWord, outputText, type Part, partsOf, type StoredMessage } from '../../core/messages/message.ts'
import { isRecallTool } from '../../core/messages/tool-names.ts'
import { searchedText } from '../../core/search/words.ts'

/** The text of a stored message as it is read, and where each part of it begins. */
export type RowText = {
  readonly text: string
  /** For each part the place of its first UTF-16 unit in the text. */
  readonly starts: readonly number[]
  /** For each part the place after its last unit. */
  readonly ends: readonly number[]
}

/** Texts as they are, calls with their arguments, outputs in full; a word in place of an image or a file. */
export function rowText(message: Pick<StoredMessage, 'content'>): RowText {
  const texts: string[] = []
  const [starts, ends]: [number[], number[]] = [[], []]
  let at = 0
  for (const part of partsOf(message)) {
    const text = partText(part)
    const separator = at === 0 || text === '' ? '' : '\n'
    starts.push(at + separator.length)
    at += separator.length + text.length
    ends.push(at)
    if (text !== '') texts.push(separator, text)
  }
  return { text: texts.join(''), starts, ends }
}

/** The same text with spaces in place of what a client added to a user's message: its words are no reason to find it. */
export function soughtText(
  message: Pick<StoredMessage, 'content' | 'role' | 'kind'>,
  { text, starts, ends }: RowText,
): string {
  if (message.role !== 'user' || message.kind !== 'message') return text
  const sought: string[] = []
  let from = 0
  for (const [at, part] of partsOf(message).entries()) {
    const own = text.slice(starts[at], ends[at])
    sought.push(text.slice(from, starts[at]), part.type === 'text' ? withoutMarkup(own) : own)
    from = ends[at]!
  }
  return sought.join('') + text.slice(from)
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'image':
    case 'file':
      return mediaWord(part)
    case 'tool-call':
      return `${part.toolName}\n${jsonText(part.input)}`
    case 'tool-result':
      return part.output.type === 'json' || part.output.type === 'error-json'
        ? jsonText(part.output.value)
        : outputText(part.output)
    case 'provider':
      // What the search reads of it; the rest is encoded or encrypted.
      return searchedText({ content: [part] })
  }
}

/** A line for each field of an object; texts as they are, so that a program in an argument can be read. */
function jsonText(value: Json): string {
  if (typeof value === 'string') return value
  if (!isObject(value)) return stringifyJson(value)
  return Object.entries(value)
    .map(([name, field]) => `${name}: ${typeof field === 'string' ? field : stringifyJson(field ?? null)}`)
    .join('\n')
}

/** The tools that a message calls or holds a result of, each once. */
export function toolsOf(message: Pick<StoredMessage, 'content'>): string[] {
  const names = new Set<string>()
  for (const part of partsOf(message))
    if ((part.type === 'tool-call' || part.type === 'tool-result') && part.toolName !== undefined)
      names.add(part.toolName)
  return [...names]
}

/** How an answer of these tools begins, for results that do not name their tool. */
export const ANSWER_START = 'From the stored history'

/** Whether a message holds nothing but calls of these tools, or their answers: its words are found elsewhere. */
export function isRecall(message: Pick<StoredMessage, 'content'>): boolean {
  const parts = partsOf(message).filter(
    (part) => part.type !== 'reasoning' && (part.type !== 'text' || part.text.trim() !== ''),
  )
  return (
    parts.some(({ type }) => type === 'tool-call' || type === 'tool-result') &&
    parts.every((part) => {
      if (part.type === 'tool-call') return isRecallTool(part.toolName)
      if (part.type !== 'tool-result') return false
      if (part.toolName !== undefined) return isRecallTool(part.toolName)
      return outputText(part.output).startsWith(ANSWER_START)
    })
  )
}
