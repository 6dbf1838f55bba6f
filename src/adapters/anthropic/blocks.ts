import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import type { FilePart, ImagePart, ProviderOptions } from '../../core/messages/message.ts'
import { keptFor, type Media, mediaOf } from '../wire.ts'

/*
 * Messages in the form of the Anthropic Messages API, in and out. One message becomes one message, and a message that was read is written
 * again as it was.
 *
 * What the neutral form has no place for is kept under the name `anthropic`: fields of a message in `metadata`, fields of a block in
 * `providerOptions`, whole blocks as provider parts. Three things are reserved there:
 *
 * - an empty object marks a blank text, a failure without content or an empty message as Anthropic's own; others are not sent unchanged;
 * - `content` of a tool result marks a content that was absent (null) or a list of texts (their layout);
 * - `is_error` of a tool result is set when it was given and not true.
 *
 * The part's current output takes precedence: if another text is shown instead of a tool result, that text is sent.
 *
 * The AI SDK keeps fields of its own under the same name: see `blockOptions`.
 */

/** The name under which this format keeps its fields. */
export const ANTHROPIC = 'anthropic'

type Field = Json | undefined

/** A block of text. */
export type AnthropicTextBlock = { type: 'text'; text: string; [field: string]: Field }

/** The source of an image. */
export type AnthropicImageSource =
  | { type: 'base64'; media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'; data: string }
  | { type: 'url'; url: string }
/** An image block of the Messages API. */
export type AnthropicImageBlock = { type: 'image'; source: AnthropicImageSource; [field: string]: Field }

/** The source of a document. */
export type AnthropicDocumentSource =
  | { type: 'base64'; media_type: 'application/pdf'; data: string }
  | { type: 'text'; media_type: 'text/plain'; data: string }
  | { type: 'url'; url: string }
/** A document block of the Messages API. */
export type AnthropicDocumentBlock = {
  type: 'document'
  source: AnthropicDocumentSource
  [field: string]: Field
}

/** The blocks that a tool result may hold. */
export type AnthropicResultBlock = AnthropicTextBlock | AnthropicImageBlock | AnthropicDocumentBlock

/** A block of content: its type, the required fields of that type, and any further fields. */
export type AnthropicBlock =
  | AnthropicResultBlock
  | { type: 'thinking'; thinking: string; signature: string; [field: string]: Field }
  | { type: 'redacted_thinking'; data: string; [field: string]: Field }
  | { type: 'tool_use'; id: string; name: string; input: Json; [field: string]: Field }
  | {
      type: 'tool_result'
      tool_use_id: string
      content?: string | AnthropicResultBlock[]
      [field: string]: Field
    }

/** A message of the Messages API, with any further fields of a response or a transcript. */
export type AnthropicMessage = {
  role: 'user' | 'assistant'
  content: string | AnthropicBlock[]
  [field: string]: Field
}

/** The part of a request that is conversation. */
export type AnthropicConversation = {
  system?: string | AnthropicTextBlock[]
  messages: AnthropicMessage[]
}

/** The side of a block: images and files are allowed in user messages and tool results. */
export type Place = 'system' | 'user' | 'assistant'

type ImageType = (AnthropicImageSource & { type: 'base64' })['media_type']

/** The image types the API accepts. Source: `Base64ImageSource` of `@anthropic-ai/sdk`. */
const IMAGE_TYPES: readonly ImageType[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/**
 * An image or a document; `undefined` for bytes of a type that the API rejects. Plain text has its own type of source, because the API
 * reads no other type as text.
 */
export function mediaBlock(
  part: ImagePart | FilePart,
): AnthropicImageBlock | AnthropicDocumentBlock | undefined {
  const media = mediaOf(part.type === 'image' ? part.image : part.data, part.mediaType)
  const { fields } = blockOptions(part.providerOptions)
  if (part.type === 'image' || part.mediaType.startsWith('image/')) {
    const source = imageSource(media)
    return source && { type: 'image', source, ...fields }
  }
  const source = documentSource(media)
  return source && { type: 'document', source, ...defined({ title: part.filename }), ...fields }
}

/** Whether a file with another text type is sent as plain text. */
export function isShownAsPlain(part: ImagePart | FilePart): boolean {
  if (part.type === 'image') return false
  const media = mediaOf(part.data, part.mediaType)
  return (
    !('url' in media) && media.mediaType?.startsWith('text/') === true && media.mediaType !== 'text/plain'
  )
}

function imageSource(media: Media): AnthropicImageSource | undefined {
  if ('url' in media) return { type: 'url', url: media.url }
  const { base64, mediaType = 'image/png' } = media
  const media_type = IMAGE_TYPES.find((type) => type === mediaType)
  return media_type && { type: 'base64', media_type, data: base64 }
}

function documentSource(media: Media): AnthropicDocumentSource | undefined {
  if ('url' in media) return { type: 'url', url: media.url }
  const { base64, mediaType = 'application/pdf' } = media
  if (mediaType.startsWith('text/'))
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString() }
  return mediaType === 'application/pdf' ? { type: 'base64', media_type: mediaType, data: base64 } : undefined
}

/*
 * The fields under `anthropic` of a part come from this format, as fields of a block, or from the AI SDK, which keeps options of its own
 * there. Capital letters distinguish them: API names have none. Source: `convert-to-anthropic-messages-prompt.ts` and the types of options
 * of `@ai-sdk/anthropic`.
 */

/** Options of the AI SDK that are block fields with another name. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['cacheControl', 'cache_control'],
  ['toolsetName', 'toolset_name'],
])

/** The fields kept with a part under this format's name. */
type BlockOptions = {
  /** Fields of the block, with their API names. */
  readonly fields: JsonObject
  /** Whether this format wrote them, so that the block was Anthropic's. */
  readonly isOwn: boolean
  /** The data of redacted thinking, as the AI SDK keeps it. */
  readonly redactedData: string | undefined
  /** The type of the block from which the AI SDK made the part. */
  readonly blockType: Json | undefined
}

const NOTHING: BlockOptions = { fields: {}, isOwn: false, redactedData: undefined, blockType: undefined }

/** Reads the fields kept with a part. `type` and names with capitals are never sent unchanged. */
export function blockOptions(kept: ProviderOptions | undefined): BlockOptions {
  const given = keptFor(ANTHROPIC, kept)
  if (given === undefined) return NOTHING
  const { redactedData } = given
  const entries = Object.entries(given).flatMap(([name, value]): [string, Json | undefined][] => {
    const sent = RENAMED.get(name) ?? name
    if (isForeignName(sent) || (sent !== name && sent in given)) return []
    return [[sent, name === 'caller' ? callerOf(value) : value]]
  })
  return {
    fields: Object.fromEntries(entries.filter(([, value]) => value !== undefined)),
    isOwn: kept?.['ai-sdk'] === undefined && !Object.keys(given).some(isForeignName),
    redactedData: typeof redactedData === 'string' ? redactedData : undefined,
    blockType: given.type,
  }
}

function isForeignName(name: string): boolean {
  return name === 'type' || /[A-Z]/.test(name)
}

/** Returns the caller of a call. In the AI SDK, its tool is named `toolId`. */
function callerOf(caller: Json | undefined): Json | undefined {
  if (!isObject(caller) || typeof caller.toolId !== 'string') return caller
  const { toolId, ...rest } = caller
  return { ...rest, tool_id: toolId }
}
