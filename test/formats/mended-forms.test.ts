import { describe, expect, it } from 'vitest'
import { toSdkPrompt } from '../../src/adapters/ai-sdk/index.ts'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toGemini } from '../../src/adapters/google/index.ts'
import { fromLangChain, toLangChainStored } from '../../src/adapters/langchain/index.ts'
import { fromOpenAIResponses, toOpenAI, toOpenAIResponses } from '../../src/adapters/openai/index.ts'
import { fromAgentItems, toAgentItems } from '../../src/adapters/openai-agents/index.ts'
import type { Json } from '../../src/core/messages/json.ts'
import type { Message, Part, ToolCallPart } from '../../src/core/messages/message.ts'
import { type RenderOptions, renderView } from '../../src/core/rendering/render.ts'
import { type MendKind, validateRequest } from '../../src/index.ts'
import { assistant, call, type Row, result, summary, system, text, tool, user, view } from '../core/views.ts'
import { png } from '../support/image-files.ts'

/* Everything of a history that providers refuse, in every form that is sent: nothing refused is left, the rest is as it was. */

type Wire = {
  readonly name: string
  readonly options: RenderOptions
  readonly body: (messages: readonly Message[]) => object
}

const tools = [{ name: 'look', input_schema: { type: 'object' } }]
const messagesApi = (messages: readonly Message[]) => ({
  ...toAnthropic(messages, { forRequest: true }),
  tools,
})
const chat = (messages: readonly Message[]) => ({ messages: toOpenAI(messages) })
const responses = (messages: readonly Message[]) => ({ input: toOpenAIResponses(messages) })
const gemini = (messages: readonly Message[]) => ({ ...toGemini(messages) })
const sdk = (provider: string) => (messages: readonly Message[]) => ({
  prompt: toSdkPrompt(messages, { version: 'v3', provider }),
  tools,
})
const throughLangChain = (messages: readonly Message[]) => fromLangChain(toLangChainStored(messages) as never)

/** Renders without parts of the other family that Vertex serves. */
const WIRES: readonly Wire[] = [
  ...['anthropic', 'bedrock'].map((provider) => ({
    name: `Messages API of ${provider}`,
    options: { provider },
    body: messagesApi,
  })),
  ...['openai', 'azure', 'mistral', 'groq', 'nobody'].map((provider) => ({
    name: `Chat Completions of ${provider}`,
    options: { provider },
    body: chat,
  })),
  {
    name: 'Responses API',
    options: { provider: 'openai', alsoReads: ['openai-responses'] },
    body: responses,
  },
  { name: 'Gemini', options: { provider: 'google-ai' }, body: gemini },
  ...['anthropic', 'bedrock', 'google-ai', 'openai', 'mistral'].map((provider) => ({
    name: `AI SDK prompt of ${provider}`,
    options: { provider, alsoReads: ['ai-sdk'] },
    body: sdk(provider),
  })),
  {
    name: 'LangChain, for Anthropic',
    options: { provider: 'anthropic', alsoReads: ['langchain'] },
    body: (messages) => messagesApi(throughLangChain(messages)),
  },
  {
    name: 'LangChain, for OpenAI',
    options: { provider: 'openai', alsoReads: ['langchain'] },
    body: (messages) => chat(throughLangChain(messages)),
  },
  {
    name: 'LangChain, for Gemini',
    options: { provider: 'google-ai', alsoReads: ['langchain'] },
    body: (messages) => gemini(throughLangChain(messages)),
  },
  {
    name: 'OpenAI Agents',
    options: { provider: 'openai', alsoReads: ['openai-agents', 'openai-responses'] },
    body: (messages) => responses(fromAgentItems(toAgentItems(messages) as never)),
  },
]

const HALF = '\ud83d'
const calling = (id: string, input: Json, extra: Partial<ToolCallPart> = {}): Part =>
  ({ ...(call(id) as ToolCallPart), input, ...extra }) as Part
