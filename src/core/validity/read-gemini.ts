import { isObject, type Plain, type PlainObject } from './snapshot.ts'
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
} from './wire.ts'

/* Gemini's generateContent. Its JSON has names in camel case; snake case is accepted too. */

/** Google's texts for calls whose signature is unknown. Source: https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE: ReadonlySet<unknown> = new Set([
  'skip_thought_signature_validator',
  'context_engineering_is_the_way_to_go',
])

function field(raw: PlainObject, camel: string): Plain | undefined {
  return raw[camel] ?? raw[camel.replace(/[A-Z]/g, (sign) => `_${sign.toLowerCase()}`)]
}

/** Reads a body of generateContent. Source: https://ai.google.dev/api/caching#Content */
export function readGemini(body: PlainObject): Reading {
  const reading = newReading()
  const system = field(body, 'systemInstruction')
  if (typeof system === 'string') reading.system.push(textBlock(system, 'systemInstruction'))
  else if (isObject(system))
    for (const block of partsOf(system.parts, 'systemInstruction.parts', reading)) reading.system.push(block)
  const { contents } = body
  if (typeof contents === 'string') {
    const blocks = [textBlock(contents, 'contents')]
    reading.turns.push({ path: 'contents', role: 'user', raw: {}, blocks })
  } else {
    const read = ({ parts }: PlainObject, path: string) => partsOf(parts, `${path}.parts`, reading)
    readTurns(contents, 'contents', reading, read, 'user')
  }
  return reading
}

function partsOf(parts: Plain | undefined, path: string, reading: Reading, depth = 0): Block[] {
  if (depth > MAX_NESTING || parts === undefined) return []
  return Array.from(objectsIn(parts, path, reading), ([part, at]) => partOf(part, at, reading, depth))
}

function partOf(raw: PlainObject, path: string, reading: Reading, depth: number): Block {
  const signature = field(raw, 'thoughtSignature')
  if (!NO_SIGNATURE.has(signature)) addAssignedId(signature, path, 'thought signature', reading)
  const call = field(raw, 'functionCall')
  if (isObject(call))
    return { kind: 'call', path, raw, id: call.id, name: call.name, input: call.args ?? Object.create(null) }
  const response = field(raw, 'functionResponse')
  if (isObject(response)) {
    const blocks = partsOf(response.parts, `${path}.functionResponse.parts`, reading, depth + 1)
    return { kind: 'result', path, raw, id: response.id, name: response.name, blocks }
  }
  const inline = field(raw, 'inlineData')
  if (isObject(inline)) {
    const type = mediaTypeOf(field(inline, 'mimeType'))
    return { kind: 'media', path, raw, media: { kind: kindOf(type), type, base64: inline.data ?? null } }
  }
  const file = field(raw, 'fileData')
  if (isObject(file)) {
    const type = mediaTypeOf(field(file, 'mimeType'))
    const url = field(file, 'fileUri') ?? null
    return { kind: 'media', path, raw, media: { kind: kindOf(type), type, url } }
  }
  if (isObject(field(raw, 'executableCode'))) return { kind: 'own-call', path, raw, id: undefined }
  if (isObject(field(raw, 'codeExecutionResult'))) return { kind: 'own-result', path, raw, id: undefined }
  if (isObject(raw.toolCall) || isObject(raw.toolResponse)) return { kind: 'other', path, raw }
  if (raw.thought === true) return { kind: 'thinking', path, raw, signature, isPlain: true }
  if (typeof raw.text === 'string') {
    // A stream ends with an empty text that carries the signature.
    return { kind: 'text', path, raw, text: raw.text, mayBeEmpty: signature !== undefined }
  }
  return { kind: signature === undefined ? 'unknown' : 'other', path, raw }
}

function kindOf(type: string | undefined): Media['kind'] {
  const family = type?.split('/', 1)[0]
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'file'
}
