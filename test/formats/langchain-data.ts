import fc from 'fast-check'

/*
 * Messages as LangChain stores them, of every type and with every kind of block, whether or not anybody would write them.
 */

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const base64 = fc.constantFrom(PNG, 'AAAA', 'JVBERi0xLjQ=', '')
const text = fc.oneof(fc.constantFrom('', 'a', ' ', 'ü€😀'), fc.string({ maxLength: 8 }))
const key = fc.constantFrom('a', 'b', 'index', 'id', 'type', 'form', 'name', 'cache_control', 'in')
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const object = fc.dictionary(key, json, { maxKeys: 3 })
const id = fc.constantFrom('c1', 'c2', 'c3', '')
const name = fc.constantFrom('look', 'read', '')
const address = fc.oneof(
  fc.constant('https://x.test/a'),
  base64.map((data) => `data:image/png;base64,${data}`),
)

/** An object with some of these fields. */
const some = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T, required: (keyof T)[] = []) =>
  fc.record(fields, { requiredKeys: required as never })

const extra = some({
  id: text,
  index: fc.oneof(fc.nat(9), text),
  annotations: fc.array(object, { maxLength: 2 }),
  cache_control: object,
  extras: object,
})
const withExtra = (block: fc.Arbitrary<object>) =>
  fc.tuple(extra, block).map(([more, one]) => ({ ...more, ...one }))

const sourced = fc.oneof(
  some({ url: address, mime_type: text, metadata: object }, ['url']).map((fields) => ({
    source_type: 'url',
    ...fields,
  })),
  some({ data: base64, mime_type: text, metadata: object }, ['data']).map((fields) => ({
    source_type: 'base64',
    ...fields,
  })),
  some({ id: text, mime_type: text }, ['id']).map((fields) => ({ source_type: 'id', ...fields })),
)
const standard = fc.oneof(
  some({ url: address, mimeType: text, metadata: object }, ['url']),
  some({ data: base64, mimeType: text, metadata: object }, ['data']),
  some({ fileId: text, mimeType: text }, ['fileId']),
)
const mediaKind = fc.constantFrom('image', 'audio', 'video', 'file')

const media = fc.oneof(
  fc.tuple(mediaKind, fc.oneof(sourced, standard)).map(([type, fields]) => ({ type, ...fields })),
  some({ text, mime_type: text, metadata: object }, ['text']).map((fields) => ({
    type: 'file',
    source_type: 'text',
    ...fields,
  })),
  fc.oneof(some({ text, title: text, context: text, mimeType: text }, ['text']), standard).map((fields) => ({
    type: 'text-plain',
    ...fields,
  })),
  fc
    .oneof(address, some({ url: address, detail: text }, ['url']))
    .map((image_url) => ({ type: 'image_url', image_url })),
  some({ data: base64, format: fc.constantFrom('mp3', 'wav') }, ['data', 'format']).map((input_audio) => ({
    type: 'input_audio',
    input_audio,
  })),
  fc
    .oneof(some({ file_data: address, filename: text }, ['file_data']), some({ file_id: text }, ['file_id']))
    .map((file) => ({
      type: 'file',
      file,
    })),
  fc
    .tuple(
      fc.constantFrom('image', 'document'),
      fc.oneof(
        some({ data: base64, media_type: text }, ['data']).map((fields) => ({ type: 'base64', ...fields })),
        some({ url: address }, ['url']).map((fields) => ({ type: 'url', ...fields })),
        some({ file_id: text }, ['file_id']).map((fields) => ({ type: 'file', ...fields })),
      ),
    )
    .map(([type, source]) => ({ type, source })),
)

