/** How much longer than the list an array of keys may be; keys that lie further apart go into a map. */
const SPREAD = 4

/**
 * Where the rows of a list stand, by their keys. Keys of one session mostly follow each other closely, and then
 * an array answers several times faster than a map.
 */
export class RowPlaces {
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
