import { expect, it } from 'vitest'
import { rooSequences } from './roo-data.ts'
import { type Condensing, replayWithPlanner } from './roo-planner.ts'
import { RooStore } from './roo-store.ts'

const sequences = rooSequences()

it.skipIf(sequences.length === 0).each<Condensing>(['range', 'summarizer'])(
  'Roo Code’s operations by our planner, all condensed by %s',
  async (condensing) => {
    const roo = await RooStore.open()
    let steps = 0
    for (const sequence of sequences) steps += (await replayWithPlanner(roo, sequence, condensing)).steps
    await roo.close()
    expect(steps).toBe(1536)
  },
)
