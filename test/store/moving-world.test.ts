import { describe, expect, it } from 'vitest'
import { slidingWindow } from '../../src/compat/arrays/index.ts'
import { openStore, type Store, type Summarizer, type SummaryRequest } from '../../src/index.ts'
import { chat, say } from '../support/conversation.ts'

/* What happens while a summary is being asked for: the world moves, and nothing is lost. */

/** A summarizer that does something else first, as the world does while a model thinks. */
function summarizer(
  meanwhile: (request: SummaryRequest) => unknown = () => undefined,
  text = 'what happened',
): Summarizer {
  return {
    name: 'spy',
    usesModel: true,
    async summarize(request) {
      await meanwhile(request)
      return {
        text,
        model: 'm-1',
        promptVersion: 'p1',
        usage: { inputTokens: 10, outputTokens: 2 },
        cost: 0.5,
      }
    },
  }
}

const ONLY_SUMMARY = {
  enablePrune: false,
  enableDeduplicate: false,
  enableTruncate: false,
  targetTokens: 200,
  keepRecentTokens: 80,
}

/** Ten exchanges of 20 units a message: 20 × (20 + 4) × … enough to be far over 200 tokens. */
async function session(): Promise<Store> {
  const store = await openStore(':memory:')
  await store.append('s', chat(10, 20))
  return store
}

async function viewOf(store: Store): Promise<string> {
  return JSON.stringify(await store.getEffectiveHistory('s'))
}

async function statuses(store: Store): Promise<string[]> {
  return (await store.listCompactions('s')).map(({ kind, status }) => `${kind} ${status}`)
}

