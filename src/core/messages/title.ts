import { characterStart, headOf } from './characters.ts'
import { MAX_NAME_LENGTH } from './check.ts'

/** The longest displayed title, in characters. */
const MAX_SHOWN_LENGTH = 80

/**
 * Returns a text as a title on one line: whole up to the 1,000 characters of a label, otherwise cut after a word. Returns `undefined` for
 * blank text.
 */
export function titleFrom(text: string): string | undefined {
  return lineOf(text, MAX_NAME_LENGTH) || undefined
}

/** Returns a title as lists and headings show it: its first 80 characters, cut after a word. Titles are stored whole. */
export function shownTitle(title: string): string {
  return lineOf(title, MAX_SHOWN_LENGTH)
}

/** Returns a text on one line. A text longer than `most` is cut after a word, never within a character. */
function lineOf(text: string, most: number): string {
  const head = headOf(text.trimStart(), most * 8)
  const line = head.replaceAll(/\s+/g, ' ').trim()
  const isWhole = head.length >= text.trim().length
  if (isWhole && line.length <= most) return line
  const end = characterStart(line, most - 1)
  const word = line[end] === ' ' ? end : line.lastIndexOf(' ', end)
  return `${line.slice(0, word > most / 2 ? word : end).trimEnd()}…`
}
