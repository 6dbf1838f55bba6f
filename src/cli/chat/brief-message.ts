import { type Message, mediaWord, outputText, type Part, partsOf } from '../../messages/message.ts'
import type { Style } from '../command.ts'
import { clipped } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'

type Shown = Pick<Message, 'role' | 'content'> & {
  readonly kind: 'message' | 'summary' | 'marker'
  readonly position?: number
  readonly hidden?: boolean
}

/** A message on one line, to tell where one is: position, who speaks, and how it begins. Hidden ones are dim. */
export function briefMessage(message: Shown, style: Style, columns: number): string {
  const place = String(message.position ?? '·').padStart(4)
  const who = (message.kind === 'message' ? message.role : message.kind).padEnd(9)
  const words = safeLine(wordsOf(message))
  const text = clipped(words, Math.max(20, columns - place.length - who.length - 4))
  if (message.hidden === true) return style.dim(`${place}  ${who}  ${text}`)
  return `${style.dim(place)}  ${lookOf(message, style)(who)}  ${text}`
}

function lookOf({ kind, role }: Shown, style: Style): (text: string) => string {
  if (kind !== 'message') return style.magenta
  return role === 'user' ? style.cyan : role === 'assistant' ? style.green : style.dim
}

/** The words of a message on one line; tools by name, and what has no words by a word of ours. */
function wordsOf(message: Shown): string {
  return partsOf(message)
    .map(wordOf)
    .filter((word) => word !== '')
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim()
}

function wordOf(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'tool-call':
      return `→ ${part.toolName}`
    case 'tool-result':
      return `← ${outputText(part.output)}`
    case 'image':
    case 'file':
      return mediaWord(part)
    case 'reasoning':
    case 'provider':
      return ''
  }
}
