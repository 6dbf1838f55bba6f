import { expect, it } from 'vitest'
import { readOverflow } from '../../../src/index.ts'

it('is read at once: provider, kind, figures and text', () => {
  const message = 'prompt is too long: 210000 tokens > 200000 maximum'
  expect(readOverflow(new Error('The call failed', { cause: new Error(message) }))).toEqual({
    provider: 'anthropic',
    kind: 'tokens',
    tokens: 210_000,
    limit: 200_000,
    limitKind: 'window',
    message: 'The call failed',
  })
})

it('has the number of messages as a kind of its own, without figures in tokens', () => {
  const message =
    "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2100 instead."
  expect(readOverflow(message)).toEqual({ provider: 'openai', kind: 'messages', message })
})

it('is of an unknown kind without a body', () => {
  const message = '413 status code (no body)'
  expect(readOverflow(message)).toEqual({ provider: null, kind: 'unknown', message })
})

it('is undefined for another error', () => {
  expect(readOverflow(new Error('Rate limit reached'))).toBeUndefined()
})
