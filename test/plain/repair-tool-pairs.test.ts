import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromOpenAI } from '../../src/adapters/openai/index.ts'
import { repairToolPairs } from '../../src/compat/arrays/index.ts'
import { validateHistory } from '../../src/index.ts'
import { assistant, call, deepFreeze, result, user } from './support.ts'

const RESULT = '[Tool result unavailable - conversation was compacted]'
const callText = (tool: string): string => `[Tool call for ${tool} - conversation was compacted]`
const truncated = { metadata: { truncated: true } }

/** A message of any form, as a test writes it. */
type Loose = { role: string; content?: unknown; [field: string]: unknown }

/** Repairs a frozen list, and once more: the second time nothing is left to do. */
function repair(messages: readonly Loose[], options = {}) {
  const repaired = repairToolPairs<Loose>(deepFreeze(messages) as Loose[], options)
  const again = repairToolPairs<Loose>(repaired.messages, options)
  expect(again).toEqual({ ...repaired, repaired: false, orphanedCallsFixed: 0, orphanedResultsFixed: 0 })
  return repaired
}

const flatCall = (id: string, tool = 'look'): Loose => ({ ...call(tool), toolCallId: id })
const flatResult = (id: string, tool = 'look'): Loose => ({ ...result(tool, `of ${id}`), toolCallId: id })
const openAICalls = (...ids: string[]): Loose => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
})
const openAIResult = (id: string): Loose => ({ role: 'tool', tool_call_id: id, content: `of ${id}` })
const toolUse = (id: string): object => ({ type: 'tool_use', id, name: 'look', input: {} })
const toolResult = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: `of ${id}` })
const blocks = (role: string, ...content: object[]): Loose => ({ role, content })
const part = (id: string, more = {}): object => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: 'look',
  input: {},
  ...more,
})
const resultPart = (id: string): object => ({
  type: 'tool-result',
  toolCallId: id,
  output: { type: 'text', value: `of ${id}` },
})

describe('a whole history comes back as it was [S3-313 S3-314 S3-321]', () => {
  it.each<[string, Loose[]]>([
    ['nothing at all', []],
    ['words alone', [user('q'), assistant('a')]],
    ['flat, parallel, without ids', [call('look'), call('look'), result('look', '1'), result('look', '2')]],
    ['flat, parallel, told apart by the tool', [call('a'), call('b'), result('b', '2'), result('a', '1')]],
    ['flat, with ids, in any order', [flatCall('a'), flatCall('b'), flatResult('b'), flatResult('a')]],
    ['flat, results that name no tool', [call('look'), { role: 'tool_result', content: 'r' }]],
    ['OpenAI, parallel', [openAICalls('a', 'b'), openAIResult('b'), openAIResult('a'), assistant('done')]],
    [
      'OpenAI of the old kind',
      [
        { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
        { role: 'function', name: 'look', content: 'r' },
      ],
    ],
    [
      'calls without ids, results that name their tool',
      [
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ function: { name: 'a' } }, { function: { name: 'b' } }],
        },
        { role: 'tool', content: '2', tool_name: 'b' },
        { role: 'tool', content: '1', tool_name: 'a' },
      ],
    ],
    [
      'blocks, parallel, with words behind the results',
      [
        blocks('assistant', { type: 'text', text: 'both' }, toolUse('a'), toolUse('b')),
        blocks('user', toolResult('b'), toolResult('a'), { type: 'text', text: 'and?' }),
      ],
    ],
    [
      'neutral, results apart',
      [
        blocks('assistant', part('a'), part('b')),
        blocks('tool', resultPart('a')),
        blocks('tool', resultPart('b')),
      ],
    ],
    [
      'a tool the provider ran',
      [blocks('assistant', part('a', { providerExecuted: true }), resultPart('a'))],
    ],
    [
      'blocks only their provider reads',
      [blocks('assistant', { type: 'server_tool_use', id: 's', name: 'web', input: {} })],
    ],
    [
      'an id that comes twice',
      [openAICalls('x'), openAIResult('x'), user('again'), openAICalls('x'), openAIResult('x')],
    ],
    ['a result far behind its call', [flatCall('a'), user('meanwhile'), flatResult('a')]],
  ])('%s', (_, messages) => {
    const outcome = repairToolPairs<Loose>(deepFreeze(messages))
    expect(outcome).toEqual({ repaired: false, messages, orphanedCallsFixed: 0, orphanedResultsFixed: 0 })
    expect(outcome.messages.every((message, index) => message === messages[index])).toBe(true)
  })
})