describe('while a summary is requested', () => {
  it('appended messages survive and stay visible', async () => {
    const store = await session()
    const result = await store.compactSession('s', {
      ...ONLY_SUMMARY,
      summarizer: summarizer(() => store.append('s', [say('user', 'meanwhile')])),
    })
    expect(result!.stagesUsed).toEqual(['summarize'])
    const view = await store.getEffectiveHistory('s')
    expect(view[0]!.kind).toBe('summary')
    expect(view.at(-1)!.content).toBe('meanwhile')
    expect(await statuses(store)).toEqual(['condense active'])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it.each([
    ['hiding', async (store: Store) => store.compactions.hide('s', await idsAt(store, 3, 4))],
    ['pinning', async (store: Store) => store.messages.pin('s', await idsAt(store, 3))],
  ])(
    '%s a message of the range makes the plan stale, and the attempt is on record',
    async (_name, change) => {
      const store = await session()
      let changed = ''
      const run = store.compactSession('s', {
        ...ONLY_SUMMARY,
        summarizer: summarizer(async () => {
          await change(store)
          changed = await viewOf(store)
        }),
      })
      await expect(run).rejects.toMatchObject({ code: 'STALE_PLAN' })
      expect(await viewOf(store)).toBe(changed)
      const attempt = (await store.listCompactions('s')).find(({ kind }) => kind === 'condense')!
      expect(attempt).toMatchObject({
        status: 'aborted',
        error: 'STALE_PLAN',
        summarizer: 'spy',
        cost: 0.5,
        model: 'm-1',
      })
      // Nothing stays claimed: the next run goes through at once.
      const next = await store.compactSession('s', { ...ONLY_SUMMARY, summarizer: summarizer(), waitMs: 0 })
      expect(next!.compacted).toBe(true)
      expect((await store.sessions.verify('s')).findings).toEqual([])
    },
  )

  it('a change outside the range is no reason to refuse', async () => {
    const store = await session()
    const result = await store.compactSession('s', {
      ...ONLY_SUMMARY,
      summarizer: summarizer(async () => store.messages.pin('s', await idsAt(store, 20))),
    })
    expect(result!.compacted).toBe(true)
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('a purge makes it stale, and the new session of that name is untouched', async () => {
    const store = await session()
    const run = store.compactSession('s', {
      ...ONLY_SUMMARY,
      summarizer: summarizer(async () => {
        await store.sessions.purge('s')
        await store.append('s', [say('user', 'another session')])
      }),
    })
    await expect(run).rejects.toMatchObject({ code: 'STALE_PLAN' })
    expect(await store.getEffectiveHistory('s')).toHaveLength(1)
  })

  const window = slidingWindow({ last: 3, summarize: true })
  it.each([
    ['switches', ONLY_SUMMARY],
    ['stages by name', { stages: ['prune', { stage: 'composite', stages: ['summarize'] }] }],
    ['a stage', { stages: [window], enablePrune: false }],
  ] as const)(
    'the same request with %s shares the run; the summarizer is called once',
    async (_, options) => {
      const store = await session()
      let asked = 0
      const writer = summarizer(() => void asked++)
      const request = () => store.compactSession('s', { targetTokens: 200, ...options, summarizer: writer })
      const [a, b] = await Promise.all([request(), request()])
      expect(asked).toBe(1)
      expect(a!.runId).toBe(b!.runId)
    },
  )

  it.each([
    ['another summarizer', () => ({ summarizer: summarizer() })],
    ['another stage', () => ({ stages: [slidingWindow({ last: 3, summarize: true })] })],
    ['a signal', () => ({ signal: new AbortController().signal })],
  ])('a request with %s has a run of its own', async (_, options) => {
    const store = await session()
    const request = (summary: Summarizer) =>
      store.compactSession('s', { ...ONLY_SUMMARY, summarizer: summary, ...options() })
    const writer = summarizer()
    const [a, b] = await Promise.all([request(writer), request(writer)])
    expect(a!.runId).not.toBe(b!.runId)
  })

  it('an abort ends the run, changes nothing and is on record', async () => {
    const store = await session()
    const before = await viewOf(store)
    const controller = new AbortController()
    const run = store.compactSession('s', {
      ...ONLY_SUMMARY,
      signal: controller.signal,
      summarizer: summarizer(() => new Promise(() => setTimeout(() => controller.abort(), 5))),
    })
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' })
    expect(await viewOf(store)).toBe(before)
    expect(await statuses(store)).toEqual(['condense aborted'])
  })
})

describe('a summary that does not help', () => {
  it.each([
    [
      'throws',
      { ...summarizer(), summarize: () => Promise.reject(new TypeError('secret words')) },
      'failed',
      'TypeError',
    ],
    ['answers nothing', summarizer(undefined, '  '), 'failed', 'EMPTY_SUMMARY'],
    ['is no smaller', summarizer(undefined, 'x'.repeat(20_000)), 'rejected', 'SUMMARY_NOT_SMALLER'],
  ] as const)('%s: nothing changes, and the audit knows', async (_name, one, status, error) => {
    const store = await session()
    const before = await viewOf(store)
    const result = await store.compactSession('s', { ...ONLY_SUMMARY, summarizer: one as Summarizer })
    expect(result).toMatchObject({
      compacted: false,
      stagesUsed: [],
      reason: 'SUMMARY_FAILED',
      failed: [{ status, error }],
    })
    expect(await viewOf(store)).toBe(before)
    expect(await statuses(store)).toEqual([`condense ${status}`])
    expect(JSON.stringify(await store.sessions.audit('s'))).not.toContain('secret')
  })

  it('falls through to truncation', async () => {
    const store = await session()
    const failing = { ...summarizer(), summarize: () => Promise.reject(new Error('no')) }
    const result = await store.compactSession('s', {
      ...ONLY_SUMMARY,
      enableTruncate: true,
      summarizer: failing,
    })
    expect(result!.stagesUsed).toEqual(['truncate'])
  })

  it('is replaced by the offline summarizer when that is allowed', async () => {
    const store = await session()
    const failing = { ...summarizer(), summarize: () => Promise.reject(new Error('no')) }
    const result = await store.compactSession('s', {
      ...ONLY_SUMMARY,
      offlineFallback: true,
      summarizer: failing,
    })
    expect(result!.stagesUsed).toEqual(['summarize'])
    const compactions = await store.listCompactions('s')
    expect(compactions.map(({ status, summarizer: by }) => `${status} ${by}`)).toEqual([
      'failed spy',
      'active extractive',
    ])
  })

  it('that never comes is abandoned after its time', async () => {
    const store = await session()
    const hanging = summarizer(() => new Promise(() => undefined))
    const result = await store.compactSession('s', {
      ...ONLY_SUMMARY,
      summarizer: hanging,
      summaryTimeoutMs: 20,
    })
    expect(result!.failed).toMatchObject([{ status: 'failed', error: 'SUMMARY_TIMEOUT' }])
  })
})

describe('a preview', () => {
  it('of a model summary shows what would be requested, calls no model and writes nothing', async () => {
    const store = await session()
    let asked = 0
    const config = { ...ONLY_SUMMARY, summarizer: summarizer(() => void asked++) }
    const before = await store.sessions.get('s')
    const preview = await store.previewCompaction('s', config)
    expect(asked).toBe(0)
    expect(preview!.summaryPending).toHaveLength(1)
    expect(preview!.summaryPending![0]!.messages.length).toBeGreaterThan(10)
    expect(await store.sessions.get('s')).toEqual(before)

    const result = await store.compactSession('s', preview!)
    expect(asked).toBe(1)
    expect(result!.tokensAfter).toBeLessThanOrEqual(preview!.tokensAfter)
  })

  it('with the summary asked for is applied with that very text, and its cost is on record either way', async () => {
    const store = await session()
    let asked = 0
    const config = { ...ONLY_SUMMARY, summarizer: summarizer(() => void asked++, 'asked once') }
    const preview = await store.previewCompaction('s', { ...config, summarize: true })
    expect(await store.listCompactions('s')).toMatchObject([
      { status: 'aborted', error: 'PREVIEWED', cost: 0.5 },
    ])

    const result = await store.compactSession('s', preview!)
    expect(asked).toBe(1)
    expect(result!.messages).toEqual(preview!.messages)
    expect(await store.listCompactions('s')).toMatchObject([{ status: 'active', cost: 0.5 }])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('is applied after an append, refused after a change, and never applied twice', async () => {
    const store = await session()
    const preview = (await store.previewCompaction('s', ONLY_SUMMARY))!
    await store.append('s', [say('user', 'later')])
    const result = await store.compactSession('s', preview)
    expect(result!.messages.slice(0, -1)).toEqual(preview.messages)
    await expect(store.compactSession('s', preview)).rejects.toMatchObject({ code: 'STALE_PLAN' })

    await store.undoCompaction('s', result!.runId)
    const other = (await store.previewCompaction('s', ONLY_SUMMARY))!
    await store.compactions.hide('s', await idsAt(store, 3, 4))
    await expect(store.compactSession('s', other)).rejects.toMatchObject({ code: 'STALE_PLAN' })
  })
})

async function idsAt(store: Store, ...positions: number[]): Promise<string[]> {
  const rows = await store.getMessages('s')
  return positions.map((position) => rows.find((row) => row.position === position)!.id)
}

describe('what an adversary tried', () => {
  it('a preview applied, undone and applied again makes new compactions, and nothing is there twice', async () => {
    const store = await session()
    const preview = (await store.previewCompaction('s', { targetTokens: 250, keepRecentTokens: 80 }))!
    const first = (await store.compactSession('s', preview))!
    await store.undoCompaction('s', first.runId)
    const second = (await store.compactSession('s', preview))!
    expect(second.runId).not.toBe(first.runId)
    expect(second.tokensAfter).toBe(first.tokensAfter)
    expect((await store.listCompactions('s', { runId: second.runId })).map(({ status }) => status)).toEqual(
      first.compactions.map(() => 'active'),
    )
    expect((await store.sessions.verify('s', { repair: true })).findings).toEqual([])
    await store.undoCompaction('s', second.runId)
    expect(await store.getEffectiveHistory('s')).toHaveLength(20)
  })

  it('an overflow continues without a model while the same process calls one', async () => {
    const store = await session()
    let finish = (): void => undefined
    const slow = summarizer(() => new Promise<void>((resolve) => (finish = resolve)))
    const background = store.compactSession('s', { ...ONLY_SUMMARY, summarizer: slow })
    await new Promise((resolve) => setTimeout(resolve, 10))
    const overflow = await store.compactSession('s', {
      targetTokens: 300,
      summarizer: slow,
      trigger: 'overflow',
    })
    expect(overflow!.stagesUsed).toEqual(['truncate'])
    finish()
    await expect(background).rejects.toMatchObject({ code: 'STALE_PLAN' })
  })

  it('an overflow calls the model when no other run is active, as any run does', async () => {
    const store = await session()
    const config = { ...ONLY_SUMMARY, summarizer: summarizer(), trigger: 'overflow' as const }
    const overflow = await store.compactSession('s', config)
    expect(overflow!.stagesUsed).toEqual(['summarize'])
  })

  it('a run that must continue without a model calls none, also when it could', async () => {
    const store = await session()
    const unasked = summarizer(() => expect.unreachable())
    const result = await store.compactSession('s', {
      targetTokens: 300,
      summarizer: unasked,
      withoutModel: true,
    })
    expect(result!.stagesUsed).toEqual(['truncate'])
  })

  it('a run that may not wait longer continues without a model, beside one of the same process', async () => {
    const store = await session()
    let finish = (): void => undefined
    const slow = summarizer(() => new Promise<void>((resolve) => (finish = resolve)))
    const first = store.compactSession('s', { ...ONLY_SUMMARY, summarizer: slow })
    await new Promise((resolve) => setTimeout(resolve, 10))
    const config = { targetTokens: 300, summarizer: slow, whenBusy: 'withoutModel' as const, waitMs: 20 }
    const second = await store.compactSession('s', config)
    expect(second!.stagesUsed).toEqual(['truncate'])
    finish()
    await expect(first).rejects.toMatchObject({ code: 'STALE_PLAN' })
  })

  it('and beside one of another process', async () => {
    const { default: Database } = await import('better-sqlite3')
    const database = new Database(':memory:')
    const store = await openStore(database)
    await store.append('s', chat(10, 20))
    database
      .prepare('update undertext_sessions set lease_run = ?, lease_holder = ?, lease_expires = ?')
      .run('other', 'another-host/1/2', Date.now() + 60_000)
    const unasked = summarizer(() => expect.unreachable())
    const config = { targetTokens: 300, summarizer: unasked, waitMs: 20 }
    const busy = await store.compactSession('s', { ...config, whenBusy: 'withoutModel' })
    expect(busy!.stagesUsed).toEqual(['truncate'])
    await expect(store.compactSession('s', config)).rejects.toMatchObject({ code: 'COMPACTION_IN_PROGRESS' })
  })

  it('a lease of a run that is not alive in this process is worth nothing', async () => {
    const store = await session()
    const { default: Database } = await import('better-sqlite3')
    const database = new Database(':memory:')
    const own = await openStore(database)
    await own.append('s', chat(10, 20))
    const { LEASE_HOLDER } = await import('../../src/storage/process.ts')
    database
      .prepare('update undertext_sessions set lease_run = ?, lease_holder = ?, lease_expires = ?')
      .run('dead', LEASE_HOLDER, Date.now() + 60_000)
    const result = await own.compactSession('s', { ...ONLY_SUMMARY, summarizer: summarizer(), waitMs: 0 })
    expect(result!.compacted).toBe(true)
    await store.close()
  })

  it('a signal ends a wait for another process at once', async () => {
    const { default: Database } = await import('better-sqlite3')
    const database = new Database(':memory:')
    const store = await openStore(database)
    await store.append('s', chat(10, 20))
    database
      .prepare('update undertext_sessions set lease_run = ?, lease_holder = ?, lease_expires = ?')
      .run('other', 'another-host/1/2', Date.now() + 60_000)
    const signal = AbortSignal.timeout(20)
    const before = Date.now()
    await expect(store.compactSession('s', { ...ONLY_SUMMARY, signal })).rejects.toMatchObject({
      code: 'ABORTED',
    })
    expect(Date.now() - before).toBeLessThan(5_000)
  })

  it('a summarizer that compacts its own session receives an error', async () => {
    const store = await session()
    let inner: unknown
    await store.compactSession('s', {
      ...ONLY_SUMMARY,
      summarizer: summarizer(async () => {
        inner = await store.compactSession('s').catch((error: unknown) => error)
      }),
    })
    expect(inner).toMatchObject({ code: 'COMPACTION_IN_PROGRESS' })
  })

  it('a plan made before the session was counted anew is stale', async () => {
    const store = await openStore(':memory:', {
      estimators: [
        {
          name: 'letters',
          measureText: (text) => text.length,
          mediaTokens: 1,
          toTokens: (units) => units,
          tokensPerMessage: 0,
          tokensPerConversation: 0,
        },
      ],
    })
    await store.append('s', chat(10, 20))
    const preview = (await store.previewCompaction('s', ONLY_SUMMARY))!
    await store.sessions.reestimate('s', 'letters')
    await expect(store.compactSession('s', preview)).rejects.toMatchObject({ code: 'STALE_PLAN' })
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('strange words of a summarizer about itself are not kept, and the run is done', async () => {
    const store = await session()
    const strange = {
      ...summarizer(),
      summarize: () => ({
        text: 'short',
        model: { a: 1 },
        usage: { inputTokens: 'many', raw: 'x' },
        cost: 'abc',
      }),
    }
    const result = await store.compactSession('s', { ...ONLY_SUMMARY, summarizer: strange as never })
    expect(result!.compacted).toBe(true)
    const [compaction] = await store.listCompactions('s')
    expect([compaction!.model, compaction!.usage, compaction!.cost]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('a preview with a summary still to come calls no model when it is stale', async () => {
    const store = await session()
    let asked = 0
    const preview = (await store.previewCompaction('s', {
      ...ONLY_SUMMARY,
      summarizer: summarizer(() => void asked++),
    }))!
    await store.compactions.hide('s', await idsAt(store, 3, 4))
    await expect(store.compactSession('s', preview)).rejects.toMatchObject({ code: 'STALE_PLAN' })
    expect(asked).toBe(0)
  })

  it('redoes a run with a model summary in the order it was done', async () => {
    const store = await session()
    const result = (await store.compactSession('s', {
      ...ONLY_SUMMARY,
      enableTruncate: true,
      targetTokens: 120,
      summarizer: summarizer(),
    }))!
    const after = await viewOf(store)
    await store.undoCompaction('s', result.runId)
    await store.redoCompaction('s', result.runId)
    expect(await viewOf(store)).toBe(after)
  })

  it('an append of very many messages is one append', async () => {
    const store = await openStore(':memory:')
    const { position } = await store.append(
      's',
      Array.from({ length: 200_000 }, () => say('user', 'x')),
    )
    expect(position).toBe(200_000)
  })
})
