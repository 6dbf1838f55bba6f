import { compactionBlock } from '../../messages/compaction-block.ts'
import type { Json, JsonObject } from '../../messages/json.ts'
import type { Message, Part, ProviderPart, ToolCallPart } from '../../messages/message.ts'
import { checkMessageList } from '../../messages/message-check.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { answeredRunsOf } from '../runs.ts'
import { isEmpty, isObject, isResult, keptFor } from '../wire.ts'
import { kindOf, OPENAI, type OpenAIMessage, type WireMessage, type WirePart } from './openai-types.ts'
import { SentCalls, toFunction, toToolCall, toToolMessage } from './to-openai-calls.ts'
import { toPart } from './to-openai-parts.ts'

/**
 * Neutral messages in the form of Chat Completions: `toOpenAI(fromOpenAI(x))` is x.
 *
 * Of messages from elsewhere: each result of a tool becomes a message of its own, before whatever else a user
 * message says; a result within an assistant message parts it in two. JSON and failures are sent as text, an
 * image or file within a result as a word in its place, a file known only by its address as that address. Not
 * sent: parts of other providers, reasoning, images and files that are not a user's, messages left with
 * nothing, and metadata other than `metadata.openai`. `onNote` hears of each such part.
 *
 * OpenAI's own compaction comes out as the item of the Responses API that it is (`OpenAICompaction`); the type of the
 * list does not name it, so that the list is what the SDK takes. Throws `INVALID_INPUT` for a part of an unknown type.
 */
export function toOpenAI(messages: readonly Message[], options?: ConversionOptions): OpenAIMessage[] {
  const conversion = new Conversion(OPENAI, options)
  checkMessageList(messages, 'toOpenAI')
  const calls = new SentCalls()
  const sent = messages.flatMap((message, index): (WireMessage | JsonObject)[] => {
    conversion.at(index)
    const path = `[${index}]`
    if (message.role === 'assistant') {
      return [...compactionsOf(message), ...toAssistant(message, path, calls, conversion)]
    }
    return toOthers(message, path, calls, conversion)
  })
  // What was read may be looser than the SDK's type; it comes out as it was.
  return sent as OpenAIMessage[]
}

/** A message of a system, a user or a tool: its results, and what else it says. */
function toOthers(message: Message, path: string, calls: SentCalls, conversion: Conversion): WireMessage[] {
  const { role, content, metadata } = message
  if (typeof content === 'string') return [toSpoken(message, content)]
  const answers = content.flatMap((part, i) =>
    isResult(part) ? [toToolMessage(part, placeOf(path, i), calls, conversion)] : [],
  )
  const parts = content.flatMap((part, i) => {
    // What stands beside results is nobody's words, unless it is a text.
    if (role !== 'tool' || part.type !== 'provider')
      return toPart(part, role !== 'system', placeOf(path, i), conversion)
    conversion.note('not-sent', placeOf(path, i), 'beside the results of tools only text has a place')
    return []
  })
  const shape = keptFor(OPENAI, metadata)?.content
  const speaks = parts.length > 0 || (shape !== undefined && content.length === 0)
  if (content.length === 0 && !speaks) noteEmpty(path, conversion)
  return [...answers, ...(speaks ? [toSpoken(message, parts)] : [])]
}

function placeOf(path: string, part: number): string {
  return `${path}.content[${part}]`
}

function noteEmpty(path: string, conversion: Conversion): void {
  conversion.note('not-sent', path, 'a message without content says nothing')
}

/** OpenAI's own blocks, each an item of the list. */
function compactionsOf({ content }: Message): JsonObject[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => (isCompaction(part) ? [{ ...(part.data as JsonObject) }] : []))
}

function isCompaction(part: Part): part is ProviderPart {
  return part.type === 'provider' && part.provider === OPENAI && compactionBlock(part) !== undefined
}

function toSpoken({ role, metadata }: Message, content: string | WirePart[]): WireMessage {
  const { role: shown, content: shape, ...extra } = keptFor(OPENAI, metadata) ?? {}
  const shownRole = role === 'system' ? (shown === 'developer' ? shown : role) : 'user'
  if (content.length === 0 && shape === 'absent') return { role: shownRole, ...extra }
  return { role: shownRole, content: content.length === 0 && shape === null ? null : content, ...extra }
}

