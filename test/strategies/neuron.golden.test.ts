import { describe, expect, it } from 'vitest'
import { clearToolResults, composite, slidingWindow, summarizeOlder } from '../../src/compat/arrays/index.ts'
import type { ChatMessage, Part } from '../../src/index.ts'
import { saying } from '../plain/support.ts'
import { type Block, type BlockMessage, fromBlocks, goldenCases, placesIn, textOf } from './golden.ts'

/* The cases of seed 000's system. Its counter is the estimator `neuron`. */

const estimator = 'neuron'

type WindowInput = {
  readonly windowSize: number
  readonly messages: readonly BlockMessage[]
  readonly maxTokens: number
  readonly tokenCount: number
}
const windows = goldenCases<WindowInput, { kept: number[]; shouldCompact: boolean }>('neuron-sliding-window')

describe('neuron-sliding-window', () => {
  const cases = windows
  it.each(cases.filter(({ op }) => op === 'slidingWindow'))('$id $name', async ({ input, expected }) => {
    const window = slidingWindow({ last: input.windowSize, estimator })
    const messages = fromBlocks(input.messages)
    expect(placesIn(await window.compact(messages))).toEqual(expected.kept)
  })

  it.each(cases.filter(({ op }) => op === 'shouldCompact'))('$id $name', ({ input, expected }) => {
    const { maxTokens, tokenCount } = input
    const all = [
      slidingWindow({ last: 10, maxTokens }),
      clearToolResults({ keep: 2, maxTokens }),
      summarizeOlder({ keepLast: 5, maxTokens }),
      composite({ stages: [], maxTokens }),
    ]
    expect(all.map((strategy) => strategy.shouldCompact([], tokenCount))).toEqual(
      new Array(4).fill(expected.shouldCompact),
    )
  })

  it('covers all 17 cases', () => expect(cases).toHaveLength(17))
})

type ResultEntry = {
  readonly block: number
  readonly content: readonly string[]
  readonly isError: boolean
  readonly message: number
  readonly toolUseId: string
}
type ClearingExpectation = {
  readonly messageCount: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly toolResults: readonly ResultEntry[]
}
const clearings = goldenCases<{ keepRecent: number; messages: BlockMessage[] }, ClearingExpectation>(
  'neuron-tool-result-clearing',
)

describe('neuron-tool-result-clearing', () => {
  const cases = clearings
  it.each(cases)('$id $name', async ({ input, expected }) => {
    const clearing = clearToolResults({ keep: input.keepRecent, estimator })
    const messages = fromBlocks(input.messages)
    const after = await clearing.compact(messages)
    expect(clearing.tokenEstimate(messages)).toBe(expected.tokensBefore)
    expect(clearing.tokenEstimate(after)).toBe(expected.tokensAfter)
    expect(after).toHaveLength(expected.messageCount)
    expect(toolResults(after)).toEqual(expected.toolResults)
    // Nothing else changed.
    expect(after.map(withoutOutputs)).toEqual(messages.map(withoutOutputs))
  })

  it('covers all 12 cases', () => expect(cases).toHaveLength(12))
})

function toolResults(messages: readonly ChatMessage[]): ResultEntry[] {
  return messages.flatMap(({ content }, message) =>
    (content as readonly Part[]).flatMap((part, block) => {
      if (part.type !== 'tool-result') return []
      const { output } = part
      const isError =
        output.type.startsWith('error') || (output.type === 'content' && output.isError === true)
      const value = output.value as string | { text?: string }[]
      const texts = typeof value === 'string' ? [value] : value.map(({ text = '' }) => text)
      return [{ block, content: texts, isError, message, toolUseId: part.toolCallId }]
    }),
  )
}

function withoutOutputs(message: ChatMessage): object {
  const parts = message.content as readonly Part[]
  return {
    ...message,
    content: parts.map((part) => (part.type === 'tool-result' ? { ...part, output: null } : part)),
  }
}

