import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { Part } from '../../src/core/messages/message.ts'
import { withReplacements } from '../../src/core/messages/overlay.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { isUntouched, planRemoval, type RetainedRow, sessionRemoval } from '../../src/core/retention/plan.ts'
import { type RetentionRules, resolveRetention, retentionSchema } from '../../src/core/retention/rules.ts'
import { retiredPart, type Tombstone, tombstonesIn } from '../../src/core/retention/tombstone.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import { SEED } from '../support/seed.ts'

/* What may be removed: pure functions over rows. */

const DAY_MS = 86_400_000
const NOW = 1_000 * DAY_MS
const rulesOf = (...layers: (RetentionRules | undefined)[]) =>
  resolveRetention(layers.map((layer) => layer && retentionSchema.parse(layer)))

const OUTPUT: Part = {
  type: 'tool-result',
  toolCallId: 'c',
  output: { type: 'text', value: 'x'.repeat(100) },
}
const SPOKEN: Part = { ...OUTPUT, providerOptions: { 'ai-sdk': { answered: true } } } as Part
const ASKED: Part = { ...OUTPUT, toolName: 'AskUserQuestion' } as Part
const THOUGHT: Part = { type: 'reasoning', text: 'hm' }
const IMAGE: Part = { type: 'image', image: 'QUJD' }
const TEXT: Part = { type: 'text', text: 'so' }
const SHOT: Part = {
  ...{ type: 'tool-result', toolCallId: 'c' },
  output: {
    type: 'content',
    value: [
      { type: 'text', text: 'seen' },
      { type: 'image', image: 'QUJD' },
    ],
  },
}

const bytesOf = (entry: object): number => JSON.stringify(entry).length

function row(facts: Partial<RetainedRow> & { readonly given?: RetentionRules }): RetainedRow {
  const { given = {}, ...rest } = facts
  return {
    ...{ rules: rulesOf(given), createdAt: NOW - 10 * DAY_MS, hiddenAt: undefined, isPinned: false },
    ...{ replaced: new Set<number>(), required: new Set<number>() },
    ...rest,
  }
}

const HIDDEN = { hiddenAt: NOW - 5 * DAY_MS }

describe('a rule', () => {
  it.each([
    { olderThanDays: 10, removed: true },
    { olderThanDays: 10.001, removed: false },
    { largerThanBytes: bytesOf(OUTPUT) - 1, removed: true },
    { largerThanBytes: bytesOf(OUTPUT), removed: false },
    { olderThanDays: 10, largerThanBytes: bytesOf(OUTPUT), removed: false },
  ])(
    'of $olderThanDays days and $largerThanBytes bytes removes an output of ten days: $removed',
    ({ removed, ...rule }) => {
      const found = planRemoval([OUTPUT], [row({ ...HIDDEN, given: { toolOutputs: rule } })], NOW, bytesOf)
      expect(found).toEqual(removed ? [{ part: 0, rule: 'toolOutputs' }] : [])
    },
  )

  it.each([
    { olderThanDays: 5, parts: 2 },
    { olderThanDays: 5.001, parts: 0 },
  ])('about hidden rows counts since they were hidden: $olderThanDays days', ({ parts, ...rule }) => {
    expect(
      planRemoval([TEXT, OUTPUT], [row({ ...HIDDEN, given: { hidden: rule } })], NOW, bytesOf),
    ).toHaveLength(parts)
  })

  it('about hidden rows compares the size of the whole row', () => {
    const size = bytesOf(TEXT) + bytesOf(OUTPUT)
    const removed = (largerThanBytes: number) =>
      planRemoval([TEXT, OUTPUT], [row({ ...HIDDEN, given: { hidden: { largerThanBytes } } })], NOW, bytesOf)
        .length
    expect([removed(size - 1), removed(size)]).toEqual([2, 0])
  })

  it('removes its class only, and the words of a person not at all', () => {
    const all: readonly Part[] = [TEXT, OUTPUT, THOUGHT, IMAGE, SHOT, SPOKEN, ASKED]
    const old = { olderThanDays: 0 }
    const of = (given: RetentionRules) =>
      planRemoval(all, [row({ ...HIDDEN, given })], NOW, bytesOf).map(({ part, item }) => [part, item])
    expect(of({ toolOutputs: old })).toEqual([
      [1, undefined],
      [4, undefined],
    ])
    expect(of({ reasoning: old })).toEqual([[2, undefined]])
    expect(of({ media: old })).toEqual([
      [3, undefined],
      [4, 1],
    ])
    expect(of({ hidden: old })).toEqual([0, 1, 2, 3, 4, 5, 6].map((part) => [part, undefined]))
  })

  it('of a list is enough', () => {
    const given = { toolOutputs: [{ largerThanBytes: 10_000 }, { olderThanDays: 10 }] }
    expect(planRemoval([OUTPUT], [row({ ...HIDDEN, given })], NOW, bytesOf)).toHaveLength(1)
  })
})

describe('layers of rules', () => {
  const OLD = { olderThanDays: 1 }
  it('are decided class by class, narrowest first', () => {
    const found = rulesOf(
      { hidden: false },
      { hidden: OLD, media: OLD },
      { media: { olderThanDays: 9 }, audit: OLD },
    )
    expect([found.hidden, found.media.length, found.media[0]!.olderThanDays, found.audit.length]).toEqual([
      [],
      1,
      1,
      1,
    ])
  })

  it('end with one that is false', () => {
    const found = rulesOf({ media: OLD }, false, { hidden: OLD, archived: OLD })
    expect([found.media.length, found.hidden.length, found.archived.length]).toEqual([1, 0, 0])
  })
})

