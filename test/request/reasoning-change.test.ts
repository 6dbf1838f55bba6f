import { describe, expect, it } from 'vitest'
import { isUndertextError, type NewMessage, openStore, type Part, type Store } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { randomFrom } from '../support/random.ts'

/** A model that checks what precedes its reasoning, and one that does not. */
const CHECKS = { provider: 'anthropic', model: 'claude-opus-5-5' } as const
const OLDER = { provider: 'anthropic', model: 'claude-opus-5' } as const

const thought = (signature: string, size = 10): Part => ({
  type: 'reasoning',
  text: units(size),
  providerOptions: { anthropic: { signature } },
})
const answer = (...content: Part[]): NewMessage => ({ role: 'assistant', content })

async function opened<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** A question and a signed answer, recorded. */
async function exchange(store: Store, signature: string, model: object = CHECKS): Promise<void> {
  const request = await store.prepareRequest('s', { ...model, auto: false, prompt: `Is it ${signature}?` })
  const messages = [answer(thought(signature), { type: 'text', text: units(10) })]
  await store.recordResponse('s', { request, messages, auto: false })
}

// 10 units × 1.23 × 1.15 = 14.1; 20 units: 28.3.
const ONE = { blocks: 1, tokens: 15 }
const TWO = { blocks: 2, tokens: 29 }
const THREE = { blocks: 3, tokens: 43 }
const NONE = { blocks: 0, tokens: 0 }

describe('for a model that checks what precedes its reasoning', () => {
  it('an undo and a redo report the reasoning that they make valid again, and what was written meanwhile and is not sent any more', async () => {
    await opened(async (store) => {
      const events: object[] = []
      store.on('compaction', (event) => events.push(event))
      for (const signature of ['a', 'b', 'c']) await exchange(store, signature)
      const run = await store.compactSession('s', { ...CHECKS, range: { from: 1, to: 2 }, summary: 'A.' })
      expect(run!.invalidatedReasoning).toEqual(TWO)
      await exchange(store, 'd')
      // The summarized answer shows again, and the two after it.
      expect(await store.undoCompaction('s', run!.runId)).toMatchObject({
        invalidatedReasoning: ONE,
        restoredReasoning: THREE,
      })
      expect(await store.redoCompaction('s', run!.runId)).toMatchObject({
        invalidatedReasoning: TWO,
        restoredReasoning: ONE,
      })
      expect(await store.redoCompaction('s', run!.runId)).not.toHaveProperty('restoredReasoning')
      expect(events).toContainEqual(
        expect.objectContaining({ phase: 'completed', invalidatedReasoning: TWO }),
      )
      expect(events).toContainEqual(
        expect.objectContaining({ phase: 'undone', invalidatedReasoning: ONE, restoredReasoning: THREE }),
      )
    })
  })

  it('a rewind reports what its undo of later compactions restores, and not what it hides', async () => {
    await opened(async (store) => {
      for (const signature of ['a', 'b', 'c']) await exchange(store, signature)
      await store.compactSession('s', { ...CHECKS, range: { from: 1, to: 2 }, summary: 'A.' })
      await exchange(store, 'd')
      const messages = await store.getMessages('s')
      const third = messages.find(({ position }) => position === 5)!
      // The first two answers are sent as they were; the third and the fourth are hidden.
      expect(await store.rewind('s', { from: { beforeMessage: third.id } })).toMatchObject({
        rowsHidden: 4,
        invalidatedReasoning: NONE,
        restoredReasoning: TWO,
      })
    })
  })

  it('hiding messages reports what follows them', async () => {
    await opened(async (store) => {
      for (const signature of ['a', 'b', 'c']) await exchange(store, signature)
      const asked = (await store.getMessages('s')).find(({ position }) => position === 1)!
      expect(await store.compactions.hide('s', [asked.id])).toMatchObject({
        kind: 'manual',
        invalidatedReasoning: THREE,
        restoredReasoning: NONE,
      })
    })
  })
})

it('nothing is reported for other models', async () => {
  await opened(async (store) => {
    for (const signature of ['a', 'b', 'c']) await exchange(store, signature, OLDER)
    const run = await store.compactSession('s', { ...OLDER, range: { from: 1, to: 2 }, summary: 'A.' })
    for (const outcome of [
      run,
      await store.undoCompaction('s', run!.runId),
      await store.redoCompaction('s', run!.runId),
    ]) {
      expect(outcome).not.toHaveProperty('invalidatedReasoning')
      expect(outcome).not.toHaveProperty('restoredReasoning')
    }
  })
})

