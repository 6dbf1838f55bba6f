import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import { checkContextBudget } from '../../src/core/tokens/index.ts'
import { type CompactionPreview, openStore, type Store } from '../../src/index.ts'
import { failureOf } from '../support/failures.ts'

const OWN = {
  system: 'Be brief.',
  prompt: 'And now?',
  tools: [{ name: 'search' }],
  files: [{ content: 'a file' }],
  maxOutputTokens: 500,
}
const NEUROLINK = {
  systemPrompt: 'Be brief.',
  currentPrompt: 'And now?',
  toolDefinitions: [{ name: 'search' }],
  fileAttachments: [{ content: 'a file' }],
  maxTokens: 500,
}

describe('the names of the parts of a request that NeuroLink has', () => {
  let store: Store
  beforeEach(async () => {
    store = await openStore(':memory:')
    const messages = Array.from({ length: 20 }, (_, index) => ({
      id: `m${index}`,
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: 'words '.repeat(200),
    }))
    await store.append('s', messages)
  })
  afterEach(() => store.close())

  const overflow = new Error("This model's maximum context length is 8192 tokens")
  const usage = { inputTokens: 9_000, outputTokens: 10 }
  const withoutLimit = ({ maxOutputTokens: _, maxTokens: __, ...parts }: typeof OWN & typeof NEUROLINK) =>
    parts
  const figures = (result: CompactionPreview | null) => [result!.tokensBefore, result!.tokensAfter]
  const calls: Readonly<Record<string, (options: typeof OWN & typeof NEUROLINK) => unknown>> = {
    checkContextBudget: (options) => checkContextBudget({ provider: 'openai', ...options }),
    getContextStats: (options) => store.getContextStats('s', 'openai', 'gpt-4', options),
    needsCompaction: (options) => store.needsCompaction('s', 'openai', 'gpt-4', options),
    undoIfFits: (options) => store.undoCompaction('s', { ifFits: options }),
    recordUsage: async (options) =>
      (await store.requests.recordUsage('s', { ...usage, ...withoutLimit(options) })).estimatedTokens,
    recordOverflow: (options) => store.limits.learn('s', overflow, withoutLimit(options)),
    beforeTurn: (options) => beforeTurn(store, 's', { ...options, auto: false }),
    afterTurn: (options) => afterTurn(store, 's', { ...options, auto: false }),
    previewCompaction: async (options) =>
      figures(await store.previewCompaction('s', { ...options, targetTokens: 2_000 })),
  }

  test('change what is counted', async () => {
    const withParts = await store.getContextStats('s', 'openai', 'gpt-4', NEUROLINK)
    // "And now?" is 8 characters: 2 tokens, 2.3 with the margin, and 4 for the message.
    expect(withParts!.breakdown.currentPrompt).toBe(7)
    expect(withParts!.outputReserve).toEqual({ tokens: 500, source: 'maxOutputTokens' })
  })

  for (const [name, call] of Object.entries(calls)) {
    test(`are counted as their own names are in ${name}`, async () => {
      expect(await call(NEUROLINK as never)).toEqual(await call(OWN as never))
    })

    test(`are refused beside the name of the same part in ${name}`, async () => {
      const both = { ...OWN, systemPrompt: 'Be long.' }
      expect(await failureOf(async () => call(both as never))).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('system is given twice, under two names'),
      })
    })
  }
})
