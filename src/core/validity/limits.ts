/* Providers' limits, and properties that the names of their models show, as of November 2026. docs/validity.md has the sources. */

/** The larger of the two meanings of MB, so that a request that the provider may accept is never reported. */
const MIB = 1024 * 1024

/** The limits of a provider; if a limit is absent, it is unknown or doesn't exist. */
export type Limits = {
  /** The most bytes of a whole request. */
  readonly requestBytes?: number
  /** Whether that limit only applies to requests with images in base64. */
  readonly onlyWithImages?: boolean
  /** The most images in a request. */
  readonly images?: number
  /** The most pixels on a side of an image. */
  readonly pixels?: number
  /** The most pixels of an image. */
  readonly area?: number
  /** Above a number of images, fewer pixels are allowed. */
  readonly manyImages?: { readonly above: number; readonly pixels: number }
  /** The most bytes of an image, in base64 or as a file. */
  readonly imageBytes?: { readonly most: number; readonly of: 'base64' | 'file' }
  readonly fileBytes?: number
  /** The accepted media types of images. */
  readonly imageTypes?: readonly string[]
  /** Whether the provider loads web addresses, itself or through the SDK. */
  readonly fetches?: boolean
}

const COMMON_IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const
const GOOGLE_IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'] as const

const ANTHROPIC: Limits = {
  requestBytes: 32 * MIB,
  images: 600,
  pixels: 8000,
  manyImages: { above: 20, pixels: 2000 },
  imageBytes: { most: 10 * MIB, of: 'base64' },
  imageTypes: COMMON_IMAGE_TYPES,
  fetches: true,
}
/** Claude on other hosts. */
const HOSTED_CLAUDE: Limits = { ...ANTHROPIC, imageBytes: { most: 5 * MIB, of: 'base64' }, fetches: false }

const LIMITS: ReadonlyMap<string, Limits> = new Map<string, Limits>([
  ['anthropic', ANTHROPIC],
  ['bedrock', { ...HOSTED_CLAUDE, requestBytes: 20 * MIB }],
  ['vertex', { ...HOSTED_CLAUDE, requestBytes: 30 * MIB }],
  // Bedrock itself limits neither the number nor the size of images; its models do.
  [
    'converse',
    {
      images: 600,
      pixels: 8000,
      imageBytes: { most: 3_750_000, of: 'file' },
      fileBytes: 4_500_000,
      imageTypes: COMMON_IMAGE_TYPES,
    },
  ],
  ['openai', { requestBytes: 512 * MIB, images: 1500, imageTypes: COMMON_IMAGE_TYPES, fetches: true }],
  ['azure', { images: 50, imageTypes: COMMON_IMAGE_TYPES, fetches: true }],
  ['google-ai', { requestBytes: 100 * MIB, imageTypes: GOOGLE_IMAGE_TYPES, images: 3600 }],
  ['gemini-on-vertex', { imageTypes: GOOGLE_IMAGE_TYPES, images: 3000 }],
  ['mistral', { images: 8, imageBytes: { most: 10 * MIB, of: 'file' } }],
  ['groq', { requestBytes: 4 * MIB, onlyWithImages: true, images: 5, area: 33_177_600 }],
  ['xai', { imageBytes: { most: 20 * MIB, of: 'file' }, imageTypes: ['image/jpeg', 'image/png'] }],
])

/** The most images in a request for Claude models with a window of 200,000 tokens. */
export const SMALL_WINDOW_MAX_IMAGES = 100

/** Returns the limits of a provider in one of its forms. */
export function limitsOf(form: string, provider: string): Limits {
  if (form === 'converse') return LIMITS.get('converse')!
  if (form === 'gemini') return LIMITS.get(provider === 'vertex' ? 'gemini-on-vertex' : 'google-ai')!
  return LIMITS.get(provider) ?? {}
}

/** The most documents in a request of Converse. */
export const CONVERSE_MAX_DOCUMENTS = 5
/** The most messages in a request of Chat Completions, and the most calls in one message. */
export const CHAT_MAX = { messages: 2048, calls: 128 } as const
/** The most characters of a text in OpenAI's APIs, and of a message on Azure. */
export const MAX_TEXT_LENGTH = { openai: 10_485_760, azure: 1_048_576 } as const
/** The most characters of a call's arguments that OpenAI accepts. */
export const MAX_ARGUMENTS_LENGTH = 1_048_576

const CLAUDE_VERSION = /claude-(?:opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?/

/** Returns whether a model continues an answer that the request begins. Claude models before version 4.6 do. */
export function takesPrefill(model: string): boolean {
  const found = CLAUDE_VERSION.exec(model.toLowerCase())
  if (found === null) return true
  const [major, minor] = [Number(found[1]), Number(found[2] ?? 0)]
  return major < 4 || (major === 4 && minor < 6)
}

/** Claude models that don't accept system messages among other messages, by parts of their names. */
export const OLD_CLAUDE =
  /claude-(?:instant|[123]\b|2|3|sonnet-4|haiku-4|4-|opus-4(?:-(?:0|1|2|3|4|5|6|7)\b|-20\d{6}|@|$))/

/** Claude models with a window of 200,000 tokens. */
export const SMALL_WINDOW = /claude-(?:[123]\b|instant|3-|haiku-4|opus-4(?:-[015]\b|-20)|sonnet-4-5|4-)/
