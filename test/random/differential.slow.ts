import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { checkSequence, sequence } from './differential.ts'

/** `LONG=1` runs many more. The seed is in the failure message, and printed. */
const RUNS = process.env.LONG === '1' ? 10_000 : 150

it(
  `SQLite and the pure model agree on ${RUNS} random sequences (seed ${SEED})`,
  async () => {
    console.log(`random sequences: ${RUNS}, seed ${SEED} (SEED=${SEED} repeats them)`)
    const result = await fc.check(
      fc.asyncProperty(sequence, (steps) => checkSequence(steps)),
      { numRuns: RUNS },
    )
    if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
    expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
  },
  Math.max(300_000, RUNS * 500),
)
