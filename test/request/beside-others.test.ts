import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import { type CompactionResult, openStore, type Store } from '../../src/index.ts'
import { waitingModel } from '../storage/contract/support.ts'
import { chat } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

/* Requests that need room while somebody else, with a store of his own, is being paid for a summary of the session. */

let folder: string
let [mine, theirs]: Store[] = []
beforeEach(async () => {
  folder = newFolder()
  const open = (): Promise<Store> =>
    openStore(join(folder, 'chats.db'), { estimator: 'neurolink', env: false })
  ;[mine, theirs] = [await open(), await open()]
  await mine.append('s', chat(20, 100))
})
afterEach(async () => {
  await mine!.close()
  await theirs!.close()
})

/** A request of mine whose stages find nothing, and while they look, the others ask their model. */
async function besideOthers(
  waitMs: number,
  answeredBefore: boolean,
): Promise<{ stages: string[]; theirs: string; mine: CompactionResult | null }> {
  const model = waitingModel()
  let run: Promise<string> | undefined
  const stage = {
    name: 'looks_on',
    plan: async () => {
      run ??= theirs!
        .compactSession('s', { summarizer: model.summarizer, targetTokens: 500 })
        .then((result) => (result?.compacted ? 'in force' : 'nothing'))
        .catch((error: { code: string }) => error.code)
      await model.asked
      if (answeredBefore) setTimeout(model.answer, 150)
      return undefined
    },
  }
  const request = await mine!.prepareRequest('s', {
    contextWindowTarget: 3_000,
    maxOutputTokens: 100,
    waitMs,
    compaction: { stages: [stage] },
  })
  expect(request.stats.withinBudget).toBe(true)
  model.answer()
  const ended = await run!
  expect((await mine!.sessions.verify('s')).findings).toEqual([])
  return { stages: request.runs.flatMap(({ stagesUsed }) => stagesUsed), theirs: ended, mine: request.run }
}

describe('a request that needs room while another is paid for it', () => {
  it('waits for that, and need not make any', async () => {
    expect(await besideOthers(60_000, true)).toMatchObject({ stages: [], theirs: 'in force' })
  })

  it('makes it without a model when its time is over; what was paid comes too late', async () => {
    expect(await besideOthers(300, false)).toMatchObject({ stages: ['truncate'], theirs: 'STALE_PLAN' })
  })
})

describe('a request that needs room while others append', () => {
  const room = {
    contextWindowTarget: 3_000,
    maxOutputTokens: 100,
    compaction: { stages: ['truncate'] },
  } as const

  /** Until `times` they append 4,800 tokens when a run of mine is planned. */
  async function appending(times: number): Promise<{ runs: number; appended: number; code: string }> {
    let appended = 0
    mine!.compactions.onBefore(async () => {
      if (appended < times) {
        appended += 1
        await theirs!.append('s', chat(20, 100))
      }
    })
    const request = mine!.prepareRequest('s', room)
    return request.then(
      ({ runs, stats }) => ({ runs: runs.length, appended, code: stats.withinBudget ? 'fits' : 'over' }),
      ({ code }) => ({ runs: 0, appended, code }),
    )
  }

  it('makes room after each of seven appends, and once more', async () => {
    expect(await appending(7)).toEqual({ runs: 8, appended: 7, code: 'fits' })
    expect((await mine!.sessions.verify('s')).findings).toEqual([])
  })

  it('is refused when they never stop', async () => {
    const { code, appended } = await appending(Number.POSITIVE_INFINITY)
    expect(code).toBe('CONTEXT_BUDGET_EXCEEDED')
    expect(appended).toBeLessThan(100)
  })
})

