import { expect, it } from 'vitest'
import { isContextOverflowError, parseProviderOverflowDetails } from '../../../src/index.ts'

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

/** Milliseconds of the fastest of three: other work of the machine only ever makes it slower. */
function fastest(run: () => void): number {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 3; i++) {
    const start = performance.now()
    run()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

it.each(ADVERSARIES)('takes time that grows no faster than the text: %j', (piece) => {
  const short = repeat(piece, MEGABYTE)
  const long = repeat(piece, 8 * MEGABYTE)
  parseProviderOverflowDetails(short)
  // Eight times the text; quadratic time would be 64 times as long. The constant covers what does not grow.
  expect(fastest(() => parseProviderOverflowDetails(long))).toBeLessThan(
    50 + 24 * fastest(() => parseProviderOverflowDetails(short)),
  )
})

it('takes linear time for a run of backslashes, however many texts have one', () => {
  // Texts just short enough to be looked at whole. Once each of them took half a second.
  const texts = Array.from({ length: 60 }, (_, at) => `${at} tokens ${'\\'.repeat(16_000)}`)
  expect(fastest(() => isContextOverflowError({ errors: texts }))).toBeLessThan(3_000)
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

it('does not read into one sentence what stands far apart in a long text', () => {
  expect(isContextOverflowError(`the prompt${repeat(' -', MEGABYTE)} is too long for the context`)).toBe(
    false,
  )
})
