import { canonicalJson, defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  isFailed,
  type Message,
  outputText,
  type Part,
  partsOf,
  ROLES,
  type ToolCallPart,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import type { ChatMessage } from '../../core/model/message-parts.ts'
import { argumentsIn } from '../../core/model/message-parts.ts'
import { Conversion, type ConversionOptions, unknownPart } from '../conversion.ts'
import { oneOf } from '../shapes.ts'
import { isEmpty, keptFor } from '../wire.ts'
import { FLAT, FROM_CONTENT, isMarkedFailed, TAGS } from './from-chat-messages.ts'

/** A neutral message, or a row of a store with its tags. */
type Row = Message & { readonly id?: string; readonly kind?: string; readonly pinned?: boolean } & {
  readonly [tag in (typeof TAGS)[number]]?: string | boolean
}

/**
 * Converts neutral messages, or rows of a store, to the flat form (`ChatMessage`): `toChatMessages(fromChatMessages(x))` is x.
 *
 * For messages from elsewhere: texts, calls and results each become a message of their own, in their order, the first of them with the id
 * and the metadata; consecutive texts become one. JSON is written as text, a failure as `isError: true`. Rows keep their ids and tags, and
 * a summary is marked (`metadata.isSummary`). Not sent, and reported: reasoning, images, files, provider parts, empty messages. Reported as
 * changed: text in a tool message, which becomes a user message, and calls that a provider ran itself.
 *
 * Throws `INVALID_INPUT` for an unknown role or a part of an unknown type.
 */
export function toChatMessages(messages: readonly Message[], options?: ConversionOptions): ChatMessage[] {
  return readMessages(messages, 'toChatMessages', () => {
    const conversion = new Conversion(FLAT, options)
    return messages.flatMap((message, index) => {
      conversion.at(index)
      oneOf(...ROLES)(message.role, `[${index}].role`)
      return fromRow(message, `[${index}]`, conversion)
    })
  })
}

/** One flat message being written. */
type Piece = { readonly role: string; readonly content?: ChatMessage['content'] | null } & JsonObject

function fromRow(row: Row, place: string, conversion: Conversion): ChatMessage[] {
  const kept = keptFor(FLAT, row.metadata) ?? {}
  const further = isObject(kept.fields) ? kept.fields : {}
  const pieces =
    kept.parts === true && typeof row.content !== 'string'
      ? [{ role: typeof kept.role === 'string' ? kept.role : row.role, content: row.content }]
      : flatPieces(row, further, place, conversion)
  return pieces.map((piece, index): ChatMessage => {
    if (index > 0) return piece as ChatMessage
    const shown = kept.role === 'tool' && piece.role === 'tool_result' ? { role: 'tool' } : {}
    return {
      ...defined({ id: typeof kept.id === 'string' ? kept.id : row.id }),
      ...further,
      ...piece,
      ...shown,
      ...metadataOf(row, kept),
      ...tagsOf(row),
    } as ChatMessage
  })
}

function metadataOf({ metadata, kind }: Row, kept: JsonObject): { metadata?: JsonObject } {
  const { [FLAT]: own, ...rest } = metadata ?? {}
  const given = isObject(kept.metadata)
    ? kept.metadata
    : own !== undefined && isEmpty(rest)
      ? undefined
      : rest
  if (kind === 'summary') return { metadata: { ...given, isSummary: true } }
  return metadata === undefined || given === undefined ? {} : { metadata: given }
}

function tagsOf(row: Row): JsonObject {
  const tags = TAGS.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]] as const]))
  return { ...Object.fromEntries(tags), ...(row.pinned === true && { pinned: true }) }
}

