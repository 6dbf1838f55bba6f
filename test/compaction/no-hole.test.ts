import fc from 'fast-check'
import { expect, it } from 'vitest'
import { missingAfterSummary } from '../../src/core/model/laws.ts'
import { type Message, openStore, type Store, type Summarizer } from '../../src/index.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'

/** Writes more than it may, or fails. */
const wordy: Summarizer = {
  name: 'wordy',
  usesModel: true,
  summarize: async ({ maxTokens }) => ({ text: `Summary. ${'word '.repeat(Math.ceil(maxTokens * 1.2))}` }),
}
const failing: Summarizer = {
  name: 'failing',
  usesModel: true,
  summarize: async () => Promise.reject(new Error('unavailable')),
}

const turns = (from: number, count: number): Message[] =>
  Array.from({ length: count }, (_, at) => [
    { role: 'user' as const, content: `request ${from + at} ${'please '.repeat(20)}` },
    { role: 'assistant' as const, content: `answer ${from + at} ${'done so '.repeat(30)}` },
  ]).flat()

/** The messages that a run left in no summary and not in the view. */
async function missingAfter(store: Store, run: () => Promise<unknown>): Promise<number> {
  const shown = new Set((await store.getEffectiveHistory('s')).map(({ id }) => id))
  await run()
  const rows = (await store.getMessages('s')).map(({ id, kind, hidden }, at) => {
    return { key: at, kind, anchor: at, ordinal: 0, id, hidden }
  })
  return missingAfterSummary(
    rows.filter(({ id }) => shown.has(id)),
    rows.filter(({ hidden }) => !hidden),
  ).length
}

it('finds what truncation hid after a summary', () => {
  const row = (key: number, kind: 'message' | 'summary' = 'message') => ({
    key,
    kind,
    anchor: key,
    ordinal: 0,
  })
  const before = [row(1), row(2), row(4), row(5)]
  expect(missingAfterSummary(before, [row(3, 'summary'), row(5)])).toEqual([row(4)])
  expect(missingAfterSummary(before, [row(3, 'summary'), row(4), row(5)])).toEqual([])
  expect(missingAfterSummary(before, [row(5)])).toEqual([])
})

it('whatever the summarizer, target and pins, no run that summarizes leaves a hole after its newest summary', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          turns: fc.integer({ min: 3, max: 12 }),
          share: fc.double({ min: 0.1, max: 0.9, noNaN: true }),
          summarizer: fc.constantFrom(undefined, wordy, failing),
          pin: fc.option(fc.nat(), { nil: undefined }),
          fraction: fc.constantFrom(undefined, 0.5),
          withoutModel: fc.boolean(),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      async (rounds) => {
        const store = await openStore(':memory:')
        try {
          let from = 1
          for (const { turns: count, share, summarizer, pin, fraction, withoutModel } of rounds) {
            const { messages } = await store.append('s', turns(from, count))
            from += count
            if (pin !== undefined) await store.messages.pin('s', [messages[pin % messages.length]!.id])
            const stats = await store.getContextStats('s')
            const targetTokens = Math.floor(stats!.breakdown.conversationHistory * share)
            const options = { targetTokens, summarizer, withoutModel, truncationFraction: fraction }
            expect(await missingAfter(store, () => store.compactSession('s', options))).toBe(0)
            await expectSessionAccepted(store, 's', 's', providerOfStep(from))
          }
        } finally {
          await store.close()
        }
      },
    ),
    { numRuns: 60 },
  )
})

it('a caller that asks for truncation alone gets it', async () => {
  const store = await openStore(':memory:')
  await store.append('s', turns(1, 12))
  await store.compactSession('s', { range: { from: 1, to: 8 }, summary: 'They began.' })
  const missing = await missingAfter(store, () =>
    store.compactSession('s', { stages: ['truncate'], targetTokens: 400 }),
  )
  expect(missing).toBeGreaterThan(0)
  await store.close()
})

it.each([
  ['truncate', 'summarize'],
  ['truncate', 'summarize_older'],
  ['composite', 'summarize_older'],
])('a run that hides by %s before it summarizes by %s leaves no hole', async (first, then) => {
  const store = await openStore(':memory:')
  await store.append('s', turns(1, 8))
  const before = first === 'composite' ? { stage: first, stages: ['prune', 'truncate'] } : first
  const after = then === 'summarize_older' ? { stage: then, keepLast: 3 } : then
  for (const targetTokens of [1_000, 600, 300]) {
    const run = () => store.compactSession('s', { stages: [before, after], targetTokens })
    expect(await missingAfter(store, run)).toBe(0)
    await store.append('s', turns(20, 3))
  }
  await store.close()
})
