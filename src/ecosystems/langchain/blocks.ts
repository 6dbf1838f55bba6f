import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../messages/json.ts'
import type {
  FilePart,
  ImagePart,
  ProviderPart,
  ReasoningPart,
  TextPart,
  ToolResultContent,
} from '../../messages/message.ts'
import { addressAt, base64At, type Conversion } from '../conversion.ts'
import { isEmpty, isObject, keptFor, keptUnder, mediaOf, stringAt } from '../wire.ts'
import { blockAt, jsonBlock, LANGCHAIN, type LangChainBlock } from './types.ts'

/*
 * Blocks with an image, a sound, a film, a file or a plain text: those of the standard of version 1 (`url` or `data` with
 * `mimeType`), those before (`source_type`), and those of OpenAI and Anthropic that LangChain passes on.
 */

/** Where a block has its bytes or their address, and their type. */
type Found = {
  readonly data: string | Uint8Array
  readonly mediaType: string | undefined
  readonly filename?: string | undefined
  /** The block without these; `in` names the field with the data where several can have it. */
  readonly rest: LangChainBlock
}

/**
 * An image or file whose bytes or address we can hold; `undefined` for others (a file by its id). Throws for
 * bytes that are no base64.
 */
export function readMedia(block: LangChainBlock, path: string): ImagePart | FilePart | undefined {
  const found = find(block, path)
  if (found === undefined) return undefined
  const { data, mediaType, filename, rest } = found
  const isImage = block.type === 'image' || block.type === 'image_url'
  const bare: ImagePart | FilePart = isImage
    ? { type: 'image', image: data, ...(mediaType === undefined ? {} : { mediaType }) }
    : {
        type: 'file',
        data,
        mediaType: mediaType ?? USUAL_TYPES[block.type ?? ''] ?? 'application/octet-stream',
        ...(filename === undefined ? {} : { filename }),
      }
  if (isDeepStrictEqual(mediaBlock(bare), block)) return bare
  const options = {
    ...(rest as JsonObject),
    ...(mediaType === undefined && !isImage ? { mimeType: null } : {}),
  }
  const part = { ...bare, providerOptions: { [LANGCHAIN]: options } }
  return isDeepStrictEqual(mediaBlock(part), block) ? part : undefined
}

/** Types of files whose block does not say one. */
const USUAL_TYPES: Readonly<Record<string, string>> = {
  audio: 'audio/*',
  video: 'video/*',
  'text-plain': 'text/plain',
}

function find(block: LangChainBlock, path: string): Found | undefined {
  switch (block.type) {
    case 'image_url':
      return findImageUrl(block, path)
    case 'input_audio':
      return findAudio(block, path)
    case 'image':
    case 'document':
      return isObject(block.source) ? findSource(block, block.source, path) : findData(block, path)
    case 'file':
      return isObject(block.file) ? findFile(block, block.file, path) : findData(block, path)
    case 'audio':
    case 'video':
    case 'text-plain':
      return findData(block, path)
    default:
      return undefined
  }
}

function findData(block: LangChainBlock, path: string): Found | undefined {
  const { mime_type, mimeType, url, data, text, ...rest } = block
  const isOld = block.source_type !== undefined
  const mime = isOld ? mime_type : mimeType
  const other = isOld ? { mimeType } : { mime_type }
  const mediaType =
    mime === undefined ? undefined : stringAt(mime, `${path}.${isOld ? 'mime_type' : 'mimeType'}`)
  const found = (place: string, held: string | Uint8Array): Found => ({
    data: held,
    mediaType,
    filename: filenameOf(block),
    rest: defined({ ...rest, ...other, in: place }),
  })
  const kind = isOld ? block.source_type : kindOf(block)
  if (kind === 'url') return found('url', addressAt(url, `${path}.url`))
  if (kind === 'base64')
    return found('data', data instanceof Uint8Array ? data : base64At(data, `${path}.data`))
  if (kind !== 'text') return undefined
  return found('text', Buffer.from(stringAt(text, `${path}.text`)).toString('base64'))
}

function kindOf({ url, data, text, type }: LangChainBlock): string | undefined {
  if (data !== undefined) return 'base64'
  if (url !== undefined) return 'url'
  return text !== undefined && type === 'text-plain' ? 'text' : undefined
}

/**
 * The name LangChain's models send with a file. Source: `metadata.filename`, `.name`, `.title` in its converters
 * for OpenAI.
 */
