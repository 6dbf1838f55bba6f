import { afterAll, beforeAll, expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { Children } from './children.ts'
import { creationRound } from './creation.ts'
import { killRound, shuffled, Tally, VICTIMS } from './kills.ts'

const children = new Children()
beforeAll(() => children.build())
afterAll(() => children.remove())

const KILLS = Number(process.env.KILLS ?? 1_000)
const CREATIONS = 60
/** How many verbs are done to one file before a new one is begun. */
const ROUND = 12

it(`${KILLS} killed processes lose nothing and leave nothing half done (seed ${SEED})`, async () => {
  const tally = new Tally()
  let kills = 0
  for (let seed = SEED; kills < KILLS; seed++) {
    for (const verbs of [shuffled(VICTIMS, seed).slice(0, ROUND), shuffled(VICTIMS, seed).slice(ROUND)]) {
      await killRound(children, 2 * seed + Number(verbs.length === ROUND), verbs, tally)
      kills += verbs.length
    }
  }
  console.log(`${kills} kills, by the verb in flight: ${JSON.stringify(Object.fromEntries(tally))}`)
  for (const verb of VICTIMS) {
    const { before, after, worked } = tally.of(verb)
    expect(before + after, `${verb} was in flight`).toBeGreaterThan(KILLS / 100)
    if (verb !== 'opening') expect(worked, `${verb} did something`).toBeGreaterThan(KILLS / 200)
  }
  const done = [...tally.values()].reduce((sum, { after }) => sum + after, 0)
  expect(done, 'kills between a commit and its acknowledgement').toBeGreaterThan(KILLS / 100)
})

it(`${CREATIONS} times processes killed while they make a file leave it to the others (seed ${SEED})`, async () => {
  let opening = 0
  for (let round = 0; round < CREATIONS; round++) opening += await creationRound(children, SEED + round)
  console.log(`${opening} processes killed while opening a new file`)
  expect(opening).toBeGreaterThan(CREATIONS / 3)
})
