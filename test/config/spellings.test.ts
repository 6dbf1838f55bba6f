import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { SETTING_NAMES } from '../../src/store/config/settings.ts'
import { withOwnNames } from '../../src/store/config/spellings.ts'
import { refusal } from '../storage/contract/support.ts'
import { chat } from '../support/conversation.ts'
import { S } from './cases.ts'

const known = new Set<string>(SETTING_NAMES)
const read = (value: object): Record<string, unknown> => withOwnNames(value, { known, what: 'test' }).settings

describe("the founding documents' spellings", () => {
  it.each([
    [{ enablePruning: false }, { enablePrune: false }],
    [{ enableDeduplication: false }, { enableDeduplicate: false }],
    [{ enableSummarization: false }, { enableSummarize: false }],
    [{ enableSlidingWindow: false }, { enableTruncate: false }],
    [{ enableTruncation: false }, { enableTruncate: false }],
    [{ tokenThreshold: 5 }, { thresholdTokens: 5 }],
    [{ contextCompaction: { enabled: false } }, { auto: false }],
    [{ conversationMemory: { enabled: false } }, { enabled: false }],
    [
      { conversationMemory: { contextCompaction: { enabled: false, target: 0.5 } } },
      { auto: false, target: 0.5 },
    ],
    [{ memory: { auto_compact_on_finish: true } }, { autoCompactOnFinish: true }],
    [{ memory: { context: { max_retained_messages: 5 } } }, { maxRetainedMessages: 5, preset: 'nca' }],
    [
      { memory: { context: { maxRetainedMessages: 5 } }, preset: 'neuron' },
      { maxRetainedMessages: 5, preset: 'neuron' },
    ],
    [{ memory: { file_path: '.nca/memory.json', max_notes: 100 } }, { maxNotes: 100 }],
    [{ conversationMemory: { maxSessions: 50 } }, {}],
  ])('%j', (given, own) => {
    expect(read(given)).toEqual(own)
  })

  it('automatic compaction follows summaries by the table of seed 003, unless it is set [S3-017]', () => {
    expect(read({ conversationMemory: { enableSummarization: false } })).toEqual({
      enableSummarize: false,
      auto: false,
    })
    expect(read({ conversationMemory: { enableSummarization: true } })).toEqual({ enableSummarize: true })
    expect(
      read({ conversationMemory: { enableSummarization: false, contextCompaction: { enabled: true } } }),
    ).toEqual({
      enableSummarize: false,
      auto: true,
    })
    expect(read({ enableSummarization: false })).toEqual({ enableSummarize: false })
    // As files write it.
    const file = { conversation_memory: { enable_summarization: false } }
    expect(withOwnNames(file, { known, what: 'test', snake: true }).settings).toEqual({
      enableSummarize: false,
      auto: false,
    })
  })

  it('of one setting must agree, wherever they are', () => {
    const twice = [
      { enablePrune: true, enablePruning: false },
      { enableSlidingWindow: true, enableTruncation: false },
      { threshold: 0.5, contextCompaction: { threshold: 0.6 } },
      { auto: true, conversationMemory: { contextCompaction: { enabled: false } } },
      { pruneProtectedTools: ['a'], contextCompaction: { pruneProtectedTools: ['b'] } },
    ]
    for (const one of twice) expect(() => read(one)).toThrow(/given twice/)
    expect(read({ pruneProtectedTools: ['a'], contextCompaction: { pruneProtectedTools: ['a'] } })).toEqual({
      pruneProtectedTools: ['a'],
    })
  })

  it('are no others', () => {
    for (const one of [
      { prune: true },
      { enable_prune: true },
      { conversationMemory: { nothing: 1 } },
      { conversationMemory: 5 },
      { memory: { context: { threshold: 1 } } },
      { ['__proto__']: { threshold: 1 } },
      JSON.parse('{"__proto__":{"threshold":1}}') as object,
      { constructor: 1 },
    ])
      expect(() => read(one)).toThrow(/Unrecognized key/)
  })

  it('count in a call, as its own names do', async () => {
    await using store = await openStore(':memory:', { env: false, config: { enablePruning: false } })
    await store.append(S, chat(10, 100))
    const off = {
      enablePruning: false,
      enableDeduplication: false,
      enableSummarization: false,
      targetTokens: 1_000,
    }
    expect((await store.previewCompaction(S, off))!.stagesUsed).toEqual(['truncate'])
    expect((await store.previewCompaction(S, { ...off, enableSlidingWindow: false }))!.stagesUsed).toEqual([])
    await refusal(store.compactSession(S, { ...off, enableSummarize: true }), 'INVALID_INPUT')
    await refusal(store.compactSession(S, { contextManagement: {} } as never), 'INVALID_INPUT')
    await refusal(store.previewCompaction(S, { summarise: true } as never), 'INVALID_INPUT')
    expect((await store.compactSession(S, off))!.stagesUsed).toEqual(['truncate'])
  })
})

it('are stored under their own names, beside what an application keeps there', async () => {
  await using store = await openStore(':memory:', { env: false })
  const config = {
    maxTokens: 5,
    conversationMemory: { mine: 1, enableSummarization: false, contextCompaction: { threshold: 0.5 } },
    memory: { context: { max_retained_messages: 7 } },
    theme: 'dark',
  }
  await store.sessions.create({ id: S, config })
  const stored = {
    maxOutputTokens: 5,
    enableSummarize: false,
    auto: false,
    threshold: 0.5,
    preset: 'nca',
    maxRetainedMessages: 7,
    conversationMemory: { mine: 1 },
    theme: 'dark',
  }
  expect((await store.sessions.get(S)).config).toEqual(stored)
  // What was stored stays the same when it is written again.
  await store.sessions.update(S, { config: stored })
  expect((await store.sessions.get(S)).config).toEqual(stored)
})

it('switched off means null and false, and no message is lost [S3-013 S3-040 S3-048 S3-054]', async () => {
  await using store = await openStore(':memory:', {
    env: false,
    config: { conversationMemory: { enabled: false } },
  })
  await store.append(S, chat(10, 100))
  expect(await store.getContextStats(S)).toBeNull()
  expect(store.needsCompaction(S, 'openai', 'gpt-4', { threshold: 0 })).toBe(false)
  expect(await store.compactSession(S)).toBeNull()
  expect(await store.previewCompaction(S)).toBeNull()
  expect(await store.getEffectiveHistory(S)).toHaveLength(20)
  await store.sessions.update(S, { config: { enabled: true } })
  expect((await store.getContextStats(S))!.messageCount).toBe(20)
})

it('compaction that is not automatic runs on request [S3-017]', async () => {
  await using store = await openStore(':memory:', { env: false, config: { auto: false } })
  await store.append(S, chat(10, 100))
  expect((await store.compactSession(S, { targetTokens: 1_000 }))!.compacted).toBe(true)
})
