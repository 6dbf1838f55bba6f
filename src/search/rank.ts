import type { Role } from '../messages/message.ts'
import { TIME_WORDS } from './english.ts'
import type { NamedDate, SearchQuery } from './query.ts'
import { wordsOf } from './words.ts'

/** A row that may be a hit: one that has words of the query, or a neighbour of one. */
export type Candidate = {
  readonly key: string | number
  /** Rows of one session are neighbours by position. */
  readonly session: string | number
  /** The place in the log; absent on rows without neighbours. */
  readonly position?: number
  readonly role: Role
  /** Who speaks, as `speakerOf` returns it. */
  readonly speaker?: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** `wordsOf` the searched text. */
  readonly words: readonly string[]
}

/** What the whole collection knows of words. */
export type Collection = {
  readonly documents: number
  readonly documentsWith: (word: string) => number
}

export type Ranked<Row extends Candidate = Candidate> = { readonly row: Row; readonly score: number }

/** How much each sign counts. */
export const WEIGHTS = {
  /** Repetition saturates, and long messages count less. */
  k1: 1.2,
  b: 0.5,
  /** A word in the message before, after; two before, two after. */
  near: [0.3, 0.3],
  far: [0.1, 0.1],
  /** Words of the query near each other. */
  pairs: 0.2,
  phrase: 2,
  speaker: 0.4,
  name: 0.2,
  role: 0.2,
  time: 0.2,
  date: 0.5,
  coverage: 0.5,
}

const TIMES: ReadonlySet<string> = new Set(wordsOf(TIME_WORDS))

/** Orders rows by how well they match the query, best first; rows without any of its words are left out. */
export function rank<Row extends Candidate>(
  query: SearchQuery,
  rows: readonly Row[],
  collection: Collection,
): Ranked<Row>[] {
  if (query.words.length === 0 || rows.length === 0) return []
  const names = new Set(rows.flatMap(({ speaker }) => (speaker === undefined ? [] : wordsOf(speaker))))
  const asked = new Set(query.words.filter(({ word }) => names.has(word)).map(({ word }) => word))
  const own = query.words.length > asked.size
  const weights = query.words.map(({ word, weight }) => {
    const share = own && asked.has(word) ? WEIGHTS.name : 1
    return share * weight * rarity(word, collection)
  })
  const length = rows.reduce((sum, { words }) => sum + words.length, 0) / rows.length
  const counts = rows.map((row) => countsOf(row, query, length))
  const places = new Map(rows.map((row, index) => [placeOf(row), index]))
  const total = weights.reduce((sum, weight, i) => sum + (query.words[i]!.weight < 1 ? 0 : weight), 0)

  const scored = rows.map((row, index) => {
    const around = (distance: number): Float64Array | undefined =>
      row.position === undefined ? undefined : counts[places.get(placeOf(row, distance)) ?? -1]
    const near = [around(-1), around(1), around(-2), around(2)]
    const shares = [...WEIGHTS.near, ...WEIGHTS.far]
    let score = 0
    let covered = 0
    for (let i = 0; i < weights.length; i++) {
      const count = counts[index]![i]!
      let sum = count
      for (let n = 0; n < 4; n++) sum += shares[n]! * (near[n]?.[i] ?? 0)
      if (sum === 0) continue
      score += (weights[i]! * sum) / (sum + WEIGHTS.k1)
      if (count > 0 && query.words[i]!.weight === 1) covered += weights[i]!
    }
    if (score === 0) return { row, score }
    if (total > 0) score *= 1 + (WEIGHTS.coverage * covered) / total
    score += WEIGHTS.pairs * pairsIn(row.words, query, weights)
    for (const phrase of query.phrases)
      if (hasPhrase(row.words, phrase)) score += WEIGHTS.phrase * phrase.length
    return { row, score: score * signsOf(row, query, asked) }
  })
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || compareKeys(a.row, b.row))
}

