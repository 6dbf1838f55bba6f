import { toAnthropic } from '../../src/anthropic.ts'
import { toGemini } from '../../src/google.ts'
import type { NewMessage, PreparedRequest } from '../../src/index.ts'
import { toOpenAI, toOpenAIResponses } from '../../src/openai.ts'

/*
 * A server that refuses poison in a request, with the wordings of eight providers. The poison is in the wire form, which the converters
 * make; nothing here reads the code of the repairs.
 */

/** What a part holds that a server refuses, and the message that holds it. */
export type Poison = { readonly kind: PoisonKind; readonly messages: (mark: string) => NewMessage[] }
export type PoisonKind =
  | 'image'
  | 'signature'
  | 'character'
  | 'input'
  | 'name'
  | 'blank'
  | 'field'
  | 'pair'
  | 'output'

const IMAGE = 'iVBORw0KGgo'

const calling = (id: string, name: string, input: object, value: unknown = 'done'): NewMessage[] => [
  {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: id, toolName: name, input: input as never }],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: id,
        toolName: name,
        output: (typeof value === 'string' ? { type: 'text', value } : { type: 'content', value }) as never,
      },
    ],
  },
]

/** Each poison, in messages that are valid but for it. The mark makes it unique. */
export const POISONS: readonly Poison[] = [
  {
    kind: 'image',
    messages: (mark) => [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look at this.' },
          { type: 'image', image: `${IMAGE}${mark}poisonImage`, mediaType: 'image/png' },
        ],
      },
      { role: 'assistant', content: 'I see.' },
    ],
  },
  {
    kind: 'signature',
    messages: (mark) => [
      { role: 'user', content: 'Think.' },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'Hm.',
            providerOptions: {
              anthropic: { signature: `${mark}poisonSignature` },
              google: { thoughtSignature: `${mark}poisonSignature` },
            },
          },
          { type: 'text', text: 'Done.' },
        ],
      },
    ],
  },
  {
    kind: 'character',
    // One that is cleaned at first, and one that is not odd.
    messages: (mark) => [
      { role: 'user', content: `A bell \u0007 and a sign \ue000poisonCharacter ${mark}` },
      { role: 'assistant', content: 'I hear.' },
    ],
  },
  {
    kind: 'input',
    messages: (mark) => [
      { role: 'user', content: 'Write.' },
      ...calling(`call_${mark}i`, 'write', { poisonInput: [mark] }),
    ],
  },
  {
    kind: 'name',
    messages: (mark) => [{ role: 'user', content: 'Call.' }, ...calling(`call_${mark}n`, 'poisonName', {})],
  },
  {
    kind: 'blank',
    messages: () => [
      { role: 'user', content: 'Say nothing.' },
      { role: 'assistant', content: '\u200b' },
      { role: 'user', content: 'And?' },
    ],
  },
  {
    kind: 'field',
    messages: (mark) => [
      { role: 'user', content: 'Cite.' },
      {
        role: 'assistant',
        content: [
          {
            type: 'text',
            text: 'As it says.',
            providerOptions: {
              anthropic: { poisonField: mark },
              openai: { poisonField: mark },
              google: { poisonField: mark },
            },
          },
        ],
      },
    ],
  },
  {
    kind: 'pair',
    messages: (mark) => [{ role: 'user', content: 'Wait.' }, ...calling(`call_${mark}p1`, 'wait', {})],
  },
  {
    kind: 'output',
    messages: (mark) => [
      { role: 'user', content: 'Show.' },
      ...calling(`call_${mark}o`, 'show', {}, [
        { type: 'text', text: 'A picture.' },
        { type: 'image', image: `${IMAGE}${mark}poisonImage`, mediaType: 'image/png' },
      ]),
    ],
  },
]

type Words = (path: string, id: string) => string
type Provider = {
  readonly name: string
  readonly form: 'anthropic' | 'chat' | 'responses' | 'gemini'
  readonly words: {
    readonly [K in 'image' | 'signature' | 'character' | 'input' | 'name' | 'blank' | 'field' | 'pair']: Words
  }
  readonly error: (message: string) => unknown
}

