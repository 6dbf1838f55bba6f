import { codeBlockAt, fenceAround, leadingSpaces, piecesOf, spaced } from '../document/code-blocks.ts'
import { visibleText } from '../document/options.ts'

/*
 * The Markdown of a message, kept as far as it stays in its place. Code, lists, quotes, emphasis, tables and links to web addresses are
 * what they were. What could leave the message or reach the reader is made harmless: raw HTML is shown as it was written, headings go
 * below those of the document, blocks of code are closed, pictures become links, definitions of links (which hold for a whole document)
 * and links to anything but the web stay text. A renderer may read Markdown otherwise than we do, so nothing here rests on finding out what
 * it takes for code in a line: `<` is written as itself only between fences that are ours.
 */

/** Levels of headings the document itself uses. */
const OWN_LEVELS = 3
/** Quotes within quotes beyond which a sign of quoting is a character. */
const QUOTE_DEPTH = 8

/** Most columns that code keeps before each of its lines: the columns times the lines are written. */
const DEEPEST_CODE = 80

/** What a message said, ready to stand in the document. */
export function messageMarkdown(text: string): string {
  const kept = keptLines(visibleText(text).split('\n'), 0).join('\n')
  return kept.replace(/^\n+/, '').trimEnd()
}

/** Reading the lines of one level of quoting. */
type Course = { readonly out: string[]; readonly depth: number; inList: boolean; isBlank: boolean }

function keptLines(lines: readonly string[], depth: number): string[] {
  const course: Course = { out: [], depth, inList: false, isBlank: true }
  let at = 0
  while (at < lines.length) at = keepBlock(lines, at, course)
  return course.out
}

/** Keeps what begins at a line; answers the line behind it. */
function keepBlock(lines: readonly string[], at: number, course: Course): number {
  return keepCode(lines, at, course) ?? keepQuote(lines, at, course) ?? keepLine(lines[at]!, at, course)
}

function keepCode(lines: readonly string[], at: number, course: Course): number | undefined {
  const line = lines[at]!
  const block = codeBlockAt(lines, at)
  if (block !== undefined) {
    writeCode(block.lines, block.indent, block.info, course)
    return block.next
  }
  const isIndented =
    course.isBlank && !course.inList && line.trim() !== '' && leadingSpaces(spaced(line)) >= 4
  if (isIndented) return keepIndented(lines, at, course)
  const item = /^(\s*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+)(?=`{3,}[^`]*$|~{3,})/.exec(line)
  if (item === null) return undefined
  // Code that begins on the line of its list item: the sign of the item gets a line of its own.
  const marker = spaced(item[1]!)
  const behind = codeBlockAt(lines, at, ' '.repeat(marker.length) + line.slice(item[1]!.length))!
  // Alone on its line it would underline a paragraph, and make a heading of it.
  if (!course.isBlank) course.out.push('')
  course.out.push(marker.trimEnd())
  course.isBlank = false
  course.inList = true
  writeCode(behind.lines, behind.indent, behind.info, course)
  return behind.next
}

/** Every line has the fence's indentation at least, so it is code in a list and outside of one. */
function writeCode(lines: readonly string[], indent: number, info: string, course: Course): void {
  const margin = ' '.repeat(Math.min(indent, DEEPEST_CODE))
  const fence = fenceAround(lines.join('\n'))
  // So far to the right it could go on the paragraph before.
  if (indent >= 4 && !course.isBlank) course.out.push('')
  course.out.push(`${margin}${fence}${info}`)
  for (const line of lines) course.out.push(line === '' ? '' : margin + line)
  course.out.push(`${margin}${fence}`)
  course.isBlank = true
}

function keepIndented(lines: readonly string[], at: number, course: Course): number {
  let end = at
  while (end < lines.length && (lines[end]!.trim() === '' || leadingSpaces(spaced(lines[end]!)) >= 4)) end++
  while (lines[end - 1]!.trim() === '') end--
  writeCode(
    lines.slice(at, end).map((line) => spaced(line).slice(4)),
    0,
    '',
    course,
  )
  return end
}

function keepQuote(lines: readonly string[], at: number, course: Course): number | undefined {
  const opening = /^( {0,3})>/.exec(lines[at]!)
  if (opening === null || course.depth >= QUOTE_DEPTH) return undefined
  let end = at
  while (end < lines.length && /^ {0,3}>/.test(lines[end]!)) end++
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ''))
  for (const line of keptLines(inner, course.depth + 1)) course.out.push(`${opening[1]}> ${line}`.trimEnd())
  course.isBlank = true
  return end
}

const CONTAINERS = /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)|>[ \t]*)*)(.*)$/

function keepLine(line: string, at: number, course: Course): number {
  const [, containers, rest] = CONTAINERS.exec(line) as unknown as readonly [string, string, string]
  const isItem = containers.trim() !== ''
  if (isItem) course.inList = true
  else if (line.trim() !== '' && leadingSpaces(spaced(line)) === 0 && course.isBlank) course.inList = false
  course.out.push(isUnderline(line) && !course.isBlank ? escapedUnderline(line) : containers + keptText(rest))
  course.isBlank = line.trim() === ''
  return at + 1
}

/** What would make a heading of the line before. */
function isUnderline(line: string): boolean {
  return /^[ \t>]*(?:=+|-+)[ \t]*$/.test(line) && line.trim() !== ''
}

function escapedUnderline(line: string): string {
  return line.replace(/[=-]/, '\\$&')
}

function keptText(text: string): string {
  const kept = keptInline(text)
  // Code behind it may have become elements, so that only now it is a fence.
  if (/^(?:`{3,}[^`]*$|~{3,}|>)/.test(kept)) return `\\${kept}`
  const heading = /^(#{1,6})(?=[ \t]|$)/.exec(text)
  if (heading === null) return kept
  const level = Math.min(6, heading[1]!.length + OWN_LEVELS)
  return `${'#'.repeat(level)}${keptInline(text.slice(heading[1]!.length))}`
}

/** A line of words. Code within it stays as it is where it holds nothing of what is escaped, and else becomes `<code>`. */
function keptInline(line: string): string {
  return piecesOf(line)
    .map(({ text, fence }) => {
      if (fence === undefined) return keptWords(text)
      return keptWords(text) === text ? fence + text + fence : `<code>${inertText(text.trim())}</code>`
    })
    .join('')
}

/** The begin of a link to anything but the web, a letter, a place in the document or a path beside it; or one that is spelled in another way. */
const OTHER_LINK = /\]\((?!https?:\/\/|mailto:|#|\.{0,2}\/|[\w./-]+[)#? ])/gi

function keptWords(text: string): string {
  return text
    .replaceAll('<', '&lt;')
    .replaceAll('![', '&#33;[')
    .replaceAll(']:', ']&#58;')
    .replace(OTHER_LINK, ']&#40;')
}

/** Any text as characters that mean nothing to HTML and Markdown, within a line. */
export function inertText(text: string): string {
  return text.replace(
    /[&<>`*_~[\]{}#!|\\$@]/g,
    (character) => NAMED.get(character) ?? `&#${character.charCodeAt(0)};`,
  )
}

const NAMED: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
])
