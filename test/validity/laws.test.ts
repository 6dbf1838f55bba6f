import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { validateRequest } from '../../src/index.ts'

/* Bodies that are valid by construction have no findings, and one break is found at its place. */

type Exchange = {
  readonly say: string
  readonly tools: readonly string[]
  readonly answer: string
  readonly thinks: boolean
}

const word = fc.stringMatching(/^[a-z]{1,8}$/)
const exchange: fc.Arbitrary<Exchange> = fc.record({
  say: word,
  tools: fc.array(word, { maxLength: 3 }),
  answer: word,
  thinks: fc.boolean(),
})
const exchanges = fc.array(exchange, { minLength: 1, maxLength: 6 })

type Wire = { role: string; content: unknown; [field: string]: unknown }

function toMessagesApi(list: readonly Exchange[]): Wire[] {
  const thought = (n: number, at: number) => ({
    type: 'thinking',
    thinking: 'x',
    signature: `${n}${at}AAAA`.slice(0, 4),
  })
  return list.flatMap(({ say, tools, answer, thinks }, n): Wire[] => [
    { role: 'user', content: say },
    ...(tools.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: [
              ...(thinks ? [thought(n, 1)] : []),
              ...tools.map((name, i) => ({ type: 'tool_use', id: `c${n}_${i}`, name, input: { a: say } })),
            ],
          },
          {
            role: 'user',
            content: tools.map((_, i) => ({
              type: 'tool_result',
              tool_use_id: `c${n}_${i}`,
              content: answer,
            })),
          },
        ]),
    { role: 'assistant', content: [{ type: 'text', text: answer }] },
  ])
}

function toChat(list: readonly Exchange[]): Wire[] {
  return list.flatMap(({ say, tools, answer }, n): Wire[] => [
    { role: 'user', content: say },
    ...(tools.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: null,
            tool_calls: tools.map((name, i) => ({
              id: `c${n}_${i}`,
              type: 'function',
              function: { name, arguments: JSON.stringify({ a: say }) },
            })),
          },
          ...tools.map((_, i) => ({ role: 'tool', tool_call_id: `c${n}_${i}`, content: answer })),
        ]),
    { role: 'assistant', content: answer },
  ])
}

function pathsOf(messages: unknown, provider: string): string[] {
  return validateRequest({ messages }, provider).map(({ path, rule }) => `${rule} ${path}`)
}

describe('a body that is valid by construction', () => {
  it('has no findings', () => {
    fc.assert(
      fc.property(exchanges, (list) => {
        expect(pathsOf(toMessagesApi(list), 'anthropic')).toEqual([])
        expect(pathsOf(toChat(list), 'openai')).toEqual([])
      }),
    )
  })

  it('has one finding, at the place of the text that was cut within an emoji', () => {
    fc.assert(
      fc.property(exchanges, fc.nat(), (list, at) => {
        const messages = toChat(list)
        const spoken = messages.flatMap(({ content }, i) => (typeof content === 'string' ? [i] : []))
        const i = spoken[at % spoken.length]!
        messages[i] = { ...messages[i]!, content: `${String(messages[i]!.content)}\ud83d` }
        expect(pathsOf(messages, 'openai')).toEqual([`surrogate messages.${i}.content`])
      }),
    )
  })

  it('has a finding for each call of a message whose results are gone', () => {
    fc.assert(
      fc.property(exchanges, fc.nat(), (list, at) => {
        const messages = toMessagesApi(list)
        const answers = messages.flatMap(({ content, role }, i) =>
          role === 'user' && Array.isArray(content) ? [i] : [],
        )
        if (answers.length === 0) return
        const i = answers[at % answers.length]!
        const calls = messages[i - 1]!.content as readonly { type: string }[]
        messages[i] = { role: 'user', content: 'stop' }
        const expected = calls.flatMap(({ type }, place) =>
          type === 'tool_use' ? [`call-unanswered messages.${i - 1}.content.${place}`] : [],
        )
        expect(pathsOf(messages, 'anthropic').sort()).toEqual(expected.sort())
      }),
    )
  })

  it('has one finding, at the call whose arguments were cut', () => {
    fc.assert(
      fc.property(exchanges, fc.nat(), (list, at) => {
        const messages = toChat(list)
        const asking = messages.flatMap(({ tool_calls }, i) => (tool_calls === undefined ? [] : [i]))
        if (asking.length === 0) return
        const i = asking[at % asking.length]!
        const [first, ...others] = messages[i]!.tool_calls as {
          function: { name: string; arguments: string }
        }[]
        const cut = {
          ...first!,
          function: { ...first!.function, arguments: first!.function.arguments.slice(0, -1) },
        }
        messages[i] = { ...messages[i]!, tool_calls: [cut, ...others] }
        expect(pathsOf(messages, 'openai')).toEqual([`arguments-json messages.${i}.tool_calls.0`])
      }),
    )
  })
})

describe('a strange body', () => {
  it('never throws, and is judged the same way twice', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('messages', 'input', 'contents', 'prompt'),
        fc.constantFrom('anthropic', 'bedrock', 'openai', 'mistral', 'gemini', 'vertex', 'nobody'),
        fc.anything({
          maxDepth: 5,
          withBigInt: true,
          withDate: true,
          withTypedArray: true,
          withNullPrototype: true,
        }),
        (field, provider, value) => {
          const once = validateRequest({ [field]: value }, provider)
          expect(validateRequest({ [field]: value }, provider)).toEqual(once)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('may contain itself, throw, be a proxy that was revoked, or be nested 200,000 times', () => {
    const circle: { messages: unknown[] } = { messages: [] }
    circle.messages.push(circle)
    expect(validateRequest(circle, 'openai').map(({ rule }) => rule)).toContain('json')
    const throwing = {
      get messages(): unknown {
        throw new Error('no')
      },
    }
    expect(validateRequest(throwing, 'openai').map(({ rule }) => rule)).toContain('json')
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(validateRequest({ messages: [proxy] }, 'openai').map(({ rule }) => rule)).toContain('json')
    let deep: unknown = 'x'
    for (let i = 0; i < 200_000; i++) deep = [{ type: 'tool_result', tool_use_id: 'a', content: deep }]
    expect(() => validateRequest({ messages: [{ role: 'user', content: deep }] }, 'anthropic')).not.toThrow()
  })

  it.each([null, undefined, 'x', 3, []])('that is no object is refused: %j', (body) => {
    expect(() => validateRequest(body as never, 'openai')).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    )
  })
})
