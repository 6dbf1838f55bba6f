import { expect, it } from 'vitest'
import {
  getContextOverflowProvider,
  isContextOverflowError,
  parseProviderOverflowDetails,
} from '../../../src/index.ts'

it('a refusal without a body counts only where the provider that was called is known to say no more', () => {
  for (const message of ['413 status code (no body)', '400 status code (no body)']) {
    expect(isContextOverflowError(new Error(message))).toBe(false)
    expect(isContextOverflowError(new Error(message), { provider: 'openai' })).toBe(false)
    expect(getContextOverflowProvider(new Error(message), { provider: 'Cerebras' })).toBe('cerebras')
    // A name the stores know is known here.
    expect(getContextOverflowProvider(new Error(message), { provider: 'mistralai' })).toBe('mistral')
    const url = 'https://api.mistral.ai/v1/chat/completions'
    expect(getContextOverflowProvider(Object.assign(new Error(message), { url }))).toBe('mistral')
  }
  expect(isContextOverflowError('404 status code (no body)', { provider: 'cerebras' })).toBe(false)
  expect(parseProviderOverflowDetails('413 status code (no body)', { provider: 'cerebras' })).toBeNull()
})

it('takes the greater for what was sent when two numbers are compared', () => {
  expect(parseProviderOverflowDetails('Total tokens exceeds the model limit: 9000 > 8192')).toMatchObject({
    actualTokens: 9_000,
    budgetTokens: 8_192,
  })
  const named = 'tokens in request more than max tokens allowed, request tokens: 5000, max allowed: 4096'
  expect(parseProviderOverflowDetails(named)).toMatchObject({ actualTokens: 5_000, budgetTokens: 4_096 })
})
