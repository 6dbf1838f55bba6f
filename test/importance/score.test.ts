import { describe, expect, it, test } from 'vitest'
import {
  DEFAULT_WEIGHTS,
  type GroupToScore,
  type ImportanceScorer,
  type ImportanceScores,
  type MessageToScore,
  scoreMessages,
  scoreMessagesWith,
} from '../../src/compat/arrays/index.ts'
import type { Signal } from '../../src/index.ts'
import { call, calls, failure, result, say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'
import { growth } from '../support/growth.ts'

/** The group that a message is in. */
function groupAt({ groups }: ImportanceScores, index: number) {
  return groups.find(({ indexes }) => indexes.includes(index))!
}
const score = (messages: readonly unknown[]): ImportanceScores => scoreMessages(messages as MessageToScore[])
const reasonsAt = (scores: ImportanceScores, index: number): string[] =>
  groupAt(scores, index).reasons.map(({ reason }) => reason)

/** Points are 256ths: 100 points of a person's message are 0.390625. */
const points = (value: number): number => value / 256

describe('by role', () => {
  const scores = score([
    say('system', 'Be helpful'),
    say('user', 'hello'),
    call('c1', 'work', {}),
    result('c1', 'done'),
    say('assistant', 'well'),
    say('user', 'and'),
    { role: 'tool', content: [] },
    { role: 'function', content: 'x' },
  ])

  test('the order of seed 001', () => {
    expect(scores.groups.map(({ indexes, role, importance }) => [indexes, role, importance])).toEqual([
      [[0], 'system', 1],
      [[1], 'user', points(112)],
      [[2, 3], 'assistantWithToolCalls', points(80)],
      [[4], 'assistant', points(60)],
      [[5], 'user', points(100)],
      [[6], 'tool', points(50)],
      [[7], 'other', points(10)],
    ])
  })

  test('recency counts in the rank, not in the importance', () => {
    // r of the last of 8 is 1, of the sixth 6 / 8.
    expect(groupAt(scores, 7).rank).toBe(15)
    expect(groupAt(scores, 5).rank).toBe(100 + 50 * 0.75)
    // A call and its results are as recent as the call: 3 / 8.
    expect(groupAt(scores, 3).rank).toBe(80 + 40 * 0.375)
    expect(groupAt(scores, 0).rank).toBe(Number.POSITIVE_INFINITY)
  })

  test('results in a message of the user, as Anthropic has them, are results', () => {
    const results = { role: 'user', content: (result('gone', 'x') as { content: unknown }).content }
    expect(groupAt(score([results]), 0).role).toBe('tool')
  })
})

describe('signals', () => {
  const cases: Record<string, { messages: unknown[]; at: number; signal: Signal; not?: number }> = {
    'the first request': {
      messages: [say('user', 'a'), say('user', 'b')],
      at: 0,
      signal: 'firstRequest',
      not: 1,
    },
    'a constraint: never': {
      messages: [say('user', 'x'), say('user', 'Never touch the lock file.'), say('user', 'y')],
      at: 1,
      signal: 'constraint',
      not: 2,
    },
    "a constraint: don't": {
      messages: [say('user', "Don't rename it"), say('user', "I don't know")],
      at: 0,
      signal: 'constraint',
      not: 1,
    },
    'a constraint is what a person says': {
      messages: [say('user', 'You must not'), say('assistant', 'You must not')],
      at: 0,
      signal: 'constraint',
      not: 1,
    },
    'a decision': {
      messages: [say('assistant', 'We decided for SQLite.'), say('assistant', 'We looked.')],
      at: 0,
      signal: 'decision',
      not: 1,
    },
    'a failed result': {
      messages: [call('a', 'work'), failure('a', 'x'), call('b', 'work'), result('b', 'x')],
      at: 0,
      signal: 'error',
      not: 2,
    },
    'a failure told as plain text': {
      messages: [call('a', 'bash'), result('a', 'Error: no'), call('b', 'bash'), result('b', 'ok')],
      at: 1,
      signal: 'error',
      not: 2,
    },
    'the status of a process': {
      messages: [
        call('a', 'bash'),
        result('a', 'lines\nExit code: 2'),
        call('b', 'bash'),
        result('b', 'exit code 0'),
      ],
      at: 0,
      signal: 'error',
      not: 2,
    },
    'a failure told as JSON': {
      messages: [
        call('a', 'work'),
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: 'a', output: { type: 'json', value: { success: false } } },
          ],
        },
      ],
      at: 0,
      signal: 'error',
    },
    'a write': {
      messages: [
        call('a', 'mcp__files__writeFile', { path: 'a.ts' }),
        result('a', ''),
        call('b', 'str_replace_editor', { command: 'view', path: 'a.ts' }),
        result('b', ''),
      ],
      at: 0,
      signal: 'write',
      not: 2,
    },
    "a person's answer": {
      messages: [say('assistant', 'Which one?'), say('user', 'the second'), say('user', 'go')],
      at: 1,
      signal: 'answer',
      not: 2,
    },
    "a model's answer": {
      messages: [
        say('user', 'Why is it slow?'),
        call('a', 'look'),
        result('a', 'x'),
        say('assistant', 'Because.'),
      ],
      at: 3,
      signal: 'answer',
      not: 1,
    },
    'an image': {
      messages: [{ role: 'user', content: [{ type: 'image', image: 'aGk=' }] }, say('user', 'x')],
      at: 0,
      signal: 'image',
      not: 1,
    },
    'a path that is named later': {
      messages: [
        call('a', 'read', { path: 'src/core/plan.ts' }),
        result('a', 'x'),
        say('user', 'now plan.ts please'),
      ],
      at: 1,
      signal: 'referenced',
      not: 2,
    },
    'an identifier that is named later': {
      messages: [say('assistant', 'It is called applyPlan.'), say('user', 'rename applyPlan')],
      at: 0,
      signal: 'referenced',
      not: 1,
    },
    'a call that is named later': {
      messages: [call('call_17', 'work'), result('call_17', 'x'), say('assistant', 'as call_17 shows')],
      at: 0,
      signal: 'referenced',
      not: 2,
    },
    'a read that is repeated': {
      messages: [
        call('a', 'read', { path: 'a.ts' }),
        result('a', 'x'),
        call('b', 'read', { path: './a.ts' }),
        result('b', 'x'),
      ],
      at: 0,
      signal: 'repeatedRead',
      not: 2,
    },
    'a listing': {
      messages: [
        call('a', 'list_files', {}),
        result('a', 'x'),
        call('b', 'bash', { command: 'npm test' }),
        result('b', 'x'),
      ],
      at: 0,
      signal: 'listing',
      not: 2,
    },
    'a listing by the shell': {
      messages: [call('a', 'bash', { command: 'ls -la src' }), result('a', 'x')],
      at: 0,
      signal: 'listing',
    },
  }

  it.each(Object.entries(cases))('%s', (_, { messages, at, signal, not }) => {
    const scores = score(messages)
    expect(reasonsAt(scores, at)).toContain(signal)
    if (not !== undefined) expect(reasonsAt(scores, not)).not.toContain(signal)
  })

  test('each counts by its weight, and later references count up to three', () => {
    const said = say('assistant', 'It is called applyPlan.')
    const times = (count: number) =>
      groupAt(score([said, ...Array.from({ length: count }, () => say('assistant', 'see applyPlan'))]), 0)
        .importance
    expect([0, 1, 2, 3, 4].map(times)).toEqual([60, 70, 80, 90, 90].map(points))
  })

  test('a read that failed later does not make the earlier one worthless', () => {
    const scores = score([
      call('a', 'read', { path: 'a.ts' }),
      result('a', 'x'),
      call('b', 'read', { path: 'a.ts' }),
      failure('b', 'gone'),
    ])
    expect(reasonsAt(scores, 0)).toEqual(['assistantWithToolCalls'])
  })

  test('a group that also writes is no listing', () => {
    const scores = score([
      calls(['a', 'ls'], ['b', 'write', { path: 'x.ts' }]),
      result('a', 'x'),
      result('b', 'x'),
    ])
    expect(reasonsAt(scores, 0)).toEqual(['assistantWithToolCalls', 'write'])
  })

  test('words in the middle of a long text do not count: it was pasted', () => {
    const middle = say('user', `${'word '.repeat(2_000)} you must not ${'word '.repeat(2_000)}`)
    expect(reasonsAt(score([say('user', 'x'), middle]), 1)).toEqual(['user'])
  })

  test.each(['a.', '/', 'x_', '? ', 'do not'])('a text that repeats %j is read in linear time', (unit) => {
    const run = (size: number): void => {
      const text = unit.repeat(size / unit.length)
      score([say('user', text), call('c', 'work', { text }), result('c', text)])
    }
    expect(growth(run, 500_000)).toBeLessThan(3)
  })
})

