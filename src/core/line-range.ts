import type { Json } from './json.ts'
import { pathArgument } from './tool-names.ts'
import type { LineRange } from './view.ts'

/** Pairs of arguments that give the first line, and how many or up to which. */
const FROM_ARGUMENTS = [
  'offset',
  'start_line',
  'startLine',
  'line_start',
  'start',
  'from',
  'start_line_one_indexed',
]
const COUNT_ARGUMENTS = ['limit', 'num_lines', 'numLines', 'line_count', 'lines']
const TO_ARGUMENTS = ['end_line', 'endLine', 'line_end', 'end', 'to', 'end_line_one_indexed_inclusive']

/** The lines a read asks for: all of them when its arguments name none. */
export function requestedRange(input: Json): LineRange {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return { from: 1 }
  const argumentsByName = input as { readonly [name: string]: Json | undefined }
  const viewRange = argumentsByName.view_range
  if (Array.isArray(viewRange))
    return fromTo(lineNumber(viewRange[0] as Json), lineNumber(viewRange[1] as Json))
  const from = firstNumber(argumentsByName, FROM_ARGUMENTS)
  const count = firstNumber(argumentsByName, COUNT_ARGUMENTS)
  if (count !== undefined) return fromTo(from, Math.max(1, from ?? 1) + count - 1)
  return fromTo(from, firstNumber(argumentsByName, TO_ARGUMENTS))
}

function fromTo(from: number | undefined, to: number | undefined): LineRange {
  const first = Math.max(1, from ?? 1)
  return to === undefined || to < first ? { from: first } : { from: first, to }
}

function firstNumber(
  input: { readonly [name: string]: Json | undefined },
  names: readonly string[],
): number | undefined {
  for (const name of names) {
    const value = lineNumber(input[name])
    if (value !== undefined) return value
  }
  return undefined
}

function lineNumber(value: Json | undefined): number | undefined {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined
}

/** How far from the ends of a result a notice of the tool is looked for, in characters. */
const NOTICE_REACH = 400

/**
 * The lines a read really showed. Tools cut long files and say so in the result ("lines 1-1603 of 2377",
 * "continue with offset=1604"); a read that was cut does not stand for the whole file.
 */
export function shownRange(requested: LineRange, text: string): LineRange {
  const notices =
    text.length <= 2 * NOTICE_REACH ? text : `${text.slice(0, NOTICE_REACH)}\n${text.slice(-NOTICE_REACH)}`
  const lines = /\blines?\s+(\d{1,9})\s*(?:-|–|to|through)\s*(\d{1,9})\s+of\s+(\d{1,9})/i.exec(notices)
  if (lines !== null) {
    const [from, to, of] = [Number(lines[1]), Number(lines[2]), Number(lines[3])]
    if (from >= 1 && to >= from) return to >= of ? { from } : { from, to }
  }
  const continued =
    /\boffset\s*[=:]?\s*(\d{1,9})\b[^\n]{0,40}\bcontinue\b|\bcontinue\b[^\n]{0,40}\boffset\s*[=:]?\s*(\d{1,9})\b/i.exec(
      notices,
    )
  if (continued !== null) {
    const next = Number(continued[1] ?? continued[2])
    if (next > requested.from) return { from: requested.from, to: next - 1 }
  }
  const shown = requested.from + countLines(text) - 1
  if (/\btruncated\b/i.test(text.slice(-NOTICE_REACH)))
    return { from: requested.from, to: Math.max(requested.from, shown) }
  // Asked for so many lines and got fewer, with no word of a cut: that was the end of the file.
  if (requested.to !== undefined && shown < requested.to) return { from: requested.from }
  return requested
}

/** Whether every line of `inner` is in `outer`. */
export function coversRange(outer: LineRange, inner: LineRange): boolean {
  if (outer.from > inner.from) return false
  return outer.to === undefined || (inner.to !== undefined && inner.to <= outer.to)
}

function countLines(text: string): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
  return text.endsWith('\n') ? lines - 1 : lines
}

/** One spelling of a path: forward slashes, no `.`, `..`, doubled slashes, quotes or `file://`. */
export function normalizePath(path: string): string {
  const plain = path
    .trim()
    .replace(/^['"`]+|['"`]+$/g, '')
    .replace(/^file:\/\//, '')
    .replaceAll('\\', '/')
  const rooted = plain.startsWith('/')
  const steps: string[] = []
  for (const step of plain.split('/')) {
    if (step === '' || step === '.') continue
    if (step === '..' && steps.length > 0 && steps.at(-1) !== '..') steps.pop()
    else if (step !== '..' || !rooted) steps.push(step)
  }
  const joined = steps.join('/')
  const drive = joined.replace(/^[A-Z]:/, (letter) => letter.toLowerCase())
  return rooted ? `/${drive}` : drive
}

/** The path a call names, when it names just one: a read of several files stands for none of them alone. */
export function singlePath(input: Json, pathArguments?: readonly string[]): string | undefined {
  const path = pathArgument(input, pathArguments)
  if (path === undefined || typeof input !== 'object' || input === null) return undefined
  return Object.values(input).some((value) => value === path) ? path : undefined
}
