import { codePointStart, isInsidePair } from '../../messages/characters.ts'

/*
 * Sizes of texts in UTF-8, without encoding them: an output may have 100 MB. A lone surrogate counts as the three
 * bytes of the character that is written for it.
 */

/** How much of a text is measured at once, UTF-16 units. */
const STEP = 4_096

export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** How long the beginning of a text is that takes at most `maxBytes`, UTF-16 units. Cuts between code points. */
export function headWithin(text: string, maxBytes: number): number {
  let at = 0
  let room = maxBytes
  while (at < text.length) {
    const next = codePointStart(text, Math.min(text.length, at + STEP))
    const bytes = byteLength(text.slice(at, next))
    if (bytes > room) break
    room -= bytes
    at = next
  }
  while (at < text.length) {
    const next = isInsidePair(text, at + 1) ? at + 2 : at + 1
    room -= bytesAt(text, at, next)
    if (room < 0) break
    at = next
  }
  return at
}

/** Where the end of a text begins that takes at most `maxBytes`, UTF-16 units. Cuts between code points. */
export function tailWithin(text: string, maxBytes: number): number {
  let at = text.length
  let room = maxBytes
  while (at > 0) {
    const next = codePointStart(text, Math.max(0, at - STEP))
    const bytes = byteLength(text.slice(next, at))
    if (bytes > room) break
    room -= bytes
    at = next
  }
  while (at > 0) {
    const next = isInsidePair(text, at - 1) ? at - 2 : at - 1
    room -= bytesAt(text, next, at)
    if (room < 0) break
    at = next
  }
  return at
}

/** Bytes of the one code point between two places. */
function bytesAt(text: string, from: number, to: number): number {
  if (to - from === 2) return 4
  const unit = text.charCodeAt(from)
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
}

/** Where the first `lines` lines of a text end, their last line break left out. Lines are parted by "\n". */
export function endOfLines(text: string, lines: number): number {
  let end = -1
  for (let line = 0; line < lines; line++) {
    end = text.indexOf('\n', end + 1)
    if (end === -1) return text.length
  }
  return Math.max(0, end)
}

/** Where the last `lines` lines of a text begin. */
export function startOfLines(text: string, lines: number): number {
  if (lines === 0) return text.length
  let start = text.length
  for (let line = 0; line < lines; line++) {
    if (start === 0) return 0
    start = text.lastIndexOf('\n', start - 1)
    if (start === -1) return 0
  }
  return start + 1
}

/** How many line breaks stand between two places. */
export function countLineBreaks(text: string, from = 0, to = text.length): number {
  let count = 0
  // Searched, not gone through: outputs are often slices of larger texts, whose units are slow to come by.
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}
