import { headOf, isInsidePair, tailOf } from '../messages/characters.ts'
import { CHARS_PER_TOKEN, neurolinkEstimator } from '../tokens/measure.ts'

/** The beginning of a word at the end of a text, and the rest of one at its start; scripts without spaces have none. */
const WORD_START = /[\w\u00c0-\u04ff]{1,40}$/
const WORD_REST = /^[\w\u00c0-\u04ff]/

/** A text of at most `max` units: the whole, or its beginning up to a space, or at least a whole word, and an ellipsis. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  if (max <= 1) return headOf(text, max)
  const cut = headOf(text, max - 1)
  const rest = text[cut.length]!
  const space = rest === ' ' ? cut.length : cut.lastIndexOf(' ')
  const whole = WORD_REST.test(rest) ? cut.replace(WORD_START, '') : cut
  const kept = (space > cut.length * 0.6 ? cut.slice(0, space) : whole).trimEnd()
  return `${kept === '' ? cut : kept}…`
}

/** A path of at most `max` units: the whole, or an ellipsis and its end. */
export function shortenPath(path: string, max: number): string {
  return path.length <= max ? path : `…${tailOf(path, max - 1)}`
}

/** A text on one line: every run of white space a single space, none at the ends. */
export function oneLine(text: string): string {
  // A single space is not matched: replacing each of them takes 30 times as long.
  return text.replaceAll(/\s{2,}|[^\S ]/g, ' ').trim()
}

/** The words of a text, to compare it with others: case, punctuation and spacing are ignored. */
export function keyOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]{1,1000}/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
}

/** The first line that is not blank, on one line and shortened. Looks at no more than 2,000 units. */
export function firstLine(text: string, max: number): string {
  const line = headOf(text, 2_000)
    .split('\n')
    .find((some) => some.trim() !== '')
  return shorten(oneLine(line ?? ''), max)
}

/** The beginning and the end of a long text with a gap line between them, cut at line breaks near by; a short one as it is. */
export function ends(text: string, first: number, last: number): string {
  if (text.length <= first + last + 3) return text
  let head = headOf(text, first)
  let tail = tailOf(text, last)
  const end = head.lastIndexOf('\n')
  const start = tail.indexOf('\n')
  if (end > first / 2) head = head.slice(0, end)
  if (start >= 0 && start < last / 2) tail = tail.slice(start + 1)
  // A fence that is open at a cut ends there, or goes on.
  if (isOpen(head)) head += '\n```'
  if (isOpen(text.slice(0, -tail.length))) tail = `\`\`\`\n${tail}`
  return `${head}\n\n${tail}`
}

function isOpen(text: string): boolean {
  return text.split('```').length % 2 === 0
}

/** A text without its fenced code blocks. An unclosed fence ends with the text. */
export function withoutFences(text: string): string {
  return text
    .split('```')
    .filter((_, at) => at % 2 === 0)
    .join('\n')
}

/** The maximum length of a sentence; a longer one is cut. */
const MAX_SENTENCE = 600

/** The sentences of a text, each on one line, without list marks. A list item or a heading is a sentence. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (!endsSentence(text, i)) continue
    sentences.push(text.slice(start, i + 1))
    start = i + 1
  }
  return [...sentences, text.slice(start)].map(cleanLine).filter((sentence) => sentence !== '')
}

/** Whether a text contains Chinese, Japanese or Korean characters. */
export function isEastAsian(text: string): boolean {
  return /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]/.test(text)
}

/** The sentence around a position, and its end. It begins at `from` or later. */
export function sentenceAround(
  text: string,
  at: number,
  from = 0,
): { readonly sentence: string; readonly end: number } {
  let start = at
  while (start > from && at - start < MAX_SENTENCE / 2 && !endsSentence(text, start - 1)) start--
  let end = at
  while (end < text.length && end - start < MAX_SENTENCE && !endsSentence(text, end)) end++
  const stop = isInsidePair(text, end + 1) ? end : Math.min(text.length, end + 1)
  return { sentence: cleanLine(text.slice(isInsidePair(text, start) ? start + 1 : start, stop)), end: stop }
}

