import { isList, isObject, type Plain, type PlainObject } from './snapshot.ts'
import {
  type Block,
  type Media,
  MOST_NESTING,
  mediaTypeOf,
  newReading,
  type Reading,
  textField,
} from './wire.ts'

/* Gemini's generateContent. Its JSON has names in camel case, and is also accepted in snake case. */

/** Google's text for calls of which no signature is known. Source: https://ai.google.dev/gemini-api/docs/thought-signatures */
export const NO_SIGNATURE: ReadonlySet<string> = new Set([
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
  if (typeof system === 'string') reading.system.push(plainText(system, 'systemInstruction'))
  else if (isObject(system))
    for (const block of partsOf(system.parts, 'systemInstruction.parts', reading)) reading.system.push(block)
  const { contents } = body
  if (typeof contents === 'string')
    reading.turns.push({ path: 'contents', role: 'user', raw: {}, blocks: [plainText(contents, 'contents')] })
  else if (isList(contents)) {
    for (const [i, content] of contents.entries()) {
      const path = `contents.${i}`
      if (isObject(content)) {
        const { role = 'user', parts } = content
        const blocks = partsOf(parts, `${path}.parts`, reading)
        reading.turns.push({ path, role: textField(role), raw: content, blocks })
      } else reading.misshapen.push({ path, detail: 'must be an object' })
    }
  } else if (contents !== undefined) reading.misshapen.push({ path: 'contents', detail: 'must be a list' })
  return reading
}

function plainText(text: string, path: string): Block {
  return { kind: 'text', path, raw: {}, text }
}

function partsOf(parts: Plain | undefined, path: string, reading: Reading, depth = 0): Block[] {
  if (depth > MOST_NESTING) return []
  if (!isList(parts)) {
    if (parts !== undefined) reading.misshapen.push({ path, detail: 'must be a list' })
    return []
  }
  return parts.flatMap((part, i): Block[] => {
    const at = `${path}.${i}`
    if (isObject(part)) return [partOf(part, at, reading, depth)]
    reading.misshapen.push({ path: at, detail: 'must be an object' })
    return []
  })
}

function partOf(raw: PlainObject, path: string, reading: Reading, depth: number): Block {
  const signature = field(raw, 'thoughtSignature')
  if (typeof signature === 'string' && signature !== '' && !NO_SIGNATURE.has(signature))
    reading.numbered.push({ path, what: 'thought signature', value: signature })
  const call = field(raw, 'functionCall')
  if (isObject(call))
    return { kind: 'call', path, raw, id: call.id, name: call.name, input: call.args ?? Object.create(null) }
  const response = field(raw, 'functionResponse')
  if (isObject(response)) {
    const blocks =
      response.parts === undefined
        ? []
        : partsOf(response.parts, `${path}.functionResponse.parts`, reading, depth + 1)
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
    return {
      kind: 'media',
      path,
      raw,
      media: { kind: kindOf(type), type, url: field(file, 'fileUri') ?? null },
    }
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
