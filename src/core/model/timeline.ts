import { type Sizes, SizesSum } from '../tokens/measure.ts'
import type { Coverage } from './coverage.ts'
import { type Point, savedByNewest, type Transition } from './moment.ts'

/*
 * The size of the view at many points of a session. From one point to the next, only rows are counted that were stored, hidden or shown in
 * between, so the time grows with the rows and the compactions, not with their product with the points.
 */

/** A row, with its sizes as the current view shows it. */
export type SizedRow = {
  readonly sizes: Sizes
  /** False for a silent message: no request contains it. */
  readonly isSent: boolean
}

/** A compaction, as far as the size of a view depends on it. */
export type SizedCompaction = {
  readonly no: number
  /** Whether it is in force now. */
  readonly isActive: boolean
  readonly coverage: Pick<Coverage, 'hidden' | 'inserted'>
  readonly replaced: readonly { readonly row: SizedRow; readonly part: number; readonly saved: Sizes }[]
  /**
   * Where it is in force although the audit doesn't record it yet: from a position of the log on, and before an entry of the audit. Previews
   * are in force as soon as their messages exist, and compactions without an entry from their last row on.
   */
  readonly early: { readonly position: number; readonly audit: number } | undefined
}

export type SizedHistory = {
  /** The messages of the log, by position; nothing is at index 0. */
  readonly log: readonly (SizedRow | undefined)[]
  /** Inserted rows, by ordinal. */
  readonly inserted: ReadonlyMap<number, SizedRow>
  readonly compactions: readonly SizedCompaction[]
  /** In order. */
  readonly transitions: readonly Transition[]
}

/** The number of rows that are sent, and the sizes of all rows. */
export type RowsSize = { readonly rows: number; readonly sizes: Sizes }

/** Returns the sizes of the view, and of the whole log, at points in any order; ascending ones are the fastest. */
export function sizesAt(
  history: SizedHistory,
  points: readonly Point[],
): { readonly view: RowsSize; readonly log: RowsSize }[] {
  const sweep = new Sweep(history)
  return points.map((point) => sweep.moveTo(point))
}

type Replacement = { readonly part: number; readonly compaction: number; readonly saved: Sizes }

type State = {
  /** Sizes without replacements. */
  original: Sizes
  readonly isSent: boolean
  /** Whether it is in the log up to the point, or its compaction is in force. */
  isStored: boolean
  /** The number of compactions in force that hide it. */
  hiders: number
  readonly replacements: Replacement[]
  /** What its replacements in force save; `undefined` for none. */
  saved: Sizes | undefined
}

const NO_REPLACEMENTS: Replacement[] = []

class Sweep {
  readonly #log: readonly (State | undefined)[]
  readonly #inserted: ReadonlyMap<number, State>
  readonly #compactions: ReadonlyMap<number, SizedCompaction>
  /** The rows in which compactions replace parts, by number of the compaction. */
  readonly #replaced = new Map<number, Set<State>>()
  /** Each with whether its compaction was in force before it. */
  readonly #transitions: readonly (Transition & { readonly before: boolean })[]
  /** The compactions that are in force before the audit records them, by position. */
  readonly #early: readonly { readonly no: number; readonly position: number }[]

  /** The last position, and the numbers of transitions and of early compactions up to the point. */
  #position = 0
  #passed = 0
  #reached = 0
  readonly #recorded = new Map<number, boolean>()
  readonly #inForce = new Set<number>()
  /** The compactions that may have come in or out of force since the last point. */
  readonly #touched = new Set<number>()

  #rows = 0
  readonly #sizes = new SizesSum()
  #logRows = 0
  readonly #logSizes = new SizesSum()

