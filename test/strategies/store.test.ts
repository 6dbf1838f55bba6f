import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  CLEARED_PLACEHOLDER,
  clearToolResults,
  composite,
  slidingWindow,
  stageFrom,
  summarizeOlder,
} from '../../src/compat/arrays/index.ts'
import {
  type ContextStrategy,
  createStage,
  type NewMessage,
  openStore,
  type Stage,
  type ViewMessage,
} from '../../src/index.ts'
import { saying } from '../plain/support.ts'
import { call, chat, failure, result, say, units } from '../support/conversation.ts'
import { failureOf } from '../support/failures.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'

/* Strategies as stages of a store: what they hide stays stored, and undo brings it back. */

const S = 's'
const neurolink = { estimator: 'neurolink' } as const
/** Over any target. */
const small = { targetTokens: 1 }

const contents = (view: readonly ViewMessage[]): unknown[] => view.map(({ content }) => content)

describe('a sliding window', () => {
  it('hides the older messages in the order stored, and undo restores them [S0-08 S0-18 S0-22 S0-25]', async () => {
    await using store = await openStore(':memory:', neurolink)
    const others = Array.from({ length: 30 }, (_, at) => say(at % 2 === 0 ? 'user' : 'assistant', `${at}`))
    await store.append(S, [say('system', 'Be kind.'), ...others])
    const before = await store.getEffectiveHistory(S)
    const run = await store.compactSession(S, { stages: [slidingWindow({ last: 10 })], ...small })
    expect(run).toMatchObject({ compacted: true, stagesUsed: ['sliding_window'] })
    expect(contents(run!.messages)).toEqual(['Be kind.', ...others.slice(20).map(({ content }) => content)])
    const stored = await store.getMessages(S)
    expect(stored).toHaveLength(31)
    expect(stored.filter(({ hidden }) => hidden).map(({ position }) => position)).toEqual(
      Array.from({ length: 20 }, (_, at) => at + 2),
    )
    const [compaction] = await store.listCompactions(S)
    expect(compaction).toMatchObject({ kind: 'truncate', rowsHidden: 20, params: { last: 10 } })
    await store.undoCompaction(S, run!.runId)
    expect(await store.getEffectiveHistory(S)).toEqual(before)
    await store.redoCompaction(S, run!.runId)
    expect(await store.getEffectiveHistory(S)).toEqual(run!.messages)
  })

  it('keeps pinned messages, waiting calls and a live summary', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, [...chat(4, 50), call('c1', 'run')])
    const first = await store.compactSession(S, { range: { from: 1, to: 2 }, summary: 'They met.' })
    const [pinned] = (await store.getMessages(S)).filter(({ position }) => position === 4)
    await store.messages.pin(S, [pinned!.id])
    const run = await store.compactSession(S, { stages: [slidingWindow({ last: 0 })], ...small })
    expect(first!.compacted).toBe(true)
    expect(run!.messages.map(({ kind, position }) => position ?? kind)).toEqual(['summary', 4, 9])
  })

  it('keeps what a message that stays points at', async () => {
    await using store = await openStore(':memory:', neurolink)
    const read = (id: string): NewMessage[] => [call(id, 'read', { path: 'a.ts' }), result(id, units(500))]
    await store.append(S, [say('user', 'Look'), ...read('a'), ...read('b'), say('user', 'Thanks')])
    await store.compactSession(S, { stages: ['deduplicate'], ...small })
    const pointing = (await store.getMessages(S)).find(({ replacedParts }) => replacedParts !== undefined)
    expect(pointing!.position).toBe(3)
    await store.messages.pin(S, [pointing!.id])
    const run = await store.compactSession(S, { stages: [slidingWindow({ last: 0 })], ...small })
    expect(run!.messages.map(({ position }) => position)).toEqual([2, 3, 4, 5])
  })

  it('by the budget hides as little as fits, and nothing while all fits [S1-09 S1-14]', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(5, 100))
    // Ten messages of 100 units: 1,000 × 1.15 + 10 × 4 + 24 = 1,214 tokens; four: 460 + 16 + 24 = 500.
    const stages = [slidingWindow({ fitBudget: true })]
    expect(await store.compactSession(S, { stages, targetTokens: 1_214 })).toMatchObject({ compacted: false })
    const run = await store.compactSession(S, { stages, targetTokens: 500 })
    expect(run).toMatchObject({ tokensBefore: 1_214, tokensAfter: 500, reachedTarget: true })
    expect(run!.messages).toHaveLength(4)
  })

  it('shrinks by whole groups until the target is met [S4-U07]', async () => {
    await using store = await openStore(':memory:', neurolink)
    const huge = Array.from({ length: 25 }, (_, at) => [call(`c${at}`, 'run'), result(`c${at}`, units(400))])
    await store.append(S, [say('system', 'Rules.'), ...huge.flat()])
    const stages = [slidingWindow({ last: 50, shrinkToFit: true })]
    const run = await store.compactSession(S, { stages, targetTokens: 3_000 })
    expect(run!.reachedTarget).toBe(true)
    // A pair takes 402 × 1.15 + 8 = 471 tokens, rounded once: six of them fit beside 36 of the rest, seven do not.
    expect(run!.messages).toHaveLength(13)
    expect(run!.messages[1]!.role).toBe('assistant')
  })

  it('with a summary condenses exactly what would be hidden, in runs between what stays [S0-35 S0-36 S1-24]', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, [...chat(3, 60), say('system', 'A late rule.'), ...chat(4, 60)])
    const summarizer = saying('What happened.')
    const run = await store.compactSession(S, {
      stages: [slidingWindow({ last: 4, summarize: true })],
      summarizer,
      ...small,
    })
    expect(run!.stagesUsed).toEqual(['sliding_window_with_summary'])
    expect(run!.messages.map(({ kind, position }) => position ?? kind)).toEqual([
      'summary',
      7,
      'summary',
      12,
      13,
      14,
      15,
    ])
    expect(summarizer.asked.map(({ messages }) => messages.length)).toEqual([6, 4])
    const stored = await store.getMessages(S)
    const [one, other] = stored.filter(({ kind }) => kind === 'summary')
    expect(stored.filter(({ condenseParent }) => condenseParent === one!.condenseId)).toHaveLength(6)
    expect(stored.filter(({ condenseParent }) => condenseParent === other!.condenseId)).toHaveLength(4)
  })
})

