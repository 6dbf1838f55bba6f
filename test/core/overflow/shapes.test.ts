import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  extractErrorMessage,
  getContextOverflowProvider,
  isContextOverflowError,
  parseProviderOverflowDetails,
} from '../../../src/compat/overflow.ts'
import { ContextBudgetExceededError } from '../../../src/core/errors.ts'
import { isUndertextError, UndertextError } from '../../../src/index.ts'

const TEXT = 'prompt is too long: 210000 tokens > 200000 maximum'
const FIGURES = { provider: 'anthropic', actualTokens: 210_000, budgetTokens: 200_000, limitKind: 'window' }

function nested(depth: number, innermost: unknown): Error {
  let error = innermost
  for (let i = 0; i < depth; i++) error = new Error('outer', { cause: error })
  return error as Error
}

describe('reads', () => {
  it.each([
    ['causes to any depth', nested(20_000, new Error(TEXT))],
    ['a cause that is a text', new Error('x', { cause: TEXT })],
    ['a list in a list', new AggregateError([new AggregateError([new Error(TEXT)])])],
    ['the last of a huge list', { errors: [...new Array(100_000).fill(null), new Error(TEXT)] }],
    ['a rejected promise, as allSettled tells it', { status: 'rejected', reason: new Error(TEXT) }],
    ['an object without a prototype', Object.assign(Object.create(null), { message: TEXT })],
    ['a getter', Object.defineProperty({}, 'message', { get: () => TEXT })],
    ['a message of a prototype', Object.create({ message: TEXT })],
    ['JSON in JSON', { message: JSON.stringify({ error: JSON.stringify({ message: TEXT }) }) }],
    ['JSON behind a status', `400 ${JSON.stringify({ error: { message: TEXT } })} (see above)`],
    ['a list of JSON', JSON.stringify([{ error: { message: TEXT } }])],
    ['a Python dict', `Error code: 400 - {'error': {'message': '${TEXT}', 'code': None}}`],
    ['bytes', new TextEncoder().encode(TEXT)],
    ['a Buffer', { body: Buffer.from(JSON.stringify({ message: TEXT })) }],
    ['a Buffer that went through JSON', JSON.parse(JSON.stringify({ body: Buffer.from(TEXT) }))],
    ['an ArrayBuffer', { data: new TextEncoder().encode(TEXT).buffer }],
    [
      'events',
      `event: ping\ndata: {"type":"ping"}\n\nevent: error\ndata: {"error":{"message":"${TEXT}"}}\n\n`,
    ],
    ['a problem document', { type: 'about:blank', title: 'Bad Request', status: 400, detail: TEXT }],
    ['an error of a field', { detail: [{ loc: ['body'], msg: TEXT, type: 'value_error' }] }],
    ['an Error of another realm', { name: 'Error', message: TEXT, stack: 'Error' }],
    ['a server error, as local servers send them', { status: 500, error: { message: TEXT } }],
    ['a run that failed', { status: 'failed', last_error: { code: 'server_error', message: TEXT } }],
  ])('%s', (_, error) => {
    expect(isContextOverflowError(error)).toBe(true)
    expect(parseProviderOverflowDetails(error)).toEqual(FIGURES)
  })

  it('circles of causes', () => {
    const a = new Error('a')
    const b = new Error(TEXT, { cause: a })
    a.cause = b
    expect(isContextOverflowError(a)).toBe(true)
    b.message = 'b'
    expect(isContextOverflowError(a)).toBe(false)
  })

  it('what is left when a getter throws', () => {
    const error = Object.defineProperty({ error: { message: TEXT } }, 'message', {
      get() {
        throw new Error('no')
      },
    })
    expect(isContextOverflowError(error)).toBe(true)
  })

  it('the host, where many use one wording', () => {
    const error = {
      statusCode: 400,
      message: "This model's maximum context length is 9",
      url: 'https://api.deepseek.com/v1',
    }
    expect(getContextOverflowProvider(error)).toBe('deepseek')
    expect(getContextOverflowProvider(error, { provider: 'azure' })).toBe('azure')
    expect(getContextOverflowProvider({ ...error, url: 'https://deepseek.com.evil.example' })).toBe('openai')
  })
})

