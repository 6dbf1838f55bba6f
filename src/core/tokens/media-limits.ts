import { z } from 'zod'
import { defined } from '../messages/json.ts'
import type { Sizes } from './measure.ts'
import { canonicalProvider, hostsClaude } from './providers.ts'

/*
 * Providers refuse requests with too many images or bytes, far below the context window. The limits are those of their pages in November
 * 2026.
 */

/** What a request may hold besides tokens. A limit that is absent is unknown, and does not apply. */
export type MediaLimits = {
  /** Maximum images of one request. */
  readonly images?: number | undefined
  /** Maximum images of one request in which one has a side above 2,000 pixels. */
  readonly imagesBesideLarge?: number | undefined
  /** Maximum bytes of one request, with images and files in base64. */
  readonly bytes?: number | undefined
}

const limit = z.int().positive().optional()

export const mediaLimitsSchema = z.strictObject({
  images: limit,
  imagesBesideLarge: limit,
  bytes: limit,
})

/** The smaller of the two meanings. */
const MB = 1_000_000

/** Models with this window, and those whose window is larger. */
const CLAUDE_SMALL_WINDOW = 200_000
const CLAUDE_IMAGES = 100
const CLAUDE_MORE_IMAGES = 600
/** Anthropic accepts no image above 2,000 pixels beside more. A request that was refused for it is reduced to this number. */
export const FEW_IMAGES = 20

/** platform.claude.com, "Images and vision" and "API overview". */
const CLAUDE: MediaLimits = { imagesBesideLarge: FEW_IMAGES, bytes: 32 * MB }

/** The limits of a host for Claude's models, and for all others. */
type Row = { readonly claude?: MediaLimits; readonly others?: MediaLimits }

const LIMITS: ReadonlyMap<string, Row> = new Map<string, Row>([
  ['anthropic', { claude: CLAUDE, others: CLAUDE }],
  // docs.aws.amazon.com, "Anthropic Claude Messages API" (bytes); "API restrictions" (Bedrock itself limits neither number nor size of images).
  ['bedrock', { claude: { ...CLAUDE, bytes: 20 * MB }, others: { bytes: 20 * MB } }],
  // platform.claude.com, "Claude on Vertex AI"; docs.cloud.google.com, "Image understanding".
  ['vertex', { claude: { ...CLAUDE, bytes: 30 * MB }, others: { images: 3_000 } }],
  // learn.microsoft.com, "Azure OpenAI quotas and limits", and Azure/azure-rest-api-specs#46145. Foundry also serves Claude.
  ['azure', { claude: CLAUDE, others: { images: 50 } }],
  // ai.google.dev, "Image understanding", and "File input methods" (inline data).
  ['google-ai', { others: { images: 3_600, bytes: 100 * MB } }],
  // developers.openai.com, "Images and vision".
  ['openai', { others: { images: 1_500, bytes: 512 * MB } }],
  // docs.mistral.ai, "Vision".
  ['mistral', { others: { images: 8 } }],
  // console.groq.com, "Images and vision".
  ['groq', { others: { images: 5, bytes: 4 * MB } }],
])
/** The limits of a provider for a model with this context window; those given take precedence. */
export function mediaLimitsOf(
  { provider, model }: { readonly provider: string; readonly model?: string | undefined },
  contextWindow: number,
  given: MediaLimits = {},
): MediaLimits {
  const name = canonicalProvider(provider)
  const { claude, others } = LIMITS.get(name) ?? {}
  // Without a model, the hosts of Claude are taken to serve it, because its limits are lower.
  const isClaude = model === undefined ? hostsClaude(name) : model.toLowerCase().includes('claude')
  const images = contextWindow > CLAUDE_SMALL_WINDOW ? CLAUDE_MORE_IMAGES : CLAUDE_IMAGES
  const usual = isClaude && claude !== undefined ? { images, ...claude } : others
  return { ...usual, ...defined(given) }
}

/** Bytes of a token of text in a request, on average: tokens are counted, the bytes of texts are not. */
const BYTES_PER_TOKEN = 4

export const pendingMediaSchema = z.strictObject({
  images: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  largeImages: z.int().nonnegative().optional(),
})

/** Sizes with media that are not part of the history yet. */
export function withPending(sizes: Sizes, pending: MediaFigures | undefined): Sizes {
  if (pending === undefined) return sizes
  return {
    ...sizes,
    images: sizes.images + pending.images,
    mediaBytes: sizes.mediaBytes + pending.bytes,
    largeImages: sizes.largeImages + (pending.largeImages ?? 0),
  }
}

