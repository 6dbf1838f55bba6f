/** Characters of the category `Cf` that are seen, or that scripts and emoji are written with: ZWNJ, ZWJ, Arabic and Kaithi signs. */
const WRITTEN = /[\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u

/** What a reader cannot see: controls, format characters (directions, invisible tags), separators, halves of pairs. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * A text in which nothing is invisible: controls as their pictures (`␛`), directions, invisible characters and halves of pairs by
 * number (`⟨U+202E⟩`). Line breaks and tabs stay; two-character line breaks become one. The result is well-formed.
 */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, (character) => {
    if (character === '\n' || character === '\t' || WRITTEN.test(character)) return character
    const code = character.codePointAt(0)!
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    if (code === 0x7f) return '\u2421'
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
}

/** The same on one line: line breaks and tabs are shown as well. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '␊').replaceAll('\t', '␉')
}
