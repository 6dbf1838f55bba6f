import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { fromAnthropic, toAnthropic } from '../src/adapters/anthropic/index.ts'
import { fromOpenAI, toOpenAI } from '../src/adapters/openai/index.ts'
import { type Message, openStore, type Store, validateHistory } from '../src/index.ts'
import { expectAccepted } from './support/requests.ts'
import { sharedPath } from './support/shared.ts'

/*
 * Real conversations: imported, compacted to 50, 25 and 10 % of their tokens for several models, every rendering
 * along the way valid, undone, compared byte for byte.
 */

const MODELS = [
  { provider: 'anthropic', model: 'claude-sonnet-4-20250514' },
  { provider: 'openai', model: 'gpt-4o' },
  { provider: 'google-ai', model: 'gemini-2.5-pro' },
  { provider: 'mistral', model: 'mistral-large-latest' },
]
const SHARES = [0.5, 0.25, 0.1]

const codingSession = sharedPath('corpus/coding-session.anthropic.jsonl')
const airlineSupport = sharedPath('corpus/airline-support.openai.jsonl')

function linesOf(path: string): unknown[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

describe.skipIf(codingSession === undefined)('the coding session', () => {
  const transcript = codingSession === undefined ? [] : (linesOf(codingSession) as object[])
  let store: Store
  afterAll(() => store.close())

  it('comes out as it went in', async () => {
    // What providers were sent; previews are another matter.
    store = await openStore(':memory:', { config: { previewToolOutputs: false } })
    await store.append('coding', fromAnthropic(transcript as never))
    expect(toAnthropic(await store.getEffectiveHistory('coding')).messages).toEqual(transcript)
  })

  it.each(MODELS)('is compacted and undone for $model', async ({ provider, model }) => {
    await everyShare(store, 'coding', provider, model)
  })

  it('has 104 reads, of which deduplication finds the 58 whose lines a later read shows', async () => {
    // Counted by hand over the reads, their arguments and the notices of cut files, by path:
    // tui-renderer 13, refactor.md 5, core/index 2, agent-session 9, main-new 13, interactive-mode 16.
    await using fresh = await openStore(':memory:', { config: { previewToolOutputs: false } })
    await fresh.append('coding', fromAnthropic(transcript as never))
    const preview = await fresh.previewCompaction('coding', {
      provider: 'anthropic',
      targetTokens: 0,
      enablePrune: false,
      enableSummarize: false,
      enableTruncate: false,
    })
    const texts = preview!.compactions.flatMap(({ replaces }) => replaces.map(({ text }) => text))
    const counts = new Map<string, number>()
    for (const text of texts) {
      const name = /([^/ ]+\/[^/ ]+) - refer to latest read below\]$/.exec(text)![1]!
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect(Object.fromEntries(counts)).toEqual({
      'tui/tui-renderer.ts': 13,
      'docs/refactor.md': 5,
      'core/index.ts': 2,
      'core/agent-session.ts': 9,
      'src/main-new.ts': 13,
      'interactive/interactive-mode.ts': 16,
    })
  })
})

describe.skipIf(airlineSupport === undefined)('the support conversations', () => {
  const conversations =
    airlineSupport === undefined ? [] : (linesOf(airlineSupport) as { id: string; messages: object[] }[])

  it('come out as they went in, are compacted, rendered and undone', async () => {
    await using store = await openStore(':memory:', { config: { previewToolOutputs: false } })
    for (const { id, messages } of conversations) await store.append(id, fromOpenAI(messages))
    for (const [index, { id, messages }] of conversations.entries()) {
      expect(toOpenAI(await store.getEffectiveHistory(id))).toEqual(messages)
      const { provider, model } = MODELS[index % MODELS.length]!
      await everyShare(store, id, provider, model)
    }
  })
})

async function everyShare(store: Store, id: string, provider: string, model: string): Promise<void> {
  const before = JSON.stringify(await store.getEffectiveHistory(id))
  const stats = await store.getContextStats(id, provider, model)
  for (const share of SHARES) {
    const targetTokens = Math.floor(stats!.breakdown.conversationHistory * share)
    const result = await store.compactSession(id, { provider, model, targetTokens, pruneMinimumSavings: 100 })
    expect(result!.tokensAfter, `${id} ${model} ${share}`).toBeLessThan(result!.tokensBefore)
    // The support conversations begin with a long system message, which no compaction may touch.
    if (id === 'coding') expect(result!.reachedTarget, `${model} ${share}`).toBe(true)
    const after = JSON.stringify(await store.getEffectiveHistory(id))
    expect(JSON.stringify(result!.messages)).toBe(after)
    await checkRenderings(store, id)

    for (const { id: compaction } of [...result!.compactions].reverse()) {
      await store.undoCompaction(id, compaction)
      await checkRenderings(store, id)
    }
    expect(JSON.stringify(await store.getEffectiveHistory(id))).toBe(before)
    for (const { id: compaction } of result!.compactions) await store.redoCompaction(id, compaction)
    expect(JSON.stringify(await store.getEffectiveHistory(id))).toBe(after)
    await store.undoCompaction(id, result!.runId)
    expect(JSON.stringify(await store.getEffectiveHistory(id))).toBe(before)
    expect((await store.sessions.verify(id)).findings).toEqual([])
  }
}

async function checkRenderings(store: Store, id: string): Promise<void> {
  for (const { provider } of MODELS) {
    const { messages } = await store.renderHistory(id, { provider })
    expect(validateHistory(messages, provider)).toEqual([])
    expectAccepted(messages, provider)
    if (provider === 'anthropic') checkAnthropicForm(messages)
    if (provider === 'openai') checkOpenAIForm(messages)
  }
}

/** What the Messages API itself refuses, looked for in the form that is sent. */
function checkAnthropicForm(messages: readonly Message[]): void {
  const wire = toAnthropic(messages).messages
  for (const [index, message] of wire.entries()) {
    expect(Object.keys(message).sort()).toEqual(['content', 'role'])
    expect(message.role).toBe(index % 2 === 0 ? 'user' : 'assistant')
    const blocks = typeof message.content === 'string' ? [] : message.content
    const uses = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    if (uses.length === 0) continue
    const next = wire[index + 1]?.content
    const results = (typeof next === 'string' ? [] : (next ?? [])).filter(
      ({ type }) => type === 'tool_result',
    )
    expect(results.map(({ tool_use_id }) => tool_use_id)).toEqual(uses)
  }
}

/** What Chat Completions refuses: calls without their results right behind them. */
function checkOpenAIForm(messages: readonly Message[]): void {
  const wire = toOpenAI(messages)
  let open: unknown[] = []
  for (const message of wire) {
    if (message.role === 'tool') {
      expect(open).toContain(message.tool_call_id)
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    expect(open).toEqual([])
    const calls = (message as { tool_calls?: readonly { id: string }[] }).tool_calls ?? []
    open = calls.map(({ id }) => id)
  }
  expect(open).toEqual([])
}
