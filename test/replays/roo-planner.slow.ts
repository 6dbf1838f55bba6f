import { expect, it } from 'vitest'
import { rooSequences } from './roo-data.ts'
import { replayWithPlanner } from './roo-planner.ts'
import { RooStore } from './roo-store.ts'

/** Each sequence is condensed one way here; `LONG=1` runs both ways for all. */
const sequences = rooSequences()

it.skipIf(sequences.length === 0)(
  'Roo Code’s operations by our planner: laws, undo and redo of all',
  async () => {
    const roo = await RooStore.open()
    const sum = { steps: 0, condensed: 0, condensedRecently: 0, truncated: 0, hidden: 0, undone: 0 }
    for (const sequence of sequences) {
      const condensing = sequence.seed % 2 === 0 ? 'range' : 'summarizer'
      const done = await replayWithPlanner(roo, sequence, condensing)
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += done[name]
    }
    await roo.close()
    expect(sum.steps).toBe(1536)
    // The operations did something: a replay in which every verb refuses would keep all laws too.
    expect(sum.condensed, 'condensed').toBeGreaterThan(150)
    expect(sum.condensedRecently, 'condensed recently').toBeGreaterThan(10)
    expect(sum.truncated, 'truncated').toBeGreaterThan(100)
    expect(sum.hidden, 'hidden').toBeGreaterThan(1000)
    expect(sum.undone, 'undone').toBeGreaterThan(100)
  },
)
