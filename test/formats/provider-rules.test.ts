import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/from-anthropic.ts'
import { toAnthropic } from '../../src/adapters/anthropic/to-anthropic.ts'
import { detectFormat } from '../../src/adapters/detect.ts'
import { fromGemini } from '../../src/adapters/google/from-gemini.ts'
import { fromOpenAI } from '../../src/adapters/openai/from-openai.ts'
import { fromOpenAIResponses } from '../../src/adapters/openai/from-responses.ts'
import { toOpenAI } from '../../src/adapters/openai/to-openai.ts'
import { toOpenAIResponses } from '../../src/adapters/openai/to-responses.ts'
import type {
  Message,
  Part,
  ToolCallPart,
  ToolResultOutput,
  ViewMessage,
} from '../../src/core/messages/message.ts'
import { renderView } from '../../src/core/rendering/render.ts'
import { validateHistory } from '../../src/core/rendering/validate.ts'

/** What a provider is shown of messages that were all stored. */
function rendered(messages: readonly Message[], provider: string): Message[] {
  const view = messages.map(
    (message, at): ViewMessage => ({
      ...message,
      id: `m${at}`,
      kind: 'message',
      position: at + 1,
      createdAt: 0,
    }),
  )
  return renderView(view, { provider }).messages
}

describe('options of the AI SDK under `openai`', () => {
  const messages: Message[] = [
    {
      role: 'user',
      content: [
        { type: 'image', image: 'https://x.test/a.png', providerOptions: { openai: { imageDetail: 'low' } } },
      ],
    },
    {
      role: 'assistant',
      content: [
        {
          type: 'text',
          text: 'Hi',
          providerOptions: { openai: { itemId: 'msg_1', phase: 'commentary', annotations: [] } },
        },
        {
          type: 'tool-call',
          toolCallId: 'c',
          toolName: 't',
          input: {},
          providerOptions: { openai: { itemId: 'fc_1', namespace: 'n' } },
        },
      ],
    },
  ]

  it('are not sent to Chat Completions, save for the detail of an image', () => {
    expect(toOpenAI(messages)).toEqual([
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } }],
      },
      {
        role: 'assistant',
        content: 'Hi',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 't', arguments: '{}' } }],
      },
    ])
  })

  it('give an image of the Responses API its detail', () => {
    expect(toOpenAIResponses(messages.slice(0, 1))).toEqual([
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://x.test/a.png', detail: 'low' }] },
    ])
  })
})

describe('ids of calls that OpenAI finds too long', () => {
  const name = 'look_up_the_weather_in_a_far_away_town_tomorrow'
  const contents = [
    { role: 'user', parts: [{ text: 'Well?' }] },
    {
      role: 'model',
      parts: [{ functionCall: { name, args: {} } }, { functionCall: { name, args: { a: 1 } } }],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name, response: { output: 'one' } } },
        { functionResponse: { name, response: { output: 'two' } } },
      ],
    },
  ]

  it.each(['openai', 'azure'])('are shortened for %s, and calls and results stay pairs', (provider) => {
    const messages = fromGemini(contents)
    expect(validateHistory(messages, provider).map(({ code }) => code)).toEqual([
      'MALFORMED_CALL_ID',
      'MALFORMED_CALL_ID',
    ])
    const shown = rendered(messages, provider)
    expect(validateHistory(shown, provider)).toEqual([])
    const [, asked, first, second] = toOpenAI(shown)
    const ids = (asked as { tool_calls: { id: string }[] }).tool_calls.map(({ id }) => id)
    expect(ids.every((id) => id.length <= 40)).toBe(true)
    expect(new Set(ids).size).toBe(2)
    expect([first, second]).toEqual([
      { role: 'tool', tool_call_id: ids[0], content: 'one' },
      { role: 'tool', tool_call_id: ids[1], content: 'two' },
    ])
  })

  it('leave others alone, those that repeat as well', () => {
    const call: Part = { type: 'tool-call', toolCallId: 'x'.repeat(40), toolName: 't', input: {} }
    const result: Part = {
      type: 'tool-result',
      toolCallId: call.toolCallId,
      output: { type: 'text', value: '' },
    }
    const turn: Message[] = [
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [result] },
    ]
    expect(rendered([...turn, ...turn], 'openai')).toEqual([...turn, ...turn])
    expect(validateHistory([...turn, ...turn], 'openai')).toEqual([])
  })

  it('become other ids than those of other calls', () => {
    const call = (toolCallId: string): Part => ({ type: 'tool-call', toolCallId, toolName: 't', input: {} })
    const [message] = rendered(
      [
        {
          role: 'assistant',
          content: [call(`a${'x'.repeat(40)}`), call(`b${'x'.repeat(40)}`), call('x'.repeat(40))],
        },
      ],
      'openai',
    ) as [Message]
    const ids = (message.content as Part[]).map((part) => (part.type === 'tool-call' ? part.toolCallId : ''))
    expect(new Set(ids).size).toBe(3)
  })
})

