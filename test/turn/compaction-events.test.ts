import { beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type CompactionConfig,
  type CompactionEvent,
  openStore,
  type Store,
  type Summarizer,
} from '../../src/index.ts'
import { call, chat, result, units } from '../support/conversation.ts'
import { CANARY, expectFailure, failureOf } from '../support/failures.ts'

let store: Store
let heard: CompactionEvent[]
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink' })
  heard = []
  store.on('compaction', (event) => {
    heard.push(event)
  })
  await store.append('s', [
    ...chat(3, 50),
    call('c', 'search'),
    result('c', units(2_000)),
    ...chat(10, 50).map((message) => ({ ...message, content: `${CANARY} ${message.content as string}` })),
  ])
  return () => store.close()
})

const model = (answer: string | Error): Summarizer => ({
  name: 'model',
  usesModel: true,
  async summarize() {
    if (answer instanceof Error) throw answer
    return { text: answer, cost: 0.01 }
  },
})
const phases = (): string[] => heard.map((event) => event.phase)
const SUMMARIZE = {
  enablePrune: false,
  enableDeduplicate: false,
  enableTruncate: false,
  targetTokens: 300,
} satisfies CompactionConfig

const NO_IMAGES = { imagesBefore: 0, imagesAfter: 0, mediaBytesBefore: 0, mediaBytesAfter: 0 }

