import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toGemini } from '../../src/adapters/google/index.ts'
import { toOpenAI, toOpenAIResponses } from '../../src/adapters/openai/index.ts'
import { partsOf } from '../../src/core/messages/message.ts'
import { wirePathOf } from '../../src/core/overflow/read-refusal.ts'
import { type Message, type Part, renderView } from '../../src/index.ts'
import { placesAt } from '../../src/store/requests/wire-places.ts'
import { expectAccepted } from '../support/requests.ts'
import { randomView } from './random-views.ts'

/*
 * The places of parts in the wire form are computed without the converters; here each text of a request that the converters make, marked
 * with a number, must lead back to the part that has this number.
 */

/** The view with a number in each text of a part. */
function numbered(messages: readonly Message[]): Message[] {
  let next = 0
  const mark = (): string => `«${next++}»`
  return messages.map((message) => ({
    ...message,
    content: partsOf(message).map((part): Part => {
      if (part.type === 'text')
        return part.text.trim() === '' ? part : { ...part, text: `${part.text}${mark()}` }
      if (part.type === 'tool-call') return { ...part, input: { mark: mark() } }
      if (part.type === 'tool-result') return { ...part, output: { type: 'text', value: mark() } }
      return part
    }),
  }))
}

/** Whether results are in messages of their own: converters move those that are within a message of the assistant. */
function isApart(view: readonly Message[]): boolean {
  return view.every(
    (message) =>
      message.role !== 'assistant' ||
      partsOf(message).every(
        (part) => part.type !== 'tool-result' && !('providerExecuted' in part && part.providerExecuted),
      ),
  )
}

const FORMS = [
  {
    provider: 'anthropic',
    wire: (messages: Message[]) =>
      toAnthropic(messages).messages.flatMap(({ content }, m) =>
        typeof content === 'string'
          ? [[`messages.${m}.content.0`, content] as const]
          : content.map((block, b) => [`messages.${m}.content.${b}`, JSON.stringify(block)] as const),
      ),
  },
  {
    provider: 'google-ai',
    wire: (messages: Message[]) =>
      toGemini(messages).contents.flatMap(({ parts = [] }, m) =>
        (parts as readonly unknown[]).map(
          (part, p) => [`contents[${m}].parts[${p}]`, JSON.stringify(part)] as const,
        ),
      ),
  },
  {
    provider: 'openai',
    wire: (messages: Message[]) =>
      (toOpenAI(messages) as readonly { content?: unknown; tool_calls?: readonly unknown[] }[]).flatMap(
        ({ content, tool_calls: calls = [] }, m) => [
          ...(Array.isArray(content)
            ? content.map((part, p) => [`messages[${m}].content[${p}]`, JSON.stringify(part)] as const)
            : typeof content === 'string'
              ? [[`messages[${m}].content`, content] as const]
              : []),
          ...calls.map((call, c) => [`messages[${m}].tool_calls[${c}]`, JSON.stringify(call)] as const),
        ],
      ),
  },
  {
    provider: 'openai',
    wire: (messages: Message[]) =>
      (toOpenAIResponses(messages) as readonly { content?: unknown }[]).flatMap((item, m) =>
        Array.isArray(item.content)
          ? (item.content as readonly unknown[]).map(
              (part, p) => [`input[${m}].content[${p}]`, JSON.stringify(part)] as readonly [string, string],
            )
          : [[`input[${m}]`, JSON.stringify(item)] as readonly [string, string]],
      ),
  },
]

it.each(FORMS)(
  'each place in the form for $provider leads to the part that is there',
  ({ provider, wire }) => {
    fc.assert(
      fc.property(randomView.filter(isApart), (view) => {
        const { messages } = renderView(numbered(view) as never, { provider })
        expectAccepted(messages, provider)
        for (const [path, text] of wire(messages)) {
          const [mark] = /«\d+»/.exec(text) ?? []
          if (mark === undefined) continue
          const [places = []] = placesAt(messages, wirePathOf(path)!, provider, false)
          expect([path, places.some(({ part }) => JSON.stringify(part).includes(mark))]).toEqual([path, true])
        }
      }),
      { numRuns: 300, seed: 1 },
    )
  },
)
