import { Bytes, isList, isObject, type Plain, type PlainObject } from './snapshot.ts'
import {
  addAssignedId,
  addressed,
  type Block,
  type Media,
  mediaTypeOf,
  newReading,
  objectsIn,
  type Reading,
  readTurns,
  textBlock,
  textField,
} from './wire.ts'

/* The prompt that the AI SDK passes to a model, in its versions V2 to V4. The SDK's providers build the request from it. */

const APPROVALS = new Set(['tool-approval-request', 'tool-approval-response'])

/** Reads a body with a `prompt`. Source: https://github.com/vercel/ai, `LanguageModelV3Prompt` of `@ai-sdk/provider`. */
export function readSdk({ prompt }: PlainObject): Reading {
  const reading = newReading()
  readTurns(prompt, 'prompt', reading, (message, path) => {
    note(message, path, reading)
    const { content } = message
    const at = `${path}.content`
    return typeof content === 'string' ? [textBlock(content, at)] : listed(content, at, reading)
  })
  return reading
}

function listed(content: Plain | undefined, path: string, reading: Reading): Block[] {
  let reasoning: string | undefined
  return Array.from(objectsIn(content, path, reading), ([part, at]) => {
    note(part, at, reading)
    // Consecutive parts may belong to one item of reasoning, which is sent once.
    const item = itemOf(part)
    if (item !== undefined && (part.type !== 'reasoning' || item !== reasoning))
      reading.assignedIds.push({ path: at, what: 'item id', value: item })
    reasoning = part.type === 'reasoning' ? item : undefined
    return partOf(part, at, reading)
  })
}

function optionsOf(raw: PlainObject, name: string): PlainObject {
  const { providerOptions } = raw
  const options = isObject(providerOptions) ? providerOptions[name] : undefined
  return isObject(options) ? options : {}
}

function itemOf(raw: PlainObject): string | undefined {
  const item = optionsOf(raw, 'openai').itemId ?? optionsOf(raw, 'azure').itemId
  return typeof item === 'string' ? item : undefined
}

function note(raw: PlainObject, path: string, reading: Reading): void {
  const { cacheControl, cache_control, signature, redactedData } = optionsOf(raw, 'anthropic')
  if (isObject(cacheControl) || isObject(cache_control) || isObject(optionsOf(raw, 'bedrock').cachePoint))
    reading.marks.push({ path, on: textField(raw.type ?? raw.role) })
  addAssignedId(signature ?? redactedData, path, 'signature', reading)
  for (const name of ['google', 'vertex'])
    addAssignedId(optionsOf(raw, name).thoughtSignature, path, `thought signature of ${name}`, reading)
}

function partOf(raw: PlainObject, path: string, reading: Reading): Block {
  switch (raw.type) {
    case 'text':
      if (typeof raw.text !== 'string') break
      return optionsOf(raw, 'anthropic').type === 'compaction'
        ? { kind: 'compaction', path, raw }
        : { kind: 'text', path, raw, text: raw.text, mayBeEmpty: carriesSignature(raw) }
    case 'reasoning': {
      const redacted = optionsOf(raw, 'anthropic').redactedData ?? optionsOf(raw, 'bedrock').redactedData
      const signature =
        optionsOf(raw, 'anthropic').signature ?? optionsOf(raw, 'bedrock').signature ?? redacted
      // The SDK's providers for Claude don't send reasoning without a signature.
      if (signature === undefined) return { kind: 'other', path, raw }
      return { kind: 'thinking', path, raw, signature, isPlain: redacted === undefined }
    }
    case 'file':
      return { kind: 'media', path, raw, media: fileOf(raw) }
    case 'tool-call':
      if (raw.providerExecuted === true) return { kind: 'own-call', path, raw, id: raw.toolCallId }
      return { kind: 'call', path, raw, id: raw.toolCallId, name: raw.toolName, input: raw.input ?? null }
    case 'tool-result':
      return { kind: 'result', path, raw, id: raw.toolCallId, blocks: outputOf(raw, path, reading) }
    default:
      if (APPROVALS.has(textField(raw.type)) || raw.type === 'custom' || raw.type === 'reasoning-file')
        return { kind: 'other', path, raw }
  }
  return { kind: 'unknown', path, raw }
}

function carriesSignature(raw: PlainObject): boolean {
  return ['google', 'vertex'].some((name) => optionsOf(raw, name).thoughtSignature !== undefined)
}

const MEDIA: ReadonlySet<unknown> = new Set([
  'media',
  'file',
  'file-data',
  'file-url',
  'image-data',
  'image-url',
])

function outputOf({ output }: PlainObject, path: string, reading: Reading): readonly Block[] {
  if (!isObject(output) || output.type !== 'content' || !isList(output.value)) return []
  return output.value.flatMap((item, i): Block[] => {
    const at = `${path}.output.value.${i}`
    if (!isObject(item)) return []
    if (item.type === 'text' && typeof item.text === 'string') return [textBlock(item.text, at)]
    note(item, at, reading)
    return MEDIA.has(item.type)
      ? [{ kind: 'media', path: at, raw: item, media: fileOf(item) }]
      : [{ kind: 'other', path: at, raw: item }]
  })
}

function fileOf(raw: PlainObject): Media {
  const stated = mediaTypeOf(raw.mediaType)
  const family = stated?.split('/', 1)[0]
  const isImage = family === 'image' || textField(raw.type).startsWith('image')
  const kind = isImage ? 'image' : family === 'audio' || family === 'video' ? family : 'file'
  const data = isObject(raw.data) ? (raw.data.data ?? raw.data.url) : (raw.data ?? raw.url)
  if (data instanceof Bytes) return { kind, type: stated, bytes: data }
  if (isObject(raw.data) && data === undefined)
    return { kind, type: stated, isText: raw.data.text !== undefined }
  const isAddress = typeof data === 'string' && /^[a-z][a-z0-9+.-]*:/i.test(data.slice(0, 40))
  if (!isAddress && raw.url === undefined) return { kind, type: stated, base64: data ?? null }
  const { base64, type, url } = addressed(data)
  return base64 === undefined ? { kind, type: stated, url } : { kind, type: type ?? stated, base64 }
}
