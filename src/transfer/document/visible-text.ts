import { onOneLine, withUnseenShown } from '../../messages/unseen.ts'

/**
 * A text as a document may have it, with nothing invisible in it: controls as their pictures (`␛`), directions, invisible characters and
 * halves of pairs by number (`⟨U+202E⟩`). Line breaks and tabs stay; two-character line breaks become one. The result is well-formed.
 */
export function visibleText(text: string): string {
  return withUnseenShown(text, (code) => `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** The same on one line: line breaks and tabs are shown as well. */
export function visibleLine(text: string): string {
  return onOneLine(visibleText(text))
}
