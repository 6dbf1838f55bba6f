import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { checkRemoval, removal } from './purge-text.ts'

const RUNS = process.env.LONG === '1' ? 2_000 : 60

it(
  `after a removal of text a store is the same with another text in its place, and no file has the text, in ${RUNS} random stories (seed ${SEED})`,
  async () => {
    const tally = { matches: 0, sessions: 0 }
    const result = await fc.check(
      fc.asyncProperty(removal, (one) => checkRemoval(one, tally)),
      { numRuns: RUNS },
    )
    if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
    expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
    expect(tally.matches).toBeGreaterThan(RUNS)
    expect(tally.sessions).toBeGreaterThan(RUNS / 2)
  },
  Math.max(600_000, RUNS * 2_000),
)