describe('a call without a result [S3-312 S3-315 S3-317 S3-319]', () => {
  it('flat, at the end: gets one with its id and tool', () => {
    expect(repair([user('q'), flatCall('a')])).toEqual({
      repaired: true,
      orphanedCallsFixed: 1,
      orphanedResultsFixed: 0,
      messages: [
        user('q'),
        flatCall('a'),
        { role: 'tool_result', content: RESULT, tool: 'look', toolCallId: 'a', ...truncated },
      ],
    })
  })

  it("flat, without id, before a user's text", () => {
    expect(repair([call('look'), user('stop')]).messages).toEqual([
      call('look'),
      { role: 'tool_result', content: RESULT, tool: 'look', ...truncated },
      user('stop'),
    ])
  })

  it('one of two parallel ones: only the missing result, after the existing one', () => {
    const made = { role: 'tool_result', content: RESULT, tool: 'look', toolCallId: 'a', ...truncated }
    const messages = [flatCall('a'), flatCall('b'), flatResult('b'), assistant('done')]
    const outcome = repair(messages)
    expect(outcome.messages).toEqual([flatCall('a'), flatCall('b'), flatResult('b'), made, assistant('done')])
    expect(outcome.orphanedCallsFixed).toBe(1)
  })

  it('OpenAI: a tool message for each, after those of its batch', () => {
    const made = (id: string): Loose => ({
      role: 'tool',
      tool_call_id: id,
      name: 'look',
      content: RESULT,
      ...truncated,
    })
    expect(repair([openAICalls('a', 'b', 'c'), openAIResult('b'), user('so?')]).messages).toEqual([
      openAICalls('a', 'b', 'c'),
      openAIResult('b'),
      made('a'),
      made('c'),
      user('so?'),
    ])
  })

  it('blocks: one user message with what is missing, after messages of results alone', () => {
    const made = blocks('user', { type: 'tool_result', tool_use_id: 'b', content: RESULT })
    const batch = blocks('assistant', toolUse('a'), toolUse('b'))
    expect(repair([batch, blocks('user', toolResult('a')), assistant('done')]).messages).toEqual([
      batch,
      blocks('user', toolResult('a')),
      { ...made, ...truncated },
      assistant('done'),
    ])
    // Words may not come between results: what is made up stands before a message that says more.
    const spoken = blocks('user', toolResult('a'), { type: 'text', text: 'so?' })
    expect(repair([batch, spoken]).messages).toEqual([batch, { ...made, ...truncated }, spoken])
  })

  it('neutral: a tool message, and inside the message where the provider ran the tool', () => {
    const value = { type: 'text', value: RESULT }
    const made = { type: 'tool-result', toolCallId: 'a', toolName: 'look', output: value }
    expect(repair([blocks('assistant', part('a'))]).messages).toEqual([
      blocks('assistant', part('a')),
      { role: 'tool', content: [made], ...truncated },
    ])
    const ran = part('a', { providerExecuted: true })
    expect(repair([blocks('assistant', ran, { type: 'text', text: 'so' })]).messages).toEqual([
      blocks('assistant', ran, made, { type: 'text', text: 'so' }),
    ])
  })

  it('of the old kind', () => {
    const old = { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } }
    expect(repair([old, user('so?')]).messages).toEqual([
      old,
      { role: 'function', name: 'look', content: RESULT, ...truncated },
      user('so?'),
    ])
  })
})

