import { Bytes, isList, isObject, type Plain, type PlainObject } from './snapshot.ts'
import {
  type Block,
  type Media,
  MOST_NESTING,
  mediaTypeOf,
  newReading,
  type Reading,
  textField,
} from './wire.ts'

/* Anthropic's Messages API, and Bedrock's Converse. */

const SPECIAL = new Set([
  'search_result',
  'container_upload',
  'tool_reference',
  'mid_conv_system',
  'fallback',
])

/** Reads a body of the Messages API. Source: https://platform.claude.com/docs/en/api/messages */
export function readMessagesApi(body: PlainObject): Reading {
  const reading = newReading()
  const { system, messages, tools, cache_control } = body
  if (isObject(cache_control)) reading.marks.push({ path: 'cache_control', on: 'request' })
  if (isList(tools)) for (const [i, tool] of tools.entries()) mark(tool, `tools.${i}`, 'tool', reading)
  if (isList(system)) for (const block of blocksOf(system, 'system', reading)) reading.system.push(block)
  else if (typeof system === 'string' && system !== '')
    reading.system.push({ kind: 'text', path: 'system', raw: body, text: system })
  readTurns(messages, reading, (content, path) =>
    typeof content === 'string'
      ? [{ kind: 'text', path, raw: {}, text: content }]
      : blocksOf(content, path, reading),
  )
  return reading
}

function readTurns(
  messages: Plain | undefined,
  { turns, misshapen }: Reading,
  read: (content: Plain | undefined, path: string) => readonly Block[],
): void {
  if (!isList(messages)) {
    if (messages !== undefined) misshapen.push({ path: 'messages', detail: 'must be a list' })
    return
  }
  for (const [i, message] of messages.entries()) {
    const path = `messages.${i}`
    if (!isObject(message)) misshapen.push({ path, detail: 'must be an object' })
    else
      turns.push({
        path,
        role: textField(message.role),
        raw: message,
        blocks: read(message.content, `${path}.content`),
      })
  }
}

function blocksOf(content: Plain | undefined, path: string, reading: Reading, depth = 0): Block[] {
  if (depth > MOST_NESTING) return []
  if (!isList(content)) {
    reading.misshapen.push({ path, detail: 'must be a text or a list' })
    return []
  }
  return content.flatMap((block, i) => {
    if (isObject(block)) return [blockOf(block, `${path}.${i}`, reading, depth)]
    reading.misshapen.push({ path: `${path}.${i}`, detail: 'must be an object' })
    return []
  })
}

function mark(block: Plain, path: string, on: string, { marks }: Reading): void {
  if (isObject(block) && isObject(block.cache_control)) marks.push({ path, on })
}

function blockOf(raw: PlainObject, path: string, reading: Reading, depth: number): Block {
  const type = textField(raw.type)
  mark(raw, path, type, reading)
  switch (type) {
    case 'text':
      if (typeof raw.text !== 'string') break
      return { kind: 'text', path, raw, text: raw.text }
    case 'thinking':
      number(raw.signature, path, 'signature', reading)
      return { kind: 'thinking', path, raw, signature: raw.signature, isPlain: true }
    case 'redacted_thinking':
      number(raw.data, path, 'signature', reading)
      return { kind: 'thinking', path, raw, signature: raw.data, isPlain: false }
    case 'tool_use':
      return { kind: 'call', path, raw, id: raw.id, name: raw.name, input: raw.input ?? null }
    case 'tool_result':
      return {
        kind: 'result',
        path,
        raw,
        id: raw.tool_use_id,
        blocks: resultBlocks(raw, path, reading, depth),
      }
    case 'image':
      return { kind: 'media', path, raw, media: sourceOf(raw.source, 'image') }
    case 'document': {
      const blocks =
        isObject(raw.source) && isList(raw.source.content)
          ? blocksOf(raw.source.content, `${path}.source.content`, reading, depth + 1)
          : []
      return { kind: 'media', path, raw, media: sourceOf(raw.source, 'file'), blocks }
    }
    case 'server_tool_use':
    case 'mcp_tool_use':
      return { kind: 'own-call', path, raw, id: raw.id }
    case 'compaction':
      return { kind: 'compaction', path, raw }
  }
  if (type.endsWith('_tool_result')) return { kind: 'own-result', path, raw, id: raw.tool_use_id }
  return { kind: SPECIAL.has(type) ? 'other' : 'unknown', path, raw }
}

