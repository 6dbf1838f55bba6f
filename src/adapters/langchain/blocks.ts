import { isDeepStrictEqual } from 'node:util'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import type {
  FilePart,
  ImagePart,
  ProviderPart,
  ReasoningPart,
  TextPart,
  ToolResultContent,
} from '../../core/messages/message.ts'
import { addressAt, base64At, type Conversion } from '../conversion.ts'
import { isEmpty, keptFor, keptUnder, mediaOf, replacedAt, stringAt } from '../wire.ts'
import { blockAt, jsonBlock, LANGCHAIN, type LangChainBlock } from './types.ts'

const ANTHROPIC = 'anthropic'

export const keptIn = (fields: JsonObject) => keptUnder(LANGCHAIN, fields)

/** Keeps a value that is not a content block and has no neutral form. The data is a pair, which no block can be. */
export function noBlock(what: 'invalid_tool_call' | 'remove', value: JsonObject): ProviderPart {
  return { type: 'provider', provider: LANGCHAIN, data: [what, value] }
}

/** The value given to `noBlock`; `undefined` for any other part. */
export function noBlockOf({ provider, data }: ProviderPart, what: string): JsonObject | undefined {
  if (provider !== LANGCHAIN || !Array.isArray(data) || data[0] !== what) return undefined
  const value = data[1] as Json
  return isObject(value) ? value : undefined
}

/** Converts a block of a message, except calls. `model` is the provider that wrote it, if known. */
export function readBlock(
  conversion: Conversion,
  value: unknown,
  path: string,
  model: Json | undefined,
): ReasoningPart | ToolResultContent {
  if (!isObject(value) || (value.type !== 'reasoning' && value.type !== 'thinking'))
    return readSimpleBlock(conversion, value, path)
  const block = jsonBlock(blockAt(value, path), path)
  return readReasoning(block, path, model) ?? readOther(conversion, block, path)
}

/** Converts a block that a tool result may also contain. */
export function readSimpleBlock(conversion: Conversion, value: unknown, path: string): ToolResultContent {
  const block = blockAt(value, path)
  if (block.type !== undefined) stringAt(block.type, `${path}.type`)
  if (block.type === 'text' || block.type === 'refusal') return readText(jsonBlock(block, path), path)
  return readMedia(block, path) ?? readOther(conversion, jsonBlock(block, path), path)
}

function readOther(conversion: Conversion, data: JsonObject, path: string): ProviderPart {
  return conversion.keep(LANGCHAIN, data, path, 'the neutral form has no part for this block')
}

function readText({ type, text, refusal, ...extra }: JsonObject, path: string): TextPart {
  if (type === 'refusal')
    return {
      type: 'text',
      text: stringAt(refusal, `${path}.refusal`),
      providerOptions: { [LANGCHAIN]: { ...extra, type, ...defined({ text }) } },
    }
  const options = { ...extra, ...defined({ refusal }) }
  return { type: 'text', text: stringAt(text, `${path}.text`), ...keptIn(options) }
}

/**
 * Reads reasoning that has a text; otherwise (OpenAI's summaries and encrypted reasoning) the block stays a block. Anthropic's signature is
 * also kept under Anthropic's name, so that every form sends it back.
 */
function readReasoning(block: JsonObject, path: string, model: Json | undefined): ReasoningPart | undefined {
  const { type, ...fields } = block
  const field = type === 'thinking' ? 'thinking' : 'reasoning'
  const { [field]: given, ...extra } = fields
  if (given === undefined && type === 'reasoning') return undefined
  const text = stringAt(given, `${path}.${field}`)
  const options = type === 'thinking' ? { ...extra, type } : extra
  const { signature } = extra
  const isSigned = typeof signature === 'string' && (type === 'thinking' || model === ANTHROPIC)
  const providerOptions = {
    ...(!isEmpty(options) && { [LANGCHAIN]: options }),
    ...(isSigned && { [ANTHROPIC]: { signature } }),
  }
  return { type: 'reasoning', text, ...(!isEmpty(providerOptions) && { providerOptions }) }
}

/** The block of a text: a refusal if it was read as one. */
export function textBlock({ text, providerOptions }: TextPart): LangChainBlock {
  const options = keptFor(LANGCHAIN, providerOptions) ?? {}
  return options.type === 'refusal' ? { ...options, refusal: text } : { type: 'text', text, ...options }
}

