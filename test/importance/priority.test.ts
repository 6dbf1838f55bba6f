import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { scoreMessages } from '../../src/compat/arrays/index.ts'
import { type ArrayRows, rowsOf } from '../../src/compat/arrays/rows.ts'
import { PATH_ARGUMENTS, READ_TOOLS } from '../../src/core/messages/tool-names.ts'
import { checkLaws } from '../../src/core/model/laws.ts'
import { applyPlan, type Plan } from '../../src/core/model/plan.ts'
import { isRequest } from '../../src/core/model/tool-groups.ts'
import type { View } from '../../src/core/model/view.ts'
import { deduplicate } from '../../src/core/stages/deduplicate.ts'
import {
  PROTECTED_CLASSES,
  type PriorityStageOptions,
  priorityStage,
} from '../../src/core/stages/priority.ts'
import { createStage } from '../../src/core/stages/registry.ts'
import type { PlanningStage, StageContext } from '../../src/core/stages/stage.ts'
import type { ChatMessage } from '../../src/index.ts'
import { randomView } from '../core/random-views.ts'
import { call, failure, result, say, units } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

const rowsFor = (messages: readonly unknown[]): ArrayRows => rowsOf(messages as ChatMessage[], '', 'test')

function planOf(
  { view, parts }: ArrayRows,
  targetTokens: number,
  options: PriorityStageOptions = {},
): Plan | undefined {
  return priorityStage(options).plan(view, contextOf(parts, targetTokens))
}

function contextOf(parts: ArrayRows['parts'], targetTokens: number, settings: object = {}): StageContext {
  return {
    settings: settings as StageContext['settings'],
    targetTokens,
    limitTokens: targetTokens,
    contentOf: (row) => parts.get(row.key) ?? [],
    metadataOf: () => undefined,
  }
}

/** Places of the messages that stay. */
function kept(
  messages: readonly unknown[],
  targetTokens: number,
  options: PriorityStageOptions = {},
): number[] {
  const rows = rowsFor(messages)
  const plan = planOf(rows, targetTokens, options)
  const hidden = new Set(plan?.hide.map(({ key }) => key - 1))
  return messages.map((_, index) => index).filter((index) => !hidden.has(index))
}

/** By hand: 10 units a message are 11.5 tokens with the margin, 4 more for its frame, and 24 for the conversation. */
const tokensFor = (messages: number, unitsEach = 10): number =>
  Math.ceil(messages * unitsEach * 1.15) + 4 * messages + 24

const chat = [
  say('user', units(10)),
  say('assistant', units(10)),
  say('user', units(10)),
  say('assistant', units(10)),
  say('user', units(10)),
  say('assistant', units(10)),
]

