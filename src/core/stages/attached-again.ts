import { createHash } from 'node:crypto'
import { type FileBlock, fileBlocks } from '../files/attached-file.ts'
import type { FilePart, ImagePart } from '../messages/message.ts'
import { normalizePath } from '../model/line-range.ts'
import { type PlannedReplacement, savedBy } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { measurePart, NO_SIZES, type Sizes } from '../tokens/measure.ts'
import type { StageContext } from './stage.ts'

/*
 * Files that a user attached more than once: in the sections of `buildFileContextSection`, compared by path, or as parts of type `file`
 * or `image`, compared by bytes. The newest whole copy of each stays, and earlier copies point to it; the user's text around them is
 * unchanged.
 */

function attachedAgainText(name: string): string {
  return `[File ${name} - refer to latest attachment below]`
}

/** The length of an opening and an end mark: no message with an attachment is shorter. */
const MIN_ATTACHMENT =
  '[file data-000000000000000000000000 "a"]\n\n[end of file data-000000000000000000000000]'

/** A user's text that contains files, or an image or file, that shows its original. */
type Place = {
  readonly index: number
  readonly row: ViewRow
  readonly part: number
  readonly sizes: Sizes
  /** The files in the part. */
  readonly copies: readonly Copy[]
  /** Returns the part's text with references in place of the given copies. */
  readonly textWith: (replaced: readonly Copy[]) => string
}

/** One copy of a file. */
type Copy = {
  /** The normalized path, or a name derived from the bytes. */
  readonly file: string
  readonly name: string
  readonly units: number
  /** Whether other copies may point to it. */
  readonly isWhole: boolean
  /** The place of the copy in a text. */
  readonly block?: FileBlock
}

/** One part with earlier copies that point to later ones. */
type Pointing = {
  readonly replacement: PlannedReplacement
  readonly to: readonly Pick<Place, 'row' | 'part'>[]
}

type AttachedAgain = {
  readonly pointing: readonly Pointing[]
  /** Units of all copies of these files, and the saved units. */
  readonly candidateUnits: number
  readonly savedUnits: number
  /** The files of which the part contains earlier copies. */
  readonly files: ReadonlySet<string>
}

/** The most rows with images and files that are compared, newest first, because their bytes must be read. */
const MAX_MEDIA_ROWS = 50

/** Returns the rows that may contain attachments; an empty list if there are fewer than two. */
export function attachmentRows(view: View): readonly ViewRow[] {
  const least = view.estimator.measureText(MIN_ATTACHMENT)
  const spoken = view.rows.filter(({ kind, role, speaks }) => kind === 'message' && role === 'user' && speaks)
  const withMedia = new Set(spoken.filter(({ sizes }) => sizes.media > 0).slice(-MAX_MEDIA_ROWS))
  const rows = spoken.filter(
    (row) => withMedia.has(row) || (row.sizes.media === 0 && row.sizes.text >= least),
  )
  return rows.length < 2 ? [] : rows
}

/**
 * Goes through the parts from the newest to the oldest: a part either points to parts that stay, or stays itself as the target of older
 * parts.
 */
export function attachedAgain(view: View, contentOf: StageContext['contentOf']): AttachedAgain {
  const units = new Map<string, number>()
  const survivors = new Map<string, Place>()
  const files = new Set<string>()
  const pointing: Pointing[] = []
  let savedUnits = 0
  for (const place of placesIn(view, contentOf)) {
    for (const copy of place.copies) units.set(copy.file, (units.get(copy.file) ?? 0) + copy.units)
    const mayPoint = !place.row.pinned && !view.turns.pending.has(place.index)
    const found = mayPoint ? place.copies.filter((copy) => isSuperseded(view, copy, place, survivors)) : []
    const replacement = found.length === 0 ? undefined : replacementOf(view, place, found)
    if (replacement === undefined) {
      for (const { file, isWhole } of place.copies)
        if (isWhole && !survivors.has(file)) survivors.set(file, place)
      continue
    }
    for (const { file } of found) files.add(file)
    savedUnits += replacement.saved.text + replacement.saved.media
    pointing.push({ replacement, to: [...new Set(found.map(({ file }) => survivors.get(file)!))] })
  }
  let candidateUnits = 0
  for (const file of files) candidateUnits += units.get(file)!
  return { pointing, candidateUnits, savedUnits, files }
}

/** Returns the parts with attachments, newest first: texts, then images and files. */
function placesIn(view: View, contentOf: StageContext['contentOf']): Place[] {
  const texts: Place[] = []
  const media: Place[] = []
  for (const row of attachmentRows(view)) {
    const index = view.indexOf(row.key)!
    for (const [part, content] of contentOf(row).entries()) {
      if (row.shown.some((entry) => entry.part === part)) continue
      const place = { index, row, part }
      if (content.type === 'text') texts.push({ ...place, ...attachedIn(content.text, view.estimator) })
      else if (content.type === 'image' || content.type === 'file')
        media.push({ ...place, ...attachedAs(content, view.estimator) })
    }
  }
  return [...texts.reverse(), ...media.reverse()]
}

type Attached = Pick<Place, 'sizes' | 'copies' | 'textWith'>

function attachedIn(text: string, estimator: Estimator): Attached {
  const copies = fileBlocks(text).map((block) => ({
    file: normalizePath(block.path),
    name: block.name,
    units: estimator.measureText(block.content),
    isWhole: block.isWhole,
    block,
  }))
  const textWith = (replaced: readonly Copy[]): string => {
    let shown = ''
    let done = 0
    for (const { name, block } of replaced) {
      shown += text.slice(done, block!.from) + attachedAgainText(name)
      done = block!.to
    }
    return shown + text.slice(done)
  }
  const units = copies.length === 0 ? 0 : estimator.measureText(text)
  return { sizes: { ...NO_SIZES, text: units }, copies, textWith }
}

/** The longest file name in a reference, in UTF-16 units. */
const MAX_FILE_NAME_LENGTH = 300

function attachedAs(content: ImagePart | FilePart, estimator: Estimator): Attached {
  const { type, mediaType = 'image' } = content
  const data = type === 'image' ? content.image : content.data
  const filename = type === 'file' ? content.filename : undefined
  const hash = createHash('sha256').update(data).digest('base64url')
  const name = filename === undefined ? mediaType : JSON.stringify(filename.slice(0, MAX_FILE_NAME_LENGTH))
  const sizes = measurePart(content, estimator)
  const copy = {
    file: `${type}\n${mediaType}\n${typeof data}\n${hash}`,
    name,
    units: sizes.text + sizes.media,
    isWhole: true,
  }
  return { sizes, copies: [copy], textWith: () => attachedAgainText(name) }
}

/** A copy that is not longer than the reference stays. */
function isSuperseded(
  { estimator }: View,
  { file, name, units, block }: Copy,
  { row }: Place,
  survivors: ReadonlyMap<string, Place>,
): boolean {
  const by = survivors.get(file)
  if (by === undefined || estimator.measureText(attachedAgainText(name)) >= units) return false
  // The same image twice in one message is intended.
  return block !== undefined || by.row !== row
}

/** Returns the part with references in place of some files; `undefined` if it would not be shorter. */
function replacementOf(
  { estimator }: View,
  { row, part, sizes, textWith }: Place,
  found: readonly Copy[],
): PlannedReplacement | undefined {
  const text = textWith(found)
  const shown = estimator.measureText(text)
  if (shown >= sizes.text + sizes.media) return undefined
  return { row, part, text, saved: savedBy(sizes, 'text', shown) }
}
