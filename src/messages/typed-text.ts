import { characterStart, headOf, indexOfText } from './characters.ts'
import { MAX_NAME_LENGTH } from './check.ts'

/* Distinguishes what a user typed from what a client adds to the user's messages. */

/** The beginnings of texts that were not typed: commands and their output, notifications, interruptions. */
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

/** The beginnings of elements that clients add: Claude Code and its editors, Cline and Roo Code. */
const ADDED = ['<system-reminder>', '<ide_', '<environment_details>']

/** The elements in which Cline and Roo Code put what was typed. */
const AROUND = ['<task>', '<feedback>', '<user_message>', '<user_feedback>', '<answer>']

/** What a user typed of a text, without the elements that a client added before, around or after it; empty if nothing was typed. */
export function typedText(text: string): string {
  let from = 0
  for (;;) {
    while (from < text.length && text[from]!.trim() === '') from += 1
    if (NOT_TYPED.some((start) => text.startsWith(start, from))) return ''
    const around = AROUND.find((start) => text.startsWith(start, from))
    if (around !== undefined) {
      const end = indexOfText(text, `</${around.slice(1)}`, from)
      const within = text.slice(from + around.length, end === -1 ? text.length : end).trim()
      if (within !== '' || end === -1) return within
      from = end + around.length + 1
      continue
    }
    if (!ADDED.some((start) => text.startsWith(start, from))) break
    const nameEnds = text.indexOf('>', from)
    const closing = nameEnds === -1 ? '' : `</${text.slice(from + 1, nameEnds)}>`
    const end = closing === '' ? -1 : indexOfText(text, closing, nameEnds)
    if (end === -1) return ''
    from = end + closing.length
  }
  const after = indexOfText(text, '<environment_details>', from)
  return text.slice(from, after === -1 ? text.length : after).trim()
}

/** The longest displayed title, characters. */
const SHOWN = 80

/**
 * A text as a title: on one line, whole up to the 1,000 characters of a label. A longer one is cut after a word. `undefined` for blank text.
 */
export function titleFrom(text: string): string | undefined {
  return lineOf(text, MAX_NAME_LENGTH) || undefined
}

/** A title as lists and headings show it: its first 80 characters, cut after a word. Titles are stored whole. */
export function shownTitle(title: string): string {
  return lineOf(title, SHOWN)
}

/** A text on one line. One that is longer than `most` is cut after a word, never within a character. */
function lineOf(text: string, most: number): string {
  const head = headOf(text.trimStart(), most * 8)
  const line = head.replaceAll(/\s+/g, ' ').trim()
  const isWhole = head.length >= text.trim().length
  if (isWhole && line.length <= most) return line
  const end = characterStart(line, most - 1)
  const word = line[end] === ' ' ? end : line.lastIndexOf(' ', end)
  return `${line.slice(0, word > most / 2 ? word : end).trimEnd()}…`
}