describe('acceptance', () => {
  test('a constraint in the second message outranks ordinary messages of the same age, and of any [F2-04]', () => {
    const messages = [
      say('user', 'hello'),
      say('user', 'The public names must stay as they are.'),
      ...Array.from({ length: 50 }, () => say('user', 'go on')),
    ]
    const { groups } = score(messages)
    const ordinary = score(messages.with(1, say('user', 'The public names stay as they are.')))
    expect(groups[1]!.rank).toBeGreaterThan(ordinary.groups[1]!.rank)
    for (const { rank } of groups.slice(2)) expect(groups[1]!.rank).toBeGreaterThan(rank)
  })

  test('a failed result outranks a successful read of the same age [F2-05]', () => {
    const read = (answer: object): unknown[] => [
      say('user', 'x'),
      call('a', 'read', { path: 'a.ts' }),
      answer,
    ]
    const failed = groupAt(score(read(failure('a', 'no such file'))), 1)
    const succeeded = groupAt(score(read(result('a', 'text'))), 1)
    expect(failed.rank).toBeGreaterThan(succeeded.rank)
    expect(failed.importance).toBe(succeeded.importance + points(DEFAULT_WEIGHTS.signals.error))
  })

  test('the reasons add up to the score, exactly, in any order, within 0 to 1 [F2-07]', () => {
    const weights = {
      base: { user: 250, tool: 0 },
      signals: { constraint: 200, firstRequest: 0.1, repeatedRead: -256, listing: -200 },
    }
    const messages = [
      say('user', 'You must never change applyPlan.'),
      call('a', 'read', { path: 'a.ts' }),
      result('a', 'x'),
      call('l', 'ls'),
      result('l', 'x'),
      call('b', 'read', { path: 'a.ts' }),
      result('b', 'x'),
    ] as MessageToScore[]
    for (const { groups } of [scoreMessages(messages), scoreMessages(messages, { weights })]) {
      for (const { importance, reasons } of groups) {
        expect(reasons.reduce((sum, { weight }) => sum + weight, 0)).toBe(importance)
        expect(importance).toBeGreaterThanOrEqual(0)
        expect(importance).toBeLessThanOrEqual(1)
      }
    }
    const limited = scoreMessages(messages, { weights }).groups
    expect(limited[0]!.importance).toBe(1)
    expect(limited[0]!.reasons.at(-1)!.reason).toBe('limit')
    expect(limited[1]!.importance).toBe(0)
    const plain = scoreMessages(messages).groups[0]!
    expect(plain.reasons).toEqual([
      { reason: 'user', weight: points(100) },
      { reason: 'firstRequest', weight: points(12) },
      { reason: 'constraint', weight: points(60) },
    ])
    expect(plain.reasons.toReversed().reduce((sum, { weight }) => sum + weight, 0)).toBe(plain.importance)
  })

  test('the same history gives the same scores [F2-08]', () => {
    const messages = [say('user', 'You must'), call('a', 'read', { path: 'a.ts' }), result('a', 'x')]
    expect(score(messages)).toEqual(score(structuredClone(messages)))
  })
})

