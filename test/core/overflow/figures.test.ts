import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseProviderOverflowDetails } from '../../../src/compat/overflow.ts'

describe('every way of writing a number', () => {
  it.each([
    ['210000', '200000', 210_000, 200_000],
    ['210,000', '200,000', 210_000, 200_000],
    ['210_000', '200_000', 210_000, 200_000],
    ['210.000', '200.000', 210_000, 200_000],
    ['210 000', '200 000', 210_000, 200_000],
    ['210\u202f000', '200\u00a0000', 210_000, 200_000],
    ["210'000", "200'000", 210_000, 200_000],
    ['210’000', '200’000', 210_000, 200_000],
    ['210k', '200K', 210_000, 200_000],
    ['1.2M', '1M', 1_200_000, 1_000_000],
    ['1,048,577', '1,048,576', 1_048_577, 1_048_576],
  ])('%s > %s', (sent, allowed, actualTokens, budgetTokens) => {
    expect(
      parseProviderOverflowDetails(`prompt is too long: ${sent} tokens > ${allowed} maximum`),
    ).toMatchObject({
      actualTokens,
      budgetTokens,
    })
  })

  it('reads any pair of numbers back, in any of five wordings', () => {
    const wordings = [
      (a: number, b: number) => `prompt is too long: ${a} tokens > ${b} maximum`,
      (a: number, b: number) =>
        `The input token count (${a}) exceeds the maximum number of tokens allowed (${b}).`,
      (a: number, b: number) =>
        `This model's maximum context length is ${b} tokens. However, you requested ${a} tokens`,
      (a: number, b: number) =>
        `This model's maximum prompt length is ${b} but the request contains ${a} tokens.`,
      (a: number, b: number) =>
        `request (${a} tokens) exceeds the available context size (${b} tokens), try increasing it`,
    ]
    const tokens = fc.integer({ min: 1_000, max: 20_000_000 })
    fc.assert(
      fc.property(tokens, tokens, fc.constantFrom(...wordings), fc.boolean(), (a, b, wording, commas) => {
        fc.pre(a !== b)
        const text = wording(a, b).replace(/\d+/g, (n) => (commas ? Number(n).toLocaleString('en-US') : n))
        expect(parseProviderOverflowDetails(text)).toMatchObject({ actualTokens: a, budgetTokens: b })
      }),
    )
  })
})

it('tells question and answer apart', () => {
  expect(
    parseProviderOverflowDetails(
      "This model's maximum context length is 4097 tokens. However, you requested 10057 tokens (57 in the messages, 10000 in the completion).",
    ),
  ).toEqual({
    provider: 'openai',
    actualTokens: 10_057,
    budgetTokens: 4_097,
    inputTokens: 57,
    outputTokens: 10_000,
    limitKind: 'window',
  })
  expect(
    parseProviderOverflowDetails(
      'input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, decrease',
    ),
  ).toEqual({
    provider: 'anthropic',
    actualTokens: 209_136,
    budgetTokens: 204_648,
    inputTokens: 189_136,
    outputTokens: 20_000,
    limitKind: 'window',
  })
  expect(
    parseProviderOverflowDetails(
      "This endpoint's maximum context length is 262000 tokens. However, you requested about 263390 tokens (658 of text input, 732 of tool input, 262000 in the output).",
    ),
  ).toMatchObject({ actualTokens: 263_390, inputTokens: 1_390, outputTokens: 262_000 })
  expect(
    parseProviderOverflowDetails(
      '`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`',
    ),
  ).toMatchObject({ actualTokens: 3_534, inputTokens: 3_474, outputTokens: 60, budgetTokens: 2_048 })
})

it('tells a limit of the question from one of question and answer', () => {
  expect(
    parseProviderOverflowDetails(
      "This model's maximum prompt length is 5000 but the request contains 6000 tokens",
    )?.limitKind,
  ).toBe('input')
  expect(
    parseProviderOverflowDetails(
      'The input token count (6000) exceeds the maximum number of tokens allowed (5000).',
    )?.limitKind,
  ).toBe('input')
  expect(parseProviderOverflowDetails("This model's maximum context length is 5000 tokens.")?.limitKind).toBe(
    'window',
  )
})

it('gives what there is, and the excess when there is only that', () => {
  expect(parseProviderOverflowDetails('Range of input length should be [1, 30720]')).toEqual({
    provider: 'dashscope',
    budgetTokens: 30_720,
    limitKind: 'input',
  })
  expect(parseProviderOverflowDetails('prompt too long; exceeded max context length by 918 tokens')).toEqual({
    provider: 'ollama',
    excessTokens: 918,
  })
})

it('is null without figures', () => {
  expect(parseProviderOverflowDetails('context_length_exceeded')).toBeNull()
  expect(parseProviderOverflowDetails('Input is too long for requested model.')).toBeNull()
  expect(parseProviderOverflowDetails('Limit 30000, Requested 45000 tokens per min')).toBeNull()
})

it.each([
  '400 context_length_exceeded',
  { status: 400, code: 'context_length_exceeded', message: 'Error 413 for gpt-4-32k-2024-08-06' },
  'context_length_exceeded (request req_011CVjxiYzEFcAQC4Fk87zw2, 8192000)',
  'Input is too long for requested model. Cost so far: $200000, 12.5 %',
  'context_length_exceeded for model claude-3-5-sonnet-20241022 after 3000 ms',
  'prompt is too long for gpt-3.5-turbo-16k',
  {
    status: 413,
    error: {
      type: 'request_too_large',
      message: 'Request exceeds the maximum allowed number of bytes. The maximum request size is 32 MB.',
    },
  },
])('takes no other number for tokens: %j', (error) => {
  expect(parseProviderOverflowDetails(error)).toBeNull()
})
