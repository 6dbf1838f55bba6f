import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { sharedPath } from '../support/shared.ts'
import { publishedTally, type Tally } from './table.ts'

/** What became of one case: as the columns of docs/internals/replays.md have it. */
export type Fate = 'equal' | 'different' | 'notApplicable'

/** One recorded call of another system: what went in, and what came out or was thrown. */
export type GoldenCase<Input, Expected> = {
  readonly fn: string
  readonly name: string
  readonly input: Input
  readonly expected: Expected
  readonly throws?: string
}

/**
 * The cases of one golden file, and the counts of what became of them. Each case is settled once for each
 * function it counts for; `holdToPage` makes the test that compares the counts with the published rows.
 */
export class Replay {
  readonly file: string
  readonly #cases: readonly GoldenCase<never, never>[]
  readonly #fates = new Map<string, Map<object, Fate>>()

  constructor(file: string) {
    this.file = file
    const path = sharedPath(`golden/agents/${file}.json`)
    this.#cases =
      path === undefined
        ? []
        : (JSON.parse(readFileSync(path, 'utf8')) as { cases: GoldenCase<never, never>[] }).cases
  }

  /** Whether the file is absent: the tests are then skipped. */
  get isAbsent(): boolean {
    return this.#cases.length === 0
  }

  /** The cases of one function, in the order of the file. */
  casesOf<Input, Expected>(fn: string): readonly GoldenCase<Input, Expected>[] {
    return this.#cases.filter((one) => one.fn === fn) as readonly GoldenCase<unknown, unknown>[] as never
  }

  /** Notes what became of a case, in the row of its own function or in another row it counts for as well. */
  settle(one: GoldenCase<unknown, unknown>, fate: Fate, row = one.fn): void {
    const fates = this.#fates.get(row) ?? new Map<object, Fate>()
    expect(fates.has(one), `${row}: ${one.name} is settled once`).toBe(false)
    this.#fates.set(row, fates.set(one, fate))
  }

  /** The test at the end of a file: every case is settled, and the counts are those of the page. */
  holdToPage(...furtherRows: readonly string[]): void {
    it.skipIf(this.isAbsent)('comes to the counts of docs/internals/replays.md', () => {
      const functions = [...new Set(this.#cases.map(({ fn }) => fn))]
      expect([...this.#fates.keys()].sort()).toEqual([...functions, ...furtherRows].sort())
      for (const [row, fates] of this.#fates) {
        const isFunction = functions.includes(row)
        if (isFunction) expect(fates.size, `${row}: cases settled`).toBe(this.casesOf(row).length)
        expect(publishedTally(this.file, row), `${this.file} ${row}`).toEqual(tallyOf([...fates.values()]))
      }
    })
  }
}

function tallyOf(fates: readonly Fate[]): Tally {
  const count = (fate: Fate): number => fates.filter((one) => one === fate).length
  return {
    cases: fates.length,
    equal: count('equal'),
    different: count('different'),
    notApplicable: count('notApplicable'),
  }
}
