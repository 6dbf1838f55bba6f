import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { repairToolPairs } from '../../src/compat/arrays/index.ts'
import { type RooMessage, rooCases } from '../replays/roo-data.ts'
import { Tallies } from '../replays/tallies.ts'
import { growth } from '../support/growth.ts'
import { sharedPath } from '../support/shared.ts'
import { deepFreeze } from './support.ts'

type Loose = { role: string; content?: unknown; metadata?: { truncated?: boolean }; [field: string]: unknown }

const FORMS = ['flat', 'flat without ids', 'openai', 'blocks', 'parts'] as const
type Form = (typeof FORMS)[number]
type Batch = { readonly form: Form; readonly calls: readonly Fate[]; readonly swapped: boolean }
/** What a cut left of one call and its result. */
type Fate = 'both' | 'call' | 'result'

/** One batch with what the cut left. Tools are named after the calls, so halves are known without ids too. */
function messagesOf({ form, calls, swapped }: Batch, batch: number): Loose[] {
  const named = calls.map((fate, n) => ({ fate, id: `c${batch}.${n}`, tool: `tool ${batch}.${n}` }))
  const made = named.filter(({ fate }) => fate !== 'result')
  const inOrder = named.filter(({ fate }) => fate !== 'call')
  const answered = swapped ? inOrder.toReversed() : inOrder
  switch (form) {
    case 'flat':
    case 'flat without ids': {
      const id = (toolCallId: string): object => (form === 'flat' ? { toolCallId } : {})
      return [
        ...made.map((one) => ({ role: 'tool_call', content: '', tool: one.tool, ...id(one.id) })),
        ...answered.map((one) => ({ role: 'tool_result', content: 'r', tool: one.tool, ...id(one.id) })),
      ]
    }
    case 'openai': {
      const tool_calls = made.map(({ id, tool }) => ({ id, function: { name: tool, arguments: '{}' } }))
      return [
        { role: 'assistant', content: 'hm', ...(made.length > 0 && { tool_calls }) },
        ...answered.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'r' })),
      ]
    }
    case 'blocks': {
      const uses = made.map(({ id, tool }) => ({ type: 'tool_use', id, name: tool, input: {} }))
      const results = answered.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'r' }))
      return [
        { role: 'assistant', content: [{ type: 'text', text: 'hm' }, ...uses] },
        ...(results.length > 0 ? [{ role: 'user', content: results }] : []),
      ]
    }
    default: {
      const output = { type: 'text', value: 'r' }
      const uses = made.map(({ id, tool }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: tool,
        input: {},
      }))
      return [
        ...(uses.length > 0 ? [{ role: 'assistant', content: uses }] : []),
        ...answered.map(({ id }) => ({
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: id, output }],
        })),
      ]
    }
  }
}

const fate = fc.constantFrom<Fate>('both', 'both', 'call', 'result')
const batches = fc.array(
  fc.record({
    form: fc.constantFrom(...FORMS),
    calls: fc.array(fate, { minLength: 1, maxLength: 4 }),
    swapped: fc.boolean(),
    words: fc.boolean(),
  }),
  { maxLength: 8 },
)

/** A conversation that was cut, and how many halves the cut left. */
const cuts = batches.map((some) => {
  const messages = some.flatMap(({ words, ...batch }, at): Loose[] => [
    ...messagesOf(batch, at),
    // Without ids it takes words to tell one batch from the next.
    ...(words || batch.form === 'flat without ids' || some[at + 1]?.form === 'flat without ids'
      ? [{ role: 'user', content: `words ${at}` }]
      : []),
  ])
  const fates = some.flatMap(({ calls }) => calls)
  const count = (wanted: Fate): number => fates.filter((one) => one === wanted).length
  return { messages: deepFreeze(messages), calls: count('call'), results: count('result') }
})