describe('a scorer of the application [F2-09]', () => {
  const messages = [
    say('system', 's'),
    say('user', 'x'),
    call('a', 'work'),
    result('a', 'y'),
  ] as MessageToScore[]
  const scorer = (score: ImportanceScorer['score']): ImportanceScorer => ({
    name: 'mine',
    version: '3',
    score,
  })

  test('is called for each group except those that always stay, and may be slow', async () => {
    const asked: GroupToScore[] = []
    const { groups, ...rest } = await scoreMessagesWith(
      scorer(async (groups) => {
        asked.push(...groups)
        return [
          0.25,
          {
            importance: 0.75,
            reasons: [
              { reason: 'dear', weight: 0.5 },
              { reason: 'near', weight: 0.25 },
            ],
          },
        ]
      }),
      messages,
    )
    expect(rest).toEqual({ scorer: { name: 'mine', version: '3' } })
    expect(asked.map(({ messages, role }) => [messages.length, role])).toEqual([
      [1, 'user'],
      [2, 'assistantWithToolCalls'],
    ])
    expect(groups.map(({ importance }) => importance)).toEqual([1, 0.25, 0.75])
    expect(groups[1]!.reasons).toEqual([{ reason: 'mine', weight: 0.25 }])
    expect(groups[2]!.reasons.map(({ reason }) => reason)).toEqual(['dear', 'near'])
  })

  const wrong: Record<string, [ImportanceScorer['score'], 'threw' | 'answer']> = {
    'that throws': [
      () => {
        throw new Error('secret words')
      },
      'threw',
    ],
    'that rejects': [() => Promise.reject(new Error('secret words')), 'threw'],
    'that answers nothing': [() => undefined as never, 'answer'],
    'that answers too few': [() => [0.5], 'answer'],
    'that answers 2': [() => [0.5, 2], 'answer'],
    'that answers NaN': [() => [0.5, Number.NaN], 'answer'],
    'whose reasons do not add up': [
      () => [0.5, { importance: 0.5, reasons: [{ reason: 'x', weight: 0.1 }] }],
      'answer',
    ],
  }
  it.each(Object.entries(wrong))('%s is stepped in for, with a warning', async (_, [ask, why]) => {
    const { warning, ...scores } = await scoreMessagesWith(scorer(ask), messages)
    expect(warning).toEqual({ code: 'SCORER_FAILED', scorer: 'mine', why })
    expect(scores).toEqual(scoreMessages(messages))
  })
})

