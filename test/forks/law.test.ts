import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { checkStory, story } from './law.ts'

const RUNS = Number(process.env.RUNS ?? 5)

it(`forks are the session at their moment, and nothing passes between them, in ${RUNS} random stories (seed ${SEED})`, async () => {
  const result = await fc.check(
    fc.asyncProperty(story, (one) => checkStory(one)),
    { numRuns: RUNS },
  )
  if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
  expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
})
