import { WEIGHTS } from './rank.ts'

/* The order in which rows are read for the ranking, based only on the index: which rows contain which words. */

/**
 * A row of the index: its place in a session is twice the position of a message, or twice the ordinal of an inserted row plus one. A file
 * has one family.
 */
export type Place = { readonly family: number; readonly session: number; readonly place: number }

/** Places by column; without `families`, all have the same family. */
export type Places = {
  readonly families?: readonly number[]
  readonly sessions: readonly number[]
  readonly places: readonly number[]
}

/** A word of the query: its weight, and the rows that contain it. */
export type WordPlaces = { readonly value: number; readonly lists: readonly Places[] }

/** The rows that may be hits, the most promising first. */
export interface PlaceOrder {
  readonly length: number
  slice(from: number, to: number): Place[]
  /** Returns whether a row contains a word of the query, as far as the index has been read. */
  has(place: Place): boolean
  /** Returns the indexes of the query words that a row contains, as far as the index has been read. */
  wordsOf(place: Place): number[]
}

/** The most rows whose neighbors are considered; the others are ordered by their own words. */
const MAX_COMPARED_ROWS = 150
/** The weight of neighbors' words before the texts are known. */
const SHARES: readonly (readonly [distance: number, share: number])[] = [
  [0, 1],
  [-2, (WEIGHTS.afterQuestion + WEIGHTS.before) / 2],
  [2, WEIGHTS.after],
  [-4, WEIGHTS.farBefore],
  [4, WEIGHTS.farAfter],
]
/** The weight of the better neighbor when choosing the rows to compare. */
const NEAR = 0.5
/** The gap between the numbers of two sessions, so that rows of different sessions are never neighbors. */
const GAP = 6

/**
 * Orders rows, the most promising first and newest first among equals. With `withNeighbors`, rows without words are included if they are
 * next to rows with words.
 */
export function orderPlaces(words: readonly WordPlaces[], withNeighbors: boolean): PlaceOrder {
  const table = new RowTable(words)
  const { rows, own } = table
  const first = new Float64Array(rows.length)
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!
    first[at] =
      own[at]! + (isMessage(row) ? NEAR * Math.max(table.valueOf(row - 2), table.valueOf(row + 2)) : 0)
  }
  const least = rows.length <= MAX_COMPARED_ROWS ? 0 : first.toSorted()[rows.length - MAX_COMPARED_ROWS]!
  const compared = new Set<number>()
  for (let at = 0; at < rows.length; at++) {
    if (first[at]! < least) continue
    const row = rows[at]!
    compared.add(row)
    if (!isMessage(row)) continue
    for (const [distance] of SHARES)
      if (table.has(row + distance) || (withNeighbors && table.isPlace(row + distance)))
        compared.add(row + distance)
  }
  const best = sortedRows([...compared], (row) => table.scoreOf(row))
  // Only a search for more hits reaches the other rows.
  let all: readonly number[] | undefined
  const rest = (): number[] =>
    sortedRows(
      [...rows].filter((row) => !compared.has(row)),
      (row) => table.valueOf(row),
    )
  const known = best.filter((row) => table.has(row)).length
  return {
    length: best.length + rows.length - known,
    slice: (from, to) => {
      if (to > best.length) all ??= [...best, ...rest()]
      return (all ?? best).slice(from, to).map((row) => table.placeOf(row))
    },
    has: (place) => table.has(table.rowOf(place)),
    wordsOf: (place) => table.wordsOf(table.rowOf(place)),
  }
}

function isMessage(row: number): boolean {
  return row % 2 === 0
}

/** Sorts by score, newest first among equals: sessions are numbered in their order. */
function sortedRows(rows: readonly number[], scoreOf: (row: number) => number): number[] {
  return rows
    .map((row) => ({ row, score: scoreOf(row) }))
    .sort((a, b) => b.score - a.score || b.row - a.row)
    .map(({ row }) => row)
}

/** A session, the number before that of its first place, and its last known place. */
type Slot = { readonly family: number; readonly session: number; start: number; last: number }

/** The rows with words of a query as numbers, ascending by session and place, so that neighbors are found by addition. */
class RowTable {
  /** The numbers of the rows, and for each row the sum of the values of its words. */
  readonly rows: Float64Array
  readonly own: Float64Array
  readonly #words: readonly WordPlaces[]
  readonly #indexes = new Map<number, number>()
  /** The words of each row, as bits, 32 per number. */
  readonly #sets: readonly Uint32Array[]
  readonly #sums: Float64Array
  readonly #sessions: readonly Slot[]
  readonly #slots: ReadonlyMap<string, Slot>

