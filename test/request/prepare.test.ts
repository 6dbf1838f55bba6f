import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type SqliteStore, validateHistory } from '../../src/index.ts'
import { chat, say, units } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

let store: SqliteStore
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink' })
})
afterEach(() => store.close())

describe('a request', () => {
  it('of a session nobody made is its prompt', async () => {
    const request = await store.prepareRequest('new', { prompt: 'Hello', system: 'Be brief.' })
    expect(request).toMatchObject({
      sessionId: 'new',
      provider: 'openai',
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hello' }],
      position: 0,
      viewEpoch: 0,
      compacted: false,
      run: null,
    })
    expect(await store.listSessions()).toEqual([])
  })

  it('is the view and the prompt, valid for its provider', async () => {
    await store.append('s', chat(20, 100))
    const request = await store.prepareRequest('s', {
      provider: 'anthropic',
      prompt: say('user', 'And now?'),
      contextWindowTarget: 4_000,
    })
    expect(validateHistory(request.messages, 'anthropic')).toEqual([])
    expect(request.messages.at(-1)).toEqual({ role: 'user', content: 'And now?' })
    expect(request.compacted).toBe(true)
    expect(request.stats.withinBudget).toBe(true)
    expect(request.run?.reachedTarget).toBe(true)
  })

  it('that cannot fit is refused', async () => {
    await store.append('s', chat(2))
    const error = await failureOf(() =>
      store.prepareRequest('s', { prompt: units(5_000), contextWindowTarget: 4_000 }),
    )
    expectFailure(error, 'CONTEXT_BUDGET_EXCEEDED')
    expect(await store.listCompactions('s')).toEqual([])
  })
})
