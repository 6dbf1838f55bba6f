import { CONVERSE_DOCUMENTS, IMAGES_OF_SMALL_WINDOWS, limitsOf } from './limits.ts'
import { pictureOf } from './picture.ts'
import {
  CHAT_GROQ,
  CHAT_MISTRAL,
  CHAT_OPENAI,
  CHAT_XAI,
  CLAUDE,
  GEMINI,
  MESSAGES,
  RESPONSES,
  type Rule,
  SDK_OPENAI,
} from './rule.ts'
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
/** Addresses of the storage of a host, which it reads itself. */
const OWN_STORAGE: { readonly [F in Form]?: RegExp } = {
  gemini: /^gs:/i,
  converse: /^s3:/i,
  sdk: /^(?:gs|s3):/i,
}

/** Whether an API loads an address. Converse loads none of the web. */
function isLoadable(url: string, form: Form): boolean {
  if (OWN_STORAGE[form]?.test(url) === true) return true
  return form !== 'converse' && (WEB.test(url) || /^data:/i.test(url))
}

/** The names of documents of Converse: Bedrock takes `_` too, though its page does not name it. */
const DOCUMENT_NAME = /^[a-zA-Z0-9 _()[\]-]{1,200}$/

function* documentNames(request: Request): Generator<{ readonly name: string; readonly path: string }> {
  for (const { path, raw } of mediaOf(request)) {
    const { document } = raw
    if (isObject(document)) yield { name: textField(document.name), path }
  }
}

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
  const isSmall =
    (form === 'messages' || form === 'converse') &&
    model !== undefined &&
    SMALL_WINDOW.test(model.toLowerCase())
  return isSmall ? IMAGES_OF_SMALL_WINDOWS : images
}