describe('a run', () => {
  it('tells of its start, its stages and its end, with the figures of its result', async () => {
    const run = (await store.compactSession('s', {
      targetTokens: 400,
      pruneProtectTokens: 0,
      pruneMinimumSavings: 0,
      enableSummarize: false,
      maxOutputTokens: 120_000,
    }))!
    expect(run.stagesUsed).toEqual(['prune', 'truncate'])
    const [prune, truncate] = run.compactions
    const { runId, tokensBefore, tokensAfter, targetTokens } = run
    // Of 128,000 tokens 8,000 are left for input.
    const of = (tokens: number) => ({
      sessionId: 's',
      runId,
      tokensBefore,
      percent: Math.floor((tokens * 100) / 8_000),
    })
    expect(heard).toEqual([
      { phase: 'started', ...of(tokensBefore), trigger: 'manual', targetTokens },
      {
        phase: 'stage',
        ...of(prune!.tokensAfter),
        stage: 'prune',
        compactionId: prune!.id,
        tokensAfter: prune!.tokensAfter,
      },
      {
        phase: 'stage',
        ...of(tokensAfter),
        stage: 'truncate',
        compactionId: truncate!.id,
        tokensAfter,
      },
      {
        phase: 'completed',
        ...of(tokensAfter),
        tokensAfter,
        ...NO_IMAGES,
        compactionIds: [prune!.id, truncate!.id],
        reachedTarget: true,
        failedSummaries: 0,
      },
    ])
    expect(tokensBefore).toBeGreaterThan(2_000)
    expect(JSON.stringify(heard)).not.toContain(CANARY)
  })

  it('reports its start before the model is called', async () => {
    let atQuestion: string[] = []
    const summarizer = model('Short.')
    await store.compactSession('s', {
      ...SUMMARIZE,
      summarizer: {
        ...summarizer,
        summarize(request) {
          atQuestion = phases()
          return summarizer.summarize(request)
        },
      },
    })
    expect(atQuestion).toEqual(['started'])
    expect(phases()).toEqual(['started', 'stage', 'completed'])
    expect(heard[1]).toMatchObject({ stage: 'summarize' })
  })

  it('tells nothing when nothing is due, and nothing of a preview', async () => {
    await store.compactSession('s', { targetTokens: 1_000_000 })
    const nothing = await store.compactSession('s', {
      ...SUMMARIZE,
      enableSummarize: false,
      targetTokens: 1,
    })
    expect(nothing!.reason).toBe('NO_PROGRESS')
    await store.previewCompaction('s', { targetTokens: 300 })
    await store.previewCompaction('s', { ...SUMMARIZE, summarizer: model('Short.'), summarize: true })
    await store.compactSession('unknown', { targetTokens: 1 })
    expect(heard).toEqual([])
  })

  it('tells of a preview that is applied', async () => {
    const preview = await store.previewCompaction('s', { targetTokens: 300, enableSummarize: false })
    await store.compactSession('s', preview!)
    expect(phases()).toEqual(['started', 'stage', 'completed'])
    const pending = await store.previewCompaction('s', { targetTokens: 100, summarizer: model('Short.') })
    heard = []
    await store.compactSession('s', pending!)
    expect(phases().at(0)).toBe('started')
    expect(phases().at(-1)).toBe('completed')
  })

  it('emits one event when two callers request the same', async () => {
    const config = { ...SUMMARIZE, summarizer: model('Short.') }
    await Promise.all([store.compactSession('s', config), store.compactSession('s', config)])
    expect(phases()).toEqual(['started', 'stage', 'completed'])
  })

  it.each([
    [model(new Error(CANARY)), { enableTruncate: true }, 'truncate'],
    [model(''), { enableTruncate: true }, 'truncate'],
    [model(new Error(CANARY)), { offlineFallback: true }, 'extractive'],
  ])('names what replaced a summary that failed', async (summarizer, more, fallback) => {
    const run = await store.compactSession('s', { ...SUMMARIZE, ...more, summarizer })
    expect(run!.compacted).toBe(true)
    expect(phases()).toEqual(['started', 'stage', 'completed'])
    expect(heard.at(-1)).toMatchObject({ failedSummaries: 1, fallback })
    // The rows are complete.
    expect((await store.getMessages('s')).filter(({ kind }) => kind === 'message')).toHaveLength(28)
  })

  it.each([
    ['a model', model(new Error(CANARY))],
    ['a summarizer without one', { ...model(new Error(CANARY)), usesModel: false }],
  ])('fails when all it did was a summary that failed: %s', async (_, summarizer) => {
    const run = await store.compactSession('s', { ...SUMMARIZE, summarizer })
    expect(run!.reason).toBe('SUMMARY_FAILED')
    expect(phases()).toEqual(['started', 'failed'])
    const { tokensBefore } = run!
    expect(heard[1]).toMatchObject({ code: 'SUMMARY_FAILED', tokensBefore, tokensAfter: tokensBefore })
    expect(JSON.stringify(heard)).not.toContain(CANARY)
  })

  it('ends with the code of the error when it is aborted, or went stale', async () => {
    const stop = new AbortController()
    const aborting = model('Short.')
    const summarizer = {
      ...aborting,
      summarize() {
        stop.abort()
        return { text: 'Short.' }
      },
    }
    expectFailure(
      await failureOf(() => store.compactSession('s', { ...SUMMARIZE, summarizer, signal: stop.signal })),
      'ABORTED',
    )
    expect(phases()).toEqual(['started', 'failed'])
    expect(heard[1]).toMatchObject({ code: 'ABORTED' })

    heard = []
    const ids = (await store.getMessages('s')).slice(0, 2).map(({ id }) => id)
    const hiding = {
      ...aborting,
      async summarize() {
        await store.compactions.hide('s', ids)
        return { text: 'Short.' }
      },
    }
    expectFailure(
      await failureOf(() => store.compactSession('s', { ...SUMMARIZE, summarizer: hiding })),
      'STALE_PLAN',
    )
    expect(phases().at(0)).toBe('started')
    expect(phases().filter((phase) => phase === 'failed')).toHaveLength(1)
    expect(heard.at(-1)).toMatchObject({ phase: 'failed', code: 'STALE_PLAN' })
  })

  it('has one end, also when it is done and its answer cannot be read any more', async () => {
    store.on('compaction', ({ phase }) => (phase === 'completed' ? store.close() : undefined))
    const error = await failureOf(() => store.compactSession('s', { targetTokens: 300 }))
    expectFailure(error, 'STORE_CLOSED')
    expect(phases().at(-1)).toBe('completed')
  })

  it('that is planned again, because the view changed, emits its events once', async () => {
    const ids = (await store.getMessages('s')).slice(0, 2).map(({ id }) => id)
    let asked = 0
    const summarizer: Summarizer = {
      name: 'offline',
      usesModel: false,
      async summarize() {
        asked += 1
        if (asked === 1) await store.compactions.hide('s', ids)
        return { text: 'Short.' }
      },
    }
    const run = await store.compactSession('s', { ...SUMMARIZE, summarizer })
    expect([asked, run!.compacted]).toEqual([2, true])
    expect(phases()).toEqual(['started', 'stage', 'completed'])
    expect(heard[0]).toMatchObject({ tokensBefore: run!.tokensBefore })
  })
})

describe('undo and redo', () => {
  it('emit events with the tokens before and after', async () => {
    const run = (await store.compactSession('s', { targetTokens: 300, enableSummarize: false }))!
    const compactionIds = run.compactions.map(({ id }) => id)
    heard = []
    await store.undoCompaction('s', run.runId)
    await store.undoCompaction('s', run.runId)
    await store.redoCompaction('s', compactionIds[0]!)
    const turned = { sessionId: 's', compactionIds }
    const { tokensBefore: full, tokensAfter: short } = run
    expect(heard).toMatchObject([
      { phase: 'undone', ...turned, targetId: run.runId, tokensBefore: short, tokensAfter: full },
      { phase: 'redone', ...turned, targetId: compactionIds[0], tokensBefore: full, tokensAfter: short },
    ])
  })

  it('tell nothing when they are refused', async () => {
    expectFailure(await failureOf(() => store.undoCompaction('s', 'none')), 'COMPACTION_NOT_FOUND')
    expectFailure(await failureOf(() => store.redoCompaction('x', 'none')), 'SESSION_NOT_FOUND')
    expect(heard).toEqual([])
  })
})

