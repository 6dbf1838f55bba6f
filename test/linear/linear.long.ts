import { describe, expect, it } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { FACES, type Face } from './faces.ts'
import { PATTERNS, type Pattern, textOf } from './patterns.ts'

/*
 * No input may block the process: a megabyte of each pattern through everything public that takes text takes at most three times as long
 * as half of it. An eighth of a megabyte is measured first, beside half of that; where even that grows faster than the text, and for one
 * pattern of each face, the megabyte itself is measured. `npx vitest run test/linear -t exportHtml` with LONG=1 tries a part;
 * LINEAR=all measures a megabyte of every pattern in every place, which takes days.
 */

const MEGABYTE = 1_000_000
const SMALL = MEGABYTE / 8
/** Milliseconds of processor time for a megabyte below which nothing is compared: garbage collection alone takes some. */
const FLOOR = 60
/** What an eighth of a megabyte takes at most so that a megabyte stays below the floor even if the time grows with the square. */
const SMALL_FLOOR = FLOOR / 64
/** What a megabyte may take at most, however evenly it grows. */
const MOST = 8_000
const MOST_SMALL = MOST / 8
/** Where a square part makes a megabyte take three times as long as half of it, it makes an eighth take this many times as long as a sixteenth. */
const SMALL_GROWTH = 2.2
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

/** Whether an eighth of a megabyte takes so little, or so evenly more than half of it, that a megabyte will. `fixed` is what the shortest text takes. */
async function isEvenAlready(face: Face, pattern: Pattern, fixed: number): Promise<boolean> {
  let whole = Number.POSITIVE_INFINITY
  let halved = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 2; tries++) {
    whole = Math.min(whole, (await timeOf(face, pattern, SMALL)) - fixed)
    if (whole < SMALL_FLOOR) return true
    if (whole > MOST_SMALL) return false
    halved = Math.min(halved, (await timeOf(face, pattern, SMALL / 2)) - fixed)
    if (whole <= SMALL_GROWTH * halved) return true
  }
  return false
}

/** What is wrong with how a face takes a pattern; the least of several times counts. */
async function problemOf(face: Face, pattern: Pattern): Promise<string | undefined> {
  let whole = Number.POSITIVE_INFINITY
  let halved = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES; tries++) {
    whole = Math.min(whole, await timeOf(face, pattern, MEGABYTE))
    if (whole < FLOOR) return undefined
    halved = Math.min(halved, await timeOf(face, pattern, MEGABYTE / 2))
    if (whole <= 3 * halved && whole < MOST) return undefined
  }
  // A step (a collection of garbage, a session that becomes long enough to compact) does not repeat itself as the text grows on.
  let shorter = whole
  for (let units = 2 * MEGABYTE; shorter < MOST && units <= 8 * MEGABYTE; units *= 2) {
    const longer = Math.min(await timeOf(face, pattern, units), await timeOf(face, pattern, units))
    if (longer <= 3 * shorter) return undefined
    shorter = longer
  }
  return `${pattern.name}: ${Math.round(whole)} ms for a megabyte, ${Math.round(halved)} ms for half of it`
}

const EVERY = process.env.LINEAR === 'all'

/** A function has a face for each place of a conversation; together they meet every pattern. Long lists need few patterns: their items count. */
function patternsFor({ name }: Face, at: number): readonly Pattern[] {
  if (EVERY || !name.endsWith(')')) return PATTERNS
  const step = name.includes('(many ') ? 24 : 3
  return PATTERNS.filter((_, i) => i % step === at % step)
}

/** What cannot be accepted is refused, which ends it as well. */
async function unlessRefused<T>(work: () => Promise<T>, refused: T): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isUndertextError(error)) return refused
    throw error
  }
}

async function problemsOf(face: Face, at: number): Promise<string[]> {
  await unlessRefused(() => timeOf(face, PATTERNS[0]!, MEGABYTE / 10), 0)
  const fixed = await unlessRefused(() => timeOf(face, PATTERNS[0]!, 100), 0)
  const patterns = patternsFor(face, at)
  const problems: string[] = []
  for (const [i, pattern] of patterns.entries()) {
    const isWhole = EVERY || i === at % patterns.length
    const problem = await unlessRefused(async () => {
      if (!isWhole && (await isEvenAlready(face, pattern, fixed))) return undefined
      return await problemOf(face, pattern)
    }, undefined)
    if (problem === undefined) continue
    console.log(`${face.name}: ${problem}`)
    problems.push(problem)
  }
  return problems
}

describe('the time of a megabyte grows as its length does', () => {
  it.each(FACES.map((face, at) => [face.name, face, at] as const))('%s', async (_, face, at) => {
    expect(await problemsOf(face, at)).toEqual([])
  })
})