describe('clearing of tool results', () => {
  it('lays a text over old results; a failed one stays marked as failed [S0-28 S0-29 S0-32]', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, [
      say('user', 'Go'),
      call('a', 'run'),
      failure('a', units(50)),
      call('b', 'run'),
      result('b', units(50)),
      call('c', 'run'),
      result('c', units(50)),
    ])
    const before = await store.getMessages(S)
    const run = await store.compactSession(S, { stages: [clearToolResults({ keep: 1 })], ...small })
    const outputs = run!.messages.flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((part) => (part.type === 'tool-result' ? part.output : [])),
    )
    expect(outputs).toEqual([
      { type: 'error-text', value: CLEARED_PLACEHOLDER },
      { type: 'text', value: CLEARED_PLACEHOLDER },
      { type: 'text', value: units(50) },
    ])
    // What is stored is what was stored.
    expect((await store.getMessages(S)).map(({ content }) => content)).toEqual(
      before.map(({ content }) => content),
    )
    await store.undoCompaction(S, run!.runId)
    expect(await store.getMessages(S)).toEqual(before)
  })
})

describe('a composite', () => {
  it('runs its stages only while over its budget, each a compaction of its own [S0-01 S0-41 S0-42]', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, [say('user', 'Go'), call('a', 'run'), result('a', units(500)), ...chat(4, 50)])
    const summarizer = saying('short')
    const stage = composite({
      stages: [clearToolResults({ keep: 0 }), slidingWindow({ last: 4 }), summarizeOlder({ keepLast: 2 })],
      maxTokens: 300,
    })
    const run = await store.compactSession(S, { stages: [stage], summarizer, ...small })
    // After the window: four messages of 50 units, 200 × 1.15 + 16 + 24 = 270 tokens, within 300.
    expect(run!.stagesUsed).toEqual(['clear_tool_results', 'sliding_window'])
    expect(run!.tokensAfter).toBe(270)
    expect(summarizer.asked).toEqual([])
    await store.undoCompaction(S, run!.runId)
    expect(await store.getEffectiveHistory(S)).toHaveLength(11)
  })

  it('can be written in a configuration, one in another', () => {
    const spec = {
      stage: 'composite',
      budget: 1_000,
      stages: [
        { stage: 'clear_tool_results', keep: 3 },
        { stage: 'composite', stages: [{ stage: 'sliding_window', last: 20 }, 'truncate'] },
        { stage: 'sliding_window_with_summary', fitBudget: true },
        { stage: 'summarize_older', keepLast: 4 },
      ],
    }
    const stage = createStage(JSON.parse(JSON.stringify(spec))) as Stage & { stages: Stage[] }
    expect(stage.stages.map(({ name }) => name)).toEqual([
      'clear_tool_results',
      'composite',
      'sliding_window_with_summary',
      'summarize_older',
    ])
    const wrong =
      (change: object): (() => unknown) =>
      () =>
        createStage({ stage: 'sliding_window', ...change })
    for (const change of [
      {},
      { last: 1, fitBudget: true },
      { last: -1 },
      { last: 1, lst: 2 },
      { fitBudget: false },
    ])
      expect(wrong(change)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    const deep = JSON.parse(`${'{"stage":"composite","stages":['.repeat(11)}${']}'.repeat(11)}`)
    expect(() => createStage(deep)).toThrow(/more than 10 deep/)
  })
})