describe('what cannot be', () => {
  const bad = (value: unknown): never => value as never
  const acts: Record<string, () => unknown> = {
    'messages that are no list': () => scoreMessages(bad('x')),
    'messages of OpenAI': () => scoreMessages([{ role: 'assistant', content: bad(null) }]),
    'a misspelt option': () => scoreMessages([], bad({ weight: {} })),
    'a role that is none': () => scoreMessages([], { weights: { base: bad({ person: 1 }) } }),
    'a weight that is no number': () => scoreMessages([], { weights: { base: { user: Number.NaN } } }),
    'a scorer that is none': () => scoreMessagesWith(bad({ name: 'x' }), []),
    'a scorer without a name': () => scoreMessagesWith({ name: '', version: '1', score: () => [] }, []),
  }
  it.each(Object.entries(acts))('%s', async (what, act) => {
    expectFailure(await failureOf(act), 'INVALID_INPUT', what)
  })

  test('names that objects have anyway do no harm', () => {
    const { groups } = score([
      { role: '__proto__', content: 'constructor toString __proto__' },
      call('__proto__', 'constructor', { path: '__proto__' }),
      result('__proto__', 'toString'),
    ])
    expect(groups.map(({ role }) => role)).toEqual(['other', 'assistantWithToolCalls'])
  })
})
