import { expect, it } from 'vitest'
import type { ReasoningPart } from '../../../src/core/messages/message.ts'
import { isSent, reasoningState, sentWords, whyNotSent } from '../../../src/inspect/page/reasoning-words.ts'

const block = (text: string, signature?: string): ReasoningPart => ({
  type: 'reasoning',
  text,
  ...(signature !== undefined && { providerOptions: { anthropic: { signature } } }),
})
const request = (...parts: readonly ReasoningPart[]) => ({
  messages: [{ role: 'assistant' as const, content: parts }],
  ...{ position: 10, provider: 'anthropic', model: 'claude' },
})

it('a block is sent if the request contains its text, or its signature if it has no text', () => {
  expect(isSent(block('a', 's'), request(block('a', 't')))).toBe(true)
  expect(isSent(block('a'), request(block('b')))).toBe(false)
  expect(isSent(block('', 's'), request(block('', 's')))).toBe(true)
  expect(isSent(block('', 's'), request(block('', 't')))).toBe(false)
})

it('a block that is not sent has a reason', () => {
  const other = request(block('b'))
  expect(sentWords(block('b', 's'), 3, other)).toBe('Sent in')
  expect(whyNotSent(block('b', 's'), 3, other)).toBe('')
  expect(sentWords(block('a', 's'), 11, other)).toBe('Made after')
  expect(whyNotSent(block('a', 's'), 11, other)).toBe('')
  expect(sentWords(block('a', 's'), 3, other)).toBe('Not sent in')
  expect(whyNotSent(block('a', 's'), 3, { ...other, provider: 'openai', model: 'gpt' })).toBe(
    ': it was signed for anthropic, and the request went to openai / gpt.',
  )
  expect(whyNotSent(block('a'), 3, other)).toBe(': it has no signature.')
  expect(whyNotSent(block('a', 's'), 3, other)).toMatch(/its turn was over/)
})

it('the row tells whether reasoning can be sent', () => {
  expect(reasoningState(block('a', 's'), { hidden: true }, false)).toBe('not sent: the message is hidden')
  expect(reasoningState(block('a', 's'), { hidden: false }, true)).toBe('not sent: left out by a compaction')
  expect(reasoningState(block('a', 's'), { hidden: false }, false)).toBe('signed for anthropic')
  expect(reasoningState(block('a'), { hidden: false }, false)).toMatch(/^no signature/)
})
