import { invalid } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/messages/json.ts'
import {
  fields,
  filledText,
  listOf,
  media,
  nullable,
  object,
  oneOf,
  optional,
  required,
  rule,
  type Shape,
  text,
  type Variant,
  variants,
} from '../shapes.ts'
import { objectAt } from '../wire.ts'

/*
 * Items of the OpenAI Agents SDK, in and out. One item becomes one message, and an item that was read is
 * written again as it was, the arguments of calls byte for byte. Shapes and types follow the schemas in
 * `types/protocol` of `@openai/agents-core` 0.20; in addition, base64 data is checked.
 *
 * Everything without a place in the neutral form is kept under the name `openai-agents`: fields of a message item in `metadata`, fields of
 * a part, call, result or reasoning in its `providerOptions`. Values that only this SDK understands are provider parts of `openai` with the
 * data `{ 'openai-agents': … }`: items without a neutral meaning, and contents that name an uploaded file. Reserved there:
 *
 * - `type` is the type of the item or content if the neutral part doesn't show it; null for a message without a type;
 * - `arguments` is the text of arguments that `JSON.stringify` would write otherwise;
 * - `content` is the layout of reasoning that was not one block;
 * - `output` is the form of a result's output: the further fields of a text in an object, `'one'` for a single image or file, null if there
 *   was none;
 * - `in` is the path to the data of an image or a file within the content, which is kept without the data.
 *
 * The neutral part takes precedence: if an output or an input has changed since, the new one is sent.
 */

/** The name under which this format keeps its fields. */
export const AGENTS = 'openai-agents'

/** The provider of parts that only this SDK understands. */
export const PROVIDER = 'openai'

/*
 * Items that are tool calls or results, besides function calls and their results. Every stage keeps the pairs whole, and other formats can
 * read them.
 */

/** Types of calls: the tool name, and the fields of the input. */
export const CALLS: ReadonlyMap<unknown, { readonly tool: string; readonly input: readonly string[] }> =
  new Map(
    Object.entries({
      computer_call: { tool: 'computer', input: ['action', 'actions'] },
      shell_call: { tool: 'shell', input: ['action'] },
      apply_patch_call: { tool: 'apply_patch', input: ['operation'] },
      program: { tool: 'program', input: ['code'] },
    }),
  )

/** Types of results: the tool name. */
export const RESULTS: ReadonlyMap<unknown, string> = new Map([
  ['computer_call_result', 'computer'],
  ['shell_call_output', 'shell'],
  ['apply_patch_call_output', 'apply_patch'],
  ['program_output', 'program'],
])

/** Splits an object into the named fields and the others. */
export function parted(value: JsonObject, names: readonly string[]): readonly [JsonObject, JsonObject] {
  const entries = Object.entries(value)
  const isNamed = ([name]: (typeof entries)[number]): boolean => names.includes(name)
  return [
    Object.fromEntries(entries.filter(isNamed)),
    Object.fromEntries(entries.filter((entry) => !isNamed(entry))),
  ]
}

const none: Shape<object> = objectAt

const number = rule<number>(Number.isFinite, 'must be a number')
const integer = rule<number>(Number.isSafeInteger, 'must be a whole number')
const count = rule<number>(
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  'must be a whole number, 0 or more',
)

const extra = { providerData: optional(object) }
const base = { id: optional(text), ...extra }
const status = oneOf('in_progress', 'completed', 'incomplete')
const caller = {
  caller: optional(variants({ direct: none, program: fields({ callerId: text }) })),
}
const breakpoint = { promptCacheBreakpoint: optional(fields({ mode: oneOf('explicit') })) }

/** A media string, or an object with one of these fields. */
function mediaOr<T>(...names: readonly string[]): Shape<string | T> {
  return (value, place) => {
    if (typeof value === 'string') return media(value, place)
    const name = isObject(value) ? names.find((known) => value[known] !== undefined) : undefined
    if (name === undefined)
      throw invalid(`${place}: must be a string or an object with ${names.join(' or ')}`)
    const inner = (value as { readonly [name: string]: unknown })[name]
    if (name !== 'data') text(inner, `${place}.${name}`)
    else if (!(inner instanceof Uint8Array)) media(inner, `${place}.${name}`)
    return value as T
  }
}