  constructor({ log, inserted, compactions, transitions }: SizedHistory) {
    const states = new Map<SizedRow, State>()
    for (const { replaced } of compactions)
      for (const { row } of replaced) if (!states.has(row)) states.set(row, stateOf(row, []))
    this.#log = log.map((row) => row && (states.get(row) ?? stateOf(row)))
    this.#inserted = new Map(
      [...inserted].map(([ordinal, row]) => [ordinal, states.get(row) ?? stateOf(row)] as const),
    )
    this.#compactions = new Map(compactions.map((one) => [one.no, one] as const))
    for (const { no, replaced } of compactions) {
      this.#replaced.set(no, new Set(replaced.map(({ row }) => states.get(row)!)))
      for (const { row, part, saved } of replaced)
        states.get(row)!.replacements.push({ part, compaction: no, saved })
    }
    for (const state of states.values()) {
      const shown = state.replacements.filter(({ compaction }) => this.#compactions.get(compaction)!.isActive)
      const original = new SizesSum(state.original)
      original.add(savedByNewest(shown))
      state.original = original.value
    }
    const last = new Map<number, boolean>()
    this.#transitions = transitions.map((one) => {
      const before = last.get(one.compaction) ?? false
      last.set(one.compaction, one.event !== 'undone')
      return { ...one, before }
    })
    this.#early = compactions
      .flatMap(({ no, early }) => (early === undefined ? [] : [{ no, position: early.position }]))
      .sort((a, b) => a.position - b.position)
  }

  moveTo(point: Point): { readonly view: RowsSize; readonly log: RowsSize } {
    this.#passEntries(point.audit)
    this.#reachEarly(point.position)
    for (const no of this.#touched) this.#settle(no, point)
    this.#touched.clear()
    while (this.#position < point.position) this.#store(++this.#position, true)
    while (this.#position > point.position) this.#store(this.#position--, false)
    return {
      view: { rows: this.#rows, sizes: this.#sizes.value },
      log: { rows: this.#logRows, sizes: this.#logSizes.value },
    }
  }

  #passEntries(audit: number): void {
    const all = this.#transitions
    for (; this.#passed < all.length && all[this.#passed]!.no <= audit; this.#passed++) {
      const { compaction, event } = all[this.#passed]!
      this.#recorded.set(compaction, event !== 'undone')
      this.#touched.add(compaction)
    }
    for (; this.#passed > 0 && all[this.#passed - 1]!.no > audit; this.#passed--) {
      const { compaction, before } = all[this.#passed - 1]!
      this.#recorded.set(compaction, before)
      this.#touched.add(compaction)
    }
  }

  #reachEarly(position: number): void {
    const all = this.#early
    while (this.#reached < all.length && all[this.#reached]!.position <= position)
      this.#touched.add(all[this.#reached++]!.no)
    while (this.#reached > 0 && all[this.#reached - 1]!.position > position)
      this.#touched.add(all[--this.#reached]!.no)
  }

  /** Brings a compaction in or out of force. */
  #settle(no: number, { position, audit }: Point): void {
    const compaction = this.#compactions.get(no)
    if (compaction === undefined) return
    const { coverage, early } = compaction
    const isEarly = early !== undefined && early.position <= position && audit < early.audit
    const isInForce = isEarly || this.#recorded.get(no) === true
    if (isInForce === this.#inForce.has(no)) return
    if (isInForce) this.#inForce.add(no)
    else this.#inForce.delete(no)
    const hiders = isInForce ? 1 : -1
    for (const [from, to] of coverage.hidden.positions)
      for (let at = from; at <= to; at++) this.#hide(this.#log[at], hiders)
    for (const { ordinal } of coverage.hidden.inserted) this.#hide(this.#inserted.get(ordinal), hiders)
    const inserted = coverage.inserted && this.#inserted.get(coverage.inserted.ordinal)
    if (inserted !== undefined)
      this.#change(inserted, () => {
        inserted.isStored = isInForce
      })
    for (const row of this.#replaced.get(no)!) this.#change(row, () => this.#replace(row))
  }

  #hide(row: State | undefined, hiders: 1 | -1): void {
    if (row === undefined) return
    const was = isVisible(row)
    row.hiders += hiders
    const is = isVisible(row)
    if (was !== is) this.#count(row, is)
  }

  /** Adds a message to the log, or removes it again. */
  #store(position: number, isStored: boolean): void {
    const row = this.#log[position]
    if (row === undefined) return
    if (isStored) this.#logSizes.add(row.original)
    else this.#logSizes.subtract(row.original)
    if (row.isSent) this.#logRows += isStored ? 1 : -1
    row.isStored = isStored
    if (row.hiders === 0) this.#count(row, isStored)
  }

  #replace(row: State): void {
    const shown = row.replacements.filter(({ compaction }) => this.#inForce.has(compaction))
    row.saved = shown.length === 0 ? undefined : savedByNewest(shown)
  }

  #change(row: State, change: () => void): void {
    if (isVisible(row)) this.#count(row, false)
    change()
    if (isVisible(row)) this.#count(row, true)
  }

  /** Counts a row that became visible, or that no longer is. */
  #count(row: State, isShown: boolean): void {
    if (row.isSent) this.#rows += isShown ? 1 : -1
    if (isShown) this.#sizes.add(row.original)
    else this.#sizes.subtract(row.original)
    if (row.saved === undefined) return
    if (isShown) this.#sizes.subtract(row.saved)
    else this.#sizes.add(row.saved)
  }
}

function stateOf({ sizes, isSent }: SizedRow, replacements = NO_REPLACEMENTS): State {
  return { original: sizes, isSent, isStored: false, hiders: 0, replacements, saved: undefined }
}

function isVisible({ isStored, hiders }: State): boolean {
  return isStored && hiders === 0
}

/** Returns at most `most` values at even distances, at least 2, with the first and the last. */
export function evenly<T>(values: readonly T[], most: number): readonly T[] {
  if (values.length <= most) return values
  const step = (values.length - 1) / (most - 1)
  return Array.from({ length: most }, (_, at) => values[Math.round(at * step)]!)
}

/** An entry of the audit, with the last position of the log when it was written. */
type PlacedEntry = { readonly no: number; readonly position: number }

/** For each position, in ascending order, returns the number of the last entry before this message; 0 if there is none. */
export function entriesBefore(entries: readonly PlacedEntry[], positions: readonly number[]): number[] {
  const placed = [...entries].sort((a, b) => a.position - b.position)
  let [at, last] = [0, 0]
  return positions.map((position) => {
    for (; at < placed.length && placed[at]!.position < position; at++) last = Math.max(last, placed[at]!.no)
    return last
  })
}

/**
 * For each position, in ascending order, returns the request whose answer contains it; `undefined` for none. Where answers overlap, this is
 * the one that ends first. Requests are in order of the ends of their answers.
 */
export function requestsAnswered<T extends { readonly first: number; readonly last: number }>(
  requests: readonly T[],
  positions: readonly number[],
): (T | undefined)[] {
  /** The smallest beginning of each request and all later ones, which ends a search. */
  const least = requests.map(({ first }) => first)
  for (let at = least.length - 2; at >= 0; at--) least[at] = Math.min(least[at]!, least[at + 1]!)
  let from = 0
  return positions.map((position) => {
    while (from < requests.length && requests[from]!.last < position) from++
    for (let at = from; at < requests.length && least[at]! <= position; at++)
      if (requests[at]!.first <= position) return requests[at]
    return undefined
  })
}
