import { createProviderRegistry, wrapLanguageModel } from 'ai'
import { beforeEach, describe, expect, it } from 'vitest'
import { aiSdkSummarizer, undertext } from '../../src/adapters/ai-sdk/index.ts'
import { type CompactOptions, openStore, type Store, type SummaryRequest } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { type MockCall, mockModel, silenceWarnings } from './sdk.ts'

silenceWarnings()

const GOOD = '## Current Work\n- The parser reads dates.'
const SUMMARIZE: CompactOptions = { enablePrune: false, enableTruncate: false, targetTokens: 1_000 }

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink' })
  await store.append('s', chat(10, 400))
  return () => store.close()
})

/** The text of the one user message of a call. */
function promptOf({ prompt }: MockCall): string {
  const { content } = prompt.find(({ role }) => role === 'user')!
  return (content as readonly { readonly text: string }[]).map(({ text }) => text).join('')
}

describe('any language model of the AI SDK', () => {
  it('is sent the request once and writes the summary', async () => {
    const model = mockModel([GOOD])
    const summarizer = aiSdkSummarizer({ model, providerOptions: { openai: { user: 'u' } } })
    const result = await store.compactSession('s', { ...SUMMARIZE, summarizer })
    expect(result!.compactions).toMatchObject([{ summarizer: 'ai-sdk', model: 'gpt-4o-2024' }])
    expect(model.doGenerateCalls).toHaveLength(1)
    const [call] = model.doGenerateCalls
    expect(call!.prompt.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(call!.temperature).toBeUndefined()
    expect(call!.providerOptions).toMatchObject({ openai: { user: 'u' } })
    const [compaction] = await store.listCompactions('s')
    expect(compaction).toMatchObject({
      promptVersion: 'undertext-3',
      usage: { inputTokens: 100, outputTokens: 20 },
    })
    expect(compaction!.cost).toBeUndefined()
  })

  it('may be one that stores its conversation: the summary is not part of it, and no call waits for itself', async () => {
    type Model = Parameters<typeof wrapLanguageModel>[0]['model']
    const bare = mockModel([GOOD]) as unknown as Model
    const model = wrapLanguageModel({ model: bare, middleware: undertext(store, 's') })
    const before = (await store.getMessages('s')).length
    const result = await store.compactSession('s', { ...SUMMARIZE, summarizer: aiSdkSummarizer({ model }) })
    expect(result!.compactions).toMatchObject([{ summarizer: 'ai-sdk' }])
    // The summary itself, and nothing of its request.
    expect((await store.getMessages('s')).length).toBe(before + 1)
  })

  it('takes all blocks of text of an answer, and no reasoning [S0-U09]', async () => {
    const content = [
      { type: 'reasoning', text: 'thinking aloud' },
      { type: 'text', text: '## Work\n- one\n' },
      { type: 'text', text: '- two' },
    ] as const
    const summarizer = aiSdkSummarizer({ model: mockModel([{ content }]) })
    await store.compactSession('s', { ...SUMMARIZE, summarizer })
    const [summary] = await store.getEffectiveHistory('s')
    expect(summary!.content).toBe('## Work\n- one\n- two')
  })

  it('reasoning without a text is no summary', async () => {
    const content = [{ type: 'reasoning', text: 'thinking aloud' }] as const
    const summarizer = aiSdkSummarizer({ model: mockModel([{ content }, GOOD]) })
    const result = await store.compactSession('s', { ...SUMMARIZE, summarizer })
    expect(result).toMatchObject({
      compacted: true,
      failed: [{ status: 'failed', error: 'SUMMARY_REASONING_ONLY' }],
    })
  })

  it('merges with the previous summary, which is separate from the messages', async () => {
    const model = mockModel([GOOD])
    const summarizer = aiSdkSummarizer({ model })
    await store.compactSession('s', { ...SUMMARIZE, summarizer })
    await store.append('s', chat(10, 400))
    await store.compactSession('s', { ...SUMMARIZE, summarizer })
    const second = promptOf(model.doGenerateCalls[1]!)
    expect(second).toMatch(
      /^The mark is ([0-9a-f]{8})\. .*\n\n\1 EARLIER SUMMARY\n## Current Work\n- The parser reads dates\.\n\1 MESSAGE 1/,
    )
    expect(second).toContain(
      'Carry over every rule and constraint of the earlier summary in full, word for word',
    )
  })

  it('what does not fit its window comes in chunks, each with the summary so far', async () => {
    const model = mockModel([GOOD])
    const summarizer = aiSdkSummarizer({ model, maxInputTokens: 3_000 })
    const result = await store.compactSession('s', { ...SUMMARIZE, summarizer })
    const calls = model.doGenerateCalls
    expect(calls.length).toBeGreaterThan(2)
    for (const [at, call] of calls.entries())
      expect(promptOf(call).includes('EARLIER SUMMARY'), `chunk ${at}`).toBe(at > 0)
    expect(result!.usage).toMatchObject({ inputTokens: 100 * calls.length, outputTokens: 20 * calls.length })
  })

  it('a request is the same to the byte when it is made again', async () => {
    const model = mockModel([new Error('down')])
    const summarizer = aiSdkSummarizer({ model })
    await store.compactSession('s', { ...SUMMARIZE, summarizer })
    await store.compactSession('s', { ...SUMMARIZE, summarizer })
    const [first, second] = model.doGenerateCalls
    expect(JSON.stringify(second!.prompt)).toBe(JSON.stringify(first!.prompt))
  })
})

describe('the model that a config names [S3-071 S3-072]', () => {
  const named = { summarizationProvider: 'vertex', summarizationModel: 'gemini-2.5-flash' }
  const registryOf = (model: ReturnType<typeof mockModel>) => ({
    languageModel: (id: string) => {
      if (id !== 'vertex:gemini-2.5-flash') throw new Error('no such model')
      return model
    },
  })

  it('is looked up in the registry', async () => {
    const [own, other] = [mockModel([GOOD]), mockModel([GOOD])]
    const summarizer = aiSdkSummarizer({ model: own, registry: registryOf(other) })
    await store.compactSession('s', { ...SUMMARIZE, ...named, summarizer })
    expect([own, other].map(({ doGenerateCalls }) => doGenerateCalls.length)).toEqual([0, 1])
  })

  it('is looked up in one of the AI SDK’s own', async () => {
    const model = mockModel([GOOD])
    const registry = createProviderRegistry({ vertex: { languageModel: () => model } as never })
    const summarizer = aiSdkSummarizer({ registry: registry as never })
    const result = await store.compactSession('s', { ...SUMMARIZE, ...named, summarizer })
    expect(result!.compactions).toMatchObject([{ summarizer: 'ai-sdk', model: 'gpt-4o-2024' }])
  })

  it('that is unknown leaves the summary to the offline summarizer, and the result reports it', async () => {
    const registry = registryOf(mockModel([GOOD]))
    const given = [
      [{ ...named, summarizer: aiSdkSummarizer({ registry }), summarizationModel: 'other' }, 'vertex:other'],
      [{ summarizer: aiSdkSummarizer({ registry }), summarizationProvider: 'vertex' }, 'vertex'],
      // Nobody calls a model at all: the seed's own defaults.
      [named, 'vertex:gemini-2.5-flash'],
      // A registry, and no name to look up.
      [{ summarizer: aiSdkSummarizer({ registry, name: 'cloud' }) }, 'cloud'],
    ] as const
    for (const [config, insteadOf] of given) {
      const result = await store.compactSession('s', { ...SUMMARIZE, ...config })
      expect(result!.compactions, insteadOf).toMatchObject([{ summarizer: 'extractive', insteadOf }])
      await store.undoCompaction('s', result!.runId)
    }
  })

  it('is not asked for where there is no registry: the model given writes', async () => {
    const summarizer = aiSdkSummarizer({ model: mockModel([GOOD]) })
    const result = await store.compactSession('s', { ...SUMMARIZE, ...named, summarizer })
    expect(result!.compactions[0]).toMatchObject({ summarizer: 'ai-sdk', model: 'gpt-4o-2024' })
    expect(result!.compactions[0]).not.toHaveProperty('insteadOf')
  })
})

it('rejects invalid options, and a request without a model', async () => {
  const model = mockModel([GOOD])
  for (const options of [
    {},
    { model: '' },
    { model: {} },
    { registry: {} },
    { model, modal: 1 },
    { model, price: { input: 1 } },
  ])
    expect(() => aiSdkSummarizer(options as never)).toThrow(/aiSdkSummarizer/)
  const bare = aiSdkSummarizer({ registry: { languageModel: () => model } })
  const request = {
    sessionId: '',
    messages: [],
    sections: [],
    maxTokens: 100,
    files: { read: [], modified: [] },
  } as SummaryRequest
  await expect(Promise.resolve(bare.summarize(request))).rejects.toMatchObject({
    code: 'MODEL_CALL_FAILED',
    facts: { error: 'MODEL_UNKNOWN' },
  })
})
