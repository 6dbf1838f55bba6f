import { describe, expect, it } from 'vitest'
import { validateHistory } from '../../src/core/rendering/validate.ts'
import {
  assistant,
  call,
  hosted,
  image,
  opaque,
  type Row,
  reasoning,
  result,
  system,
  tool,
  user,
  view,
} from './views.ts'

type Rows = readonly Row[]

/** Problems as `CODE index id`. */
function problems(rows: Rows, provider?: string): string[] {
  return validateHistory(view(...rows), provider).map(({ code, index, toolCallId }) =>
    [code, index, ...(toolCallId === undefined ? [] : [toolCallId])].join(' '),
  )
}

describe('validateHistory, for every provider', () => {
  const accepted: [string, Rows][] = [
    ['nothing', []],
    ['an ordinary chat', [system('be kind'), user('hi'), assistant('hello'), user('bye')]],
    ['one message of a role after another', [user('a'), user('b'), assistant('c'), assistant('d')]],
    ['parallel calls, one tool message', [assistant(call('a'), call('b')), tool(result('a'), result('b'))]],
    [
      'parallel calls, a tool message each',
      [assistant(call('a'), call('b')), tool(result('a')), tool(result('b'))],
    ],
    ['results as a user has them, before his words', [assistant(call('a')), user(result('a'), 'and?')]],
    [
      'an id used twice, one after the other',
      [assistant(call('a')), tool(result('a')), assistant(call('a')), tool(result('a'))],
    ],
    ['a tool the provider ran', [assistant(hosted('a'), result('a'), 'so')]],
    ['reasoning before words, and after', [assistant(reasoning('hm'), 'yes', reasoning('or'))]],
    ['a provider’s part beside a result', [assistant(call('a')), tool(opaque, result('a'))]],
    ['a system message inside', [user('a'), system('b'), user('c')]],
    ['white space', [user(' ')]],
  ]
  it.each(accepted)('accepts %s', (_, rows) => {
    expect(problems(rows)).toEqual([])
  })

  const refused: [string, Rows, string[]][] = [
    ['a call without a result', [assistant(call('a')), user('b')], ['UNANSWERED_CALL 0 a']],
    ['a result without a call', [user('x'), tool(result('a'))], ['RESULT_WITHOUT_CALL 1 a']],
    [
      'a second result',
      [assistant(call('a')), tool(result('a')), tool(result('a'))],
      ['DUPLICATE_RESULT 2 a'],
    ],
    ['a late result', [assistant(call('a')), user('x'), tool(result('a'))], ['RESULT_NOT_AFTER_CALL 2 a']],
    ['a result behind words', [assistant(call('a')), user('x', result('a'))], ['RESULT_NOT_AFTER_CALL 1 a']],
    [
      'a result behind the result of a later call',
      [assistant(call('a')), assistant(call('b')), tool(result('b')), tool(result('a'))],
      ['RESULT_NOT_AFTER_CALL 3 a'],
    ],
    [
      'results with a message between',
      [assistant(call('a'), call('b')), user(result('a'), 'x'), tool(result('b'))],
      ['RESULT_NOT_AFTER_CALL 2 b'],
    ],
    [
      'results with something opaque between',
      [assistant(call('a')), tool(opaque), tool(result('a'))],
      ['RESULT_NOT_AFTER_CALL 2 a'],
    ],
    ['an assistant that answers itself', [assistant(call('a'), result('a'))], ['RESULT_NOT_AFTER_CALL 0 a']],
    [
      'a hosted result in another assistant message',
      [assistant(hosted('a')), assistant(result('a'))],
      ['RESULT_NOT_AFTER_CALL 1 a'],
    ],
    [
      'results in another order',
      [assistant(call('a'), call('b')), tool(result('b'), result('a'))],
      ['RESULT_ORDER 1 a'],
    ],
    ['an empty list of parts', [user()], ['EMPTY_MESSAGE 0']],
    ['an empty text', [user('')], ['EMPTY_MESSAGE 0']],
    ['reasoning alone', [assistant(reasoning('hm'), '')], ['ORPHAN_REASONING 0']],
    ['a call by a user', [user(call('a')), tool(result('a'))], ['MISPLACED_PART 0']],
    ['a call by the system', [system(call('a')), tool(result('a'))], ['MISPLACED_PART 0']],
    ['reasoning of the system', [system(reasoning('hm'), 'x')], ['MISPLACED_PART 0']],
    [
      'words in a tool message, before the result',
      [assistant(call('a')), tool('x', result('a'))],
      ['MISPLACED_PART 1', 'RESULT_NOT_AFTER_CALL 1 a'],
    ],
    [
      'a result behind something opaque of a user',
      [assistant(call('a')), user(opaque, result('a'))],
      ['RESULT_NOT_AFTER_CALL 1 a'],
    ],
    ['reasoning of a user', [user(reasoning('hm'), 'x')], ['MISPLACED_PART 0']],
    ['words in a tool message', [assistant(call('a')), tool(result('a'), 'x')], ['MISPLACED_PART 1']],
    [
      'a result in a system message',
      [assistant(call('a')), system(result('a'))],
      ['RESULT_NOT_AFTER_CALL 1 a', 'MISPLACED_PART 1'],
    ],
  ]
  it.each(refused)('refuses %s', (_, rows, expected) => {
    expect(problems(rows).sort()).toEqual([...expected].sort())
    expect(problems(rows, 'openai').sort()).toEqual([...expected].sort())
  })

  it('lists problems in the order of the messages, with a sentence that quotes nothing', () => {
    const found = validateHistory(view(user(''), assistant(call('secret')), tool(result('other'))))
    expect(found).toEqual([
      { code: 'EMPTY_MESSAGE', index: 0, message: 'A message is empty.' },
      { code: 'UNANSWERED_CALL', index: 1, message: 'A tool call has no result.', toolCallId: 'secret' },
      {
        code: 'RESULT_WITHOUT_CALL',
        index: 2,
        message: 'A tool result has no call before it.',
        toolCallId: 'other',
      },
    ])
  })
})

