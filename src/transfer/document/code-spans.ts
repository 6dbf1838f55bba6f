/** A piece of a line: words, or code with the backticks around it. */
export type Piece = { readonly text: string; readonly fence: string | undefined }

/** The pieces of a line, in order. Source: CommonMark 0.31, section 6.1, within one line. */
export function piecesOf(line: string): Piece[] {
  if (!line.includes('`')) return [{ text: line, fence: undefined }]
  const pieces: Piece[] = []
  let at = 0
  for (const { index, 0: fence } of line.matchAll(/`+/g)) {
    if (index < at || line[index - 1] === '\\') continue
    const end = closing(line, index + fence.length, fence.length)
    if (end === undefined) continue
    pieces.push({ text: line.slice(at, index), fence: undefined })
    pieces.push({ text: line.slice(index + fence.length, end), fence })
    at = end + fence.length
  }
  return [...pieces, { text: line.slice(at), fence: undefined }]
}

function closing(line: string, from: number, length: number): number | undefined {
  for (const { index, 0: run } of line.slice(from).matchAll(/`+/g))
    if (run.length === length) return from + index
  return undefined
}
