import fc from 'fast-check'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import type { Summarizer, SummaryRequest } from '../../src/core/summarizers/summarizer.ts'

/** n messages, user and assistant in turn, of about `length` characters each. */
export function talk(n: number, length = 40): ChatMessage[] {
  return Array.from({ length: n }, (_, index) => ({
    id: `m${index}`,
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index} `.padEnd(length, 'word '),
  }))
}

export const user = (content: string): ChatMessage => ({ role: 'user', content })
export const assistant = (content: string): ChatMessage => ({ role: 'assistant', content })
export const system = (content: string): ChatMessage => ({ role: 'system', content })

/** A call in the seed's flat form, without an id. */
export const call = (tool: string, args?: unknown): ChatMessage =>
  args === undefined
    ? { role: 'tool_call', content: '', tool }
    : { role: 'tool_call', content: '', tool, args }

/** A result in the seed's flat form, without an id. */
export const result = (tool: string, content: string): ChatMessage => ({ role: 'tool_result', content, tool })

/** The index of each message of `part` in `whole`, -1 for one that is not of it. Messages carry ids or are distinct. */
export function places(part: readonly ChatMessage[], whole: readonly ChatMessage[]): number[] {
  return part.map((message) =>
    whole.findIndex((other) => other === message || (other.id !== undefined && other.id === message.id)),
  )
}

/** A summarizer that says `text` and keeps what it was asked. */
export function saying(
  text: string,
): Summarizer & { readonly asked: (SummaryRequest & { memoryConfig?: unknown })[] } {
  const asked: SummaryRequest[] = []
  return {
    name: 'saying',
    usesModel: true,
    asked,
    summarize(request) {
      asked.push(request)
      return { text }
    },
  }
}

export const failing: Summarizer = {
  name: 'failing',
  usesModel: true,
  summarize() {
    throw new Error('the model is down')
  },
}

/** Freezes a value to the bottom: whoever writes into it throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}

/** A message that says which pair it belongs to, so that a test can tell without pairing anything itself. */
export type Labelled = ChatMessage & { readonly pair?: number }

const words = fc.integer({ min: 1, max: 60 }).map((n) => 'word '.repeat(n))

/** Some calls and their results, in one of the forms arrays come in. Labels are made unique later. */
const toolUse: fc.Arbitrary<Labelled[]> = fc
  .record({
    form: fc.constantFrom('flat', 'flat with ids', 'neutral', 'openai'),
    calls: fc.integer({ min: 1, max: 3 }),
    swapped: fc.boolean(),
    text: words,
  })
  .map(({ form, calls, swapped, text }) => {
    const numbers = Array.from({ length: calls }, (_, index) => index)
    // Without ids the order of results is all there is to tell them apart, so it stays that of the calls.
    const order = swapped && form !== 'flat' ? numbers.toReversed() : numbers
    switch (form) {
      case 'flat':
      case 'flat with ids': {
        const id = (n: number): object => (form === 'flat' ? {} : { toolCallId: `c${n}` })
        return [
          ...numbers.map((n) => ({ role: 'tool_call', content: '', tool: 'look', ...id(n), pair: n })),
          ...order.map((n) => ({ role: 'tool_result', content: text, tool: 'look', ...id(n), pair: n })),
        ]
      }
      case 'openai':
        return [
          {
            role: 'assistant',
            content: text,
            tool_calls: numbers.map((n) => ({
              id: `c${n}`,
              type: 'function',
              function: { name: 'look', arguments: '{}' },
            })),
            pair: 0,
          } as Labelled,
          ...order.map((n) => ({ role: 'tool', content: text, tool_call_id: `c${n}`, pair: 0 }) as Labelled),
        ]
      default:
        return [
          {
            role: 'assistant',
            content: numbers.map((n) => ({
              type: 'tool-call' as const,
              toolCallId: `c${n}`,
              toolName: 'look',
              input: {},
            })),
            pair: 0,
          },
          ...order.map((n) => ({
            role: 'tool',
            content: [
              {
                type: 'tool-result' as const,
                toolCallId: `c${n}`,
                output: { type: 'text' as const, value: text },
              },
            ],
            pair: 0,
          })),
        ]
    }
  })

const spoken: fc.Arbitrary<Labelled> = fc.oneof(
  { weight: 6, arbitrary: words.map(user) },
  { weight: 6, arbitrary: words.map(assistant) },
  { weight: 1, arbitrary: words.map(system) },
  { weight: 1, arbitrary: words.map((content) => ({ role: 'user', content, pinned: true })) },
  {
    weight: 1,
    arbitrary: words.map((content) => ({ role: 'user', content, condenseParent: 'gone' })),
  },
  {
    weight: 1,
    arbitrary: words.map((content) => ({
      role: 'system',
      content,
      condenseId: 'gone',
      metadata: { isSummary: true },
    })),
  },
  {
    weight: 1,
    arbitrary: words.map((content) => ({
      role: 'system',
      content,
      truncationId: 'far',
      isTruncationMarker: true,
    })),
  },
)

/** Conversations in mixed forms, with ids, labels of pairs, and tags of earlier compactions. Deeply frozen. */
export const conversations: fc.Arbitrary<Labelled[]> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: spoken.map((message) => [message]) },
      { weight: 2, arbitrary: toolUse },
      // Ids repeat within a conversation, so a word between two batches is what keeps them apart.
      { weight: 1, arbitrary: fc.tuple(words.map(user), words.map(assistant)) },
    ),
    { maxLength: 14 },
  )
  .map((blocks) => {
    let count = 0
    const messages = blocks.flatMap((block: Labelled[], at) =>
      block.map((message) => ({
        ...message,
        id: `m${count++}`,
        ...(message.pair !== undefined && { pair: at * 10 + message.pair }),
      })),
    )
    return deepFreeze(messages)
  })

/** The labels of pairs of which `messages` hold some but not all messages that `whole` holds. */
export function partedPairs(messages: readonly ChatMessage[], whole: readonly ChatMessage[]): number[] {
  const count = (list: readonly Labelled[]): Map<number, number> => {
    const counts = new Map<number, number>()
    for (const { pair } of list) if (pair !== undefined) counts.set(pair, (counts.get(pair) ?? 0) + 1)
    return counts
  }
  const all = count(whole)
  return [...count(messages)].filter(([pair, found]) => found !== all.get(pair)).map(([pair]) => pair)
}
