import fc from 'fast-check'
import { it } from 'vitest'
import { checkSequence, sequence } from '../random/differential.ts'
it('x', async () => {
  const seed = Number(process.env.FCSEED ?? 1)
  const result = await fc.check(fc.asyncProperty(sequence, (steps) => checkSequence(steps)), { numRuns: Number(process.env.N), seed, endOnFailure: process.env.NOSHRINK === '1' })
  console.log('RUNS', result.numRuns, 'failed', result.failed)
  if (result.failed) console.log(JSON.stringify(result.counterexample), String(result.errorInstance))
}, 3_000_000)
