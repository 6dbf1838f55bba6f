import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedOf } from '../crashes/kills.ts'
import { type Crew, startCrew } from './crew.ts'
import { type Load, underLoad } from './load.ts'

/* The whole load of load.test.ts: four processes, 200 turns each, a model that takes up to 400 ms. */

const SEED = seedOf()
const WHOLE: Omit<Load, 'loops'> = {
  processes: 4,
  turns: Number(process.env.TURNS ?? 200),
  seed: SEED,
  delayMs: [50, 400],
  answerMs: 10,
  faults: 0.25,
  lookEveryMs: 300,
}

let crew: Crew
beforeAll(async () => {
  crew = await startCrew(WHOLE.processes)
})
afterAll(() => crew.end())

it.each(['whole', 'open'] as const)(
  `four processes, ${WHOLE.turns} turns each, loops of tools %s (seed ${SEED})`,
  async (loops) => {
    const figures = await underLoad(crew, { ...WHOLE, loops })
    console.info(`under load, loops of tools ${loops}: ${JSON.stringify(figures)}`)
    expect(figures.turns).toBe(4 * WHOLE.turns)
    expect(figures.runs).toBeGreaterThan(figures.turns / 10)
  },
)
