import { invalid } from '../../errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import { fileDataAt } from '../conversion.ts'
import { isObject, listAt, objectAt, stringAt } from '../wire.ts'

/*
 * Items that are tool calls or results, besides those of functions. Every stage keeps the pairs whole, and
 * other formats can read them.
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

/*
 * Checks of given values. Not a schema library, because an error must name the place and the rule, and not the
 * alternatives of a union that did not match.
 */

/** Throws `INVALID_INPUT` with the place for a value of another shape. */
export type Shape = (value: unknown, place: string) => void

const text: Shape = (value, place) => {
  stringAt(value, place)
}

const object: Shape = (value, place) => {
  objectAt(value, place)
}

const anything: Shape = () => {}

/** Any value except undefined. */
const given: Shape = (value, place) => {
  if (value === undefined) throw invalid(`${place}: must be given`)
}

const number: Shape = (value, place) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`${place}: must be a number`)
}

const integer: Shape = (value, place) => {
  if (!Number.isSafeInteger(value)) throw invalid(`${place}: must be a whole number`)
}

const count: Shape = (value, place) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw invalid(`${place}: must be a whole number from 0 on`)
}

const someText: Shape = (value, place) => {
  if (stringAt(value, place) === '') throw invalid(`${place}: must not be empty`)
}

function optional(shape: Shape): Shape {
  return (value, place) => {
    if (value !== undefined) shape(value, place)
  }
}

function nullable(shape: Shape): Shape {
  return (value, place) => {
    if (value !== null) shape(value, place)
  }
}

function oneOf(...values: readonly string[]): Shape {
  return (value, place) => {
    if (!(values as readonly unknown[]).includes(value))
      throw invalid(`${place}: must be one of ${values.join(', ')}`)
  }
}

/** An object with at least these fields. */
function fields(shapes: { readonly [name: string]: Shape }): Shape {
  const entries = Object.entries(shapes)
  return (value, place) => {
    const found = objectAt(value, place)
    for (const [name, shape] of entries) shape(found[name], `${place}.${name}`)
  }
}

function listOf(shape: Shape, least = 0): Shape {
  return (value, place) => {
    const found = listAt(value, place)
    if (found.length < least) throw invalid(`${place}: must not be empty`)
    found.forEach((entry, i) => {
      shape(entry, `${place}[${i}]`)
    })
  }
}

/** Objects with a known `type`, each with its own shape. */
function variants(shapes: { readonly [type: string]: Shape }): Shape {
  const byType = new Map(Object.entries(shapes))
  return (value, place) => {
    const { type } = objectAt(value, place)
    const shape = typeof type === 'string' ? byType.get(type) : undefined
    if (shape === undefined) throw invalid(`${place}.type: must be one of ${[...byType.keys()].join(', ')}`)
    shape(value, place)
  }
}

/*
 * The shapes of items and contents. Source: the schemas in `types/protocol` of `@openai/agents-core` 0.20; in
 * addition, base64 data is checked.
 */

const extra = { providerData: optional(object) }
const base = { id: optional(text), ...extra }
const status = oneOf('in_progress', 'completed', 'incomplete')
const caller = {
  caller: optional(variants({ direct: anything, program: fields({ callerId: text }) })),
}
const breakpoint = { promptCacheBreakpoint: optional(fields({ mode: oneOf('explicit') })) }

/** An address, a data URL or base64. */
const media: Shape = (value, place) => {
  fileDataAt(stringAt(value, place), place)
}

/** A media string, or an object with one of these fields. */
function mediaOr(...names: readonly string[]): Shape {
  return (value, place) => {
    if (typeof value === 'string') return media(value, place)
    const name = isObject(value) ? names.find((known) => value[known] !== undefined) : undefined
    if (name === undefined)
      throw invalid(`${place}: must be a string or an object with ${names.join(' or ')}`)
    const inner = (value as { readonly [name: string]: unknown })[name]
    if (name !== 'data') text(inner, `${place}.${name}`)
    else if (!(inner instanceof Uint8Array)) media(inner, `${place}.${name}`)
  }
}

