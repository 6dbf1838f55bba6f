import { expect, it } from 'vitest'
import { isContextOverflowError, parseProviderOverflowDetails } from '../../../src/compat/overflow.ts'
import { growth } from '../../support/growth.ts'

const MEGABYTE = 1_000_000
const repeat = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length)

const ADVERSARIES = [
  'x',
  ' ',
  '1234567890',
  '1,234,567 ',
  'ValidationException',
  'ValidationException token ',
  'maximum context length is ',
  'prompt is too long: ',
  'the input tokens exceed the maximum context length of prompt too long token ',
  'prompt request message tokens tokens tokens exceed ',
  'input token count ',
  'limit is of was : ',
  '{"error":',
  '[{',
  '\\"',
  '\\u0041',
  "'input': '",
  'data: {"a":1}\n',
  'data:',
  '\t\n',
]

it.each(ADVERSARIES)('takes time that grows no faster than the text: %j', (piece) => {
  const run = (size: number) => parseProviderOverflowDetails(repeat(piece, size))
  expect(growth(run, 2 * MEGABYTE)).toBeLessThan(3)
})

it('takes linear time for runs of backslashes, however many texts have one', () => {
  const run = (size: number) =>
    isContextOverflowError({
      errors: Array.from({ length: 60 }, (_, at) => `${at} tokens ${'\\'.repeat(size)}`),
    })
  // 16,000 is the longest text that is read whole.
  expect(growth(run, 8_000)).toBeLessThan(3)
})

it('finds a message anywhere in a long text', () => {
  const said = "This model's maximum context length is 8192 tokens. However, you requested 9192 tokens"
  for (const filler of ['junk ', 'some token text ', 'more tokens exceed, the maximum is too long. ']) {
    const half = repeat(filler, 2 * MEGABYTE)
    for (const text of [said + half, half + said, `${half} ${said} ${half}`])
      expect(parseProviderOverflowDetails(text)).toMatchObject({
        provider: 'openai',
        actualTokens: 9_192,
        budgetTokens: 8_192,
      })
  }
})

it('does not combine distant parts of a long text into one sentence', () => {
  expect(isContextOverflowError(`the prompt${repeat(' -', MEGABYTE)} is too long for the context`)).toBe(
    false,
  )
})