describe('never throws and calls nothing', () => {
  const trap = new Proxy(
    {},
    {
      get() {
        throw new Error('get')
      },
      has() {
        throw new Error('has')
      },
      ownKeys() {
        throw new Error('ownKeys')
      },
      getPrototypeOf() {
        throw new Error('getPrototypeOf')
      },
    },
  )
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const revokedList = Proxy.revocable([], {})
  revokedList.revoke()
  const endless: object = new Proxy({}, { get: () => new Proxy({}, { get: () => ({ cause: {} }) }) })
  const loud = {
    message: {
      toString() {
        throw new Error('toString')
      },
      valueOf() {
        throw new Error('valueOf')
      },
      toJSON() {
        throw new Error('toJSON')
      },
    },
  }

  it.each([
    ['a Proxy that throws', trap],
    ['a Proxy inside', { cause: trap, errors: [trap] }],
    ['a revoked Proxy', revoked.proxy],
    ['a revoked list', { errors: revokedList.proxy }],
    ['a Proxy without end', endless],
    ['toString', loud],
    ['a symbol', Symbol('prompt is too long')],
    ['a number', 200_000],
    ['a bigint', 10n],
    ['a function', () => TEXT],
    ['a date', new Date(Number.NaN)],
    ['a map', new Map([['message', TEXT]])],
    ['names of Object', { __proto__: null, constructor: 'x', message: undefined, toString: 5 }],
    ['a lone surrogate', '\ud800 { "error"'],
    ['broken JSON', '{"error":{"message":"'],
    ['a length that lies', { errors: { length: 1e9 } }],
  ])('%s', (_, error) => {
    expect(isContextOverflowError(error)).toBe(false)
    expect(getContextOverflowProvider(error)).toBeNull()
    expect(parseProviderOverflowDetails(error)).toBeNull()
    expect(() => extractErrorMessage(error)).not.toThrow()
  })

  it('with any value, and returns alike in all three functions', () => {
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, withBigInt: true, withMap: true, withTypedArray: true }),
        (thing) => {
          const overflow = isContextOverflowError(thing)
          expect(overflow || getContextOverflowProvider(thing) === null).toBe(true)
          expect(overflow || parseProviderOverflowDetails(thing) === null).toBe(true)
          extractErrorMessage(thing)
        },
      ),
    )
  })

  it('an overflow stays one under any number of wrappers', () => {
    const wrap = fc.constantFrom(
      (inner: unknown) => new Error('wrapped', { cause: inner }),
      (inner: unknown) => ({ error: inner }),
      (inner: unknown) => ({ response: { status: 400, data: inner } }),
      (inner: unknown) => new AggregateError([new Error('other'), inner]),
      (inner: unknown) => ({ data: inner, statusCode: 400 }),
    )
    fc.assert(
      fc.property(fc.array(wrap, { maxLength: 8 }), (wrappers) => {
        const error = wrappers.reduce((inner: unknown, outer) => outer(inner), { message: TEXT })
        expect(parseProviderOverflowDetails(error)).toEqual(FIGURES)
      }),
    )
  })
})

describe('does not read the request', () => {
  it.each([
    'requestBodyValues',
    'request',
    'config',
    'options',
    'input',
    'prompt',
    'messages',
    'content',
    'text',
    'headers',
    'stack',
    'flagged_input',
    'value',
    'params',
  ])('%s', (key) => {
    expect(isContextOverflowError({ message: 'Bad Request', [key]: TEXT })).toBe(false)
    expect(isContextOverflowError({ message: 'Bad Request', [key]: { message: TEXT } })).toBe(false)
    expect(
      isContextOverflowError(
        JSON.stringify({ error: { message: 'Bad Request', [key]: [{ message: TEXT }] } }),
      ),
    ).toBe(false)
  })

  it('nor a chat message, but what it reports of its own failure', () => {
    expect(isContextOverflowError({ role: 'user', message: TEXT })).toBe(false)
    expect(isContextOverflowError({ role: 'assistant', errorMessage: TEXT })).toBe(true)
  })
})