/** Any messages at all, mostly nonsense: ids repeat or are missing, results stand anywhere, forms mix. */
const id = fc.constantFrom('', 'a', 'b')
const tool = fc.constantFrom(undefined, 'look', 'find')
const word = fc.constantFrom('', ' ', 'w')
const text = fc.constantFrom({ type: 'text', text: 'w' }, { type: 'text', text: ' ' }, null)
const toolUse = fc.record({ type: fc.constant('tool_use'), id, name: tool })
const toolResult = fc.record({ type: fc.constant('tool_result'), tool_use_id: id })
const callPart = fc.record({
  type: fc.constant('tool-call'),
  toolCallId: id,
  toolName: tool,
  providerExecuted: fc.boolean(),
})
const resultPart = fc.record({ type: fc.constant('tool-result'), toolCallId: id, toolName: tool })
const reasoning = fc.constant({ type: 'reasoning', text: 'r' })
const listOf = (...parts: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown[]> =>
  fc.array(fc.oneof(...parts), { maxLength: 4 })
const calls = fc.array(fc.record({ id, function: fc.record({ name: tool }) }), { maxLength: 3 })
const anyMessage: fc.Arbitrary<Loose> = fc.oneof(
  fc.record({ role: fc.constantFrom('tool_call', 'tool_result'), content: word, tool, toolCallId: id }),
  fc.record({ role: fc.constantFrom('tool', 'function'), content: word, tool_call_id: id, name: tool }),
  fc.record({ role: fc.constant('tool'), content: listOf(resultPart) }),
  fc.record({ role: fc.constant('user'), content: fc.oneof(word, listOf(text, toolResult, resultPart)) }),
  fc.record({ role: fc.constant('system'), content: word }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(word, listOf(text, reasoning, toolUse, callPart, resultPart)),
  }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(word, listOf(text)),
    tool_calls: calls,
  }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.constant(null),
    function_call: fc.record({ name: tool }),
  }),
)
const anything = fc.array(anyMessage, { maxLength: 12 }).map(deepFreeze)
const options = fc.record({
  orphans: fc.constantFrom('synthesize' as const, 'drop' as const),
  pendingCalls: fc.constantFrom('answer' as const, 'keep' as const),
})