function filenameOf({ metadata }: LangChainBlock): string | undefined {
  if (!isObject(metadata)) return undefined
  const names = [metadata.filename, metadata.name, metadata.title]
  return names.find((name) => typeof name === 'string') as string | undefined
}

function findImageUrl({ image_url, ...rest }: LangChainBlock, path: string): Found {
  if (!isObject(image_url)) {
    return {
      data: addressAt(image_url, `${path}.image_url`),
      mediaType: undefined,
      rest: { ...rest, image_url: null },
    }
  }
  const { url, ...own } = image_url
  return {
    data: addressAt(url, `${path}.image_url.url`),
    mediaType: undefined,
    rest: { ...rest, image_url: own },
  }
}

function findAudio({ input_audio, ...rest }: LangChainBlock, path: string): Found | undefined {
  if (!isObject(input_audio)) return undefined
  const { data, format, ...own } = input_audio
  const mediaType = `audio/${stringAt(format, `${path}.input_audio.format`)}`
  return { data: base64At(data, `${path}.input_audio.data`), mediaType, rest: { ...rest, input_audio: own } }
}

function findFile({ file: _, ...rest }: LangChainBlock, file: JsonObject, path: string): Found | undefined {
  const { file_data, filename, ...own } = file
  if (typeof file_data !== 'string') return undefined
  const data = addressAt(file_data, `${path}.file.file_data`)
  const media = mediaOf(data, undefined)
  const mediaType = 'url' in media ? undefined : media.mediaType
  const name = typeof filename === 'string' ? filename : undefined
  return { data, mediaType, filename: name, rest: { ...rest, file: own } }
}

/** A block of Anthropic's. */
function findSource(
  { source: _, ...rest }: LangChainBlock,
  source: JsonObject,
  path: string,
): Found | undefined {
  const { data, url, media_type, ...own } = source
  const mediaType = typeof media_type === 'string' ? media_type : undefined
  const common = { mediaType, rest: { ...rest, source: own } }
  if (source.type === 'base64') return { ...common, data: base64At(data, `${path}.source.data`) }
  return source.type === 'url' ? { ...common, data: addressAt(url, `${path}.source.url`) } : undefined
}

function defined(block: { readonly [field: string]: Json | Uint8Array | undefined }): LangChainBlock {
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== undefined))
}

/** The block of an image or a file: as it was read, else one of the standard of version 1. */
export function mediaBlock(part: ImagePart | FilePart): LangChainBlock {
  const options = keptFor(LANGCHAIN, part.providerOptions)
  return options === undefined ? standardBlock(part) : blockAsRead(part, options)
}

