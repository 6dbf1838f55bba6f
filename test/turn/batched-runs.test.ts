import { afterEach, describe, expect, it } from 'vitest'
import { beforeTurn } from '../../src/compat/index.ts'
import { type CompactOptions, openStore, type Store } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'

/*
 * Runs are made in one go at the threshold, never a little at every turn. The window of gpt-4 is 8,192 tokens, of which 5,324 (65 %) are for
 * input: compaction is due at 4,260 and brings the history to 2,129.
 */

const S = 's'
const GPT4 = { provider: 'openai', model: 'gpt-4' }
const DUE = 4_260
const TARGET = 2_129

const opened: Store[] = []
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
})

type Lived = {
  /** The turns at which a run was made. */
  readonly runs: number[]
  /** The turns at which one was due and held back. */
  readonly heldBack: number[]
  readonly overflows: number
}

/** So many turns of a session, each checked before its request. */
async function live(
  turns: number,
  turnOf: (at: number) => Parameters<Store['append']>[1],
  compaction: CompactOptions = {},
): Promise<Lived> {
  const store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  opened.push(store)
  await store.sessions.create({ id: S, ...GPT4 })
  const runs: number[] = []
  const heldBack: number[] = []
  let overflows = 0
  for (let at = 0; at < turns; at++) {
    await store.append(S, turnOf(at))
    const { run, stats } = await beforeTurn(store, S, { compaction })
    if (run?.compacted) runs.push(at)
    if (run?.reason === 'SAVES_TOO_LITTLE') heldBack.push(at)
    if (!stats!.withinBudget) overflows += 1
  }
  return { runs, heldBack, overflows }
}

function gaps(turns: readonly number[]): number[] {
  return turns.slice(1).map((at, i) => at - turns[i]!)
}

describe('over a long session', () => {
  it('runs are far apart, each filling up what the last one freed', async () => {
    // 100 units are 119 tokens, so a turn takes 238.
    const { runs, overflows } = await live(150, (at) => [
      say('user', `${at}?${units(100).slice(4)}`),
      say('assistant', `${at}!${units(100).slice(4)}`),
    ])
    expect(overflows).toBe(0)
    // From the target to the threshold are 2,131 tokens, more than eight turns. A view may be left a turn above its target.
    const least = Math.floor((DUE - TARGET) / 238)
    expect(least).toBe(8)
    expect(Math.min(...gaps(runs))).toBeGreaterThanOrEqual(least - 1)
    expect(runs.length).toBeGreaterThan(10)
    expect(runs.length).toBeLessThanOrEqual(Math.ceil(150 / (least - 1)))
  })

  it('a composition that cannot reach its target waits until a run is worth it', async () => {
    // 3,700 units of words, 4,259 tokens, stay whatever is done. Of each turn 60 units of a result can be cleared, for 6 of a placeholder:
    // 62 tokens.
    const turn = (at: number): Parameters<Store['append']>[1] => [
      ...(at === 0 ? [say('user', units(3_700))] : []),
      say('user', units(2)),
      call(`c${at}`, 'run'),
      result(`c${at}`, units(60)),
    ]
    const stages: CompactOptions = {
      stages: ['prune'],
      pruneProtectTokens: 0,
      pruneMinimumSavings: 0,
      targetTokens: 100,
    }
    const turns = 20
    const nibbling = await live(turns, turn, { ...stages, minimumSavings: 0 })
    const batched = await live(turns, turn, stages)
    // Once it is due it is due at every turn, and saves the result of that turn.
    expect(Math.min(...gaps(nibbling.runs))).toBe(1)
    expect(nibbling.runs.length).toBeGreaterThan(15)
    // 5 % of at least 4,283 tokens are 214: a run clears the results of four turns at least.
    expect(Math.min(...gaps(batched.runs))).toBeGreaterThanOrEqual(4)
    expect(batched.runs.length).toBeLessThanOrEqual(Math.ceil(nibbling.runs.length / 4))
    expect(batched.heldBack.length).toBeGreaterThan(0)
    expect(batched.overflows).toBe(0)
  })
})
