import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import {
  repairRoleAlternation,
  repairToolPairs,
  validateRoleAlternation,
} from '../../src/compat/arrays/index.ts'
import { validateHistory } from '../../src/index.ts'
import { assistant, call, conversations, deepFreeze, result, system, user } from './support.ts'

type Loose = { role: string; content?: unknown; [field: string]: unknown }

const words = (text: string): object => ({ type: 'text', text })
const toolUse = (id: string): object => ({ type: 'tool_use', id, name: 'look', input: {} })
const toolResult = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: 'r' })
const calls = (...ids: string[]): object => ({
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
})

/** Repairs a frozen list: the result validates, and repairing it again changes nothing. */
function repair(messages: readonly Loose[], options: Parameters<typeof repairRoleAlternation>[1] = {}) {
  const outcome = repairRoleAlternation<Loose>(deepFreeze([...messages]), options)
  const { how: _, ...validation } = options
  expect(validateRoleAlternation(outcome.messages, validation)).toEqual([])
  expect(repairRoleAlternation<Loose>(outcome.messages, options)).toEqual({
    repaired: false,
    messages: outcome.messages,
    merged: 0,
    dropped: 0,
  })
  return outcome
}

describe('validateRoleAlternation [S2-075 S2-076]', () => {
  it.each<[string, Loose[]]>([
    ['nothing', []],
    ['turns', [system('s'), user('q'), assistant('a'), user('q')]],
    ['flat tools', [user('q'), assistant('let me look'), call('look'), result('look', 'r'), assistant('a')]],
    [
      'OpenAI’s tools',
      [
        user('q'),
        { role: 'assistant', content: null, ...calls('a', 'b') },
        { role: 'tool', tool_call_id: 'a', content: 'r' },
        { role: 'tool', tool_call_id: 'b', content: 'r' },
        assistant('a'),
      ],
    ],
    [
      'blocks',
      [
        { role: 'user', content: [words('q')] },
        { role: 'assistant', content: [toolUse('a')] },
        { role: 'user', content: [toolResult('a'), words('and?')] },
        { role: 'assistant', content: [words('a')] },
      ],
    ],
    ['hidden messages', [user('q'), { ...user('old'), condenseParent: 'c' }, assistant('a')]],
  ])('finds nothing wrong with %s', (_, messages) => {
    expect(validateRoleAlternation(messages)).toEqual([])
  })

  it('finds two turns of one role in a row, over system messages too', () => {
    const messages = [user('q'), user('q2'), assistant('a'), system('s'), assistant('a2'), assistant('a3')]
    expect(validateRoleAlternation(messages)).toEqual([
      { code: 'SAME_ROLE_TWICE', index: 1, role: 'user', previousIndex: 0 },
      { code: 'SAME_ROLE_TWICE', index: 4, role: 'assistant', previousIndex: 2 },
      { code: 'SAME_ROLE_TWICE', index: 5, role: 'assistant', previousIndex: 4 },
    ])
  })

  it('takes a user message with results and words for the user’s turn', () => {
    const messages = [
      { role: 'assistant', content: [toolUse('a')] },
      { role: 'user', content: [toolResult('a'), words('and?')] },
      { role: 'user', content: [words('well?')] },
    ]
    expect(validateRoleAlternation(messages).map(({ index }) => index)).toEqual([2])
  })

  it('requires the user first only on request', () => {
    const messages = [system('s'), assistant('hello'), user('q')]
    expect(validateRoleAlternation(messages)).toEqual([])
    expect(validateRoleAlternation(messages, { firstMustBeUser: true })).toEqual([
      { code: 'FIRST_NOT_USER', index: 1, role: 'assistant' },
    ])
    expect(validateRoleAlternation([call('look')], { firstMustBeUser: true })).toEqual([
      { code: 'FIRST_NOT_USER', index: 0, role: 'tool_call' },
    ])
  })
})

describe('repairRoleAlternation: merge [C-11]', () => {
  it('joins texts by a blank line, and keeps the fields of the first', () => {
    const first = { ...user('one'), id: 'm1', metadata: { mood: 'good' } }
    expect(repair([first, { ...user('two'), id: 'm2' }, user('three'), assistant('a')])).toEqual({
      repaired: true,
      merged: 2,
      dropped: 0,
      messages: [
        {
          role: 'user',
          id: 'm1',
          content: 'one\n\ntwo\n\nthree',
          metadata: { mood: 'good', mergedMessages: 3 },
        },
        assistant('a'),
      ],
    })
  })

  it('joins lists, with texts among them as parts', () => {
    const image = { type: 'image', image: 'aGk=' }
    const merged = repair([user('one'), { role: 'user', content: [image] }, { role: 'user', content: '' }])
    expect(merged.messages).toEqual([
      { role: 'user', content: [words('one'), image], metadata: { mergedMessages: 3 } },
    ])
  })

  it('keeps all calls, in every form, beside their results', () => {
    const openAI = [
      assistant('let me see'),
      { role: 'assistant', content: null, ...calls('a') },
      { role: 'assistant', content: '', ...calls('b') },
      { role: 'tool', tool_call_id: 'a', content: 'r' },
      { role: 'tool', tool_call_id: 'b', content: 'r' },
    ]
    const { messages } = repair(openAI)
    expect(messages[0]).toEqual({
      role: 'assistant',
      content: 'let me see',
      ...calls('a', 'b'),
      metadata: { mergedMessages: 3 },
    })
    expect(repairToolPairs(messages).repaired).toBe(false)
    const blocks = repair([
      { role: 'assistant', content: [words('let me see')] },
      { role: 'assistant', content: [toolUse('a')] },
      { role: 'user', content: [toolResult('a'), words('and?')] },
      user('well?'),
    ])
    expect(blocks.messages.map(({ content }) => content)).toEqual([
      [words('let me see'), toolUse('a')],
      [toolResult('a'), words('and?'), words('well?')],
    ])
  })

  it('moves words before a system message between, and counts what was merged before', () => {
    const once = repair([user('one'), system('s'), user('two')]).messages
    expect(once).toEqual([{ ...user('one\n\ntwo'), metadata: { mergedMessages: 2 } }, system('s')])
    expect(repair([...once, user('three')]).messages[0]?.metadata).toEqual({ mergedMessages: 3 })
  })

  it('lets the user open', () => {
    const { messages, merged } = repair([system('s'), assistant('hello')], { firstMustBeUser: true })
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant'])
    expect(messages[1]).toMatchObject({ content: '[Conversation continues]', metadata: { truncated: true } })
    expect(merged).toBe(0)
  })
})

