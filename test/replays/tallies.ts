import { expect } from 'vitest'
import { publishedTally, type Tally } from './table.ts'

type Outcome = 'equal' | 'different' | 'notApplicable'

/** Counts what became of the cases of a golden file, function by function. */
export class Tallies {
  readonly #file: string
  readonly #counts = new Map<string, { [O in Outcome]: number }>()

  constructor(file: string) {
    this.#file = file
  }

  count(fn: string, outcome: Outcome): void {
    const counts = this.#counts.get(fn) ?? { equal: 0, different: 0, notApplicable: 0 }
    counts[outcome] += 1
    this.#counts.set(fn, counts)
  }

  /** Holds what was counted to docs/internals/replays.md: for these functions, and no other was counted. */
  expectPublished(...fns: readonly string[]): void {
    expect([...this.#counts.keys()].sort()).toEqual([...fns].sort())
    for (const [fn, counts] of this.#counts) {
      const cases = counts.equal + counts.different + counts.notApplicable
      const tally: Tally = { cases, ...counts }
      expect(publishedTally(this.#file, fn), `docs/internals/replays.md, ${this.#file}, ${fn}`).toEqual(tally)
    }
  }
}
