import { expect, it } from 'vitest'
import { toModelMessages } from '../../src/adapters/ai-sdk/model-messages.ts'
import { toSdkPrompt } from '../../src/adapters/ai-sdk/prompt.ts'
import { toAnthropic } from '../../src/adapters/anthropic/to-anthropic.ts'
import { toGemini } from '../../src/adapters/google/to-gemini.ts'
import { toLangChainStored } from '../../src/adapters/langchain/to-langchain.ts'
import { fromOpenAI } from '../../src/adapters/openai/from-openai.ts'
import { toOpenAI } from '../../src/adapters/openai/to-openai.ts'
import { toOpenAIResponses } from '../../src/adapters/openai/to-responses.ts'
import { toAgentItems } from '../../src/adapters/openai-agents/to-items.ts'
import type { Message } from '../../src/core/messages/message.ts'
import { summarizationPrompt } from '../../src/core/summarizers/model/prompt.ts'

const HALF = '\ud83d'
const MESSAGES: readonly Message[] = [
  { role: 'system', content: `s${HALF}` },
  { role: 'user', content: [{ type: 'text', text: `u${HALF} 😀` }] },
  {
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        toolCallId: `c${HALF}`,
        toolName: `t${HALF}`,
        input: { [`k${HALF}`]: [`v${HALF}`] },
      },
    ],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: `c${HALF}`,
        toolName: `t${HALF}`,
        output: { type: 'json', value: { r: `r${HALF}` } },
      },
    ],
  },
]

const WAYS: { readonly [name: string]: (messages: readonly Message[]) => unknown } = {
  toAnthropic,
  toOpenAI,
  toOpenAIResponses,
  toGemini,
  toLangChainStored,
  toAgentItems,
  toModelMessages,
  toSdkPrompt: (messages) => toSdkPrompt(messages, { version: 'v3', provider: 'anthropic' }),
  summarizationPrompt: (messages) => summarizationPrompt(messages, {}),
}

it.each(Object.entries(WAYS))(
  '%s sends U+FFFD in place of half a pair of surrogates, and pairs',
  (_, write) => {
    const sent = JSON.stringify(write(MESSAGES))
    expect(sent).not.toMatch(/\\ud[89a-f]/)
    for (const text of ['u\ufffd 😀', 'v\ufffd', 'r\ufffd']) expect(sent).toContain(text)
  },
)

it('reports it, and leaves the given messages as they were', () => {
  const notes: string[] = []
  const before = structuredClone(MESSAGES)
  toAnthropic(MESSAGES, { onNote: ({ kind, place }) => notes.push(`${kind} ${place}`) })
  expect(notes.filter((note) => note.startsWith('changed'))).toEqual(
    [0, 1, 2, 3].map((index) => `changed [${index}]`),
  )
  expect(MESSAGES).toEqual(before)
})

it('half a pair that arguments wrote as an escape is replaced as well', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"a":"\\ud800"}' } }
  const [sent] = toOpenAI(fromOpenAI([{ role: 'assistant', content: null, tool_calls: [call] }]))
  expect(sent).toEqual({
    role: 'assistant',
    content: null,
    tool_calls: [{ ...call, function: { name: 'f', arguments: '{"a":"\ufffd"}' } }],
  })
})
