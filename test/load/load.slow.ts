import { afterAll, beforeAll, expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { type Crew, startCrew } from './crew.ts'
import { type Load, underLoad } from './load.ts'

/* Four processes on one session, briefly. The long mode does it with 200 turns each and a slower model. */

const BRIEF: Omit<Load, 'loops' | 'inBackground' | 'turns'> = {
  processes: 4,
  seed: SEED,
  delayMs: [10, 40],
  answerMs: 2,
  faults: 0.25,
  lookEveryMs: 100,
}

let crew: Crew
beforeAll(async () => {
  crew = await startCrew(BRIEF.processes)
})
afterAll(() => crew.end())

it(`four processes live on one session, with a model that is slow and fails (seed ${SEED})`, async () => {
  const { runs, paid } = await underLoad(crew, { ...BRIEF, loops: 'whole', inBackground: false, turns: 25 })
  // Windows are so small that every few turns need a run.
  expect(runs).toBeGreaterThan(10)
  expect(paid.asked).toBeGreaterThan(10)
})

it(`the same while they talk over each other's loops of tools (seed ${SEED})`, async () => {
  const { runs } = await underLoad(crew, { ...BRIEF, loops: 'open', inBackground: false, turns: 10 })
  expect(runs).toBeGreaterThan(3)
})

it(`the same while all of them also compact in the background (seed ${SEED})`, async () => {
  const { jobs } = await underLoad(crew, { ...BRIEF, loops: 'whole', inBackground: true, turns: 10 })
  expect(jobs.done).toBeGreaterThan(0)
})
