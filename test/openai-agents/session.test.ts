import { MemorySession } from '@openai/agents'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'
import { anyItem } from './items.ts'
import { answer, call, describeSession, type RichSession, result, said } from './session-contract.ts'

const store = await openStore(':memory:')
afterAll(() => store.close())

describeSession("the SDK's own MemorySession", async (sessionId) => new MemorySession({ sessionId }))
describeSession('UndertextSession', async (sessionId) => new UndertextSession({ store, sessionId }))

/** A step on both sessions; answers what each said, or that it refused. */
type Step = (session: RichSession) => Promise<unknown>

const items = fc.array(
  fc.oneof(fc.constantFrom(said('a'), answer('b'), call('c'), result('c', 'd')), anyItem),
  {
    maxLength: 4,
  },
)
const operation = fc.constantFrom('o1', 'o2', 'o3')
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: items.map(
      (added): Step =>
        (session) =>
          session.addItems(added),
    ),
    weight: 4,
  },
  { arbitrary: fc.constant<Step>((session) => session.popItem()), weight: 2 },
  fc.integer({ min: -1, max: 6 }).map(
    (limit): Step =>
      (session) =>
        session.getItems(limit),
  ),
  fc.record({ from: fc.constantFrom('c', 'd'), to: fc.constantFrom('c', 'd') }).map(
    ({ from, to }): Step =>
      async (session) => {
        await session.applyHistoryMutations({
          mutations: [{ type: 'replace_function_call', callId: from, replacement: call(to, '[1]') }],
        })
      },
  ),
  fc.tuple(operation, items).map(
    ([operationId, added]): Step =>
      async (session) => {
        await session.applyHistoryTransaction({
          operationId,
          transaction: { type: 'append_items', items: added },
        })
      },
  ),
  fc.tuple(operation, fc.nat(3), items).map(
    ([operationId, count, replacement]): Step =>
      async (session) => {
        const expectedSuffix = count === 0 ? [] : await session.getItems(count)
        await session.applyHistoryTransaction({
          operationId,
          transaction: { type: 'replace_suffix', expectedSuffix, replacement },
        })
      },
  ),
)

async function outcome(run: Step, session: RichSession): Promise<unknown> {
  try {
    return { answered: await run(session) }
  } catch {
    return 'refused'
  }
}

it('returns for every sequence of calls what the SDK returns', async () => {
  let refused = 0
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      count += 1
      const sessionId = `random-${count}`
      const theirs = new MemorySession({ sessionId })
      const ours = new UndertextSession({ store, sessionId })
      for (const run of steps) {
        const expected = await outcome(run, theirs)
        if (expected === 'refused') refused += 1
        expect(await outcome(run, ours)).toEqual(expected)
        expect(await ours.getItems()).toEqual(await theirs.getItems())
      }
      await ours.clearSession()
      expect(await ours.getItems()).toEqual([])
      // Nothing of it is gone.
      const rows = await store.getMessages(sessionId).catch(() => [])
      expect(rows.every(({ hidden }) => hidden)).toBe(true)
    }),
    { numRuns: 60 },
  )
  expect(refused).toBeGreaterThan(0)
})
