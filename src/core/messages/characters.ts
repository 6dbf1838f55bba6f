/*
 * Where a text may be cut. A character is a grapheme cluster: a surrogate pair, a letter with its combining marks, a joined emoji, a
 * flag.
 */

/** How far a character may extend around a place, in UTF-16 units. A longer one is cut between code points. */
const WINDOW = 256
/** Every unit below the first combining mark is a character, except in a line break of two units. */
const FIRST_COMBINING = 0x300

let segmenter: Intl.Segmenter | undefined

/** Returns whether a text has no visible character. Anthropic refuses such texts, although its models sometimes write them. */
export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/** Orders two texts by their UTF-16 units, the same in every language and database. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Returns the last place at or before `at` where a character ends. */
export function characterStart(text: string, at: number): number {
  return characterAround(text, at).from
}

/** Returns the first place at or after `at` where a character begins. */
export function characterEnd(text: string, at: number): number {
  return characterAround(text, at).to
}

/** Returns the last place at or before `at` that is not inside a surrogate pair. */
export function codePointStart(text: string, at: number): number {
  return isInsidePair(text, at) ? at - 1 : at
}

/** Returns the first `units` UTF-16 units of a text, or one fewer if that would cut a surrogate pair. */
export function headOf(text: string, units: number): string {
  return text.slice(0, codePointStart(text, Math.min(text.length, Math.max(0, units))))
}

/** Returns the last `units` UTF-16 units of a text, or one fewer if that would cut a surrogate pair. */
export function tailOf(text: string, units: number): string {
  const start = Math.max(0, text.length - Math.max(0, units))
  return text.slice(isInsidePair(text, start) ? start + 1 : start)
}

/** Removes the given characters from the end of a text. Linear, unlike a pattern such as `=+$`. */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** The needle length from which `indexOf` may take quadratic time. */
const LONG_NEEDLE = 256

/** `text.indexOf(sought, from)` in linear time, even for a long, repetitive needle (Knuth–Morris–Pratt). */
export function indexOfText(text: string, sought: string, from = 0): number {
  if (sought.length < LONG_NEEDLE) return text.indexOf(sought, from)
  if (sought.length > text.length - from) return -1
  const borders = bordersOf(sought)
  let matched = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && sought.charCodeAt(matched) !== unit) matched = borders[matched - 1]!
    if (sought.charCodeAt(matched) === unit) matched++
    if (matched === sought.length) return at + 1 - matched
  }
  return -1
}

/** Returns, for each prefix of a text, the length of its longest proper prefix that is also its suffix. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length)
  let length = 0
  for (let at = 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (length > 0 && text.charCodeAt(length) !== unit) length = borders[length - 1]!
    if (text.charCodeAt(length) === unit) length++
    borders[at] = length
  }
  return borders
}

/** Copies a text. A slice keeps its whole source in memory: a few stored heads of 100 MB outputs took a gigabyte. */
export function detached(text: string): string {
  const encoding = text.isWellFormed() ? 'utf8' : 'utf16le'
  return Buffer.from(text, encoding).toString(encoding)
}

/** Returns whether `at` is between the halves of a surrogate pair. */
export function isInsidePair(text: string, at: number): boolean {
  return at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))
}

/** Returns the character around `at`; both ends are `at` if it is between two characters. */
function characterAround(text: string, at: number): { readonly from: number; readonly to: number } {
  if (at <= 0) return { from: 0, to: 0 }
  if (at >= text.length) return { from: text.length, to: text.length }
  if (isBetweenPlain(text, at)) return { from: at, to: at }
  const start = windowStart(text, at)
  const end = codePointStart(text, Math.min(text.length, at + WINDOW))
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const found = segmenter.segment(text.slice(start, end)).containing(at - start)
  const from = start + (found?.index ?? 0)
  const to = from + (found?.segment.length ?? 0)
  if (from === at) return { from, to: at }
  const isWhole = (from > start || start === 0) && (to < end || end === text.length)
  if (isWhole) return { from, to }
  return isInsidePair(text, at) ? { from: at - 1, to: at + 1 } : { from: at, to: at }
}

function isBetweenPlain(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before < FIRST_COMBINING && after < FIRST_COMBINING && !(before === 0x0d && after === 0x0a)
}

/** Returns the start of the window: not inside a surrogate pair, and not inside a flag, because flags are pairs of letters. */
function windowStart(text: string, at: number): number {
  let start = codePointStart(text, Math.max(0, at - WINDOW))
  let letters = 0
  while (isFlagLetter(text, start - 2 * (letters + 1))) letters++
  if (letters % 2 === 1 && isFlagLetter(text, start)) start -= 2
  return start
}

/** Returns whether a regional indicator, U+1F1E6 to U+1F1FF, begins at `at`. */
function isFlagLetter(text: string, at: number): boolean {
  if (at < 0 || text.charCodeAt(at) !== 0xd83c) return false
  const low = text.charCodeAt(at + 1)
  return low >= 0xdde6 && low <= 0xddff
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