const inputText = fields({ text, ...breakpoint, ...extra })
const inputImage = fields({
  image: optional(mediaOr('id')),
  detail: optional(text),
  ...breakpoint,
  ...extra,
})
const inputFile = fields({
  file: optional(mediaOr('id', 'url')),
  filename: optional(text),
  ...breakpoint,
  ...extra,
})
const audio = fields({
  audio: mediaOr('id'),
  format: optional(nullable(text)),
  transcript: optional(nullable(text)),
  ...breakpoint,
  ...extra,
})

const toolImage = fields({
  image: optional((value, place) => {
    mediaOr('data', 'url', 'fileId')(value, place)
    if (isObject(value) && value.data !== undefined) fields({ mediaType: optional(text) })(value, place)
  }),
  detail: optional(text),
  ...extra,
})
const toolFile = fields({
  file: (value, place) => {
    mediaOr('data', 'url', 'id')(value, place)
    if (!isObject(value)) return
    const filename = value.data === undefined ? optional(text) : text
    fields({ filename, ...(value.data !== undefined && { mediaType: text }) })(value, place)
  },
  ...extra,
})

/** Contents by where they are allowed. */
export const CONTENTS = {
  user: variants({ input_text: inputText, input_image: inputImage, input_file: inputFile, audio }),
  assistant: variants({
    output_text: fields({ text, ...extra }),
    refusal: fields({ refusal: text, ...extra }),
    audio,
    image: fields({ image: media, ...extra }),
  }),
  output: variants({ text: fields({ text, ...extra }), image: toolImage, file: toolFile }),
  outputs: variants({ input_text: inputText, input_image: inputImage, input_file: inputFile }),
} as const

/** Types of contents: a provider part of this format with another type is a whole item. */
export const CONTENT_TYPES: ReadonlySet<unknown> = new Set([
  ...['input_text', 'input_image', 'input_file', 'audio', 'output_text', 'refusal', 'image', 'text', 'file'],
])

const point = { x: number, y: number }
const action = variants({
  screenshot: anything,
  click: fields({ ...point, button: oneOf('left', 'right', 'wheel', 'back', 'forward') }),
  double_click: fields(point),
  scroll: fields({ ...point, scroll_x: number, scroll_y: number }),
  type: fields({ text }),
  wait: anything,
  move: fields(point),
  keypress: fields({ keys: listOf(text) }),
  drag: fields({ path: listOf(fields(point)) }),
})

const outcome = variants({ timeout: anything, exit: fields({ exitCode: nullable(integer) }) })
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
} as const

/** All other items by type. The output of a function result is checked separately. */
export const ITEMS: ReadonlyMap<unknown, Shape> = new Map<unknown, Shape>(
  Object.entries({
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
    computer_call: (value, place) => {
      fields({
        callId: text,
        status,
        action: optional(action),
        actions: optional(listOf(action, 1)),
        ...base,
      })(value, place)
      if (isObject(value) && value.action === undefined && value.actions === undefined)
        throw invalid(`${place}: must have action or actions`)
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
      output: listOf(fields({ stdout: text, stderr: text, outcome })),
      ...caller,
      ...base,
    }),
    apply_patch_call: fields({
      callId: text,
      status: oneOf('in_progress', 'completed'),
      operation: variants({
        create_file: fields({ path: text, diff: text }),
        update_file: fields({ path: text, diff: text, moveTo: optional(someText) }),
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
    tool_search_call: fields({ arguments: given, ...search }),
    tool_search_output: fields({
      tools: listOf(object),
      toolSearchAgentName: optional(text),
      toolSearchMcpToolNames: optional(listOf(text)),
      ...search,
    }),
    compaction: fields({ encrypted_content: text, created_by: optional(text), ...base }),
    unknown: fields(base),
  }),
)
