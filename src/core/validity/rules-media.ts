import { CONVERSE_MAX_DOCUMENTS, limitsOf, SMALL_WINDOW, SMALL_WINDOW_MAX_IMAGES } from './limits.ts'
import { CLAUDE, EVERY_FORM, type Rule } from './rule.ts'
import { isObject } from './snapshot.ts'
import {
  allBlocks,
  type BlockOf,
  deepBlocks,
  type Form,
  type Media,
  type Request,
  textField,
} from './wire.ts'

/* Rules about images, files and sizes. */

function* mediaOf(request: Request): Generator<BlockOf<'media'>> {
  for (const block of allBlocks(request)) if (block.kind === 'media') yield block
}

function mediaOfKind(request: Request, kind: Media['kind']): BlockOf<'media'>[] {
  return [...mediaOf(request)].filter(({ media }) => media.kind === kind)
}

/** Returns the bytes of a medium: of its base64, or of the file encoded in it. */
function sizeOf({ base64, bytes }: Media, of: 'base64' | 'file'): number | undefined {
  if (bytes !== undefined) return of === 'file' ? bytes.data.length : Math.ceil(bytes.data.length / 3) * 4
  if (typeof base64 !== 'string') return undefined
  return of === 'base64' ? base64.length : Math.floor((base64.length * 3) / 4)
}

const WEB = /^https?:\/\/[^/\s]+/i
/** Addresses in a host's storage, which the host reads itself. */
const OWN_STORAGE: { readonly [F in Form]?: RegExp } = {
  gemini: /^gs:/i,
  converse: /^s3:/i,
  sdk: /^(?:gs|s3):/i,
}

/** Returns whether an API loads an address. Converse loads no web addresses. */
function isLoadable(url: string, form: Form): boolean {
  if (OWN_STORAGE[form]?.test(url) === true) return true
  return form !== 'converse' && (WEB.test(url) || /^data:/i.test(url))
}

/** Names of documents in Converse: Bedrock also accepts `_`, although its page doesn't list it. */
const DOCUMENT_NAME = /^[a-zA-Z0-9 _()[\]-]{1,200}$/

function* documentNames(request: Request): Generator<{ readonly name: string; readonly path: string }> {
  for (const { path, raw } of mediaOf(request)) {
    const { document } = raw
    if (isObject(document)) yield { name: textField(document.name), path }
  }
}

/** Documents that the Messages API reads as base64, and audio and files that Chat Completions reads. */
const DOCUMENT_TYPES = new Set(['application/pdf'])
const AUDIO_TYPES = new Set(['audio/wav', 'audio/mp3', 'audio/mpeg'])

/** Returns why the API doesn't read a medium of this kind; `undefined` if it does. */
function whyUnread({ form, givenProvider, provider }: Request, media: Media): string | undefined {
  const { kind, type, isText, url } = media
  if (isText === true) return undefined
  const { imageTypes } = limitsOf(form, provider)
  const isAddress = url !== undefined && media.base64 === undefined && media.bytes === undefined
  if (kind === 'image')
    return type === undefined ||
      type === 'image/*' ||
      isAddress ||
      imageTypes === undefined ||
      imageTypes.includes(type)
      ? undefined
      : "an image type that the API doesn't accept"
  if (form === 'messages') {
    if (kind === 'file' && (isAddress || type === undefined || DOCUMENT_TYPES.has(type))) return undefined
    return kind === 'file' ? "a file type that the API doesn't accept" : `the API doesn't accept ${kind}`
  }
  const isChat = form === 'chat' || (form === 'sdk' && /\bchat\b/.test(givenProvider))
  if (isChat && (provider === 'openai' || provider === 'azure')) {
    if (kind === 'audio')
      return type === undefined || AUDIO_TYPES.has(type)
        ? undefined
        : "an audio type that the API doesn't accept"
    if (kind === 'video') return "the API doesn't accept video"
    return type === undefined || DOCUMENT_TYPES.has(type)
      ? undefined
      : "a file type that the API doesn't accept"
  }
  return undefined
}

function imagesOf({ form, model, provider }: Request): number | undefined {
  const { images } = limitsOf(form, provider)
  const isSmall =
    (form === 'messages' || form === 'converse') &&
    model !== undefined &&
    SMALL_WINDOW.test(model.toLowerCase())
  return isSmall ? SMALL_WINDOW_MAX_IMAGES : images
}

