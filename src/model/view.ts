import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { type Sizes, SizesSum, tokensOf } from '../tokens/tokens.ts'
import { Turns } from './turns.ts'
import type { ViewRow } from './view-row.ts'

/** How much longer than the list an array of keys may be; keys that lie further apart go into a map. */
const SPREAD = 4

/**
 * Where the rows of a list stand, by their keys. Keys of one session mostly follow each other closely, and then
 * an array answers several times faster than a map.
 */
class RowPlaces {
  readonly #first: number
  /** By key less the first key: the row's index and one more, 0 for none. */
  readonly #near: Int32Array
  readonly #far = new Map<number, number>()

  constructor(rows: readonly { readonly key: number }[]) {
    let first = Number.POSITIVE_INFINITY
    let last = 0
    for (const { key } of rows) {
      // Rows that a plan is about to insert have keys below 0.
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

  /** The index of the row with this key; `undefined` when there is none. */
  get(key: number): number | undefined {
    const at = key - this.#first
    if (at >= 0 && at < this.#near.length) return this.#near[at] === 0 ? undefined : this.#near[at]! - 1
    return this.#far.get(key)
  }
}

/** The view's order: by anchor, messages before inserted rows, inserted rows as they came. */
export function compareRows(
  a: Pick<ViewRow, 'anchor' | 'ordinal'>,
  b: Pick<ViewRow, 'anchor' | 'ordinal'>,
): number {
  return a.anchor - b.anchor || a.ordinal - b.ordinal
}

/** A part that rows of the view point at: the copy that survived a deduplication in force. */
export type Lean = { readonly key: number; readonly part: number; readonly by: readonly number[] }

/** A tool result that a preview in force was laid over when it was appended, and what that saves of the original. */
export type PreviewedPart = {
  readonly key: number
  readonly part: number
  readonly compaction: number
  readonly saved: Sizes
}

/** The visible rows of a session in order, with their sums. A value: plans make new ones. */
export class View {
  readonly rows: readonly ViewRow[]
  readonly sizes: Sizes
  readonly estimator: Estimator
  readonly provider: string
  /** Parts that deduplications in force lean on. */
  readonly leans: readonly Lean[]
  /** Parts that previews in force lie over, whether they are shown or not. */
  readonly previews: readonly PreviewedPart[]
  #previewed: ReadonlyMap<string, PreviewedPart> | undefined
  #turns: Turns | undefined
  #places: RowPlaces | undefined

  constructor(
    rows: readonly ViewRow[],
    estimator: Estimator,
    provider: string,
    sizes = sumSizes(rows),
    turns?: Turns,
    leans: readonly Lean[] = [],
    previews: readonly PreviewedPart[] = [],
  ) {
    this.rows = rows
    this.sizes = sizes
    this.estimator = estimator
    this.provider = provider
    this.#turns = turns
    this.leans = leans
    this.previews = previews
  }

  /** What must not be parted in this view. Worked out once, when asked for. */
  get turns(): Turns {
    this.#turns ??= new Turns(this.rows)
    return this.#turns
  }

  /** Where a row stands, by its key; `undefined` when it is not visible. */
  indexOf(key: number): number | undefined {
    this.#places ??= new RowPlaces(this.rows)
    return this.#places.get(key)
  }

  /** Whether a row that is visible points at this part, so that it should stay as it is. */
  isLeanedOn(key: number, part: number): boolean {
    return this.leans.some(
      (lean) =>
        lean.key === key &&
        lean.part === part &&
        lean.by.some((pointing) => this.indexOf(pointing) !== undefined),
    )
  }

  /**
   * What a tool result shows that stages may still take away: its original (`undefined`), or a preview, and what that
   * saves of the original. `false` when it shows another replacement.
   */
  previewOf(row: ViewRow, part: number): Sizes | undefined | false {
    const shown = row.shown.length === 0 ? undefined : row.shown.find((entry) => entry.part === part)
    if (shown === undefined) return undefined
    if (this.previews.length === 0) return false
    this.#previewed ??= new Map(this.previews.map((entry) => [`${entry.key}:${entry.part}`, entry] as const))
    const preview = this.#previewed.get(`${row.key}:${part}`)
    return preview?.compaction === shown.compaction && preview.saved
  }

  /** Tokens of the whole history, framing included. */
  get tokens(): number {
    return tokensOf(this.sizes, this.rows.length, this.estimator, this.provider)
  }

  /** Tokens of rows that stand in this view, without the framing of a conversation. */
  tokensOfRows(rows: readonly ViewRow[]): number {
    if (rows.length === 0) return 0
    return (
      tokensOf(sumSizes(rows), rows.length, this.estimator, this.provider) -
      this.estimator.tokensPerConversation
    )
  }

  /** Tokens that `sizes` of one message take, without the framing of a conversation. */
  tokensOfRow(sizes: Sizes): number {
    return tokensOf(sizes, 1, this.estimator, this.provider) - this.estimator.tokensPerConversation
  }

  /**
   * This view without some rows, with other rows in place of some (each with the one it replaces), and with new rows
   * in their places.
   */
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
    const inOrder = this.#keptInOrder(hidden, changed)
    const gone = inOrder === undefined ? new Set(hidden) : hidden
    const kept = inOrder ?? this.#kept(new Set(hidden), new Map(changed))
    const sizes = new SizesSum(this.sizes)
    for (const row of gone) sizes.subtract(row.sizes)
    for (const [before, after] of changed) {
      sizes.subtract(before.sizes)
      sizes.add(after.sizes)
    }
    for (const row of inserted) sizes.add(row.sizes)
    // Replacements change no structure: what belongs together is found by index and stays.
    const turns = hidden.length === 0 && inserted.length === 0 ? this.turns : undefined
    const leans = [...this.leans, ...requires.map(({ row, part, by }) => ({ key: row.key, part, by }))]
    return new View(
      insertInOrder(kept, inserted),
      this.estimator,
      this.provider,
      sizes.value,
      turns,
      leans,
      this.previews,
    )
  }

  /** What is left, when what goes and changes is given in the order of the view, as it nearly always is. */
  #keptInOrder(
    hidden: readonly ViewRow[],
    changed: readonly (readonly [ViewRow, ViewRow])[],
  ): ViewRow[] | undefined {
    const kept: ViewRow[] = []
    let nextHidden = 0
    let nextChanged = 0
    for (const row of this.rows) {
      const isHidden = row === hidden[nextHidden]
      const change = changed[nextChanged]
      const isChanged = change !== undefined && change[0] === row
      if (isHidden) nextHidden += 1
      else kept.push(isChanged ? change[1] : row)
      if (isChanged) nextChanged += 1
    }
    return nextHidden === hidden.length && nextChanged === changed.length ? kept : undefined
  }

  #kept(hidden: ReadonlySet<ViewRow>, changed: ReadonlyMap<ViewRow, ViewRow>): ViewRow[] {
    const kept: ViewRow[] = []
    for (const row of this.rows) if (!hidden.has(row)) kept.push(changed.get(row) ?? row)
    return kept
  }
}

export function sumSizes(rows: Iterable<ViewRow>): Sizes {
  const sum = new SizesSum()
  for (const row of rows) sum.add(row.sizes)
  return sum.value
}

function insertInOrder(rows: ViewRow[], inserted: readonly ViewRow[]): ViewRow[] {
  for (const row of [...inserted].sort(compareRows)) {
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareRows(rows[middle]!, row) <= 0) low = middle + 1
      else high = middle
    }
    rows.splice(low, 0, row)
  }
  return rows
}
