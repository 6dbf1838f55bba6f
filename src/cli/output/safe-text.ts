import picocolors from 'picocolors'
import { isAllSeen, onOneLine, UNSEEN, withUnseenShown } from '../../core/messages/unseen.ts'
import { type Sink, STYLES, type Style } from '../command.ts'

/*
 * Stored text as a terminal may get it. Characters that would move the cursor, change colors, reverse the writing direction or be invisible
 * are shown: a control character as its picture (␛), others by their number (\u202e). Making safe text safe again changes nothing.
 *
 * Our own escape sequences carry a secret number. The sealed sink, the only writer to a stream, removes the number; every other escape
 * is shown instead of sent.
 */

const SECRET = globalThis.crypto.getRandomValues(new Uint32Array(2)).join('')

/** Our own color or weight, or any other sequence (in hexadecimal digits), with the secret in it. */
export const TRUSTED = new RegExp(`\\x1b\\[([\\d;]*);${SECRET}m|\\x1b\\]${SECRET};([\\da-f]*)\\x07`, 'g')

/** Marks the colors and weights of a text whose other escapes were made safe. */
export function markStyles(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches escapes
  return text.replace(/\x1b\[([\d;]*)m/g, (_, codes: string) => `\x1b[${codes};${SECRET}m`)
}

/** Marks any other sequence, such as `\r` or one that clears a line. Must not be given stored text. */
export function terminalCode(sequence: string): string {
  const digits = [...sequence].map((character) => character.charCodeAt(0).toString(16).padStart(4, '0'))
  return `\x1b]${SECRET};${digits.join('')}\x07`
}

/** Turns marked sequences into real ones, or removes styles if colors are off. */
export function unmark(text: string, colors: boolean): string {
  return text.replace(TRUSTED, (_, codes: string | undefined, digits: string | undefined) => {
    if (digits !== undefined)
      return digits.replace(/.{4}/g, (four) => String.fromCharCode(Number.parseInt(four, 16)))
    return colors ? `\x1b[${codes}m` : ''
  })
}

/** Makes a text of several lines safe; line breaks and tabs stay. */
export function safeText(text: string): string {
  if (isAllSeen(text)) return text
  // `split` would return the groups of the pattern as well.
  let safe = ''
  let from = 0
  for (const found of text.matchAll(TRUSTED)) {
    safe += withUnseenShown(text.slice(from, found.index), escapeOf) + found[0]
    from = found.index + found[0].length
  }
  return safe + withUnseenShown(text.slice(from), escapeOf)
}

/** Makes a text safe that must stay on one line: line breaks and tabs are shown too. */
export function safeLine(text: string): string {
  return onOneLine(safeText(text))
}

/** Makes JSON safe without changing its value: invisible characters are written as their numbers. */
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

type Nulled<T> = { [N in keyof T]: Exclude<T[N], undefined> | (undefined extends T[N] ? null : never) }

/** Fields of JSON: `null` for those that are absent. */
export function nulled<T extends object>(fields: T): Nulled<T> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? null])) as Nulled<T>
}

/** A value as safe, indented JSON: bytes as base64, undefined left out. */
export function printable(value: unknown): string {
  const json = JSON.stringify(
    value,
    (_key, one: unknown) => (one instanceof Uint8Array ? Buffer.from(one).toString('base64') : one),
    2,
  )
  return safeJson(json ?? 'null')
}

/** Colors and weights for sealed sinks. They make stored text safe, and end with each line. */
export function createStyle(enabled: boolean): Style {
  const colors = picocolors.createColors(true)
  const styled = (name: keyof Style) => (text: string) => {
    if (!enabled || text === '') return text
    const line = (one: string): string => markStyles(colors[name](unmark(one, true)))
    return safeText(text).split('\n').map(line).join('\n')
  }
  return Object.fromEntries(STYLES.map((name) => [name, styled(name)])) as Style
}

/**
 * Whether a stream gets colors: `NO_COLOR` and `--no-color` turn them off, else `FORCE_COLOR` decides, else a terminal has them unless it
 * is `dumb`.
 */
export function hasColors(
  sink: Pick<Sink, 'isTerminal'>,
  env: { readonly [name: string]: string | undefined },
  isOff: boolean,
): boolean {
  if (isOff || (env.NO_COLOR ?? '') !== '') return false
  const forced = env.FORCE_COLOR ?? ''
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return sink.isTerminal && env.TERM !== 'dumb'
}

/** A sink that sends only safe text and our own sequences. */
export function sealed(raw: Sink, colors: boolean): Sink {
  return {
    get isTerminal() {
      return raw.isTerminal
    },
    get columns() {
      return raw.columns
    },
    write: (text) => raw.write(unmark(safeText(text), colors)),
  }
}
