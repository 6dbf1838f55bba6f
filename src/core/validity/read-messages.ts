import { Bytes, isList, isObject, type Plain, type PlainObject } from './snapshot.ts'
import {
  addAssignedId,
  type Block,
  MAX_NESTING,
  type Media,
  mediaTypeOf,
  newReading,
  objectsIn,
  type Reading,
  readTurns,
  textBlock,
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
  else if (typeof system === 'string' && system !== '') reading.system.push(textBlock(system, 'system', body))
  readTurns(messages, 'messages', reading, ({ content }, at) => {
    const path = `${at}.content`
    return typeof content === 'string' ? [textBlock(content, path)] : blocksOf(content, path, reading)
  })
  return reading
}

function blocksOf(content: Plain | undefined, path: string, reading: Reading, depth = 0): Block[] {
  if (depth > MAX_NESTING) return []
  const objects = objectsIn(content, path, reading, 'must be a string or an array')
  return Array.from(objects, ([block, at]) => blockOf(block, at, reading, depth))
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
      return textBlock(raw.text, path, raw)
    case 'thinking':
      addAssignedId(raw.signature, path, 'signature', reading)
      return { kind: 'thinking', path, raw, signature: raw.signature, isPlain: true }
    case 'redacted_thinking':
      addAssignedId(raw.data, path, 'signature', reading)
      return { kind: 'thinking', path, raw, signature: raw.data, isPlain: false }
    case 'tool_use':
      return { kind: 'call', path, raw, id: raw.id, name: raw.name, input: raw.input ?? null }
    case 'tool_result': {
      const blocks = resultBlocks(raw.content, `${path}.content`, reading, depth)
      return { kind: 'result', path, raw, id: raw.tool_use_id, blocks }
    }
    case 'image':
      return { kind: 'media', path, raw, media: sourceOf(raw.source, 'image') }
    case 'document': {
      const content = isObject(raw.source) ? raw.source.content : undefined
      const blocks = isList(content) ? blocksOf(content, `${path}.source.content`, reading, depth + 1) : []
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

function resultBlocks(
  content: Plain | undefined,
  path: string,
  reading: Reading,
  depth: number,
): readonly Block[] {
  if (content === undefined) return []
  if (typeof content === 'string') return [{ kind: 'text', path, raw: {}, text: content, mayBeEmpty: true }]
  return blocksOf(content, path, reading, depth + 1)
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
  readTurns(messages, 'messages', reading, ({ content }, path) =>
    converseBlocks(content, `${path}.content`, reading),
  )
  return reading
}

function converseBlocks(content: Plain | undefined, path: string, reading: Reading, depth = 0): Block[] {
  if (depth > MAX_NESTING) return []
  return Array.from(objectsIn(content, path, reading), ([raw, at]) => converseBlock(raw, at, reading, depth))
}

function converseBlock(raw: PlainObject, path: string, reading: Reading, depth: number): Block {
  const { text, toolUse, toolResult, reasoningContent, cachePoint } = raw
  if (typeof text === 'string') return textBlock(text, path, raw)
  if (isObject(toolUse)) {
    const { toolUseId: id, name, input = null } = toolUse
    return { kind: 'call', path, raw, id, name, input }
  }
  if (isObject(toolResult)) {
    const blocks = converseBlocks(toolResult.content, `${path}.toolResult.content`, reading, depth + 1)
    return { kind: 'result', path, raw, id: toolResult.toolUseId, blocks }
  }
  if (isObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent
    const signature = isObject(reasoningText) ? reasoningText.signature : redactedContent
    addAssignedId(signature, path, 'signature', reading)
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