export const MEDIA_RULES: readonly Rule[] = [
  {
    id: 'media-type',
    scopes: ['messages', 'converse', 'chat: openai azure xai', 'responses', 'gemini', 'sdk'],
    description:
      'Images and files have a type that the API accepts: JPEG, PNG, GIF and WebP (Gemini: PNG, JPEG, WebP, HEIC and HEIF; xAI: JPEG and PNG); documents in the Messages API and files in Chat Completions are PDFs.',
    check: (request, report) => {
      for (const { media, path } of mediaOf(request)) {
        const why = whyUnread(request, media)
        if (why !== undefined) report(path, why)
      }
    },
  },
  {
    id: 'media-data',
    scopes: EVERY_FORM,
    description: "The data of an image or a file is complete base64 and isn't empty.",
    check: (request, report) => {
      for (const { media, path } of mediaOf(request)) {
        const { base64, bytes } = media
        if (bytes?.data.length === 0 || base64 === '') report(path, 'no data')
        else if (base64 !== undefined && !(typeof base64 === 'string' && isBase64(base64)))
          report(path, "the data isn't base64")
      }
    },
  },
  {
    id: 'media-match',
    scopes: ['messages', 'sdk: anthropic'],
    description: 'An image has the media type that is stated.',
    check: (request, report) => {
      for (const { media, path } of mediaOf(request)) {
        const { type } = media
        if (media.kind !== 'image' || type === undefined || type === 'image/*') continue
        const image = imageIn(media)
        if (image !== undefined && image.type !== type)
          report(path, `stated as ${type}, but is ${image.type}`)
      }
    },
  },
  {
    id: 'media-url',
    scopes: EVERY_FORM,
    description:
      "The provider can load every URL: it is absolute, with http or https (Gemini: also gs:, Converse: only s3:). Claude on Bedrock and Vertex doesn't load URLs.",
    check: (request, report) => {
      const { fetches } = limitsOf(request.form, request.provider)
      for (const { media, path } of mediaOf(request)) {
        const { url } = media
        if (url === undefined) continue
        if (request.form !== 'sdk' && fetches === false) report(path, "the provider doesn't load URLs")
        else if (typeof url !== 'string' || !isLoadable(url, request.form))
          report(path, "a URL that the provider can't load")
      }
    },
  },
  {
    id: 'media-role',
    scopes: [...CLAUDE, 'chat: openai azure', 'responses', 'sdk: openai azure'],
    description:
      'Images and files are in user messages or tool results; in Chat Completions for OpenAI, only in user messages.',
    check: ({ form, system, turns }, report) => {
      for (const block of system)
        if (block.kind === 'media') report(block.path, 'an image or a file in the system prompt')
      for (const { blocks, role } of turns) {
        // The AI SDK itself leaves out the files of an assistant message.
        const isOutput = role === 'tool' && form !== 'chat'
        if (role === 'user' || isOutput || (form === 'sdk' && role === 'assistant')) continue
        for (const block of form === 'chat' ? deepBlocks(blocks) : blocks)
          if (block.kind === 'media')
            report(block.path, `an image or a file in a message with the role ${role}`)
      }
    },
  },
  {
    id: 'image-count',
    scopes: [
      'messages',
      'converse',
      'chat: openai azure mistral groq',
      'responses',
      'gemini',
      'sdk: anthropic google-ai openai azure mistral',
    ],
    description:
      'A request has at most 600 images for Claude, 100 for its models with a window of 200,000 tokens; 1,500 for OpenAI, 50 on Azure, 8 for Mistral, 5 for Groq; 3,600 for Gemini, 3,000 on Vertex. A Converse request has at most five documents.',
    check: (request, report) => {
      if (request.form === 'converse') {
        const files = mediaOfKind(request, 'file')
        if (files.length > CONVERSE_MAX_DOCUMENTS)
          report(
            files[CONVERSE_MAX_DOCUMENTS]!.path,
            `${files.length} documents; at most ${CONVERSE_MAX_DOCUMENTS} are allowed`,
          )
      }
      const most = imagesOf(request)
      if (most === undefined) return
      const images = mediaOfKind(request, 'image')
      if (images.length > most)
        report(images[most]!.path, `${images.length} images; at most ${most} are allowed`)
    },
  },
  {
    id: 'image-pixels',
    scopes: ['messages', 'converse', 'chat: groq', 'sdk: anthropic bedrock'],
    description:
      'A side of an image has at most 8,000 pixels for Claude, and 2,000 in a Messages request with more than 20 images; for Groq, an image has at most 33,177,600 pixels.',
    check: (request, report) => {
      const { area, pixels, manyImages } = limitsOf(request.form, request.provider)
      const images = mediaOfKind(request, 'image')
      const most = manyImages !== undefined && images.length > manyImages.above ? manyImages.pixels : pixels
      if (most === undefined && area === undefined) return
      for (const { media, path } of images) {
        const { width = 0, height = 0 } = imageIn(media) ?? {}
        const size = `${width} × ${height} pixels`
        if (most !== undefined && Math.max(width, height) > most)
          report(path, `${size}; at most ${most} on a side are allowed`)
        else if (area !== undefined && width * height > area)
          report(path, `${size}; at most ${area} in all are allowed`)
      }
    },
  },
  {
    id: 'media-bytes',
    scopes: ['messages', 'converse', 'chat: mistral xai', 'responses: xai', 'sdk: anthropic'],
    description:
      'An image has at most 10 MiB of base64 in the Messages API, 5 MiB on Bedrock and Vertex; 3.75 MB in Converse, where a document other than a PDF has at most 4.5 MB; 10 MiB for Mistral, 20 MiB for xAI.',
    check: (request, report) => {
      const { imageBytes, fileBytes } = limitsOf(request.form, request.provider)
      for (const { media, path } of mediaOf(request)) {
        // For the current models, PDFs no longer have a limit.
        if (media.type === 'document/pdf') continue
        const most = media.kind === 'image' ? imageBytes?.most : fileBytes
        const size = sizeOf(media, media.kind === 'image' ? (imageBytes?.of ?? 'file') : 'file')
        if (most !== undefined && size !== undefined && size > most)
          report(path, `${size} bytes; at most ${most} are allowed`)
      }
    },
  },
  {
    id: 'request-bytes',
    scopes: ['messages', 'chat: openai azure groq', 'responses', 'gemini', 'sdk: anthropic openai google-ai'],
    description:
      'A request has at most 32 MiB in the Messages API, 20 on Bedrock and 30 on Vertex; 512 for OpenAI; 100 for Gemini; with base64 images, 4 for Groq.',
    check: (request, report) => {
      const { bytes, form, provider } = request
      const { onlyWithImages, requestBytes } = limitsOf(form, provider)
      if (requestBytes === undefined || bytes <= requestBytes) return
      if (onlyWithImages === true && ![...mediaOf(request)].some(({ media }) => media.base64 !== undefined))
        return
      report('', `${bytes} bytes; at most ${requestBytes} are allowed`)
    },
  },
  {
    id: 'document-name',
    scopes: ['converse'],
    description:
      'A document name consists of 1 to 200 letters, digits, single spaces, `-`, `_`, and round or square brackets.',
    check: (request, report) => {
      for (const { name, path } of documentNames(request))
        if (!DOCUMENT_NAME.test(name) || name.includes('  ')) report(path, 'an invalid document name')
    },
  },
  {
    id: 'document-name-twice',
    scopes: ['converse'],
    description: 'No two documents of a request have the same name.',
    check: (request, report) => {
      const seen = new Set<string>()
      for (const { name, path } of documentNames(request)) {
        if (seen.has(name)) report(path, 'the same name as an earlier document')
        seen.add(name)
      }
    },
  },
  {
    id: 'document-alone',
    scopes: ['converse'],
    description: 'A message with a document also has text.',
    check: ({ turns }, report) => {
      for (const { blocks } of turns) {
        const document = blocks.find(({ kind, raw }) => kind === 'media' && raw.document !== undefined)
        if (document !== undefined && !blocks.some(({ kind }) => kind === 'text'))
          report(document.path, 'a document without text in the same message')
      }
    },
  },
]