describe('what is kept', () => {
  test('the highest scores that fit; the newest turn always', () => {
    expect(kept(chat, tokensFor(6))).toEqual([0, 1, 2, 3, 4, 5])
    // Answers score 60 to 90, people's messages 100 to 150: the answers go first, the oldest before the newer.
    expect(kept(chat, tokensFor(5))).toEqual([0, 2, 3, 4, 5])
    expect(kept(chat, tokensFor(4))).toEqual([0, 2, 4, 5])
    // The first request (112 + 8.3) scores less than the second (100 + 25).
    expect(kept(chat, tokensFor(3))).toEqual([2, 4, 5])
    expect(kept(chat, tokensFor(2))).toEqual([4, 5])
  })

  test('of the newest turn the request alone, when that is wanted', () => {
    expect(kept(chat, tokensFor(3), { keepNewest: 'request' })).toEqual([0, 2, 4])
    expect(kept(chat, 0, { keepNewest: 'request' })).toEqual([4])
  })

  test('what does not fit is passed over, smaller ones below are still tried', () => {
    const messages = [say('user', units(500)), say('assistant', units(10)), ...chat.slice(4)]
    expect(kept(messages, tokensFor(3))).toEqual([1, 2, 3])
  })

  test('by score for each token many small ones go before one large', () => {
    const messages = [
      say('user', units(20)),
      say('assistant', units(10)),
      say('assistant', units(10)),
      ...chat.slice(4),
    ]
    // Room for 20 units besides the newest turn: one request of 20, or two answers of 10.
    const target = tokensFor(4)
    expect(kept(messages, target)).toEqual([0, 3, 4])
    expect(kept(messages, target, { order: 'scorePerToken' })).toEqual([1, 2, 3, 4])
  })

  test('a call and its results score as the call, and go together [C-17]', () => {
    const messages = [
      say('user', units(10)),
      call('a', 'work'),
      result('a', units(100)),
      say('assistant', units(10)),
      ...chat.slice(4),
    ]
    expect(kept(messages, tokensFor(4) + 3)).toEqual([0, 3, 4, 5])
    expect(kept(messages, 1_000)).toEqual([0, 1, 2, 3, 4, 5])
  })

  test('system messages stay, also when they alone are too large [S1-16]', () => {
    const messages = [say('system', units(1_000)), ...chat]
    const plan = planOf(rowsFor(messages), 100)!
    expect(kept(messages, 100)).toEqual([0, 5, 6])
    expect(plan.params.overBudget).toBe(true)
  })

  test('what is protected exceeds the budget: it reports that, loses nothing of it, and stops [F2-10]', () => {
    const messages = [
      say('system', units(100)),
      { ...say('user', units(100)), pinned: true },
      say('assistant', units(10)),
      { role: 'user', content: 'so far', metadata: { isSummary: true } },
      say('user', units(100)),
      call('a', 'work'),
    ]
    const rows = rowsFor(messages)
    const stage = priorityStage()
    const plan = stage.plan(rows.view, contextOf(rows.parts, 0))!
    expect(plan.params).toMatchObject({ overBudget: true, targetTokens: 0 })
    expect(plan.hide.map(({ key }) => key)).toEqual([3])
    const { after } = applyPlan(rows.view, plan, -1, 1)
    expect(stage.plan(after, contextOf(rows.parts, 0))).toBeUndefined()
    expect(planOf(rowsFor(chat), tokensFor(2))!.params.overBudget).toBeUndefined()
  })

  test('classes of messages are kept whatever they score [S4-U09]', () => {
    const image = { role: 'user', content: [{ type: 'image', image: 'aGk=' }] }
    const messages = [
      say('user', 'first'),
      say('user', 'You must use tabs'),
      say('assistant', 'We decided for tabs'),
      call('e', 'work'),
      failure('e', 'no'),
      call('w', 'write', { path: 'x.ts' }),
      result('w', 'ok'),
      image,
      say('assistant', 'Which one?'),
      say('user', 'the second'),
      say('assistant', 'in handBook'),
      say('user', 'see handBook'),
    ]
    const by = Object.fromEntries(
      PROTECTED_CLASSES.map((name) => [
        name,
        kept(messages, 0, { protect: [name] }).filter((at) => at !== 11),
      ]),
    )
    expect(by).toEqual({
      firstRequest: [0],
      constraints: [1],
      decisions: [2],
      errors: [3, 4],
      writes: [5, 6],
      answers: [9],
      images: [7],
      referenced: [10],
    })
    expect(kept(messages, 0, { protect: ['errors', 'images'] })).toEqual([3, 4, 7, 11])
  })

  test('scores of others count for the messages they name', () => {
    const scores = [
      { messageIds: ['#1'], importance: 1 },
      { messageIds: ['gone'], importance: 1 },
    ]
    expect(kept(chat, tokensFor(3), { scores })).toEqual([1, 4, 5])
  })

  test('weights decide', () => {
    const weights = { base: { assistant: 200 } }
    expect(kept(chat, tokensFor(4), { weights })).toEqual([1, 3, 4, 5])
  })

  test('a read that a kept message points at is kept with it', () => {
    const text = units(60)
    const read = (id: string) => [call(id, 'read', { path: 'a.ts' }), result(id, text)]
    const rows = rowsFor([...read('a'), say('user', units(10)), ...read('b'), say('user', units(10))])
    const settings = {
      readTools: READ_TOOLS,
      pathArguments: PATH_ARGUMENTS,
      deduplicateByText: false,
      deduplicateMinimumSavings: 0,
    }
    const pointing = deduplicate.plan(rows.view, contextOf(rows.parts, 0, settings))!
    const { after } = applyPlan(rows.view, pointing, -1, 1)
    expect(after.pointerTargets).toHaveLength(1)
    const given = [{ messageIds: ['#0'], importance: 1 }]
    for (const target of [0, 60, 100, 130, 150, 170, 200, 1_000]) {
      const plan = priorityStage({ scores: given }).plan(after, contextOf(rows.parts, target))
      const hidden = new Set(plan?.hide.map(({ key }) => key))
      if (!hidden.has(2)) expect(hidden.has(5), `at ${target}`).toBe(false)
    }
  })
})

