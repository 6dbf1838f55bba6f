import { expect, it } from 'vitest'
import { dropReasoning } from '../../src/compat/arrays/index.ts'
import { type NewMessage, openStore, type Part, validateHistory } from '../../src/index.ts'
import { chat, result, say } from '../support/conversation.ts'

const S = 's'
const redacted: Part = {
  type: 'provider',
  provider: 'anthropic',
  data: { type: 'redacted_thinking', data: 'c2VjcmV0' },
}
const callWith = (id: string, ...before: Part[]): NewMessage => ({
  role: 'assistant',
  content: [...before, { type: 'tool-call', toolCallId: id, toolName: 'run', input: {} }],
})

it('a block that only its provider can read is never summarized, and is sent back to it', async () => {
  await using store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  const data = { type: 'compaction', id: 'cmp_1', encrypted_content: 'b3BhcXVl' }
  await store.append(S, [say('user', 'Never call me. Order DE-88412.'), say('assistant', 'Noted.')])
  await store.append(S, [{ role: 'assistant', content: [{ type: 'provider', provider: 'openai', data }] }])
  await store.append(S, chat(20, 60))
  const run = await store.compactSession(S, { targetTokens: 800, enableTruncate: false })
  expect(run!.stagesUsed).toEqual(['summarize'])
  const { messages } = await store.renderHistory(S, { provider: 'openai' })
  expect(messages[0]!.content).toMatchObject([{ type: 'provider', data }])
  expect(validateHistory(messages, 'openai')).toEqual([])
  expect(await store.sessions.verify(S)).toMatchObject({ findings: [] })
})

it('reasoning that is redacted holds its tool loop together, and goes as a whole', async () => {
  await using store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  const loop = Array.from({ length: 8 }, (_, at) => [
    callWith(`c${at}`, ...(at === 0 ? [redacted] : [])),
    result(`c${at}`, 'out'),
  ])
  await store.append(S, [say('user', 'go'), ...loop.flat()])
  const rows = await store.getMessages(S)
  // The head of a loop that is still open is not hidden alone.
  await expect(store.compactions.hide(S, [rows[1]!.id, rows[2]!.id])).rejects.toMatchObject({
    code: 'ILLEGAL_BOUNDARY',
  })
  await store.append(S, [say('assistant', 'done'), say('user', 'next'), say('assistant', 'yes')])
  const run = await store.compactSession(S, { stages: [dropReasoning()], targetTokens: 0 })
  expect(run!.compactions).toMatchObject([{ stage: 'drop_reasoning', partsReplaced: 1 }])
  const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
  expect(JSON.stringify(messages)).not.toContain('redacted_thinking')
  expect(validateHistory(messages, 'anthropic')).toEqual([])
})
