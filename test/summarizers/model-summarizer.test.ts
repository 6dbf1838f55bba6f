import { describe, expect, it } from 'vitest'
import { estimateTokens } from '../../src/core/tokens/index.ts'
import {
  type GenerateAnswer,
  type GenerateRequest,
  type ModelSummarizerOptions,
  modelSummarizer,
  openStore,
  originalErrorOf,
  type SummaryRequest,
} from '../../src/index.ts'
import { CANARY } from '../support/failures.ts'

const REQUEST: SummaryRequest = {
  sessionId: 's',
  messages: [{ role: 'user', content: 'hello', kind: 'message' }],
  sections: ['Work', 'Rules'],
  maxTokens: 1_000,
  files: { read: [], modified: [] },
}

/** A summarizer whose function answers in turn; an error is thrown. */
function scripted(
  answers: readonly (GenerateAnswer | Error)[],
  options: Partial<ModelSummarizerOptions> = {},
) {
  const asked: GenerateRequest[] = []
  const summarizer = modelSummarizer({
    name: 'mine',
    retryWaitMs: 1,
    generate: async (request) => {
      asked.push(request)
      const answer = answers[Math.min(asked.length, answers.length) - 1]!
      if (answer instanceof Error) throw answer
      return answer
    },
    ...options,
  })
  return { asked, summarizer }
}

const failing = (fields: object): Error => Object.assign(new Error(CANARY), fields)

