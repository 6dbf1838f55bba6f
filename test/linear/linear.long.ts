import { describe, expect, it } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { FACES, type Face } from './faces.ts'
import { PATTERNS, type Pattern, textOf } from './patterns.ts'

/*
 * No input may block the process: a megabyte of each pattern through everything public that takes text takes at most three times as long
 * as half of it. `npx vitest run test/linear -t exportHtml` with LONG=1 tries a part;
 * LINEAR=all sends every pattern through every place.
 */

const MEGABYTE = 1_000_000
/** Milliseconds of processor time for a megabyte below which nothing is compared: garbage collection alone takes some. */
const FLOOR = 60
/** What a megabyte may take at most, however evenly it grows. */
const MOST = 8_000
const TRIES = 4

/** Milliseconds of processor time, which other processes do not lengthen as they do the time on the clock. */
async function timeOf(face: Face, pattern: Pattern, units: number): Promise<number> {
  const { run, clean } = await face.prepare(textOf(pattern, units))
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  await clean?.()
  return (user + system) / 1_000
}

/** What is wrong with how a face takes a pattern; what it refuses is not its affair, the least of several times counts. */
async function problemOf(face: Face, pattern: Pattern): Promise<string | undefined> {
  let whole = Number.POSITIVE_INFINITY
  let halved = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES; tries++) {
    whole = Math.min(whole, await timeOf(face, pattern, MEGABYTE))
    if (whole < FLOOR) return undefined
    halved = Math.min(halved, await timeOf(face, pattern, MEGABYTE / 2))
    if (whole <= 3 * halved && whole < MOST) return undefined
  }
  return `${pattern.name}: ${Math.round(whole)} ms for a megabyte, ${Math.round(halved)} ms for half of it`
}

/** A function has a face for each place of a conversation; together they meet every pattern twice at least. */
function patternsFor({ name }: Face, at: number): readonly Pattern[] {
  if (process.env.LINEAR === 'all' || !name.endsWith(')')) return PATTERNS
  return PATTERNS.filter((_, i) => i % 3 === at % 3)
}

describe('the time of a megabyte grows as its length does', () => {
  it.each(FACES.map((face, at) => [face.name, face, at] as const))('%s', async (_, face, at) => {
    await timeOf(face, PATTERNS[0]!, MEGABYTE / 10)
    const problems: string[] = []
    for (const pattern of patternsFor(face, at)) {
      const problem = await problemOf(face, pattern).catch((error) =>
        // What cannot be accepted is refused, which ends it as well.
        isUndertextError(error) ? undefined : `${pattern.name}: ${String(error)}`,
      )
      if (problem !== undefined) problems.push(problem)
    }
    expect(problems).toEqual([])
  })
})
