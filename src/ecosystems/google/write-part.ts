import type { Json, JsonObject } from '../../messages/json.ts'
import type {
  Part,
  ProviderPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
} from '../../messages/message.ts'
import { type Conversion, unknownPart, whyNotSent } from '../conversion.ts'
import { isBlank, isObject } from '../wire.ts'
import { mediaPart } from './media.ts'
import { ownOf, partOptions } from './options.ts'
import { responseOfItems, toResponse } from './response.ts'
import { type GeminiPart, type GeminiPlace, type GeminiResponsePart, GOOGLE } from './types.ts'

/** What goes along with the writing of a part; `path` is its place in what was given. */
export type Writing = {
  readonly conversion: Conversion
  readonly path: string
  /** The name of the function that the nearest earlier call with this id asked for. */
  readonly nameOf: (toolCallId: string) => string | undefined
}

/** Names under which parts of Gemini's are kept: by this format, and by the AI SDK for what it reaches another way. */
const PROVIDERS: ReadonlySet<string> = new Set(['google', 'google-ai', 'vertex'])

/** A part as it is sent; `undefined` for what has no place there, which is noted. */
export function writePart(part: Part, place: GeminiPlace, writing: Writing): GeminiPart | undefined {
  switch (part.type) {
    case 'text':
      return writeText(part, writing)
    case 'reasoning':
      return writeReasoning(part, writing)
    case 'image':
    case 'file':
      return place === 'system' ? leftOut(writing, 'a system instruction holds text only') : mediaPart(part)
    case 'tool-call':
      return writeCall(part, writing)
    case 'tool-result':
      return writeAnswer(part, writing)
    case 'provider':
      return writeWhole(part, writing)
    default:
      throw unknownPart(writing.path)
  }
}

export function leftOut({ conversion, path }: Pick<Writing, 'conversion' | 'path'>, why: string): undefined {
  conversion.note('not-sent', path, why)
}

function writeText({ text, providerOptions }: TextPart, writing: Writing): GeminiPart | undefined {
  const options = partOptions(providerOptions)
  if (options === undefined && isBlank(text))
    return leftOut(writing, 'a text without a visible character is refused')
  const { form: _, ...fields } = options?.fields ?? {}
  return { text, ...fields }
}

function writeReasoning({ text, providerOptions }: ReasoningPart, writing: Writing): GeminiPart | undefined {
  const options = partOptions(providerOptions)
  if (options === undefined) return leftOut(writing, "reasoning that is none of Gemini's is not sent")
  return { text, thought: true, ...options.fields }
}

/** A part that was kept whole. What the AI SDK keeps whole is a part of its own form. */
function writeWhole({ provider, data }: ProviderPart, writing: Writing): GeminiPart | undefined {
  if (!PROVIDERS.has(provider)) return leftOut(writing, whyNotSent(provider, GOOGLE))
  if (!isObject(data) || 'ai-sdk' in data || 'type' in data)
    return leftOut(writing, whyNotSent(GOOGLE, GOOGLE))
  return { ...data } as GeminiPart
}

function writeCall(part: ToolCallPart, writing: Writing): GeminiPart {
  const options = partOptions(part.providerOptions)
  const args = argsOf(part, writing)
  if (options?.serverTool !== undefined)
    return { toolCall: { ...options.serverTool, args }, ...options.fields }
  if (part.providerExecuted === true)
    writing.conversion.note(
      'changed',
      writing.path,
      "a call a provider ran itself is sent as one of the application's functions",
    )
  const { own, rest } = ownOf(options?.fields ?? {}, 'functionCall')
  const { id, args: argsMark, ...more } = own
  const hadNone = argsMark === null && Object.keys(args).length === 0
  return {
    functionCall: {
      ...idOf(part.toolCallId, id),
      name: part.toolName,
      ...(!hadNone && { args }),
      ...more,
    },
    ...rest,
  }
}

/** The id to send: none where none was given, another where another was. */
function idOf(toolCallId: string, mark: Json | undefined): { id?: string } {
  return mark === null ? {} : { id: typeof mark === 'string' ? mark : toolCallId }
}

function argsOf({ input }: ToolCallPart, { conversion, path }: Writing): JsonObject {
  if (isObject(input)) return input
  conversion.note('changed', `${path}.input`, 'an input must be an object: it is sent within one')
  return { arguments: input }
}

function writeAnswer(part: ToolResultPart, writing: Writing): GeminiPart {
  const options = partOptions(part.providerOptions)
  if (options?.serverTool !== undefined) return serverAnswer(part, options.serverTool, options.fields)
  const { own, rest } = ownOf(options?.fields ?? {}, 'functionResponse')
  const { id, name: nameMark, response: shape, parts: noParts, ...more } = own
  const { response, parts } = writeOutput(part.output, shape, writing)
  return {
    functionResponse: {
      ...idOf(part.toolCallId, id),
      ...(nameMark !== null && { name: nameOf(part, writing) }),
      ...(response !== undefined && { response }),
      ...(parts.length > 0 ? { parts } : Array.isArray(noParts) && { parts: [] }),
      ...more,
    },
    ...rest,
  }
}

/** The API wants a name with every answer. */
function nameOf(
  { toolName, toolCallId }: ToolResultPart,
  { conversion, path, nameOf: named }: Writing,
): string {
  const name = toolName ?? named(toolCallId)
  if (name === undefined)
    conversion.note('changed', path, 'an answer must name its function: it is called unknown')
  return name ?? 'unknown'
}

function serverAnswer(
  { output }: ToolResultPart,
  serverTool: { readonly id: string; readonly toolType: string },
  fields: JsonObject,
): GeminiPart {
  const response = output.type === 'content' ? {} : (toResponse(output, undefined) ?? {})
  return { toolResponse: { ...serverTool, response }, ...fields }
}

function writeOutput(
  output: ToolResultOutput,
  shape: Json | undefined,
  writing: Writing,
): { response: JsonObject | undefined; parts: GeminiResponsePart[] } {
  if (output.type !== 'content') return { response: toResponse(output, shape), parts: [] }
  const response = responseOfItems(output.value, output.isError === true, shape === null)
  const path = `${writing.path}.output.value`
  return {
    response,
    parts: output.value.flatMap((item, i) => writePiece(item, { ...writing, path: `${path}[${i}]` })),
  }
}

function writePiece(item: ToolResultContent, writing: Writing): GeminiResponsePart[] {
  if (item.type === 'text') return []
  if (item.type !== 'provider') return [mediaPart(item)]
  const piece = writeWhole(item, writing)
  return piece === undefined ? [] : [piece]
}