const inJson = (message: string): unknown =>
  Object.assign(new Error(`400 ${message}`), {
    status: 400,
    error: { message, type: 'invalid_request_error' },
  })
const ofAnthropic = (message: string): unknown => {
  const body = {
    type: 'error',
    error: { type: 'invalid_request_error', message },
    request_id: 'req_011CVjxi',
  }
  return Object.assign(new Error(`400 ${JSON.stringify(body)}`), { status: 400, error: body })
}
const ofGoogle = (message: string): unknown =>
  Object.assign(new Error(JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } })), {
    status: 400,
  })
const ofAws = (message: string): unknown =>
  Object.assign(new Error(message), { name: 'ValidationException', $metadata: { httpStatusCode: 400 } })
const ofSdk = (message: string): unknown =>
  Object.assign(new Error(message), {
    name: 'AI_APICallError',
    statusCode: 400,
    responseBody: JSON.stringify({ error: { message, type: 'invalid_request_error' } }),
  })

const CLAUDE = {
  image: () => 'Could not process image',
  signature: (path: string) => `${path}: Invalid \`signature\` in \`thinking\` block`,
  character: () =>
    'The request body is not valid JSON: invalid control character in string: line 1 column 28642 (char 28641)',
  input: (path: string) => `${path}.tool_use.input: Input should be a valid dictionary`,
  name: (path: string) => `${path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`,
  blank: () => 'messages: text content blocks must contain non-whitespace text',
  field: (path: string) => `${path}.text.poisonField: Extra inputs are not permitted`,
  pair: (path: string, id: string) =>
    `${path.split('.').slice(0, 2).join('.')}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}.`,
}
const GPT = {
  image: (path: string) =>
    `Invalid '${path}.image_url.url'. You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].`,
  signature: () => 'The encrypted content gAAA...DQ== could not be verified.',
  character: () => 'We could not parse the JSON body of your request.',
  input: (path: string) => `Invalid '${path}.function.arguments': arguments must be valid JSON of an object.`,
  name: (path: string) => `Invalid '${path}.function.name': string does not match pattern.`,
  blank: (path: string) => `${path}: Each message must have at least one content element.`,
  field: (path: string) => `Unknown parameter: '${path}.poisonField'.`,
  pair: (_: string, id: string) =>
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${id}`,
}
const GEMINI = {
  image: () =>
    'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  signature: () => 'Corrupted thought signature.',
  character: (path: string) => `Invalid value at '${path}.text' (TYPE_STRING), invalid UTF-8 character`,
  input: (path: string) => `Invalid value at '${path}.function_call.args': Input should be an object`,
  name: (path: string) => `* GenerateContentRequest.${path}.function_call.name: Invalid function name.`,
  blank: (path: string) => `* GenerateContentRequest.${path}: contents.parts must not be empty.`,
  field: (path: string) =>
    `Invalid JSON payload received. Unknown name "poisonField" at '${path}': Cannot find field.`,
  pair: () =>
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
}

/** Providers, and how each says what it refuses. */
export const PROVIDERS: readonly Provider[] = [
  { name: 'anthropic', form: 'anthropic', words: CLAUDE, error: ofAnthropic },
  {
    name: 'bedrock',
    form: 'anthropic',
    words: {
      ...CLAUDE,
      pair: (path, id) =>
        `Expected toolResult blocks at ${path.split('.').slice(0, 2).join('.')}.content for the following Ids: ${id}`,
      blank: (path) =>
        `The text field in the ContentBlock object at ${path} is blank. Add text to the text field, and try again.`,
      input: (path) =>
        `The format of the value at ${path}.toolUse.input is invalid. Provide a json object for the field and try again.`,
    },
    error: ofAws,
  },
  {
    name: 'vertex',
    form: 'anthropic',
    words: CLAUDE,
    error: (message) => ofGoogle(JSON.stringify({ error: { type: 'invalid_request_error', message } })),
  },
  { name: 'openai', form: 'chat', words: GPT, error: inJson },
  { name: 'azure', form: 'chat', words: GPT, error: ofSdk },
  {
    name: 'mistral',
    form: 'chat',
    words: {
      ...GPT,
      name: (path) => `${path}: Tool call id was bad but must be a-z, A-Z, 0-9, with a length of 9.`,
      pair: () => 'Not the same number of function calls and responses',
    },
    error: inJson,
  },
  {
    name: 'deepseek',
    form: 'chat',
    words: {
      ...GPT,
      character: (path) =>
        `Failed to deserialize the JSON body into the target type: ${path}: unexpected end of hex escape at line 1 column 4711`,
      image: (path) =>
        `Failed to deserialize the JSON body into the target type: ${path}: unknown variant \`image_url\`, expected \`text\` at line 1 column 4711`,
    },
    error: inJson,
  },
  { name: 'google-ai', form: 'gemini', words: GEMINI, error: ofGoogle },
  { name: 'openai', form: 'responses', words: GPT, error: ofSdk },
]

