import { isList, isObject, type Plain, type PlainObject } from './snapshot.ts'
import { addressed, type Block, mediaTypeOf, newReading, type Reading, textField } from './wire.ts'

/* OpenAI's Chat Completions, which many providers speak, and its Responses API. */

/** Reads a body of Chat Completions. Source: https://platform.openai.com/docs/api-reference/chat/create */
export function readChat({ messages }: PlainObject): Reading {
  const reading = newReading()
  const { turns, misshapen } = reading
  if (!isList(messages)) {
    if (messages !== undefined) misshapen.push({ path: 'messages', detail: 'must be a list' })
    return reading
  }
  for (const [i, message] of messages.entries()) {
    const path = `messages.${i}`
    if (!isObject(message)) {
      misshapen.push({ path, detail: 'must be an object' })
      continue
    }
    const role = textField(message.role)
    // A message with calls alone has no content.
    const given = message.content ?? []
    const content = contentOf(given, `${path}.content`, reading, chatPart)
    const isAnswer = role === 'tool' || role === 'function'
    const blocks = isAnswer
      ? [chatResult(message, path, content)]
      : [...content, ...chatCalls(message, path, reading)]
    turns.push({ path, role, raw: message, blocks })
  }
  return reading
}

function chatResult(raw: PlainObject, path: string, blocks: readonly Block[]): Block {
  return raw.role === 'function'
    ? { kind: 'result', path, raw, id: raw.name, blocks, isOld: true }
    : { kind: 'result', path, raw, id: raw.tool_call_id, blocks }
}

/** The blocks of a text or a list, each read by `read`. */
function contentOf(
  content: Plain | undefined,
  path: string,
  { misshapen }: Reading,
  read: (part: PlainObject, path: string) => Block,
): Block[] {
  if (typeof content === 'string') return [{ kind: 'text', path, raw: {}, text: content }]
  if (!isList(content)) {
    misshapen.push({ path, detail: 'must be a text or a list' })
    return []
  }
  return content.flatMap((part, i): Block[] => {
    const at = `${path}.${i}`
    if (isObject(part)) return [read(part, at)]
    misshapen.push({ path: at, detail: 'must be an object' })
    return []
  })
}

function chatPart(raw: PlainObject, path: string): Block {
  switch (raw.type) {
    case 'text':
      if (typeof raw.text !== 'string') break
      return { kind: 'text', path, raw, text: raw.text }
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
    case 'file':
      return {
        kind: 'media',
        path,
        raw,
        media: { kind: 'file', ...fileIn(isObject(raw.file) ? raw.file : {}) },
      }
  }
  return { kind: 'unknown', path, raw }
}

/** A file as a data URL, or as base64 of a type that its name tells. */
function fileIn({ file_data, file_url }: PlainObject) {
  if (file_url !== undefined) return { url: file_url }
  if (typeof file_data !== 'string') return {}
  const { base64, type } = addressed(file_data)
  return base64 === undefined ? { base64: file_data } : { base64, type }
}

function chatCalls(message: PlainObject, path: string, { misshapen }: Reading): Block[] {
  const { tool_calls, function_call } = message
  const blocks: Block[] = []
  if (tool_calls !== undefined && tool_calls !== null && !isList(tool_calls))
    misshapen.push({ path: `${path}.tool_calls`, detail: 'must be a list' })
  if (isList(tool_calls))
    for (const [i, call] of tool_calls.entries()) {
      const at = `${path}.tool_calls.${i}`
      if (!isObject(call)) misshapen.push({ path: at, detail: 'must be an object' })
      else if (isObject(call.custom))
        blocks.push({ kind: 'call', path: at, raw: call, id: call.id, name: call.custom.name })
      else {
        const { name, arguments: json } = isObject(call.function) ? call.function : {}
        blocks.push({ kind: 'call', path: at, raw: call, id: call.id, name, json: json ?? null })
      }
    }
  if (isObject(function_call)) {
    const { name, arguments: json } = function_call
    const at = `${path}.function_call`
    blocks.push({
      kind: 'call',
      path: at,
      raw: function_call,
      id: name,
      name,
      json: json ?? null,
      isOld: true,
    })
  }
  return blocks
}

/** Items of calls whose result the application sends, with the item of the result. */
const CALLS: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
  ['computer_call', 'computer_call_output'],
  ['shell_call', 'shell_call_output'],
  ['apply_patch_call', 'apply_patch_call_output'],
])
const OUTPUTS = new Set(CALLS.values())
/** Items of tools that OpenAI runs, or of an approval; each by itself. */
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
    reading.system.push({ kind: 'text', path: 'instructions', raw: body, text: instructions })
  if (typeof input === 'string') {
    const text: Block = { kind: 'text', path: 'input', raw: {}, text: input }
    reading.turns.push({ path: 'input', role: 'user', raw: {}, blocks: [text] })
  } else if (isList(input)) {
    for (const [i, item] of input.entries()) {
      const path = `input.${i}`
      if (isObject(item)) readItem(item, path, reading)
      else reading.misshapen.push({ path, detail: 'must be an object' })
    }
  } else if (input !== undefined)
    reading.misshapen.push({ path: 'input', detail: 'must be a text or a list' })
  return reading
}

function readItem(raw: PlainObject, path: string, reading: Reading): void {
  const { id } = raw
  const type = textField(raw.type ?? 'message')
  if (typeof id === 'string' && type !== 'item_reference')
    reading.numbered.push({ path, what: 'item', value: id })
  const push = (role: string, blocks: readonly Block[]): void => {
    reading.turns.push({ path, role, raw, blocks })
  }
  if (type === 'message') {
    push(textField(raw.role), contentOf(raw.content, `${path}.content`, reading, itemPart))
  } else if (type === 'reasoning') {
    const { encrypted_content } = raw
    if (typeof encrypted_content === 'string' && encrypted_content !== '')
      reading.numbered.push({ path, what: 'encrypted reasoning', value: encrypted_content })
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
  if (SPOKEN.has(type) && typeof raw.text === 'string') return { kind: 'text', path, raw, text: raw.text }
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
      return {
        kind: 'media',
        path,
        raw,
        media: { kind: 'file', type: known ?? mediaTypeOf(raw.mime_type), ...file },
      }
    }
  }
  // The output of a shell is a list of streams, without a type.
  const isStream = raw.stdout !== undefined || raw.stderr !== undefined
  return { kind: isStream ? 'other' : 'unknown', path, raw }
}
