import { expect, it } from 'vitest'
import { silenceWarnings } from '../ai-sdk/sdk.ts'
import { PATHS } from '../support/prefix-paths.ts'
import { runSessions, type SessionOptions } from '../support/prefix-sessions.ts'

silenceWarnings()

const SEED = Number(process.env.SEED)
const ROUNDS = process.env.LONG === '1' ? 60 : 4

/** Whether the store knows what each request of a path contained. */
const KNOWN: ReadonlySet<string> = new Set(['recorded', 'middleware', 'chat'])

it.each(Object.entries(PATHS))(
  '%s: no long session has a request that is refused for its reasoning, and each sends as much as it may',
  async (name, path) => {
    const sessions = Array.from({ length: ROUNDS }, (_, at): SessionOptions[] => {
      const seed = SEED * 1_000 + at * 10
      return [
        { seed, turns: 12, calm: true },
        { seed: seed + 1, turns: 14, stores: 2 },
        { seed: seed + 2, turns: 10, stores: 2, imported: true },
        ...(KNOWN.has(name) ? [{ seed: seed + 3, turns: 10, stores: 2, crowded: true }] : []),
      ]
    }).flat()
    const { refusals, short, requests, kept } = await runSessions(path, sessions)
    expect({ refusals, short }).toEqual({ refusals: [], short: [] })
    expect(requests).toBeGreaterThan(50 * ROUNDS)
    expect(kept).toBeGreaterThan(requests)
  },
  3_600_000,
)
