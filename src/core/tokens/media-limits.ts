import { z } from 'zod'
import { defined } from '../messages/json.ts'
import type { Sizes } from './measure.ts'
import { canonicalProvider, hostsClaude } from './providers.ts'

/*
 * Providers refuse requests with too many images or bytes, far below the context window. The limits are from the providers' pages as of
 * November 2026.
 */

/** The limits of a request besides tokens. If a limit is absent, it is unknown and doesn't apply. */
export type MediaLimits = {
  /** Maximum number of images in one request. */
  readonly images?: number | undefined
  /** Maximum number of images in one request if one of them has a side above 2,000 pixels. */
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

/** The smaller of the two meanings of MB. */
const MB = 1_000_000

/** Anthropic accepts 100 images for models with this window, and 600 for models with a larger window. */
const CLAUDE_SMALL_WINDOW = 200_000
const CLAUDE_IMAGES = 100
const CLAUDE_MORE_IMAGES = 600
/**
 * Anthropic doesn't accept an image above 2,000 pixels in a request with more images than this. A request that was refused for this
 * reason is reduced to this number.
 */
export const FEW_IMAGES = 20

/** platform.claude.com, "Images and vision" and "API overview". */
const CLAUDE: MediaLimits = { imagesBesideLarge: FEW_IMAGES, bytes: 32 * MB }

/** The limits of a host for Claude models, and for all other models. */
type Row = { readonly claude?: MediaLimits; readonly others?: MediaLimits }

const LIMITS: ReadonlyMap<string, Row> = new Map<string, Row>([
  ['anthropic', { claude: CLAUDE, others: CLAUDE }],
  // docs.aws.amazon.com, "Anthropic Claude Messages API" (bytes); "API restrictions" (Bedrock itself limits neither the number nor the
  // size of images).
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
/** Returns the limits of a provider for a model with this context window; given limits take precedence. */
export function mediaLimitsOf(
  { provider, model }: { readonly provider: string; readonly model?: string | undefined },
  contextWindow: number,
  given: MediaLimits = {},
): MediaLimits {
  const name = canonicalProvider(provider)
  const { claude, others } = LIMITS.get(name) ?? {}
  // If the model is unknown, a host of Claude is assumed to serve Claude, because its limits are lower.
  const isClaude = model === undefined ? hostsClaude(name) : model.toLowerCase().includes('claude')
  const images = contextWindow > CLAUDE_SMALL_WINDOW ? CLAUDE_MORE_IMAGES : CLAUDE_IMAGES
  const usual = isClaude && claude !== undefined ? { images, ...claude } : others
  return { ...usual, ...defined(given) }
}

/** The average bytes of a token of text in a request: tokens are counted, the bytes of texts are not. */
const BYTES_PER_TOKEN = 4

export const pendingMediaSchema = z.strictObject({
  images: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  largeImages: z.int().nonnegative().optional(),
})

/** Returns sizes with media that are not part of the history yet. */
export function withPending(sizes: Sizes, pending: MediaFigures | undefined): Sizes {
  if (pending === undefined) return sizes
  return {
    ...sizes,
    images: sizes.images + pending.images,
    mediaBytes: sizes.mediaBytes + pending.bytes,
    largeImages: sizes.largeImages + (pending.largeImages ?? 0),
  }
}

/**
 * Returns the images and bytes of a request whose history has these sizes: its media, and an estimate of its text from all its tokens.
 */
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
  /** The number of images with a side above 2,000 pixels. Default: 0. */
  readonly largeImages?: number | undefined
}
/** The images and bytes of a request. */
export type RequestMedia = MediaFigures & { readonly largeImages: number }

/** A figure of a request and its limit, which is absent if unknown. */
export type MediaUse = { readonly used: number; readonly limit?: number }

/** A limit, or a share of one; Infinity if no limit is known. */
export type MediaMost = {
  readonly images: number
  /** The number of images if one of them is large. */
  readonly imagesBesideLarge: number
  readonly bytes: number
}

/** The figures with which the images and bytes of a request are compared. */
export type MediaBudget = {
  /** The figures from which compaction of media is due. */
  readonly due: MediaMost
  /** The figures to which media are reduced. */
  readonly target: MediaMost
  /** The most that the provider accepts. */
  readonly limit: MediaMost
}

/** Returns the budget, from the limits of a provider, the usage at which compaction is due, and the share to which it reduces. */
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

/** Returns the most images of a request with or without large images. */
export function maxImages(largeImages: number, { images, imagesBesideLarge }: MediaMost): number {
  return largeImages > 0 ? Math.min(images, imagesBesideLarge) : images
}

export function isMediaDue({ images, bytes, largeImages }: RequestMedia, { due }: MediaBudget): boolean {
  return images >= maxImages(largeImages, due) || bytes >= due.bytes
}

export function isWithinMedia({ images, bytes, largeImages }: RequestMedia, most: MediaMost): boolean {
  return images <= maxImages(largeImages, most) && bytes <= most.bytes
}

/** A provider's limits for one image or file. If a limit is absent, it is unknown and doesn't apply. */
export type MediaItemLimits = {
  /** Maximum width and height of an image, in pixels. */
  readonly side?: number
  /** Maximum width and height of an image, in pixels, in a request with more than `FEW_IMAGES` images. */
  readonly sideOfMany?: number
  /** Maximum total pixels of an image. */
  readonly pixels?: number
  /** Maximum bytes of an image, as a file. */
  readonly imageBytes?: number
  /** Maximum bytes of any other file. */
  readonly fileBytes?: number
}

/** Returns the bytes of a file that takes `mebibytes` in base64. */
function ofBase64(mebibytes: number): number {
  return (mebibytes * 1024 * 1024 * 3) / 4
}

// platform.claude.com: "Vision" (10 MB in base64; 5 MB on Bedrock and Google Cloud). An MB has 1,048,576 bytes:
// anthropics/claude-code#11181.
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

/** Returns a provider's limits for one image or file; none for most providers, which shrink large images themselves. */
export function mediaItemLimitsOf(provider: string): MediaItemLimits {
  return ITEM_LIMITS.get(canonicalProvider(provider)) ?? NO_ITEM_LIMITS
}
