import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../src/adapters/anthropic/index.ts'
import { isUndertextError, type NewMessage, openStore, type Store, type ToolCall } from '../src/index.ts'
import { expectSessionAccepted } from './support/requests.ts'
import { sharedPath } from './support/shared.ts'

/*
 * A real session, turn by turn: before each answer the store says how large the context is, then it is told what the
 * provider measured. Where the people's own tool had compacted, we compact the same: its summary, and the newest 20,000
 * tokens (by four characters a token), which that tool kept.
 */

type Line = {
  readonly role: 'user' | 'assistant'
  readonly content: never
  readonly model?: string
  readonly usage?: {
    readonly input_tokens: number
    readonly cache_read_input_tokens: number
    readonly cache_creation_input_tokens: number
  }
}
type Summary = { readonly afterMessages: number; readonly summary: string }
type Prediction = { readonly estimated: number; readonly expected: number; readonly measured: number }

const session = sharedPath('corpus/coding-session.anthropic.jsonl')
const summaries = sharedPath('corpus/coding-session.summaries.json')
const KEPT_CHARACTERS = 80_000

async function replay(
  store: Store,
  lines: readonly Line[],
  condensed: readonly Summary[],
): Promise<Prediction[]> {
  const predictions: Prediction[] = []
  for (const [index, { role, content, model, usage }] of lines.entries()) {
    const due = condensed.find(({ afterMessages }) => afterMessages === index)
    if (due !== undefined) await condense(store, due.summary)
    if (usage !== undefined) {
      const inputTokens = usage.input_tokens
      const cacheReadTokens = usage.cache_read_input_tokens
      const cacheCreationTokens = usage.cache_creation_input_tokens
      const measured = inputTokens + cacheReadTokens + cacheCreationTokens
      const stats = await store.getContextStats('s', 'anthropic', model)
      predictions.push({ estimated: stats!.estimated, expected: stats!.estimatedInputTokens, measured })
      const report = {
        provider: 'anthropic',
        model: model!,
        inputTokens,
        cacheReadTokens,
        cacheCreationTokens,
      }
      expect((await store.requests.recordUsage('s', report)).recorded).toBe(true)
    }
    const messages = fromAnthropic({ messages: [{ role, content }] })
    // That tool abandons a call whose turn was interrupted; a store has to be told, because the result could still come.
    if (index > 0 && messages[0]?.role === 'user') {
      const results = abandoned(await store.messages.toolCalls('s'))
      if (results.length > 0) await store.append('s', results)
    }
    await store.append('s', messages)
  }
  return predictions
}

function abandoned(calls: readonly ToolCall[]): NewMessage[] {
  return calls
    .filter(({ status }) => status === 'pending')
    .map(({ callId: toolCallId, toolName }) => ({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: 'Aborted' } },
      ],
    }))
}

/** Puts a summary in place of all but the newest messages, at the legal cut nearest to the one of that tool. */
async function condense(store: Store, summary: string): Promise<void> {
  const view = await store.getEffectiveHistory('s')
  let characters = 0
  let cut = view.length
  while (cut > 0 && characters < KEPT_CHARACTERS) characters += JSON.stringify(view[--cut]!.content).length
  const cuts = view.map((_, at) => at).slice(1)
  cuts.sort((a, b) => Math.abs(a - cut) - Math.abs(b - cut))
  for (const at of cuts) {
    const positions = view.slice(0, at).flatMap(({ position }) => position ?? [])
    const range = { from: Math.min(...positions), to: Math.max(...positions) }
    try {
      await store.compactSession('s', { range, summary })
      return
    } catch (error) {
      if (!isUndertextError(error, 'ILLEGAL_BOUNDARY')) throw error
    }
  }
  throw new Error('no legal cut')
}

function linesOf(path: string): Line[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

function quantile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!
}

describe.skipIf(session === undefined || summaries === undefined)('the coding session, turn by turn', () => {
  it('is predicted within 2 % in the median and 5 % at the 95th percentile after the first 20 turns', async () => {
    const lines = linesOf(session!)
    // The requests that were billed held every output whole.
    await using store = await openStore(':memory:', { config: { previewToolOutputs: false } })
    const predictions = await replay(store, lines, JSON.parse(readFileSync(summaries!, 'utf8')) as Summary[])
    await expectSessionAccepted(store, 's')
    expect(predictions.length).toBe(471)
    const errors = predictions
      .slice(20)
      .map(({ expected, measured }) => Math.abs(expected - measured) / measured)
    const bare = predictions
      .slice(20)
      .map(({ estimated, measured }) => Math.abs(estimated - measured) / measured)
    const figures = {
      median: quantile(errors, 0.5),
      p95: quantile(errors, 0.95),
      most: quantile(errors, 1),
      bareMedian: quantile(bare, 0.5),
    }
    console.info(`context size predicted, error: ${JSON.stringify(figures)}`)
    expect(figures.median).toBeLessThanOrEqual(0.02)
    expect(figures.p95).toBeLessThanOrEqual(0.05)
    // The estimator alone is far off: the reports are what does it.
    expect(figures.bareMedian).toBeGreaterThan(0.02)
  })

  it('is predicted as well when the application compacts without the store', async () => {
    // The requests that were billed held every output whole.
    await using store = await openStore(':memory:', { config: { previewToolOutputs: false } })
    const errors = (await replay(store, linesOf(session!), []))
      .slice(20)
      .map(({ expected, measured }) => Math.abs(expected - measured) / measured)
    expect(quantile(errors, 0.5)).toBeLessThanOrEqual(0.02)
    expect(quantile(errors, 0.95)).toBeLessThanOrEqual(0.05)
  })
})