describe('validateHistory, for a provider', () => {
  const nine = 'abcdefgh1'
  const emptyPiece = result('a', { type: 'content', value: [{ type: 'text', text: '' }] })
  const cases: [string, Rows, Record<string, string[]>][] = [
    ['an ordinary chat', [system('s'), system('t'), user('a'), assistant('b')], {}],
    ['two user messages', [user('a'), user('b')], { strict: ['ADJACENT_SAME_ROLE 1'] }],
    [
      'two assistant messages',
      [user('a'), assistant('b'), assistant('c')],
      { strict: ['ADJACENT_SAME_ROLE 2'] },
    ],
    [
      'results and words apart',
      [user('a'), assistant(call(nine)), tool(result(nine)), user('b')],
      { anthropic: ['ADJACENT_SAME_ROLE 3'], mistral: ['USER_AFTER_RESULTS 3'] },
    ],
    [
      'results and words together',
      [user('a'), assistant(call(nine)), user(result(nine), 'b')],
      { mistral: ['USER_AFTER_RESULTS 2'] },
    ],
    [
      'a tool message each',
      [user('a'), assistant(call(nine), call('abcdefgh2')), tool(result(nine)), tool(result('abcdefgh2'))],
      { strict: ['ADJACENT_SAME_ROLE 3'], mistral: [] },
    ],
    ['an assistant first', [system('s'), assistant('b')], { strict: ['FIRST_NOT_USER 1'] }],
    [
      'a system message inside',
      [user('a'), system('s'), assistant('b')],
      { strict: ['SYSTEM_INSIDE 1'], huggingface: ['SYSTEM_INSIDE 1'] },
    ],
    ['system messages only', [system('s'), system('t')], {}],
    ['white space alone', [user(' ')], { strict: ['EMPTY_MESSAGE 0'] }],
    ['white space beside words', [user(' ', 'a')], { strict: ['EMPTY_TEXT 0'] }],
    ['white space beside a picture', [user(' ', image)], { strict: ['EMPTY_TEXT 0'] }],
    ['an empty text beside words', [user('', 'a')], { strict: ['EMPTY_TEXT 0'] }],
    [
      'an empty piece of a result',
      [user('x'), assistant(call('a')), user(emptyPiece, 'y')],
      {
        anthropic: ['EMPTY_TEXT 2'],
        mistral: ['MALFORMED_CALL_ID 1 a', 'EMPTY_TEXT 2', 'USER_AFTER_RESULTS 2'],
      },
    ],
    [
      'an id that comes again',
      [user('x'), assistant(call(nine)), tool(result(nine)), assistant(call(nine)), tool(result(nine))],
      { strict: ['REPEATED_CALL_ID 3 abcdefgh1'] },
    ],
    [
      'an id of a strange form',
      [user('x'), assistant(call('f:0')), tool(result('f:0'))],
      { strict: ['MALFORMED_CALL_ID 1 f:0'] },
    ],
    [
      'an id of 65 letters',
      [user('x'), assistant(call('a'.repeat(65))), tool(result('a'.repeat(65)))],
      {
        strict: [`MALFORMED_CALL_ID 1 ${'a'.repeat(65)}`],
        openai: [`MALFORMED_CALL_ID 1 ${'a'.repeat(65)}`],
      },
    ],
    [
      'an id of 10 letters',
      [user('x'), assistant(call('abcdefgh10')), tool(result('abcdefgh10'))],
      { mistral: ['MALFORMED_CALL_ID 1 abcdefgh10'] },
    ],
    [
      'the ids of hosted tools',
      [user('x'), assistant(hosted('f:0'), result('f:0'), hosted('f:0'), result('f:0'), 'y')],
      { strict: ['MALFORMED_CALL_ID 1 f:0', 'MALFORMED_CALL_ID 1 f:0', 'REPEATED_CALL_ID 1 f:0'] },
    ],
    [
      'words behind a tool the provider ran',
      [user('x'), assistant(hosted(nine), result(nine), reasoning('hm')), user('y')],
      { mistral: ['USER_AFTER_RESULTS 2'] },
    ],
  ]
  it.each(cases)('judges %s', (_, rows, expected) => {
    const { strict = [], anthropic = strict, mistral = strict, huggingface = [], openai = [] } = expected
    expect(problems(rows, 'anthropic')).toEqual(anthropic)
    expect(problems(rows, 'mistral')).toEqual(mistral)
    expect(problems(rows, 'huggingface')).toEqual(huggingface)
    expect(problems(rows, 'sagemaker')).toEqual(huggingface)
    expect(problems(rows, 'openai')).toEqual(openai)
  })

  it('judges images and files of the assistant’s', () => {
    const rows = [user('x', image), assistant('y', image)]
    for (const provider of ['anthropic', 'bedrock', 'mistral', 'openai', 'azure'])
      expect(problems(rows, provider)).toEqual(['MISPLACED_PART 1'])
    for (const provider of ['google-ai', 'vertex', 'ollama', 'nobody', undefined])
      expect(problems(rows, provider)).toEqual([])
  })

  it.each([
    ['anthropic', 1],
    ['Bedrock', 1],
    [' vertex ', 1],
    ['google-ai', 1],
    ['gemini', 1],
    ['amazon-bedrock', 1],
    ['mistral', 1],
    ['azure', 0],
    ['ollama', 0],
    ['litellm', 0],
    ['sagemaker', 0],
    ['somebody', 0],
    ['constructor', 0],
    ['__proto__', 0],
  ])('knows %s', (provider, count) => {
    expect(problems([user('a'), user('b')], provider)).toHaveLength(count)
  })

  it('takes Gemini’s ids as they are', () => {
    const rows: Rows = [
      user('x'),
      assistant(call('')),
      tool(result('')),
      assistant(call('')),
      tool(result('')),
    ]
    expect(problems(rows, 'google-ai')).toEqual([])
  })
})
