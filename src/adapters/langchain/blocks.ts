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
import { isEmpty, keptFor, keptUnder, mediaOf, stringAt } from '../wire.ts'
import { blockAt, jsonBlock, LANGCHAIN, type LangChainBlock } from './types.ts'

const ANTHROPIC = 'anthropic'

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
  return { type: 'text', text: stringAt(text, `${path}.text`), ...keptUnder(LANGCHAIN, options) }
}

/**
 * Reasoning with a text. A block without one (OpenAI's summaries and encrypted reasoning) stays a block. Anthropic's signature is kept
 * under Anthropic's name too, so that every form sends it back.
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

/** The data of a block, or its address, and its type. */
type Found = {
  readonly data: string | Uint8Array
  readonly mediaType?: string | undefined
  readonly filename?: string | undefined
}
type FoundBlock = Found & {
  /** The block without these; `in` names the field of the data where several can have it. */
  readonly rest: LangChainBlock
}

/** A field that holds the data in an object: `read` returns it, `write` the fields for it. `own` are the object's other fields. */
type Holder = {
  readonly read: (held: JsonObject, path: string) => (Found & { readonly own: JsonObject }) | undefined
  readonly write: (
    data: string,
    mediaType: string | undefined,
    filename: string | undefined,
    own: JsonObject,
  ) => JsonObject
}

const HOLDERS: { readonly [field: string]: Holder } = {
  image_url: {
    read: ({ url, ...own }, path) => ({ data: addressAt(url, `${path}.url`), own }),
    write: (url) => ({ url }),
  },
  input_audio: {
    read: ({ data, format, ...own }, path) => ({
      mediaType: `audio/${stringAt(format, `${path}.format`)}`,
      data: base64At(data, `${path}.data`),
      own,
    }),
    write: (data, mediaType = '') => ({ data, format: mediaType.slice('audio/'.length) }),
  },
  file: {
    read: ({ file_data, filename, ...own }, path) => {
      if (typeof file_data !== 'string') return undefined
      const data = addressAt(file_data, `${path}.file_data`)
      const media = mediaOf(data, undefined)
      const mediaType = 'url' in media ? undefined : media.mediaType
      return { data, mediaType, filename: typeof filename === 'string' ? filename : undefined, own }
    },
    write: (file_data, _mediaType, filename) => ({ file_data, ...defined({ filename }) }),
  },
  // Anthropic's.
  source: {
    read: ({ data, url, media_type, ...own }, path) => {
      const mediaType = typeof media_type === 'string' ? media_type : undefined
      if (own.type === 'base64') return { data: base64At(data, `${path}.data`), mediaType, own }
      return own.type === 'url' ? { data: addressAt(url, `${path}.url`), mediaType, own } : undefined
    },
    write: (data, media_type, _filename, { type }) => ({
      ...(type === 'url' ? { url: data } : { data }),
      ...defined({ media_type }),
    }),
  },
}

/** Types of blocks: the holder they may have, whether their own fields may have the data, and the media type of a file without one. */
const MEDIA: {
  readonly [type: string]: { holder?: string; isBare?: boolean; mediaType?: string }
} = {
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
 * An image or file whose bytes or address the neutral form can hold; `undefined` for others (a file by its id). Throws for invalid
 * base64.
 */
function readMedia(block: LangChainBlock, path: string): ImagePart | FilePart | undefined {
  const found = findMedia(block, path)
  if (found === undefined) return undefined
  const { data, mediaType, filename, rest } = found
  const isImage = block.type === 'image' || block.type === 'image_url'
  const usual = MEDIA[block.type ?? '']?.mediaType ?? 'application/octet-stream'
  const bare: ImagePart | FilePart = isImage
    ? { type: 'image', image: data, ...defined({ mediaType }) }
    : { type: 'file', data, mediaType: mediaType ?? usual, ...defined({ filename }) }
  if (isDeepStrictEqual(mediaBlock(bare), block)) return bare
  const options = {
    ...(rest as JsonObject),
    ...(mediaType === undefined && !isImage && { mimeType: null }),
  }
  const part = { ...bare, providerOptions: { [LANGCHAIN]: options } }
  return isDeepStrictEqual(mediaBlock(part), block) ? part : undefined
}

function findMedia(block: LangChainBlock, path: string): FoundBlock | undefined {
  const { type = '' } = block
  const kind = Object.hasOwn(MEDIA, type) ? MEDIA[type] : undefined
  const { holder } = kind ?? {}
  if (holder !== undefined) {
    const { [holder]: held, ...rest } = block
    const place = `${path}.${holder}`
    if (isObject(held)) {
      const found = HOLDERS[holder]!.read(held, place)
      return found && { ...found, rest: { ...rest, [holder]: found.own } }
    }
    if (type === 'image_url') return { data: addressAt(held, place), rest: { ...rest, [holder]: null } }
  }
  return kind?.isBare === true ? findBareMedia(block, path) : undefined
}

function findBareMedia(block: LangChainBlock, path: string): FoundBlock | undefined {
  const { mime_type, mimeType, url, data, text, ...rest } = block
  const isOld = block.source_type !== undefined
  const mime = isOld ? mime_type : mimeType
  const mediaType =
    mime === undefined ? undefined : stringAt(mime, `${path}.${isOld ? 'mime_type' : 'mimeType'}`)
  const found = (field: string, held: string | Uint8Array): FoundBlock => ({
    data: held,
    mediaType,
    filename: filenameOf(block),
    rest: defined({ ...rest, ...(isOld ? { mimeType } : { mime_type }), in: field }) as LangChainBlock,
  })
  switch (isOld ? block.source_type : kindOf(block)) {
    case 'url':
      return found('url', addressAt(url, `${path}.url`))
    case 'base64':
      return found('data', data instanceof Uint8Array ? data : base64At(data, `${path}.data`))
    case 'text':
      return found('text', Buffer.from(stringAt(text, `${path}.text`)).toString('base64'))
    default:
      return undefined
  }
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
  const options = keptFor(LANGCHAIN, part.providerOptions)
  return options === undefined ? standardBlock(part) : blockAsRead(part, options)
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

function blockAsRead(part: ImagePart | FilePart, { mimeType: given, ...rest }: JsonObject): LangChainBlock {
  const data = part.type === 'image' ? part.image : part.data
  const filename = part.type === 'file' ? part.filename : undefined
  const mediaType = given === null ? undefined : part.mediaType
  if (rest.image_url !== undefined && !isObject(rest.image_url)) return { ...rest, image_url: String(data) }
  for (const [field, { write }] of Object.entries(HOLDERS)) {
    const own = rest[field]
    if (isObject(own))
      return { ...rest, [field]: { ...write(String(data), mediaType, filename, own), ...own } }
  }
  const { in: field, ...fields } = rest
  const written = field === 'text' ? Buffer.from(String(data), 'base64').toString() : data
  const name = rest.source_type === undefined ? 'mimeType' : 'mime_type'
  return { ...fields, [String(field)]: written, ...defined({ [name]: mediaType }) }
}
