import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { type NewMessage, openStore, type UndoIfFitsOptions } from '../../src/index.ts'
import { Store } from '../../src/store/store.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { ModelStorage } from '../support/model-storage.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'

type Step =
  | { readonly verb: 'compact'; readonly stage: Stage; readonly share: number }
  | { readonly verb: 'range'; readonly from: number; readonly length: number }
  | { readonly verb: 'hide' | 'undo'; readonly pick: number }
  | { readonly verb: 'append'; readonly turns: number }
const STAGES = ['enablePrune', 'enableDeduplicate', 'enableSummarize', 'enableTruncate'] as const
type Stage = (typeof STAGES)[number]

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    verb: fc.constant('compact' as const),
    stage: fc.constantFrom(...STAGES),
    share: fc.double({ min: 0.1, max: 0.9, noNaN: true }),
  }),
  fc.record({
    verb: fc.constant('range' as const),
    from: fc.integer({ min: 1, max: 30 }),
    length: fc.integer({ min: 1, max: 20 }),
  }),
  fc.record({ verb: fc.constantFrom('hide' as const, 'undo' as const), pick: fc.nat() }),
  fc.record({ verb: fc.constant('append' as const), turns: fc.integer({ min: 1, max: 3 }) }),
)

function turns(count: number): NewMessage[] {
  return Array.from({ length: count }, (_, turn) => [
    say('user', `go ${units(20)}`),
    call('c', 'read', { path: `src/${turn % 2}.ts` }),
    result('c', `${turn % 2} ${units(60)}`, 'read'),
    say('assistant', `done ${units(15)}`),
  ]).flat()
}

async function take(store: Store, one: Step): Promise<void> {
  const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined)
  if (one.verb === 'append') await store.append('s', turns(one.turns))
  if (one.verb === 'range') {
    const range = { from: one.from, to: one.from + one.length }
    await quietly(store.compactSession('s', { range, summary: 'In short.' }))
  }
  if (one.verb === 'compact') {
    const off = Object.fromEntries(STAGES.map((stage) => [stage, stage === one.stage]))
    const stats = (await store.getContextStats('s'))!
    await store.compactSession('s', {
      ...off,
      emergencyCut: false,
      targetTokens: Math.floor(one.share * stats.estimatedInputTokens),
      pruneProtectTokens: 50,
      pruneMinimumSavings: 0,
      deduplicateMinimumSavings: 0,
      keepRecentTokens: 60,
      summaryMaxTokens: 100,
    })
  }
  if (one.verb === 'hide') {
    const view = await store.getEffectiveHistory('s')
    await quietly(store.compactions.hide('s', [view[one.pick % view.length]!.id]))
  }
  if (one.verb === 'undo') {
    const compactions = await onceInForce(store)
    const target = compactions[one.pick % Math.max(1, compactions.length)]
    if (target !== undefined) await quietly(store.undoCompaction('s', target.id))
  }
}

/** The model keeps no attempts that were rejected, so only compactions that were in force once are counted. */
async function onceInForce(store: Store): ReturnType<Store['listCompactions']> {
  const all = await store.listCompactions('s')
  return all.filter(({ status }) => status === 'active' || status === 'undone')
}

const steps = fc.array(step, { minLength: 1, maxLength: 8 })
/** Of the tokens of the whole log how many the window has room for. */
const room = fc.double({ min: 0.1, max: 2.5, noNaN: true })

async function prepared(store: Store, done: readonly Step[], share: number): Promise<UndoIfFitsOptions> {
  await store.append('s', turns(6))
  for (const one of done) await take(store, one)
  const log = await store.getMessages('s')
  // A turn of this log takes some 150 tokens; what matters is that some of it fits and some does not.
  return { maxOutputTokens: Math.max(1, 128_000 - Math.ceil(share * 40 * log.length)) }
}

