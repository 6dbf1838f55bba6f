/* What the providers say of pictures, files and sizes, as of November 2026. The rules that use a figure name its source. */

const MIB = 1024 * 1024

/** The limits of a provider; a missing one is unknown or none. */
export type Limits = {
  /** Most bytes of a whole request. */
  readonly requestBytes?: number
  /** Most pictures of a request. */
  readonly images?: number
  /** Most pixels of a side of a picture. */
  readonly pixels?: number
  /** From so many pictures on, fewer pixels are allowed. */
  readonly manyImages?: { readonly above: number; readonly pixels: number }
  /** Most bytes of a picture, in base64 or as a file. */
  readonly imageBytes?: { readonly most: number; readonly of: 'base64' | 'file' }
  readonly fileBytes?: number
  /** Media types of pictures. */
  readonly imageTypes?: readonly string[]
  /** Whether it loads addresses of the web, by itself or through the SDK. */
  readonly fetches?: boolean
}

const FOUR = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const
const GOOGLE = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'] as const

const ANTHROPIC: Limits = {
  requestBytes: 32 * MIB,
  images: 600,
  pixels: 8000,
  manyImages: { above: 20, pixels: 2000 },
  imageBytes: { most: 10 * MIB, of: 'base64' },
  imageTypes: FOUR,
  fetches: true,
}
/** Claude on other hosts. */
const HOSTED: Limits = { ...ANTHROPIC, imageBytes: { most: 5 * MIB, of: 'base64' }, fetches: false }

const LIMITS: ReadonlyMap<string, Limits> = new Map<string, Limits>([
  ['anthropic', ANTHROPIC],
  // Claude there; lower limits of the whole request are not documented as figures.
  ['bedrock', HOSTED],
  ['vertex', HOSTED],
  [
    'converse',
    { pixels: 8000, imageBytes: { most: 3_750_000, of: 'file' }, fileBytes: 4_500_000, imageTypes: FOUR },
  ],
  ['openai', { imageTypes: FOUR, fetches: true }],
  ['azure', { imageTypes: FOUR, fetches: true }],
  ['google-ai', { imageTypes: GOOGLE, images: 3600 }],
  ['gemini-on-vertex', { imageTypes: GOOGLE, images: 3000 }],
])

/** Most pictures of a request for Claude models whose window has 200,000 tokens. */
export const IMAGES_OF_SMALL_WINDOWS = 100

/** The limits of a provider in one of its forms. */
export function limitsOf(form: string, provider: string): Limits {
  if (form === 'converse') return LIMITS.get('converse')!
  if (form === 'gemini') return LIMITS.get(provider === 'vertex' ? 'gemini-on-vertex' : 'google-ai')!
  return LIMITS.get(provider) ?? {}
}

/** Most images and documents of one message of Converse. */
export const CONVERSE_MESSAGE = { images: 20, documents: 5 } as const
/** Most characters of the arguments of a call that OpenAI takes. */
export const MOST_ARGUMENTS = 1_048_576
