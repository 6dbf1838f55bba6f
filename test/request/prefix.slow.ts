import { expect, it } from 'vitest'
import { silenceWarnings } from '../ai-sdk/sdk.ts'
import { HOSTED_MODELS, PATHS } from '../support/prefix-paths.ts'
import { runSessions, type SessionOptions } from '../support/prefix-sessions.ts'

silenceWarnings()

const SEED = Number(process.env.SEED)
const ROUNDS = process.env.LONG === '1' ? 60 : 3

/** Paths on which two users may speak at once: the store knows what each request contained. A middleware's prompts would diverge. */
const KNOWN: ReadonlySet<string> = new Set(['recorded', 'chat'])

/** A model and its host, another one in each round. Models of the AI SDK are always of Anthropic here, so that their names count alone. */
function hosted(round: number): Pick<SessionOptions, 'provider' | 'model'> {
  const [provider, model] = HOSTED_MODELS[round % HOSTED_MODELS.length]!
  return { provider, model }
}

it.each(Object.entries(PATHS))(
  '%s: no long session has a request that is refused for its reasoning, and those that only compact send as much as they may',
  async (name, path) => {
    const sessions = Array.from({ length: ROUNDS }, (_, at): SessionOptions[] => {
      const seed = SEED * 1_000 + at * 10
      return [
        { seed, turns: 12, calm: true },
        { seed: seed + 1, turns: 14, stores: 2 },
        { seed: seed + 2, turns: 10, stores: 2, imported: true },
        { seed: seed + 4, turns: 10, drops: true },
        { seed: seed + 5, turns: 12, calm: true, rich: true, systemTurns: 5 },
        { seed: seed + 6, turns: 12, stores: 2, rich: true },
        { seed: seed + 7, turns: 12, stores: 2, rich: true, systemTurns: 4, switching: true, ...hosted(at) },
        ...(KNOWN.has(name) ? [{ seed: seed + 3, turns: 10, stores: 2, crowded: true }] : []),
      ]
    }).flat()
    const { refusals, short, requests, kept } = await runSessions(path, sessions)
    expect(refusals).toEqual([])
    // Without records, what turned between the prompt and the answer is left out to be safe; a restored copy of a fork has no records of
    // its original, and of two users who speak at once nothing tells what the other's request had.
    const certain = name === 'unrecorded' ? [] : short.filter((one) => one.includes('"calm":true'))
    expect(certain).toEqual([])
    expect(short.length).toBeLessThan(requests / 5)
    expect(requests).toBeGreaterThan(130 * ROUNDS)
    expect(kept).toBeGreaterThan(requests)
  },
  3_600_000,
)