function number(value: Plain | undefined, path: string, what: string, { numbered }: Reading): void {
  if (typeof value === 'string' && value !== '') numbered.push({ path, what, value })
}

function resultBlocks(
  { content }: PlainObject,
  path: string,
  reading: Reading,
  depth: number,
): readonly Block[] {
  if (content === undefined) return []
  if (typeof content === 'string')
    return [{ kind: 'text', path: `${path}.content`, raw: {}, text: content, mayBeEmpty: true }]
  return blocksOf(content, `${path}.content`, reading, depth + 1)
}

function sourceOf(source: Plain | undefined, kind: 'image' | 'file'): Media {
  if (!isObject(source)) return { kind }
  const type = mediaTypeOf(source.media_type)
  switch (source.type) {
    case 'base64':
      return { kind, type, base64: source.data ?? null }
    case 'url':
      return { kind, url: source.url ?? null }
    case 'text':
    case 'content':
      return { kind, isText: true }
    default:
      return { kind }
  }
}

const CONVERSE_OTHERS = new Set(['guardContent', 'citationsContent', 'searchResult', 'json'])

/** Reads a body of Converse. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html */
export function readConverse(body: PlainObject): Reading {
  const reading = newReading()
  const { system, messages, toolConfig } = body
  if (isObject(toolConfig) && isList(toolConfig.tools))
    for (const [i, tool] of toolConfig.tools.entries())
      if (isObject(tool) && isObject(tool.cachePoint))
        reading.marks.push({ path: `toolConfig.tools.${i}`, on: 'tool' })
  if (system !== undefined)
    for (const block of converseBlocks(system, 'system', reading)) reading.system.push(block)
  readTurns(messages, reading, (content, path) => converseBlocks(content, path, reading))
  return reading
}

function converseBlocks(content: Plain | undefined, path: string, reading: Reading, depth = 0): Block[] {
  if (depth > MOST_NESTING) return []
  if (!isList(content)) {
    reading.misshapen.push({ path, detail: 'must be a list' })
    return []
  }
  return content.flatMap((block, i) => {
    const at = `${path}.${i}`
    if (isObject(block)) return [converseBlock(block, at, reading, depth)]
    reading.misshapen.push({ path: at, detail: 'must be an object' })
    return []
  })
}

function converseBlock(raw: PlainObject, path: string, reading: Reading, depth: number): Block {
  const { text, toolUse, toolResult, reasoningContent, cachePoint } = raw
  if (typeof text === 'string') return { kind: 'text', path, raw, text }
  if (isObject(toolUse))
    return {
      kind: 'call',
      path,
      raw,
      id: toolUse.toolUseId,
      name: toolUse.name,
      input: toolUse.input ?? null,
    }
  if (isObject(toolResult)) {
    const blocks = converseBlocks(toolResult.content, `${path}.toolResult.content`, reading, depth + 1)
    return { kind: 'result', path, raw, id: toolResult.toolUseId, blocks }
  }
  if (isObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent
    const signature = isObject(reasoningText) ? reasoningText.signature : redactedContent
    number(signature, path, 'signature', reading)
    return { kind: 'thinking', path, raw, signature, isPlain: isObject(reasoningText) }
  }
  if (isObject(cachePoint)) {
    reading.marks.push({ path, on: 'cachePoint' })
    return { kind: 'other', path, raw }
  }
  for (const [field, kind] of CONVERSE_MEDIA) {
    const media = raw[field]
    if (isObject(media)) return { kind: 'media', path, raw, media: converseMedia(media, kind) }
  }
  const isKnown = Object.keys(raw).some((key) => CONVERSE_OTHERS.has(key))
  return { kind: isKnown ? 'other' : 'unknown', path, raw }
}

const CONVERSE_MEDIA = [
  ['image', 'image'],
  ['document', 'file'],
  ['video', 'video'],
  ['audio', 'audio'],
] as const

function converseMedia({ format, source }: PlainObject, kind: Media['kind']): Media {
  const type = typeof format === 'string' ? `${kind === 'image' ? 'image' : 'document'}/${format}` : undefined
  if (!isObject(source)) return { kind, type }
  const { bytes, s3Location } = source
  if (isObject(s3Location)) return { kind, type, url: s3Location.uri ?? null }
  if (bytes instanceof Bytes) return { kind, type, bytes }
  if (bytes !== undefined) return { kind, type, base64: bytes }
  return { kind, type, isText: source.text !== undefined || source.content !== undefined }
}
