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
