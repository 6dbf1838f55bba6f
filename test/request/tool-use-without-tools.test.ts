import { expect, it } from 'vitest'
import { type Message, outputText, partsOf } from '../../src/core/messages/message.ts'
import { openStore, validateRequest } from '../../src/index.ts'

/** Messages as Converse takes them, without tools. */
function converse(messages: readonly Message[]): object {
  return {
    messages: messages.map((message) => ({
      role: message.role === 'assistant' ? 'assistant' : 'user',
      content: partsOf(message).flatMap((part): object[] => {
        if (part.type === 'text') return [{ text: part.text }]
        if (part.type === 'tool-call')
          return [{ toolUse: { toolUseId: part.toolCallId, name: part.toolName, input: part.input } }]
        if (part.type !== 'tool-result') return []
        const { toolCallId, output } = part
        return [{ toolResult: { toolUseId: toolCallId, content: [{ text: outputText(output) }] } }]
      }),
    })),
  }
}

const tools = [{ name: 'look', inputSchema: { type: 'object' } }]

it('Bedrock is sent calls and results as texts in a request without tools, and as they are in one with tools', async () => {
  const store = await openStore(':memory:')
  await store.append('s', [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }] },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: 'seen' } }],
    },
    { role: 'assistant', content: 'ok' },
  ])
  const named = {
    provider: 'bedrock',
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    prompt: 'sum up',
  } as const
  const without = await store.prepareRequest('s', named)
  expect(validateRequest(converse(without.messages), 'bedrock')).toEqual([])
  expect(JSON.stringify(without.messages)).toContain('[Call of tool look] {}')
  expect(JSON.stringify(without.messages)).toContain('seen')
  expect(without.mends.map(({ kind }) => kind)).toEqual(['call-as-text', 'result-as-text'])
  expect(without.rendering.toolUse).toBe('text')

  const again = await store.prepareRequest('s', named)
  expect(again.messages).toEqual(without.messages)
  const { requestId } = await store.recordResponse('s', {
    request: without,
    messages: [{ role: 'assistant', content: 'done' }],
  })
  expect(await store.requests.get('s', requestId!)).toMatchObject({
    matches: true,
    messages: without.messages,
  })

  for (const options of [{ tools }, { toolUse: 'parts' as const }]) {
    const request = await store.prepareRequest('s', { ...named, ...options })
    expect(request.messages.flatMap((message) => partsOf(message).map(({ type }) => type))).toContain(
      'tool-call',
    )
  }
  for (const provider of ['anthropic', 'openai', 'google-ai'])
    expect((await store.prepareRequest('s', { provider, prompt: 'x' })).mends).toEqual([])
  await store.close()
})
