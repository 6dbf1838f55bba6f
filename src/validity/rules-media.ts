import { CONVERSE_MESSAGE, IMAGES_OF_SMALL_WINDOWS, limitsOf } from './limits.ts'
import { pictureOf } from './picture.ts'
import { CHAT_OPENAI, CLAUDE, GEMINI, MESSAGES, RESPONSES, type Rule, SDK_OPENAI } from './rule.ts'
import { allBlocks, type BlockOf, deepBlocks, type Form, type Media, type Request } from './wire.ts'

/* Rules about pictures, files and sizes. */

const WITH_MEDIA: readonly { readonly form: Form }[] = (
  ['messages', 'converse', 'chat', 'responses', 'gemini', 'sdk'] as const
).map((form) => ({ form }))

function* mediaOf(request: Request): Generator<BlockOf<'media'>> {
  for (const block of allBlocks(request)) if (block.kind === 'media') yield block
}

/** The bytes of a medium: of its base64, or of the file that is in it. */
function sizeOf({ base64, bytes }: Media, of: 'base64' | 'file'): number | undefined {
  if (bytes !== undefined) return of === 'file' ? bytes.data.length : Math.ceil(bytes.data.length / 3) * 4
  if (typeof base64 !== 'string') return undefined
  return of === 'base64' ? base64.length : Math.floor((base64.length * 3) / 4)
}

const WEB = /^https?:\/\/[^/\s]+/i

/** Documents that the Messages API reads as base64, and sounds and files that Chat Completions reads. */
const DOCUMENTS = new Set(['application/pdf'])
const SOUNDS = new Set(['audio/wav', 'audio/mp3', 'audio/mpeg'])

/** Why a medium is of a kind that the API does not read; `undefined` when it is read. */
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
      : 'a type of pictures that is not read'
  if (form === 'messages') {
    if (kind === 'file' && (isAddress || type === undefined || DOCUMENTS.has(type))) return undefined
    return kind === 'file' ? 'a type of files that is not read' : `${kind} is not read`
  }
  const isChat = form === 'chat' || (form === 'sdk' && /\bchat\b/.test(givenProvider))
  if (isChat && (provider === 'openai' || provider === 'azure')) {
    if (kind === 'audio')
      return type === undefined || SOUNDS.has(type) ? undefined : 'a type of sounds that is not read'
    if (kind === 'video') return 'video is not read'
    return type === undefined || DOCUMENTS.has(type) ? undefined : 'a type of files that is not read'
  }
  return undefined
}

/** Claude models with a window of 200,000 tokens, by their names. */
const SMALL_WINDOW = /claude-(?:[123]\b|instant|3-|haiku-4|opus-4(?:-[015]\b|-20)|sonnet-4-5|4-)/

function imagesOf({ form, model, provider }: Request): number | undefined {
  const { images } = limitsOf(form, provider)
  const isSmall = form === 'messages' && model !== undefined && SMALL_WINDOW.test(model.toLowerCase())
  return isSmall ? IMAGES_OF_SMALL_WINDOWS : images
}