describe('extractErrorMessage', () => {
  it.each([
    ['text', 'text'],
    [new Error('message'), 'message'],
    [new Error('outer', { cause: new Error('inner') }), 'outer'],
    [new Error('', { cause: new Error('inner') }), 'inner'],
    [{ message: 'message' }, 'message'],
    [{ error: 'text' }, 'text'],
    [{ error: { message: 'inner' } }, 'inner'],
    [{ status: 400, response: { data: { error: { message: 'deep' } } } }, 'deep'],
    [new AggregateError([new Error('first'), new Error('second')]), 'first'],
    [Buffer.from('bytes'), 'bytes'],
    [{ message: '{"error":{"message":"json"}}' }, '{"error":{"message":"json"}}'],
    [undefined, null],
    [null, null],
    ['', null],
    ['  ', null],
    [{}, null],
    [{ code: 'E_CODE' }, null],
    [new Error(''), null],
    [404, null],
  ])('%#', (error, text) => {
    expect(extractErrorMessage(error)).toBe(text)
  })
})

describe('ContextBudgetExceededError', () => {
  const facts = {
    estimatedTokens: 150_000,
    availableTokens: 120_000,
    stagesUsed: ['prune', 'truncate'],
    breakdown: {
      systemPrompt: 1_000,
      conversationHistory: 140_000,
      currentPrompt: 9_000,
      toolDefinitions: 0,
      fileAttachments: 0,
    },
    provider: 'openai',
    model: 'gpt-4o',
  }
  const error = new ContextBudgetExceededError(facts, { cause: new Error(TEXT) })

  it('is an error of this package with the facts', () => {
    expect(error).toBeInstanceOf(ContextBudgetExceededError)
    expect(error).toBeInstanceOf(UndertextError)
    expect(isUndertextError(error, 'CONTEXT_BUDGET_EXCEEDED')).toBe(true)
    expect(error.code).toBe('CONTEXT_BUDGET_EXCEEDED')
    expect([error.estimatedTokens, error.availableTokens, error.stagesUsed, error.breakdown]).toEqual([
      150_000,
      120_000,
      ['prune', 'truncate'],
      facts.breakdown,
    ])
    expect([error.provider, error.model]).toEqual(['openai', 'gpt-4o'])
  })

  it('has the name of its class, by which another copy of the package recognizes it [S2-U02]', () => {
    expect(error.name).toBe('ContextBudgetExceededError')
    expect(String(error)).toMatch(/^ContextBudgetExceededError: The request has 150000 tokens/)
    const ofAnotherCopy = Object.assign(new Error('too large'), { name: error.name, code: error.code })
    expect(isUndertextError(ofAnotherCopy, 'CONTEXT_BUDGET_EXCEEDED')).toBe(true)
    expect(isUndertextError(Object.assign(new Error('other'), { name: 'Error', code: error.code }))).toBe(
      false,
    )
    // A list of the caller's own.
    const stages: string[] = error.stagesUsed
    stages.push('summarize')
    expect(error.facts.stagesUsed).toEqual(['prune', 'truncate'])
  })

  it('gives advice, and does not promise what compaction cannot do', () => {
    expect(error.message).toBe(
      'The request has 150000 tokens, but "gpt-4o" has room for only 120000 (after prune, truncate). Compact to a lower target, unpin messages, ask for fewer output tokens, or use a model with a larger window.',
    )
    const fixed = { ...facts, stagesUsed: [], breakdown: { ...facts.breakdown, conversationHistory: 20_000 } }
    expect(new ContextBudgetExceededError(fixed).message).toContain(
      "(nothing was compacted). Compacting the history isn't enough",
    )
  })

  it('ends a recovery: it is no overflow to recover from, whatever caused it', () => {
    expect(isContextOverflowError(error)).toBe(false)
    expect(isContextOverflowError(new Error('retry failed', { cause: error }))).toBe(false)
    expect(isContextOverflowError({ code: 'CONTEXT_BUDGET_EXCEEDED', message: TEXT })).toBe(false)
    expect(extractErrorMessage(error)).toBe(error.message)
  })

  it('other errors of this package count by what caused them', () => {
    const invalid = new UndertextError('INVALID_INPUT', { problems: TEXT })
    expect(isContextOverflowError(invalid)).toBe(false)
    expect(
      isContextOverflowError(
        new UndertextError('INVALID_INPUT', { problems: '' }, { cause: new Error(TEXT) }),
      ),
    ).toBe(true)
  })
})
