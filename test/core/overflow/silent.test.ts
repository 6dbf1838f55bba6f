import { describe, expect, it } from 'vitest'
import {
  getContextOverflowProvider,
  isContextOverflowError,
  parseProviderOverflowDetails,
} from '../../../src/compat/overflow.ts'

describe('a refusal without a body', () => {
  const bodiless = (statusCode: number, message: string, url?: string) =>
    Object.assign(new Error(message), { name: 'AI_APICallError', statusCode, responseBody: '', url })

  it('is an overflow with the statuses that providers give to requests that are too long', () => {
    for (const message of ['413 status code (no body)', '400 status code (no body)', '400 (no body)']) {
      expect(isContextOverflowError(new Error(message))).toBe(true)
      expect(getContextOverflowProvider(new Error(message))).toBeNull()
      // A name the stores know is known here.
      expect(getContextOverflowProvider(new Error(message), { provider: 'mistralai' })).toBe('mistral')
      const url = 'https://api.cerebras.ai/v1/chat/completions'
      expect(getContextOverflowProvider(Object.assign(new Error(message), { url }))).toBe('cerebras')
    }
    for (const status of [401, 403, 404, 408, 422, 429, 500, 503])
      expect(isContextOverflowError(`${status} status code (no body)`)).toBe(false)
    expect(parseProviderOverflowDetails('413 status code (no body)')).toBeNull()
  })

  it('has the reason phrase for a message in the AI SDK', () => {
    const url = 'https://api.mistral.ai/v1/chat/completions'
    for (const [status, phrase] of [
      [400, 'Bad Request'],
      [413, 'Payload Too Large'],
      [413, ''],
    ] as const)
      expect(getContextOverflowProvider(bodiless(status, phrase, url))).toBe('mistral')
    expect(isContextOverflowError(bodiless(429, 'Too Many Requests', url))).toBe(false)
    expect(isContextOverflowError(bodiless(400, 'The model does not exist', url))).toBe(false)
    expect(isContextOverflowError(Object.assign(bodiless(413, 'x'), { responseBody: '<html>' }))).toBe(false)
  })

  it('is no overflow when the request carried no conversation', () => {
    for (const path of [
      'embeddings',
      'files',
      'models?after=1',
      'images/generations',
      'messages/count_tokens',
    ])
      expect(isContextOverflowError(bodiless(400, 'Bad Request', `https://api.openai.com/v1/${path}`))).toBe(
        false,
      )
    const gemini = 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent'
    expect(isContextOverflowError(bodiless(400, 'Bad Request', gemini))).toBe(true)
  })
})

describe('the plan of a Claude subscription', () => {
  it('is an overflow where it stops at the long context', () => {
    const message = 'Extra usage is required for long context requests.'
    const body = { type: 'error', error: { type: 'rate_limit_error', message } }
    for (const error of [body, Object.assign(new Error(`429 ${JSON.stringify(body)}`), { status: 429 })])
      expect(getContextOverflowProvider(error)).toBe('anthropic')
    expect(isContextOverflowError('Extra usage is required for 1M context · enable extra usage')).toBe(true)
  })

  it('is no overflow when the usage is spent', () => {
    expect(isContextOverflowError("You're out of extra usage. Add more in your settings.")).toBe(false)
  })
})

it.each([
  'Too many tokens processed',
  'Tokens per day limit exceeded - too many tokens processed.',
  'You have used too many tokens',
  'Too many tokens were consumed, try later',
])('counts tokens of a time, not of a request: %s', (error) => {
  expect(isContextOverflowError(error)).toBe(false)
})

it.each([
  'The user asked why the model said "prompt is too long"',
  'Tool output: grep found "prompt is too long" in src/core/errors.ts',
  'The log contains the line `prompt is too long: 200001 tokens > 200000 maximum`',
  'Invalid value for messages[3].content: "why do I get prompt is too long all the time?"',
  "Test failed: expected 'ok' to equal 'prompt is too long'",
  "Filtered: user text “This model's maximum context length is 8192 tokens” broke a rule",
  'The message mentions the phrase prompt is too long',
  '400 {"error":{"message":"Blocked: the user wrote \\"how do I fix context length exceeded\\""}}',
])('is no overflow but a sentence about one: %s', (error) => {
  expect(isContextOverflowError(error)).toBe(false)
})

it.each([
  '"prompt is too long"',
  'Error: "prompt is too long: 5 tokens > 4 maximum"',
  'message="prompt is too long: 1 tokens > 0"',
  'OpenRouter returned "prompt is too long: 3 tokens > 2 maximum"',
  '400 {"type":"error","error":{"message":"prompt is too long: 215632 tokens > 200000 max',
  "Error code: 400 - {'error': {'message': 'prompt is too long: 215632 tokens > 200000 maximum'}}",
])('is an overflow although quotes surround it: %s', (error) => {
  expect(isContextOverflowError(error)).toBe(true)
})

it('takes the greater for what was sent when two numbers are compared', () => {
  expect(parseProviderOverflowDetails('Total tokens exceeds the model limit: 9000 > 8192')).toMatchObject({
    actualTokens: 9_000,
    budgetTokens: 8_192,
  })
  const named = 'tokens in request more than max tokens allowed, request tokens: 5000, max allowed: 4096'
  expect(parseProviderOverflowDetails(named)).toMatchObject({ actualTokens: 5_000, budgetTokens: 4_096 })
})
