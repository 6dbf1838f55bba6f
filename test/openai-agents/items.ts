import type { AgentInputItem } from '@openai/agents'
import fc from 'fast-check'

/*
 * Items of every type and content the SDK's protocol has, as fast-check makes them.
 */

type Fields = { readonly [name: string]: fc.Arbitrary<unknown> }

const word = fc.string({ maxLength: 12 })
const flag = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 })
/** An object whose absent fields are absent and not `undefined`. */
const record = (fields: Fields): fc.Arbitrary<object> =>
  fc
    .record(fields)
    .map((made) => Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined)))
const json = fc.jsonValue({ maxDepth: 2 })
const always = <T extends string>(value: T): fc.Arbitrary<T> => fc.constant(value)

const base64 = fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const inline = fc.oneof(
  base64,
  base64.map((data) => `data:image/png;base64,${data}`),
  fc.webUrl(),
)
const data = { providerData: flag(fc.dictionary(word, json, { maxKeys: 3 })) }
const base = { id: flag(word), ...data }
const cached = { promptCacheBreakpoint: flag(fc.constant({ mode: 'explicit' })), ...data }
const status = fc.constantFrom('in_progress', 'completed', 'incomplete')
const caller = {
  caller: flag(
    fc.oneof(fc.constant({ type: 'direct' }), record({ type: always('program'), callerId: word })),
  ),
}

const inputText = record({ type: always('input_text'), text: word, ...cached })
const inputImage = record({
  type: always('input_image'),
  image: flag(fc.oneof(inline, record({ id: word }))),
  detail: flag(word),
  ...cached,
})
const inputFile = record({
  type: always('input_file'),
  file: flag(fc.oneof(inline, record({ id: word }), record({ url: fc.webUrl() }))),
  filename: flag(word),
  ...cached,
})
const audio = record({
  type: always('audio'),
  audio: fc.oneof(base64, record({ id: word })),
  format: flag(fc.constantFrom('mp3', 'wav', null)),
  transcript: flag(fc.option(word)),
  ...cached,
})
const bytes = fc.oneof(base64, fc.uint8Array({ maxLength: 9 }))
const toolOutput = fc.oneof(
  word,
  record({ type: always('text'), text: word, ...data }),
  record({
    type: always('image'),
    image: flag(
      fc.oneof(
        inline,
        record({ data: bytes, mediaType: flag(always('image/png')) }),
        record({ url: fc.webUrl() }),
        record({ fileId: word }),
      ),
    ),
    detail: flag(word),
    ...data,
  }),
  record({
    type: always('file'),
    file: fc.oneof(
      inline,
      record({ data: bytes, mediaType: always('application/pdf'), filename: word }),
      record({ url: fc.webUrl(), filename: flag(word) }),
      record({ id: word, filename: flag(word) }),
    ),
    ...data,
  }),
  fc.array(fc.oneof(inputText, inputImage, inputFile), { maxLength: 3 }),
)

const point = { x: fc.integer(), y: fc.integer() }
const action = fc.oneof(
  fc.constant({ type: 'screenshot' }),
  record({ type: always('click'), ...point, button: fc.constantFrom('left', 'wheel') }),
  record({ type: always('double_click'), ...point }),
  record({
    type: always('scroll'),
    ...point,
    scroll_x: fc.integer(),
    scroll_y: fc.double({ noNaN: true, min: -9, max: 9 }),
  }),
  record({ type: always('type'), text: word }),
  fc.constant({ type: 'wait' }),
  record({ type: always('move'), ...point }),
  record({ type: always('keypress'), keys: fc.array(word, { maxLength: 2 }) }),
  record({ type: always('drag'), path: fc.array(record(point), { maxLength: 2 }) }),
)
const isMessage = { type: flag(always('message')) }
const search = {
  call_id: flag(fc.option(word)),
  callId: flag(fc.option(word)),
  execution: flag(fc.constantFrom('client', 'server')),
  status: flag(word),
  ...base,
}
/** Arguments as models write them: compact, with blanks, cut off, none. */
const args = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  json.map((value) => JSON.stringify(value, null, 1)),
  word,
)