/** The signatures in the next request, and those of the view up to a position. */
async function signatures(store: Store, until = Number.POSITIVE_INFINITY) {
  const in_ = (messages: readonly { readonly content: NewMessage['content'] }[]): string[] =>
    messages.flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((part) =>
            part.type === 'reasoning' ? [String(part.providerOptions?.anthropic?.signature)] : [],
          ),
    )
  const view = await store.getEffectiveHistory('s')
  const { messages } = await store.prepareRequest('s', { ...CHECKS, auto: false })
  return {
    position: (await store.sessions.get('s')).messageCount,
    sent: in_(messages),
    shown: in_(view.filter(({ position = 0 }) => position <= until)),
  }
}

const REFUSED = [
  'HAS_ACTIVE_DEPENDENTS',
  'INPUT_NOT_VISIBLE',
  'BRANCH_MOVED',
  'ILLEGAL_BOUNDARY',
  'STALE_PLAN',
] as const

/** Random turns with tools, and random changes between them. */
async function life(
  seed: number,
  check: (what: string, found: object, expected: object) => void,
): Promise<void> {
  const random = randomFrom(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
  await opened(async (store) => {
    let made = 0
    const turn = async (): Promise<void> => {
      let prompt: NewMessage[] = [say('user', `${made}: ${units(pick([5, 40]))}`)]
      for (let steps = pick([0, 1, 2]); ; steps--) {
        const request = await store.prepareRequest('s', { ...CHECKS, auto: false, prompt })
        made += 1
        const id = `c${made}`
        const thoughts = pick([true, true, false]) ? [thought(`sig${made}`)] : []
        const last = steps === 0 ? { type: 'text' as const, text: units(8) } : undefined
        const messages = [answer(...thoughts, last ?? (call(id, 'look', {}).content as Part[])[0]!)]
        await store.recordResponse('s', { request, messages, auto: false })
        if (steps === 0) return
        prompt = [result(id, units(60), 'look')]
      }
    }
    const ids = async (status: string): Promise<string[]> =>
      (await store.listCompactions('s')).filter((one) => one.status === status).map((one) => one.id)
    const CHANGES = {
      compact: () =>
        store.compactSession('s', {
          ...CHECKS,
          target: 0.001,
          pruneProtectTokens: 0,
          pruneMinimumSavings: 0,
          stages: [pick(['prune', 'truncate', 'summarize'] as const)],
        }),
      drop: () =>
        store.compactSession('s', {
          ...CHECKS,
          target: 0.001,
          stages: [{ stage: 'drop_reasoning', keepTurns: 1 }],
        }),
      undo: async () => {
        const all = await ids('active')
        return all.length === 0 ? null : store.undoCompaction('s', pick(all), { cascade: true, both: true })
      },
      redo: async () => {
        const all = await ids('undone')
        return all.length === 0 ? null : store.redoCompaction('s', pick(all), { cascade: true })
      },
      rewind: async () => {
        const asked = (await store.getMessages('s')).filter(({ role, hidden }) => role === 'user' && !hidden)
        if (asked.length < 2) return null
        return store.rewind('s', {
          from: { beforeMessage: pick(asked.slice(1)).id },
          keepCompactions: pick([true, false]),
        })
      },
      hide: async () => {
        const asked = (await store.getMessages('s')).filter(({ role, hidden }) => role === 'user' && !hidden)
        return asked.length < 2 ? null : store.compactions.hide('s', [pick(asked.slice(0, -1)).id])
      },
    } satisfies { readonly [name: string]: () => Promise<object | null> }
    for (let turns = 8; turns > 0; turns--) {
      await turn()
      const name = pick(Object.keys(CHANGES)) as keyof typeof CHANGES
      const before = await signatures(store)
      let outcome: {
        invalidatedReasoning?: { blocks: number }
        restoredReasoning?: { blocks: number }
      } | null
      try {
        outcome = await CHANGES[name]()
      } catch (error) {
        if (!REFUSED.some((code) => isUndertextError(error, code))) throw error
        continue
      }
      if (outcome?.invalidatedReasoning === undefined) continue
      const after = await signatures(store, before.position)
      const lost = before.sent.filter((one) => after.shown.includes(one) && !after.sent.includes(one))
      const again = after.sent.filter((one) => after.shown.includes(one) && !before.sent.includes(one))
      check(
        `${name} in seed ${seed}, turn ${turns}`,
        { lost: outcome.invalidatedReasoning.blocks, again: outcome.restoredReasoning?.blocks ?? 0 },
        { lost: lost.length, again: name === 'compact' || name === 'drop' ? 0 : again.length },
      )
    }
  })
}

it('what is reported is the difference of the requests before and after', async () => {
  const seed = Number(process.env.SEED)
  const wrong: object[] = []
  for (let at = 0; at < 8; at++)
    await life(seed + at, (what, found, expected) => {
      if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push({ what, found, expected })
    })
  expect(wrong).toEqual([])
}, 60_000)
