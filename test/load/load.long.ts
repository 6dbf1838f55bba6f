import { afterAll, beforeAll, expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { type Crew, startCrew } from './crew.ts'
import { type Load, underLoad } from './load.ts'

/* The whole load of load.test.ts: four processes, 200 turns each, a model that takes up to 400 ms. */

const WHOLE: Omit<Load, 'loops' | 'inBackground'> = {
  processes: 4,
  turns: Number(process.env.TURNS ?? 200),
  seed: SEED,
  delayMs: [50, 400],
  answerMs: 10,
  faults: 0.25,
  lookEveryMs: 300,
}
const WAYS = {
  'loops of tools stored at their end': { loops: 'whole', inBackground: false },
  'loops of tools that others talk over': { loops: 'open', inBackground: false },
  'in the background too': { loops: 'whole', inBackground: true },
} as const

let crew: Crew
beforeAll(async () => {
  crew = await startCrew(WHOLE.processes)
})
afterAll(() => crew.end())

it.each(Object.entries(WAYS))(
  `four processes, ${WHOLE.turns} turns each, %s (seed ${SEED})`,
  async (name, way) => {
    const figures = await underLoad(crew, { ...WHOLE, ...way })
    console.info(`under load, ${name}: ${JSON.stringify(figures)}`)
    expect(figures.turns).toBe(4 * WHOLE.turns)
    expect(figures.runs).toBeGreaterThan(figures.turns / 20)
  },
)
