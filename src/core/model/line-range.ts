import { createHash } from 'node:crypto'
import { withoutTrailing } from '../messages/characters.ts'
import { canonicalJson, type Json } from '../messages/json.ts'
import { PATH_ARGUMENTS, pathArgument } from '../messages/tool-names.ts'
import type { CallEntry, LineRange } from './view-row.ts'

/** A call with the key that distinguishes its read from other reads of the same path. */
export type IndexedCall = CallEntry & {
  /** A key of the arguments other than path and lines (`ref`, `pages` …), if there are any. */
  readonly variant?: string
}

/** Pairs of arguments: the first line, and the number of lines or the last line. */
const FROM_ARGUMENTS = [
  'offset',
  'start_line',
  'startLine',
  'line_start',
  'start',
  'from',
  'start_line_one_indexed',
]
const COUNT_ARGUMENTS = ['limit', 'num_lines', 'numLines', 'line_count', 'lines', 'head']
const TO_ARGUMENTS = ['end_line', 'endLine', 'line_end', 'end', 'to', 'end_line_one_indexed_inclusive']
/** Arguments that count lines from the end. */
const TAIL_ARGUMENTS = ['tail']

const RANGE_ARGUMENTS: ReadonlySet<string> = new Set([
  'view_range',
  ...FROM_ARGUMENTS,
  ...COUNT_ARGUMENTS,
  ...TO_ARGUMENTS,
  ...TAIL_ARGUMENTS,
])

/** Arguments that describe a call to people and don't change what is read. */
const REMARKS: ReadonlySet<string> = new Set(['explanation', 'task_progress'])

/** Lines without known numbers, such as those of `tail`: they cover nothing, and only the whole file covers them. */
export const UNKNOWN_LINES: LineRange = { from: 1, to: 0 }

type Arguments = { readonly [name: string]: Json | undefined }

/** Returns the lines that a read requests: all lines if its arguments specify none. */
export function requestedRange(input: Json): LineRange {
  return rangeArguments(input).range
}

/** Returns the lines that a read requests, and the names of the arguments that specify them. */
function rangeArguments(input: Json): { readonly range: LineRange; readonly names: readonly string[] } {
  if (!isArguments(input) || !namesRange(input)) return { range: { from: 1 }, names: [] }
  const tail = firstNumber(input, TAIL_ARGUMENTS)
  if (tail !== undefined) return { range: UNKNOWN_LINES, names: [tail.name] }
  const viewRange = input.view_range
  if (Array.isArray(viewRange)) {
    const [first, last] = viewRange as readonly (Json | undefined)[]
    const range = isNegative(first) ? UNKNOWN_LINES : fromTo(lineNumber(first), lineNumber(last))
    return { range, names: viewRange.length === 2 ? ['view_range'] : [] }
  }
  // Counted from the end, so the line numbers are unknown.
  const backwards = FROM_ARGUMENTS.find((name) => isNegative(input[name]))
  if (backwards !== undefined) return { range: UNKNOWN_LINES, names: [] }
  const from = firstNumber(input, FROM_ARGUMENTS)
  const count = firstNumber(input, COUNT_ARGUMENTS)
  const to = count === undefined ? firstNumber(input, TO_ARGUMENTS) : undefined
  const last = count === undefined ? to?.value : Math.max(1, from?.value ?? 1) + count.value - 1
  const names = [from, count, to].flatMap((found) => (found === undefined ? [] : [found.name]))
  return { range: fromTo(from?.value, last), names }
}

/** A quick check: most calls specify no lines, and every appended call is read. */
function namesRange(input: Arguments): boolean {
  for (const name in input) if (RANGE_ARGUMENTS.has(name)) return true
  return false
}

/** The longest text of the remaining arguments that is kept unchanged; longer texts are hashed. */
const VARIANT_LENGTH = 24

/**
 * Returns a key of the arguments other than path and lines (a revision, pages, a cell, an encoding, a repository), or `undefined` if
 * there are none. Equal arguments have equal keys: two calls that differ in any of them read different things. `null` counts as absent.
 */
export function readVariant(
  input: Json,
  path: string | undefined,
  pathArguments: readonly string[] = PATH_ARGUMENTS,
): string | undefined {
  if (!isArguments(input)) return path === undefined ? shortened(canonicalJson(input)) : undefined
  const { names } = rangeArguments(input)
  const rest = Object.entries(input).filter(
    ([name, value]) =>
      value !== undefined &&
      value !== null &&
      !names.includes(name) &&
      !REMARKS.has(name) &&
      !(path !== undefined && value === path && pathArgument({ [name]: value }, pathArguments) === path),
  )
  return rest.length === 0 ? undefined : shortened(canonicalJson(Object.fromEntries(rest)))
}

