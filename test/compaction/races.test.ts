import { expect, it } from 'vitest'
import { isUndertextError, type NewMessage, openStore, type Store } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { randomFrom } from '../support/random.ts'
import { SEED } from '../support/seed.ts'

/* A run whose view others change between its plan and its commit. `compactions.onBefore` is asked exactly there. */

const random = randomFrom(SEED)
const below = (count: number): number => Math.floor(random() * count)

/** Turns with tools; the last call may be open. */
function conversation(turns: number): NewMessage[] {
  const messages: NewMessage[] = [say('system', 'Be brief.')]
  for (let turn = 0; turn < turns; turn++) {
    messages.push(say('user', units(40)), call(`c${turn}`, 'read'), result(`c${turn}`, units(300), 'read'))
    if (random() < 0.6) messages.push(say('assistant', units(60)))
    if (random() < 0.3) messages.push(call(`open${turn}`, 'ask'))
  }
  return messages
}

const CHANGES: readonly ((store: Store, ids: readonly string[]) => Promise<unknown>)[] = [
  (store, ids) => store.messages.pin('s', [ids[below(ids.length)]!]),
  (store, ids) => store.compactions.hide('s', [ids[below(ids.length)]!]),
  (store, ids) => {
    const from = 1 + below(ids.length)
    return store.compactSession('s', { range: { from, to: from + below(4) }, summary: 'Short.' })
  },
  (store, ids) => store.rewind('s', { from: { beforeMessage: ids[below(ids.length)]! } }),
  async (store) => {
    const pending = (await store.messages.toolCalls('s')).find(({ status }) => status === 'pending')
    if (pending !== undefined) await store.append('s', [result(pending.callId, units(20), 'ask')])
  },
  async (store) => {
    const [compaction] = (await store.listCompactions('s')).filter(({ status }) => status === 'active')
    if (compaction !== undefined) await store.undoCompaction('s', compaction.id, { cascade: true })
  },
  (store) => store.append('s', [say('user', units(30)), call('late', 'read')]),
  (store) => store.sessions.update('s', { provider: 'anthropic' }),
]

it.each([
  ['plans again where nothing was paid', undefined, ['done']],
  ['is stale where a model was asked', async () => ({ text: 'A summary.' }), ['STALE_PLAN', 'done']],
])('a run without a range whose view changes %s', async (_, model, expected) => {
  const outcomes = new Set<unknown>()
  for (let round = 0; round < 60; round++) {
    await using store = await openStore(':memory:', { estimator: 'neurolink', env: false })
    await store.append('s', conversation(8))
    if (random() < 0.5)
      await store
        .compactSession('s', { range: { from: 2, to: 2 + below(6) }, summary: 'Early.' })
        .catch(() => {})
    let changes = 1 + below(3)
    store.compactions.onBefore(async ({ trigger }) => {
      // The changes compact too.
      if (trigger === 'manual' && changes-- > 0) {
        const ids = (await store.getMessages('s')).map(({ id }) => id)
        await CHANGES[below(CHANGES.length)]!(store, ids).catch((error) => {
          if (!isUndertextError(error)) throw error
        })
      }
      return true
    })
    const outcome = await store
      .compactSession('s', {
        targetTokens: 200 + below(1_500),
        pruneProtectTokens: 0,
        pruneMinimumSavings: 0,
        keepRecentTokens: 100,
        ...(model !== undefined && { summarizer: { name: 'fake', usesModel: true, summarize: model } }),
      })
      .then(
        () => 'done',
        (error) => (isUndertextError(error) ? error.code : error),
      )
    outcomes.add(outcome)
    expect((await store.sessions.verify('s')).findings).toEqual([])
  }
  expect([...outcomes].sort()).toEqual(expected)
})