describe('a strategy of your own', () => {
  const messages: NewMessage[] = [
    say('system', 'Rules.'),
    say('user', 'One?'),
    call('a', 'run'),
    result('a', units(40)),
    say('assistant', 'One.'),
    say('user', 'Two?'),
    say('assistant', 'Two.'),
  ]
  const newest = (count: number): ContextStrategy => ({
    tokenEstimate: (all) => all.length,
    shouldCompact: () => true,
    compact: (all) => all.slice(all.length - count),
  })

  it('hides what it leaves out, save what must stay [S0-09 S1-08]', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, messages)
    // Of the last four the first is a result: without its call it may not stay alone, and with it both may.
    const run = await store.compactSession(S, { stages: [stageFrom(newest(4))], ...small })
    expect(run!.stagesUsed).toEqual(['custom'])
    expect(run!.messages.map(({ position }) => position)).toEqual([1, 3, 4, 5, 6, 7])
    const budgeted = {
      name: 'My Window',
      apply: (all: readonly { role: string }[], { availableForHistory }: { availableForHistory: number }) =>
        all.slice(-availableForHistory),
    }
    const again = await store.compactSession(S, { stages: [stageFrom(budgeted as never)], targetTokens: 2 })
    expect(again!.stagesUsed).toEqual(['my_window'])
    expect(again!.messages.map(({ position }) => position)).toEqual([1, 6, 7])
    await store.undoCompaction(S, again!.runId)
    await store.undoCompaction(S, run!.runId)
    expect(await store.getEffectiveHistory(S)).toHaveLength(7)
  })

  it('that shortens texts leaves system and pinned messages and waiting calls as they are', async () => {
    await using store = await openStore(':memory:', neurolink)
    const long = 'as long as they come'
    const both: NewMessage = {
      role: 'assistant',
      content: [
        { type: 'text', text: long },
        { type: 'tool-call', toolCallId: 'w', toolName: 'run', input: {} },
      ],
    }
    await store.append(S, [say('system', long), say('user', long), say('user', long), both])
    const [, pinned] = await store.getMessages(S)
    await store.messages.pin(S, [pinned!.id])
    const shortening: ContextStrategy = {
      ...newest(0),
      name: 'shortening',
      compact: (all) =>
        all.map((message) => ({
          ...message,
          content: (message.content as readonly { type: string }[]).flatMap((part) =>
            part.type === 'text' ? [{ type: 'text' as const, text: 'short' }] : [part as never],
          ),
        })),
    }
    const run = await store.compactSession(S, { stages: [stageFrom(shortening)], ...small })
    expect(contents(run!.messages.slice(0, 3))).toEqual([long, long, 'short'])
    expect(run!.messages[3]!.content).toEqual(both.content)
    expect(run!.compactions).toMatchObject([{ partsReplaced: 1 }])
    // Nor does the run fail when one of them comes back with parts missing.
    const emptied: ContextStrategy = {
      ...newest(0),
      name: 'emptied',
      compact: ([rules, ...rest]) => [{ ...rules!, content: [] }, ...rest],
    }
    expect(await store.compactSession(S, { stages: [stageFrom(emptied)], ...small })).toMatchObject({
      compacted: false,
    })
  })

  it('shows other texts, and a new message replaces the run that it removed', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, messages)
    const rewriting: ContextStrategy = {
      ...newest(0),
      name: 'rewriting',
      compact: ([rules, , , , , ...rest]) => [
        { role: 'system', content: 'One was asked and done.' },
        rules!,
        ...rest.map((message) =>
          message.role === 'user' ? { ...message, content: 'Two, shorter?' } : message,
        ),
      ],
    }
    const run = await store.compactSession(S, { stages: [stageFrom(rewriting)], ...small })
    expect(contents(run!.messages).flat()).toMatchObject([
      'Rules.',
      'One was asked and done.',
      expect.objectContaining({}),
      'Two.',
    ])
    expect(JSON.stringify(run!.messages[2]!.content)).toContain('Two, shorter?')
    expect(run!.compactions).toMatchObject([{ kind: 'condense', rowsHidden: 4, partsReplaced: 1 }])
    await store.undoCompaction(S, run!.runId)
    expect((await store.sessions.verify(S)).findings).toEqual([])
  })

  it('that fails, or returns what no plan can express, changes nothing [S0-12 S0-U10]', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, messages)
    const before = await store.getEffectiveHistory(S)
    const answers: readonly [ContextStrategy['compact'], string][] = [
      [() => Promise.reject(new TypeError('quotes the conversation')), 'TypeError'],
      [() => 'nothing' as never, 'NO_MESSAGES'],
      [(all) => [...all, say('user', 'more') as never], 'SUMMARY_OF_NOTHING'],
      [
        (all) => [say('user', 'a') as never, say('user', 'b') as never, ...all.slice(3)],
        'SEVERAL_NEW_MESSAGES',
      ],
      [(all) => [say('user', 'a') as never, all[0]!, all[2]!, all[3]!, all[4]!], 'SUMMARY_OF_PARTS'],
      [(all) => all.map((message) => ({ ...message, content: [] })), 'PARTS_CHANGED'],
    ]
    for (const [compact, error] of answers) {
      const stages = [stageFrom({ ...newest(0), name: 'mine', compact })]
      const failed = await failureOf(() => store.compactSession(S, { stages, ...small }))
      expect(failed).toMatchObject({ code: 'STRATEGY_FAILED', facts: { strategy: 'mine', error } })
      expect(String(failed)).not.toContain('quotes')
    }
    expect(await store.getEffectiveHistory(S)).toEqual(before)
    expect(await store.listCompactions(S)).toEqual([])
  })
})