function isBase64(text: string): boolean {
  const length = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
  return length % 4 !== 1 && length > 0 && !/[^A-Za-z0-9+/_-]/.test(text.slice(0, length))
}

function imageIn({ base64, bytes }: Media) {
  if (bytes !== undefined) return imageOf(bytes.data)
  return typeof base64 === 'string' ? imageOf(base64) : undefined
}

/** The properties of an image that its first bytes show. */
type ImageHeader = { readonly type: string; readonly width?: number; readonly height?: number }

/** The number of bytes that are read: a JPEG can have a long preview before its size. */
const MAX_BYTES_READ = 256 * 1024

/** Reads the type and size of an image; returns `undefined` for any other file. Source: the specifications of the formats. */
function imageOf(data: string | Uint8Array): ImageHeader | undefined {
  const bytes =
    typeof data === 'string'
      ? Buffer.from(data.slice(0, (MAX_BYTES_READ / 3) * 4), 'base64')
      : Buffer.from(data.buffer, data.byteOffset, Math.min(data.byteLength, MAX_BYTES_READ))
  const begins = (text: string, at = 0): boolean => bytes.toString('latin1', at, at + text.length) === text
  if (begins('\x89PNG\r\n\x1a\n')) {
    if (bytes.length < 24) return { type: 'image/png' }
    return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  }
  if (begins('GIF87a') || begins('GIF89a')) {
    if (bytes.length < 10) return { type: 'image/gif' }
    return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  }
  if (begins('\xff\xd8\xff')) return { type: 'image/jpeg', ...jpegSize(bytes) }
  if (begins('RIFF') && begins('WEBP', 8)) return { type: 'image/webp', ...webpSize(bytes, begins) }
  return undefined
}

type Size = { width: number; height: number } | undefined

/** Reads the consecutive segments of a JPEG; segments C0 to CF contain the size, except for three. */
function jpegSize(bytes: Buffer): Size {
  let at = 2
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const kind = bytes[at + 1]!
    if (kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc)
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += kind === 0xff ? 1 : 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return undefined
}

function webpSize(bytes: Buffer, begins: (text: string, at: number) => boolean): Size {
  if (bytes.length < 30) return undefined
  if (begins('VP8X', 12)) return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (begins('VP8L', 12)) {
    const packed = bytes.readUInt32LE(21)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  if (begins('VP8 ', 12))
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  return undefined
}