  constructor(words: readonly WordPlaces[]) {
    this.#words = words
    this.#sums = new Float64Array(words.length)
    const slots = new Map<string, Slot>()
    const found = words.map(({ lists }) => lists.map((list) => slotsIn(list, slots)))
    this.#slots = slots
    this.#sessions = [...slots.values()].sort((a, b) => a.session - b.session || a.family - b.family)
    let start = 0
    for (const slot of this.#sessions) {
      slot.start = start + GAP
      start = slot.start + slot.last + GAP + (slot.last % 2)
    }
    const most = words.reduce((sum, { lists }) => lists.reduce((n, { places }) => n + places.length, sum), 0)
    const rows = new Float64Array(most)
    const own = new Float64Array(most)
    this.#sets = Array.from({ length: Math.ceil(words.length / 32) }, () => new Uint32Array(most))
    for (const [index, { lists, value }] of words.entries()) {
      const set = this.#sets[index >> 5]!
      const bit = 1 << (index & 31)
      for (const [nth, { places }] of lists.entries())
        for (let i = 0; i < places.length; i++) {
          const row = found[index]![nth]![i]!.start + places[i]!
          let at = this.#indexes.get(row)
          if (at === undefined) {
            at = this.#indexes.size
            this.#indexes.set(row, at)
            rows[at] = row
          } else if ((set[at]! & bit) !== 0) continue
          set[at]! |= bit
          own[at]! += value
        }
    }
    this.rows = rows.subarray(0, this.#indexes.size)
    this.own = own.subarray(0, this.#indexes.size)
  }

  has(row: number): boolean {
    return this.#indexes.has(row)
  }

  valueOf(row: number): number {
    const at = this.#indexes.get(row)
    return at === undefined ? 0 : this.own[at]!
  }

  /** Returns the score that `rank` would compute if each row contained each of its words once. */
  scoreOf(row: number): number {
    const sums = this.#sums.fill(0)
    for (const [distance, share] of isMessage(row) ? SHARES : SHARES.slice(0, 1)) {
      const at = this.#indexes.get(row + distance)
      if (at !== undefined) this.#addWords(at, share)
    }
    let score = 0
    for (let i = 0; i < sums.length; i++)
      if (sums[i]! > 0) score += (this.#words[i]!.value * sums[i]!) / (sums[i]! + WEIGHTS.k1)
    return score
  }

  wordsOf(row: number): number[] {
    const at = this.#indexes.get(row)
    return at === undefined ? [] : this.#wordsAt(at)
  }

  #wordsAt(at: number): number[] {
    const words: number[] = []
    for (const [nth, set] of this.#sets.entries())
      for (let left = set[at]!; left !== 0; left &= left - 1)
        words.push(nth * 32 + 31 - Math.clz32(left & -left))
    return words
  }

  #addWords(at: number, share: number): void {
    for (const word of this.#wordsAt(at)) this.#sums[word]! += share
  }

  /** Returns whether a number belongs to a place rather than to a gap between sessions. */
  isPlace(row: number): boolean {
    return row > this.#sessionOf(row).start
  }

  placeOf(row: number): Place {
    const { family, session, start } = this.#sessionOf(row)
    return { family, session, place: row - start }
  }

  rowOf({ family, session, place }: Place): number {
    const slot = this.#slots.get(`${family} ${session}`)
    return slot === undefined ? -1 : slot.start + place
  }

  #sessionOf(row: number): Slot {
    let [low, high] = [0, this.#sessions.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#sessions[middle]!.start - GAP <= row) low = middle
      else high = middle - 1
    }
    return this.#sessions[low]!
  }
}

/** Returns the session of each place, and records the last place of each session. */
function slotsIn({ families, sessions, places }: Places, slots: Map<string, Slot>): Slot[] {
  let slot: Slot | undefined
  return places.map((place, at) => {
    const [family, session] = [families?.[at] ?? 0, sessions[at]!]
    if (slot === undefined || slot.session !== session || slot.family !== family) {
      const name = `${family} ${session}`
      slot = slots.get(name) ?? { family, session, start: 0, last: 0 }
      slots.set(name, slot)
    }
    if (place > slot.last) slot.last = place
    return slot
  })
}
