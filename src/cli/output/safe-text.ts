import { TRUSTED } from './trusted-codes.ts'

/*
 * Stored text as a terminal may get it. What would move the cursor, change colours, turn the direction of writing or hide itself is
 * shown: a control character as its picture (␛), others by their number (\u202e). Applied twice it changes nothing more.
 */

/** Nothing to do for such a text, and most are. */
const PLAIN = /^[\n\t\x20-\x7e]*$/

/** Sequences that are what people write: emoji of several, flags of regions, joiners within scripts that need them. */
const MEANT = [
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})',
  '(?<=[\\p{L}\\p{M}])(?<=[\\p{scx=Arab}\\p{scx=Syrc}\\p{scx=Deva}\\p{scx=Beng}\\p{scx=Guru}\\p{scx=Gujr}\\p{scx=Taml}\\p{scx=Telu}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Sinh}])[\\u200c\\u200d](?=[\\p{L}\\p{M}])',
  '\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{2,6}\\u{e007f}',
  '(?<=[\\p{L}\\p{N}\\p{S}\\p{P}])[\\ufe00-\\ufe0f]',
].join('|')
const UNSAFE = '[\\p{Cc}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\u2028\\u2029\\ufff9-\\ufffb]'
const EITHER = new RegExp(`(${MEANT})|${UNSAFE}`, 'gu')
/** What is to be looked at closely; nearly all texts hold nothing of it, and looking for it is a hundred times as fast. */
const SUSPECT = new RegExp(`(?![\\n\\t])${UNSAFE}`, 'u')

/** A text of several lines: line breaks and tabs stay. */
export function safeText(text: string): string {
  if (isHarmless(text)) return text
  // Our own sequences stand between the pieces; `split` would give their groups as well.
  let safe = ''
  let from = 0
  for (const found of text.matchAll(TRUSTED)) {
    safe += shown(text.slice(from, found.index)) + found[0]
    from = found.index + found[0].length
  }
  return safe + shown(text.slice(from))
}

/** A text that must stay on its line: line breaks and tabs are shown too. */
export function safeLine(text: string): string {
  return safeText(text).replaceAll('\n', '␊').replaceAll('\t', '␉')
}

function isHarmless(text: string): boolean {
  return PLAIN.test(text) || !SUSPECT.test(text)
}

/** Line by line, so that a long text is looked at closely only where something stands. */
function shown(text: string): string {
  if (isHarmless(text)) return text
  const lines = text.split('\n')
  return lines
    .map((line, at) => shownLine(at < lines.length - 1 && line.endsWith('\r') ? line.slice(0, -1) : line))
    .join('\n')
}

function shownLine(line: string): string {
  if (isHarmless(line)) return line
  return line.replace(EITHER, (found, meant: string | undefined) =>
    meant !== undefined || found === '\t' ? found : pictureOf(found),
  )
}

function pictureOf(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return '␡'
  return escapeOf(character)
}

/** `\u202e`, beyond the first plane `\u{e0001}`. */
function escapeOf(character: string): string {
  const code = character.codePointAt(0)!
  const digits = code.toString(16)
  return code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, '0')}`
}

const UNSAFE_IN_JSON = new RegExp(`(?!\\n)${UNSAFE}`, 'gu')

/** JSON text whose value is the same and which no terminal obeys: what is not seen is written as its number. */
export function safeJson(json: string): string {
  if (PLAIN_JSON.test(json)) return json
  return json.replace(UNSAFE_IN_JSON, (found) =>
    Array.from({ length: found.length }, (_, at) => escapeOf(String.fromCharCode(found.charCodeAt(at)))).join(
      '',
    ),
  )
}

const PLAIN_JSON = /^[\n\x20-\x7e]*$/