const said = fc.oneof(
  some({ text, source_type: fc.constant('text'), refusal: text }, ['text']).map((fields) => ({
    type: 'text',
    ...fields,
  })),
  text.map((refusal) => ({ type: 'refusal', refusal })),
  some({ reasoning: text, signature: text, summary: fc.array(object) }).map((fields) => ({
    type: 'reasoning',
    ...fields,
  })),
  some({ thinking: text, signature: text }, ['thinking']).map((fields) => ({ type: 'thinking', ...fields })),
)
const odd = fc.oneof(
  some({ name, args: text, id, error: text }).map((fields) => ({ type: 'invalid_tool_call', ...fields })),
  some({ name, args: json, id }, ['name', 'args']).map((fields) => ({ type: 'server_tool_call', ...fields })),
  some({ toolCallId: id, output: json, status: text }, ['toolCallId']).map((fields) => ({
    type: 'server_tool_call_result',
    ...fields,
  })),
  object.map((value) => ({ type: 'non_standard', value })),
  some({ input: text, index: fc.nat(3) }).map((fields) => ({ type: 'input_json_delta', ...fields })),
  some({ data: text }).map((fields) => ({ type: 'redacted_thinking', ...fields })),
  object.map(({ type: _, ...value }) => ({ cachePoint: value, remove: {}, invalid_tool_call: {} })),
  fc.constant({ type: 'tomorrow', remove: {} }),
)
const calling = fc.oneof(
  some({ id, name, args: json }, ['id', 'name', 'args']).map((fields) => ({ type: 'tool_call', ...fields })),
  some({ id, name, input: json }, ['id', 'name', 'input']).map((fields) => ({ type: 'tool_use', ...fields })),
)
const block = withExtra(fc.oneof({ weight: 3, arbitrary: said }, { weight: 3, arbitrary: media }, odd))
const aiBlock = fc.oneof(
  { weight: 3, arbitrary: block },
  withExtra(calling).map((one) => ({ id: 'c1', ...one })),
)
const contentOf = (one: fc.Arbitrary<object>) =>
  fc.oneof(
    text,
    fc.constant(null),
    fc.array(one, { maxLength: 4 }),
    fc.array(withExtra(said), { maxLength: 3 }),
  )

const common = {
  id: text,
  name,
  additional_kwargs: object,
  response_metadata: fc.oneof(
    object,
    fc.constantFrom({ model_provider: 'anthropic' }, { output_version: 'v1' }),
  ),
  example: fc.boolean(),
  form: json,
}
const rawCall = some({
  id,
  type: fc.constant('function'),
  index: fc.nat(3),
  function: some({
    name,
    arguments: fc.oneof(
      json.map((value) => JSON.stringify(value)),
      text,
    ),
  }),
})
const rawKwargs = some({
  tool_calls: fc.array(rawCall, { maxLength: 3 }),
  function_call: some({ name, arguments: text }),
  other: json,
})

/** The fields an answer of a model may have. */
const ai = some({
  ...common,
  additional_kwargs: fc.oneof(object, rawKwargs),
  content: contentOf(aiBlock),
  tool_calls: fc.array(
    some(
      { name, args: fc.oneof(object, json), id, type: fc.constantFrom('tool_call', 'odd'), index: fc.nat(3) },
      ['name', 'args', 'id'],
    ),
    { maxLength: 3 },
  ),
  invalid_tool_calls: fc.array(some({ name, args: text, id, error: text, type: text }), { maxLength: 2 }),
  tool_call_chunks: fc.array(object, { maxLength: 2 }),
  usage_metadata: some({ input_tokens: fc.nat(), output_tokens: fc.nat(), total_tokens: fc.nat() }),
}).map((data) => {
  const { content } = data
  return Array.isArray(content) && data.example === true ? { ...data, content_blocks: content } : data
})

const stored = (type: string) => (data: object) => ({ type, data })

/** One stored message of any type. */
export const storedMessage = fc.oneof(
  { weight: 4, arbitrary: ai.map(stored('ai')) },
  some({ ...common, content: contentOf(block) }).map(stored('human')),
  some({ ...common, content: contentOf(block) }).map(stored('system')),
  some(
    {
      ...common,
      content: contentOf(block),
      role: fc.oneof(fc.constantFrom('user', 'assistant', 'system'), text),
    },
    ['role'],
  ).map(stored('generic')),
  some(
    {
      ...common,
      content: contentOf(block),
      tool_call_id: id,
      status: fc.constantFrom('success', 'error', 'odd'),
      artifact: json,
      metadata: object,
    },
    ['tool_call_id'],
  ).map(stored('tool')),
  some({ ...common, content: contentOf(block), name }, ['name']).map(stored('function')),
  some({ ...common, id: text, content: fc.constantFrom([], '') }, ['id']).map(stored('remove')),
)
