import { characterEnd, characterStart } from '../messages/characters.ts'
import type { SearchQuery } from './query.ts'
import { eachWord } from './words.ts'

/** A passage of a text, and the places of the query's words in it, in order. */
export type Snippet = {
  readonly text: string
  readonly marks: readonly (readonly [start: number, end: number])[]
}

type Mark = { readonly start: number; readonly end: number; readonly word: string; readonly weight: number }

/**
 * Returns the passage with the most words of the query, of at most `length` UTF-16 units, or slightly more in order to end with a whole
 * word.
 */
export function snippetOf(text: string, query: SearchQuery, length = 240): Snippet {
  const weights = new Map(query.words.map(({ word, weight }) => [word, weight]))
  const marks: Mark[] = []
  eachWord(text, (word, start, end) => {
    const weight = weights.get(word)
    if (weight !== undefined) marks.push({ start, end, word, weight })
  })
  const [from, to] = passageOf(text, bestRange(marks, length), length)
  return { text: text.slice(from, to), marks: mergedMarks(marks, from, to) }
}

/** Returns the range of marks within `length` units that has the greatest weight of distinct words. */
function bestRange(marks: readonly Mark[], length: number): readonly [number, number] {
  const counts = new Map<string, number>()
  let [first, weight, best] = [0, 0, 0]
  let range: readonly [number, number] = [0, 0]
  for (const mark of marks) {
    const count = counts.get(mark.word) ?? 0
    counts.set(mark.word, count + 1)
    if (count === 0) weight += mark.weight
    while (marks[first] !== mark && mark.end - marks[first]!.start > length) {
      const gone = marks[first]!
      const left = counts.get(gone.word)! - 1
      counts.set(gone.word, left)
      if (left === 0) weight -= gone.weight
      first++
    }
    if (weight > best + 1e-9) {
      best = weight
      range = [marks[first]!.start, mark.end]
    }
  }
  return range
}

/** Returns the text around a range, up to `length` units, beginning and ending with whole words if a word boundary is near. */
function passageOf(text: string, [start, end]: readonly [number, number], length: number): [number, number] {
  if (text.length <= length) return [0, text.length]
  const spare = Math.max(0, length - (end - start))
  let from = Math.max(0, start - Math.floor(spare / 3))
  let to = Math.min(text.length, Math.max(from + length, end))
  from = Math.max(0, Math.min(from, to - length))
  from = Math.min(from, start)
  from = from === 0 ? 0 : wordStart(text, from, Math.min(start, from + 20))
  to = to === text.length ? to : wordEnd(text, Math.max(end, to - 20), to)
  return [characterStart(text, from), characterEnd(text, to)]
}

/** Returns the first place from `from` to `limit` after a space; `from` if there is no space. */
function wordStart(text: string, from: number, limit: number): number {
  for (let at = from; at <= limit; at++) if (isSpace(text, at - 1) && !isSpace(text, at)) return at
  return from
}

/** Returns the last place from `limit` to `to` before a space; `to` if there is no space. */
function wordEnd(text: string, limit: number, to: number): number {
  for (let at = to; at >= limit; at--) if (isSpace(text, at) && !isSpace(text, at - 1)) return at
  return to
}

function isSpace(text: string, at: number): boolean {
  return at < 0 || at >= text.length || /\s/.test(text[at]!)
}

/** Returns the marks of the passage, relative to its start; overlapping marks are merged. */
function mergedMarks(marks: readonly Mark[], from: number, to: number): (readonly [number, number])[] {
  const merged: [number, number][] = []
  for (const { start, end } of marks
    .filter((mark) => mark.start >= from && mark.end <= to)
    .sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1)
    if (last !== undefined && start - from < last[1]) last[1] = Math.max(last[1], end - from)
    else merged.push([start - from, end - from])
  }
  return merged
}
