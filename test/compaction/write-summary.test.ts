import { expect, it } from 'vitest'
import type { Part, Role, RowKind } from '../../src/core/messages/message.ts'
import type { Summarizer, SummaryRequest } from '../../src/core/summarizers/summarizer.ts'
import { estimateMessagesTokens, estimateTokens, neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import type { SummarySource } from '../../src/store/compaction/summary-chunks.ts'
import { SummaryMaterial } from '../../src/store/compaction/summary-chunks.ts'
import { writeSummary as writeFrom } from '../../src/store/compaction/write-summary.ts'

const request = { sessionId: 's', sections: [], maxTokens: 1_000 }

function source(role: Role, content: string | readonly Part[], kind: RowKind = 'message'): SummarySource {
  const message = { role, content }
  return { kind, shown: message, original: message, metadata: undefined }
}

function writeSummary(
  summarizer: Summarizer,
  sources: readonly SummarySource[],
  ...rest: Tail<Tail<Parameters<typeof writeFrom>>>
): ReturnType<typeof writeFrom> {
  return writeFrom(summarizer, SummaryMaterial.of(sources, summarizer), ...rest)
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer R] ? R : never

function asking(maxInputTokens: number, answer: string): Summarizer & { asked: SummaryRequest[] } {
  const asked: SummaryRequest[] = []
  const summarize = (one: SummaryRequest): { text: string } => {
    asked.push(one)
    return { text: answer }
  }
  return { name: 'x', usesModel: false, maxInputTokens, asked, summarize }
}

/** What a request takes: its messages, and the summary so far as one message more. */
function taken({ messages, previousSummary }: SummaryRequest, provider: string): number {
  const previous = previousSummary === undefined ? 0 : estimateTokens(previousSummary, provider) + 4
  return estimateMessagesTokens(messages, provider) + previous
}

const counts = ({ asked }: { asked: SummaryRequest[] }): number[] =>
  asked.map(({ messages }) => messages.length)

it('counts as the provider does: the request’s, else the one given', async () => {
  // 100 units: 115 tokens and 4 for openai; × 1.23 for anthropic: ceil(141.45) = 142 and 4.
  const sources = Array.from({ length: 4 }, () => source('user', 'x'.repeat(400)))
  // 2 of openai: 230 + 8 + 24 = 262; 2 of anthropic: ceil(282.9) + 32 = 315.
  const openai = asking(262, '')
  await writeSummary({ ...openai, summarize: spy(openai, 'y') }, sources, request, neurolinkEstimator)
  expect(counts(openai)[0]).toBe(2)
  const anthropic = asking(314, '')
  await writeSummary(
    { ...anthropic, summarize: spy(anthropic, 'y') },
    sources,
    request,
    neurolinkEstimator,
    'anthropic',
  )
  expect(counts(anthropic)[0]).toBe(1)
  const named = asking(314, 'y')
  await writeSummary(named, sources, { ...request, provider: 'anthropic' }, neurolinkEstimator, 'openai')
  expect(counts(named)[0]).toBe(1)
  const enough = asking(315, 'y')
  await writeSummary(enough, sources, request, neurolinkEstimator, 'anthropic')
  expect(counts(enough)[0]).toBe(2)
})

function spy({ asked }: { asked: SummaryRequest[] }, text: string): Summarizer['summarize'] {
  return (one) => {
    asked.push(one)
    return { text }
  }
}

it('the summary so far takes its room from the next chunk', async () => {
  const sources = Array.from({ length: 6 }, () => source('user', 'x'.repeat(400)))
  // 3 messages: 345 + 12 + 24 = 381. A summary of 100 units takes 119: then 2 fit (262 + 119 = 381).
  const summarizer = asking(381, 's'.repeat(400))
  await writeSummary(summarizer, sources, request, neurolinkEstimator)
  expect(counts(summarizer)).toEqual([3, 2, 1])
  for (const one of summarizer.asked) expect(taken(one, 'openai')).toBeLessThanOrEqual(381)
})

it('a summary so far that takes more than half is shortened in the middle', async () => {
  const earlier = source('system', `begin${'s'.repeat(40_000)}end`, 'summary')
  const summarizer = asking(1_000, `begin${'t'.repeat(40_000)}end`)
  const sources = [earlier, ...Array.from({ length: 9 }, () => source('user', 'x'.repeat(400)))]
  await writeSummary(summarizer, sources, request, neurolinkEstimator)
  expect(summarizer.asked.length).toBeGreaterThan(1)
  for (const one of summarizer.asked) {
    expect(one.previousSummary).toMatch(/^begin.*\n\[… \d+ characters left out …\]\n.*end$/)
    expect(estimateTokens(one.previousSummary!) + 4).toBeLessThanOrEqual(500)
    expect(taken(one, 'openai')).toBeLessThanOrEqual(1_000)
  }
  expect(counts(summarizer).reduce((a, b) => a + b)).toBe(9)
})

it('a single row that is too large is shortened, whatever its parts, and a failed result stays failed', async () => {
  const many = Array.from(
    { length: 5_000 },
    (): Part => ({ type: 'text', text: 'forty characters of text, more or less.' }),
  )
  const failed: Part = {
    type: 'tool-result',
    toolCallId: 'c',
    output: { type: 'error-text', value: `E${'x'.repeat(50_000)}Z` },
  }
  const sources = [source('user', many), source('tool', [failed]), source('user', 'the end')]
  const summarizer = asking(600, 'short')
  await writeSummary(summarizer, sources, request, neurolinkEstimator, 'anthropic')
  const messages = summarizer.asked.flatMap((one) => one.messages)
  expect(messages).toHaveLength(3)
  for (const one of summarizer.asked) expect(taken(one, 'anthropic')).toBeLessThanOrEqual(600)
  expect(messages[1]!.content).toMatchObject([
    { output: { type: 'error-text', value: expect.stringMatching(/^Ex.*xZ$/s) } },
  ])
})

it('a call moves on with all its results', async () => {
  const call = (id: string): Part => ({ type: 'tool-call', toolCallId: id, toolName: 'four', input: {} })
  const result = (id: string): SummarySource =>
    source('tool', [
      { type: 'tool-result', toolCallId: id, output: { type: 'text', value: 'x'.repeat(400) } },
    ])
  const sources = [
    source('user', 'x'.repeat(400)),
    source('assistant', [call('a'), call('b')]),
    result('a'),
    result('b'),
  ]
  // 100 + (1 + 1) × 2 + 100 + 100 = 304 units, 350 tokens and 40; 204 units without the request: 235 and 36.
  const summarizer = asking(389, 'y')
  await writeSummary(summarizer, sources, request, neurolinkEstimator)
  expect(counts(summarizer)).toEqual([1, 3])
})

it('takes a session of 200,000 rows', async () => {
  const sources = Array.from({ length: 200_000 }, () => source('user', 'four'))
  const summarizer = asking(1_000_000, 'y')
  await writeSummary(summarizer, sources, request, neurolinkEstimator)
  expect(counts(summarizer).reduce((a, b) => a + b)).toBe(200_000)
})
