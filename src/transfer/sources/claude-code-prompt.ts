import { indexOfText } from '../../messages/characters.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import { titleOf } from './entry-fields.ts'

/* What somebody typed, among the many things that Claude Code notes as the words of a user. */

/** How such an entry begins that nobody typed: commands and what came of them, notifications, interruptions. */
const NOT_TYPED = [
  '<command-',
  '<local-command-',
  '<bash-',
  '<task-notification>',
  '<user-memory-input>',
  'Caveat: The messages below',
  '[Request interrupted',
  'This session is being continued from a previous conversation',
]

/** How what Claude Code puts before the words of a user begins: `<system-reminder>`, `<ide_opened_file>`, `<ide_selection>` … */
const PUT_BEFORE = ['<system-reminder>', '<ide_']

/** Longest title that is made of a prompt, in characters. */
const LONGEST = 80

/** A title for a session that begins with this entry; `undefined` where nobody typed it. */
export function titleOfPrompt(entry: JsonObject): string | undefined {
  const { type, message, isMeta, isCompactSummary, isVisibleInTranscriptOnly } = entry
  if (type !== 'user' || !isObject(message) || message.role !== 'user') return undefined
  if (isMeta === true || isCompactSummary === true || isVisibleInTranscriptOnly === true) return undefined
  const typed = textsOf(message.content)
    .map((text) => withoutPutBefore(text).trim())
    .find((text) => text !== '' && !NOT_TYPED.some((start) => text.startsWith(start)))
  return typed === undefined ? undefined : shortened(typed)
}

function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((block: unknown) =>
    isObject(block) && block.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  )
}

/** A text without the elements that Claude Code put before it. */
function withoutPutBefore(text: string): string {
  let from = 0
  for (;;) {
    while (from < text.length && text[from]!.trim() === '') from += 1
    if (!PUT_BEFORE.some((start) => text.startsWith(start, from))) return text.slice(from)
    const nameEnds = text.indexOf('>', from)
    const closing = nameEnds === -1 ? '' : `</${text.slice(from + 1, nameEnds)}>`
    const end = closing === '' ? -1 : indexOfText(text, closing, nameEnds)
    if (end === -1) return ''
    from = end + closing.length
  }
}

/** The first words as one line. */
function shortened(text: string): string | undefined {
  const line = text
    .slice(0, LONGEST * 4)
    .split(/\s/)
    .filter((word) => word !== '')
    .join(' ')
  const isLonger = line.length > LONGEST || text.length > LONGEST * 4
  return titleOf(isLonger ? `${line.slice(0, LONGEST - 1).trimEnd()}…` : line)
}
