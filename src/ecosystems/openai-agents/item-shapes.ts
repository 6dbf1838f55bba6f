import { invalid } from '../../errors.ts'
import { fileDataAt } from '../conversion.ts'
import { isObject, stringAt } from '../wire.ts'
import {
  anything,
  count,
  fields,
  given,
  integer,
  listOf,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Shape,
  someText,
  text,
  variants,
} from './shapes.ts'

/*
 * What items and contents must look like. Source: the schemas in `types/protocol` of `@openai/agents-core` 0.20; beyond them,
 * what must be base64 is.
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

/** A text of this kind, or an object that names where to find it in one of these fields. */
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

/** Contents by where they may stand. */
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

/** Types of contents: what else stands in a part of ours is a whole item. */
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

/** All other items by type. A result's output is looked at apart. */
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