describe('a result without a call [S3-316 S3-318 S3-319 S2-077 S2-078]', () => {
  it('flat: gets one before it, with its id and tool', () => {
    const outcome = repair([flatResult('a'), assistant('done')])
    expect(outcome).toEqual({
      repaired: true,
      orphanedCallsFixed: 0,
      orphanedResultsFixed: 1,
      messages: [
        { role: 'tool_call', content: callText('look'), tool: 'look', toolCallId: 'a', ...truncated },
        flatResult('a'),
        assistant('done'),
      ],
    })
  })

  it('"unknown" where the result names no tool', () => {
    expect(repair([{ role: 'tool_result', content: 'r' }]).messages[0]).toEqual({
      role: 'tool_call',
      content: '[Tool call for unknown - conversation was compacted]',
      ...truncated,
    })
  })

  it('OpenAI and blocks: the assistant’s, with a call of its form', () => {
    expect(repair([user('q'), openAIResult('a')]).messages[1]).toEqual({
      role: 'assistant',
      content: callText('unknown'),
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'unknown', arguments: '{}' } }],
      ...truncated,
    })
    const two = blocks('user', toolResult('a'), toolResult('b'))
    const text = { type: 'text', text: callText('unknown') }
    const made = (id: string): object => ({ type: 'tool_use', id, name: 'unknown', input: {} })
    expect(repair([two]).messages).toEqual([
      { role: 'assistant', content: [text, made('a'), text, made('b')], ...truncated },
      two,
    ])
  })

  it('neutral: the tool it names', () => {
    const orphan = blocks('tool', { ...resultPart('a'), toolName: 'find' })
    expect(repair([orphan]).messages[0]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: callText('find') },
        { type: 'tool-call', toolCallId: 'a', toolName: 'find', input: {} },
      ],
      ...truncated,
    })
  })

  it('never comes between other calls and their results', () => {
    const made = { role: 'tool_call', content: callText('look'), tool: 'look', toolCallId: 'x', ...truncated }
    const messages = [flatCall('a'), flatCall('b'), flatResult('a'), flatResult('x'), flatResult('b')]
    expect(repair(messages).messages).toEqual([flatCall('a'), flatCall('b'), made, ...messages.slice(2)])
    // Behind the last result of the batch there is nothing to part.
    const last = [flatCall('a'), flatResult('a'), flatResult('x')]
    expect(repair(last).messages).toEqual([flatCall('a'), flatResult('a'), made, flatResult('x')])
  })

  it('a result before its call does not belong to it', () => {
    const outcome = repair([flatResult('a'), flatCall('a')])
    expect([outcome.orphanedCallsFixed, outcome.orphanedResultsFixed]).toEqual([1, 1])
    expect(outcome.messages.map(({ role }) => role)).toEqual([
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
    ])
  })

  it('a result of another tool does not belong to a call without an id', () => {
    const outcome = repair([call('find'), result('look', 'r')])
    expect(outcome.messages.map(({ tool }) => tool)).toEqual(['find', 'find', 'look', 'look'])
  })
})

describe('pairs [C-35 S2-079 S3-U09]', () => {
  it('by place first where ids repeat: the second use of x has no result, the first has', () => {
    const messages = [openAICalls('x'), openAIResult('x'), user('again'), openAICalls('x'), user('so?')]
    const outcome = repair(messages)
    expect(outcome.orphanedCallsFixed).toBe(1)
    expect(outcome.messages[4]).toMatchObject({ role: 'tool', tool_call_id: 'x', content: RESULT })
    expect(outcome.messages).toHaveLength(6)
  })

  it('leaves out a second result, as renderHistory does', () => {
    const outcome = repair([openAICalls('a'), openAIResult('a'), openAIResult('a'), assistant('done')])
    expect(outcome.messages).toEqual([openAICalls('a'), openAIResult('a'), assistant('done')])
    expect([outcome.orphanedCallsFixed, outcome.orphanedResultsFixed]).toEqual([0, 1])
    const both = [blocks('assistant', toolUse('a')), blocks('user', toolResult('a'), toolResult('a'))]
    expect(repair(both).messages).toEqual([both[0], blocks('user', toolResult('a'))])
  })

  it('a result without an id prefers a call whose id no other result names', () => {
    const messages = [flatCall('a'), flatCall('b'), result('look', 'of b'), flatResult('a')]
    expect(repair(messages).repaired).toBe(false)
  })

  it('no hidden message', () => {
    const hidden = { ...flatCall('a'), truncationParent: 't' }
    const outcome = repair([hidden, flatResult('a'), { ...flatResult('b'), condenseParent: 'c' }])
    expect(outcome.messages.map(({ role }) => role)).toEqual([
      'tool_call',
      'tool_call',
      'tool_result',
      'tool_result',
    ])
    expect(outcome.messages[0]).toBe(hidden)
    expect(outcome.orphanedResultsFixed).toBe(1)
  })
})

