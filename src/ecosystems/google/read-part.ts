import { invalid } from '../../errors.ts'
import type { Json, JsonObject } from '../../messages/json.ts'
import type {
  Part,
  ProviderPart,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
} from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { isBlank, isEmpty, listAt, objectAt, stringAt } from '../wire.ts'
import type { Calls } from './calls.ts'
import { fromMedia } from './media.ts'
import { kept, told, under } from './options.ts'
import { fromResponse, responseItem } from './response.ts'
import { type GeminiPlace, GOOGLE } from './types.ts'

/** What goes along with the reading of a list. */
export type Reading = { readonly conversion: Conversion; readonly calls: Calls }

/** What a part holds: exactly one of these. Source: `Part` of `@google/genai`. */
const HELD = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const

/** What only tells about what a part holds. */
const TELLING: ReadonlySet<string> = new Set([
  'thought',
  'videoMetadata',
  'mediaResolution',
  'mediaProcessing',
  'partMetadata',
  'speechMetadata',
  'audioTranscription',
])

/** What is held by a part; `undefined` for a part of a kind that is newer than this, or of a signature alone. */
function heldBy(part: JsonObject, path: string): (typeof HELD)[number] | undefined {
  const [held, another] = HELD.filter((name) => part[name] !== undefined && part[name] !== null)
  if (another !== undefined) throw invalid(`${path}: must hold only one of ${HELD.join(', ')}`)
  const says = held !== undefined || Object.keys(part).some((name) => !TELLING.has(name))
  if (!says) throw invalid(`${path}: must hold one of ${HELD.join(', ')}`)
  return held
}

/** Reads a part. Throws `INVALID_INPUT`, with place and rule, for one the API does not have. */
export function readPart(part: JsonObject, place: GeminiPlace, path: string, reading: Reading): Part {
  if (part.thoughtSignature !== undefined) stringAt(part.thoughtSignature, `${path}.thoughtSignature`)
  const { thought } = part
  if (thought !== undefined && thought !== null && typeof thought !== 'boolean')
    throw invalid(`${path}.thought: must be true or false`)
  const held = heldBy(part, path)
  switch (held) {
    case 'text':
      return readText(part, path)
    case 'inlineData':
    case 'fileData': {
      // A system instruction is text. Whatever else was given there stays what it was.
      const media = fromMedia(part, path)
      return place === 'system' || media === undefined ? whole(part, path, held, reading) : media
    }
    case 'functionCall':
      if (place !== 'model') throw invalid(`${path}: a functionCall must stand in a content of the model`)
      return readCall(part, path, reading)
    case 'functionResponse':
      if (place !== 'user') throw invalid(`${path}: a functionResponse must stand in a content of the user`)
      return readAnswer(part, path, reading)
    case 'executableCode':
      stringAt(objectAt(part[held], `${path}.${held}`).code, `${path}.${held}.code`)
      return whole(part, path, held, reading)
    case 'codeExecutionResult':
    case 'toolCall':
    case 'toolResponse':
      objectAt(part[held], `${path}.${held}`)
      return whole(part, path, held, reading)
    case undefined:
      return whole(part, path, undefined, reading)
  }
}

function whole(
  data: JsonObject,
  path: string,
  held: string | undefined,
  { conversion }: { readonly conversion: Conversion },
): ProviderPart {
  const what = held === undefined ? 'a part of a kind that is not known here' : `this ${held}`
  conversion.note('kept', path, `the neutral form has no part for ${what}`)
  return { type: 'provider', provider: GOOGLE, data }
}

function readText({ text: given, ...rest }: JsonObject, path: string): Part {
  const text = stringAt(given, `${path}.text`)
  if (rest.thought !== true) return { type: 'text', text, ...kept(rest, isBlank(text)) }
  const { thought: _, ...fields } = rest
  return { type: 'reasoning', text, ...kept(fields, true) }
}

function readCall(part: JsonObject, path: string, reading: Reading): ToolCallPart | ProviderPart {
  const { functionCall, ...rest } = part
  const at = `${path}.functionCall`
  const { id: givenId, name, args, ...own } = objectAt(functionCall, at)
  // A piece of a call that was streamed: it continues another part.
  if (givenId === undefined && name === undefined && args === undefined)
    return whole(part, path, 'piece of a functionCall', reading)
  const toolName = stringAt(name, `${at}.name`)
  const id = givenId === undefined ? undefined : stringAt(givenId, `${at}.id`)
  const input = args === undefined ? {} : objectAt(args, `${at}.args`)
  const toolCallId = reading.calls.call(toolName, id)
  const fields = {
    ...own,
    ...(id === toolCallId ? {} : { id: id ?? null }),
    ...(args === undefined && { args: null }),
  }
  return {
    type: 'tool-call',
    toolCallId,
    toolName,
    input,
    ...kept({ ...rest, ...under('functionCall', fields) }),
  }
}

function readAnswer(
  { functionResponse, ...rest }: JsonObject,
  path: string,
  reading: Reading,
): ToolResultPart {
  const at = `${path}.functionResponse`
  const { id: givenId, name: givenName, response, parts, ...own } = objectAt(functionResponse, at)
  const id = givenId === undefined ? undefined : stringAt(givenId, `${at}.id`)
  // Without an id only the name tells which call was answered.
  const name = givenName === undefined && id !== undefined ? undefined : stringAt(givenName, `${at}.name`)
  const { output, shape } = readOutput(response, parts, at, reading)
  const call = reading.calls.answer(name, id, own.willContinue === true)
  const toolName = name ?? call.name
  const fields = {
    ...own,
    ...(id === call.id ? {} : { id: id ?? null }),
    ...(name === undefined && { name: null }),
    ...told('response', shape),
    ...(Array.isArray(parts) && parts.length === 0 && { parts }),
  }
  return {
    type: 'tool-result',
    toolCallId: call.id,
    ...(toolName !== undefined && { toolName }),
    output,
    ...kept({ ...rest, ...under('functionResponse', fields) }),
  }
}

function readOutput(
  response: Json | undefined,
  parts: Json | undefined,
  path: string,
  reading: Reading,
): { output: ToolResultOutput; shape?: Json } {
  const pieces = parts === undefined ? [] : listAt(parts, `${path}.parts`)
  if (pieces.length === 0) return fromResponse(response, `${path}.response`)
  const media = pieces.map((piece, i) => readPiece(piece, `${path}.parts[${i}]`, reading))
  if (response === undefined) return { output: { type: 'content', value: media }, shape: null }
  const { item, isError } = responseItem(response, `${path}.response`)
  return { output: { type: 'content', value: [item, ...media], ...(isError && { isError }) } }
}

function readPiece(given: unknown, path: string, { conversion }: Reading): ToolResultContent {
  return conversion.reading(given, path, () => {
    const piece = objectAt(given, path)
    if (isEmpty(piece)) throw invalid(`${path}: must hold one of inlineData, fileData`)
    if (piece.inlineData !== undefined && piece.fileData !== undefined)
      throw invalid(`${path}: must hold only one of inlineData, fileData`)
    const isMedia = piece.inlineData !== undefined || piece.fileData !== undefined
    return (isMedia ? fromMedia(piece, path) : undefined) ?? whole(piece, path, undefined, { conversion })
  })
}