export const MEDIA_RULES: readonly Rule[] = [
  {
    id: 'media-type',
    group: 'media',
    scopes: [...MESSAGES, { form: 'converse' }, CHAT_OPENAI, CHAT_XAI, RESPONSES, ...GEMINI, { form: 'sdk' }],
    says: 'Pictures and files have a type that the API reads: JPEG, PNG, GIF and WebP (Gemini: PNG, JPEG, WebP, HEIC, HEIF; xAI: JPEG and PNG); documents of the Messages API and files of Chat Completions are PDF.',
    brokenBy:
      'an SVG, a BMP, `image/jpg`; a JSON or CSV file in Chat Completions, for which the AI SDK throws',
    sources: [
      'anthropics/claude-code#8184',
      'NousResearch/hermes-agent#55432',
      'STranslate/STranslate#277',
      'anomalyco/opencode#5704',
      'https://docs.cloud.google.com/vertex-ai/docs/generative-ai/image/image-captioning',
      'https://docs.x.ai/developers/model-capabilities/images/understanding',
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
    scopes: WITH_MEDIA,
    says: 'An address is one that the provider can load: absolute, with http or https; Gemini also gs:, Converse s3: alone; Claude on Bedrock and Vertex loads none.',
    brokenBy: 'a path of the application itself, such as /uploads/a.png; an address of blob: or file:',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision?ref=louisbouchard.ai',
      'langgenius/dify#21338',
      'Alibaba-NLP/OmniSearch#3',
      'https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits',
    ],
    check: (request, report) => {
      const { fetches } = limitsOf(request.form, request.provider)
      for (const { media, path } of mediaOf(request)) {
        const { url } = media
        if (url === undefined) continue
        if (request.form !== 'sdk' && fetches === false)
          report(path, 'an address, and the provider loads none')
        else if (typeof url !== 'string' || !isLoadable(url, request.form))
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
      CHAT_OPENAI,
      CHAT_MISTRAL,
      CHAT_GROQ,
      RESPONSES,
      ...GEMINI,
      { form: 'sdk', providers: ['anthropic', 'google-ai', 'openai', 'azure', 'mistral'] },
    ],
    says: 'A request has at most 600 pictures for Claude, 100 for its models with a window of 200,000 tokens; 1,500 for OpenAI, 50 on Azure, 8 for Mistral, 5 for Groq; 3,600 for Gemini, on Vertex 3,000. A request of Converse has at most five documents.',
    brokenBy: 'screenshots of every step, which cost few tokens',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision.md',
      'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-api-restrictions.html',
      'aws-samples/generative-ai-use-cases#1685',
      'https://developers.openai.com/api/docs/guides/images-vision',
      'https://learn.microsoft.com/en-us/azure/ai-services/openai/quotas-limits',
      'https://docs.mistral.ai/capabilities/vision',
      'https://console.groq.com/docs/vision',
      'https://docs.cloud.google.com/vertex-ai/docs/generative-ai/image/image-captioning',
    ],
    check: (request, report) => {
      if (request.form === 'converse') {
        const files = [...mediaOf(request)].filter(({ media: { kind } }) => kind === 'file')
        if (files.length > CONVERSE_DOCUMENTS)
          report(files[CONVERSE_DOCUMENTS]!.path, `${files.length} documents in a request`)
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
    scopes: [
      ...MESSAGES,
      { form: 'converse' },
      CHAT_GROQ,
      { form: 'sdk', providers: ['anthropic', 'bedrock'] },
    ],
    says: 'A side of a picture has at most 8,000 pixels for Claude, and 2,000 in a request of the Messages API with more than 20 pictures; a picture for Groq has at most 33,177,600.',
    brokenBy: 'a screenshot of a whole page, a screen of a high resolution in a long session',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision.md',
      'anthropics/claude-code#50430',
      'aaif-goose/goose#11871',
      'https://console.groq.com/docs/vision',
    ],
    check: (request, report) => {
      const { area, pixels, manyImages } = limitsOf(request.form, request.provider)
      const images = [...mediaOf(request)].filter(({ media: { kind } }) => kind === 'image')
      const most = manyImages !== undefined && images.length > manyImages.above ? manyImages.pixels : pixels
      if (most === undefined && area === undefined) return
      for (const { media, path } of images) {
        const { width = 0, height = 0 } = pictureIn(media) ?? {}
        const size = `${width} × ${height} pixels`
        if (most !== undefined && Math.max(width, height) > most)
          report(path, `${size}, and ${most} are allowed`)
        else if (area !== undefined && width * height > area)
          report(path, `${size}, and ${area} in all are allowed`)
      }
    },
  },
  {
    id: 'media-bytes',
    group: 'media',
    scopes: [
      ...MESSAGES,
      { form: 'converse' },
      CHAT_MISTRAL,
      CHAT_XAI,
      { form: 'responses', providers: ['xai'] },
      { form: 'sdk', providers: ['anthropic'] },
    ],
    says: 'A picture has at most 10 MiB of base64 in the Messages API, 5 MiB on Bedrock and Vertex, and 3.75 MB in Converse, a document there 4.5 MB, but for PDF; a picture for Mistral 10 MB, for xAI 20 MiB.',
    brokenBy: 'a photo, or a screenshot that was not compressed',
    sources: [
      'earendil-works/pi#424',
      'anthropics/claude-code#14201',
      'kirodotdev/Kiro#10783',
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html',
      'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-api-restrictions.html',
      'https://docs.mistral.ai/capabilities/vision',
      'https://docs.x.ai/developers/model-capabilities/images/understanding',
    ],
    check: (request, report) => {
      const { imageBytes, fileBytes } = limitsOf(request.form, request.provider)
      for (const { media, path } of mediaOf(request)) {
        // The limit is no longer one of PDF, for the current models.
        if (media.type === 'document/pdf') continue
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
    scopes: [
      ...MESSAGES,
      CHAT_OPENAI,
      CHAT_GROQ,
      RESPONSES,
      ...GEMINI,
      { form: 'sdk', providers: ['anthropic', 'openai', 'google-ai'] },
    ],
    says: 'The whole request has at most 32 MiB for the Messages API, 20 on Bedrock and 30 on Vertex; 512 for OpenAI, 100 for Gemini; with pictures in base64, 4 for Groq.',
    brokenBy: 'screenshots and files that every turn sends again',
    sources: [
      'https://platform.claude.com/docs/en/build-with-claude/vision.md',
      'damianvtran/local-operator#596',
      'anthropics/claude-code#53560',
      'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html',
      'https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai',
      'https://developers.openai.com/api/docs/guides/images-vision',
      'https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits',
      'https://console.groq.com/docs/vision',
    ],
    check: (request, report) => {
      const { bytes, form, provider } = request
      const { onlyWithImages, requestBytes } = limitsOf(form, provider)
      if (requestBytes === undefined || bytes <= requestBytes) return
      if (onlyWithImages === true && ![...mediaOf(request)].some(({ media }) => media.base64 !== undefined))
        return
      report('', `${bytes} bytes, and ${requestBytes} are allowed`)
    },
  },
  {
    id: 'document-name',
    group: 'media',
    scopes: [{ form: 'converse' }],
    says: 'The name of a document is 1 to 200 letters, digits, single spaces, `-`, `_`, and round and square brackets.',
    brokenBy: 'the name of a file with a dot, an apostrophe or letters of another alphabet',
    sources: [
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html',
      'vercel/ai#20365',
      'anomalyco/opencode#19964',
      'aws-samples/generative-ai-use-cases#1671',
    ],
    check: (request, report) => {
      for (const { name, path } of documentNames(request))
        if (!DOCUMENT_NAME.test(name) || name.includes('  '))
          report(path, 'the name of the document has another form')
    },
  },
  {
    id: 'document-name-twice',
    group: 'media',
    scopes: [{ form: 'converse' }],
    says: 'No two documents of a request have the same name.',
    brokenBy: 'a file that is attached again later, two files whose names differ in their ending alone',
    sources: [
      'aws-samples/generative-ai-use-cases#1685',
      'maximhq/bifrost#7003',
      'aws-samples/sample-strands-agent-with-agentcore#290',
    ],
    check: (request, report) => {
      const seen = new Set<string>()
      for (const { name, path } of documentNames(request)) {
        if (seen.has(name)) report(path, 'the name of a document before')
        seen.add(name)
      }
    },
  },
  {
    id: 'document-alone',
    group: 'media',
    scopes: [{ form: 'converse' }],
    says: 'A message with a document has a text.',
    brokenBy: 'a file that is sent without a word',
    sources: ['https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html'],
    check: ({ turns }, report) => {
      for (const { blocks } of turns) {
        const document = blocks.find(({ kind, raw }) => kind === 'media' && raw.document !== undefined)
        if (document !== undefined && !blocks.some(({ kind }) => kind === 'text'))
          report(document.path, 'a document without a text beside it')
      }
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