describe('pendingCalls', () => {
  it('keeps calls that may still be answered, and no others', () => {
    const keep = { pendingCalls: 'keep' }
    const waiting = [user('q'), openAICalls('a', 'b'), openAIResult('a')]
    expect(repair(waiting, keep)).toMatchObject({ repaired: false, messages: waiting })
    const flat = [flatCall('a'), flatCall('b'), flatResult('a')]
    expect(repair(flat, keep)).toMatchObject({ repaired: false, messages: flat })
    expect(repair([...waiting, user('stop')], keep).orphanedCallsFixed).toBe(1)
    expect(repair([openAICalls('a'), openAICalls('b')], keep).messages.map(({ role }) => role)).toEqual([
      'assistant',
      'tool',
      'assistant',
    ])
    // Something that no call here asked for has come since.
    expect(repair([...waiting, openAIResult('x')], keep).orphanedCallsFixed).toBe(1)
  })
})

describe('orphans: drop [C-10]', () => {
  it('omits halves, and messages that are then empty', () => {
    const outcome = repair(
      [
        flatResult('x'),
        user('q'),
        blocks('assistant', { type: 'thinking', thinking: 'hm' }, toolUse('a')),
        blocks('assistant', { type: 'text', text: 'both' }, toolUse('b'), toolUse('c')),
        blocks('user', toolResult('b'), toolResult('y')),
        { ...openAICalls('d', 'e'), content: 'two more' },
        openAIResult('e'),
        { ...openAICalls('f'), content: 'one more' },
        user('so?'),
      ],
      { orphans: 'drop' },
    )
    expect(outcome.messages).toEqual([
      user('q'),
      blocks('assistant', { type: 'text', text: 'both' }, toolUse('b')),
      blocks('user', toolResult('b')),
      { ...openAICalls('e'), content: 'two more' },
      openAIResult('e'),
      { role: 'assistant', content: 'one more' },
      user('so?'),
    ])
    expect([outcome.orphanedCallsFixed, outcome.orphanedResultsFixed]).toEqual([4, 2])
  })
})

it('what it makes is a history with whole pairs in their places', () => {
  const wrong = (messages: Parameters<typeof validateHistory>[0]): string[] =>
    // Results may stand in any order in a plain array.
    validateHistory(messages).flatMap(({ code }) => (code === 'RESULT_ORDER' ? [] : [code]))
  const cut = [
    user('q'),
    blocks('user', toolResult('x')),
    blocks('assistant', toolUse('a'), toolUse('b')),
    blocks('user', toolResult('b')),
    assistant('so'),
  ]
  expect(wrong(fromAnthropic(repair(cut).messages as never))).toEqual([])
  const openAI = [user('q'), openAIResult('x'), openAICalls('a', 'b'), openAIResult('b'), assistant('so')]
  expect(wrong(fromOpenAI(repair(openAI).messages as never))).toEqual([])
})

it('rejects a misspelled option, an unknown role, and invalid content', () => {
  const refused = expect.objectContaining({ code: 'INVALID_INPUT' })
  expect(() => repairToolPairs([], { orphan: 'drop' } as never)).toThrow(refused)
  expect(() => repairToolPairs([{ role: 'narrator', content: 'x' }])).toThrow(refused)
  expect(() => repairToolPairs([{ role: 'user', content: 5 }])).toThrow(refused)
  expect(() => repairToolPairs([{}] as never)).toThrow(refused)
})

it('looks names up as data', () => {
  const messages = [flatCall('__proto__', 'constructor'), flatCall('toString', '__proto__')]
  expect(repair(messages).orphanedCallsFixed).toBe(2)
})
