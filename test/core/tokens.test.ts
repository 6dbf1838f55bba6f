import { expect, it } from 'vitest'
import { outputText } from '../../src/core/messages/message.ts'
import { calibratedEstimator, estimateMessagesTokens } from '../../src/core/tokens/index.ts'
import { measureMessage, measureOutput, NO_SIZES, neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import { openStore } from '../../src/index.ts'

// [1234,-0] is 9 characters, 3 units; [1234,0] would be 8, 2 units.
const value = [1234, -0]

it('−0 counts as it is written', () => {
  const input = { type: 'tool-call', toolCallId: 'c', toolName: 'four', input: value } as const
  expect(measureMessage({ content: [input] }, neurolinkEstimator)).toEqual({ ...NO_SIZES, toolCalls: 4 })
  for (const type of ['json', 'error-json'] as const) {
    expect(measureOutput({ type, value }, neurolinkEstimator)).toEqual({ ...NO_SIZES, toolResults: 3 })
    expect(outputText({ type, value })).toBe('[1234,-0]')
  }
  const opaque = { type: 'provider', provider: 'x', data: value } as const
  expect(measureMessage({ content: [opaque] }, neurolinkEstimator)).toEqual({ ...NO_SIZES, text: 3 })
})

it('a session with −0 in it holds what it counted', async () => {
  const store = await openStore(':memory:')
  await store.append('s', [
    { role: 'user', content: 'four' },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'four', input: value }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'json', value } }] },
  ])
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.close()
})

it('a list in another form is counted in full or refused, never in part', () => {
  // Name 1 unit and arguments 100: ceil(101 × 1.15) = 117, 4 a message and 24 a conversation.
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: 'x'.repeat(400) } }
  expect(estimateMessagesTokens([{ role: 'assistant', content: '', tool_calls: [call] } as never])).toBe(145)
  const foreign = [
    [{ type: 'tool_use', id: 'c', name: 'f', input: {} }],
    [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }],
    [{ type: 'image_url', image_url: { url: 'https://x' } }],
    null,
  ]
  for (const content of foreign)
    expect(() => estimateMessagesTokens([{ role: 'user', content } as never])).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    )
})

it('an estimator may be named', () => {
  const messages = [{ role: 'user', content: '你好，世界' }]
  expect(estimateMessagesTokens(messages, 'openai', 'calibrated')).toBe(
    estimateMessagesTokens(messages, 'openai', calibratedEstimator),
  )
  for (const estimator of ['tiktoken', {}, 5])
    expect(() => estimateMessagesTokens(messages, 'openai', estimator as never)).toThrow(/estimator/)
})