describe('laws', () => {
  it('finds exactly the halves a cut left, in every form [S3-312]', () => {
    fc.assert(
      fc.property(cuts, ({ messages, calls, results }) => {
        const outcome = repairToolPairs<Loose>(messages)
        expect(outcome.orphanedCallsFixed).toBe(calls)
        expect(outcome.orphanedResultsFixed).toBe(results)
        expect(outcome.repaired).toBe(calls + results > 0)
      }),
      { numRuns: 500 },
    )
  })

  it('adds, and moves and changes nothing: without what was made up it is the list that was', () => {
    fc.assert(
      fc.property(cuts, ({ messages }) => {
        const kept = repairToolPairs<Loose>(messages).messages.filter(({ metadata }) => !metadata?.truncated)
        expect(kept).toHaveLength(messages.length)
        expect(kept.every((message, index) => message === messages[index])).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('repairing twice changes nothing, whatever the list and the options', () => {
    fc.assert(
      fc.property(anything, options, (messages, chosen) => {
        const once = repairToolPairs<Loose>(messages, chosen)
        const twice = repairToolPairs<Loose>(once.messages, chosen)
        expect(twice).toEqual({ ...once, repaired: false, orphanedCallsFixed: 0, orphanedResultsFixed: 0 })
        if (!once.repaired) expect(once.messages).toEqual(messages)
      }),
      { numRuns: 3_000 },
    )
  })

  it('takes linear time', () => {
    const run = (size: number): void => {
      const calls = Array.from({ length: size }, () => ({ role: 'tool_call', content: '', tool: 'look' }))
      const results = calls.map(() => ({ role: 'tool_result', content: 'r', tool: 'look' }))
      expect(repairToolPairs([...calls, ...results]).repaired).toBe(false)
      expect(repairToolPairs(calls).orphanedCallsFixed).toBe(size)
      expect(repairToolPairs(results).orphanedResultsFixed).toBe(size)
    }
    expect(growth(run, 3_000)).toBeLessThan(3.5)
  })
})

describe('real conversations', () => {
  const coding = sharedPath('corpus/coding-session.anthropic.jsonl')
  const support = sharedPath('corpus/airline-support.openai.jsonl')
  const linesOf = (path: string): unknown[] =>
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)

  type Block = { type: string; id: string; tool_use_id: string }
  const blocksOf = ({ content }: Loose): Block[] => (Array.isArray(content) ? (content as Block[]) : [])

  it.skipIf(coding === undefined)(
    'of the coding session nothing but the six calls its user broke off [S3-321]',
    () => {
      const messages = linesOf(coding!) as Loose[]
      const outcome = repairToolPairs(messages)
      // Messages 355, 361 (three calls), 597 and 645: what follows each are the user's words.
      expect([outcome.orphanedCallsFixed, outcome.orphanedResultsFixed]).toEqual([6, 0])
      expect(outcome.messages.filter(({ metadata }) => metadata?.truncated)).toHaveLength(4)
      expect(outcome.messages.filter(({ metadata }) => !metadata?.truncated)).toEqual(messages)
      for (const at of [355, 361, 597, 645]) {
        const ids = blocksOf(messages[at]!).flatMap(({ type, id: own }) => (type === 'tool_use' ? [own] : []))
        const made = outcome.messages[outcome.messages.indexOf(messages[at]!) + 1]!
        expect(blocksOf(made).map(({ tool_use_id }) => tool_use_id)).toEqual(ids)
      }
    },
  )

  it.skipIf(coding === undefined)('cut anywhere, it needs what the cut parted and no more', () => {
    const messages = repairToolPairs(linesOf(coding!) as Loose[]).messages
    for (let at = 1; at < messages.length; at += 7) {
      const tail = messages.slice(at)
      const made = new Set(tail.flatMap((message) => blocksOf(message).map(({ id: own }) => own)))
      const parted = tail
        .flatMap(blocksOf)
        .filter(({ type, tool_use_id }) => type === 'tool_result' && !made.has(tool_use_id))
      const outcome = repairToolPairs(tail)
      expect(outcome.orphanedResultsFixed).toBe(parted.length)
      expect(outcome.orphanedCallsFixed).toBe(0)
    }
  })

  it.skipIf(support === undefined)('of the 100 support conversations nothing [S3-321]', () => {
    const conversations = linesOf(support!) as { messages: Loose[] }[]
    for (const { messages } of conversations) {
      const { repaired, messages: same } = repairToolPairs(messages)
      expect(repaired).toBe(false)
      expect(same).toEqual(messages)
    }
  })
})

describe('roo-tool-pairs', () => {
  const INJECT = 'injectSyntheticToolResults'
  const ROW = `${INJECT}, plain arrays`
  const THEIRS = 'Context condensation triggered. Tool execution deferred.'
  const cases = rooCases<{ messages: readonly RooMessage[] }, readonly RooMessage[]>('roo-tool-pairs')
  const tallies = new Tallies('roo-tool-pairs')
  /** Without times, and with one text for all results that were made up. */
  const shape = (messages: readonly object[]): unknown =>
    JSON.parse(
      JSON.stringify(messages, (key, value: unknown) =>
        key === 'ts' || key === 'metadata'
          ? undefined
          : value === THEIRS || value === '[Tool result unavailable - conversation was compacted]'
            ? 'made up'
            : value,
      ),
    )

  it.skipIf(cases.length === 0)('mends the array in the shape Roo Code does', () => {
    for (const { fn, name, input, expected } of cases) {
      if (fn !== INJECT) continue
      expect(shape(repairToolPairs(input.messages as never).messages), name).toEqual(shape(expected))
      tallies.count(ROW, 'equal')
    }
    tallies.expectPublished(ROW)
  })
})