function toAssistant(
  { content, metadata }: Message,
  path: string,
  calls: SentCalls,
  conversion: Conversion,
): WireMessage[] {
  const { content: shape, ...extra } = keptFor(OPENAI, metadata) ?? {}
  if (typeof content === 'string') return [{ role: 'assistant', content, ...extra }]
  const places = new Map<Part, string>(content.map((part, i) => [part, placeOf(path, i)]))
  const parts = content.filter((part) => !isCompaction(part))
  if (parts.length < content.length && parts.every((part) => part.type === 'text' && part.text === ''))
    return []

  const runs = parts.length === 0 ? [parts] : answeredRunsOf(parts)
  return runs.flatMap((run, i): WireMessage[] => {
    const placed = run.map((part) => ({ part, place: places.get(part) ?? path }))
    if (isResult(run[0])) {
      return placed.flatMap(({ part, place }) =>
        isResult(part) ? [toToolMessage(part, place, calls, conversion)] : [],
      )
    }
    const { said, fields } = toAssistantFields(placed, calls, conversion)
    // Parts of which none is sent leave nothing, whatever the content was; the API takes no empty list.
    if (said.length === 0 && isEmpty(fields) && (run.length > 0 || shape === undefined)) {
      if (run.length === 0) noteEmpty(path, conversion)
      return []
    }
    const sent = spokenContent(said, i === 0 ? shape : undefined)
    return [
      {
        role: 'assistant',
        ...(sent === undefined ? {} : { content: sent }),
        ...fields,
        ...(i === 0 ? extra : {}),
      },
    ]
  })
}

type Placed = { readonly part: Part; readonly place: string }

/** What an assistant message says, and the fields that stand beside its content. */
function toAssistantFields(
  parts: readonly Placed[],
  calls: SentCalls,
  conversion: Conversion,
): { said: WirePart[]; fields: JsonObject } {
  const said: WirePart[] = []
  let toolCalls: JsonObject[] = []
  const functionCalls: { readonly part: ToolCallPart; readonly place: string }[] = []
  const texts: { reasoning_content?: string; refusal?: string } = {}
  const spoken: { audio?: JsonObject } = {}

  for (const { part, place } of parts) {
    const kind = part.type === 'provider' ? undefined : kindOf(part.providerOptions)
    if (part.type === 'tool-call') {
      if (kind === 'function_call') functionCalls.push({ part, place })
      else toolCalls.push(toToolCall(part))
    } else if (part.type === 'reasoning' && kind === 'reasoning_content') {
      texts.reasoning_content = (texts.reasoning_content ?? '') + part.text
    } else if (part.type === 'text' && kind === 'message_refusal') {
      texts.refusal = (texts.refusal ?? '') + part.text
    } else if (part.type === 'provider' && part.provider === OPENAI && isUnknownCall(part.data)) {
      toolCalls.push({ ...part.data.tool_call })
    } else if (part.type === 'provider' && part.provider === OPENAI && isAudio(part.data) && !spoken.audio) {
      spoken.audio = part.data.audio
    } else {
      for (const one of toPart(part, false, place, conversion)) said.push(one)
    }
  }
  // Beside an image that may not be sent an empty text would be all that is.
  const isEmptied =
    parts.some(({ part: { type } }) => type === 'image' || type === 'file') && said.every(isEmptyText)
  if (isEmptied) said.length = 0
  // A message has room for one call of the old kind; several (messages merged by somebody) are calls of the new.
  const [only] = functionCalls
  const legacy =
    functionCalls.length === 1 && only !== undefined ? { function_call: toFunction(only.part) } : {}
  if (functionCalls.length > 1) {
    for (const { place } of functionCalls)
      conversion.note('changed', place, 'of several calls of the old kind each is one of the new')
    toolCalls = [...functionCalls.map(({ part }) => toToolCall(part)), ...toolCalls]
  }
  for (const { part } of functionCalls) calls.add(part, functionCalls.length === 1)
  const fields = { ...texts, ...spoken }
  return {
    said,
    fields: { ...fields, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}), ...legacy },
  }
}

function isEmptyText({ type, text }: WirePart): boolean {
  return type === 'text' && text === ''
}

function isUnknownCall(data: Json): data is { readonly tool_call: JsonObject } {
  return isObject(data) && !('type' in data) && isObject(data.tool_call)
}

/** What an assistant said aloud stands beside the content. */
function isAudio(data: Json): data is { readonly audio: JsonObject } {
  return isObject(data) && !('type' in data) && isObject(data.audio)
}

/** Nothing said is null and a single text a string, as the API itself answers, unless it was read otherwise. */
function spokenContent(said: WirePart[], shape: Json | undefined): WireMessage['content'] {
  if (shape === 'parts') return said
  const [first] = said
  if (first === undefined) return shape === 'absent' ? undefined : null
  const isPlain = said.length === 1 && first.type === 'text' && Object.keys(first).length === 2
  return isPlain && typeof first.text === 'string' ? first.text : said
}