const inputText = fields({ text, ...breakpoint, ...extra })
const inputImage = fields({
  image: optional(mediaOr<{ id: string }>('id')),
  detail: optional(text),
  ...breakpoint,
  ...extra,
})
const inputFile = fields({
  file: optional(mediaOr<{ id: string } | { url: string }>('id', 'url')),
  filename: optional(text),
  ...breakpoint,
  ...extra,
})
const audio = fields({
  audio: mediaOr<{ id: string }>('id'),
  format: optional(nullable(text)),
  transcript: optional(nullable(text)),
  ...breakpoint,
  ...extra,
})

type Bytes = string | Uint8Array<ArrayBuffer>
type ImageSource = { data: Bytes; mediaType?: string | undefined } | { url: string } | { fileId: string }
type FileSource =
  | { data: Bytes; mediaType: string; filename: string }
  | { url: string; filename?: string | undefined }
  | { id: string; filename?: string | undefined }

const toolImage = fields({
  image: optional((value, place) => {
    const image = mediaOr<ImageSource>('data', 'url', 'fileId')(value, place)
    if (typeof image === 'object' && 'data' in image) optional(text)(image.mediaType, `${place}.mediaType`)
    return image
  }),
  detail: optional(text),
  ...extra,
})
const toolFile = fields({
  file: (value: unknown, place: string) => {
    const file = mediaOr<FileSource>('data', 'url', 'id')(value, place)
    if (typeof file === 'string') return file
    if ('data' in file && file.data !== undefined) fields({ filename: text, mediaType: text })(file, place)
    else fields({ filename: optional(text) })(file, place)
    return file
  },
  ...extra,
})

const listed = { input_text: inputText, input_image: inputImage, input_file: inputFile }

/** Contents by where they are allowed. */
export const CONTENTS = {
  user: variants({ ...listed, audio }),
  assistant: variants({
    output_text: fields({ text, ...extra }),
    refusal: fields({ refusal: text, ...extra }),
    audio,
    image: fields({ image: media, ...extra }),
  }),
  output: variants({ text: fields({ text, ...extra }), image: toolImage, file: toolFile }),
  outputs: variants(listed),
}

/** Types of contents: a provider part of this format with another type is a whole item. */
export const CONTENT_TYPES: ReadonlySet<unknown> = new Set(
  'input_text input_image input_file audio output_text refusal image text file'.split(' '),
)

const point = { x: number, y: number }
const action = variants({
  screenshot: none,
  click: fields({ ...point, button: oneOf('left', 'right', 'wheel', 'back', 'forward') }),
  double_click: fields(point),
  scroll: fields({ ...point, scroll_x: number, scroll_y: number }),
  type: fields({ text }),
  wait: none,
  move: fields(point),
  keypress: fields({ keys: listOf(text) }),
  drag: fields({ path: listOf(fields(point)) }),
})

const outcome = variants({ timeout: none, exit: fields({ exitCode: nullable(integer) }) })
const search = {
  call_id: optional(nullable(text)),
  callId: optional(nullable(text)),
  execution: optional(oneOf('client', 'server')),
  status: optional(text),
  ...base,
}

/** Messages by role, without their contents. */
export const MESSAGES = {
  system: fields({ content: text, ...base }),
  user: fields(base),
  assistant: fields({ status, phase: optional(oneOf('commentary', 'final_answer')), ...base }),
}

const computerCall = fields({
  callId: text,
  status,
  action: optional(action),
  actions: optional(listOf(action, 1)),
  ...base,
})
const shellRun = fields({ stdout: text, stderr: text, outcome })