/** The block of reasoning: as it was read, else a standard block with Anthropic's signature, if there is one. */
export function reasoningBlock({ text, providerOptions }: ReasoningPart): LangChainBlock {
  const options = keptFor(LANGCHAIN, providerOptions)
  if (options?.type === 'thinking') return { ...options, thinking: text }
  if (options !== undefined) return { type: 'reasoning', reasoning: text, ...options }
  const signature = keptFor(ANTHROPIC, providerOptions)?.signature
  return { type: 'reasoning', reasoning: text, ...(typeof signature === 'string' && { signature }) }
}

/*
 * Blocks with an image, a sound, a video, a file or a plain text: those of the standard of version 1 (`url` or `data` with
 * `mimeType`), those before (`source_type`), and those of OpenAI and Anthropic that LangChain passes on.
 */

/** The data of a block or its address, the path to its field (`source.data`), and the block's other facts about it. */
type Found = {
  readonly at: string
  readonly data: string | Uint8Array
  readonly mediaType?: string | undefined
  readonly filename?: string | undefined
}

/** Types of blocks: the field whose object may hold the data, whether the block itself may, and the media type of a file without one. */
const MEDIA: { readonly [type: string]: { holder?: string; isBare?: boolean; mediaType?: string } } = {
  image_url: { holder: 'image_url' },
  input_audio: { holder: 'input_audio' },
  image: { holder: 'source', isBare: true },
  document: { holder: 'source', isBare: true },
  file: { holder: 'file', isBare: true },
  audio: { isBare: true, mediaType: 'audio/*' },
  video: { isBare: true, mediaType: 'video/*' },
  'text-plain': { isBare: true, mediaType: 'text/plain' },
}

/**
 * An image or file whose bytes or address the neutral form can hold; `undefined` for others (a file by its id). A block that the standard
 * doesn't restore is kept without its data; `in` is the path to the data. Throws for invalid base64.
 */
function readMedia(block: LangChainBlock, path: string): ImagePart | FilePart | undefined {
  const found = findMedia(block, path)
  if (found === undefined) return undefined
  const { at, mediaType, filename } = found
  const data = at === 'text' ? Buffer.from(found.data).toString('base64') : found.data
  const isImage = block.type === 'image' || block.type === 'image_url'
  const usual = MEDIA[block.type ?? '']?.mediaType ?? 'application/octet-stream'
  const bare: ImagePart | FilePart = isImage
    ? { type: 'image', image: data, ...defined({ mediaType }) }
    : { type: 'file', data, mediaType: mediaType ?? usual, ...defined({ filename }) }
  if (isDeepStrictEqual(standardBlock(bare), block)) return bare
  const kept = { ...replacedAt(block, at, undefined), in: at } as JsonObject
  const part = { ...bare, providerOptions: { [LANGCHAIN]: kept } }
  return isDeepStrictEqual(mediaBlock(part), block) ? part : undefined
}

function findMedia(block: LangChainBlock, path: string): Found | undefined {
  const { type = '' } = block
  const { holder, isBare } = (Object.hasOwn(MEDIA, type) && MEDIA[type]) || {}
  const held = holder === undefined ? undefined : block[holder]
  if (holder !== undefined && isObject(held)) return findHeld(holder, held as JsonObject, `${path}.${holder}`)
  if (type === 'image_url') return { at: type, data: addressAt(held, `${path}.${type}`) }
  return isBare === true ? findBare(block, path) : undefined
}

function findHeld(holder: string, held: JsonObject, path: string): Found | undefined {
  const { type, url, data, file_data, format, media_type, filename } = held
  const texts = {
    mediaType: typeof media_type === 'string' ? media_type : undefined,
    filename: typeof filename === 'string' ? filename : undefined,
  }
  switch (holder) {
    case 'image_url':
      return { at: `${holder}.url`, data: addressAt(url, `${path}.url`) }
    case 'input_audio': {
      const mediaType = `audio/${stringAt(format, `${path}.format`)}`
      return { at: `${holder}.data`, mediaType, data: base64At(data, `${path}.data`) }
    }
    case 'file': {
      if (typeof file_data !== 'string') return undefined
      const media = mediaOf(addressAt(file_data, `${path}.file_data`), undefined)
      const mediaType = 'url' in media ? undefined : media.mediaType
      return { at: `${holder}.file_data`, data: file_data, ...texts, mediaType }
    }
    default: {
      // Anthropic's source.
      const { mediaType } = texts
      if (type === 'base64') return { at: `${holder}.data`, data: base64At(data, `${path}.data`), mediaType }
      if (type === 'url') return { at: `${holder}.url`, data: addressAt(url, `${path}.url`), mediaType }
      return undefined
    }
  }
}