function shortened(text: string): string {
  return text.length <= VARIANT_LENGTH
    ? text
    : createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

function isArguments(input: Json): input is Arguments {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}

function fromTo(from: number | undefined, to: number | undefined): LineRange {
  const first = Math.max(1, from ?? 1)
  return to === undefined || to < first ? { from: first } : { from: first, to }
}

function firstNumber(
  input: Arguments,
  names: readonly string[],
): { readonly name: string; readonly value: number } | undefined {
  for (const name of names) {
    const value = lineNumber(input[name])
    if (value !== undefined) return { name, value }
  }
  return undefined
}

function lineNumber(value: Json | undefined): number | undefined {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined
}

function isNegative(value: Json | undefined): boolean {
  return typeof value === 'number' ? value < 0 : typeof value === 'string' && /^-\d{1,9}$/.test(value)
}

/** How far from the ends of a result a tool's notice may be, in characters. */
const NOTICE_REACH = 400

/** Notices of tools that did not show everything. */
const CUT_NOTICES: readonly RegExp[] = [
  /\b(?:truncated|truncating|truncation|omitted|elided|clipped|snipped)\b/i,
  /\b\d[\d,.]*\s*(?:[kKmM]?[bB]|\w+)?\s*(?:more|additional|further|remaining|other)\s+(?:lines?|rows?|characters?|chars?|bytes?|tokens?|pages?)\b/i,
  /\b(?:more|additional|further|remaining)\s+(?:lines|characters|chars|bytes|tokens|pages|content|output)\b/i,
  /\b(?:lines?|characters?|chars?|bytes?|tokens?|pages?|content|output)\s+(?:are\s+|is\s+|were\s+|was\s+)?(?:not\s+shown|hidden|skipped|remaining|remain|cut)\b/i,
  /\blimit\s+(?:was\s+|is\s+|has\s+been\s+)?(?:reached|exceeded|hit)\b|\b(?:reached|exceed(?:s|ed)?|hit)\b[^\n]{0,40}\blimit\b/i,
  /\b(?:showing|shown|displaying|displayed)\b[^\n]{0,30}\b(?:first|top|only|partial)\b|\bfirst\s+\d+\s+(?:lines?|characters?|bytes?|tokens?)\b/i,
  /\b(?:file|output|content|result)\s+(?:is\s+|was\s+)?too\s+(?:long|large|big)\b/i,
  /(?:^|\n)[^\S\n]*[[(<]?(?:\.\.\.|…)[\])>]?\s*$/,
]

/** A line in the middle of a text that replaces omitted lines, or that announces that only the end is shown. */
const GAP_NOTICE =
  /^[^\p{L}\p{N}\n]{0,20}(?:\d[\d,]*\s+(?:more\s+)?(?:lines?|characters?|chars?|bytes?|tokens?)\s+(?:omitted|truncated|elided|skipped|hidden|not shown)|(?:omitted|truncated|elided|skipped)\s+\d[\d,]*\s+(?:lines?|characters?|chars?|bytes?|tokens?))/imu
const LAST_LINES = /\b(?:showing|shown|displaying|displayed)\b[^\n]{0,30}\b(?:last|final)\s+\d+\s+lines\b/i

/** Returns whether a result has a notice, near its ends or on its own line, that it is incomplete. */
export function isCut(text: string): boolean {
  const notices = noticesOf(text)
  return CUT_NOTICES.some((notice) => notice.test(notices)) || hasGap(text)
}

function hasGap(text: string): boolean {
  return GAP_NOTICE.test(text.slice(0, -NOTICE_REACH)) || LAST_LINES.test(noticesOf(text))
}

function noticesOf(text: string): string {
  return text.length <= 2 * NOTICE_REACH
    ? text
    : `${text.slice(0, NOTICE_REACH)}\n${text.slice(-NOTICE_REACH)}`
}

/**
 * Returns the lines that a read showed. Tools cut long files and report it in the result ("lines 1-1603 of 2377", "continue with
 * offset=1604", "450 more lines"); a cut read doesn't replace the whole file.
 */
export function shownRange(requested: LineRange, text: string): LineRange {
  const notices = noticesOf(text)
  const lines = /\blines?\s+(\d{1,9})\s*(?:-|–|to|through)\s*(\d{1,9})\s*\(?(?:out\s+)?of\s+(\d{1,9})/i.exec(
    notices,
  )
  if (lines !== null) {
    const [from, to, of] = [Number(lines[1]), Number(lines[2]), Number(lines[3])]
    if (from >= 1 && to >= from) return to >= of ? { from } : { from, to }
  }
  if (isUnknown(requested) || hasGap(text)) return UNKNOWN_LINES
  const continued =
    /\boffset\s*[=:]?\s*(\d{1,9})\b[^\n]{0,40}\bcontinue\b|\bcontinue\b[^\n]{0,40}\boffset\s*[=:]?\s*(\d{1,9})\b/i.exec(
      notices,
    )
  if (continued !== null) {
    const next = Number(continued[1] ?? continued[2])
    if (next > requested.from) return { from: requested.from, to: next - 1 }
  }
  if (isCut(text)) {
    const shown = requested.from + countLines(withoutNotice(text)) - 1
    return { from: requested.from, to: Math.max(requested.from, Math.min(shown, requested.to ?? shown)) }
  }
  // Fewer lines than requested, without a notice: the file ended.
  if (requested.to !== undefined && requested.from + countLines(text) - 1 < requested.to)
    return { from: requested.from }
  return requested
}

/** Returns the lines stated in the heading of a result ("Read file a.ts lines 51-120"), if any. */
export function statedRange(text: string): LineRange | undefined {
  const heading = text.slice(0, NOTICE_REACH).split('\n', 1)[0]!
  const match =
    /\b(?:lines?\s+|L)(\d{1,9})\s*(?:-|–|to|through)\s*L?(\d{1,9})\b|:(\d{1,9})-(\d{1,9})\b/i.exec(heading)
  if (match === null) return undefined
  return fromTo(Number(match[1] ?? match[3]), Number(match[2] ?? match[4]))
}

/** Removes a notice from the last line of a text, because it is not a line of the file. */
function withoutNotice(text: string): string {
  const trimmed = text.trimEnd()
  const start = trimmed.lastIndexOf('\n') + 1
  const last = trimmed.slice(start)
  return start > 0 && CUT_NOTICES.some((notice) => notice.test(last.slice(-NOTICE_REACH)))
    ? trimmed.slice(0, start)
    : text
}

function isUnknown({ from, to }: LineRange): boolean {
  return to !== undefined && to < from
}

/** Returns whether every line of `inner` is in `outer`. */
export function coversRange(outer: LineRange, inner: LineRange): boolean {
  if (isUnknown(outer)) return false
  if (isUnknown(inner)) return outer.from === 1 && outer.to === undefined
  if (outer.from > inner.from) return false
  return outer.to === undefined || (inner.to !== undefined && inner.to <= outer.to)
}

/** Also counts escaped line breaks, because some tools return JSON. */
function countLines(text: string): number {
  const lines = 1 + occurrences(text, '\n') + (/^[[{]/.test(text) ? occurrences(text, '\\n') : 0)
  return text.endsWith('\n') ? lines - 1 : lines
}

function occurrences(text: string, what: string): number {
  let count = 0
  for (let at = text.indexOf(what); at !== -1; at = text.indexOf(what, at + what.length)) count++
  return count
}

const QUOTES = '\'"`'

/** Normalizes a path: forward slashes, without `.`, `..`, doubled slashes, quotes or `file://`. */
export function normalizePath(path: string): string {
  const plain = withoutTrailing(path.trim(), QUOTES)
    .replace(/^['"`]+/, '')
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

/** Returns the path of a call with exactly one path: a read of several files doesn't replace a read of one of them. */
export function singlePath(input: Json, pathArguments?: readonly string[]): string | undefined {
  const path = pathArgument(input, pathArguments)
  if (path === undefined || typeof input !== 'object' || input === null) return undefined
  return Object.values(input).some((value) => value === path) ? path : undefined
}

/** Returns the file and the lines of a call that reads exactly one file. */
export function readOf(
  input: Json,
): { readonly path: string; readonly range: LineRange; readonly variant?: string } | undefined {
  const path = singlePath(input)
  if (path === undefined) return undefined
  // Most reads have only a path.
  if (Object.keys(input as Arguments).length === 1) return { path, range: { from: 1 } }
  const range = requestedRange(input)
  const variant = readVariant(input, path)
  return variant === undefined ? { path, range } : { path, range, variant }
}