function standardBlock(part: ImagePart | FilePart): LangChainBlock {
  const data = part.type === 'image' ? part.image : part.data
  const media = mediaOf(data, part.mediaType)
  const mimeType = 'url' in media ? part.mediaType : (media.mediaType ?? 'image/png')
  const [kind = ''] = (mimeType ?? '').split('/')
  const type = part.type === 'image' ? 'image' : ['image', 'audio', 'video'].includes(kind) ? kind : 'file'
  const metadata =
    part.type === 'file' && part.filename !== undefined ? { metadata: { filename: part.filename } } : {}
  return {
    type,
    ...('url' in media ? { url: media.url } : { data: media.base64 }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...metadata,
  }
}

function blockAsRead(part: ImagePart | FilePart, { mimeType: unsaid, ...rest }: JsonObject): LangChainBlock {
  const data = part.type === 'image' ? part.image : part.data
  const mime = unsaid === null ? undefined : part.mediaType
  const { image_url, input_audio, file, source, source_type } = rest
  if (image_url !== undefined) {
    const url = String(data)
    return { ...rest, image_url: isObject(image_url) ? { url, ...image_url } : url }
  }
  if (isObject(input_audio)) {
    const format = (mime ?? '').slice('audio/'.length)
    return { ...rest, input_audio: { data: String(data), format, ...input_audio } }
  }
  if (isObject(file)) {
    const filename = part.type === 'file' && part.filename !== undefined ? { filename: part.filename } : {}
    return { ...rest, file: { file_data: String(data), ...filename, ...file } }
  }
  if (isObject(source)) {
    const held = source.type === 'url' ? { url: String(data) } : { data: String(data) }
    return { ...rest, source: { ...held, ...(mime === undefined ? {} : { media_type: mime }), ...source } }
  }
  const { in: place, ...fields } = rest
  const named = mime === undefined ? {} : { [source_type === undefined ? 'mimeType' : 'mime_type']: mime }
  return { ...fields, [String(place)]: place === 'text' ? textOf(data) : data, ...named }
}

function textOf(data: string | Uint8Array): string {
  return Buffer.from(String(data), 'base64').toString()
}

const ANTHROPIC = 'anthropic'

/** A block the neutral form has no part for, kept as it is. */
function opaque(data: JsonObject): ProviderPart {
  return { type: 'provider', provider: LANGCHAIN, data }
}

/** What is no block of content and has no place in the neutral form. A pair, so that no block can look like it. */
export function noBlock(what: 'invalid_tool_call' | 'remove', value: JsonObject): ProviderPart {
  return { type: 'provider', provider: LANGCHAIN, data: [what, value] }
}

/** The same again; `undefined` for any other part. */
export function noBlockOf({ provider, data }: ProviderPart, what: string): JsonObject | undefined {
  if (provider !== LANGCHAIN || !Array.isArray(data) || data[0] !== what) return undefined
  const value = data[1] as Json
  return isObject(value) ? value : undefined
}

/**
 * What a block of a message is in the neutral form; calls are read elsewhere. `model` is the provider that wrote
 * it, where that is known.
 */
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

/** The blocks that may also stand within the answer of a tool. */
export function readSimpleBlock(conversion: Conversion, value: unknown, path: string): ToolResultContent {
  const block = blockAt(value, path)
  if (block.type !== undefined) stringAt(block.type, `${path}.type`)
  if (block.type === 'text' || block.type === 'refusal') return readText(jsonBlock(block, path), path)
  return readMedia(block, path) ?? readOther(conversion, jsonBlock(block, path), path)
}

function readOther(conversion: Conversion, block: JsonObject, path: string): ProviderPart {
  conversion.note('kept', path, 'the neutral form has no part for this block')
  return opaque(block)
}

function readText({ type, text, refusal, ...extra }: JsonObject, path: string): TextPart {
  if (type === 'refusal') {
    const options = { ...extra, type, ...(text === undefined ? {} : { text }) }
    return {
      type: 'text',
      text: stringAt(refusal, `${path}.refusal`),
      providerOptions: { [LANGCHAIN]: options },
    }
  }
  const options = refusal === undefined ? extra : { ...extra, refusal }
  return {
    type: 'text',
    text: stringAt(text, `${path}.text`),
    ...keptUnder(LANGCHAIN, options),
  }
}

/**
 * Reasoning in words. A block that has none (summaries of OpenAI's, what is encrypted) stays a block. Anthropic's signature is
 * kept under Anthropic's name too, so that it goes back there in every form.
 */
function readReasoning(block: JsonObject, path: string, model: Json | undefined): ReasoningPart | undefined {
  const { type, ...fields } = block
  const field = type === 'thinking' ? 'thinking' : 'reasoning'
  const { [field]: text, ...extra } = fields
  if (text === undefined && type === 'reasoning') return undefined
  const words = stringAt(text, `${path}.${field}`)
  const options = type === 'thinking' ? { ...extra, type } : extra
  const { signature } = extra
  const signed = typeof signature === 'string' && (type === 'thinking' || model === ANTHROPIC)
  return {
    type: 'reasoning',
    text: words,
    ...(isEmpty(options) && !signed
      ? {}
      : {
          providerOptions: {
            ...(isEmpty(options) ? {} : { [LANGCHAIN]: options }),
            ...(signed ? { [ANTHROPIC]: { signature } } : {}),
          },
        }),
  }
}

/** The block of a text: a refusal where it was read as one. */
export function textBlock({ text, providerOptions }: TextPart): LangChainBlock {
  const options = keptFor(LANGCHAIN, providerOptions) ?? {}
  if (options.type !== 'refusal') return { type: 'text', text, ...options }
  return { ...options, refusal: text }
}

/** The block of reasoning: as it was read, else a standard one, with Anthropic's signature where there is one. */
export function reasoningBlock({ text, providerOptions }: ReasoningPart): LangChainBlock {
  const options = keptFor(LANGCHAIN, providerOptions)
  if (options?.type === 'thinking') return { ...options, thinking: text }
  if (options !== undefined) return { type: 'reasoning', reasoning: text, ...options }
  const signature = keptFor(ANTHROPIC, providerOptions)?.signature
  return { type: 'reasoning', reasoning: text, ...(typeof signature === 'string' ? { signature } : {}) }
}