describe('an answer that an assistant of Chat Completions spoke', () => {
  const audio = { id: 'audio_1', data: 'AAAA', expires_at: 5, transcript: 'Hello' }
  const messages = [
    { role: 'user', content: 'Say hello.' },
    { role: 'assistant', content: null, refusal: null, audio },
    { role: 'user', content: 'Louder.' },
  ]

  it('comes out as it was, is not lost in a rendering, and is noted', () => {
    const places: string[] = []
    const read = fromOpenAI(messages, { onNote: ({ kind, place }) => places.push(`${kind} ${place}`) })
    expect(toOpenAI(read)).toEqual(messages)
    expect(toOpenAI(rendered(read, 'openai'))).toEqual(messages)
    expect(places).toEqual(['kept [1].audio'])
  })

  it('is reported as missing elsewhere', () => {
    const places: string[] = []
    toAnthropic(fromOpenAI(messages), { onNote: ({ kind, place }) => places.push(`${kind} ${place}`) })
    expect(places).toEqual(['not-sent [1].content[0]'])
  })
})

describe('calls of the old kind of Chat Completions', () => {
  const call = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }

  it('are answered by a function when a rendering adds their results', () => {
    const shown = toOpenAI(rendered(fromOpenAI([{ role: 'user', content: 'x' }, call]), 'openai'))
    expect(shown.slice(1)).toEqual([
      call,
      { role: 'function', name: 'f', content: '[No result was recorded for this tool call]' },
    ])
  })

  it('are answered by a tool where several in one message are of the new kind', () => {
    const [asked, answer] = fromOpenAI([call, { role: 'function', name: 'f', content: 'one' }]) as [
      Message,
      Message,
    ]
    const first = asked.content[0] as ToolCallPart
    const merged: Message = { role: 'assistant', content: [first, { ...first, toolCallId: 'second' }] }
    expect(toOpenAI([merged, answer]).at(-1)).toMatchObject({
      role: 'tool',
      tool_call_id: 'function_call_f',
      content: 'one',
    })
  })
})

describe('messages that could be read in part', () => {
  it('of which nothing is left are not sent to Chat Completions', () => {
    const read = fromOpenAI([{ role: 'assistant', content: [{ type: 'text' }] }], { lenient: true })
    expect(toOpenAI(read)).toEqual([])
  })

  it('keep what the Responses API adds to them', () => {
    const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
    const text = { type: 'output_text', text: 'Yes', annotations: [] }
    const read = (content: object[]): Message[] =>
      fromOpenAIResponses([{ ...item, content }], { lenient: true })
    expect(toOpenAIResponses(read([{ type: 'output_text' }, text]))).toEqual([{ ...item, content: [text] }])
    expect(read([{ type: 'output_text' }])[0]?.metadata).toEqual({
      'openai-responses': { item: { type: 'message', id: 'msg_1', status: 'completed' } },
    })
  })
})

describe('failures without text', () => {
  const failed = (output: ToolResultOutput): Message => ({
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'a', output }],
  })

  it.each<[string, ToolResultOutput]>([
    ['text', { type: 'error-text', value: '' }],
    ['list', { type: 'content', value: [], isError: true }],
  ])('tell Anthropic in words that they failed, and it is noted: a %s', (_, output) => {
    const places: string[] = []
    const { messages } = toAnthropic([failed(output)], {
      onNote: ({ kind, place }) => places.push(`${kind} ${place}`),
    })
    const content = '[The tool failed without output]'
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content, is_error: true }] },
    ])
    expect(places).toEqual(['changed [0].content[0].output'])
  })

  it.each([{ content: '' }, { content: [] }, {}])('stay as Anthropic had them: %j', (said) => {
    const result = { type: 'tool_result', tool_use_id: 'a', is_error: true, ...said }
    const messages = [{ role: 'user', content: [result] }]
    expect(toAnthropic(fromAnthropic(messages))).toEqual({ messages })
  })
})

describe('lists with holes', () => {
  // biome-ignore lint/suspicious/noSparseArray: that is what is tested
  const sparse = [, { role: 'user', content: 'x', parts: [] }] as object[]

  it.each([
    ['Chat Completions', fromOpenAI],
    ['the Responses API', fromOpenAIResponses],
    ['Anthropic', fromAnthropic],
    ['Gemini', fromGemini],
  ])('are refused by %s', (_, from) => {
    expect(() => from(sparse)).toThrow('[0]: must be an object')
  })

  it('have no format', () => {
    expect(detectFormat(new Array(2))).toBeUndefined()
  })
})

it.each(['google', 'langchain', 'ai-sdk', 'openai-agents', 'claude-agent-sdk'])(
  'messages that keep something for %s are neutral',
  (name) => {
    expect(detectFormat([{ role: 'user', content: 'x', metadata: { [name]: {} } }])).toBe('neutral')
  },
)
