import { describe, expect, it } from 'vitest'
import { ContextCompactor, CUT_ENDING } from '../../src/compat/arrays/index.ts'
import { type ChatMessage, type NewMessage, openStore, type Summarizer } from '../../src/index.ts'
import { saying } from '../plain/support.ts'

/* Rows of the founding documents that no other test holds by itself. docs/internals/seeds.md says which. */

const S = 's'
const turns = (count: number, length = 40): NewMessage[] =>
  Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${at} `.padEnd(length, 'word '),
  }))

/** A question, and so many calls with outputs of 4,000 characters: 1,150 tokens each. */
function toolHeavy(calls: number): ChatMessage[] {
  const used = Array.from({ length: calls }, (_, at): ChatMessage[] => [
    { role: 'tool_call', content: '', tool: 'grep', toolCallId: `c${at}` },
    { role: 'tool_result', content: 'x'.repeat(4_000), tool: 'grep', toolCallId: `c${at}` },
  ])
  return [{ role: 'user', content: 'look' }, ...used.flat(), { role: 'assistant', content: 'done' }]
}

describe('the verbs of seed 003', () => {
  it('openai is the provider when none is given, and the ratio prints as a percentage [S3-042 S3-043 S3-056]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append(S, turns(4))
    const stats = await store.getContextStats(S)
    expect(stats).toEqual(await store.getContextStats(S, 'openai'))
    expect(`${(stats!.usageRatio * 100).toFixed(0)}%`).toBe('0%')
    expect(store.needsCompaction(S)).toBe(store.needsCompaction(S, 'openai'))
  })

  it('needsCompaction returns at once, as the stats do [S3-052 S3-053 S3-055]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    // 27,000 characters: 6,750 × 1.15 = 7,763 tokens, over 80 % of the 5,324 that gpt-4 leaves for input.
    await store.append(S, [{ role: 'user', content: 'x'.repeat(27_000) }])
    expect(store.needsCompaction(S, 'openai', 'gpt-4')).toBe(true)
    expect((await store.getContextStats(S, 'openai', 'gpt-4'))!.shouldCompact).toBe(true)
    expect(store.needsCompaction(S)).toBe(false)
    expect(store.needsCompaction('nobody')).toBe(false)
  })

  it('the example of compactSession runs, and its figures can be printed [S3-044 S3-047 S3-050 S3-051]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append(S, turns(40, 400))
    const result = await store.compactSession(S, {
      enablePrune: true,
      enableDeduplicate: true,
      enableSummarize: true,
      enableTruncate: true,
      pruneProtectTokens: 40_000,
      summarizationProvider: 'vertex',
      summarizationModel: 'gemini-2.5-flash',
      targetTokens: 2_000,
    })
    expect(result!.compacted).toBe(true)
    expect(result!.stagesUsed.join(', ')).toMatch(/^summarize/)
    expect(result!.tokensSaved).toBe(result!.tokensBefore - result!.tokensAfter)
    expect(result!.tokensSaved).toBeGreaterThan(0)
  })

  it('under the target it reports why nothing was done [S3-045]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append(S, turns(4))
    expect(await store.compactSession(S)).toMatchObject({ compacted: false, reason: 'NOTHING_TO_COMPACT' })
  })
})

describe('the pipeline', () => {
  it('pruning alone suffices for tool outputs: no model is called, nothing is hidden [S2-030 S2-031 S2-046 S3-006]', async () => {
    const summarizer = saying('s')
    const messages = toolHeavy(20)
    const config = { summarizer, pruneProtectTokens: 2_000, pruneMinimumSavings: 0 }
    const result = await new ContextCompactor(config).compact(messages, 6_000)
    expect(result.stagesUsed).toEqual(['prune'])
    expect(summarizer.asked).toHaveLength(0)
    expect(result.messages).toHaveLength(messages.length)
  })

  it('deduplication calls no model [S3-007]', async () => {
    const summarizer = saying('s')
    const read = (id: string): ChatMessage[] => [
      { role: 'tool_call', content: '', tool: 'read_file', args: { path: 'a.ts' }, toolCallId: id },
      { role: 'tool_result', content: 'x'.repeat(4_000), tool: 'read_file', toolCallId: id },
    ]
    const messages = [{ role: 'user', content: 'look' }, ...read('a'), ...read('b'), ...read('c')]
    const result = await new ContextCompactor({ summarizer }).compact(messages, 1_500)
    expect(result.stagesUsed).toEqual(['deduplicate'])
    expect(summarizer.asked).toHaveLength(0)
  })

  it('a summary takes one call, and one message replaces the old ones [S0-35 S0-38 S3-008]', async () => {
    const summarizer = saying('what was said')
    const result = await new ContextCompactor({ summarizer }).compact(turns(40, 400) as ChatMessage[], 2_000)
    expect(result.stagesUsed).toEqual(['summarize'])
    expect(summarizer.asked).toHaveLength(1)
    const [summary, ...others] = result.messages.filter(({ condenseId }) => condenseId !== undefined)
    expect(others).toEqual([])
    const covered = result.tagged.filter(({ condenseParent }) => condenseParent === summary!.condenseId)
    expect(covered).toHaveLength(40 - (result.messages.length - 1))
  })

  it('truncation calls no model and keeps the first exchange [S2-035 S3-009]', async () => {
    const summarizer = saying('s')
    const messages = turns(40, 400) as ChatMessage[]
    const result = await new ContextCompactor({ summarizer, enableSummarize: false }).compact(messages, 2_000)
    expect(result.stagesUsed).toEqual(['truncate'])
    expect(summarizer.asked).toHaveLength(0)
    expect(result.messages.slice(0, 2)).toEqual(messages.slice(0, 2))
  })
})

describe('the view', () => {
  it('looking at it changes no stored row [S2-081]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append(S, turns(40, 400))
    await store.compactSession(S, { targetTokens: 2_000 })
    const before = await store.getMessages(S)
    await store.getEffectiveHistory(S, { provenance: true })
    await store.renderHistory(S, { provider: 'anthropic' })
    await store.getContextStats(S)
    await store.previewCompaction(S, { targetTokens: 500 })
    expect(await store.getMessages(S)).toEqual(before)
  })

  it('a second round gives a second summary [S4-U11]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    const summarizer: Summarizer = saying('what was said')
    for (const round of [1, 2]) {
      await store.append(S, turns(40, 400))
      await store.compactSession(S, { targetTokens: 2_000, summarizer })
      const summaries = (await store.getMessages(S)).filter(({ kind }) => kind === 'summary')
      expect(summaries).toHaveLength(round)
    }
  })
})

describe('the last resort', () => {
  it('one message ten times too large is cut until it fits, stays whole in the store, and the run reports it [S2-101 S2-104 S2-106 S2-108]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    // gpt-4 leaves 5,324 tokens for input; this is 53,475.
    const content = 'word '.repeat(37_200)
    await store.append(S, [{ role: 'user', content }])
    const result = await store.compactSession(S, { provider: 'openai', model: 'gpt-4' })
    expect(result).toMatchObject({ fits: true, compactions: [{ kind: 'cut' }] })
    expect(CUT_ENDING).toBe('... [TRUNCATED]')
    const [shown] = await store.getEffectiveHistory(S)
    expect(JSON.stringify(shown!.content)).toContain('... [TRUNCATED]"')
    expect((await store.getMessages(S))[0]!.content).toBe(content)
  })

  it('what stays over the target is reported: the target is missed, the window is not [S2-032]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    // 1,150 tokens each. What always stays, the first exchange and some of the newest turn, is more than 40 % of
    // the 5,324 that gpt-4 leaves for input.
    await store.append(S, turns(50, 4_000))
    const result = await store.compactSession(S, {
      provider: 'openai',
      model: 'gpt-4',
      enableSummarize: false,
    })
    expect(result).toMatchObject({ targetTokens: 2_129, reachedTarget: false, fits: true })
  })

  it('what fits is not cut [S2-107]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append(S, turns(4))
    await store.compactSession(S, { provider: 'openai', model: 'gpt-4', targetTokens: 0 })
    expect((await store.listCompactions(S)).map(({ kind }) => kind)).not.toContain('cut')
  })

  it('of 50 huge messages so many go that the rest fits [S4-U07]', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    // 4,000 characters: 1,150 tokens each, five of them fit.
    await store.append(S, turns(50, 4_000))
    const result = await store.compactSession(S, { targetTokens: 6_000, enableSummarize: false })
    expect(result).toMatchObject({ reachedTarget: true, fits: true })
  })
})
