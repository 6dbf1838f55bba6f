import type { Message, Role } from '../messages/message.ts'
import { TIME_WORDS } from './english.ts'
import type { NamedDate, SearchQuery } from './query.ts'
import { wordsOf } from './words.ts'

/** A row that may be a hit: it contains words of the query, or is next to a row that does. */
export type Candidate = {
  readonly key: string | number
  /** The session; rows of one session are neighbors by position. */
  readonly session: string | number
  /** The place in the log; absent on rows without neighbors. */
  readonly position?: number
  readonly role: Role
  /** The speaker, as `speakerOf` returns it. */
  readonly speaker?: string
  /** Whether it ends with a question (`endsInQuestion`). */
  readonly isQuestion: boolean
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The words of the searched text (`wordsOf`). */
  readonly words: readonly string[]
  /** The number of leading words that are the speaker's own; the rest is attached content. Default: all. */
  readonly own?: number
}

/** Word statistics of the whole collection. */
export type Collection = {
  readonly documents: number
  readonly documentsWith: (word: string) => number
}

export type Ranked<Row extends Candidate = Candidate> = { readonly row: Row; readonly score: number }

/** The weight of each sign. */
export const WEIGHTS = {
  /** Repetition saturates, and long messages count less. */
  k1: 1.2,
  b: 0.25,
  /**
   * A word in a neighbor: in a question before the message, in another message before it, in the message after it, and two messages away.
   */
  afterQuestion: 0.8,
  before: 0.15,
  after: 0.4,
  farBefore: 0.4,
  farAfter: 0.15,
  /** The limit for a repeated word of a neighbor. */
  most: 3,
  /** A message that asks a question contains less. */
  question: 0.3,
  /** Words of the query that are near each other. */
  pairs: 0.15,
  phrase: 2,
  speaker: 0.4,
  name: 0.2,
  role: 0.2,
  /** A word that occurs only in attached content. */
  attached: 0.5,
  /** Instructions and outputs are long and seldom the sought text. */
  system: 0.5,
  tool: 0.1,
  time: 0.4,
  date: 0.9,
}

const TIMES: ReadonlySet<string> = new Set(wordsOf(TIME_WORDS))

/** The occurrences of query words in a row: for each, the word's index in the query and its place in the row. */
type Matches = { readonly words: number[]; readonly places: number[]; readonly counts: Float64Array }

/**
 * Orders rows by how well they match the query, best first. Rows are left out if neither they nor their neighbors contain any of its
 * words.
 */
export function rank<Row extends Candidate>(
  query: SearchQuery,
  rows: readonly Row[],
  collection: Collection,
): Ranked<Row>[] {
  if (query.words.length === 0 || rows.length === 0) return []
  const asked = requestedSpeakers(query, rows)
  const weights = weightsOf(query, asked.words, collection)
  const indexes = new Map(query.words.map(({ word }, index) => [word, index]))
  const length = rows.reduce((sum, { words }) => sum + words.length, 0) / rows.length
  const matches = rows.map((row) => matchesOf(row, indexes, length))
  const neighbors = neighborsOf(rows)

  const scored = rows.map((row, at) => {
    const { counts } = matches[at]!
    const near = neighbors[at]!.map((other) => (other === -1 ? undefined : matches[other]!.counts))
    const shares = sharesOf(rows, neighbors[at]!)
    let score = 0
    for (let i = 0; i < weights.length; i++) {
      let sum = counts[i]!
      for (let n = 0; n < near.length; n++) sum += shares[n]! * Math.min(WEIGHTS.most, near[n]?.[i] ?? 0)
      if (sum === 0) continue
      score += (weights[i]! * sum) / (sum + WEIGHTS.k1)
    }
    if (score === 0) return { row, score }
    score += WEIGHTS.pairs * pairsIn(matches[at]!, weights)
    for (const phrase of query.phrases)
      if (hasPhrase(row.words, phrase)) score += WEIGHTS.phrase * phrase.length
    return { row, score: score * signsOf(row, query, asked) }
  })
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || compareRows(a.row, b.row))
}

