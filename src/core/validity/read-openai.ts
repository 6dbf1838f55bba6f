import { isList, isObject, type Plain, type PlainObject } from './snapshot.ts'
import {
  addAssignedId,
  addressed,
  type Block,
  mediaTypeOf,
  newReading,
  objectsIn,
  type Reading,
  readTurns,
  textBlock,
  textField,
} from './wire.ts'

/* OpenAI's Chat Completions, which many providers support, and its Responses API. */

/** Reads a body of Chat Completions. Source: https://platform.openai.com/docs/api-reference/chat/create */
export function readChat({ messages }: PlainObject): Reading {
  const reading = newReading()
  readTurns(messages, 'messages', reading, (message, path) => {
    // A message that contains only calls has no content.
    const content = contentOf(message.content ?? [], `${path}.content`, reading, chatPart)
    const { role, name, tool_call_id: id } = message
    if (role === 'tool') return [{ kind: 'result', path, raw: message, id, blocks: content }]
    if (role === 'function')
      return [{ kind: 'result', path, raw: message, id: name, blocks: content, isOld: true }]
    return [...content, ...chatCalls(message, path, reading)]
  })
  return reading
}

/** Returns the blocks of a text or a list, each read by `read`. */
function contentOf(
  content: Plain | undefined,
  path: string,
  reading: Reading,
  read: (part: PlainObject, path: string) => Block,
): Block[] {
  if (typeof content === 'string') return [textBlock(content, path)]
  const objects = objectsIn(content, path, reading, 'must be a string or an array')
  return Array.from(objects, ([part, at]) => read(part, at))
}

function chatPart(raw: PlainObject, path: string): Block {
  switch (raw.type) {
    case 'text':
      if (typeof raw.text !== 'string') break
      return textBlock(raw.text, path, raw)
    case 'refusal':
      return { kind: 'other', path, raw }
    case 'image_url': {
      const url = isObject(raw.image_url) ? raw.image_url.url : raw.image_url
      return { kind: 'media', path, raw, media: { kind: 'image', ...addressed(url ?? null) } }
    }
    case 'input_audio': {
      const { data, format } = isObject(raw.input_audio) ? raw.input_audio : {}
      const media = { kind: 'audio', type: `audio/${textField(format)}`, base64: data ?? null } as const
      return { kind: 'media', path, raw, media }
    }
    case 'file': {
      const media = { kind: 'file', ...fileIn(isObject(raw.file) ? raw.file : {}) } as const
      return { kind: 'media', path, raw, media }
    }
  }
  return { kind: 'unknown', path, raw }
}

/** Returns a file as a data URL, or as base64 whose type its name shows. */
function fileIn({ file_data, file_url }: PlainObject) {
  if (file_url !== undefined) return { url: file_url }
  if (typeof file_data !== 'string') return {}
  const { base64, type } = addressed(file_data)
  return base64 === undefined ? { base64: file_data } : { base64, type }
}

function chatCalls({ tool_calls, function_call }: PlainObject, path: string, reading: Reading): Block[] {
  const calls = objectsIn(tool_calls ?? [], `${path}.tool_calls`, reading)
  const blocks = Array.from(calls, ([raw, at]): Block => {
    const { id, custom, function: called } = raw
    if (isObject(custom)) return { kind: 'call', path: at, raw, id, name: custom.name }
    const { name, arguments: json = null } = isObject(called) ? called : {}
    return { kind: 'call', path: at, raw, id, name, json }
  })
  if (!isObject(function_call)) return blocks
  const { name, arguments: json = null } = function_call
  const at = `${path}.function_call`
  return [...blocks, { kind: 'call', path: at, raw: function_call, id: name, name, json, isOld: true }]
}

/** Items that are calls whose result the application sends, with the item of the result. */
const CALLS: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
  ['computer_call', 'computer_call_output'],
  ['shell_call', 'shell_call_output'],
  ['apply_patch_call', 'apply_patch_call_output'],
])
const OUTPUTS = new Set(CALLS.values())
/** Items of tools that OpenAI runs, or of an approval. They are not paired. */
const ALONE = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'local_shell_call',
  'local_shell_call_output',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'tool_search_call',
  'tool_search_output',
  'item_reference',
  'compaction_trigger',
])

/** Reads a body of the Responses API. Source: https://platform.openai.com/docs/api-reference/responses/create */
export function readResponses(body: PlainObject): Reading {
  const reading = newReading()
  const { input, instructions } = body
  if (typeof instructions === 'string' && instructions !== '')
    reading.system.push(textBlock(instructions, 'instructions', body))
  if (typeof input === 'string')
    reading.turns.push({ path: 'input', role: 'user', raw: {}, blocks: [textBlock(input, 'input')] })
  else if (input !== undefined)
    for (const [item, path] of objectsIn(input, 'input', reading, 'must be a string or an array'))
      readItem(item, path, reading)
  return reading
}

function readItem(raw: PlainObject, path: string, reading: Reading): void {
  const { id } = raw
  const type = textField(raw.type ?? 'message')
  if (typeof id === 'string' && type !== 'item_reference')
    reading.assignedIds.push({ path, what: 'item id', value: id })
  const push = (role: string, blocks: readonly Block[]): void => {
    reading.turns.push({ path, role, raw, blocks })
  }
  if (type === 'message') {
    push(textField(raw.role), contentOf(raw.content, `${path}.content`, reading, itemPart))
  } else if (type === 'reasoning') {
    const { encrypted_content } = raw
    addAssignedId(encrypted_content, path, 'encrypted reasoning', reading)
    push('assistant', [{ kind: 'thinking', path, raw, signature: encrypted_content, isPlain: false }])
  } else if (CALLS.has(type)) {
    const isFunction = type === 'function_call'
    const { call_id, name } = raw
    const json = isFunction ? { json: raw.arguments ?? null } : {}
    push('assistant', [{ kind: 'call', path, raw, id: call_id, name: isFunction ? name : 'custom', ...json }])
  } else if (OUTPUTS.has(type)) {
    const blocks = isList(raw.output) ? contentOf(raw.output, `${path}.output`, reading, itemPart) : []
    push('tool', [{ kind: 'result', path, raw, id: raw.call_id, blocks }])
  } else if (type === 'compaction') push('assistant', [{ kind: 'compaction', path, raw }])
  else push('assistant', [{ kind: ALONE.has(type) ? 'other' : 'unknown', path, raw }])
}

const SPOKEN = new Set(['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'])

function itemPart(raw: PlainObject, path: string): Block {
  const type = textField(raw.type)
  if (SPOKEN.has(type) && typeof raw.text === 'string') return textBlock(raw.text, path, raw)
  switch (type) {
    case 'refusal':
    case 'computer_screenshot':
    case 'shell_call_output_content':
      return { kind: 'other', path, raw }
    case 'input_image': {
      const media = raw.file_id === undefined ? addressed(raw.image_url ?? null) : {}
      return { kind: 'media', path, raw, media: { kind: 'image', ...media } }
    }
    case 'input_file': {
      const { type: known, ...file } = { type: undefined, ...fileIn(raw) }
      const media = { kind: 'file', type: known ?? mediaTypeOf(raw.mime_type), ...file } as const
      return { kind: 'media', path, raw, media }
    }
  }
  // The output of a shell is a list of streams, without a type.
  const isStream = raw.stdout !== undefined || raw.stderr !== undefined
  return { kind: isStream ? 'other' : 'unknown', path, raw }
}