/** A line without its list mark, check box, heading or quote marks, white space collapsed. */
export function cleanLine(line: string): string {
  return oneLine(line).replace(/^(?:(?:[-*+>•]|#{1,6}|\d{1,3}[.)])\s+){1,40}(?:\[[ xX~-]\]\s+)?/, '')
}

const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|mr|mrs|ms|dr|no|approx|resp)$/i

/** Whether a sentence ends with the unit at `i`. Reads only the units near it. */
function endsSentence(text: string, i: number): boolean {
  switch (text[i]) {
    case '\n':
      return !isSoftBreak(text, i)
    case '。':
    case '！':
    case '？':
      return true
    case '!':
    case '?':
      return isSpaceAt(text, i + 1)
    case '.':
      return (
        isSpaceAt(text, i + 1) && !isOrdinal(text, i) && !ABBREVIATION.test(text.slice(Math.max(0, i - 8), i))
      )
    case '"':
    case "'":
    case ')':
    case '*':
    case '”':
      return isSpaceAt(text, i + 1) && /[.!?]/.test(text[i - 1] ?? '') && !/\p{Ll}/u.test(text[i + 2] ?? '')
    default:
      return false
  }
}

function isSpaceAt(text: string, i: number): boolean {
  return ' \n\r\t'.includes(text[i] ?? ' ')
}

/** The dot of `1.` at the start of a line. */
function isOrdinal(text: string, dot: number): boolean {
  return /(?:^|\n) {0,8}\d{1,3}$/.test(text.slice(Math.max(0, dot - 13), dot))
}

/** A line break inside a wrapped paragraph or item: a full line before it, after it no mark, and a small letter or no end before it. */
function isSoftBreak(text: string, i: number): boolean {
  const [next = ''] =
    /^[ \t]{0,12}(?:(?!\d{1,3}[.)]|`{3})[\p{L}\d`"'(])?/u.exec(text.slice(i + 1, i + 24)) ?? []
  const first = next.trim()
  if (first === '') return false
  const line = text.slice(Math.max(0, i - FULL_LINE), i)
  if (line.length < FULL_LINE || line.includes('\n')) return false
  return /[\p{Ll}`(]/u.test(first) || !/[.!?:;。]["')\]]{0,2}\s*$/.test(line)
}

/** The units of a line that is wrapped at its end. */
const FULL_LINE = 50

/**
 * A text without its middle when it is longer than `length` characters (UTF-16 units) and the note about the rest is shorter than the
 * rest: half of `length` is kept of each end. Surrogate pairs stay whole.
 */
export function shortenMiddle(text: string, length: number): string {
  if (text.length <= length) return text
  const half = Math.floor(length / 2)
  const head = headOf(text, half)
  const tail = tailOf(text, half)
  const short = `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
  return short.length < text.length ? short : text
}

/** The largest number of UTF-16 units for which `estimateTokens` returns at most `maxTokens`. */
export function unitsWithin(maxTokens: number): number {
  if (!(maxTokens > 0)) return 0
  if (!Number.isFinite(maxTokens)) return Number.MAX_SAFE_INTEGER
  // Tokens grow by at least one a step, so the result is at most `maxTokens`.
  const fits = longest(Math.floor(maxTokens), (steps) => neurolinkEstimator.toTokens(steps) <= maxTokens)
  return fits * CHARS_PER_TOKEN
}

/** A text as it is, or as much of its two ends as fits; empty when nothing does. */
export function fitText(text: string, fits: (text: string) => boolean): string {
  if (fits(text)) return text
  const most = longest(text.length - 1, (length) => fits(shortenMiddle(text, length)))
  return most < 0 ? '' : shortenMiddle(text, most)
}

/** The largest number up to `high` that fits, by bisection; -1 when none fits. */
export function longest(high: number, fits: (length: number) => boolean): number {
  let low = -1
  let most = high
  while (low < most) {
    const middle = Math.ceil((low + most) / 2)
    if (fits(middle)) low = middle
    else most = middle - 1
  }
  return low
}
