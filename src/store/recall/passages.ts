import { characterEnd, characterStart } from '../../core/messages/characters.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import { eachWord } from '../../core/search/words.ts'

/*
 * The passages of long texts that contain the words of a query. A search finds whole messages, and the answer may be deep within a long
 * tool output: rare words close to each other show where.
 */

/** A part of a text (UTF-16 units), and how well it matches; comparable within one call. */
export type Passage = {
  readonly text: number
  readonly from: number
  readonly to: number
  /** The place of the first word of the query in the passage. */
  readonly at: number
  readonly score: number
}

/** The size of a passage, and the maximum size of a text that isn't divided, in UTF-16 units. */
export const [PASSAGE, WHOLE] = [480, 720]
const MAX_PASSAGES = 16
/** Maximum units that are read for words, per text and per call. */
const [MAX_READ, MAX_READ_ALL] = [2_000_000, 6_000_000]
/** Maximum units by which each end of a passage may be widened to whole lines. */
const LINE_REACH = 120

type Mark = { readonly word: number; readonly start: number; readonly end: number }

/**
 * Returns the passages of texts that contain words of a query, best first. The fewer passages of these texts contain a word, the more it
 * counts; a word that repeats in a passage counts once. Texts without any of the words have none.
 */
export function passagesOf(query: SearchQuery, texts: readonly string[]): Passage[] {
  const indexes = new Map(query.words.map(({ word }, index) => [word, index]))
  let left = MAX_READ_ALL
  const marks = texts.map((text) => {
    const read = text.slice(0, Math.min(MAX_READ, left))
    left -= read.length
    return marksOf(read, indexes)
  })
  const weights = weightsOf(query, texts, marks)
  const found: Passage[] = []
  for (const [at, text] of texts.entries())
    for (const window of windowsOf(text, marks[at]!, weights)) found.push({ text: at, ...window })
  return found.sort((a, b) => b.score - a.score || a.text - b.text || a.from - b.from)
}

function marksOf(text: string, indexes: ReadonlyMap<string, number>): Mark[] {
  const marks: Mark[] = []
  eachWord(text, (found, start, end) => {
    const word = indexes.get(found)
    if (word !== undefined) marks.push({ word, start, end })
  })
  return marks.sort((a, b) => a.start - b.start)
}

/** Returns the weight of each word, from its meaning in the query and its rarity among pieces of the size of a passage. */
function weightsOf(
  { words }: SearchQuery,
  texts: readonly string[],
  marks: readonly (readonly Mark[])[],
): number[] {
  const counts = words.map(() => 0)
  let pieces = 0
  for (const [at, text] of texts.entries()) {
    pieces += Math.ceil(text.length / PASSAGE)
    const last = new Map<number, number>()
    for (const { word, start } of marks[at]!) {
      const piece = Math.floor(start / PASSAGE)
      if (last.get(word) === piece) continue
      last.set(word, piece)
      counts[word]!++
    }
  }
  return words.map(({ weight }, word) => {
    const count = Math.min(counts[word]!, pieces)
    return weight * Math.log(1 + (pieces - count + 0.5) / (count + 0.5))
  })
}

/** Returns the best passages of a text that don't overlap, best first. */
function windowsOf(
  text: string,
  marks: readonly Mark[],
  weights: readonly number[],
): Omit<Passage, 'text'>[] {
  if (marks.length === 0) return []
  if (text.length <= WHOLE) {
    const words = new Set(marks.map(({ word }) => word))
    return [{ from: 0, to: text.length, at: marks[0]!.start, score: sumOf(words, weights) }]
  }
  const spans = spansOf(marks, weights).sort((a, b) => b.score - a.score || a.start - b.start)
  const chosen: Omit<Passage, 'text'>[] = []
  for (const span of spans) {
    if (chosen.length === MAX_PASSAGES) break
    if (chosen.some(({ from, to }) => span.start < to && span.end > from)) continue
    const [from, to] = widened(text, span.start, span.end)
    chosen.push({ from, to, at: span.start, score: span.score })
  }
  return chosen
}

function sumOf(words: Iterable<number>, weights: readonly number[]): number {
  let sum = 0
  for (const word of words) sum += weights[word]!
  return sum
}

/** Returns, for each mark, the marks of one passage that begins with it, and the weight of their distinct words. */
function spansOf(
  marks: readonly Mark[],
  weights: readonly number[],
): { readonly start: number; readonly end: number; readonly score: number }[] {
  const counts = weights.map(() => 0)
  const spans: { start: number; end: number; score: number }[] = []
  let [next, score] = [0, 0]
  for (const [at, { word, start }] of marks.entries()) {
    for (; next < marks.length && (next === at || marks[next]!.end - start <= PASSAGE); next++)
      if (counts[marks[next]!.word]!++ === 0) score += weights[marks[next]!.word]!
    spans.push({ start, end: marks[next - 1]!.end, score })
    if (--counts[word]! === 0) score -= weights[word]!
  }
  return spans
}

/**
 * Returns the text around a span, because the answer is next to the words of the query, before or after them. Ends with whole lines if they
 * are near.
 */
function widened(text: string, start: number, end: number): [number, number] {
  const spare = Math.max(0, PASSAGE - (end - start))
  let from = Math.max(0, start - Math.floor(spare / 2))
  let to = Math.min(text.length, from + Math.max(PASSAGE, end - from))
  from = Math.max(0, Math.min(from, to - PASSAGE))
  const lineStart = text.lastIndexOf('\n', from) + 1
  if (from - lineStart <= LINE_REACH) from = lineStart
  const lineEnd = text.indexOf('\n', to)
  if (lineEnd !== -1 && lineEnd - to <= LINE_REACH) to = lineEnd
  return [characterStart(text, from), characterEnd(text, to)]
}
