import fc from 'fast-check'
import { afterAll, beforeAll, expect } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { SEED } from '../support/seed.ts'

/* Many damaged inputs of a kind: each ends, within seconds, in an answer or an error of this package. */

/** A number of inputs: in the slow suite, and in the long mode. */
export const inputsOf = (slow: number, long: number): number => (process.env.LONG === '1' ? long : slow)

/** The most seconds of CPU for one input, as a guard against work without an end. */
const MOST_SECONDS = 5

const rejected: unknown[] = []
const note = (reason: unknown): unknown => rejected.push(reason)

/** To be called in each file that runs inputs. */
export function watchRejections(): void {
  beforeAll(() => void process.on('unhandledRejection', note))
  afterAll(() => void process.off('unhandledRejection', note))
}

/**
 * Runs as many inputs, and prints how many had which outcome. `act` answers the outcome, a word or a code. A failure names the seed and
 * the path with which fast-check repeats it.
 */
export async function runInputs<T>(
  kind: string,
  inputs: fc.Arbitrary<T>,
  count: number,
  act: (input: T) => Promise<string>,
): Promise<void> {
  const began = performance.now()
  const outcomes: { [outcome: string]: number } = {}
  let longest = 0
  const property = fc.asyncProperty(inputs, async (input) => {
    const before = process.cpuUsage()
    const outcome = await act(input)
    const { user, system } = process.cpuUsage(before)
    longest = Math.max(longest, (user + system) / 1e6)
    expect((user + system) / 1e6, 'seconds of CPU').toBeLessThan(MOST_SECONDS)
    await new Promise((resolve) => setImmediate(resolve))
    expect(rejected.splice(0), 'rejections that nothing handles').toEqual([])
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  })
  await fc.assert(property, { numRuns: count, seed: SEED })
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  console.info(
    `${kind}: ${count} inputs in ${seconds} s, the longest ${longest.toFixed(2)} s, seed ${SEED}`,
    JSON.stringify(outcomes),
  )
}

/** The code of an error that a damaged input may cause. Any other error is thrown. */
export function codeOf(error: unknown): string {
  if (!isUndertextError(error)) throw error
  expect(['INTERNAL_ERROR', 'STORE_CORRUPT', 'STORE_BUSY'], error.message).not.toContain(error.code)
  return error.code
}
