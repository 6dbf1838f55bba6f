/*
 * Fenced code in what somebody wrote. Source: CommonMark 0.31, section 4.5. A fence that is never closed goes on to the end.
 */

/** A block of code between fences. */
type CodeBlock = {
  /** Columns before the fence. */
  readonly indent: number
  /** The language, or what else was said of the code: letters, digits and a few signs, nothing that says something to a renderer. */
  readonly info: string
  readonly lines: readonly string[]
  /** The line behind it. */
  readonly next: number
}

/** The block of code that begins at a line, or `undefined`. `first` is read in place of that line. */
export function codeBlockAt(
  lines: readonly string[],
  at: number,
  first: string = lines[at]!,
): CodeBlock | undefined {
  const opening = /^( *)(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(spaced(first))
  if (opening === null) return undefined
  const [, before, fence, said] = opening as unknown as readonly [string, string, string, string]
  const content: string[] = []
  let next = at + 1
  for (; next < lines.length; next++) {
    const line = spaced(lines[next]!)
    if (closes(line, fence, before.length)) break
    content.push(line.slice(Math.min(before.length, leadingSpaces(line))))
  }
  return { indent: before.length, info: infoOf(said), lines: content, next: Math.min(next + 1, lines.length) }
}

/** A fence of backticks that no run of them within a text can close. */
export function fenceAround(text: string): string {
  return '`'.repeat(Math.max(3, longestRun(text) + 1))
}

/** The length of the longest run of backticks in a text. */
export function longestRun(text: string): number {
  let longest = 0
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return longest
}

/** A line with the tabs before its text as spaces, four columns apart. */
export function spaced(line: string): string {
  const blank = /^[ \t]*/.exec(line)![0]
  if (!blank.includes('\t')) return line
  let columns = 0
  for (const character of blank) columns += character === '\t' ? 4 - (columns % 4) : 1
  return ' '.repeat(columns) + line.slice(blank.length)
}

export function leadingSpaces(line: string): number {
  return /^ */.exec(line)![0].length
}

function closes(line: string, fence: string, indent: number): boolean {
  const text = line.trimEnd()
  const spaces = leadingSpaces(text)
  const run = text.slice(spaces)
  return spaces <= indent + 3 && run.length >= fence.length && run === fence[0]!.repeat(run.length)
}

/** Braces and signs of equality mean attributes, or raw HTML, to some renderers. */
function infoOf(said: string): string {
  return said
    .trim()
    .replaceAll(/[^\p{L}\p{N} _+#.,:/\\()-]/gu, '')
    .slice(0, 80)
    .trim()
}

/** A piece of a line: words, or code with the backticks around it. */
type Piece = { readonly text: string; readonly fence: string | undefined }

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