function findBare(block: LangChainBlock, path: string): Found | undefined {
  const { url, data, text } = block
  const typeField = typeFieldOf(block)
  const mime = block[typeField]
  const mediaType = mime === undefined ? undefined : stringAt(mime, `${path}.${typeField}`)
  const named = { mediaType, filename: filenameOf(block) }
  switch (block.source_type ?? kindOf(block)) {
    case 'url':
      return { at: 'url', data: addressAt(url, `${path}.url`), ...named }
    case 'base64':
      return {
        at: 'data',
        data: data instanceof Uint8Array ? data : base64At(data, `${path}.data`),
        ...named,
      }
    case 'text':
      return { at: 'text', data: stringAt(text, `${path}.text`), ...named }
    default:
      return undefined
  }
}

/** The field of a block with the media type, in its version of the standard. */
function typeFieldOf({ source_type }: LangChainBlock): 'mimeType' | 'mime_type' {
  return source_type === undefined ? 'mimeType' : 'mime_type'
}

function kindOf({ url, data, text, type }: LangChainBlock): string | undefined {
  if (data !== undefined) return 'base64'
  if (url !== undefined) return 'url'
  return text !== undefined && type === 'text-plain' ? 'text' : undefined
}

/** The name LangChain's models send with a file. Source: its converters for OpenAI. */
function filenameOf({ metadata }: LangChainBlock): string | undefined {
  if (!isObject(metadata)) return undefined
  const names = [metadata.filename, metadata.name, metadata.title]
  return names.find((name) => typeof name === 'string') as string | undefined
}

/** The block of an image or file: as it was read, else a standard block of version 1. */
export function mediaBlock(part: ImagePart | FilePart): LangChainBlock {
  const { in: at, ...kept } = keptFor(LANGCHAIN, part.providerOptions) ?? {}
  return typeof at === 'string' ? blockAsRead(part, at, kept as LangChainBlock) : standardBlock(part)
}

function standardBlock(part: ImagePart | FilePart): LangChainBlock {
  const data = part.type === 'image' ? part.image : part.data
  const filename = part.type === 'file' ? part.filename : undefined
  const media = mediaOf(data, part.mediaType)
  const mimeType = 'url' in media ? part.mediaType : (media.mediaType ?? 'image/png')
  const [kind = ''] = (mimeType ?? '').split('/')
  const type = part.type === 'image' ? 'image' : ['image', 'audio', 'video'].includes(kind) ? kind : 'file'
  return {
    type,
    ...('url' in media ? { url: media.url } : { data: media.base64 }),
    ...defined({ mimeType }),
    ...(filename !== undefined && { metadata: { filename } }),
  }
}

/** Fields of objects with the media type of their data. */
const TYPE_FIELDS: { readonly [holder: string]: string } = { input_audio: 'format', source: 'media_type' }

function blockAsRead(part: ImagePart | FilePart, at: string, kept: LangChainBlock): LangChainBlock {
  const data = part.type === 'image' ? part.image : part.data
  const [holder = '', inner] = at.split('.')
  const isBytes = inner === undefined && at !== 'text'
  const base64 = typeof data === 'string' || isBytes ? data : Buffer.from(data).toString('base64')
  const written = at === 'text' ? Buffer.from(String(base64), 'base64').toString() : base64
  const block = replacedAt(kept, at, written) as LangChainBlock
  const field = inner === undefined ? typeFieldOf(kept) : TYPE_FIELDS[holder]
  const own = inner === undefined ? kept : kept[holder]
  // Another image may be shown instead, of another type.
  if (field === undefined || !isObject(own) || !(field in own)) return block
  const typeAt = inner === undefined ? field : `${holder}.${field}`
  const mediaType = field === 'format' ? part.mediaType?.slice('audio/'.length) : part.mediaType
  return replacedAt(block, typeAt, mediaType) as LangChainBlock
}
