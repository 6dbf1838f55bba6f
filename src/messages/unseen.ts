/*
 * What a reader does not see of a text, or what lets them see another one: controls, directions, characters without a width, tags,
 * halves of pairs. One rule for the terminal and for documents; each names in its own way what it shows.
 */

/** Format characters that are seen: signs that Arabic, Syriac and Kaithi put around numbers. */
const SEEN = '\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}'
const UNSEEN_CLASS = `[[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]--[${SEEN}]]`

/** Scripts in which a joiner changes how letters look. */
const JOINED = ['Arab', 'Syrc', 'Deva', 'Beng', 'Guru', 'Gujr', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh']
  .map((script) => `\\p{scx=${script}}`)
  .join('')

/**
 * Where such a character is what people write: emoji of several, joiners within scripts that need them, flags of regions, the variant
 * of a character. Each begins with the character itself and looks back from there, for most places of a text have none.
 */
const MEANT = [
  '\\u200d(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f]\\u200d)(?=\\p{Extended_Pictographic})',
  `[\\u200c\\u200d](?<=[\\p{L}\\p{M}].)(?<=[${JOINED}].)(?=[\\p{L}\\p{M}])`,
  '\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{2,6}\\u{e007f}',
  '[\\ufe00-\\ufe0f](?<=[\\p{L}\\p{N}\\p{S}\\p{P}].)',
].join('|')

const EITHER = new RegExp(`(${MEANT})|\\r\\n|${UNSEEN_CLASS}`, 'gv')

/** Nothing to do for such a text, and most are. */
const PLAIN = /^[\n\t\x20-\x7e]*$/

/** What has to be looked at closely: nearly all texts hold nothing of it, and looking for it is a hundred times as fast. */
const SUSPECT = new RegExp(`(?![\\n\\t])${UNSEEN_CLASS}`, 'v')

/** Whether a text holds nothing that may be unseen but line breaks and tabs. */
export function isAllSeen(text: string): boolean {
  return PLAIN.test(text) || !SUSPECT.test(text)
}

/** Every character that may be unseen, wherever it stands: line breaks, tabs and joiners too. */
export const UNSEEN = new RegExp(UNSEEN_CLASS, 'gv')

/**
 * A text in which nothing is unseen: the older controls as their pictures (`␛`), all else by the name that `named` gives a code point.
 * Line breaks and tabs stay; a line break of two characters becomes one. The result is well-formed.
 */
export function withUnseenShown(text: string, named: (code: number) => string): string {
  if (isAllSeen(text)) return text
  return text.replace(EITHER, (found, meant: string | undefined) => {
    if (meant !== undefined || found === '\n' || found === '\t') return found
    return found === '\r\n' ? '\n' : (pictureOf(found) ?? named(found.codePointAt(0)!))
  })
}

/** A text whose line breaks and tabs are shown too, so that it stays on its line. */
export function onOneLine(text: string): string {
  return text.replaceAll('\n', '␊').replaceAll('\t', '␉')
}

function pictureOf(character: string): string | undefined {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '␡' : undefined
}