/** The weight of a word by the number of messages that have it. */
export function rarity(word: string, { documents, documentsWith }: Collection): number {
  const found = Math.min(documents, documentsWith(word))
  return Math.log(1 + (documents - found + 0.5) / (found + 0.5))
}

/** How often a row has each word of the query, for its length. */
function countsOf(row: Candidate, query: SearchQuery, length: number): Float64Array {
  const counts = new Float64Array(query.words.length)
  const indexes = new Map(query.words.map(({ word }, index) => [word, index]))
  for (const word of row.words) {
    const index = indexes.get(word)
    if (index !== undefined) counts[index]!++
  }
  const share = 1 - WEIGHTS.b + (WEIGHTS.b * row.words.length) / Math.max(1, length)
  for (let i = 0; i < counts.length; i++) counts[i]! /= share
  return counts
}

function placeOf(row: Candidate, distance = 0): string {
  return row.position === undefined ? `row ${row.key}` : `${row.position + distance} ${row.session}`
}

/** How many places apart two words of the query count as near. */
const NEAR = 4

/** The rarity of pairs of words of the query that the message has near each other. */
function pairsIn(words: readonly string[], query: SearchQuery, weights: readonly number[]): number {
  const indexes = new Map(query.words.map(({ word }, index) => [word, index]))
  const seen = new Set<number>()
  let [last, lastAt, sum] = [-1, -1, 0]
  for (let at = 0; at < words.length; at++) {
    const index = indexes.get(words[at]!)
    if (index === undefined) continue
    if (last >= 0 && index !== last && at - lastAt <= NEAR) {
      const pair = Math.min(index, last) * query.words.length + Math.max(index, last)
      if (!seen.has(pair)) {
        seen.add(pair)
        sum += Math.min(weights[index]!, weights[last]!) / (at - lastAt)
      }
    }
    ;[last, lastAt] = [index, at]
  }
  return sum
}

/** Whether the words follow each other. Linear in most texts; a phrase is short. */
function hasPhrase(words: readonly string[], phrase: readonly string[]): boolean {
  for (let at = words.indexOf(phrase[0]!); at >= 0; at = words.indexOf(phrase[0]!, at + 1))
    if (phrase.every((word, offset) => words[at + offset] === word)) return true
  return false
}

/** What else speaks for a row: its speaker, its role, its date, a time in it. */
function signsOf(row: Candidate, query: SearchQuery, asked: ReadonlySet<string>): number {
  let factor = 1
  if (asked.size > 0 && row.speaker !== undefined && wordsOf(row.speaker).some((name) => asked.has(name)))
    factor += WEIGHTS.speaker
  if (query.asksRole === row.role) factor += WEIGHTS.role
  if (query.asksTime && row.words.some((word) => TIMES.has(word))) factor += WEIGHTS.time
  if (query.dates.some((date) => isOn(row.createdAt, date))) factor += WEIGHTS.date
  return factor
}

function isOn(time: number, { year, month, day }: NamedDate): boolean {
  const date = new Date(time)
  return (
    (year === undefined || date.getUTCFullYear() === year) &&
    (month === undefined || date.getUTCMonth() + 1 === month) &&
    (day === undefined || date.getUTCDate() === day)
  )
}

function compareKeys(a: Candidate, b: Candidate): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt
  if (a.position !== b.position) return (a.position ?? 0) - (b.position ?? 0)
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

const SPEAKER = /^(\p{Lu}[\p{L}\p{M}'’.-]{0,30}(?: \p{Lu}[\p{L}\p{M}'’.-]{0,30}){0,2}):\s/u

/** Who speaks: the `name` in a message's metadata, or a name before a colon at the start of its text. */
export function speakerOf(text: string, name?: unknown): string | undefined {
  if (typeof name === 'string' && name !== '') return name.slice(0, 100)
  return SPEAKER.exec(text.slice(0, 120))?.[1]
}
