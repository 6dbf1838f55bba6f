import { afterAll, beforeAll, expect, it } from 'vitest'
import { courseOf, killedWhilePaying, NOTING, Payers } from './payers.ts'
import { PAYING } from './paying.ts'

/* Killed before every statement behind every answer. */

let payers: Payers
beforeAll(async () => {
  payers = await Payers.start()
})
afterAll(() => payers.remove())

it.each(PAYING)('killed before every statement after the answer: %s', async (how) => {
  const course = await courseOf(how)
  const found = { before: 0, after: 0 }
  for (let answers = 1; answers <= course.answers; answers++) {
    let last: 'before' | 'after' = 'before'
    let lastNoted = 0
    for (let killedAfter = 0, isOver = false; !isOver; killedAfter++) {
      const { state, ended, heard, noted } = await killedWhilePaying(payers, how, course, {
        answers,
        killedAfter,
      })
      // One statement makes it so, and none behind it takes it back.
      expect([last, 'after'], `${how}, ${killedAfter} statements behind answer ${answers}`).toContain(state)
      last = state
      // What was paid is written down before anything else is done with it.
      expect(noted, `${how}, ${killedAfter} statements behind answer ${answers}`).toBeGreaterThanOrEqual(
        killedAfter < NOTING ? lastNoted : Math.max(lastNoted, heard === answers ? heard : 0),
      )
      lastNoted = noted
      found[state] += 1
      isOver = ended
    }
  }
  console.info(`killed behind an answer (${how}): ${JSON.stringify(found)}`)
  expect(found.before).toBeGreaterThan(5)
  expect(found.after).toBeGreaterThan(1)
})