/** The images and bytes of a request with these sizes of the history: its media, and an estimate of its text from all its tokens. */
export function mediaFigures(
  { images, mediaBytes, media, largeImages }: Sizes,
  tokens: number,
): RequestMedia {
  const bytes = mediaBytes + BYTES_PER_TOKEN * Math.max(0, Math.ceil(tokens) - media)
  return { images, bytes, largeImages }
}

/** The images and bytes of a request. */
export type MediaFigures = {
  readonly images: number
  readonly bytes: number
  /** Those images that have a side above 2,000 pixels. Default: 0. */
  readonly largeImages?: number | undefined
}
/** The images and bytes of a request. */
export type RequestMedia = MediaFigures & { readonly largeImages: number }

/** A figure of a request and its limit; without one, none is known. */
export type MediaUse = { readonly used: number; readonly limit?: number }

/** A limit, or a share of it: Infinity where none is known. */
export type MediaMost = {
  readonly images: number
  /** Images where one of them is large. */
  readonly imagesBesideLarge: number
  readonly bytes: number
}

/** What the images and bytes of a request are compared with. */
export type MediaBudget = {
  /** Once these are reached, media are due. */
  readonly due: MediaMost
  /** What they are reduced to. */
  readonly target: MediaMost
  /** The most that the provider accepts. */
  readonly limit: MediaMost
}

/** The budget by the limits of a provider, the usage at which compaction is due, and the share to which it reduces. */
export function mediaBudget(limits: MediaLimits, threshold: number, target: number): MediaBudget {
  const {
    images = Number.POSITIVE_INFINITY,
    bytes = Number.POSITIVE_INFINITY,
    imagesBesideLarge = images,
  } = limits
  const shareOf = (share: number, round: (images: number) => number): MediaMost => {
    // 0 × Infinity is not a number.
    const of = (most: number): number => (most === Number.POSITIVE_INFINITY ? most : share * most)
    return { images: round(of(images)), imagesBesideLarge: round(of(imagesBesideLarge)), bytes: of(bytes) }
  }
  return {
    due: shareOf(threshold, Math.ceil),
    target: shareOf(target, Math.floor),
    limit: { images, imagesBesideLarge, bytes },
  }
}

/** The most images of a request with or without large ones. */
export function mostImages(largeImages: number, { images, imagesBesideLarge }: MediaMost): number {
  return largeImages > 0 ? Math.min(images, imagesBesideLarge) : images
}

export function isMediaDue({ images, bytes, largeImages }: RequestMedia, { due }: MediaBudget): boolean {
  return images >= mostImages(largeImages, due) || bytes >= due.bytes
}

export function isWithinMedia({ images, bytes, largeImages }: RequestMedia, most: MediaMost): boolean {
  return images <= mostImages(largeImages, most) && bytes <= most.bytes
}

/** What a provider accepts of one image or file. A limit that is absent is unknown, and does not apply. */
export type MediaItemLimits = {
  /** Maximum pixels of the width and of the height of an image. */
  readonly side?: number
  /** The same in a request with more than `FEW_IMAGES` images. */
  readonly sideOfMany?: number
  /** Maximum pixels of an image in all. */
  readonly pixels?: number
  /** Maximum bytes of an image, as a file. */
  readonly imageBytes?: number
  /** Maximum bytes of any other file. */
  readonly fileBytes?: number
}

/** The bytes of a file that has so many MiB in base64. */
function ofBase64(mebibytes: number): number {
  return (mebibytes * 1024 * 1024 * 3) / 4
}

// platform.claude.com: "Vision" (10 MB in base64; 5 MB on Bedrock and Google Cloud). A MB has 1,048,576 bytes: anthropics/claude-code#11181.
const CLAUDE_SIDES = { side: 8_000, sideOfMany: 2_000 } as const
const ITEM_LIMITS: ReadonlyMap<string, MediaItemLimits> = new Map<string, MediaItemLimits>([
  ['anthropic', { ...CLAUDE_SIDES, imageBytes: ofBase64(10) }],
  ['vertex', { ...CLAUDE_SIDES, imageBytes: ofBase64(5) }],
  // docs.aws.amazon.com: "Message" of Converse.
  ['bedrock', { ...CLAUDE_SIDES, imageBytes: 3_750_000, fileBytes: 4_500_000 }],
  // console.groq.com: "Images and vision": a request with images in base64 has at most 4 MB.
  ['groq', { pixels: 33_177_600, imageBytes: ofBase64(4) }],
  // docs.mistral.ai: "Vision".
  ['mistral', { imageBytes: 10 * 1024 * 1024 }],
])
const NO_ITEM_LIMITS: MediaItemLimits = {}

/** The limits of one image or file of a provider; none for most, which reduce large images themselves. */
export function mediaItemLimitsOf(provider: string): MediaItemLimits {
  return ITEM_LIMITS.get(canonicalProvider(provider)) ?? NO_ITEM_LIMITS
}
