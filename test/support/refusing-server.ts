import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toGemini } from '../../src/adapters/google/index.ts'
import { toOpenAI, toOpenAIResponses } from '../../src/adapters/openai/index.ts'
import { type NewMessage, type PreparedRequest, validateRequest } from '../../src/index.ts'

/*
 * A server that applies the rules of `validateRequest`, and refuses poison that no rule knows, with the wordings of eight providers. It reads
 * the wire form, which the converters make; nothing here reads the code of the repairs.
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
  | 'item'

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
              anthropic: { poison_field: mark },
              openai: { poison_field: mark },
              google: { poison_field: mark },
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
  {
    kind: 'item',
    // The id of an item where there are items, else that of a call.
    messages: (mark) => {
      const [call, result] = calling(`call_${mark}poisonItem`, 'find', { query: 'a' })
      const text = {
        type: 'text' as const,
        text: 'I look.',
        providerOptions: { openai: { itemId: `msg_${mark}poisonItem` } },
      }
      return [
        { role: 'user', content: 'Find.' },
        { ...call!, content: [text, ...(call!.content as [])] } as NewMessage,
        result!,
      ]
    },
  },
]

type Words = (path: string, id: string) => string
type Kind =
  | 'image'
  | 'signature'
  | 'character'
  | 'input'
  | 'name'
  | 'blank'
  | 'field'
  | 'pair'
  | 'lone'
  | 'item'
type Provider = {
  readonly name: string
  readonly form: 'anthropic' | 'chat' | 'responses' | 'gemini'
  readonly words: { readonly [K in Kind]: Words }
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
  field: (path: string) => `${path}.text.poison_field: Extra inputs are not permitted`,
  pair: (path: string, id: string) =>
    `${path.split('.').slice(0, 2).join('.')}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}.`,
  lone: (path: string, id: string) =>
    `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  item: (path: string) => `${path}: \`tool_use\` ids must be unique`,
}
const GPT = {
  image: (path: string) =>
    `Invalid '${path}.image_url.url'. You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].`,
  signature: () => 'The encrypted content gAAA...DQ== could not be verified.',
  character: () => 'We could not parse the JSON body of your request.',
  input: (path: string) => `Invalid '${path}.function.arguments': arguments must be valid JSON of an object.`,
  name: (path: string) => `Invalid '${path}.function.name': string does not match pattern.`,
  blank: (path: string) => `${path}: Each message must have at least one content element.`,
  field: (path: string) => `Unknown parameter: '${path}.poison_field'.`,
  pair: (_: string, id: string) =>
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${id}`,
  lone: (_: string, id: string) => `No tool call found for function call output with call_id ${id}.`,
  item: (_: string, id: string) =>
    `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
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
    `Invalid JSON payload received. Unknown name "poison_field" at '${path}': Cannot find field.`,
  pair: () =>
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
  lone: () => 'Please ensure that function response turn comes immediately after a function call turn.',
  // In no table of wordings: the place has to be enough.
  item: (path: string) => `* GenerateContentRequest.${path}.function_call.id: the id was used before.`,
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

type Body = { readonly [name: string]: unknown }

/** A request as an application sends it. */
function bodyOf({ form }: Provider, { messages, system }: PreparedRequest): Body {
  const said = system !== undefined
  switch (form) {
    case 'anthropic':
      return {
        ...toAnthropic(messages, { forRequest: true }),
        ...(said && { system }),
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
      }
    case 'gemini':
      return { ...toGemini(messages), ...(said && { systemInstruction: { parts: [{ text: system }] } }) }
    case 'responses':
      return { input: toOpenAIResponses(messages), ...(said && { instructions: system }) }
    case 'chat': {
      const wire = toOpenAI(messages).filter((message) => 'role' in message)
      return { messages: said ? [{ role: 'system', content: system }, ...wire] : wire }
    }
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The blocks of a request in wire form, with their paths. */
function blocksOf({ form }: Provider, body: Body): { path: string; block: unknown }[] {
  if (form === 'anthropic')
    return (body.messages as readonly { content: unknown }[]).flatMap(({ content }, m) =>
      typeof content === 'string'
        ? [{ path: `messages.${m}.content.0`, block: { type: 'text', text: content } as unknown }]
        : listOf(content).map((block, b) => ({ path: `messages.${m}.content.${b}`, block })),
    )
  if (form === 'gemini')
    return (body.contents as readonly { parts?: unknown }[]).flatMap(({ parts }, m) =>
      listOf(parts).map((block, b) => ({ path: `contents[${m}].parts[${b}]`, block })),
    )
  const root = form === 'chat' ? 'messages' : 'input'
  return listOf(body[root]).flatMap((message, m) => {
    const { content, tool_calls: calls, ...rest } = message as { content?: unknown; tool_calls?: unknown }
    return [
      ...(Array.isArray(content)
        ? content.map((block, b) => ({ path: `${root}[${m}].content[${b}]`, block: block as unknown }))
        : [{ path: `${root}[${m}]`, block: { ...rest, content } as unknown }]),
      ...listOf(calls).map((block, b) => ({ path: `${root}[${m}].tool_calls[${b}]`, block })),
      ...(Array.isArray(content) ? [{ path: `${root}[${m}]`, block: rest as unknown }] : []),
    ]
  })
}

/** How providers say that a rule is broken; the other rules in words that no table has. */
const RULE_WORDS: { readonly [rule: string]: Kind } = {
  surrogate: 'character',
  'empty-text': 'blank',
  'blank-text': 'blank',
  'trailing-space': 'blank',
  'empty-failure': 'blank',
  'input-object': 'input',
  'arguments-json': 'input',
  'arguments-length': 'input',
  'call-name': 'name',
  'call-id-form': 'name',
  'call-id-twice': 'item',
  'numbered-once': 'item',
  'item-id': 'item',
  'call-unanswered': 'pair',
  'results-first': 'pair',
  'result-order': 'pair',
  'result-without-call': 'lone',
  'result-twice': 'lone',
  'thinking-signed': 'signature',
  'thinking-last': 'signature',
  'thinking-one-response': 'signature',
  'thought-signature': 'signature',
  'media-data': 'image',
  'media-match': 'image',
  'media-type': 'image',
  'media-url': 'image',
}

/** Throws the provider's error for the first rule that a request breaks, else for its first poison. */
export function serve(provider: Provider, request: PreparedRequest): void {
  const body = bodyOf(provider, request)
  const blocks = blocksOf(provider, body)
  const refuse = (kind: Kind, path: string, id = 'call_0'): never => {
    throw provider.error(provider.words[kind](path, id))
  }
  const [broken] = validateRequest(body, provider.name)
  if (broken !== undefined) {
    const isDotted = provider.form === 'anthropic'
    const path = isDotted ? broken.path : broken.path.replaceAll(/\.(\d+)/g, '[$1]')
    const json = JSON.stringify(blocks.find((one) => one.path === path)?.block ?? '')
    const id = /"(?:id|call_id|tool_use_id|tool_call_id)":"([^"]+)"/.exec(json)?.[1]
    const words = RULE_WORDS[broken.rule]
    if (words !== undefined) refuse(words, path, id)
    throw provider.error(`${path}: ${broken.detail}`)
  }
  for (const { path, block } of blocks) {
    const json = JSON.stringify(block)
    if (json.includes('poisonImage')) refuse('image', path)
    if (json.includes('poisonSignature')) refuse('signature', path)
    if (/\\u0007|\ue000poisonCharacter/.test(json)) refuse('character', path)
    const item = /"id":"(msg_[^"]*poisonItem)"/.exec(json)?.[1]
    if (item !== undefined) refuse('item', path, item)
    if (isCall(block)) {
      if (json.includes('poisonInput')) refuse('input', path)
      if (json.includes('poisonName')) refuse('name', path)
      if (provider.form !== 'chat' && provider.form !== 'responses' && json.includes('poisonItem'))
        refuse('item', path)
      const id = /"(?:id|call_id)":"([^"]*p1[^"]*)"/.exec(json)?.[1]
      if (json.includes('"wait"')) refuse('pair', path, id)
    }
    if (/"(?:text|content)":"\u200b"/.test(json)) refuse('blank', path)
    if (json.includes('"poison_field"')) refuse('field', path)
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
