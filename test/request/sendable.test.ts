import { expect, it } from 'vitest'
import { beforeTurn } from '../../src/compat/index.ts'
import { openStore } from '../../src/index.ts'

const HALF = '\ud83d'

it('a request whose messages are all blank is refused before the call, and says what to do', async () => {
  await using store = await openStore(':memory:')
  for (const provider of ['anthropic', 'openai'])
    await expect(
      store.prepareRequest('s', { provider, prompt: [{ role: 'user', content: '' }] }),
    ).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      facts: { problems: expect.stringContaining('omit an empty prompt') },
    })
  await store.append('s', [{ role: 'user', content: ' ' }])
  await expect(store.prepareRequest('s', { provider: 'anthropic' })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    facts: { problems: expect.stringContaining('pass a prompt that is not blank') },
  })
  const { messages } = await store.prepareRequest('s', { provider: 'anthropic', prompt: 'hi' })
  expect(messages).toEqual([{ role: 'user', content: 'hi' }])
})

it('the system prompt of a request is well formed, and the log returns what it was given', async () => {
  await using store = await openStore(':memory:')
  await store.append('s', [{ role: 'user', content: `q${HALF}` }])
  const { system, messages, mends } = await store.prepareRequest('s', { system: `s${HALF}` })
  expect(system).toBe('s\ufffd')
  expect(messages).toEqual([{ role: 'user', content: 'q\ufffd' }])
  const [stored] = await store.getMessages('s')
  expect(stored!.content).toBe(`q${HALF}`)
  expect(mends).toEqual([{ kind: 'characters-replaced', messageId: stored!.id }])
  const turn = await beforeTurn(store, 's', { system: `s${HALF}` })
  expect(turn.systemPrompt).toBe('s\ufffd')
})
