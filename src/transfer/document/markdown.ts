import type { Code } from './blocks.ts'
import { type DocumentOptions, type DocumentSettings, time, visibleLine, visibleText } from './options.ts'
import { type PrintedRow, type Printer, printDocument } from './print.ts'
import {
  compactionFacts,
  compactionName,
  type DocumentStore,
  type Fact,
  headingOf,
  rowName,
  type SessionDocument,
  sessionFacts,
  sharesOf,
  statusWords,
} from './session-document.ts'

/**
 * Yields a session as a Markdown document for people, in pieces to write in sequence: title, facts, compactions, then the messages in log
 * order. Messages are read in pages, so a long session needs no more memory than a short one.
 *
 * Hidden rows are omitted with a note in their place. With `hidden: 'show'` they are shown with the reason, and replaced parts with their
 * original. The Markdown of messages is kept, but raw HTML is shown as text, headings move below those of the document, code is closed, and
 * images become links. Invisible characters are shown as symbols or numbers. The same session yields the same bytes.
 *
 * The first piece throws `SESSION_NOT_FOUND`, and `INVALID_INPUT` for invalid options.
 */
export function exportMarkdown(
  store: DocumentStore,
  sessionId: string,
  options: DocumentOptions = {},
): AsyncGenerator<string> {
  return printDocument(MARKDOWN, store, sessionId, options)
}

/** Blocks are paragraphs of Markdown, without line breaks at their ends. */
const MARKDOWN: Printer = {
  verb: 'exportMarkdown',
  noun: 'document',
  defaults: { hidden: 'omit', images: 'word' },
  head: headMarkdown,
  gap: (words) => `\n*${words}.*\n`,
  row: rowMarkdown,
  end: (note) => (note === '' ? '' : `\n*${note}*\n`),
  separator: '\n\n',
  prose: messageMarkdown,
  code: codeMarkdown,
  picture: ({ mediaType, base64 }, words) => `![${inertLine(words)}](data:${mediaType};base64,${base64})`,
  media: (words, address) => `*${inertLine(words)}*${address === undefined ? '' : ` ${codeSpan(address)}`}`,
  // Blank lines around the content make it Markdown again. It can't end the section, because each `<` in it is escaped.
  folded: (_kind, summary, content) => `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`,
  labeled: (_kind, label, content) => `${label}\n\n${content}`,
  toolLabel: (words, { name, id }, failed) =>
    `**${words}${name === undefined ? '' : ` ${codeSpan(name)}`}** (${codeSpan(id)}${failed ? ', failed' : ''})`,
  resultSummary: (words, { name, id }, failed, length) => {
    const tool = name === undefined ? '' : ` <code>${inertLine(name)}</code>`
    return `<strong>${words}${tool}</strong> (<code>${inertLine(id)}</code>${failed ? ', failed' : ''}), ${length}`
  },
  line: inertLine,
  compaction: compactionName,
  replaced: (tool, words, shown, original) =>
    [`${tool ?? '**Part**'}, ${words}`, shown === '' ? '' : fencedMarkdown(shown, ''), original]
      .filter((text) => text !== '')
      .join('\n\n'),
}

function headMarkdown(document: SessionDocument, settings: DocumentSettings): string {
  const { stats, compactions } = document
  const facts = sessionFacts(document, settings.exportedAt).map((fact) => `- ${factMarkdown(fact)}`)
  const shares = stats === undefined ? [] : sharesOf(stats.sizes)
  const shared = shares.map(({ name, share }) => `${name} ${(share / 10).toFixed(1)} %`).join(', ')
  const lines = [`# ${inertText(visibleLine(headingOf(document, settings)))}`, '', ...facts]
  if (shared !== '') lines.push(`- **By category:** ${shared}`)
  if (compactions.length > 0) lines.push('', '## Compactions')
  for (const one of compactions) {
    const { number, compaction } = one
    lines.push('', `**Compaction ${number}: ${compaction.kind}**, ${statusWords(compaction)}`, '')
    for (const fact of compactionFacts(one)) lines.push(`- ${factMarkdown(fact)}`)
  }
  return `${[...lines, '', '## Conversation'].join('\n')}\n`
}

function factMarkdown({ name, words, given }: Fact): string {
  const text = given === undefined ? '' : codeSpan(given)
  return `**${name}:** ${[words, text].filter((part) => part !== '').join(' ')}`
}

