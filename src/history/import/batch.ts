/** Most messages, or records, written in one transaction. */
export const MOST_TOGETHER = 500
/** About as many characters as are written in one transaction: it takes some tens of milliseconds. */
const MOST_CHARACTERS = 4_000_000

/** Things that are written, or looked up, together. */
export class Batch<T> {
  #things: T[] = []
  #characters = 0

  get isFull(): boolean {
    return this.#things.length >= MOST_TOGETHER || this.#characters >= MOST_CHARACTERS
  }

  add(thing: T): void {
    this.#things.push(thing)
    this.#characters += lengthOf(thing)
  }

  /** What was added since the last time. */
  take(): readonly T[] {
    const things = this.#things
    this.#things = []
    this.#characters = 0
    return things
  }
}

/** About how many characters a value has in JSON: what is long in a message stands in texts, inputs and data. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (value instanceof Uint8Array) return value.length
  let sum = 0
  if (Array.isArray(value)) for (const inner of value) sum += lengthOf(inner)
  else for (const name in value) sum += lengthOf((value as Record<string, unknown>)[name])
  return sum
}
