import { z } from 'zod'
import { check } from '../messages/check.ts'
import type { FilePart, ImagePart, Part } from '../messages/message.ts'
import { RECALL_TOOLS } from '../messages/tool-names.ts'
import { type Plan, type PlannedReplacement, savedBy } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { measurePart, type Sizes } from '../tokens/measure.ts'
import { isWithinMedia, type MediaMost, type RequestMedia } from '../tokens/media-limits.ts'
import type { BareContext, PlanningStage } from './stage.ts'

const optionsSchema = z.strictObject({
  /**
   * The number of newest parts with media that stay; all others are shown as a text, whatever the limits are. Default: the stage acts
   * when images or bytes are due, and reduces them to the target.
   */
  keep: z.int().nonnegative().optional(),
})

/** Options of the stage `media`. */
export type MediaStageOptions = z.input<typeof optionsSchema>

/** The number of newest images and files that stay by default. */
export const KEEP_RECENT_MEDIA = 3

/** The longest file name in a text, in UTF-16 units. */
const MAX_FILE_NAME_LENGTH = 200

/** A message part with media: an image, a file, or a tool result that contains one. */
type Medium = { readonly row: ViewRow; readonly part: number; readonly original: Part; readonly sizes: Sizes }

/**
 * Returns a stage that shows a short text in place of the oldest images and files, in messages and in tool results; a tool result keeps
 * its text. It acts when the images or the bytes of the request are due, whatever its tokens are, and reduces them to their target, so
 * that the cached prefix is seldom invalidated. The newest media and those of the current turn and of pinned messages stay; if the
 * request would be refused, only those of pinned messages do. Name: `media`.
 *
 * Throws `INVALID_INPUT`.
 */
export function mediaStage(options: MediaStageOptions = {}, what = 'media'): PlanningStage<Plan | undefined> {
  const { keep } = check(optionsSchema, options, what)
  return {
    name: 'media',
    until: 'media',

    reads(view, { media }) {
      if (keep === undefined && media?.isDue !== true) return []
      return view.rows.filter((row, index) => isChangeable(view, row, index))
    },

    plan(view, context) {
      const { contentOf } = context
      const rows = view.rows.filter((row, index) => isChangeable(view, row, index))
      const media = rows.flatMap((row) => mediaOf(view, row, contentOf(row)))
      const chosen = keep === undefined ? dueMedia(view, media, context) : oldest(view, media, keep)
      if (chosen.length === 0) return undefined
      return {
        kind: 'prune',
        hide: [],
        replace: chosen.map((medium) => replacementOf(view, medium)),
        requires: [],
        params: { stage: 'media', ...(keep !== undefined && { keep }) },
      }
    },
  }
}

function isChangeable(view: View, { kind, pinned, sizes }: ViewRow, index: number): boolean {
  const hasMedia = sizes.images > 0 || sizes.mediaBytes > 0
  return hasMedia && kind === 'message' && !pinned && !view.turns.pending.has(index)
}

/** Returns the parts of a row that show media. Text files and files with a URL are not media: they only cost tokens. */
function mediaOf({ estimator }: View, row: ViewRow, parts: readonly Part[]): Medium[] {
  return parts.flatMap((original, part): Medium[] => {
    if (row.shown.some((entry) => entry.part === part)) return []
    const sizes = measurePart(original, estimator)
    return sizes.images > 0 || sizes.mediaBytes > 0 ? [{ row, part, original, sizes }] : []
  })
}

/** Returns all media except the newest `keep`, without those to which other rows point, unless none of these stays. */
function oldest(view: View, media: readonly Medium[], keep: number): readonly Medium[] {
  if (keep === 0) return media
  return media.slice(0, -keep).filter(({ row, part }) => !view.isPointerTarget(row.key, part))
}

/**
 * Returns the oldest media down to the target, except the newest and those after the last answer, which the model has not seen; more of
 * them if the request would be refused.
 */