function rowMarkdown({ row, by, reason, blocks }: PrintedRow): string {
  const flags = [row.pinned ? ' · pinned' : '', reason === undefined ? '' : ' · hidden'].join('')
  const heading = `### ${rowName(row, by)} · ${time(row.createdAt)}${flags}`
  const origin = row.kind === 'message' || by === undefined ? [] : [`*Inserted by ${compactionName(by)}.*`]
  const whose = reason?.by === undefined ? '' : `: ${compactionName(reason.by)}`
  const hidden = reason === undefined ? [] : [`*Hidden, ${reason.why}${whose}.*`]
  const content = blocks.length > 0 ? blocks : ['*(empty)*']
  return `\n${[heading, ...origin, ...hidden, ...content].join('\n\n')}\n`
}

function codeMarkdown({ text, language, left }: Code): string {
  return fencedMarkdown(text, language) + (left === undefined ? '' : `\n\n*${left}.*`)
}

function fencedMarkdown(text: string, language: string): string {
  const shown = visibleText(text)
  const fence = fenceAround(shown)
  return `${fence}${language}\n${shown}${shown.endsWith('\n') ? '' : '\n'}${fence}`
}

/** Returns a name or an id as inline code. Its fence is longer than any run of backticks inside, and `<` is literal only between fences. */
function codeSpan(text: string): string {
  const shown = visibleLine(text).trim()
  if (shown === '') return '*(empty)*'
  if (shown.includes('<')) return `<code>${inertText(shown)}</code>`
  const fence = '`'.repeat(longestRun(shown) + 1)
  const space = shown.startsWith('`') || shown.endsWith('`') ? ' ' : ''
  return `${fence}${space}${shown}${space}${fence}`
}

function inertLine(text: string): string {
  return inertText(visibleLine(text))
}

/*
 * The Markdown of a message, confined to its place. Code, lists, quotes, emphasis, tables and links to web addresses are kept. Anything
 * that could affect the rest of the document or the reader is disabled: raw HTML is shown as text, headings move below those of the
 * document, unclosed code is closed, images become links, and link definitions (which apply to a whole document) and links to anything but
 * the web remain text. Renderers differ in what they treat as inline code, so nothing depends on it: `<` is literal only between fences
 * written here.
 */

/** The heading levels of the document itself. */
const OWN_LEVELS = 3
/** The maximum depth of nested quotes; deeper `>` are shown as text. */
const MAX_QUOTE_DEPTH = 8

/** The maximum indentation of code, which is repeated on each line. */
const MAX_CODE_INDENT = 80

/** Returns the text of a message in a form that is safe for the document. */
export function messageMarkdown(text: string): string {
  const kept = keptLines(visibleText(text).split('\n'), 0).join('\n')
  return kept.replace(/^\n+/, '').trimEnd()
}

/** The state while the lines of one level of quoting are read. */
type Course = { readonly out: string[]; readonly depth: number; inList: boolean; isBlank: boolean }

function keptLines(lines: readonly string[], depth: number): string[] {
  const course: Course = { out: [], depth, inList: false, isBlank: true }
  let at = 0
  while (at < lines.length) at = keepBlock(lines, at, course)
  return course.out
}

/** Keeps the block that begins at a line; returns the line after it. */
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
  // The code begins on the line of its list item, so the item's mark gets its own line.
  const marker = spaced(item[1]!)
  const after = codeBlockAt(lines, at, ' '.repeat(marker.length) + line.slice(item[1]!.length))!
  // On its own line it would underline a paragraph and turn it into a heading.
  if (!course.isBlank) course.out.push('')
  course.out.push(marker.trimEnd())
  course.isBlank = false
  course.inList = true
  writeCode(after.lines, after.indent, after.info, course)
  return after.next
}