export const MEDIA_RULES: readonly Rule[] = [
  {
    id: 'media-type',
    group: 'media',
    scopes: [...MESSAGES, { form: 'converse' }, CHAT_OPENAI, RESPONSES, ...GEMINI, { form: 'sdk' }],
    says: 'Pictures and files have a type that the API reads: JPEG, PNG, GIF and WebP (Gemini: PNG, JPEG, WebP, HEIC, HEIF); documents of the Messages API and files of Chat Completions are PDF.',
    brokenBy:
      'an SVG, a BMP, `image/jpg`; a JSON or CSV file in Chat Completions, for which the AI SDK throws',
    sources: [
      'anthropics/claude-code#8184',
      'NousResearch/hermes-agent#55432',
      'STranslate/STranslate#277',
      'anomalyco/opencode#5704',
      'https://docs.cloud.google.com/vertex-ai/docs/generative-ai/image/image-captioning',
    ],
    check: (request, report) => {
      for (const { media, path } of mediaOf(request)) {
        const why = whyUnread(request, media)
        if (why !== undefined) report(path, why)
      }
    },
  },
  {
    id: 'media-data',
    group: 'media',
    scopes: WITH_MEDIA,
    says: 'The data of a picture or a file is base64, whole and not empty.',
    brokenBy: 'a data URL where base64 is wanted, a text that was cut, a file that was empty',
    sources: ['https://platform.claude.com/docs/en/build-with-claude/vision.md', 'Alibaba-NLP/OmniSearch#3'],
    check: (request, report) => {
      for (const { media, path } of mediaOf(request)) {
        const { base64, bytes } = media
        if (bytes?.data.length === 0 || base64 === '') report(path, 'no data')
        else if (base64 !== undefined && !(typeof base64 === 'string' && isBase64(base64)))
          report(path, 'the data is not base64')
      }
    },
  },
  {
    id: 'media-match',
    group: 'media',
    scopes: [...MESSAGES, { form: 'sdk', providers: ['anthropic'] }],
    says: 'A picture is of the type that is stated.',
    brokenBy: 'a file with the ending of another format, a tool that always says PNG',
    sources: ['anthropics/claude-code#13131', 'anthropics/claude-code#15746'],
    check: (request, report) => {
      for (const { media, path } of mediaOf(request)) {
        const { type } = media
        if (media.kind !== 'image' || type === undefined || type === 'image/*') continue
        const picture = pictureIn(media)
        if (picture !== undefined && picture.type !== type)
          report(path, `stated as ${type}, and is ${picture.type}`)
      }
    },
  },
  {
    id: 'media-url',
    group: 'media',
    scopes: [...MESSAGES, { form: 'chat' }, RESPONSES, { form: 'sdk' }],
    says: 'An address is one that the provider can load: absolute, with http or https; Claude on Bedrock and Vertex loads none.',
    brokenBy: 'a path of the application itself, such as /uploads/a.png; an address of blob: or file:',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision?ref=louisbouchard.ai',
      'langgenius/dify#21338',
      'Alibaba-NLP/OmniSearch#3',
    ],
    check: (request, report) => {
      const { fetches } = limitsOf(request.form, request.provider)
      for (const { media, path } of mediaOf(request)) {
        const { url } = media
        if (url === undefined) continue
        if (request.form !== 'sdk' && fetches === false)
          report(path, 'an address, and the provider loads none')
        else if (typeof url !== 'string' || !(WEB.test(url) || /^(?:gs|s3|data):/i.test(url)))
          report(path, 'an address that the provider cannot load')
      }
    },
  },
  {
    id: 'media-role',
    group: 'media',
    scopes: [...CLAUDE, CHAT_OPENAI, RESPONSES, SDK_OPENAI],
    says: 'Pictures and files are in messages of the user or in results of tools; in Chat Completions of OpenAI, in messages of the user alone.',
    brokenBy: 'a picture that a model made, in an answer that is sent back to another model',
    sources: [
      'openai/openai-node#1030',
      'OpenHands/OpenHands#7700',
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html',
    ],
    check: ({ form, system, turns }, report) => {
      for (const block of system)
        if (block.kind === 'media') report(block.path, 'a picture or a file in the system prompt')
      for (const { blocks, role } of turns) {
        // The AI SDK leaves out the files of an assistant's message itself.
        const isOutput = role === 'tool' && form !== 'chat'
        if (role === 'user' || isOutput || (form === 'sdk' && role === 'assistant')) continue
        for (const block of form === 'chat' ? deepBlocks(blocks) : blocks)
          if (block.kind === 'media') report(block.path, `a picture or a file in a message of the ${role}`)
      }
    },
  },
  {
    id: 'image-count',
    group: 'media',
    scopes: [
      ...MESSAGES,
      { form: 'converse' },
      ...GEMINI,
      { form: 'sdk', providers: ['anthropic', 'google-ai'] },
    ],
    says: 'A request has at most 600 pictures for Claude, 100 for its models with a window of 200,000 tokens; a message of Converse 20, and five documents; a request for Gemini 3,600, on Vertex 3,000.',
    brokenBy: 'screenshots of every step, which cost few tokens',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision.md',
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html',
      'https://docs.cloud.google.com/vertex-ai/docs/generative-ai/image/image-captioning',
    ],
    check: (request, report) => {
      if (request.form === 'converse') {
        for (const { blocks, path } of request.turns) {
          const media = [...deepBlocks(blocks)].filter((block) => block.kind === 'media')
          const images = media.filter(({ media: { kind } }) => kind === 'image').length
          const files = media.filter(({ media: { kind } }) => kind === 'file').length
          if (images > CONVERSE_MESSAGE.images) report(path, `${images} pictures in a message`)
          if (files > CONVERSE_MESSAGE.documents) report(path, `${files} documents in a message`)
        }
        return
      }
      const most = imagesOf(request)
      if (most === undefined) return
      const images = [...mediaOf(request)].filter(({ media: { kind } }) => kind === 'image')
      if (images.length > most)
        report(images[most]!.path, `${images.length} pictures, and ${most} are allowed`)
    },
  },
  {
    id: 'image-pixels',
    group: 'media',
    scopes: [...MESSAGES, { form: 'converse' }, { form: 'sdk', providers: ['anthropic', 'bedrock'] }],
    says: 'A side of a picture has at most 8,000 pixels, and 2,000 in a request of the Messages API with more than 20 pictures.',
    brokenBy: 'a screenshot of a whole page, a screen of a high resolution in a long session',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision.md',
      'anthropics/claude-code#50430',
      'aaif-goose/goose#11871',
    ],
    check: (request, report) => {
      const { pixels, manyImages } = limitsOf(request.form, request.provider)
      const images = [...mediaOf(request)].filter(({ media: { kind } }) => kind === 'image')
      const most = manyImages !== undefined && images.length > manyImages.above ? manyImages.pixels : pixels
      if (most === undefined) return
      for (const { media, path } of images) {
        const { width = 0, height = 0 } = pictureIn(media) ?? {}
        if (Math.max(width, height) > most)
          report(path, `${width} × ${height} pixels, and ${most} are allowed`)
      }
    },
  },
  {
    id: 'media-bytes',
    group: 'media',
    scopes: [...MESSAGES, { form: 'converse' }, { form: 'sdk', providers: ['anthropic'] }],
    says: 'A picture has at most 10 MiB of base64 in the Messages API, 5 MiB on Bedrock and Vertex, and 3.75 MB in Converse, a document there 4.5 MB.',
    brokenBy: 'a photo, or a screenshot that was not compressed',
    sources: [
      'earendil-works/pi#424',
      'anthropics/claude-code#14201',
      'kirodotdev/Kiro#10783',
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html',
    ],
    check: (request, report) => {
      const { imageBytes, fileBytes } = limitsOf(request.form, request.provider)
      for (const { media, path } of mediaOf(request)) {
        const most = media.kind === 'image' ? imageBytes?.most : fileBytes
        const size = sizeOf(media, media.kind === 'image' ? (imageBytes?.of ?? 'file') : 'file')
        if (most !== undefined && size !== undefined && size > most)
          report(path, `${size} bytes, and ${most} are allowed`)
      }
    },
  },
  {
    id: 'request-bytes',
    group: 'media',
    scopes: [{ form: 'messages' }, { form: 'sdk', providers: ['anthropic'] }],
    says: 'The whole request of the Messages API has at most 32 MiB.',
    brokenBy: 'screenshots and files that every turn sends again',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision.md',
      'damianvtran/local-operator#596',
      'anthropics/claude-code#53560',
    ],
    check: ({ bytes, form, provider }, report) => {
      const { requestBytes } = limitsOf(form, provider)
      if (requestBytes !== undefined && bytes > requestBytes)
        report('', `${bytes} bytes, and ${requestBytes} are allowed`)
    },
  },
]

function isBase64(text: string): boolean {
  const length = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
  return length % 4 !== 1 && length > 0 && !/[^A-Za-z0-9+/_-]/.test(text.slice(0, length))
}

function pictureIn({ base64, bytes }: Media) {
  if (bytes !== undefined) return pictureOf(bytes.data)
  return typeof base64 === 'string' ? pictureOf(base64) : undefined
}
