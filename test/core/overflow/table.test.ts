import { describe, expect, it } from 'vitest'
import {
  getContextOverflowProvider,
  isContextOverflowError,
  parseProviderOverflowDetails,
} from '../../../src/compat/overflow.ts'

/* The table of seed 003 "Error Detection", row by row (checklist S3-262 to S3-276). */
const TABLE = [
  ['openai', "This model's maximum context length is"],
  ['openai', 'reduce the length of the messages'],
  ['azure', 'content_length_exceeded'],
  ['google', 'exceeds the maximum number of tokens'],
  ['google', 'content is too long'],
  ['bedrock', 'ValidationException: the token count is over the limit'],
  ['bedrock', 'Input is too long'],
  ['bedrock', "exceeds the model's maximum"],
  ['mistral', 'context length exceeded'],
  ['mistral', 'maximum number of tokens'],
  ['openrouter', 'context_length_exceeded'],
  ['anthropic', 'prompt is too long'],
  ['anthropic', 'too many tokens'],
] as const

describe.each(TABLE)('%s: %s', (provider, phrase) => {
  it.each([
    ['text', phrase],
    ['Error', new Error(`The call failed: ${phrase} (details follow)`)],
    ['message', { message: phrase }],
    ['error text', { error: phrase }],
    ['error message', { error: { message: phrase.toUpperCase() } }],
    ['cause', new Error('The call failed', { cause: new Error(phrase) })],
  ])('as %s', (_, error) => {
    expect(isContextOverflowError(error)).toBe(true)
    expect(getContextOverflowProvider(error)).toBe(provider)
  })
})

it('recognizes "input is too long" as Bedrock or Anthropic, by the hint (S3-275, C-28)', () => {
  expect(getContextOverflowProvider('input is too long')).toBe('bedrock')
  expect(getContextOverflowProvider('input is too long', { provider: 'anthropic' })).toBe('anthropic')
  expect(getContextOverflowProvider('input is too long', { provider: 'amazon-bedrock' })).toBe('bedrock')
})

describe('RESOURCE_EXHAUSTED (S3-265, C-28)', () => {
  it('counts together with a hint at tokens or length', () => {
    expect(getContextOverflowProvider('RESOURCE_EXHAUSTED: token limit exceeded')).toBe('google')
    expect(
      getContextOverflowProvider({
        error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'The prompt is beyond its length' },
      }),
    ).toBe('google')
  })

  it('does not count alone, for a quota or a rate', () => {
    for (const text of [
      'RESOURCE_EXHAUSTED',
      'RESOURCE_EXHAUSTED: Quota exceeded for input tokens',
      'RESOURCE_EXHAUSTED: tokens per minute',
    ])
      expect(isContextOverflowError(text)).toBe(false)
  })

  it('counts always when strict mode is off', () => {
    expect(getContextOverflowProvider('RESOURCE_EXHAUSTED', { strict: false })).toBe('google')
    expect(
      isContextOverflowError({ error: { status: 'RESOURCE_EXHAUSTED', code: 429 } }, { strict: false }),
    ).toBe(true)
  })
})

it('takes the phrases literally when strict mode is off, and still no other rate limit', () => {
  const throttled = {
    name: 'ThrottlingException',
    message: 'Too many tokens, please wait before trying again.',
  }
  expect(isContextOverflowError(throttled)).toBe(false)
  expect(getContextOverflowProvider(throttled, { strict: false })).toBe('anthropic')
  expect(isContextOverflowError('Rate limit reached', { strict: false })).toBe(false)
})

it('names the first in the documented order when several phrases occur', () => {
  expect(
    getContextOverflowProvider({ code: 'context_length_exceeded', message: 'context length exceeded' }),
  ).toBe('mistral')
  expect(
    getContextOverflowProvider({
      code: 'context_length_exceeded',
      message: "This model's maximum context length is 5 tokens",
    }),
  ).toBe('openai')
})

describe('a hint', () => {
  const openai = "This model's maximum context length is 8192 tokens."

  it('names who was called where many use the wording', () => {
    expect(getContextOverflowProvider(openai, { provider: 'azure' })).toBe('azure')
    expect(getContextOverflowProvider(openai, { provider: ' My-Proxy ' })).toBe('my-proxy')
    expect(getContextOverflowProvider('prompt is too long', { provider: 'vertex-ai' })).toBe('vertex')
  })

  it('does not overrule a wording only one uses', () => {
    expect(
      getContextOverflowProvider("This endpoint's maximum context length is 5", { provider: 'openai' }),
    ).toBe('openrouter')
    expect(getContextOverflowProvider('prompt is too long', { provider: 'openai' })).toBe('anthropic')
    expect(getContextOverflowProvider(openai, { provider: 'anthropic' })).toBe('openai')
  })

  it('names a provider for a wording without an owner, and makes no overflow of another error', () => {
    expect(getContextOverflowProvider('Context window exceeded')).toBeNull()
    expect(getContextOverflowProvider('Context window exceeded', { provider: 'acme' })).toBe('acme')
    expect(isContextOverflowError('Bad Request', { provider: 'openai' })).toBe(false)
  })
})

describe('patterns of the caller', () => {
  const patterns = [{ provider: 'acme', pattern: 'Zu viel Text' }]

  it('come first and count whatever the status', () => {
    expect(
      getContextOverflowProvider({ status: 429, message: 'ZU VIEL TEXT (5 Wörter)' }, { patterns }),
    ).toBe('acme')
    expect(getContextOverflowProvider('zu viel text: context_length_exceeded', { patterns })).toBe('acme')
    expect(isContextOverflowError('zu wenig', { patterns })).toBe(false)
  })

  it('keep no state between calls', () => {
    const global = [{ provider: 'acme', pattern: /viel/gy }]
    const sticky = [{ provider: 'acme', pattern: /viel/giy }]
    for (let i = 0; i < 3; i++) {
      expect(isContextOverflowError('zu viel', { patterns: global })).toBe(true)
      expect(isContextOverflowError('zu VIEL', { patterns: sticky })).toBe(true)
    }
    expect(global[0]!.pattern.lastIndex).toBe(0)
  })

  it('supply figures when the text contains them', () => {
    expect(
      parseProviderOverflowDetails('zu viel text: the prompt has 9000 tokens, limit is 8192', { patterns }),
    ).toMatchObject({ provider: 'acme', actualTokens: 9000, budgetTokens: 8192 })
  })

  it.each([
    { stric: true },
    { provider: 5 },
    { patterns: [{ provider: '', pattern: 'x' }] },
    { patterns: [{ provider: 'a', pattern: '' }] },
    { patterns: 'x' },
  ])('and options that do not fit are refused: %j', (options) => {
    expect(() => isContextOverflowError('x', options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    )
    expect(() => getContextOverflowProvider('x', options as never)).toThrow('nothing was written')
    expect(() => parseProviderOverflowDetails('x', options as never)).toThrow('nothing was written')
  })
})
