/** Format characters that are seen, or that scripts and emoji are written with: ZWNJ and ZWJ, Arabic, Syriac and Kaithi signs. */
const WRITTEN: ReadonlySet<number> = new Set([
  0x200c, 0x200d, 0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd,
  0x110cd,
])

/** Which of two pictures of a character is meant; emoji are written with it. */
function isVariation(code: number): boolean {
  return code >= 0xfe00 && code <= 0xfe0f
}

/** What a reader cannot see: controls, format characters (directions, invisible tags), separators, halves of pairs, fillers. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/**
 * A text in which nothing is invisible: controls as their pictures (`␛`), directions, invisible characters and halves of pairs by
 * number (`⟨U+202E⟩`). Line breaks and tabs stay; two-character line breaks become one. The result is well-formed.
 */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, (character) => {
    const code = character.codePointAt(0)!
    if (character === '\n' || character === '\t' || WRITTEN.has(code) || isVariation(code)) return character
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    if (code === 0x7f) return '\u2421'
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
}

/** The same on one line: line breaks and tabs are shown as well. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '␊').replaceAll('\t', '␉')
}