/** The speakers named in the query and the words of their names, or the role of a named speaker. */
type RequestedSpeakers = {
  readonly speakers: ReadonlySet<string>
  readonly words: ReadonlySet<string>
  readonly role: Role | undefined
}

function requestedSpeakers(query: SearchQuery, rows: readonly Candidate[]): RequestedSpeakers {
  const words = new Set(query.words.map(({ word }) => word))
  const speakers = new Set<string>()
  const names = new Set<string>()
  for (const speaker of new Set(rows.map((row) => row.speaker))) {
    if (speaker === undefined) continue
    const found = wordsOf(speaker).filter((word) => words.has(word))
    if (found.length > 0) speakers.add(speaker)
    for (const word of found) names.add(word)
  }
  return { speakers, words: names, role: speakers.size === 0 ? roleOfNames(query, rows) : undefined }
}

/**
 * The minimum number of messages that begin with a name, and the minimum share of them by one role, for the name to be assigned to the
 * other role.
 */
const [MIN_CALLS, MIN_SHARE] = [8, 0.9]

/** Two speakers address each other by name: "Thanks, Anna!" is not by Anna. */
function roleOfNames(query: SearchQuery, rows: readonly Candidate[]): Role | undefined {
  for (const name of query.names) {
    const calls = { user: 0, assistant: 0, system: 0, tool: 0 }
    for (const { role, words } of rows) if (words[0] === name || words[1] === name) calls[role]++
    const all = calls.user + calls.assistant
    if (all < MIN_CALLS) continue
    if (calls.user >= MIN_SHARE * all) return 'assistant'
    if (calls.assistant >= MIN_SHARE * all) return 'user'
  }
  return undefined
}

/** Returns the weight of each word: its rarity, reduced for the name of a speaker, who rarely uses their own name. */
function weightsOf(query: SearchQuery, names: ReadonlySet<string>, collection: Collection): number[] {
  const hasOther = query.words.some(({ word }) => !names.has(word))
  return query.words.map(
    ({ word, weight }) =>
      weight * rarity(word, collection) * (hasOther && names.has(word) ? WEIGHTS.name : 1),
  )
}

/** Returns the rarity of a word, from the number of messages that contain it. */
export function rarity(word: string, { documents, documentsWith }: Collection): number {
  const found = Math.min(documents, documentsWith(word))
  return Math.log(1 + (documents - found + 0.5) / (found + 0.5))
}

function matchesOf(
  { words, own = words.length }: Pick<Candidate, 'words' | 'own'>,
  indexes: ReadonlyMap<string, number>,
  length: number,
): Matches {
  const matches: Matches = { words: [], places: [], counts: new Float64Array(indexes.size) }
  const share = 1 - WEIGHTS.b + (WEIGHTS.b * words.length) / Math.max(1, length)
  for (let at = 0; at < words.length; at++) {
    const index = indexes.get(words[at]!)
    if (index === undefined) continue
    matches.words.push(index)
    matches.places.push(at)
    matches.counts[index]! += (at < own ? 1 : WEIGHTS.attached) / share
  }
  return matches
}

/** The distances of neighbors that are considered. */
const DISTANCES = [-1, 1, -2, 2]

/** Returns the indexes of each row's neighbors, or -1 if a neighbor is not among the rows. */
function neighborsOf(rows: readonly Candidate[]): number[][] {
  const sessions = new Map<string | number, Map<number, number>>()
  rows.forEach(({ session, position }, index) => {
    if (position === undefined) return
    const places = sessions.get(session) ?? new Map<number, number>()
    sessions.set(session, places.set(position, index))
  })
  return rows.map(({ session, position }) =>
    DISTANCES.map((distance) =>
      position === undefined ? -1 : (sessions.get(session)!.get(position + distance) ?? -1),
    ),
  )
}