describe('a turn while another run holds the session', () => {
  /** 4,810 tokens: usage has reached 0.8 of the first; the second is too small. */
  const [due, tooSmall] = [{ contextWindowTarget: 5_800 }, { contextWindowTarget: 4_000 }]
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Seconds, by a clock that is advanced, until a call during a summary of `theirs` is over, and its error's code. */
  async function during(turn: () => Promise<unknown>, isInVain = false) {
    const model = waitingModel()
    const run = theirs!.compactSession('s', { summarizer: model.summarizer, targetTokens: 500 })
    await model.asked
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    })
    const began = performance.now()
    let ended: { seconds: number; outcome: unknown } | undefined
    void turn().then(
      (outcome) => (ended = { seconds: Math.round((performance.now() - began) / 1_000), outcome }),
      ({ code }) => (ended = { seconds: Math.round((performance.now() - began) / 1_000), outcome: code }),
    )
    while (ended === undefined) await vi.advanceTimersByTimeAsync(50)
    vi.useRealTimers()
    model.answer()
    // A summary whose rows were hidden meanwhile was paid in vain.
    expect(
      await run.then(
        () => 'in force',
        ({ code }) => code,
      ),
    ).toBe(isInVain ? 'STALE_PLAN' : 'in force')
    if (!isInVain) await mine!.undoCompaction('s', (await mine!.listCompactions('s')).at(-1)!.id)
    return ended
  }

  it('waits ten seconds, and then is sent as it is where it fits: nothing that was paid comes too late', async () => {
    const { seconds, outcome } = await during(() => mine!.prepareRequest('s', due))
    expect(seconds).toBe(10)
    expect(outcome).toMatchObject({ compacted: false, runs: [], stats: { withinBudget: true } })
  })

  it('makes room without a model after ten seconds where it does not fit', async () => {
    const { seconds, outcome } = await during(() => mine!.prepareRequest('s', tooSmall), true)
    expect(seconds).toBe(10)
    expect(outcome).toMatchObject({ compacted: true, stats: { withinBudget: true } })
  })

  it('waits as long as waitMs says', async () => {
    const { seconds } = await during(() => mine!.prepareRequest('s', { ...due, waitMs: 40_000 }))
    expect(seconds).toBe(40)
    const own = { ...due, compaction: { waitMs: 2_000 } }
    expect((await during(() => mine!.prepareRequest('s', own))).seconds).toBe(2)
  })

  it('is refused after ten seconds where the caller wants that', async () => {
    const refusing = { ...due, compaction: { whenBusy: 'refuse' as const } }
    expect(await during(() => mine!.prepareRequest('s', refusing))).toEqual({
      seconds: 10,
      outcome: 'COMPACTION_IN_PROGRESS',
    })
  })

  it('goes on after ten seconds in beforeTurn and afterTurn too where it fits, and is refused where it does not', async () => {
    for (const hook of [beforeTurn, afterTurn]) {
      const { seconds, outcome } = await during(() => hook(mine!, 's', due))
      expect(seconds).toBe(10)
      expect(outcome).toMatchObject({ compacted: false, run: null })
      expect(await during(() => beforeTurn(mine!, 's', tooSmall))).toEqual({
        seconds: 10,
        outcome: 'COMPACTION_IN_PROGRESS',
      })
    }
  })
})

describe('an automatic run whose model may not be called', () => {
  it('keeps others from paying for what it changes', async () => {
    const model = waitingModel()
    let refused: string | undefined
    const stage = {
      name: 'looks_on',
      plan: async () => {
        const asks = { summarizer: model.summarizer, targetTokens: 500, waitMs: 0 }
        refused = await theirs!.compactSession('s', asks).then(
          () => 'asked',
          (error: { code: string }) => error.code,
        )
        return undefined
      },
    }
    const config = { spendLimits: { calls: 0 } }
    const broke = await openStore(join(folder, 'chats.db'), { estimator: 'neurolink', env: false, config })
    const stages = [stage, 'summarize', 'truncate'] as const
    const { summarizer } = model
    const run = await broke.compactSession('s', { trigger: 'auto', summarizer, stages, targetTokens: 500 })
    await broke.close()
    expect(refused).toBe('COMPACTION_IN_PROGRESS')
    expect(run).toMatchObject({ compacted: true, stagesUsed: ['truncate'] })
    expect(summarizer.requests).toHaveLength(0)
  })
})