const OTHERS = {
  function_call: fields({
    callId: text,
    name: text,
    namespace: optional(text),
    status: optional(status),
    arguments: text,
    ...caller,
    ...base,
  }),
  function_call_result: fields({
    callId: text,
    name: text,
    namespace: optional(text),
    status,
    ...caller,
    ...base,
  }),
  reasoning: fields({
    content: listOf(variants({ input_text: inputText })),
    rawContent: optional(listOf(variants({ reasoning_text: fields({ text, ...extra }) }))),
    ...base,
  }),
  computer_call: (value: unknown, place: string) => {
    const call = computerCall(value, place)
    if (call.action === undefined && call.actions === undefined)
      throw invalid(`${place}: must have action or actions`)
    return call
  },
  computer_call_result: fields({
    callId: text,
    output: variants({ computer_screenshot: fields({ data: media, ...extra }) }),
    ...base,
  }),
  shell_call: fields({
    callId: text,
    status: optional(status),
    action: fields({
      commands: listOf(text),
      timeoutMs: optional(count),
      maxOutputLength: optional(count),
    }),
    ...caller,
    ...base,
  }),
  shell_call_output: fields({
    callId: text,
    status: optional(status),
    maxOutputLength: optional(number),
    output: listOf(shellRun as Shape<ReturnType<typeof shellRun> & { [name: string]: unknown }>),
    ...caller,
    ...base,
  }),
  apply_patch_call: fields({
    callId: text,
    status: oneOf('in_progress', 'completed'),
    operation: variants({
      create_file: fields({ path: text, diff: text }),
      update_file: fields({ path: text, diff: text, moveTo: optional(filledText) }),
      delete_file: fields({ path: text }),
    }),
    ...caller,
    ...base,
  }),
  apply_patch_call_output: fields({
    callId: text,
    status: oneOf('completed', 'failed'),
    output: optional(text),
    ...caller,
    ...base,
  }),
  program: fields({ callId: text, code: text, fingerprint: text, ...base }),
  program_output: fields({
    callId: text,
    output: text,
    status: oneOf('completed', 'incomplete'),
    ...base,
  }),
  hosted_tool_call: fields({
    name: text,
    arguments: optional(text),
    status: optional(text),
    output: optional(text),
    ...caller,
    ...base,
  }),
  tool_search_call: fields({ arguments: required, ...search }),
  tool_search_output: fields({
    tools: listOf(object),
    toolSearchAgentName: optional(text),
    toolSearchMcpToolNames: optional(listOf(text)),
    ...search,
  }),
  compaction: fields({ encrypted_content: text, created_by: optional(text), ...base }),
  unknown: fields(base),
}

/** The shapes of all items except messages, by type. The output of a function result is checked separately. */
export const ITEMS: ReadonlyMap<unknown, Shape> = new Map<unknown, Shape>(Object.entries(OTHERS))

type Item<K extends keyof typeof OTHERS> = { [type in K]: Variant<typeof OTHERS, type> }[K]
type MessageOf<R extends keyof typeof MESSAGES, C> = ReturnType<(typeof MESSAGES)[R]> & {
  type?: 'message' | undefined
  role: R
  content: C
}
type Content<K extends keyof typeof CONTENTS> = ReturnType<(typeof CONTENTS)[K]>

/** A message of the system, the user or the model. */
export type AgentMessageItem =
  | MessageOf<'system', string>
  | MessageOf<'user', string | Content<'user'>[]>
  | MessageOf<'assistant', Content<'assistant'>[]>

/** A call of a function. */
export type AgentFunctionCallItem = Item<'function_call'>

/** The result of a function call. */
export type AgentFunctionResultItem = Item<'function_call_result'> & {
  output: string | Content<'output'> | Content<'outputs'>[]
}

/** Calls of tools with item types of their own, and their results. */
export type AgentToolItem = Item<
  | 'computer_call'
  | 'computer_call_result'
  | 'shell_call'
  | 'shell_call_output'
  | 'apply_patch_call'
  | 'apply_patch_call_output'
  | 'program'
  | 'program_output'
>

/** Items without a neutral meaning. */
export type AgentKeptItem = Item<
  'hosted_tool_call' | 'tool_search_call' | 'tool_search_output' | 'compaction' | 'unknown'
>

/** A reasoning item. */
export type AgentReasoningItem = Item<'reasoning'>

/** An item of the SDK: its `AgentInputItem`. */
export type AgentItem =
  | AgentMessageItem
  | AgentFunctionCallItem
  | AgentFunctionResultItem
  | AgentToolItem
  | AgentKeptItem
  | AgentReasoningItem
