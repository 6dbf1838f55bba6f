/*
 * Characters that are invisible, or that change how a text is displayed: controls, directions, zero-width characters, tags, lone
 * surrogates. The terminal and documents share this rule; each has its own notation for them.
 */

/** Visible format characters: the signs of Arabic, Syriac and Kaithi around numbers. */
const SEEN = '\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}'
const UNSEEN_CLASS = `[[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]--[${SEEN}]]`

/** Scripts in which a joiner changes the form of letters. */
const JOINED = ['Arab', 'Syrc', 'Deva', 'Beng', 'Guru', 'Gujr', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh']
  .map((script) => `\\p{scx=${script}}`)
  .join('')

/**
 * Legitimate uses of such characters: joined emoji, joiners within scripts that need them, flags of regions, variation selectors. Each
 * pattern begins with the character itself and looks back, because most places in a text contain no such character.
 */
const LEGITIMATE = [
  '\\u200d(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f]\\u200d)(?=\\p{Extended_Pictographic})',
  `[\\u200c\\u200d](?<=[\\p{L}\\p{M}].)(?<=[${JOINED}].)(?=[\\p{L}\\p{M}])`,
  '\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{2,6}\\u{e007f}',
  '[\\ufe00-\\ufe0f](?<=[\\p{L}\\p{N}\\p{S}\\p{P}].)',
].join('|')

const EITHER = new RegExp(`(${LEGITIMATE})|\\r\\n|${UNSEEN_CLASS}`, 'gv')

/** A text of these characters needs no work. */
const PLAIN = /^[\n\t\x20-\x7e]*$/

/** A superset of the affected characters that is a hundred times faster to search for. */
const SUSPECT = new RegExp(`(?![\\n\\t])${UNSEEN_CLASS}`, 'v')

/** Returns whether a text has no unseen characters except line breaks and tabs. */
export function isAllSeen(text: string): boolean {
  return PLAIN.test(text) || !SUSPECT.test(text)
}

/** Every character that may be unseen, including line breaks, tabs and joiners. */
export const UNSEEN = new RegExp(UNSEEN_CLASS, 'gv')

/**
 * Makes unseen characters visible: ASCII controls as their pictures (`␛`), others by the name that `named` returns for a code
 * point. Line breaks and tabs stay; CR LF becomes LF. The result is well-formed.
 */
export function withUnseenShown(text: string, named: (code: number) => string): string {
  if (isAllSeen(text)) return text
  return text.replace(EITHER, (found, legitimate: string | undefined) => {
    if (legitimate !== undefined || found === '\n' || found === '\t') return found
    return found === '\r\n' ? '\n' : (pictureOf(found) ?? named(found.codePointAt(0)!))
  })
}

/** Returns a text with visible line breaks and tabs, so that it stays on one line. */
export function onOneLine(text: string): string {
  return text.replaceAll('\n', '␊').replaceAll('\t', '␉')
}

function pictureOf(character: string): string | undefined {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '␡' : undefined
}

/* Tags that frame a text for a model. A text that contains such a tag could end its frame, or begin another one. */

/** Invisible characters. */
const HIDDEN = '\\u00ad\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\ufeff'
/** Forms that a model may read as `<`: the sign itself, its wide and small forms, its entities and escapes. */
const OPENING = '<|[＜﹤]|&lt;|&#0{0,5}60;|&#x0{0,5}3c;|\\\\u003c'

/** The tags around a summary. */
export const SUMMARY_TAGS = tags('earlier-conversation', 'condensed-summary')
/** The tags around the material of a summary in the prompts of other systems. */
export const CONVERSATION_TAGS = tags('conversation')

/**
 * Matches the `<` of opening and closing tags with these names, including tags with attributes, incomplete tags, and tags with unseen
 * characters.
 */
function tags(...names: readonly string[]): RegExp {
  const spelled = names.map((name) =>
    Array.from(name, (one) => (one === '-' ? '[-\\u2010-\\u2015\\u2212]' : one)).join(`[${HIDDEN}]{0,4}`),
  )
  return new RegExp(`(?:${OPENING})(?=[\\s/${HIDDEN}]{0,8}(?:${spelled.join('|')})(?![\\w-]))`, 'giu')
}

/** Returns a text in which the given tags are defused: `‹/conversation>`. Any other text is returned unchanged. */
export function withoutTags(text: string, some: RegExp): string {
  return text.replace(some, '‹')
}