describe('a summarizer by a function', () => {
  it('names no more files than a tenth of its room has place for, those that were changed first', async () => {
    const { asked, summarizer } = scripted([{ text: 'x' }], { maxInputTokens: 3_000 })
    const paths = (of: string): string[] =>
      Array.from({ length: 500 }, (_, at) => `/${of}/${'directory/'.repeat(10)}${at}.ts`)
    await summarizer.summarize({ ...REQUEST, files: { read: paths('read'), modified: paths('changed') } })
    const { prompt } = asked[0]!
    // More than a hundred characters a path: in 300 tokens there is room for two at least, and not for twelve.
    expect(prompt.split('"/changed/').length - 1).toBeGreaterThan(1)
    expect(prompt.split('"/changed/').length - 1).toBeLessThan(12)
    expect(prompt).not.toContain('"/read/')
    await summarizer.summarize({ ...REQUEST, files: { read: ['a.ts'], modified: ['b.ts'] } })
    expect(asked[1]!.prompt).toContain('"a.ts"')
    expect(asked[1]!.prompt).toContain('"b.ts"')
  })

  it('hands over the request, and reports what came back', async () => {
    const usage = { inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 600, cacheCreationTokens: 200 }
    const { asked, summarizer } = scripted([{ text: 'Work.', finishReason: 'stop', usage, model: 'm-1' }], {
      temperature: 0.2,
      price: { input: 10, output: 100, cacheRead: 1, cacheWrite: 20 },
    })
    const answer = await summarizer.summarize({ ...REQUEST, provider: 'vertex', model: 'gemini' })
    // 200 fresh at 10, 600 read at 1, 200 written at 20, 100 out at 100: 2,000 + 600 + 4,000 + 10,000 millionths.
    expect(answer).toEqual({
      text: 'Work.',
      finishReason: 'stop',
      usage,
      model: 'm-1',
      promptVersion: 'undertext-3',
      cost: 0.0166,
    })
    // The summary's own tokens, and 4,000 to think.
    expect(asked[0]).toMatchObject({
      maxOutputTokens: 5_000,
      temperature: 0.2,
      provider: 'vertex',
      model: 'gemini',
    })
    expect(asked[0]!.prompt).toContain('1. Work\n2. Rules')
  })

  it('gives one that ran out of tokens twice as many to think', async () => {
    const { asked, summarizer } = scripted([{ text: 'Work.' }], { thinkingTokens: 1_000 })
    for (const retryOf of [undefined, 'EMPTY_SUMMARY', 'SUMMARY_CUT', 'SUMMARY_REASONING_ONLY'] as const)
      await summarizer.summarize({ ...REQUEST, ...(retryOf && { retryOf }) })
    expect(asked.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([2_000, 2_000, 3_000, 3_000])
  })

  it('calls again what may be repeated, and nothing else', async () => {
    const again = [
      failing({ statusCode: 429, responseHeaders: { 'retry-after-ms': '1' } }),
      failing({ status: 503, headers: new Headers({ 'retry-after': '0' }) }),
      failing({ isRetryable: true }),
      failing({ code: 'ECONNRESET' }),
      new TypeError('fetch failed', { cause: failing({ code: 'UND_ERR_SOCKET' }) }),
    ]
    const { asked, summarizer } = scripted([...again, { text: 'Work.' }], { maxRetries: 5 })
    expect(await summarizer.summarize(REQUEST)).toMatchObject({ text: 'Work.' })
    expect(asked).toHaveLength(6)
    for (const error of [
      failing({ status: 400 }),
      failing({ status: 500, isRetryable: false }),
      new RangeError(CANARY),
    ]) {
      const once = scripted([error], { maxRetries: 5 })
      await expect(Promise.resolve(once.summarizer.summarize(REQUEST))).rejects.toMatchObject({
        code: 'MODEL_CALL_FAILED',
      })
      expect(once.asked).toHaveLength(1)
    }
  })

  it.each([
    [failing({ status: 503 }), 'HTTP_503'],
    [failing({ statusCode: 200 }), 'INVALID_RESPONSE'],
    [failing({ lastError: failing({ statusCode: 429 }) }), 'HTTP_429'],
    [failing({ cause: failing({ code: 'ECONNREFUSED' }) }), 'CONNECTION_FAILED'],
    [failing({ name: 'AI_NoSuchModelError' }), 'MODEL_UNKNOWN'],
    [failing({ name: 'AI_LoadAPIKeyError' }), 'NO_API_KEY'],
    [failing({ name: 'GatewayAuthenticationError' }), 'NO_API_KEY'],
    [failing({ name: 'GatewayError' }), 'NO_API_KEY'],
    [failing({ name: 'AI_UnsupportedModelVersionError' }), 'MODEL_UNSUPPORTED'],
    [failing({ name: `AI_${CANARY}` }), 'Error'],
    [new RangeError(CANARY), 'RangeError'],
  ])('reports what went wrong, without the words of the error: %#', async (error, code) => {
    const { summarizer } = scripted([error], { maxRetries: 0 })
    const caught = await Promise.resolve(summarizer.summarize(REQUEST)).catch((thrown: Error) => thrown)
    expect(caught).toMatchObject({ code: 'MODEL_CALL_FAILED', facts: { summarizer: 'mine', error: code } })
    expect(String((caught as Error).stack)).not.toContain(CANARY)
    expect(originalErrorOf(caught)).toBe(error)
  })

  it('ends after its time, in the middle of a wait too', async () => {
    const { summarizer } = scripted([failing({ status: 429, headers: { 'retry-after': '50' } })], {
      timeoutMs: 30,
    })
    await expect(Promise.resolve(summarizer.summarize(REQUEST))).rejects.toMatchObject({
      facts: { error: 'SUMMARY_TIMEOUT' },
    })
  })

  it('leaves room for its own words and the answer, and knows the windows of models', () => {
    const roomOf = (options: Partial<ModelSummarizerOptions>, asked: object = {}): number =>
      scripted([{ text: 'x' }], options).summarizer.inputTokensFor!({ ...REQUEST, ...asked })!
    // gpt-4o takes 128,000, less 5,000 for the answer, less our words; 8 of 10 of what is left.
    const gpt = roomOf({ provider: 'openai', model: 'gpt-4o' })
    expect(gpt).toBeLessThan(98_400)
    expect(gpt).toBeGreaterThan(97_000)
    // The model a config names counts before the summarizer's own: 200,000.
    const claude = roomOf(
      { provider: 'openai', model: 'gpt-4o' },
      { provider: 'anthropic', model: 'claude-3-5-haiku' },
    )
    expect(claude).toBeLessThan(156_000)
    expect(claude).toBeGreaterThan(154_000)
    const said = roomOf({ maxInputTokens: 10_000 })
    expect(said).toBeLessThan(8_000)
    expect(said).toBeGreaterThan(6_500)
    expect(roomOf({ maxInputTokens: 10 })).toBe(200)
  })

  it('rejects invalid options', () => {
    const generate = async (): Promise<GenerateAnswer> => ({ text: '' })
    for (const options of [
      { name: 'x' },
      { name: '', generate },
      { name: 'x', generate, retries: 2 },
      { name: 'x', generate, maxRetries: -1 },
    ])
      expect(() => modelSummarizer(options as never)).toThrow(/modelSummarizer/)
  })
})

it('keeps to its room when there are very many short messages: the lines above them count', async () => {
  const { asked, summarizer } = scripted([{ text: 'Numbers were looked up.' }], {
    maxInputTokens: 3_000,
    thinkingTokens: 0,
  })
  await using store = await openStore(':memory:', { summarizer })
  for (let at = 0; at < 300; at++)
    await store.append('s', [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'ok' },
    ])
  const range = { from: 1, to: 600 }
  expect((await store.compactSession('s', { range }))!.compacted).toBe(true)
  expect(asked.length).toBeGreaterThan(1)
  for (const { system, prompt } of asked)
    expect(estimateTokens(system) + estimateTokens(prompt)).toBeLessThanOrEqual(3_000)
})