/** Every type of item by a name, so that none is forgotten. */
export const ITEM_KINDS: { readonly [kind: string]: fc.Arbitrary<object> } = {
  system: record({ ...isMessage, role: always('system'), content: word, ...base }),
  user: record({
    ...isMessage,
    role: always('user'),
    content: fc.oneof(word, fc.array(fc.oneof(inputText, inputImage, inputFile, audio), { maxLength: 3 })),
    ...base,
  }),
  assistant: record({
    ...isMessage,
    role: always('assistant'),
    status,
    phase: flag(fc.constantFrom('commentary', 'final_answer')),
    content: fc.array(
      fc.oneof(
        record({ type: always('output_text'), text: word, ...data }),
        record({ type: always('refusal'), refusal: word, ...data }),
        audio,
        record({ type: always('image'), image: inline, ...data }),
      ),
      { maxLength: 3 },
    ),
    ...base,
  }),
  function_call: record({
    type: always('function_call'),
    callId: word,
    name: word,
    namespace: flag(word),
    status: flag(status),
    arguments: args,
    ...caller,
    ...base,
  }),
  function_call_result: record({
    type: always('function_call_result'),
    callId: word,
    name: word,
    namespace: flag(word),
    status,
    output: toolOutput,
    ...caller,
    ...base,
  }),
  reasoning: record({
    type: always('reasoning'),
    content: fc.array(inputText, { maxLength: 3 }),
    rawContent: flag(
      fc.array(record({ type: always('reasoning_text'), text: word, ...data }), { maxLength: 2 }),
    ),
    ...base,
  }),
  computer_call: fc
    .record({ one: flag(action), several: flag(fc.array(action, { minLength: 1, maxLength: 2 })) })
    .filter(({ one, several }) => one !== undefined || several !== undefined)
    .chain(({ one, several }) =>
      record({
        type: always('computer_call'),
        callId: word,
        status,
        action: fc.constant(one),
        actions: fc.constant(several),
        ...base,
      }),
    ),
  computer_call_result: record({
    type: always('computer_call_result'),
    callId: word,
    output: record({ type: always('computer_screenshot'), data: inline, ...data }),
    ...base,
  }),
  shell_call: record({
    type: always('shell_call'),
    callId: word,
    status: flag(status),
    action: record({
      commands: fc.array(word, { maxLength: 2 }),
      timeoutMs: flag(fc.nat()),
      maxOutputLength: flag(fc.nat()),
    }),
    ...caller,
    ...base,
  }),
  shell_call_output: record({
    type: always('shell_call_output'),
    callId: word,
    status: flag(status),
    maxOutputLength: flag(fc.nat()),
    output: fc.array(
      record({
        stdout: word,
        stderr: word,
        outcome: fc.oneof(
          fc.constant({ type: 'timeout' }),
          record({ type: always('exit'), exitCode: fc.option(fc.integer()) }),
        ),
        more: flag(json),
      }),
      { maxLength: 2 },
    ),
    ...caller,
    ...base,
  }),
  apply_patch_call: record({
    type: always('apply_patch_call'),
    callId: word,
    status: fc.constantFrom('in_progress', 'completed'),
    operation: fc.oneof(
      record({ type: always('create_file'), path: word, diff: word }),
      record({ type: always('update_file'), path: word, diff: word, moveTo: flag(always('b.ts')) }),
      record({ type: always('delete_file'), path: word }),
    ),
    ...caller,
    ...base,
  }),
  apply_patch_call_output: record({
    type: always('apply_patch_call_output'),
    callId: word,
    status: fc.constantFrom('completed', 'failed'),
    output: flag(word),
    ...caller,
    ...base,
  }),
  program: record({ type: always('program'), callId: word, code: word, fingerprint: word, ...base }),
  program_output: record({
    type: always('program_output'),
    callId: word,
    output: word,
    status: fc.constantFrom('completed', 'incomplete'),
    ...base,
  }),
  hosted_tool_call: record({
    type: always('hosted_tool_call'),
    name: word,
    arguments: flag(args),
    status: flag(word),
    output: flag(word),
    ...caller,
    ...base,
  }),
  tool_search_call: record({ type: always('tool_search_call'), arguments: json, ...search }),
  tool_search_output: record({
    type: always('tool_search_output'),
    tools: fc.array(fc.dictionary(word, json, { maxKeys: 2 }), { maxLength: 2 }),
    toolSearchAgentName: flag(word),
    toolSearchMcpToolNames: flag(fc.array(word, { maxLength: 2 })),
    ...search,
  }),
  compaction: record({
    type: always('compaction'),
    encrypted_content: word,
    created_by: flag(word),
    ...base,
  }),
  unknown: record({ type: always('unknown'), ...base }),
}

/** Any item. That it is one, `items.test.ts` has the SDK's own schema say. */
export const anyItem = fc.oneof(...Object.values(ITEM_KINDS)) as fc.Arbitrary<AgentInputItem>
