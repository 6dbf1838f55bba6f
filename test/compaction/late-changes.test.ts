import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { afterTurn } from '../../src/compat/index.ts'
import {
  type CompactOptions,
  type NewMessage,
  openStore,
  type Part,
  type Store,
  type ViewMessage,
} from '../../src/index.ts'
import { result, say, units } from '../support/conversation.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'

/** Two models of one provider, with windows of one size: the first checks what precedes its reasoning. */
const CHECKS = { provider: 'anthropic', model: 'claude-opus-5-5' } as const
const OLDER = { provider: 'anthropic', model: 'claude-opus-5' } as const

const thought = (size: number, signature = 'c2ln'): Part => ({
  type: 'reasoning',
  text: units(size, 'r'),
  providerOptions: { anthropic: { signature } },
})
const searching = (id: string, ...before: Part[]): NewMessage => ({
  role: 'assistant',
  content: [...before, { type: 'tool-call', toolCallId: id, toolName: 'search', input: {} }],
})

/** Four turns with a tool each. A request, an answer and reasoning have 10 units, a call 2 + 1, a result 200. */
const TURNS = [1, 2, 3, 4].flatMap((turn) => [
  say('user', units(10)),
  searching(`c${turn}`, thought(10)),
  result(`c${turn}`, units(200)),
  say('assistant', units(10)),
])
const PRUNE: CompactOptions = { stages: ['prune'], pruneProtectTokens: 0, pruneMinimumSavings: 0 }

async function withStore<T>(messages: readonly NewMessage[], use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  try {
    await store.append('s', messages)
    return await use(store)
  } finally {
    await store.close()
  }
}

/** The positions that a preview changes. */
async function changed(store: Store, options: CompactOptions): Promise<(number | undefined)[]> {
  const { messages } = (await store.previewCompaction('s', options))!
  return messages.filter(({ replacedParts }) => replacedParts !== undefined).map(({ position }) => position)
}

describe('pruning for a model that checks what precedes its reasoning', () => {
  it('begins as late as it reaches the target', async () => {
    await withStore(TURNS, async (store) => {
      // 932 units × 1.23 × 1.15 + 16 messages × 4 + 24 = 1,407. A placeholder has 6 units: with two of them 858 are left.
      const options = { ...PRUNE, targetTokens: 900 }
      expect(await changed(store, { ...options, ...OLDER })).toEqual([3, 7, 11, 15])
      expect(await changed(store, { ...options, ...CHECKS })).toEqual([11, 15])
      const run = await store.compactSession('s', { ...options, ...CHECKS })
      // Only that of the fourth turn follows: 10 units × 1.23 × 1.15.
      expect(run).toMatchObject({
        tokensAfter: 858,
        reachedTarget: true,
        invalidatedReasoning: { blocks: 1, tokens: 15 },
      })
    })
  })

  it('applies its whole rule where a part of it does not reach the target', async () => {
    await withStore(TURNS, async (store) => {
      const options = { ...PRUNE, targetTokens: 300 }
      expect(await changed(store, { ...options, ...CHECKS })).toEqual([3, 7, 11, 15])
    })
  })

  it('applies its whole rule where that invalidates no reasoning', async () => {
    const withoutReasoning = TURNS.map((message, at) =>
      at % 4 === 1 ? searching(`c${(at + 3) / 4}`) : message,
    )
    await withStore(withoutReasoning, async (store) => {
      expect(await changed(store, { ...PRUNE, ...CHECKS, targetTokens: 900 })).toEqual([3, 7, 11, 15])
    })
  })

  it('saves at least what pruning must save', async () => {
    await withStore(TURNS, async (store) => {
      // One result saves 275 tokens and two 549: the target alone needs one.
      const options = { ...PRUNE, ...CHECKS, targetTokens: 1_200 }
      expect(await changed(store, options)).toEqual([15])
      expect(await changed(store, { ...options, pruneMinimumSavings: 276 })).toEqual([11, 15])
    })
  })
})

