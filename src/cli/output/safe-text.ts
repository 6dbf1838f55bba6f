import { isAllSeen, onOneLine, UNSEEN, withUnseenShown } from '../../messages/unseen.ts'
import { TRUSTED } from './trusted-codes.ts'

/*
 * Stored text as a terminal may get it. What would move the cursor, change colours, turn the direction of writing or hide itself is
 * shown: a control character as its picture (␛), others by their number (\u202e). Applied twice it changes nothing more.
 */

/** A text of several lines: line breaks and tabs stay. */
export function safeText(text: string): string {
  if (isAllSeen(text)) return text
  // Our own sequences stand between the pieces; `split` would give their groups as well.
  let safe = ''
  let from = 0
  for (const found of text.matchAll(TRUSTED)) {
    safe += withUnseenShown(text.slice(from, found.index), escapeOf) + found[0]
    from = found.index + found[0].length
  }
  return safe + withUnseenShown(text.slice(from), escapeOf)
}

/** A text that must stay on its line: line breaks and tabs are shown too. */
export function safeLine(text: string): string {
  return onOneLine(safeText(text))
}

/** JSON text whose value is the same and which no terminal obeys: what is not seen is written as its number. */
export function safeJson(json: string): string {
  if (isAllSeen(json) && !json.includes('\t')) return json
  return json.replace(UNSEEN, (found) =>
    found === '\n'
      ? found
      : Array.from({ length: found.length }, (_, at) => escapeOf(found.charCodeAt(at))).join(''),
  )
}

/** `\u202e`, beyond the first plane `\u{e0001}`. */
function escapeOf(code: number): string {
  const digits = code.toString(16)
  return code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, '0')}`
}
