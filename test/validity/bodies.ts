import fc from 'fast-check'

/* Bodies that are valid by construction, in each wire form, of random conversations. Written from the pages of the APIs, without the converters. */

// biome-ignore lint/suspicious/noExplicitAny: bodies are changed at any place
export type Wire = Record<string, any>

export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

/** A PNG whose header states a size; nothing behind the header is read. */
export function pngOf(width: number, height: number): string {
  const bytes = Buffer.from(PNG, 'base64')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes.toString('base64')
}

/** What the user says, the tools that the model calls, and what it answers. */
export type Exchange = {
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
/** Begins with two exchanges that have reasoning and tools; the first has two tools. */
export const conversation: fc.Arbitrary<readonly Exchange[]> = fc
  .array(exchange, { maxLength: 5 })
  .map((list) => [
    { say: 'hello', tools: ['look', 'see'], answer: 'fine', thinks: true },
    { say: 'more', tools: ['look'], answer: 'done', thinks: true },
    ...list,
  ])

const LAST = 'go on'
/** A signature of its own for each exchange: whole base64. */
const signed = (n: number): string => `AAA${'ABCDEFGH'[n]}`

function toMessages(list: readonly Exchange[]): Wire {
  const messages = list.flatMap(({ say, tools, answer, thinks }, n): Wire[] => [
    { role: 'user', content: say },
    ...(tools.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: [
              ...(thinks ? [{ type: 'thinking', thinking: 'x', signature: signed(n) }] : []),
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
  return { messages: [...messages, { role: 'user', content: LAST }], tools: [{ name: 'look' }] }
}

function toConverse(list: readonly Exchange[]): Wire {
  const messages = list.flatMap(({ say, tools, answer }, n): Wire[] => [
    { role: 'user', content: [{ text: say }] },
    ...(tools.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: tools.map((name, i) => ({
              toolUse: { toolUseId: `c${n}_${i}`, name, input: { a: say } },
            })),
          },
          {
            role: 'user',
            content: tools.map((_, i) => ({
              toolResult: { toolUseId: `c${n}_${i}`, content: [{ text: answer }] },
            })),
          },
        ]),
    { role: 'assistant', content: [{ text: answer }] },
  ])
  return {
    messages: [...messages, { role: 'user', content: [{ text: LAST }] }],
    toolConfig: { tools: [{ toolSpec: { name: 'look' } }] },
  }
}

function toChat(list: readonly Exchange[], idOf = (n: number, i: number): string => `c${n}_${i}`): Wire {
  const messages = list.flatMap(({ say, tools, answer, thinks }, n): Wire[] => [
    { role: 'user', content: say },
    ...(tools.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: null,
            ...(thinks && { reasoning_content: 'x' }),
            tool_calls: tools.map((name, i) => ({
              id: idOf(n, i),
              type: 'function',
              function: { name, arguments: JSON.stringify({ a: say }) },
            })),
          },
          ...tools.map((_, i) => ({ role: 'tool', tool_call_id: idOf(n, i), content: answer })),
        ]),
    { role: 'assistant', content: answer },
  ])
  return { messages: [...messages, { role: 'user', content: LAST }] }
}

/** As a body is within a turn: it ends in the results of the first exchange, said again. */
function toOpenChat(list: readonly Exchange[]): Wire {
  const { messages } = toChat([...list, list[0]!])
  return { messages: messages.slice(0, -2) }
}

function toResponses(list: readonly Exchange[]): Wire {
  const input = list.flatMap(({ say, tools, answer, thinks }, n): Wire[] => [
    { role: 'user', content: say },
    ...(thinks ? [{ type: 'reasoning', id: `rs_${n}`, summary: [], encrypted_content: signed(n) }] : []),
    ...tools.map((name, i) => ({
      type: 'function_call',
      call_id: `c${n}_${i}`,
      name,
      arguments: JSON.stringify({ a: say }),
    })),
    ...tools.map((_, i) => ({ type: 'function_call_output', call_id: `c${n}_${i}`, output: answer })),
    {
      type: 'message',
      role: 'assistant',
      id: `msg_${n}`,
      content: [{ type: 'output_text', text: answer, annotations: [] }],
    },
  ])
  return { input: [...input, { role: 'user', content: LAST }] }
}

function toGemini(list: readonly Exchange[], hasIds = false, isSigned = false): Wire {
  const contents = list.flatMap(({ say, tools, answer }, n): Wire[] => {
    const id = (i: number) => (hasIds ? { id: `c${n}_${i}` } : {})
    return [
      { role: 'user', parts: [{ text: say }] },
      ...(tools.length === 0
        ? []
        : [
            {
              role: 'model',
              parts: tools.map((name, i) => ({
                functionCall: { name, args: { a: say }, ...id(i) },
                ...(isSigned && i === 0 && { thoughtSignature: signed(n) }),
              })),
            },
            {
              role: 'user',
              parts: tools.map((name, i) => ({
                functionResponse: { name, response: { a: answer }, ...id(i) },
              })),
            },
          ]),
      { role: 'model', parts: [{ text: answer }] },
    ]
  })
  return { contents: [...contents, { role: 'user', parts: [{ text: LAST }] }] }
}

function toOpenGemini(list: readonly Exchange[]): Wire {
  const { contents } = toGemini([...list, list[0]!], false, true)
  return { contents: contents.slice(0, -2) }
}

/** `nine`: Chat Completions with ids of nine letters and digits; `open`: within a turn. */
export const FORMS = {
  messages: toMessages,
  converse: toConverse,
  chat: (list: readonly Exchange[]) => toChat(list),
  nine: (list: readonly Exchange[]) => toChat(list, (n, i) => `abcdefg${n}${i}`),
  open: toOpenChat,
  responses: toResponses,
  gemini: (list: readonly Exchange[]) => toGemini(list),
  geminiIds: (list: readonly Exchange[]) => toGemini(list, true),
  geminiOpen: toOpenGemini,
} as const
export type FormName = keyof typeof FORMS