describe('laws', () => {
  /** Views with pins, and any options. */
  const scene = fc.record({
    messages: randomView,
    pins: fc.array(fc.nat(30), { maxLength: 2 }),
    target: fc.nat(400),
    options: fc.record({
      order: fc.constantFrom('score', 'scorePerToken'),
      keepNewest: fc.constantFrom('turn', 'request'),
      protect: fc.subarray([...PROTECTED_CLASSES]),
    }),
  })

  test('groups are kept or hidden whole, what is protected stays, and what can fit fits [F2-06]', () => {
    fc.assert(
      fc.property(scene, ({ messages, pins, target, options }) => {
        const rows = rowsFor(messages.map((message, at) => ({ ...message, pinned: pins.includes(at) })))
        const { view, parts } = rows
        const plan = priorityStage(options as PriorityStageOptions).plan(view, contextOf(parts, target))
        if (plan === undefined) return
        checkLaws('', view, plan)
        const hidden = new Set(plan.hide.map(({ key }) => view.indexOf(key)!))
        for (const index of hidden) {
          for (const member of view.turns.groupOf(index)) expect(hidden.has(member)).toBe(true)
          expect(view.turns.pending.has(index)).toBe(false)
        }
        const newest = view.rows.findLastIndex(isRequest)
        if (newest >= 0) expect(hidden.has(newest)).toBe(false)
        const { after } = applyPlan(view, plan, -1, 1)
        if (plan.params.overBudget !== true) expect(after.tokens).toBeLessThanOrEqual(target)
        // Nothing that would still fit is hidden.
        for (const index of hidden) {
          const without = plan.hide.filter(
            ({ key }) => !view.turns.groupOf(index).includes(view.indexOf(key)!),
          )
          const more: View = applyPlan(view, { ...plan, hide: without }, -1, 1).after
          expect(more.tokens).toBeGreaterThan(target)
        }
      }),
      { numRuns: 400 },
    )
  })

  test('within a tier the more recent message scores higher [S1-21]', () => {
    const roles = fc.constantFrom('user', 'assistant', 'tool', 'function')
    fc.assert(
      fc.property(fc.array(roles, { minLength: 2, maxLength: 40 }), (said) => {
        const { groups } = scoreMessages(said.map((role) => ({ role, content: 'plain' })))
        const last = new Map<string, number>()
        for (const { role, rank, reasons } of groups) {
          if (reasons.length > 1) continue
          expect(rank).toBeGreaterThan(last.get(role) ?? 0)
          last.set(role, rank)
        }
      }),
    )
  })
})

describe('by name', () => {
  it('is built from a configuration', () => {
    const stage = createStage({
      stage: 'priority_based',
      protect: ['errors'],
      weights: { base: { user: 5 } },
    })
    expect(stage.name).toBe('priority_based')
    const bare = createStage({
      stage: 'priority_based',
      weights: {
        signals: {
          firstRequest: 0,
          constraint: 0,
          decision: 0,
          error: 0,
          write: 0,
          answer: 0,
          image: 0,
          referenced: 0,
          repeatedRead: 0,
          listing: 0,
        },
      },
    }) as PlanningStage
    // Without signals nobody has to read what was said.
    expect(bare.reads!(rowsFor(chat).view, contextOf(new Map(), 0))).toEqual([])
  })

  const wrong: Record<string, object> = {
    'a misspelt option': { protects: [] },
    'a class that is none': { protect: ['jokes'] },
    'an order that is none': { order: 'random' },
    'a score of 2': { scores: [{ messageIds: ['a'], importance: 2 }] },
  }
  it.each(Object.entries(wrong))('%s is refused', async (what, options) => {
    expectFailure(
      await failureOf(() => priorityStage(options as PriorityStageOptions)),
      'INVALID_INPUT',
      what,
    )
    expectFailure(
      await failureOf(() => createStage({ stage: 'priority_based', ...options })),
      'INVALID_INPUT',
      what,
    )
  })
})