describe('repairRoleAlternation: drop [S2-076]', () => {
  it('drops what has no counterpart: of users the earlier, of assistants the later', () => {
    const [q1, q2, a1, a2] = [user('q1'), user('q2'), assistant('a1'), assistant('a2')]
    expect(repair([q1, q2, a1, a2, user('q3')], { how: 'drop' })).toEqual({
      repaired: true,
      messages: [q2, a1, user('q3')],
      merged: 0,
      dropped: 2,
    })
  })

  it('never drops tool use, a summary or a pinned message, but merges them', () => {
    const caller = { role: 'assistant', content: null, ...calls('a') }
    const answer = { role: 'tool', tool_call_id: 'a', content: 'r' }
    expect(repair([user('q'), assistant('hm'), caller, answer], { how: 'drop' })).toMatchObject({
      merged: 1,
      dropped: 0,
    })
    const pinned = { ...user('rule'), pinned: true }
    expect(repair([pinned, user('q')], { how: 'drop' }).messages).toEqual([
      { ...pinned, content: 'rule\n\nq', metadata: { mergedMessages: 2 } },
    ])
    const summary = { ...user('so far'), metadata: { isSummary: true } }
    expect(repair([summary, user('q')], { how: 'drop' }).merged).toBe(1)
  })

  it('drops turns before the first of the user’s, up to one it may not drop', () => {
    const options = { how: 'drop', firstMustBeUser: true } as const
    const hello = [assistant('hello'), assistant('there'), user('q')]
    expect(repair(hello, options)).toMatchObject({ messages: [user('q')], dropped: 2 })
    const tools = [assistant('hm'), call('look'), result('look', 'r'), assistant('a')]
    expect(repair(tools, options).messages.map(({ role }) => role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'assistant',
    ])
  })
})

it('what it makes of a history is one a provider that demands turns takes', () => {
  const broken = [
    user('q'),
    { role: 'assistant', content: [words('hm')] },
    { role: 'assistant', content: [toolUse('a'), toolUse('b')] },
    { role: 'user', content: [toolResult('a')] },
    { role: 'assistant', content: [words('so')] },
    user('and?'),
    user('well?'),
  ]
  const { messages } = repair(repairToolPairs<Loose>(broken).messages)
  const wrong = validateHistory(fromAnthropic(messages as never)).map(({ code }) => code)
  // Results may stand in any order in a plain array.
  expect(wrong.filter((code) => code !== 'RESULT_ORDER')).toEqual([])
})

describe('laws', () => {
  const options = fc.record({
    how: fc.constantFrom('merge' as const, 'drop' as const),
    firstMustBeUser: fc.boolean(),
  })
  /** Every text of a list, joined. */
  const textOf = (messages: readonly Loose[]): string =>
    messages
      .filter(({ condenseParent, truncationParent }) => !condenseParent && !truncationParent)
      .flatMap(({ content }) =>
        Array.isArray(content)
          ? content.map(({ text = '' }: { text?: string }) => text)
          : [String(content ?? '')],
      )
      .join('')
      .replaceAll(/\s/g, '')
      .replaceAll('[Conversationcontinues]', '')

  it('validates, once and for all, parts no pair and changes no input', () => {
    fc.assert(
      fc.property(conversations, options, (messages, chosen) => {
        const whole = repairToolPairs<Loose>(messages).messages
        const outcome = repair(whole, chosen)
        expect(repairToolPairs<Loose>(outcome.messages).repaired).toBe(false)
        expect(outcome.messages.filter((message) => !whole.includes(message)).length).toBeLessThanOrEqual(
          outcome.merged + 1,
        )
        if (chosen.how === 'merge') {
          expect(outcome.dropped).toBe(0)
          expect([...textOf(outcome.messages)].sort()).toEqual([...textOf(whole)].sort())
        }
        if (!outcome.repaired) expect(outcome.messages).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })
})

it('rejects a misspelled option, an unknown role, and invalid content', () => {
  const refused = expect.objectContaining({ code: 'INVALID_INPUT' })
  for (const act of [validateRoleAlternation, repairRoleAlternation]) {
    expect(() => act([], { first: true } as never)).toThrow(refused)
    expect(() => act([{ role: 'narrator', content: 'x' }])).toThrow(refused)
    expect(() => act([{ role: 'user', content: 5 }])).toThrow(refused)
  }
})
