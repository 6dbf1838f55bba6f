import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { checkRetention, story } from './retention.ts'

const RUNS = process.env.LONG === '1' ? 2_000 : 60

it(
  `after retention the view is the same, and each undo gives the original or reports what was removed, in ${RUNS} random stories (seed ${SEED})`,
  async () => {
    const tally = { parts: 0, exact: 0, retired: 0 }
    const result = await fc.check(
      fc.asyncProperty(story, (one) => checkRetention(one, tally)),
      { numRuns: RUNS },
    )
    if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
    expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
    expect(tally.parts).toBeGreaterThan(RUNS)
    expect(tally.exact).toBeGreaterThan(0)
    expect(tally.retired).toBeGreaterThan(0)
  },
  Math.max(600_000, RUNS * 2_000),
)