function dueMedia(
  view: View,
  media: readonly Medium[],
  { media: need, settings }: BareContext,
): readonly Medium[] {
  if (need?.isDue !== true) return []
  const { used, target, limit } = need
  const answer = view.rows.findLast(({ kind, role }) => kind === 'message' && role === 'assistant')
  const isSeen = ({ row }: Medium): boolean => answer !== undefined && row.anchor < answer.anchor
  const { keepRecentMedia } = settings
  const old = (keepRecentMedia === 0 ? media : media.slice(0, -keepRecentMedia)).filter(
    (one) => isSeen(one) && !view.isPointerTarget(one.row.key, one.part),
  )
  const chosen = new Set<Medium>()
  let left = used
  const choose = (medium: Medium): void => {
    chosen.add(medium)
    const { images, mediaBytes, largeImages } = medium.sizes
    left = {
      images: left.images - images,
      bytes: left.bytes - mediaBytes,
      largeImages: left.largeImages - largeImages,
    }
  }
  const take = (from: readonly Medium[], most: MediaMost): void => {
    for (const medium of from) {
      if (isWithinMedia(left, most)) return
      if (!chosen.has(medium)) choose(medium)
    }
  }
  for (const medium of largeAlone(old, used, target)) choose(medium)
  take(old, target)
  take(media, limit)
  return media.filter((one) => chosen.has(one))
}

/**
 * Returns all large images, if no large image stays then, and if removing them takes fewer images than meeting the limit that applies
 * beside a large image; otherwise nothing.
 */
function largeAlone(old: readonly Medium[], used: RequestMedia, target: MediaMost): readonly Medium[] {
  const most = Math.min(target.images, target.imagesBesideLarge)
  if (most === target.images) return []
  const large = old.filter(({ sizes }) => sizes.largeImages > 0)
  const sum = { images: 0, largeImages: 0 }
  for (const { sizes } of large) {
    sum.images += sizes.images
    sum.largeImages += sizes.largeImages
  }
  return sum.largeImages === used.largeImages && sum.images < used.images - most ? large : []
}

function replacementOf({ estimator }: View, { row, part, original, sizes }: Medium): PlannedReplacement {
  const text = textFor(row, original)
  const shownAs = original.type === 'tool-result' ? 'toolResults' : 'text'
  const units = estimator.measureText(text, original.type === 'tool-result' ? 'toolResult' : 'text')
  return { row, part, text, saved: savedBy(sizes, shownAs, units) }
}

/** Returns the text in place of a part. A tool result keeps its texts, and each of its images and files becomes a line. */
function textFor(row: ViewRow, part: Part): string {
  if (part.type === 'image' || part.type === 'file') return notice(row, part)
  if (part.type !== 'tool-result' || part.output.type !== 'content') return ''
  return part.output.value
    .flatMap((item) => {
      if (item.type === 'text') return [item.text]
      return item.type === 'image' || item.type === 'file' ? [notice(row, item)] : []
    })
    .join('\n')
}

const [, READ] = RECALL_TOOLS

/** The notice depends only on the part and its place, so that a cached prefix stays valid. */
function notice({ position }: ViewRow, item: ImagePart | FilePart): string {
  const data = item.type === 'image' ? item.image : item.data
  const name = item.type === 'file' ? item.filename?.slice(0, MAX_FILE_NAME_LENGTH) : undefined
  const facts = [
    `${item.type} ${item.mediaType ?? ''}`.trim(),
    ...(name === undefined ? [] : [JSON.stringify(name)]),
    ...(typeof data === 'string' && /^https?:/i.test(data) ? ['by URL'] : [sizeOf(data)]),
    `position ${position}`,
  ]
  return `[${facts.join(', ')}: no longer sent, to stay within the provider's limits. It is still stored; ${READ} at position ${position} returns the messages around it.]`
}

function sizeOf(data: string | Uint8Array): string {
  const bytes = typeof data === 'string' ? Math.floor((data.length * 3) / 4) : data.length
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