const thinking = (signature: string, words = 'hm'): Part => ({
  type: 'reasoning',
  text: words,
  providerOptions: { anthropic: { signature } },
})
const redacted = (data: string): Part => ({
  type: 'provider',
  provider: 'anthropic',
  data: { type: 'redacted_thinking', data },
})
const image = (file: Buffer | string, mediaType = 'image/png'): Part => ({
  type: 'image',
  image: typeof file === 'string' ? file : file.toString('base64'),
  mediaType,
})
const file = (data: string, mediaType: string, filename: string): Part => ({
  type: 'file',
  data,
  mediaType,
  filename,
})
const JSON_FILE = file('eyJhIjoxfQ==', 'application/json', 'report.json')
const item = (id: string, type = 'text'): Part =>
  ({ type, text: id, providerOptions: { openai: { itemId: id } } }) as Part
const thoughtCall = (id: string, thoughtSignature: string): Part =>
  calling(id, { q: 1 }, { providerOptions: { google: { thoughtSignature } } })
const marked = (value: string): Part =>
  ({ ...text(value), providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }) as Part
const hostedBlock = (data: { readonly [field: string]: Json }): Part => ({
  type: 'provider',
  provider: 'anthropic',
  data,
})
const content = (...value: Part[]) => ({ type: 'content' as const, value: value as never })

const INTERPRETER = {
  type: 'code_interpreter_call',
  id: 'ci_1',
  container_id: 'cntr_1',
  code: '1',
  outputs: [],
  status: 'completed',
}
const WEB_SEARCH = {
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: { type: 'search', query: 'q' },
}
const STREAMED: readonly Part[] = [
  calling('c', {}, { providerOptions: { google: { functionCall: { id: null, willContinue: true } } } }),
  ...[{ partialArgs: [{ jsonPath: '$.q', stringValue: 'x' }], willContinue: true }, {}].map(
    (functionCall): Part => ({ type: 'provider', provider: 'google', data: { functionCall } as Json }),
  ),
]
/** A turn with items of the Responses API, as it is read. */
const responsesItems = (...items: object[]): Row[] =>
  fromOpenAIResponses([
    { role: 'user', content: 'q' },
    ...items,
    { role: 'assistant', content: 'ok' },
  ] as never).map((message) => ({ kind: 'message', ...message }))

const exchange = (id: string, ...answer: (string | Part)[]): Row[] => [
  user(`question ${id}`),
  assistant(...answer, call(id)),
  tool(result(id)),
  assistant(`answer ${id}`),
]

/** A form: its rows, and the mend that each provider must report; absent where not all need one. */
type Form = readonly [form: string, rows: readonly Row[], mend?: MendKind]

