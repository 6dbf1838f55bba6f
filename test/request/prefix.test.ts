import { expect, it } from 'vitest'
import { silenceWarnings } from '../ai-sdk/sdk.ts'
import { PATHS } from '../support/prefix-paths.ts'
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
