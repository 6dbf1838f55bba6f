import { createHash } from 'node:crypto'
import { type FileBlock, fileBlocks } from '../files/attached-file.ts'
import { listIn } from '../messages/json.ts'
import type { FilePart, ImagePart } from '../messages/message.ts'
import { normalizePath } from '../model/line-range.ts'
import { type PlannedReplacement, savedBy } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { measurePart, NO_SIZES, type Sizes } from '../tokens/measure.ts'
import type { StageContext } from './stage.ts'

/*
 * Files that a user attached more than once: in the sections of `buildFileContextSection`, by their path, or as parts of type `file`
 * or `image`, by their bytes. The newest whole copy of each stays, and earlier ones point to it; the user's text around them is
 * unchanged.
 */

/** The text in place of an earlier copy of an attached file. */
function attachedAgainText(name: string): string {
  return `[File ${name} - refer to latest attachment below]`
}

/** The length of a mark and its end: no message with an attachment is shorter. */
const SHORTEST_MARKS =
  '[file data-000000000000000000000000 "a"]\n\n[end of file data-000000000000000000000000]'

/** One copy of a file. */
type Copy = { readonly place: TextPlace; readonly block: FileBlock; readonly units: number }

/** A text of a user that contains files and shows its original. */
type TextPlace = {
  readonly index: number
  readonly row: ViewRow
  readonly part: number
  readonly text: string
}

/** One text whose earlier copies point to later ones. */
type Pointing = {
  readonly replacement: PlannedReplacement
  readonly to: readonly Pick<TextPlace, 'row' | 'part'>[]
}

type AttachedAgain = {
  readonly pointing: readonly Pointing[]
  /** Units of all copies of these files, and the saved units. */
  readonly candidateUnits: number
  readonly savedUnits: number
  /** These files, by their normalized paths or the names of their bytes. */
  readonly paths: ReadonlySet<string>
}

/** The most rows with images and files that are compared, newest first: their bytes are read. */
const MOST_MEDIA_ROWS = 50

/** The rows that may contain attachments; none when there are fewer than two. */
export function attachmentRows(view: View): readonly ViewRow[] {
  const least = view.estimator.measureText(SHORTEST_MARKS)
  const spoken = view.rows.filter(({ kind, role, speaks }) => kind === 'message' && role === 'user' && speaks)
  const withMedia = new Set(spoken.filter(({ sizes }) => sizes.media > 0).slice(-MOST_MEDIA_ROWS))
  const rows = spoken.filter(
    (row) => withMedia.has(row) || (row.sizes.media === 0 && row.sizes.text >= least),
  )
  return rows.length < 2 ? [] : rows
}

/** An image or file of a user, with the name of its bytes. */
type Medium = {
  readonly index: number
  readonly row: ViewRow
  readonly part: number
  readonly sizes: Sizes
  readonly units: number
  readonly bytes: string
  readonly name: string
}

/** Newest first: the last part with the same bytes stays, and earlier ones in other messages point to it. */
export function mediaAgain(view: View, contentOf: StageContext['contentOf']): AttachedAgain {
  const survivors = new Map<string, Medium>()
  const candidates = new Map<string, number>()
  const paths = new Set<string>()
  const pointing: Pointing[] = []
  let savedUnits = 0
  for (const medium of mediaIn(view, contentOf)) {
    const { row, part, bytes, name, sizes, units } = medium
    candidates.set(bytes, (candidates.get(bytes) ?? 0) + units)
    const by = survivors.get(bytes)
    if (by === undefined) survivors.set(bytes, medium)
    const text = attachedAgainText(name)
    const shown = view.estimator.measureText(text)
    if (by === undefined || by.row === row || !canPoint(view, medium) || shown >= units) continue
    savedUnits += units - shown
    pointing.push({ replacement: { row, part, text, saved: savedBy(sizes, 'text', shown) }, to: [by] })
    paths.add(bytes)
  }
  let candidateUnits = 0
  for (const path of paths) candidateUnits += candidates.get(path)!
  return { pointing, candidateUnits, savedUnits, paths }
}