type SummaryInput = {
  readonly preserveRecent: number
  readonly messages: readonly BlockMessage[]
  readonly providerReply: readonly Block[]
  readonly providerFails?: boolean
}
type SummaryExpectation = {
  readonly providerCalls: number
  readonly summarized: readonly number[]
  readonly requestMaxTokens: number
  readonly output?: readonly { readonly orig?: number; readonly new?: { role: string; text: string } }[]
  readonly fails?: boolean
}
const summaries = goldenCases<SummaryInput, SummaryExpectation>('neuron-summarization')

describe('neuron-summarization', () => {
  const cases = summaries
  it.each(cases)('$id $name', async ({ input, expected }) => {
    // What of an answer is text, and how several texts are joined, is the provider's adapter's business.
    const texts = input.providerReply.flatMap(({ type, text }) => (type === 'text' ? [text] : []))
    const provider = saying(texts.join('\n'))
    const failing = {
      ...provider,
      summarize(request: Parameters<typeof provider.summarize>[0]) {
        provider.asked.push(request)
        throw new Error('the model is down')
      },
    }
    const strategy = summarizeOlder({
      keepLast: input.preserveRecent,
      estimator,
      summarizer: input.providerFails === true ? failing : provider,
      summaryPreset: 'neuron',
    })
    const messages = fromBlocks(input.messages)
    const before = structuredClone(messages)
    const compacted = strategy.compact(messages)
    if (expected.fails === true) await expect(compacted).rejects.toMatchObject({ code: 'SUMMARIZER_FAILED' })
    else {
      const shown = (await compacted).map((message) => {
        const [place] = placesIn([message])
        return place! >= 0 ? { orig: place } : { new: { role: message.role, text: textOf(message) } }
      })
      expect(shown).toEqual(expected.output)
    }
    expect(messages).toEqual(before)
    expect(provider.asked).toHaveLength(expected.providerCalls)
    const [asked] = provider.asked
    expect(asked!.maxTokens).toBe(expected.requestMaxTokens)
    expect(asked!.messages.map(textOf)).toEqual(expected.summarized.map((place) => textOf(messages[place]!)))
  })

  it('covers all 7 cases', () => expect(cases).toHaveLength(7))
})

type CompositeInput = {
  readonly maxTokens: number
  readonly strategies: readonly {
    readonly type: string
    readonly keepRecent: number
    readonly windowSize: number
    readonly maxTokens: number
  }[]
  readonly messages: readonly BlockMessage[]
}
type CompositeExpectation = {
  readonly applied: readonly number[]
  readonly output: readonly { readonly orig?: number; readonly new?: object }[]
  readonly tokenTrace: readonly number[]
  readonly toolResults: readonly ResultEntry[]
}
const composites = goldenCases<CompositeInput, CompositeExpectation>('neuron-composite')

describe('neuron-composite', () => {
  const cases = composites
  it.each(cases)('$id $name', async ({ input, expected }) => {
    const made = input.strategies.map(({ type, keepRecent, windowSize, maxTokens }) =>
      type === 'sliding_window'
        ? slidingWindow({ last: windowSize, maxTokens, estimator })
        : clearToolResults({ keep: keepRecent, maxTokens, estimator }),
    )
    const strategy = composite({ stages: made, maxTokens: input.maxTokens, estimator })
    const messages = fromBlocks(input.messages)
    const result = await strategy.apply(messages, input.maxTokens)
    expect([result.tokensBefore, ...result.steps.map(({ tokensAfter }) => tokensAfter)]).toEqual(
      expected.tokenTrace,
    )
    expect(result.steps.map(({ name }) => name)).toEqual(expected.applied.map((at) => made[at]!.name))
    expect(toolResults(result.messages)).toEqual(expected.toolResults)
    // A message of which only a block changed is told as a new one, in its old place.
    const places = placesIn(result.messages)
    expect(places).toHaveLength(expected.output.length)
    for (const [at, { orig }] of expected.output.entries())
      if (orig !== undefined) expect(places[at]).toBe(orig)
    // Under its own threshold `compact` says the same.
    expect(await strategy.compact(messages)).toEqual(result.messages)
  })

  it('covers all 9 cases', () => expect(cases).toHaveLength(9))
})