const INPUTS: readonly Json[] = [
  '',
  ' \n',
  null,
  [],
  7,
  true,
  '{"a":1}',
  '[1]',
  '{"command": "cat',
  [{ a: 1 }],
]
const FORMS: readonly Form[] = [
  // Half an emoji.
  ['half an emoji in a text', [user(`x${HALF}y`), assistant('ok')], 'characters-replaced'],
  ['half an emoji in an answer', [user('q'), assistant(text(`x${HALF}`))], 'characters-replaced'],
  [
    'half an emoji in an input',
    [user('q'), assistant(calling('c', { [`k${HALF}`]: [`v${HALF}`] })), tool(result('c')), assistant('ok')],
    'characters-replaced',
  ],
  [
    'half an emoji in the name of a tool',
    [user('q'), assistant(calling('c', {}, { toolName: `lo${HALF}` })), tool(result('c')), assistant('ok')],
    'tool-renamed',
  ],
  [
    'half an emoji in an id',
    [user('q'), assistant(calling(`c${HALF}`, {})), tool(result(`c${HALF}`)), assistant('ok')],
    'characters-replaced',
  ],
  [
    'half an emoji in an output',
    [user('q'), assistant(call('c')), tool(result('c', `x${HALF}`)), assistant('ok')],
    'characters-replaced',
  ],
  [
    'half an emoji in an output of JSON',
    [
      user('q'),
      assistant(call('c')),
      tool(result('c', { type: 'json', value: { [`k${HALF}`]: `v${HALF}` } })),
      assistant('ok'),
    ],
    'characters-replaced',
  ],
  [
    'half an emoji in an output with images',
    [
      user('q'),
      assistant(call('c')),
      tool(result('c', content(text(`x${HALF}`), image(png(8, 8))))),
      assistant('ok'),
    ],
    'characters-replaced',
  ],
  [
    'half an emoji in a failure',
    [
      user('q'),
      assistant(call('c')),
      tool(result('c', { type: 'error-text', value: HALF })),
      assistant('ok'),
    ],
    'characters-replaced',
  ],
  [
    'half an emoji in a summary',
    [summary(`so far${HALF}`), user('q'), assistant('ok')],
    'characters-replaced',
  ],
  [
    'half an emoji in the name of a file',
    [user('look', file('JVBERi0x', 'application/pdf', `f${HALF}.pdf`)), assistant('ok')],
    'characters-replaced',
  ],
  ['half an emoji in a signature', exchange('c', thinking(`AAAA${HALF}`))],
  // Signed thinking.
  [
    'two answers with signed thinking',
    [
      user('q'),
      assistant(thinking('AAAA'), 'one'),
      assistant(thinking('BBBB'), call('c')),
      tool(result('c')),
      assistant('ok'),
    ],
  ],
  [
    'three answers with signed thinking and no call',
    [
      user('q'),
      assistant(thinking('AAAA'), 'one'),
      assistant(thinking('BBBB'), 'two'),
      assistant(thinking('CCCC'), 'three'),
    ],
  ],
  [
    'an answer with redacted thinking after one with a call',
    [
      user('q'),
      assistant(redacted('AAAA'), call('c')),
      tool(result('c')),
      assistant(redacted('BBBB'), 'one'),
      assistant(redacted('CCCC'), 'two'),
    ],
  ],
  ['thinking that stands alone', [user('q'), assistant(thinking('AAAA'))], 'reasoning-dropped'],
  ['redacted thinking that stands alone', [user('q'), assistant(redacted('AAAA'))]],
  ['thinking and blanks', [user('q'), assistant(thinking('AAAA'), ' \n')]],
  ['thinking at the end of an answer', [user('q'), assistant('one', thinking('AAAA'))]],
  [
    'thinking after a text and before a call',
    [user('q'), assistant('one', thinking('AAAA'), call('c')), tool(result('c')), assistant('ok')],
  ],
  ['thinking of a user', [user('q', thinking('AAAA')), assistant('ok')], 'reasoning-dropped'],
  ['thinking without a signature', [user('q'), assistant({ type: 'reasoning', text: 'hm' }, 'one')]],
  ['an empty signature', exchange('c', thinking(''))],
  // Inputs.
  ...INPUTS.map(
    (input): Form => [
      `the input ${JSON.stringify(input)}`,
      [user('q'), assistant(calling('c', input)), tool(result('c')), assistant('ok')],
      'input-as-object',
    ],
  ),
  [
    'an input longer than OpenAI accepts',
    [user('q'), assistant(calling('c', { code: 'z'.repeat(1_048_577) })), tool(result('c')), assistant('ok')],
  ],
  [
    'arguments as they were written, which are blank',
    [
      user('q'),
      assistant(calling('c', {}, { providerOptions: { openai: { function: { arguments: ' ' } } } })),
      tool(result('c')),
      assistant('ok'),
    ],
  ],
  // Marks.
  [
    'marks of former requests',
    Array.from({ length: 6 }, (_, n): Row[] => [user(marked(`q${n}`)), assistant('ok')]).flat(),
    'mark-dropped',
  ],
  ['a mark on an empty text', [user('q', marked('')), assistant('ok')]],
  [
    'marks on results',
    [
      user('q'),
      assistant(call('c')),
      tool({
        ...result('c'),
        providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } },
      } as never),
      assistant('ok'),
    ],
    'mark-dropped',
  ],
  // Media.
  ['a file of JSON', [user('look', JSON_FILE), assistant('ok')]],
  [
    'a program',
    [user('look', file('AAAA', 'application/x-msdownload', 'a.exe')), assistant('ok')],
    'media-as-text',
  ],
  ['a relative address', [user('look', image('/uploads/a.png')), assistant('ok')], 'media-as-text'],
  [
    'a relative address of a file',
    [user('look', file('files/report.pdf?x=1', 'application/pdf', 'report.pdf')), assistant('ok')],
    'media-as-text',
  ],
  [
    'an address of the browser',
    [user('look', image('blob:http://localhost/1')), assistant('ok')],
    'media-as-text',
  ],
  ['an address on a disk', [user('look', image('file:///tmp/a.png')), assistant('ok')], 'media-as-text'],
  ['an SVG', [user('look', image('PHN2Zz4=', 'image/svg+xml')), assistant('ok')]],
  [
    'an image that is stated to be of another type',
    [user('look', image('/9j/4AAQSkZJRgABAQ==', 'image/png')), assistant('ok')],
    'media-type-changed',
  ],
  [
    'image/jpg',
    [user('look', image('/9j/4AAQSkZJRgABAQ==', 'image/jpg')), assistant('ok')],
    'media-type-changed',
  ],
  ['an empty image', [user('look', image('')), assistant('ok')], 'media-as-text'],
  ['an image with 9,000 pixels on a side', [user('look', image(png(9_000, 10))), assistant('ok')]],
  ['an image of 12 MB', [user('look', image(png(10, 10, 12_000_000))), assistant('ok')]],
  [
    '22 images, one with 2,001 pixels',
    [
      user('look', ...Array.from({ length: 21 }, () => image(png(8, 8))), image(png(2_001, 8))),
      assistant('ok'),
    ],
  ],
  [
    'a file of JSON in a result',
    [user('q'), assistant(call('c')), tool(result('c', content(JSON_FILE))), assistant('ok')],
  ],
  [
    'an image with 9,000 pixels in a result',
    [user('q'), assistant(call('c')), tool(result('c', content(image(png(9_000, 10))))), assistant('ok')],
  ],
  ['an image of the assistant', [user('draw'), assistant('here', image(png(8, 8)))]],
  ['an image of the assistant alone', [user('draw'), assistant(image(png(8, 8)))]],
  ['an image in a system message', [system(text('s'), image(png(8, 8))), user('q'), assistant('ok')]],
  // Empty.
  ['an empty text of the user', [user(''), assistant('ok')]],
  ['a blank text of the user', [user(' \n'), assistant('ok')]],
  ['an empty answer', [user('q'), assistant('')]],
  ['an answer without parts', [user('q'), assistant(...[])]],
  [
    'an empty text beside a call',
    [user('q'), assistant('', call('c')), tool(result('c', '')), assistant('ok')],
  ],
  [
    'an empty output of parts',
    [user('q'), assistant(call('c')), tool(result('c', content(text('')))), assistant('ok')],
  ],
  [
    'an output without parts',
    [user('q'), assistant(call('c')), tool(result('c', content())), assistant('ok')],
  ],
  [
    'a failure without content',
    [user('q'), assistant(call('c')), tool(result('c', { type: 'error-text', value: '' })), assistant('ok')],
  ],
  ['an empty system message', [system(''), user('q'), assistant('ok')]],
  ['an empty summary', [summary(''), user('q'), assistant('ok')]],
  // What a provider numbered.
  [
    'an item twice',
    [user('q'), assistant(item('msg_1')), user('again'), assistant(item('msg_1'))],
    'repetition-dropped',
  ],
  [
    'reasoning of OpenAI twice',
    [...exchange('c', item('rs_1', 'reasoning')), ...exchange('d', item('rs_1', 'reasoning'))],
    'repetition-dropped',
  ],
  [
    'a signature twice',
    [...exchange('c', thinking('AAAA')), ...exchange('d', thinking('AAAA'))],
    'repetition-dropped',
  ],
  ['redacted thinking twice', [...exchange('c', redacted('AAAA')), ...exchange('d', redacted('AAAA'))]],
  [
    'a thought signature twice',
    [
      user('q'),
      assistant(thoughtCall('c', 'c2ln')),
      tool(result('c')),
      assistant(thoughtCall('d', 'c2ln')),
      tool(result('d')),
      assistant('ok'),
    ],
  ],
  [
    'a thought signature on texts twice',
    [
      user('q'),
      assistant({ ...text('a'), providerOptions: { google: { thoughtSignature: 'c2ln' } } } as Part),
      user('q'),
      assistant({ ...text('b'), providerOptions: { google: { thoughtSignature: 'c2ln' } } } as Part),
    ],
  ],
  ['a call of the code interpreter twice', [...responsesItems(INTERPRETER), ...responsesItems(INTERPRETER)]],
  ['an id of a call twice', [...exchange('c'), ...exchange('c')]],
  // Own tools, blocks of compactions.
  [
    'a call of an own tool without its result',
    [
      user('q'),
      assistant(
        hostedBlock({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
        'stopped',
      ),
    ],
  ],
  [
    'a result of an own tool without its call',
    [
      user('q'),
      assistant(
        'one',
        hostedBlock({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
      ),
    ],
  ],
  [
    'a compaction of OpenAI in an answer',
    [
      user('q'),
      assistant(
        {
          type: 'provider',
          provider: 'openai',
          data: { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' },
        },
        'ok',
      ),
    ],
  ],
  [
    'a compaction of Anthropic in an answer',
    [user('q'), assistant(hostedBlock({ type: 'compaction', content: 'so far' }), 'ok')],
  ],
  [
    'a call of Gemini without an id, and its result from elsewhere',
    [
      user('q'),
      assistant(
        calling(
          'gemini_call_look',
          { q: 1 },
          { providerOptions: { google: { functionCall: { id: null } } } },
        ),
      ),
      tool(result('gemini_call_look')),
      assistant('ok'),
    ],
  ],
  [
    'a call that Gemini streamed in pieces',
    [user('q'), assistant(...STREAMED), tool(result('c')), assistant('ok')],
    'input-as-object',
  ],
  ['items that only the Responses API reads', responsesItems(INTERPRETER, WEB_SEARCH)],
  // Calls and results.
  [
    'a call without its result',
    [user('q'), assistant(call('c')), user('stop'), assistant('ok')],
    'result-added',
  ],
  ['a result without its call', [user('q'), tool(result('c')), assistant('ok')], 'result-as-text'],
  [
    'an id that no provider accepts',
    [
      user('q'),
      assistant(calling('c:1/ü'.repeat(20), {})),
      tool(result('c:1/ü'.repeat(20))),
      assistant('ok'),
    ],
  ],
  [
    'a name with dots',
    [user('q'), assistant(calling('c', {}, { toolName: 'files.read' })), tool(result('c')), assistant('ok')],
  ],
]

const BEFORE: readonly Row[] = [
  user('healthy question'),
  assistant('healthy words', calling('healthy01', { healthy: 'input' })),
  tool(result('healthy01', 'healthy output')),
  assistant('healthy answer'),
]
const AFTER: readonly Row[] = [user('healthy end')]
const HEALTHY = ['healthy question', 'healthy words', 'healthy output', 'healthy answer', 'healthy end']

describe.each(WIRES.map((wire) => [wire.name, wire] as const))('for %s', (_, { options, body }) => {
  it('healthy messages are sent as they are', () => {
    const { messages, mends } = renderView(view(...BEFORE, ...AFTER), options)
    expect(mends).toEqual([])
    expect(validateRequest(body(messages), options.provider)).toEqual([])
  })

  // The number of images is a budget of a request, which no rendering reduces.
  const takesMany = !['mistral', 'groq'].includes(options.provider)
  const forms = FORMS.flatMap(([form, rows, mend]) =>
    form.startsWith('22 images') && !takesMany ? [] : [{ form, rows, mend }],
  )
  it.each(forms)('$form is accepted', ({ rows, mend }) => {
    const leading = rows[0]?.role === 'system' ? rows.slice(0, 1) : []
    const all = view(...leading, ...BEFORE, ...rows.slice(leading.length), ...AFTER)
    const { messages, mends } = renderView(all, options)
    const sent = body(messages)
    expect(validateRequest(sent, options.provider)).toEqual([])

    const from = leading.length + BEFORE.length
    const mended = new Set(
      [...all.slice(0, leading.length), ...all.slice(from, from + rows.length - leading.length)].map(
        ({ id }) => id,
      ),
    )
    // A message that is gone leaves its neighbors, which may be merged.
    const own = mends.filter(({ kind }) => kind !== 'merged' && kind !== 'assistant-added')
    expect(own.filter(({ messageId }) => !mended.has(messageId))).toEqual([])
    if (mend !== undefined) expect(own.map(({ kind }) => kind)).toContain(mend)

    const json = JSON.stringify(sent)
    for (const words of HEALTHY) expect(json.split(words)).toHaveLength(2)
    expect(json).toMatch(/healthy\\?":\s?\\?"input/)
    expect(JSON.stringify(body(renderView(structuredClone(all), options).messages))).toBe(json)
  })
})