function mediaIn(view: View, contentOf: StageContext['contentOf']): Medium[] {
  const media = attachmentRows(view).flatMap((row) =>
    contentOf(row).flatMap((content, part): Medium[] => {
      if (content.type !== 'image' && content.type !== 'file') return []
      if (row.shown.some((entry) => entry.part === part)) return []
      const sizes = measurePart(content, view.estimator)
      const index = view.indexOf(row.key)!
      return [{ index, row, part, sizes, units: sizes.text + sizes.media, ...calledBy(content) }]
    }),
  )
  return media.reverse()
}

/** The longest file name in a reference. */
const LONGEST_NAME = 300

function calledBy(content: ImagePart | FilePart): Pick<Medium, 'bytes' | 'name'> {
  const { type, mediaType = 'image' } = content
  const data = type === 'image' ? content.image : content.data
  const filename = type === 'file' ? content.filename : undefined
  const hash = createHash('sha256').update(data).digest('base64url')
  return {
    bytes: `${type}\n${mediaType}\n${typeof data}\n${hash}`,
    name: filename === undefined ? mediaType : JSON.stringify(filename.slice(0, LONGEST_NAME)),
  }
}

/** Newest first: a text either points to texts that stay, or stays itself for those before it. */
export function attachedAgain(view: View, contentOf: StageContext['contentOf']): AttachedAgain {
  const groups = new Map<string, Copy[]>()
  const survivors = new Map<string, Copy[]>()
  const paths = new Set<string>()
  const pointing: Pointing[] = []
  let savedUnits = 0
  for (const place of placesWithFiles(view, contentOf)) {
    const copies = copiesIn(view, place)
    for (const copy of copies) listIn(groups, normalizePath(copy.block.path)).push(copy)
    const found = canPoint(view, place) ? supersededIn(view, copies, survivors) : []
    const replacement = found.length === 0 ? undefined : pointed(view, place, found)
    if (replacement === undefined) {
      for (const copy of copies)
        if (copy.block.isWhole) listIn(survivors, normalizePath(copy.block.path)).push(copy)
      continue
    }
    for (const { copy } of found) paths.add(normalizePath(copy.block.path))
    savedUnits += replacement.saved.text
    pointing.push({ replacement, to: [...new Set(found.map(({ by }) => by.place))] })
  }
  let candidateUnits = 0
  for (const path of paths) for (const { units } of groups.get(path) ?? []) candidateUnits += units
  return { pointing, candidateUnits, savedUnits, paths }
}

function placesWithFiles(view: View, contentOf: StageContext['contentOf']): TextPlace[] {
  const places = attachmentRows(view).flatMap((row) => {
    const index = view.indexOf(row.key)!
    return contentOf(row).flatMap((content, part): TextPlace[] => {
      const isShown = content.type === 'text' && row.shown.every((entry) => entry.part !== part)
      return isShown ? [{ index, row, part, text: content.text }] : []
    })
  })
  return places.reverse()
}

function copiesIn({ estimator }: View, place: TextPlace): Copy[] {
  return fileBlocks(place.text).map((block) => ({
    place,
    block,
    units: estimator.measureText(block.content),
  }))
}

function canPoint({ turns }: View, { row, index }: Pick<TextPlace, 'row' | 'index'>): boolean {
  return !row.pinned && !turns.pending.has(index)
}

type Superseded = { readonly copy: Copy; readonly by: Copy }

/** A copy not longer than the reference stays. */
function supersededIn(
  { estimator }: View,
  copies: readonly Copy[],
  survivors: ReadonlyMap<string, readonly Copy[]>,
): Superseded[] {
  return copies.flatMap((copy) => {
    const [by] = survivors.get(normalizePath(copy.block.path)) ?? []
    const isShort = estimator.measureText(attachedAgainText(copy.block.name)) >= copy.units
    return by === undefined || isShort ? [] : [{ copy, by }]
  })
}

/** The text with references in place of some files; `undefined` when it would not be shorter. */
function pointed(
  { estimator }: View,
  { row, part, text }: TextPlace,
  found: readonly Superseded[],
): PlannedReplacement | undefined {
  let shown = ''
  let done = 0
  for (const { copy } of found) {
    shown += text.slice(done, copy.block.from) + attachedAgainText(copy.block.name)
    done = copy.block.to
  }
  shown += text.slice(done)
  const [before, after] = [estimator.measureText(text), estimator.measureText(shown)]
  if (after >= before) return undefined
  return { row, part, text: shown, saved: savedBy({ ...NO_SIZES, text: before }, 'text', after) }
}
