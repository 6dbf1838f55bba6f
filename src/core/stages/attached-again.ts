import { type FileBlock, fileBlocks } from '../files/file-blocks.ts'
import { normalizePath } from '../line-range.ts'
import { listIn } from '../lists.ts'
import { type PlannedReplacement, savedBy } from '../plan.ts'
import { NO_SIZES } from '../tokens.ts'
import type { View, ViewRow } from '../view.ts'
import type { StageContext } from './stage.ts'

/*
 * Files that a user attached more than once, as `buildFileContextSection` puts them into a message. Of each the newest
 * whole copy stays, and an earlier one points to it; the user's own words around it stay as they are. Source: seed 002,
 * checklist S2-050. Attachments that are parts of type `file` stay: no text may lie over them.
 */

/** What stands for an earlier copy of an attached file. */
function attachedAgainText(name: string): string {
  return `[File ${name} - refer to latest attachment below]`
}

/** A mark and its end: no message with an attachment is shorter. */
const SHORTEST_MARKS =
  '[file data-000000000000000000000000 "a"]\n\n[end of file data-000000000000000000000000]'

/** One copy of a file. */
type Copy = { readonly place: TextPlace; readonly block: FileBlock; readonly units: number }

/** A text of a user that holds files, and shows its original. */
type TextPlace = {
  readonly index: number
  readonly row: ViewRow
  readonly part: number
  readonly text: string
}

/** One text whose earlier copies point to later ones. */
type Pointing = { readonly replacement: PlannedReplacement; readonly to: readonly TextPlace[] }

export type AttachedAgain = {
  readonly pointing: readonly Pointing[]
  /** Units of all copies of the files concerned, and of what is saved. */
  readonly candidateUnits: number
  readonly savedUnits: number
  /** The paths concerned, normalised. */
  readonly paths: ReadonlySet<string>
}

/** The rows in which attachments may stand; none when there are fewer than two. */
export function attachmentRows(view: View): readonly ViewRow[] {
  const least = view.estimator.measureText(SHORTEST_MARKS)
  const rows = view.rows.filter(
    ({ kind, role, speaks, sizes }) => kind === 'message' && role === 'user' && speaks && sizes.text >= least,
  )
  return rows.length < 2 ? [] : rows
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

function canPoint({ turns }: View, { row, index }: TextPlace): boolean {
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
