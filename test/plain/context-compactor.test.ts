import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type ArrayCompactionConfig,
  type ArrayCompactionResult,
  ContextCompactor,
  getEffectiveHistory,
  PRUNE_PLACEHOLDER,
  removeCondensationTags,
  removeTruncationTags,
} from '../../src/compat/arrays/index.ts'
import { estimateMessagesTokens } from '../../src/core/tokens/index.ts'
import type { ChatMessage, CompactionConfig, CompactionResult } from '../../src/index.ts'
import { assistant, call, deepFreeze, failing, places, result, saying, talk, user } from './support.ts'

/** A turn in which a file is read: question, call, result of about `tokens` tokens, answer. */
function reading(path: string, tokens: number): ChatMessage[] {
  return [
    user(`what is in ${path}?`),
    call('read_file', { path }),
    result('read_file', 'x'.repeat(Math.floor((tokens * 4) / 1.15))),
    assistant(`it is in ${path}`),
  ]
}

const NOTHING = {
  enablePrune: false,
  enableDeduplicate: false,
  enableSummarize: false,
  enableTruncate: false,
} satisfies ArrayCompactionConfig

it('accepts the options of compactSession, except those that need a store, and returns its shape [S3-076 S3-077]', () => {
  expectTypeOf<ArrayCompactionConfig>().toExtend<CompactionConfig>()
  type Seed = 'compacted' | 'stagesUsed' | 'tokensBefore' | 'tokensAfter' | 'tokensSaved' | 'messages'
  expectTypeOf<CompactionResult>().toExtend<Pick<ArrayCompactionResult, Seed>>()
  const seed = {
    enablePrune: true,
    enableDeduplicate: true,
    enableSummarize: true,
    enableTruncate: true,
    pruneProtectTokens: 40_000,
    pruneMinimumSavings: 20_000,
    pruneProtectedTools: ['skill'],
    summarizationProvider: 'vertex',
    summarizationModel: 'gemini-2.5-flash',
    keepRecentRatio: 0.3,
    truncationFraction: 0.5,
    provider: '',
  }
  expect(new ContextCompactor(seed)).toBeInstanceOf(ContextCompactor)
  for (const config of [{ enablePruning: true }, { trigger: 'manual' }, { keepRecentRatio: 2 }]) {
    expect(() => new ContextCompactor(config as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    )
  }
})

it('does nothing to messages within the target [S3-058]', async () => {
  const messages = deepFreeze(talk(20))
  const outcome = await new ContextCompactor().compact(messages, 100_000)
  expect(outcome).toMatchObject({
    compacted: false,
    stagesUsed: [],
    tokensSaved: 0,
    messages,
    tagged: messages,
    reachedTarget: true,
    reason: 'NOTHING_TO_COMPACT',
  })
  expect(await new ContextCompactor().compact([])).toMatchObject({ compacted: false, tokensBefore: 0 })
})

describe('runs the stages in order, each only while the messages are over the target [S3-057 S3-059 S3-097]', () => {
  // Four reads of 10,000 tokens. Pruning takes the oldest, deduplication the one before the second of a.ts.
  const messages = deepFreeze([
    ...reading('src/b.ts', 10_000),
    ...reading('src/a.ts', 10_000),
    ...reading('src/a.ts', 10_000),
    ...talk(40),
    ...reading('src/c.ts', 10_000),
  ])
  const config = { pruneProtectTokens: 25_000, pruneMinimumSavings: 0, summarizer: saying('short') }

  it.each([
    { target: 50_000, stages: [] },
    { target: 35_000, stages: ['prune'] },
    { target: 25_000, stages: ['prune', 'deduplicate'] },
    { target: 16_000, stages: ['prune', 'deduplicate', 'summarize'] },
  ])('$target tokens: $stages', async ({ target, stages }) => {
    const outcome = await new ContextCompactor(config).compact(messages, target)
    expect(outcome.stagesUsed).toEqual(stages)
    expect(outcome.compacted).toBe(stages.length > 0)
    expect(outcome.reachedTarget).toBe(true)
  })

  it('and truncation when there is no summary', async () => {
    const outcome = await new ContextCompactor({ ...config, summarizer: failing }).compact(messages, 16_000)
    expect(outcome.stagesUsed).toEqual(['prune', 'deduplicate', 'truncate'])
  })

  it.each([
    { row: 'S3-064', only: 'enablePrune', stage: 'prune' },
    { row: 'S3-065', only: 'enableDeduplicate', stage: 'deduplicate' },
    { row: 'S3-066', only: 'enableSummarize', stage: 'summarize' },
    { row: 'S3-067', only: 'enableTruncate', stage: 'truncate' },
  ])('$row $only alone runs $stage alone, and false keeps it from running', async ({ only, stage }) => {
    const compactor = new ContextCompactor({ ...config, ...NOTHING, [only]: true })
    expect((await compactor.compact(messages, 1_000)).stagesUsed).toEqual([stage])
    const without = new ContextCompactor({ ...config, [only]: false })
    expect((await without.compact(messages, 1_000)).stagesUsed).not.toContain(stage)
  })
})

it('figures are the estimator’s, before and after [S3-060 S3-061 S3-062 S3-075]', async () => {
  // Calls without arguments, so that estimateMessagesTokens sees all there is.
  const messages = [
    ...talk(10),
    call('look'),
    result('look', 'x'.repeat(8_000)),
    ...talk(10).map((message) => ({ ...message, id: `n${message.id}` })),
  ]
  for (const provider of ['', 'anthropic']) {
    const outcome = await new ContextCompactor({ provider, summarizer: saying('short') }).compact(
      messages,
      300,
    )
    expect(outcome.compacted).toBe(true)
    expect(outcome.tokensBefore).toBe(estimateMessagesTokens(messages, provider))
    expect(outcome.tokensAfter).toBe(estimateMessagesTokens(outcome.messages, provider))
    expect(outcome.tokensSaved).toBe(outcome.tokensBefore - outcome.tokensAfter)
  }
})

it('messages are the effective history of tagged, which comes back whole [S3-063 S3-151 S3-U07]', async () => {
  const messages = deepFreeze([...talk(30)])
  const compactor = new ContextCompactor({ summarizer: saying('short'), keepRecentRatio: 0.9 })
  const { messages: left, tagged, compactions, stagesUsed } = await compactor.compact(messages, 300)
  // Truncation would hide messages after the summary: a further summary replaces them.
  expect(stagesUsed).toEqual(['summarize'])
  expect(compactions.map(({ kind, summarizer }) => [kind, summarizer])).toEqual([
    ['condense', 'saying'],
    ['condense', 'extractive'],
  ])
  expect(tagged.some(({ truncationParent }) => truncationParent !== undefined)).toBe(false)
  expect(getEffectiveHistory(tagged)).toEqual(left)
  const undone = compactions.reduceRight(
    (list, { id }) => removeCondensationTags(removeTruncationTags(list, id), id),
    tagged,
  )
  expect(undone).toEqual(messages)
})

it('keeps the own text of what it hides, even when an earlier stage had replaced it', async () => {
  const messages = deepFreeze([...reading('src/a.ts', 10_000), ...talk(40), ...reading('src/c.ts', 100)])
  const config = { pruneProtectTokens: 101, pruneMinimumSavings: 0, summarizer: saying('short') }
  const { tagged, stagesUsed, compactions } = await new ContextCompactor(config).compact(messages, 300)
  expect(stagesUsed).toEqual(['prune', 'summarize'])
  expect(tagged[2]).toEqual({ ...messages[2], condenseParent: compactions[1]!.id })
})

it('the settings of pruning reach it [S3-068 S3-069 S3-070]', async () => {
  const messages = [...reading('a', 5_000), ...reading('b', 5_000), ...reading('c', 5_000)]
  const cleared = async (config: ArrayCompactionConfig): Promise<number[]> => {
    const compactor = new ContextCompactor({ ...NOTHING, enablePrune: true, ...config })
    const { messages: left } = await compactor.compact(messages, 100)
    return left.flatMap(({ content }, index) => (content === PRUNE_PLACEHOLDER ? [index] : []))
  }
  expect(await cleared({})).toEqual([])
  expect(await cleared({ pruneProtectTokens: 5_002, pruneMinimumSavings: 4_000 })).toEqual([2])
  expect(await cleared({ pruneProtectTokens: 0, pruneMinimumSavings: 20_000 })).toEqual([])
  expect(await cleared({ pruneProtectTokens: 0, pruneMinimumSavings: 0 })).toEqual([2, 6, 10])
  expect(
    await cleared({ pruneProtectTokens: 0, pruneMinimumSavings: 0, pruneProtectedTools: ['read_file'] }),
  ).toEqual([])
})

it('provider and model of the summary reach the summarizer [S3-071 S3-072]', async () => {
  const summarizer = saying('short')
  const config = { summarizer, summarizationProvider: 'vertex', summarizationModel: 'gemini-2.5-flash' }
  await new ContextCompactor(config).compact(talk(30), 200)
  expect(summarizer.asked[0]).toMatchObject({ provider: 'vertex', model: 'gemini-2.5-flash' })
})

it('a given ratio counts by the rule of the seed: 30 messages keep 9 [S3-073]', async () => {
  const messages = talk(30)
  const compactor = new ContextCompactor({ summarizer: saying('short'), keepRecentRatio: 0.3 })
  const { messages: left } = await compactor.compact(messages, 400)
  expect(places(left, messages)).toEqual([-1, 21, 22, 23, 24, 25, 26, 27, 28, 29])
})

it('a given fraction counts by the rule of the seed: of 30 messages 14 go [S3-074]', async () => {
  const messages = talk(30)
  const compactor = new ContextCompactor({ ...NOTHING, enableTruncate: true, truncationFraction: 0.5 })
  const { messages: left } = await compactor.compact(messages, 400)
  expect(left).toHaveLength(30 - 14 + 1)
})

it('when the summary fails truncation follows, and the result reports it [S3-128]', async () => {
  const messages = deepFreeze(talk(30))
  const outcome = await new ContextCompactor({ summarizer: failing }).compact(messages, 300)
  expect(outcome.stagesUsed).toEqual(['truncate'])
  expect(outcome.failed).toEqual([{ status: 'failed', error: 'Error' }])
  expect(outcome.reachedTarget).toBe(true)
})

it('aims at 40 % of what the model takes when no target is given', async () => {
  // gpt-4: 8,192, of which ceil(8,192 × 0.35) = 2,868 are for the answer; 0.4 × 5,324 = 2,129.
  const compactor = new ContextCompactor({ provider: 'openai', model: 'gpt-4' })
  const outcome = await compactor.compact(talk(200, 200))
  expect(outcome.targetTokens).toBe(2_129)
  expect(outcome).toMatchObject({ reachedTarget: true, fits: true })
  const own = new ContextCompactor({ targetTokens: 5_000 })
  expect((await own.compact(talk(200, 200))).targetTokens).toBe(5_000)
  expect((await own.compact(talk(200, 200), 2_000)).targetTokens).toBe(2_000)
  await expect(own.compact([], -1)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

it('cuts over-long contents when nothing else makes the request fit', async () => {
  const messages = [user('x'.repeat(60_000)), assistant('ok')]
  const compactor = new ContextCompactor({ provider: 'openai', model: 'gpt-4' })
  const { messages: left, fits, stagesUsed } = await compactor.compact(messages)
  expect(stagesUsed).toEqual(['truncate'])
  expect(fits).toBe(true)
  expect(left[0]!.content).toMatch(/x\.\.\. \[TRUNCATED\]$/)
})
