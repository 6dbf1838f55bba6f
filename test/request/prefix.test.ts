import { expect, it } from 'vitest'
import { silenceWarnings } from '../ai-sdk/sdk.ts'
import { HOSTED_MODELS, PATHS } from '../support/prefix-paths.ts'
import { runSessions, type SessionOptions } from '../support/prefix-sessions.ts'

silenceWarnings()

const SEED = Number(process.env.SEED)

/** Sessions of a few turns, with automatic compaction alone, and with everything that changes a view. */
const SESSIONS: readonly SessionOptions[] = [
  { seed: SEED, turns: 7, calm: true },
  { seed: SEED + 1, turns: 9, stores: 2 },
]

it.each(Object.entries(PATHS))(
  '%s: no request has reasoning that its prefix makes invalid, and none leaves out valid reasoning',
  async (_, path) => {
    const { refusals, short, requests, kept } = await runSessions(path, SESSIONS)
    expect({ refusals, short }).toEqual({ refusals: [], short: [] })
    expect(requests).toBeGreaterThan(20)
    expect(kept).toBeGreaterThan(20)
  },
)

it.each(Object.entries(PATHS))(
  '%s: reasoning stays valid after requests with injected texts, a context that changes, notes and files, and answers without a usage',
  async (name, path) => {
    const { refusals, short, kept } = await runSessions(path, [
      { seed: SEED + 2, turns: 7, calm: true, rich: true },
      { seed: SEED + 3, turns: 7, stores: 2, rich: true, systemTurns: 3, switching: true },
    ])
    // Without records, what turned between the prompt and the answer is left out to be safe.
    expect({ refusals, short: name === 'unrecorded' ? [] : short }).toEqual({ refusals: [], short: [] })
    expect(kept).toBeGreaterThan(20)
  },
)

it.each(HOSTED_MODELS)('%s: the reasoning of %s is checked, and kept', async (provider, model) => {
  const session = { seed: SEED + 4, turns: 5, calm: true, rich: true, provider, model }
  const paths = [PATHS.recorded!, PATHS.langchain!]
  for (const path of paths) {
    const { refusals, short, kept } = await runSessions(path, [session])
    expect({ refusals, short }).toEqual({ refusals: [], short: [] })
    expect(kept).toBeGreaterThan(5)
  }
})
