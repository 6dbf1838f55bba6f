import { expect, it } from 'vitest'
import { type NewMessage, openStore } from '../../src/index.ts'
import { units } from '../support/conversation.ts'

const CHECKS = { provider: 'anthropic', model: 'claude-opus-5-5' } as const
const answer = (signature: string): NewMessage => ({
  role: 'assistant',
  content: [
    { type: 'reasoning', text: units(10), providerOptions: { anthropic: { signature } } },
    { type: 'text', text: 'Yes.' },
  ],
})
const tool = (name: string) => ({ name, description: 'Looks.', input_schema: { type: 'object' } })

it('a request reports that its system prompt or tools differ from the last one, and the reasoning that this invalidates', async () => {
  const store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  try {
    const ask = (system: string, tools: readonly object[], model: string = CHECKS.model) =>
      store.prepareRequest('s', { ...CHECKS, model, system, tools, prompt: 'Is it so?' })
    for (let turn = 0; turn < 2; turn++) {
      const request = await ask('Be brief.', [tool('look')])
      expect(request).not.toHaveProperty('changed')
      await store.recordResponse('s', { messages: [answer(`sig${turn}`)], request })
    }
    // Two blocks: 20 units × 1.23 × 1.15 = 28.3.
    const invalidatedReasoning = { blocks: 2, tokens: 29 }
    const changed = async (...given: Parameters<typeof ask>) => (await ask(...given)).changed
    expect(await changed('Be long.', [tool('look')])).toEqual({
      system: true,
      tools: false,
      invalidatedReasoning,
    })
    expect(await changed('Be brief.', [tool('find')])).toEqual({
      system: false,
      tools: true,
      invalidatedReasoning,
    })
    expect(
      await changed('Be brief.', [{ ...tool('look'), cache_control: { type: 'ephemeral' } }]),
    ).toBeUndefined()
    expect(await changed('Be long.', [], 'claude-opus-4-8')).toBeUndefined()
  } finally {
    await store.close()
  }
})

it('a change is reported once, by the response and an event, and stays with its request', async () => {
  const store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  try {
    const events: object[] = []
    store.on('prefixChanged', (event) => events.push(event))
    const turn = async (system: string, signature: string) => {
      const request = await store.prepareRequest('s', { ...CHECKS, system, prompt: 'Is it so?' })
      // The request may come back from JSON.
      const sent = JSON.parse(JSON.stringify(request)) as typeof request
      return store.recordResponse('s', { messages: [answer(signature)], request: sent })
    }
    expect(await turn('Be brief.', 'a')).not.toHaveProperty('changed')
    // One block: 10 units × 1.23 × 1.15 = 14.1.
    const changed = { system: true, tools: false, invalidatedReasoning: { blocks: 1, tokens: 15 } }
    const recorded = await turn('Be long.', 'b')
    expect(recorded.changed).toEqual(changed)
    expect(await turn('Be long.', 'c')).not.toHaveProperty('changed')
    expect(events).toEqual([{ sessionId: 's', requestId: recorded.requestId, ...changed }])
    const [first, second, third] = await store.requests.list('s')
    expect([first!.changed, second!.changed, third!.changed]).toEqual([undefined, changed, undefined])
    const { rendering, matches } = await store.requests.get('s', recorded.requestId!)
    expect({ rendering, matches }).toEqual({ rendering: { provider: 'anthropic' }, matches: true })
    // An export and its restoration keep it.
    await store.sessions.import(store.sessions.export('s'), { id: 'copy' })
    expect((await store.requests.list('copy'))[1]!.changed).toEqual(changed)
  } finally {
    await store.close()
  }
})

it('an answer that others store has its change reported with its usage', async () => {
  const store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  try {
    const events: object[] = []
    store.on('prefixChanged', (event) => events.push(event))
    for (const system of ['Be brief.', 'Be long.']) {
      const request = await store.prepareRequest('s', { ...CHECKS, system, prompt: 'Is it so?' })
      const { position } = await store.append('s', [...request.prompt, answer(`sig${events.length}`)])
      const { requestId } = await store.requests.recordUsage('s', { inputTokens: 100, request })
      await store.requests.recordAnswer('s', requestId!, [position, position])
    }
    expect(events).toMatchObject([{ system: true, tools: false, invalidatedReasoning: { blocks: 1 } }])
  } finally {
    await store.close()
  }
})