function flatPieces(row: Row, further: JsonObject, place: string, conversion: Conversion): Piece[] {
  const textRole = row.role === 'tool' ? 'user' : row.role
  const parts = partsOf(row)
  const pieces: Piece[] = []
  let texts: string[] = []
  const flush = (): void => {
    if (texts.length > 0) pieces.push({ role: textRole, content: texts.join('') })
    texts = []
  }
  if (parts.length === 0) conversion.note('not-sent', place, 'the format has no empty messages')
  for (const [index, part] of parts.entries()) {
    const at = typeof row.content === 'string' ? `${place}.content` : `${place}.content[${index}]`
    if (part.type === 'text') {
      if (row.role === 'tool') conversion.note('changed', at, 'text in a tool message becomes a user message')
      texts.push(part.text)
    } else {
      const piece = pieceOf(part, further, at, conversion)
      if (piece === undefined) continue
      flush()
      pieces.push(piece)
    }
  }
  flush()
  const written = pieces.filter(({ role, content }) => role.startsWith('tool_') || content !== '')
  return written.length > 0 ? written : pieces.slice(0, 1)
}

function pieceOf(part: Part, further: JsonObject, place: string, conversion: Conversion): Piece | undefined {
  switch (part.type) {
    case 'tool-call':
      if (part.providerExecuted === true)
        conversion.note('changed', place, "the format can't mark a call that the provider ran itself")
      return callPiece(part, further)
    case 'tool-result':
      noteOmitted(part, place, conversion)
      return resultPiece(part, further)
    case 'reasoning':
    case 'image':
    case 'file':
    case 'provider':
      conversion.note('not-sent', place, REASONS[part.type])
      return undefined
    default:
      throw unknownPart(place)
  }
}

const REASONS = {
  reasoning: 'the format has no reasoning',
  image: 'the format has no images',
  file: 'the format has no files',
  provider: 'the format has no parts that only a provider reads',
}

function noteOmitted({ output }: ToolResultPart, place: string, conversion: Conversion): void {
  if (output.type !== 'content') return
  for (const [index, item] of output.value.entries())
    if (item.type !== 'text')
      conversion.note('not-sent', `${place}.output.value[${index}]`, REASONS[item.type])
}

function callPiece(part: ToolCallPart, further: JsonObject): Piece {
  const own = keptFor(FLAT, part.providerOptions) ?? {}
  const content = typeof own.content === 'string' ? own.content : ''
  const named = own.tool !== undefined && (part.toolName === 'unknown' || part.toolName === further.name)
  return {
    role: 'tool_call',
    ...contentOf(content, own),
    ...(named ? asGiven('tool', own.tool) : { tool: part.toolName }),
    ...idFields(part, own, further),
    ...argumentFields(part.input, content, own),
  }
}

function argumentFields(value: Json, content: string, own: JsonObject): JsonObject {
  const besides: JsonObject = defined({ args: own.args, input: own.input })
  if (own.from === 'input') return { ...besides, input: value }
  const isSpelled = own.from === FROM_CONTENT && canonicalJson(argumentsIn(content)) === canonicalJson(value)
  return isSpelled ? besides : { ...besides, args: value }
}

function resultPiece(part: ToolResultPart, further: JsonObject): Piece {
  const own = keptFor(FLAT, part.providerOptions) ?? {}
  const failed = isFailed(part.output) && !isMarkedFailed(further)
  return {
    role: 'tool_result',
    ...contentOf(outputText(part.output), own),
    ...(own.tool === undefined ? defined({ tool: part.toolName }) : asGiven('tool', own.tool)),
    ...idFields(part, own, further),
    ...(failed ? { isError: true } : {}),
  }
}

function contentOf(text: string, { shape }: JsonObject): { content?: string | null } {
  if (text !== '' || shape === undefined) return { content: text }
  return shape === null ? { content: null } : {}
}

function idFields(
  { toolCallId }: ToolCallPart | ToolResultPart,
  own: JsonObject,
  further: JsonObject,
): JsonObject {
  const isMadeUp = toolCallId === own.id || toolCallId === further.tool_call_id
  return own.toolCallId !== undefined && isMadeUp ? asGiven('toolCallId', own.toolCallId) : { toolCallId }
}

/** A given value that names nothing: empty, or absent. */
function asGiven(field: string, given: Json | undefined): JsonObject {
  return given === null || given === undefined ? {} : { [field]: given }
}