describe('undoIfFits, after any compactions', () => {
  test('never more than fits, as much as fits, and back again [F5-09]', async () => {
    let undone = 0
    let refused = 0
    await fc.assert(
      fc.asyncProperty(steps, room, async (done, share) => {
        const store = await openStore(':memory:', { estimator: 'neurolink' })
        const pending = await prepared(store, done, share)
        const before = await store.getEffectiveHistory('s')
        const standing = await store.listCompactions('s')
        const told = await store.undoCompaction('s', { ifFits: pending })
        const view = await store.getEffectiveHistory('s')
        const stats = (await store.getContextStats('s', undefined, undefined, pending))!

        expect(stats).toEqual(told.after)
        expect(told.changed).toBe(told.compactionIds.length > 0)
        if (told.changed) {
          undone++
          expect(stats.estimatedInputTokens).toBeLessThanOrEqual(told.limitTokens)
          expect(await store.needsCompaction('s', undefined, undefined, pending)).toBe(false)
        } else expect(view).toEqual(before)
        // Whole compactions, newest first, and none that was made by hand.
        const order = standing.map(({ id }) => id)
        const places = told.compactionIds.map((id) => order.indexOf(id))
        expect(places).toEqual([...places].sort((a, b) => b - a))
        for (const { id, kind, status } of standing) {
          const now = (await store.compactions.get('s', id)).status
          expect(now).toBe(told.compactionIds.includes(id) ? 'undone' : status)
          if (kind === 'manual') expect(told.compactionIds).not.toContain(id)
        }
        expect((await store.sessions.verify('s')).findings).toEqual([])
        await expectSessionAccepted(store, 's', 's', providerOfStep(view.length))

        if (told.next !== undefined) {
          refused++
          await store.undoCompaction('s', told.next.compactionId)
          const more = (await store.getContextStats('s', undefined, undefined, pending))!
          expect(more.estimatedInputTokens).toBe(told.next.estimatedInputTokens)
          expect(more.estimatedInputTokens > told.limitTokens || more.shouldCompact).toBe(true)
          await store.redoCompaction('s', told.next.compactionId)
        } else if (told.changed) {
          // Everything that may go and can is gone.
          const left = (await store.listCompactions('s')).filter(({ status }) => status === 'active')
          for (const { id, kind } of left) if (kind !== 'manual') expect(told.blocked).toContain(id)
        }
        for (const id of [...told.compactionIds].reverse()) await store.redoCompaction('s', id)
        expect(await store.getEffectiveHistory('s')).toEqual(before)
        await store.close()
      }),
      { numRuns: 120 },
    )
    // Enough of both kinds that the properties above were looked at; some 25 and 60 are usual.
    expect(undone).toBeGreaterThan(5)
    expect(refused).toBeGreaterThan(2)
  }, 120_000)

  test('as the pure model does it', async () => {
    const estimators = {
      standard: neurolinkEstimator,
      byName: new Map([[neurolinkEstimator.name, neurolinkEstimator]]),
    }
    await fc.assert(
      fc.asyncProperty(steps, room, async (done, share) => {
        const stores = [
          await openStore(':memory:', { estimator: 'neurolink' }),
          new Store(new ModelStorage(), { estimators }),
        ]
        const answers: unknown[] = []
        for (const store of stores) {
          const pending = await prepared(store, done, share)
          const order = (await onceInForce(store)).map(({ id }) => id)
          const told = await store.undoCompaction('s', { ifFits: pending })
          const view = await store.getEffectiveHistory('s')
          answers.push({
            ...told,
            compactionIds: told.compactionIds.map((id) => order.indexOf(id)),
            blocked: told.blocked.map((id) => order.indexOf(id)),
            next: told.next && [order.indexOf(told.next.compactionId), told.next.estimatedInputTokens],
            view: view.map(({ position, kind, content }) => [position ?? kind, content]),
          })
        }
        expect(answers[0]).toEqual(answers[1])
      }),
      { numRuns: 40 },
    )
  }, 120_000)
})

describe('another model is chosen', () => {
  const large = { provider: 'anthropic', model: 'claude-sonnet-4-20250514' }
  const small = { provider: 'openai', model: 'gpt-4' }

  test('from 200,000 to 8,192 and back [F5-08 F5-09]', async () => {
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    // Some 40,000 tokens: a fifth of the one window, five of the other.
    for (let turn = 0; turn < 60; turn++)
      await store.append('s', [
        say('user', `${turn} ${units(50)}`),
        call(`c${turn}`, 'read', { path: `src/${turn}.ts` }),
        result(`c${turn}`, units(400), 'read'),
        say('assistant', units(60)),
      ])
    const original = await store.getEffectiveHistory('s')
    expect(await store.needsCompaction('s', large.provider, large.model)).toBe(false)
    expect(await store.needsCompaction('s', small.provider, small.model)).toBe(true)

    const run = await store.compactSession('s', small)
    expect(run).toMatchObject({ compacted: true, fits: true, reachedTarget: true })
    const inSmall = (await store.getContextStats('s', small.provider, small.model))!
    expect(inSmall.withinBudget).toBe(true)
    const compacted = await store.getEffectiveHistory('s')

    // For the small one nothing may come back that would not fit.
    const none = await store.undoCompaction('s', { ifFits: small })
    expect(none.after.estimatedInputTokens).toBeLessThanOrEqual(none.limitTokens)
    expect(none.after.shouldCompact).toBe(false)
    for (const id of [...none.compactionIds].reverse()) await store.redoCompaction('s', id)
    expect(await store.getEffectiveHistory('s')).toEqual(compacted)

    const back = await store.undoCompaction('s', { ifFits: large })
    expect(back.after).toMatchObject({ withinBudget: true, shouldCompact: false, ...large })
    expect(back).not.toHaveProperty('next')
    expect(await store.getEffectiveHistory('s')).toEqual(original)
    await store.close()
  })
})