it('a run at the end of a turn spares the tool loop: within it nothing runs, and what the next turn writes stays valid', async () => {
  const store = await openStore(':memory:', {
    estimator: 'neurolink',
    env: false,
    // The history of 1,407 tokens is above the threshold of 80 %.
    contextWindows: { anthropic: 1_700 },
  })
  const turn = { ...CHECKS, maxOutputTokens: 100 }
  try {
    await store.append('s', [...TURNS, say('user', units(10))])
    const within = await afterTurn(store, 's', {
      ...turn,
      messages: [searching('c5', thought(10))],
      stopReason: 'tool_use',
    })
    expect(within.run).toBeNull()
    await store.append('s', [result('c5', units(10))])
    const end = await afterTurn(store, 's', {
      ...turn,
      messages: [say('assistant', units(10))],
      stopReason: 'end_turn',
    })
    expect(end.run!.compacted).toBe(true)
    const request = await store.prepareRequest('s', { ...turn, prompt: 'And then?' })
    await store.recordResponse('s', { request, messages: [searching('c6', thought(12, 'new'))] })
    const { messages, compacted } = await store.prepareRequest('s', {
      ...turn,
      prompt: [result('c6', units(10))],
    })
    expect(compacted).toBe(false)
    const kept = messages.flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.filter((part) => part.type === 'reasoning'),
    )
    expect(kept).toEqual([thought(12, 'new')])
  } finally {
    await store.close()
  }
})

/** Blocks of reasoning, and their units, in the messages of a view that stay and are after an index of the view before. */
function after(before: readonly ViewMessage[], stay: readonly ViewMessage[], index: number) {
  const ids = new Set(before.slice(index).map(({ id }) => id))
  const texts = stay
    .filter(({ id }) => ids.has(id))
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))
  return { blocks: texts.length, units: texts.reduce((sum, text) => sum + text.length / 4, 0) }
}

const size = fc.integer({ min: 1, max: 300 })
const turn = fc.record({
  asked: size,
  steps: fc.array(fc.record({ thought: fc.option(size), result: size, file: fc.option(fc.nat(2)) }), {
    maxLength: 5,
  }),
  answered: fc.option(size),
})
const turns = fc.array(turn, { minLength: 1, maxLength: 8 })

function conversation(all: readonly (typeof turn extends fc.Arbitrary<infer T> ? T : never)[]): NewMessage[] {
  let calls = 0
  return all.flatMap(({ asked, steps, answered }) => [
    say('user', units(asked)),
    ...steps.flatMap(({ thought: thinks, result: length, file }): NewMessage[] => {
      calls += 1
      const id = `c${calls}`
      const reads = file === null ? {} : { path: `f${file}.ts` }
      const call: Part = {
        type: 'tool-call',
        toolCallId: id,
        toolName: file === null ? 'search' : 'read_file',
        input: reads,
      }
      const before = thinks === null ? [] : [thought(thinks)]
      return [
        { role: 'assistant', content: [...before, call] },
        result(id, units(file === null ? length : 100, 'x')),
      ]
    }),
    ...(answered === null ? [] : [say('assistant', units(answered))]),
  ])
}

it('a run for a model that checks its reasoning makes as much room as is required, invalidates no more of it, and hides no other row', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        turns,
        share: fc.double({ min: 0.1, max: 1, noNaN: true }),
        pruneProtectTokens: fc.integer({ min: 0, max: 600 }),
        pruneMinimumSavings: fc.integer({ min: 0, max: 300 }),
        trigger: fc.constantFrom('auto' as const, 'manual' as const),
        pin: fc.nat(),
      }),
      async ({ turns: all, share, pin, ...options }) => {
        await withStore(conversation(all), async (store) => {
          const before = await store.getEffectiveHistory('s')
          await expectSessionAccepted(store, 's', 's', providerOfStep(before.length))
          await store.messages.pin('s', [before[pin % before.length]!.id])
          const { tokensBefore } = (await store.previewCompaction('s', { ...OLDER, targetTokens: 1 }))!
          const given = { ...options, targetTokens: Math.floor(tokensBefore * share) }
          const older = (await store.previewCompaction('s', { ...given, ...OLDER }))!
          const checks = (await store.previewCompaction('s', { ...given, ...CHECKS }))!
          expect(checks.reachedTarget).toBe(older.reachedTarget)
          expect(checks.reason).toBe(older.reason)
          expect(checks.stagesUsed).toEqual(older.stagesUsed)
          const hidden = (preview: typeof older) => preview.compactions.map(({ hides }) => hides)
          expect(hidden(checks)).toEqual(hidden(older))
          if (older.firstChanged === undefined) return
          expect(checks.firstChanged!.index).toBeGreaterThanOrEqual(older.firstChanged.index)
          const lost = after(before, older.messages, older.firstChanged.index)
          expect(checks.invalidatedReasoning!.blocks).toBeLessThanOrEqual(lost.blocks)
          expect(checks.invalidatedReasoning!.tokens).toBeLessThanOrEqual(Math.ceil(lost.units * 1.23 * 1.15))
          // Exactly what follows its own first change.
          const own = after(before, checks.messages, checks.firstChanged!.index)
          expect(checks.invalidatedReasoning!.blocks).toBe(own.blocks)
        })
      },
    ),
    { numRuns: 40 },
  )
}, 60_000)