describe('a session', () => {
  const facts = { isSubagent: false, newestAt: NOW - 10 * DAY_MS, archivedAt: NOW - 5 * DAY_MS }
  const rules = rulesOf({ archived: { olderThanDays: 5 }, subagents: { olderThanDays: 10, pinned: true } })

  it('is removed by its class and age, with pinned messages only if the rule says so', () => {
    expect(sessionRemoval(rules, facts, NOW, false)).toBe('archived')
    expect(sessionRemoval(rules, facts, NOW, true)).toBeUndefined()
    expect(sessionRemoval(rules, { ...facts, archivedAt: undefined }, NOW, false)).toBeUndefined()
    expect(sessionRemoval(rules, { ...facts, isSubagent: true }, NOW, true)).toBe('subagents')
    expect(sessionRemoval(rules, { ...facts, archivedAt: NOW - 4 * DAY_MS }, NOW, false)).toBeUndefined()
  })
})

const anyRule = fc.record(
  {
    olderThanDays: fc.integer({ min: 0, max: 20 }),
    largerThanBytes: fc.integer({ min: 0, max: 200 }),
    ...{ visible: fc.boolean(), pinned: fc.boolean(), required: fc.boolean() },
  },
  { requiredKeys: ['olderThanDays'] },
)
const anyRules = fc.record(
  {
    ...{ toolOutputs: anyRule, reasoning: anyRule, media: anyRule },
    hidden: anyRule.map(({ visible: _, ...rule }) => rule),
  },
  { requiredKeys: [] },
)
const parts = fc.array(fc.constantFrom(TEXT, OUTPUT, THOUGHT, IMAGE, SHOT, SPOKEN), {
  minLength: 1,
  maxLength: 5,
})
const numbers = fc.uniqueArray(fc.nat({ max: 4 })).map((list): ReadonlySet<number> => new Set(list))
const anyRow = fc.record({
  given: anyRules,
  createdAt: fc.integer({ min: NOW - 20 * DAY_MS, max: NOW }),
  hiddenAt: fc.option(fc.integer({ min: NOW - 20 * DAY_MS, max: NOW }), { nil: undefined }),
  ...{ isPinned: fc.boolean(), replaced: numbers, required: numbers },
})

test(`what is visible, pinned or required in any row stays unless the rules of that row say otherwise (seed ${SEED})`, () => {
  fc.assert(
    fc.property(parts, fc.array(anyRow, { minLength: 1, maxLength: 3 }), (content, given) => {
      const rows = given.map(row)
      const removed = planRemoval(content, rows, NOW, bytesOf)
      for (const { part, rule } of removed)
        for (const [at, one] of rows.entries()) {
          const names = Object.values(given[at]!.given) as {
            visible?: boolean
            pinned?: boolean
            required?: boolean
          }[]
          const says = (name: 'visible' | 'pinned' | 'required'): boolean =>
            names.some((rule) => rule[name] === true)
          if (one.hiddenAt === undefined && !one.replaced.has(part)) expect(says('visible')).toBe(true)
          if (one.isPinned) expect(says('pinned')).toBe(true)
          if (one.required.has(part)) expect(says('required')).toBe(true)
          if (at === 0 && rule === 'hidden') expect(one.hiddenAt).toBeDefined()
        }
      // A row that isn't read has nothing to remove.
      if (rows.some((one) => isUntouched(one, NOW))) expect(removed).toEqual([])
    }),
    { numRuns: 5_000 },
  )
})

describe('a tombstone', () => {
  const tombstone: Tombstone = { rule: 'hidden', bytes: 9, tokens: 3, at: NOW }
  const ALL: readonly Part[] = [
    ...[TEXT, OUTPUT, THOUGHT, IMAGE, SHOT, SPOKEN],
    { type: 'file', data: 'QUJD', mediaType: 'application/pdf' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: { path: 'a.ts' }, providerExecuted: true },
    { ...OUTPUT, output: { type: 'error-json', value: { secret: 1 } } } as Part,
    { type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking', data: 'x' } },
    { type: 'provider', provider: 'pi', data: { secret: 1 } },
  ]

  it.each(ALL)('of $type keeps what pairing and rendering depend on', (part) => {
    const retired = retiredPart(part, tombstone, false)
    expect(tombstonesIn(retired)).toEqual([tombstone])
    expect(tombstonesIn(part)).toEqual([])
    const of = (one: Part) => indexMessage({ content: [one] }, neurolinkEstimator)
    const [before, after] = [of(part), of(retired)]
    const ids = ({ calls, results }: typeof before) => [
      calls.map(({ id, name }) => [id, name]),
      results.map(({ id, failed }) => [id, failed]),
    ]
    expect(ids(after)).toEqual(ids(before))
    const flags = ({ hasReasoning, speaks, silent }: typeof before) => [hasReasoning, speaks, silent]
    expect(flags(after)).toEqual(flags(before))
    expect([before.isRetired, after.isRetired]).toEqual([false, true])
  })

  it.each(ALL.filter(({ type }) => type === 'tool-result'))(
    'changes nothing of what a replacement shows',
    (part) => {
      const given = {
        ...part,
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      } as Part
      const shown = (one: Part) => withReplacements([one], () => 'short')
      expect(shown(retiredPart(given, tombstone, true))).toEqual(shown(given))
    },
  )
})