/** The blocks of a request in wire form, with their paths. */
function blocksOf(
  { form }: Provider,
  { messages, system }: PreparedRequest,
): { path: string; block: unknown }[] {
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
  if (form === 'anthropic')
    return toAnthropic(messages, { forRequest: true }).messages.flatMap(({ content }, m) =>
      typeof content === 'string'
        ? [{ path: `messages.${m}.content.0`, block: { type: 'text', text: content } as unknown }]
        : content.map((block, b) => ({ path: `messages.${m}.content.${b}`, block: block as unknown })),
    )
  if (form === 'gemini')
    return toGemini(messages).contents.flatMap(({ parts }, m) =>
      list(parts).map((block, b) => ({ path: `contents[${m}].parts[${b}]`, block })),
    )
  const root = form === 'chat' ? 'messages' : 'input'
  const wire = (form === 'chat' ? toOpenAI(messages) : toOpenAIResponses(messages)) as readonly object[]
  // Applications send the system prompt before the history, as a message of its own or as a field.
  const all = form === 'chat' && system !== undefined ? [{ role: 'system', content: system }, ...wire] : wire
  return all.flatMap((message, m) => {
    const { content, tool_calls: calls, ...rest } = message as { content?: unknown; tool_calls?: unknown }
    return [
      ...(Array.isArray(content)
        ? content.map((block, b) => ({ path: `${root}[${m}].content[${b}]`, block: block as unknown }))
        : [{ path: `${root}[${m}]`, block: { ...rest, content } as unknown }]),
      ...list(calls).map((block, b) => ({ path: `${root}[${m}].tool_calls[${b}]`, block })),
      ...(Array.isArray(content) ? [{ path: `${root}[${m}]`, block: rest as unknown }] : []),
    ]
  })
}

/** Throws the provider's error for the first poison of a request. */
export function serve(provider: Provider, request: PreparedRequest): void {
  for (const { path, block } of blocksOf(provider, request)) {
    const json = JSON.stringify(block)
    const refuse = (kind: keyof Provider['words'], id = ''): never => {
      throw provider.error(provider.words[kind](path, id))
    }
    if (json.includes('poisonImage')) refuse('image')
    if (json.includes('poisonSignature')) refuse('signature')
    if (/\\u0007|\ue000poisonCharacter/.test(json)) refuse('character')
    if (isCall(block)) {
      if (json.includes('poisonInput')) refuse('input')
      if (json.includes('poisonName')) refuse('name')
      const id = /"(?:id|call_id)":"([^"]*p1[^"]*)"/.exec(json)?.[1]
      if (json.includes('"wait"')) refuse('pair', id ?? 'call_0')
    }
    if (/"(?:text|content)":"\u200b"/.test(json)) refuse('blank')
    if (json.includes('"poisonField"')) refuse('field')
  }
}

function isCall(block: unknown): boolean {
  const {
    type,
    functionCall,
    function: called,
  } = block as { type?: unknown; functionCall?: unknown; function?: unknown }
  return type === 'tool_use' || type === 'function_call' || functionCall !== undefined || called !== undefined
}
