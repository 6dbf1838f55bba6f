import { describe, expect, it } from 'vitest'
import { slidingWindow, summarizeOlder } from '../../src/compat/arrays/index.ts'
import { saying } from '../plain/support.ts'
import { fromNca, goldenCases, type NcaGoldenMessage, placesIn, textOf } from './golden.ts'

/* The cases of seed 004's system, save NCC-13, which is about what a summarizer is sent. */

type Input = {
  readonly config: { readonly max_retained_messages: number }
  readonly maxMessages?: number
  readonly messages: readonly NcaGoldenMessage[]
  readonly summary: string
}
type Expectation = {
  readonly kept: number[]
  readonly output: readonly { readonly orig?: number; readonly new?: { role: string; text: string } }[]
  readonly summarizeRange?: { readonly start: number; readonly end: number } | null
}
const golden = goldenCases<Input, Expectation>('nca-compaction')

describe('nca-compaction', () => {
  const cases = golden
  const estimator = 'nca'

  it.each(cases.filter(({ op }) => op === 'getSlidingWindow'))('$id $name', async ({ input, expected }) => {
    const last = input.maxMessages ?? input.config.max_retained_messages
    const window = slidingWindow({ last, countSystem: true, estimator })
    expect(placesIn(await window.compact(fromNca(input.messages)))).toEqual(expected.kept)
  })

  it.each(cases.filter(({ op }) => op === 'applySummary'))('$id $name', async ({ id, input, expected }) => {
    const summarizer = saying(input.summary)
    const strategy = summarizeOlder({
      keepLast: input.config.max_retained_messages,
      estimator,
      summarizer,
      summaryPreset: 'nca',
    })
    const messages = fromNca(input.messages)
    const after = await strategy.compact(messages)
    const shown = after.map((message) => {
      const [place] = placesIn([message])
      return place! >= 0 ? { orig: place } : { new: { role: message.role, text: textOf(message) } }
    })
    expect(shown).toEqual(expected.output)
    // NCC-12 has no range: the original hands the kept call to the summarizer too; a product should end at 4, says its note.
    const range = id === 'NCC-12' ? { start: 1, end: 4 } : expected.summarizeRange
    if (range === null) return expect(summarizer.asked).toEqual([])
    const { start, end } = range!
    expect(summarizer.asked[0]!.messages.map(textOf)).toEqual(messages.slice(start, end).map(textOf))
  })

  it('covers 12 of the 13 cases', () => {
    expect(cases.filter(({ op }) => op === 'getSlidingWindow' || op === 'applySummary')).toHaveLength(12)
    expect(cases).toHaveLength(13)
  })
})
