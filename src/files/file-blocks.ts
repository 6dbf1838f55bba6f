/** Where a file stands in a text that `buildFileContextSection` made, marks included. */
import { listIn } from '../messages/lists.ts'

export type FileBlock = {
  /** UTF-16 units: from the first unit of its mark to behind its end mark. */
  readonly from: number
  readonly to: number
  /** What stands between the marks. */
  readonly content: string
  readonly path: string
  /** The path as the mark has it: quoted, on one line. */
  readonly name: string
  /** Neither a summary nor only a beginning. */
  readonly isWhole: boolean
}

const OPENING = '[file data-'
const CLOSING = '\n[end of file data-'
/** Units of a fence behind `data-`: see `fenceFor`. */
const FENCE_UNITS = 24
/** No mark is longer: 300 units of a path, each escaped. */
const LONGEST_MARK = 2_000
const MARK = /^\[file (data-[0-9a-f]{24}) ("(?:[^"\\]|\\.)*")(, a summary|, only its beginning)?\]$/
/** What a file without a path is called: a number, which is another file in the next section. */
const NUMBERED = /^file \d+$/
/** Longest path a mark holds whole; see `fileName`. */
const LONGEST_PATH = 300

/**
 * The files that stand in a text between the marks of `buildFileContextSection`, in order. A mark counts where it begins
 * a line and its own end follows; what stands between the two is content, whatever it looks like. Files without a path
 * of their own, or with one too long to be shown, are left out.
 */
export function fileBlocks(text: string): FileBlock[] {
  if (!text.includes(OPENING)) return []
  const ends = closingsOf(text)
  const blocks: FileBlock[] = []
  let at = text.indexOf(OPENING)
  while (at !== -1) {
    const block = at === 0 || text.charAt(at - 1) === '\n' ? blockAt(text, at, ends) : undefined
    if (block?.path !== undefined) blocks.push(block as FileBlock)
    at = text.indexOf(OPENING, block === undefined ? at + OPENING.length : block.to)
  }
  return blocks
}

/** Where each fence ends something, ascending. Found in one pass: there may be as many openings as one likes. */
function closingsOf(text: string): ReadonlyMap<string, number[]> {
  const ends = new Map<string, number[]>()
  for (let at = text.indexOf(CLOSING); at !== -1; at = text.indexOf(CLOSING, at + CLOSING.length)) {
    const fenceEnd = at + CLOSING.length + FENCE_UNITS
    const behind = text.charAt(fenceEnd + 1)
    if (text.charAt(fenceEnd) !== ']' || (behind !== '' && behind !== '\n')) continue
    listIn(ends, `data-${text.slice(at + CLOSING.length, fenceEnd)}`).push(at)
  }
  return ends
}

type Found = Omit<FileBlock, 'path'> & { readonly path: string | undefined }

function blockAt(text: string, at: number, ends: ReadonlyMap<string, number[]>): Found | undefined {
  const lineEnd = text.indexOf('\n', at)
  if (lineEnd === -1 || lineEnd - at > LONGEST_MARK) return undefined
  const [, fence = '', name = '', what] = MARK.exec(text.slice(at, lineEnd)) ?? []
  const closings = ends.get(fence)
  if (closings === undefined) return undefined
  // Openings are gone through in order, so what lies before this one is done with.
  while (closings.length > 0 && closings[0]! <= lineEnd) closings.shift()
  const end = closings[0]
  if (end === undefined) return undefined
  const to = end + CLOSING.length + FENCE_UNITS + 1
  const content = text.slice(lineEnd + 1, end)
  return { from: at, to, content, path: pathOf(name), name, isWhole: what === undefined }
}

function pathOf(name: string): string | undefined {
  try {
    const path = JSON.parse(name) as string
    return NUMBERED.test(path) || path.length > LONGEST_PATH ? undefined : path
  } catch {
    return undefined
  }
}
