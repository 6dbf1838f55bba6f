import { z } from 'zod'
import type { Sizes } from './measure.ts'
import { canonicalProvider } from './providers.ts'

/*
 * Providers refuse requests with too many images or bytes, far below the context window. The limits are those of their pages in November
 * 2026; limits of single images are in docs/limits.md, because only a decoder of images could check them.
 */

/** What a request may hold besides tokens. A limit that is absent is unknown, and does not apply. */
export type MediaLimits = {
  /** Maximum images of one request. */
  readonly images?: number | undefined
  /** Maximum bytes of one request, with images and files in base64. */
  readonly bytes?: number | undefined
}

export const mediaLimitsSchema = z.strictObject({
  images: z.int().positive().optional(),
  bytes: z.int().positive().optional(),
})

/** The smaller of the two meanings. */
const MB = 1_000_000

/** Images of Anthropic's models with a window of 200,000 tokens, and of those with more. */
const CLAUDE_SMALL_WINDOW = 200_000
const CLAUDE_IMAGES = 100
const CLAUDE_MORE_IMAGES = 600
/**
 * Above this number of images Anthropic accepts none that is wider or higher than 2,000 pixels, instead of 8,000. A request that was
 * refused for it is reduced to this number.
 */
export const FEW_IMAGES = 20

const LIMITS: ReadonlyMap<string, MediaLimits> = new Map([
  // platform.claude.com: "Vision" (100 or 600 images), "Request size limits" (32 MB; 20 MB on Bedrock, 30 MB on Vertex).
  ['anthropic', { bytes: 32 * MB }],
  // docs.aws.amazon.com: "Message" of Converse.
  ['bedrock', { images: 20, bytes: 20 * MB }],
  ['vertex', { bytes: 30 * MB }],
  // ai.google.dev: "Image understanding" and "File input methods" (inline data).
  ['google-ai', { images: 3_600, bytes: 20 * MB }],
  // platform.openai.com: "Images and vision".
  ['openai', { images: 500, bytes: 50 * MB }],
  // learn.microsoft.com: "Azure OpenAI quotas and limits".
  ['azure', { images: 50 }],
  // docs.mistral.ai: "Vision".
  ['mistral', { images: 8 }],
  // console.groq.com: "Images and vision".
  ['groq', { images: 5, bytes: 4 * MB }],
])

/** The limits of a provider, for a model with this context window; those given take precedence. */
export function mediaLimitsOf(provider: string, contextWindow: number, given: MediaLimits = {}): MediaLimits {
  const name = canonicalProvider(provider)
  const { images, bytes } = LIMITS.get(name) ?? {}
  const ofClaude = contextWindow > CLAUDE_SMALL_WINDOW ? CLAUDE_MORE_IMAGES : CLAUDE_IMAGES
  return {
    images: given.images ?? (name === 'anthropic' ? ofClaude : images),
    bytes: given.bytes ?? bytes,
  }
}

/** Bytes of a token of text in a request, on average: tokens are counted, the bytes of texts are not. */
const BYTES_PER_TOKEN = 4

export const pendingMediaSchema = z.strictObject({
  images: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
})

/** Sizes with media that are not part of the history yet. */
export function withPending(sizes: Sizes, pending: MediaFigures | undefined): Sizes {
  if (pending === undefined) return sizes
  return {
    ...sizes,
    images: sizes.images + pending.images,
    mediaBytes: sizes.mediaBytes + pending.bytes,
  }
}

/** The images and bytes of a request with these sizes of the history: its media, and an estimate of its text from all its tokens. */
export function mediaFigures({ images, mediaBytes, media }: Sizes, tokens: number): MediaFigures {
  return { images, bytes: mediaBytes + BYTES_PER_TOKEN * Math.max(0, Math.ceil(tokens) - media) }
}

/** The images and bytes of a request, or a limit of them: Infinity where none is known. */
export type MediaFigures = { readonly images: number; readonly bytes: number }

/** A figure of a request and its limit; without one, none is known. */
export type MediaUse = { readonly used: number; readonly limit?: number }

/** What the images and bytes of a request are compared with. */
export type MediaBudget = {
  /** Once these are reached, media are due. */
  readonly due: MediaFigures
  /** What they are reduced to. */
  readonly target: MediaFigures
  /** The most that the provider accepts. */
  readonly limit: MediaFigures
}

/** The budget by the limits of a provider, the usage at which compaction is due, and the share to which it reduces. */
export function mediaBudget(limits: MediaLimits, threshold: number, target: number): MediaBudget {
  const { images = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY } = limits
  // 0 × Infinity is not a number.
  const of = (share: number, limit: number): number =>
    limit === Number.POSITIVE_INFINITY ? limit : share * limit
  return {
    due: { images: Math.ceil(of(threshold, images)), bytes: of(threshold, bytes) },
    target: { images: Math.floor(of(target, images)), bytes: of(target, bytes) },
    limit: { images, bytes },
  }
}

export function isMediaDue({ images, bytes }: MediaFigures, { due }: MediaBudget): boolean {
  return images >= due.images || bytes >= due.bytes
}

export function isWithinMedia({ images, bytes }: MediaFigures, most: MediaFigures): boolean {
  return images <= most.images && bytes <= most.bytes
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
  // console.groq.com: "Images and vision".
  ['groq', { pixels: 33_177_600 }],
])
const NO_ITEM_LIMITS: MediaItemLimits = {}

/** The limits of one image or file of a provider; none for most, which reduce large images themselves. */
export function mediaItemLimitsOf(provider: string): MediaItemLimits {
  return ITEM_LIMITS.get(canonicalProvider(provider)) ?? NO_ITEM_LIMITS
}
