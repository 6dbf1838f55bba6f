import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type AiSdkSummarizerOptions, aiSdkSummarizer } from '../../src/adapters/ai-sdk/index.ts'
import { type CompactionResult, type CompactOptions, openStore, type Store } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'
import { type Scripted, startModelServer } from '../support/model-server.ts'
import { modelsOf, silenceWarnings } from './sdk.ts'

/*
 * Summaries by real providers of the AI SDK over HTTP: what a server can do, and what then is in force, in the audit and in the result.
 */

silenceWarnings()
const server = await startModelServer()
afterAll(() => server.close())

const GOOD = '## Current Work\n- The parser reads dates.'
/** So 100,000 tokens cost 0.1 dollars, and 1,000 of output 0.002. */
const PRICE = { input: 1, output: 2 }
const USAGE = { inputTokens: 100_000, outputTokens: 1_000 }

let store: Store
beforeEach(async () => {
  server.forget()
  store = await openStore(':memory:', { estimator: 'neurolink' })
  await store.append(
    's',
    chat(10, 400).map((message) => ({ ...message, content: `${CANARY} ${message.content as string}` })),
  )
  return () => store.close()
})

describe.each(modelsOf(server))('%s', (format, model) => {
  async function run(
    script: readonly Scripted[],
    config: CompactOptions = {},
    options: Partial<AiSdkSummarizerOptions> = {},
  ): Promise<CompactionResult> {
    server.script(script)
    const summarizer = aiSdkSummarizer({ model, price: PRICE, ...options })
    const before = JSON.stringify(await store.getEffectiveHistory('s'))
    const result = (await store.compactSession('s', {
      summarizer,
      enablePrune: false,
      enableDeduplicate: false,
      enableTruncate: false,
      targetTokens: 1_000,
      ...config,
    }))!
    if (!result.compacted) expect(JSON.stringify(await store.getEffectiveHistory('s'))).toBe(before)
    const told = JSON.stringify([
      result.failed,
      await store.listCompactions('s'),
      await store.sessions.audit('s'),
    ])
    expect(told).not.toContain(CANARY)
    expect(told).not.toContain('sk-secret')
    return result
  }

  /** The attempts as the audit has them. */
  const audit = async () =>
    (await store.listCompactions('s')).map(({ status, error, model, usage, cost }) => ({
      status,
      error,
      model,
      usage,
      cost,
    }))

  it('writes a summary, and reports its author and cost', async () => {
    const result = await run([{ text: GOOD, usage: USAGE, model: 'model-7' }])
    const usage = { inputTokens: 100_000, outputTokens: 1_000 }
    expect(result.failed).toEqual([])
    expect(result.compactions).toMatchObject([{ summarizer: 'ai-sdk', model: 'model-7', usage }])
    // 0.1 + 0.002 dollars.
    expect(result.compactions[0]!.cost).toBeCloseTo(0.102, 10)
    expect(result.cost).toBeCloseTo(0.102, 10)
    expect(result).toMatchObject({ usage })
    expect(await audit()).toMatchObject([{ status: 'active', model: 'model-7', usage }])
    const [request] = server.requests
    expect(request!.format).toBe(format)
    expect(request!.text).toContain('END OF THE MATERIAL')
  })

  it('counts what was read from a cache among the input, at its own price', async () => {
    const price = { ...PRICE, cacheRead: 0.5 }
    const result = await run([{ text: GOOD, usage: { ...USAGE, cacheReadTokens: 60_000 } }], {}, { price })
    expect(result.usage).toMatchObject({ inputTokens: 100_000, outputTokens: 1_000, cacheReadTokens: 60_000 })
    // 0.04 + 0.03 + 0.002 dollars.
    expect(result.cost).toBeCloseTo(0.072, 10)
  })

  it('is called again after 429 and 500, when the server asks for it', async () => {
    const result = await run([
      { status: 429, retryAfterMs: 5 },
      { status: 500, retryAfterMs: 5 },
      { text: GOOD },
    ])
    expect(result).toMatchObject({ compacted: true, failed: [] })
    expect(server.requests).toHaveLength(3)
  })

  const CALLS: readonly (readonly [string, Scripted, string, number])[] = [
    ['a rate limit that stays', { status: 429, retryAfterMs: 1 }, 'HTTP_429', 2],
    ['an error of the server that stays', { status: 500, retryAfterMs: 1 }, 'HTTP_500', 2],
    ['a request it will not have', { status: 400, message: CANARY }, 'HTTP_400', 1],
    ['a key it does not know', { status: 401, message: 'sk-secret' }, 'HTTP_401', 1],
    ['JSON that is cut off', { raw: '{"id": "x", "choices": [' }, 'INVALID_RESPONSE', 1],
  ]
  it.each(CALLS)('%s', async (_, scripted, error, requests) => {
    const result = await run([scripted], {}, { maxRetries: 1 })
    expect(result).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
    expect(result.failed).toMatchObject([{ status: 'failed', error, summarizer: 'ai-sdk' }])
    expect(await audit()).toMatchObject([{ status: 'failed', error }])
    expect(server.requests).toHaveLength(requests)
  })

  it('JSON of another kind', async () => {
    const result = await run([{ raw: '{"hello": true}' }], {}, { maxRetries: 0 })
    // Some providers stumble over it, and some call it an error of the server's.
    expect(['INVALID_RESPONSE', 'TypeError', 'HTTP_500']).toContain(result.failed[0]!.error)
    expect(await audit()).toMatchObject([{ status: 'failed' }])
  })

  it.each([
    ['before the answer', { cut: true }],
    ['in the middle of it', { text: GOOD, cutAfter: 20 }],
  ] as const)('a connection cut %s', async (_, scripted) => {
    const result = await run([scripted], {}, { maxRetries: 0 })
    expect(result).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
    expect(['CONNECTION_FAILED', 'INVALID_RESPONSE']).toContain(result.failed[0]!.error)
    expect(await audit()).toMatchObject([{ status: 'failed' }])
  })

  it('a server that never responds is limited by the time of the run and by its own', async () => {
    for (const [config, options] of [
      [{ summaryTimeoutMs: 60 }, {}],
      [{}, { timeoutMs: 60 }],
    ] as const) {
      server.forget()
      const result = await run([{ silent: true }], config, options)
      expect(result.failed).toMatchObject([{ status: 'failed', error: 'SUMMARY_TIMEOUT' }])
      // The request is given up as well, where the time was enough to send it.
      await expect.poll(() => server.requests.every((request) => request.gone())).toBe(true)
    }
    expect(await audit()).toMatchObject([{ error: 'SUMMARY_TIMEOUT' }, { error: 'SUMMARY_TIMEOUT' }])
  })

  const ANSWERS: readonly (readonly [string, Scripted, string, 'failed' | 'rejected'])[] = [
    ['nothing', { text: '', usage: USAGE }, 'EMPTY_SUMMARY', 'failed'],
    [
      'thoughts in its text alone',
      { text: '<think>so much to say</think>\n', usage: USAGE },
      'SUMMARY_REASONING_ONLY',
      'failed',
    ],
    [
      'a refusal',
      { text: 'I’m sorry, but I can’t help with that.', usage: USAGE },
      'SUMMARY_REFUSED',
      'failed',
    ],
    [
      'what a filter stopped',
      { text: 'So', finish: 'content-filter', usage: USAGE },
      'SUMMARY_REFUSED',
      'failed',
    ],
    ['what its limit cut', { text: GOOD, finish: 'length', usage: USAGE }, 'SUMMARY_CUT', 'failed'],
    [
      'more than it stands for',
      { text: `${GOOD} ${'long '.repeat(10_000)}`, usage: USAGE },
      'SUMMARY_NOT_SMALLER',
      'rejected',
    ],
  ]
  it.each(ANSWERS)('response %s: called once more, then abandoned', async (_, scripted, error, status) => {
    const result = await run([scripted])
    const usage = { inputTokens: 100_000, outputTokens: 1_000 }
    const attempt = { status, error, summarizer: 'ai-sdk', usage }
    expect(result).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED', failed: [attempt, attempt] })
    // Both were paid for.
    expect(result.usage).toMatchObject({ inputTokens: 200_000, outputTokens: 2_000 })
    expect(result.cost).toBeCloseTo(0.204, 10)
    expect(await audit()).toMatchObject([
      { status, error, usage },
      { status, error, usage },
    ])
    // A client may send a request again on a new connection, so the first and the last count.
    const texts = server.requests.map((request) => request.text)
    expect(texts[0]).not.toContain('An earlier answer to this')
    expect(texts.at(-1)).toContain('An earlier answer to this')
  })

  it('is called once more and then accepted', async () => {
    const result = await run([{ text: '' }, { text: GOOD }])
    expect(result).toMatchObject({ compacted: true, failed: [{ error: 'EMPTY_SUMMARY' }] })
    expect(await audit()).toMatchObject([{ status: 'failed' }, { status: 'active' }])
  })

  it('falls back to the offline summarizer if that is allowed, and reports it', async () => {
    const result = await run([{ text: '' }], { offlineFallback: true })
    expect(result.failed.map(({ error }) => error)).toEqual(['EMPTY_SUMMARY', 'EMPTY_SUMMARY'])
    expect(result.compactions).toMatchObject([{ summarizer: 'extractive', insteadOf: 'ai-sdk' }])
    const [, , active] = await store.listCompactions('s')
    expect(active).toMatchObject({
      status: 'active',
      summarizer: 'extractive',
      params: { insteadOf: 'ai-sdk' },
    })
  })

  it('stops at once when the caller aborts, and records the request', async () => {
    const controller = new AbortController()
    server.script([{ silent: true }])
    const summarizer = aiSdkSummarizer({ model })
    const running = store.compactSession('s', { summarizer, targetTokens: 1_000, signal: controller.signal })
    const refused = expect(running).rejects.toMatchObject({ code: 'ABORTED' })
    await expect.poll(() => server.requests.length).toBe(1)
    controller.abort()
    await refused
    expect(await audit()).toMatchObject([{ status: 'aborted', error: 'ABORTED' }])
    await expect.poll(() => server.requests[0]?.gone()).toBe(true)
  })
})

it('the audit records the cost of chunks that were answered before one failed', async () => {
  const [, model] = modelsOf(server)[0]!
  server.script([{ text: GOOD, usage: { inputTokens: 700, outputTokens: 30 } }, { status: 400 }])
  // The conversation takes 10,000 tokens or so, and this leaves room for a part of it.
  const summarizer = aiSdkSummarizer({ model, price: PRICE, maxInputTokens: 3_000 })
  const result = await store.compactSession('s', { summarizer, enableTruncate: false, targetTokens: 1_000 })
  expect(server.requests).toHaveLength(2)
  expect(result!.failed).toMatchObject([{ error: 'HTTP_400', usage: { inputTokens: 700, outputTokens: 30 } }])
  expect(result!.failed[0]!.cost).toBeCloseTo((700 + 60) / 1e6, 12)
  expect(await store.listCompactions('s')).toMatchObject([{ status: 'failed', usage: { inputTokens: 700 } }])
})
