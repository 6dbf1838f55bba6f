/** Lists of keywords, of which a text has some: each text is read once, however many keywords there are. */
export class Keywords {
  /** The lists that have a keyword too short for the index, or none: every text is tried. */
  readonly #always: readonly number[]
  readonly #count: number
  /** The bucket of the first three characters of a keyword, by their hash; 0 for none. */
  readonly #bucketOf = new Uint16Array(1 << HASH_BITS)
  readonly #buckets: { readonly word: string; readonly list: number }[][] = [[]]

  constructor(lists: readonly (readonly string[])[]) {
    this.#count = lists.length
    this.#always = lists.flatMap((words, list) =>
      words.length === 0 || words.some(({ length }) => length < INDEXED) ? [list] : [],
    )
    for (const [list, words] of lists.entries())
      if (!this.#always.includes(list)) for (const word of words) this.#add(word, list)
  }

  #add(word: string, list: number): void {
    const hash = hashOf(word.charCodeAt(0), word.charCodeAt(1), word.charCodeAt(2))
    if (this.#bucketOf[hash] === 0) this.#bucketOf[hash] = this.#buckets.push([]) - 1
    this.#buckets[this.#bucketOf[hash]!]!.push({ word, list })
  }

  /** Returns the numbers of the lists with a keyword in a text in small letters, in order. */
  listsIn(text: string): number[] {
    const has = new Uint8Array(this.#count)
    for (const list of this.#always) has[list] = 1
    let [first, second] = [text.charCodeAt(0), text.charCodeAt(1)]
    for (let at = 2; at < text.length; at++) {
      const third = text.charCodeAt(at)
      const bucket = this.#bucketOf[hashOf(first, second, third)]!
      if (bucket !== 0) {
        for (const { word, list } of this.#buckets[bucket]!)
          if (has[list] === 0 && text.startsWith(word, at - 2)) has[list] = 1
      }
      first = second
      second = third
    }
    const found: number[] = []
    for (let list = 0; list < has.length; list++) if (has[list] === 1) found.push(list)
    return found
  }
}

/** The number of characters of a keyword that are indexed. */
const INDEXED = 3
const HASH_BITS = 15

function hashOf(first: number, second: number, third: number): number {
  return ((first << 10) ^ (second << 5) ^ third) & ((1 << HASH_BITS) - 1)
}