/** Every line has at least the fence's indentation, so that it is code both inside and outside of a list. */
function writeCode(lines: readonly string[], indent: number, info: string, course: Course): void {
  const margin = ' '.repeat(Math.min(indent, MAX_CODE_INDENT))
  const fence = fenceAround(lines.join('\n'))
  // With this indentation it could continue the previous paragraph.
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
  if (opening === null || course.depth >= MAX_QUOTE_DEPTH) return undefined
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

/** Returns whether a line would turn the line before it into a heading. */
function isUnderline(line: string): boolean {
  return /^[ \t>]*(?:=+|-+)[ \t]*$/.test(line) && line.trim() !== ''
}

function escapedUnderline(line: string): string {
  return line.replace(/[=-]/, '\\$&')
}

function keptText(text: string): string {
  const kept = keptInline(text)
  // Code after it may have become elements, so that this line is a fence only now.
  if (/^(?:`{3,}[^`]*$|~{3,}|>)/.test(kept)) return `\\${kept}`
  const heading = /^(#{1,6})(?=[ \t]|$)/.exec(text)
  if (heading === null) return kept
  const level = Math.min(6, heading[1]!.length + OWN_LEVELS)
  return `${'#'.repeat(level)}${keptInline(text.slice(heading[1]!.length))}`
}

/** Returns a line of text. Inline code is kept if nothing in it is escaped; otherwise it becomes `<code>`. */
function keptInline(line: string): string {
  return fencedPieces(line)
    .map(({ text, fence }) => {
      if (fence === undefined) return keptWords(text)
      return keptWords(text) === text ? fence + text + fence : `<code>${inertText(text.trim())}</code>`
    })
    .join('')
}

/** The beginning of a link, possibly encoded, to anything but the web, mail, a place in the document or a relative path. */
const OTHER_LINK = /\]\((?!https?:\/\/|mailto:|#|\.{0,2}\/|[\w./-]+[)#? ])/gi

function keptWords(text: string): string {
  return text
    .replaceAll('<', '&lt;')
    .replaceAll('![', '&#33;[')
    .replaceAll(']:', ']&#58;')
    .replace(OTHER_LINK, ']&#40;')
}

/** Returns a text within a line, escaped for HTML and Markdown. */
function inertText(text: string): string {
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

/* Fenced code in a message. Source: CommonMark 0.31, section 4.5. An unclosed fence ends with the text. */

type CodeBlock = {
  /** The number of columns before the fence. */
  readonly indent: number
  /** The language of the code: letters, digits and a few signs that have no meaning for a renderer. */
  readonly info: string
  readonly lines: readonly string[]
  /** The line after it. */
  readonly next: number
}

/** Returns the block of code that begins at a line, or `undefined`. `first` is read in place of that line. */
export function codeBlockAt(
  lines: readonly string[],
  at: number,
  first: string = lines[at]!,
): CodeBlock | undefined {
  const opening = /^( *)(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(spaced(first))
  if (opening === null) return undefined
  const [, before, fence, text] = opening as unknown as readonly [string, string, string, string]
  const content: string[] = []
  let next = at + 1
  for (; next < lines.length; next++) {
    const line = spaced(lines[next]!)
    if (closes(line, fence, before.length)) break
    content.push(line.slice(Math.min(before.length, leadingSpaces(line))))
  }
  return { indent: before.length, info: infoOf(text), lines: content, next: Math.min(next + 1, lines.length) }
}

/** Returns a fence of backticks that no run within a text can close. */
function fenceAround(text: string): string {
  return '`'.repeat(Math.max(3, longestRun(text) + 1))
}

/** Returns the length of the longest run of backticks in a text. */
export function longestRun(text: string): number {
  let longest = 0
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return longest
}

/** Returns a line with the tabs before its text replaced with spaces, up to every fourth column. */
function spaced(line: string): string {
  const blank = /^[ \t]*/.exec(line)![0]
  if (!blank.includes('\t')) return line
  let columns = 0
  for (const character of blank) columns += character === '\t' ? 4 - (columns % 4) : 1
  return ' '.repeat(columns) + line.slice(blank.length)
}

function leadingSpaces(line: string): number {
  return /^ */.exec(line)![0].length
}

function closes(line: string, fence: string, indent: number): boolean {
  const text = line.trimEnd()
  const spaces = leadingSpaces(text)
  const run = text.slice(spaces)
  return spaces <= indent + 3 && run.length >= fence.length && run === fence[0]!.repeat(run.length)
}

/** Braces and equals signs are attributes or raw HTML for some renderers. */
function infoOf(text: string): string {
  return text
    .trim()
    .replaceAll(/[^\p{L}\p{N} _+#.,:/\\()-]/gu, '')
    .slice(0, 80)
    .trim()
}

/** A piece of a line: text, or code with its backticks. */
type Piece = { readonly text: string; readonly fence: string | undefined }

/** Returns the pieces of a line, in order. Source: CommonMark 0.31, section 6.1, within one line. */
export function fencedPieces(line: string): Piece[] {
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

/** Returns the runs of backticks in a line, each with the place of the next run of the same length. Found in one pass from the end. */
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
