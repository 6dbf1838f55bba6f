import { readFileSync } from 'node:fs'

/** What became of the cases of one function of one golden file, or of the steps of its sequences. */
export type Tally = {
  readonly cases: number
  /** The recorded result and ours are the same, or the same in shape where the page says so. */
  readonly equal: number
  /** Ours differs, and the page says why; the test holds what ours is. */
  readonly different: number
  /** The case asks for something that is no part of a store of conversations; the page says why. */
  readonly notApplicable: number
}

const PAGE = new URL('../../docs/internals/replays.md', import.meta.url)

/** The row of docs/internals/replays.md for a golden file (its name without `.json`) and a function of it, as published. */
export function publishedTally(file: string, fn: string): Tally | undefined {
  for (const line of readFileSync(PAGE, 'utf8').split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim())
    if (cells[1] !== `\`${file}\`` || cells[2] !== `\`${fn}\``) continue
    const [cases, equal, different, notApplicable] = cells.slice(3, 7).map(Number)
    return { cases: cases!, equal: equal!, different: different!, notApplicable: notApplicable! }
  }
  return undefined
}