/** Returns the weight of a word in each neighbor. */
function sharesOf(rows: readonly Candidate[], neighbors: readonly number[]): number[] {
  return DISTANCES.map((distance, n) => {
    const other = rows[neighbors[n]!]
    if (other === undefined) return 0
    if (distance === -1) return other.isQuestion ? WEIGHTS.afterQuestion : WEIGHTS.before
    return distance === 1 ? WEIGHTS.after : distance === -2 ? WEIGHTS.farBefore : WEIGHTS.farAfter
  })
}

/** The distance in places up to which two words of the query count as near. */
const NEAR = 4

/** Returns the rarity of the pairs of query words that are near each other in a message. */
function pairsIn({ words, places }: Matches, weights: readonly number[]): number {
  const seen = new Set<number>()
  let sum = 0
  for (let at = 1; at < words.length; at++) {
    const [first, second, distance] = [words[at - 1]!, words[at]!, places[at]! - places[at - 1]!]
    if (first === second || distance > NEAR) continue
    const pair = Math.min(first, second) * weights.length + Math.max(first, second)
    if (seen.has(pair)) continue
    seen.add(pair)
    sum += Math.min(weights[first]!, weights[second]!) / distance
  }
  return sum
}

/** Returns whether the words of a phrase are consecutive. Linear in most texts, because phrases are short. */
function hasPhrase(words: readonly string[], phrase: readonly string[]): boolean {
  for (let at = words.indexOf(phrase[0]!); at >= 0; at = words.indexOf(phrase[0]!, at + 1))
    if (phrase.every((word, offset) => words[at + offset] === word)) return true
  return false
}

/** Returns the score of other signs in a row's favor: its speaker, its role, its date, a time in it. */
function signsOf(row: Candidate, query: SearchQuery, asked: RequestedSpeakers): number {
  let factor = 1
  if (row.speaker !== undefined && asked.speakers.has(row.speaker)) factor += WEIGHTS.speaker
  if (row.role === asked.role) factor += WEIGHTS.speaker
  if (row.isQuestion) factor -= WEIGHTS.question
  if (row.role === 'system') factor -= WEIGHTS.system
  if (row.role === 'tool') factor -= WEIGHTS.tool
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

function compareRows(a: Candidate, b: Candidate): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt
  if (a.position !== b.position) return (a.position ?? 0) - (b.position ?? 0)
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

const SPEAKER = /^(\p{Lu}[\p{L}\p{M}'’.-]{0,30}(?: \p{Lu}[\p{L}\p{M}'’.-]{0,30}){0,2}):\s/u

/** Returns the speaker: the `name` in a message's metadata, or a name before a colon at the start of its text. */
export function speakerOf(text: string, name?: unknown): string | undefined {
  if (typeof name === 'string' && name !== '') return name.slice(0, 100)
  return SPEAKER.exec(text.slice(0, 120))?.[1]
}

/** Returns whether a text ends with a question. */
export function endsInQuestion(text: string): boolean {
  return /[?？]$/.test(text.slice(-200).trimEnd())
}

/** Returns the properties of a message that `rank` reads. `text` is the own part of its `searchedRow`. */
export function candidateOf(
  text: string,
  role: Role,
  metadata: Message['metadata'],
  place: Pick<Candidate, 'key' | 'session' | 'position' | 'createdAt'>,
  words: readonly string[] = wordsOf(text),
): Candidate {
  const speaker = speakerOf(text, metadata?.name)
  return {
    ...place,
    role,
    ...(speaker !== undefined && { speaker }),
    isQuestion: endsInQuestion(text),
    words,
  }
}

/** Returns the words by which `rank` distinguishes rows, each on its own. */
export function distinctiveWords(query: SearchQuery): Map<string, string> {
  const words = new Set(query.words.map(({ word }) => word))
  for (const word of query.phrases.flat()) words.add(word)
  for (const word of query.names) words.add(word)
  if (query.asksTime) for (const word of TIMES) words.add(word)
  return new Map([...words].map((word) => [word, word]))
}
