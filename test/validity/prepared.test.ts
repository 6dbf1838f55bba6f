import { wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { undertext } from '../../src/adapters/ai-sdk/index.ts'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toOpenAI } from '../../src/adapters/openai/index.ts'
import { openStore } from '../../src/index.ts'
import { scripted, text } from '../ai-sdk/models.ts'
import { failureOf } from '../support/failures.ts'

describe('a request that is checked before it is sent', () => {
  it('is returned when the provider accepts its body', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
    ])
    const request = await store.prepareRequest('s', {
      provider: 'anthropic',
      prompt: 'How are you?',
      validate: ({ messages }) => ({ ...toAnthropic(messages, { forRequest: true }) }),
    })
    expect(request.messages).toHaveLength(3)
  })

  it('throws the rules and the places, in the body that the application sends, without its text', async () => {
    await using store = await openStore(':memory:')
    const error = await failureOf(() =>
      store.prepareRequest('s', {
        provider: 'openai',
        prompt: 'secret',
        validate: ({ messages }) => ({
          messages: [...toOpenAI(messages), { role: 'robot', content: 'secret' }],
        }),
      }),
    )
    expect(error).toMatchObject({
      code: 'REQUEST_INVALID',
      facts: { sessionId: 's', provider: 'openai', rules: ['role'], paths: ['messages.1'] },
    })
    expect(JSON.stringify(error) + String(error)).not.toContain('secret')
    expect(String(error)).toContain('role at messages.1')
  })

  it('is not sent by withOverflowRecovery', async () => {
    await using store = await openStore(':memory:')
    let sent = 0
    const asked = store.withOverflowRecovery('s', async () => sent++, {
      prompt: 'x',
      validate: () => ({ messages: [] }),
    })
    expect(await failureOf(() => asked)).toMatchObject({
      code: 'REQUEST_INVALID',
      facts: { rules: ['no-messages'] },
    })
    expect(sent).toBe(0)
  })

  it('needs a function that returns the body', async () => {
    await using store = await openStore(':memory:')
    const asked = store.prepareRequest('s', { prompt: 'x', validate: true as never })
    expect(await failureOf(() => asked)).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('is not sent by the middleware of the AI SDK, which knows its prompt', async () => {
    await using store = await openStore(':memory:')
    const model = scripted([[text('never')]], {
      provider: 'anthropic.messages',
      modelId: 'claude-sonnet-4-5',
    })
    const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's', { validate: true }) })
    const marked = (n: number) => ({
      type: 'text' as const,
      text: `part ${n}`,
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    })
    const asked = wrapped.doGenerate({ prompt: [{ role: 'user', content: [1, 2, 3, 4, 5].map(marked) }] })
    expect(await failureOf(() => asked)).toMatchObject({
      code: 'REQUEST_INVALID',
      facts: { rules: ['cache-marks'], paths: ['prompt.0.content.4'] },
    })
    expect(model.calls).toEqual([])
  })
})
