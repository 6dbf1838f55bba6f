import type { Json, JsonObject } from '../../messages/json.ts'
import type {
  FilePart,
  ImagePart,
  ProviderOptions,
  ProviderPart,
  TextPart,
  ToolResultContent,
} from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { audioTypeOf } from '../openai/openai-media.ts'
import { isObject, keptUnder } from '../wire.ts'
import { AGENTS, PROVIDER } from './item-types.ts'

/** What this format keeps with a part; nothing when there is nothing to keep. */
export function own(fields: JsonObject): { providerOptions?: ProviderOptions } {
  return keptUnder(AGENTS, fields)
}

/** Something only the SDK understands, whole. Its type does not stand on top, where other formats would take it for theirs. */
export function keptContent(data: JsonObject): ProviderPart {
  return { type: 'provider', provider: PROVIDER, data: { [AGENTS]: data } }
}

/** A content of a message, its shape known, as a part. */
export function fromContent(content: JsonObject, place: string, conversion: Conversion): ToolResultContent {
  const { type, ...rest } = content
  switch (type) {
    case 'input_text':
    case 'output_text':
      return textPart(rest.text, rest)
    case 'refusal': {
      const { refusal, ...fields } = rest
      return { type: 'text', text: refusal as string, ...own({ ...fields, type }) }
    }
    case 'input_image':
    case 'image': {
      const { image, ...fields } = rest
      if (typeof image === 'string') return { type: 'image', image, ...own({ ...fields, type }) }
      break
    }
    case 'input_file': {
      const part = fromInputFile(rest, type)
      if (part !== undefined) return part
      break
    }
    case 'audio': {
      const { audio, ...fields } = rest
      if (typeof audio === 'string') return audioPart(audio, fields)
      break
    }
  }
  conversion.note('kept', place, 'what it names lies with the provider')
  return keptContent(content)
}

function textPart(text: Json | undefined, { text: _, ...fields }: JsonObject): TextPart {
  return { type: 'text', text: text as string, ...own(fields) }
}

function fromInputFile({ file, filename, ...fields }: JsonObject, type: string): FilePart | undefined {
  const named = typeof filename === 'string' ? { filename } : {}
  if (typeof file === 'string')
    return { type: 'file', data: file, mediaType: mediaTypeOf(file), ...named, ...own({ ...fields, type }) }
  if (!isObject(file) || typeof file.url !== 'string' || file.id !== undefined) return undefined
  const { url, ...further } = file
  const kept = own({ ...fields, type, file: ['url', further] })
  return { type: 'file', data: url as string, mediaType: mediaTypeOf(url as string), ...named, ...kept }
}

function audioPart(data: string, fields: JsonObject): FilePart {
  const { format } = fields
  const mediaType = audioTypeOf(typeof format === 'string' ? format : '*')
  return { type: 'file', data, mediaType, ...own({ ...fields, type: 'audio' }) }
}

/** A content of a tool's output that stands alone, its shape known; bytes may be in it. */
export function fromOutputContent(
  type: 'image' | 'file',
  content: JsonObject,
  bytes: Uint8Array | undefined,
  place: string,
  conversion: Conversion,
): ToolResultContent {
  const { type: _, [type]: source, ...fields } = content
  const found = sourceOf(source, bytes)
  if (found === undefined) {
    conversion.note('kept', place, 'what it names lies with the provider')
    return keptContent(content)
  }
  const { data, mediaType, filename, form } = found
  const kept = own({ ...fields, type, ...(form !== undefined && { [type]: form }) })
  if (type === 'image') return imagePart(data, mediaType, kept)
  const named = filename === undefined ? {} : { filename }
  return { type: 'file', data, mediaType: mediaType ?? mediaTypeOf(data), ...named, ...kept }
}

type Source = {
  readonly data: string | Uint8Array
  readonly mediaType: string | undefined
  readonly filename: string | undefined
  /** How it was given, and its further fields; `undefined` for a bare text. */
  readonly form: Json | undefined
}

function sourceOf(source: Json | undefined, bytes: Uint8Array | undefined): Source | undefined {
  if (typeof source === 'string')
    return { data: source, mediaType: undefined, filename: undefined, form: undefined }
  if (!isObject(source)) return undefined
  if (bytes !== undefined || typeof source.data === 'string') {
    const { data, mediaType, filename, ...further } = source
    const form = ['data', { ...further }]
    return { data: bytes ?? (data as string), ...labels(mediaType, filename), form }
  }
  if (typeof source.url !== 'string') return undefined
  const { url, filename, ...further } = source
  return { data: url as string, ...labels(undefined, filename), form: ['url', further] }
}

function labels(
  mediaType: Json | undefined,
  filename: Json | undefined,
): { readonly mediaType: string | undefined; readonly filename: string | undefined } {
  return {
    mediaType: typeof mediaType === 'string' ? mediaType : undefined,
    filename: typeof filename === 'string' ? filename : undefined,
  }
}

function imagePart(image: string | Uint8Array, mediaType: string | undefined, kept: object): ImagePart {
  return { type: 'image', image, ...(mediaType !== undefined && { mediaType }), ...kept }
}

/** The media type of a file that was given without one. */
function mediaTypeOf(data: string | Uint8Array): string {
  if (typeof data !== 'string') return 'application/octet-stream'
  const [, stated] = /^data:([^;,]+)/i.exec(data) ?? []
  return stated ?? (data.startsWith('JVBERi0') ? 'application/pdf' : 'application/octet-stream')
}
