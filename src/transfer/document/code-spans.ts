/** A piece of a line: words, or code with the backticks around it. */
export type Piece = { readonly text: string; readonly fence: string | undefined }

/** The pieces of a line, in order. Source: CommonMark 0.31, section 6.1, within one line. */
export function piecesOf(line: string): Piece[] {
  if (!line.includes('`')) return [{ text: line, fence: undefined }]
  const pieces: Piece[] = []
  let at = 0
  for (const { index, fence, end } of runsIn(line)) {
    if (end === undefined || index < at || line[index - 1] === '\\') continue
    pieces.push({ text: line.slice(at, index), fence: undefined })
    pieces.push({ text: line.slice(index + fence.length, end), fence })
    at = end + fence.length
  }
  return [...pieces, { text: line.slice(at), fence: undefined }]
}

type Run = { readonly index: number; readonly fence: string; readonly end: number | undefined }

/** The runs of backticks in a line, each with the place of the next run of its length. Found in one pass from the end. */
function runsIn(line: string): Run[] {
  const next = new Map<number, number>()
  return [...line.matchAll(/`+/g)]
    .reverse()
    .map(({ index, 0: fence }) => {
      const end = next.get(fence.length)
      next.set(fence.length, index)
      return { index, fence, end }
    })
    .reverse()
}
