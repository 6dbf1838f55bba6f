import { afterAll, beforeAll, expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { Children } from './children.ts'
import { creationRound } from './creation.ts'
import { killRound, Tally, VICTIMS } from './kills.ts'

/* Processes killed at random moments. The long mode kills 1,000 and holds every verb to have been in flight. */

const children = new Children()
beforeAll(() => children.build())
afterAll(() => children.remove())

it(`a killed process loses nothing that was acknowledged, and leaves no partial work (seed ${SEED})`, async () => {
  const tally = new Tally()
  const half = Math.ceil(VICTIMS.length / 2)
  await killRound(children, SEED, VICTIMS.slice(0, half), tally)
  await killRound(children, SEED + 1, VICTIMS.slice(half), tally)
  expect(tally.of('nothing').before, 'kills with no verb in flight').toBeLessThan(VICTIMS.length)
})

it(`processes killed while they make a file leave it to the others (seed ${SEED})`, async () => {
  for (let round = 0; round < 4; round++) await creationRound(children, SEED + round)
})
