import { countBefore } from '../messages/json.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { type Sizes, SizesSum, tokensOf } from '../tokens/measure.ts'
import { Turns } from './tool-groups.ts'
import type { ResultEntry, ViewRow } from './view-row.ts'

/** The maximum length of an array of keys, as a multiple of the list's length; sparser keys are in a map. */
const SPREAD = 4

/** Maps keys of rows to their indexes. Keys of a session are mostly consecutive, which makes an array several times faster than a map. */
class RowPlaces {
  readonly #first: number
  /** By key minus the first key: the row's index plus one, or 0 if there is no row. */
  readonly #near: Int32Array
  readonly #far = new Map<number, number>()

  constructor(rows: readonly { readonly key: number }[]) {
    let first = Number.POSITIVE_INFINITY
    let last = 0
    for (const { key } of rows) {
      // Rows that plans insert have negative keys.
      if (key > 0 && key < first) first = key
      if (key > last) last = key
    }
    const length = last - first + 1
    this.#first = first
    this.#near = new Int32Array(length > 0 && length <= SPREAD * rows.length ? length : 0)
    for (let index = 0; index < rows.length; index++) {
      const { key } = rows[index]!
      const at = key - first
      if (at >= 0 && at < this.#near.length) this.#near[at] = index + 1
      else this.#far.set(key, index)
    }
  }

  get(key: number): number | undefined {
    const at = key - this.#first
    if (at >= 0 && at < this.#near.length) return this.#near[at] === 0 ? undefined : this.#near[at]! - 1
    return this.#far.get(key)
  }
}

/** Compares rows in the view's order: by anchor, messages before inserted rows, inserted rows by ordinal. */
export function compareRows(
  a: Pick<ViewRow, 'anchor' | 'ordinal'>,
  b: Pick<ViewRow, 'anchor' | 'ordinal'>,
): number {
  return a.anchor - b.anchor || a.ordinal - b.ordinal
}

/** The target of pointers: a part to which other rows refer since a deduplication, and the keys of these rows (`by`). */
export type PointerTarget = { readonly key: number; readonly part: number; readonly by: readonly number[] }

/** A tool result that was shortened to a preview when it was appended, and the sizes that this saves. */
export type PreviewedPart = {
  readonly key: number
  readonly part: number
  readonly compaction: number
  readonly saved: Sizes
}

/** The visible rows of a session in order, with their sums. Immutable: plans make new views. */
export class View {
  readonly rows: readonly ViewRow[]
  readonly sizes: Sizes
  readonly estimator: Estimator
  readonly provider: string
  /** Parts to which deduplications in force point. */
  readonly pointerTargets: readonly PointerTarget[]
  /** Parts with a preview in force, shown or not. */
  readonly previews: readonly PreviewedPart[]
  #previewed: ReadonlyMap<string, PreviewedPart> | undefined
  #turns: Turns | undefined
  #places: RowPlaces | undefined
  #sent: number | undefined

  constructor(
    rows: readonly ViewRow[],
    estimator: Estimator,
    provider: string,
    sizes = sumSizes(rows),
    turns?: Turns,
    pointerTargets: readonly PointerTarget[] = [],
    previews: readonly PreviewedPart[] = [],
    sent?: number,
  ) {
    this.rows = rows
    this.sizes = sizes
    this.estimator = estimator
    this.provider = provider
    this.#turns = turns
    this.pointerTargets = pointerTargets
    this.previews = previews
    this.#sent = sent
  }

  /** The number of rows that are sent: all rows except silent ones. */
  get sent(): number {
    this.#sent ??= countSent(this.rows)
    return this.#sent
  }

  /** The groups of this view. Computed once, on demand. */
  get turns(): Turns {
    this.#turns ??= new Turns(this.rows)
    return this.#turns
  }

  /** Returns the index of a row by its key; `undefined` if it is not visible. */
  indexOf(key: number): number | undefined {
    this.#places ??= new RowPlaces(this.rows)
    return this.#places.get(key)
  }

  /** Returns whether a visible row points to this part, so that it should stay unchanged. */
  isPointerTarget(key: number, part: number): boolean {
    return this.pointerTargets.some(
      (target) =>
        target.key === key &&
        target.part === part &&
        target.by.some((pointing) => this.indexOf(pointing) !== undefined),
    )
  }

  /**
   * Returns whether stages may still replace a tool result: `undefined` if it shows its original, the saved sizes if it shows a preview,
   * `false` if it shows another replacement.
   */
  previewOf(row: ViewRow, part: number): Sizes | undefined | false {
    const shown = row.shown.length === 0 ? undefined : row.shown.find((entry) => entry.part === part)
    if (shown === undefined) return undefined
    if (this.previews.length === 0) return false
    this.#previewed ??= new Map(this.previews.map((entry) => [`${entry.key}:${entry.part}`, entry] as const))
    const preview = this.#previewed.get(`${row.key}:${part}`)
    return preview?.compaction === shown.compaction && preview.saved
  }

  /** Returns the name of a result's tool, from the result or its call. */
  toolOf(index: number, { name, part }: ResultEntry): string | undefined {
    return name ?? this.turns.callOf(index, part)?.name
  }

  /** Tokens of the whole view, framing included. */
  get tokens(): number {
    return tokensOf(this.sizes, this.sent, this.estimator, this.provider)
  }

  /** Returns the tokens of rows of this view, without the framing of a conversation. */
  tokensOfRows(rows: readonly ViewRow[]): number {
    const sent = countSent(rows)
    if (sent === 0) return 0
    return (
      tokensOf(sumSizes(rows), sent, this.estimator, this.provider) - this.estimator.tokensPerConversation
    )
  }

  /** Returns the tokens of one message, without the framing of a conversation. */
  tokensOfRow({ sizes, silent = false }: { readonly sizes: Sizes; readonly silent?: boolean }): number {
    if (silent) return 0
    return tokensOf(sizes, 1, this.estimator, this.provider) - this.estimator.tokensPerConversation
  }

  /** Returns this view without some rows, with substitutes for some (each with the row that it replaces), and with new rows. */
  changed(
    hidden: readonly ViewRow[],
    changed: readonly (readonly [before: ViewRow, after: ViewRow])[],
    inserted: readonly ViewRow[],
    requires: readonly {
      readonly row: ViewRow
      readonly part: number
      readonly by: readonly number[]
    }[] = [],
  ): View {
    const gone = new Set(hidden)
    const news = new Map(changed)
    const kept = this.rows.filter((row) => !gone.has(row)).map((row) => news.get(row) ?? row)
    const sizes = new SizesSum(this.sizes)
    for (const row of gone) sizes.subtract(row.sizes)
    for (const [before, after] of changed) {
      sizes.subtract(before.sizes)
      sizes.add(after.sizes)
    }
    for (const row of inserted) sizes.add(row.sizes)
    // Replacements don't change the structure, so the groups, which are by index, stay valid.
    const turns = hidden.length === 0 && inserted.length === 0 ? this.turns : undefined
    const sent = this.sent - countSent(gone) + inserted.length
    const targets = [
      ...this.pointerTargets,
      ...requires.map(({ row, part, by }) => ({ key: row.key, part, by })),
    ]
    return new View(
      insertInOrder(kept, inserted),
      this.estimator,
      this.provider,
      sizes.value,
      turns,
      targets,
      this.previews,
      sent,
    )
  }
}

/** Tracks the tokens of a view while rows are removed and added one by one. */
export class Tally {
  readonly #view: View
  readonly #sizes: SizesSum
  #sent: number

  /** Starts with all rows of the view, or with none. */
  constructor(view: View, from: 'all' | 'none' = 'all') {
    this.#view = view
    this.#sizes = new SizesSum(from === 'all' ? view.sizes : undefined)
    this.#sent = from === 'all' ? view.sent : 0
  }

  get tokens(): number {
    return tokensOf(this.#sizes.value, this.#sent, this.#view.estimator, this.#view.provider)
  }

  /** Adds a row of the view, or a row that a plan inserts. */
  add({ sizes, silent = false }: { readonly sizes: Sizes; readonly silent?: boolean }): void {
    this.#sizes.add(sizes)
    if (!silent) this.#sent += 1
  }

  drop({ sizes, silent }: ViewRow): void {
    this.#sizes.subtract(sizes)
    if (!silent) this.#sent -= 1
  }
}

/** Returns the number of rows that are not silent. */
export function countSent(rows: Iterable<ViewRow>): number {
  let sent = 0
  for (const row of rows) if (!row.silent) sent += 1
  return sent
}

export function sumSizes(rows: Iterable<ViewRow>): Sizes {
  const sum = new SizesSum()
  for (const row of rows) sum.add(row.sizes)
  return sum.value
}

function insertInOrder(rows: ViewRow[], inserted: readonly ViewRow[]): ViewRow[] {
  for (const row of [...inserted].sort(compareRows)) {
    rows.splice(
      countBefore(rows, (one) => compareRows(one, row) <= 0),
      0,
      row,
    )
  }
  return rows
}