describe('a hook before the commit', () => {
  const config = { targetTokens: 300, enableSummarize: false } as const

  it.each<[string, () => unknown]>([
    ['answers false', () => false],
    ['answers false later', async () => false],
    [
      'throws',
      () => {
        throw new Error(CANARY)
      },
    ],
    ['rejects', () => Promise.reject(new Error(CANARY))],
  ])('vetoes when it %s', async (_, hook) => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const before = await store.getEffectiveHistory('s')
    const audit = await store.sessions.audit('s')
    store.compactions.onBefore(hook)
    const run = (await store.compactSession('s', config))!
    expect(run).toMatchObject({ compacted: false, reason: 'VETOED', stagesUsed: [], compactions: [] })
    expect([run.tokensSaved, run.tokensAfter]).toEqual([0, run.tokensBefore])
    expect(await store.getEffectiveHistory('s')).toEqual(before)
    expect(await store.sessions.audit('s')).toEqual(audit)
    expect(await store.listCompactions('s')).toEqual([])
    expect(phases()).toEqual(['started', 'stage', 'failed'])
    expect(heard.at(-1)).toMatchObject({ code: 'VETOED' })
    vi.restoreAllMocks()
  })

  it('receives what would be done, and allows it with any other result', async () => {
    const told: unknown[] = []
    const away = store.compactions.onBefore((about) => {
      told.push(about)
    })
    store.compactions.onBefore(() => 'no')
    const run = (await store.compactSession('s', config))!
    const [one] = run.compactions
    expect(told).toEqual([
      {
        sessionId: 's',
        runId: run.runId,
        trigger: 'manual',
        tokensBefore: run.tokensBefore,
        tokensAfter: run.tokensAfter,
        ...NO_IMAGES,
        compactions: [
          {
            id: one!.id,
            stage: 'truncate',
            rowsHidden: one!.rowsHidden,
            partsReplaced: 0,
            tokensAfter: one!.tokensAfter,
          },
        ],
      },
    ])
    away()
    away()
    await store.undoCompaction('s', run.runId)
    await store.compactSession('s', config)
    expect(told).toHaveLength(1)
  })

  it('is not asked when nothing would change, nor after one that vetoed', async () => {
    const second = vi.fn()
    store.compactions.onBefore(() => false)
    store.compactions.onBefore(second)
    await store.compactSession('s', { targetTokens: 1_000_000 })
    expect((await store.compactSession('s', config))!.reason).toBe('VETOED')
    expect(second).not.toHaveBeenCalled()
  })

  it('can veto a summary that was paid for: the cost is noted, the view is as it was', async () => {
    const away = store.compactions.onBefore(() => false)
    const before = await store.getEffectiveHistory('s')
    const run = await store.compactSession('s', { ...SUMMARIZE, summarizer: model('Short.') })
    expect(run!.reason).toBe('VETOED')
    expect(await store.getEffectiveHistory('s')).toEqual(before)
    expect(await store.listCompactions('s')).toMatchObject([
      { status: 'aborted', error: 'VETOED', cost: 0.01 },
    ])
    expect((await store.sessions.verify('s')).findings).toEqual([])
    away()
    expect((await store.compactSession('s', { ...SUMMARIZE, summarizer: model('Short.') }))!.compacted).toBe(
      true,
    )
  })

  it('can veto a preview, which can be applied later', async () => {
    const preview = await store.previewCompaction('s', config)
    const away = store.compactions.onBefore(() => false)
    expect((await store.compactSession('s', preview!))!.reason).toBe('VETOED')
    away()
    expect((await store.compactSession('s', preview!))!.compacted).toBe(true)
  })

  it('that never resolves is abandoned with the signal', async () => {
    store.compactions.onBefore(() => new Promise(() => undefined))
    const before = await store.getEffectiveHistory('s')
    expectFailure(
      await failureOf(() => store.compactSession('s', { ...config, signal: AbortSignal.timeout(20) })),
      'ABORTED',
    )
    expect(await store.getEffectiveHistory('s')).toEqual(before)
  })

  it('that compacts the same session is refused, not waited for', async () => {
    let inner: unknown
    store.compactions.onBefore(async () => {
      inner = await failureOf(() => store.compactSession('s', { targetTokens: 10 }))
    })
    expect((await store.compactSession('s', config))!.compacted).toBe(true)
    expectFailure(inner, 'COMPACTION_IN_PROGRESS')
  })
})