describe('any strategy as a stage', () => {
  const count = fc.integer({ min: 0, max: 6 })
  const single: fc.Arbitrary<Stage> = fc.oneof(
    fc.record({ last: count, shrinkToFit: fc.boolean() }).map((options) => slidingWindow(options)),
    fc
      .constantFrom('turn' as const, 'message' as const, 'nothing' as const)
      .map((keepNewest) => slidingWindow({ fitBudget: true, keepNewest })),
    count.map((last) => slidingWindow({ last, summarize: true })),
    fc.constant(slidingWindow({ fitBudget: true, summarize: true })),
    count.map((keep) => clearToolResults({ keep })),
    count.map((keepLast) => summarizeOlder({ keepLast })),
    count.map((n) => stageFrom({ name: 'newest', apply: (all) => all.slice(Math.max(0, all.length - n)) })),
  )
  const block: fc.Arbitrary<(at: number) => NewMessage[]> = fc.constantFrom(
    () => [say('user', units(20))],
    () => [say('assistant', units(20))],
    () => [say('system', units(3))],
    (at: number) => [call(`c${at}`, 'run'), result(`c${at}`, units(60))],
    (at: number) => [call(`c${at}`, 'run'), failure(`c${at}`, units(2))],
    (at: number) => [call(`c${at}`, 'run')],
  )

  it('keeps the laws in a store, and undo of all runs gives everything back, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(block, { minLength: 1, maxLength: 15 }),
        fc.array(
          fc.record({ stages: fc.array(single, { minLength: 1, maxLength: 3 }), targetTokens: fc.nat(500) }),
          {
            minLength: 1,
            maxLength: 3,
          },
        ),
        async (blocks, runs) => {
          await using store = await openStore(':memory:', neurolink)
          await store.append(
            S,
            blocks.flatMap((make, at) => make(at)),
          )
          const before = JSON.stringify(await store.getMessages(S))
          const done: string[] = []
          for (const config of runs) {
            const visible = (await store.getEffectiveHistory(S)).length
            const run = await store.compactSession(S, { ...config, summarizer: saying('A word.') })
            expect(run!.messages.length).toBeLessThanOrEqual(visible)
            expect(run!.tokensAfter).toBe((await store.getContextStats(S))!.estimated)
            expect((await store.sessions.verify(S)).findings).toEqual([])
            await expectSessionAccepted(store, S, S, providerOfStep(done.length + blocks.length))
            if (run!.compacted) done.push(run!.runId)
          }
          for (const id of done.reverse()) await store.undoCompaction(S, id)
          const after = (await store.getMessages(S)).filter(({ kind }) => kind === 'message')
          expect(JSON.stringify(after)).toBe(before)
        },
      ),
      { numRuns: 60 },
    )
  })
})
