import { withoutTrailing } from '../messages/characters.ts'
import { type Json, listIn } from '../messages/json.ts'
import { outputText, type ToolResultOutput } from '../messages/message.ts'
import { outcomeOf } from '../messages/outcome.ts'
import { isReadTool, isWriteTool, PATH_ARGUMENTS } from '../messages/tool-names.ts'
import {
  coversRange,
  type IndexedCall,
  isCut,
  normalizePath,
  readVariant,
  requestedRange,
  shownRange,
  singlePath,
  statedRange,
  UNKNOWN_LINES,
} from '../model/line-range.ts'
import { type Plan, type PlannedReplacement, type RequiredPart, replaceResult } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { LineRange, ResultEntry, ViewRow } from '../model/view-row.ts'
import type { Sizes } from '../tokens/measure.ts'
import { attachedAgain, attachmentRows } from './attached-again.ts'
import type { PlanningStage, StageContext } from './stage.ts'

/** The minimum share of the re-read files' size that must be saved. */
export const DEDUP_THRESHOLD = 0.3

function deduplicatedText(path: string): string {
  return `[File ${path} - refer to latest read below]`
}

/** The longest text that may be a remark instead of a file, in characters. */
const MAX_REMARK_LENGTH = 600

/** The shortest output that a tool may have cut, in characters. */
const MIN_CUT_LENGTH = 1_000
/**
 * A later read with at least this share of an earlier read's length is the same file without further checks: edits make a file slightly
 * shorter.
 */
const MIN_LENGTH_RATIO = 0.9

/** Short outputs that are not a file: it doesn't exist, or has not changed since it was shown. */
const REMARK =
  /no such file|(?:does|do|did) not exist|doesn['’]t exist|\bnot found\b|(?:permission|access)\b[^\n]{0,40}\bdenied|is a directory|ENOENT|EACCES|\bunchanged\b|(?:not|n['’]t) (?:been )?(?:changed|modified)\b|no changes since|still current|already (?:been )?(?:read|shown|in (?:the |your )?context)|interrupted by|doesn['’]t want to|rejected|limit exceeded/i

/**
 * A read that is described in words, at the beginning of a result: elsewhere in a text the pattern would match prose ("reading the
 * file").
 */
const READ_HEADING =
  /^[^\p{L}\p{N}\n]{0,4}(?:read_file|readFile|reading|read file|read|cat)\s+['"`]?([^\s'"`]+)/iu

/** One result that shows a file or a part of it. */
type FileRead = {
  readonly index: number
  readonly row: ViewRow
  readonly result: ResultEntry
  readonly path: string
  /**
   * The key of comparable reads: the normalized path, all other arguments except the lines, and the tool, because tools may number lines
   * differently.
   */
  readonly group: string
  /** The file, whichever tool read it. */
  readonly file: string
  readonly range: LineRange
  readonly lines: number
  readonly text: string
  /** Whether the read is identified only by words, so that its lines are unknown. */
  readonly isWorded: boolean
  /** The sizes that its preview saves, if it shows one: then only the head and the tail are visible. */
  readonly preview: Sizes | undefined
}

/**
 * Replaces the result of a file read with a pointer to a later read that shows all its lines.
 *
 * A read is identified by its tool's name and path argument, and its lines by its arguments and the notices in the result. Reads that
 * differ in any other argument (a revision, pages, an encoding) are different. The later read must have succeeded (also by its text), be
 * of the same file, have as many images, be visible and show its original: the plan requires it. Of two previews of the same lines, the
 * later replaces the earlier. A user's repeated attachments count too. The later read is considered current even if the file has become
 * shorter.
 */
export const deduplicate: PlanningStage<Plan | undefined> = {
  name: 'deduplicate',

  reads(view, { settings }) {
    const rows = new Set(attachmentRows(view))
    if (!usesIndex(settings) || settings.deduplicateByText) {
      // Results come first: their text decides whether their calls are needed.
      for (const row of view.rows) if (row.results.length > 0) rows.add(row)
      for (const row of view.rows) if (row.calls.length > 0) rows.add(row)
    } else {
      for (const { row } of structuredReads(view, indexedTarget, settings)) rows.add(row)
    }
    return [...rows]
  },

  keeps(view, { settings }) {
    if (!usesIndex(settings) || !settings.deduplicateByText) return () => true
    const needed = new Set(attachmentRows(view))
    for (const { row } of structuredReads(view, indexedTarget, settings)) needed.add(row)
    return (row, parts) => {
      let isNeeded = needed.has(row) || (row.results.length > 0 && row.calls.length > 0)
      for (const { part } of row.results) {
        const content = parts[part]
        if (content?.type !== 'tool-result' || headedPath(outputText(content.output)) === undefined) continue
        isNeeded = true
        const call = view.turns.callOf(view.indexOf(row.key)!, part)
        if (call !== undefined) needed.add(view.rows[call.row]!)
      }
      return isNeeded
    }
  },

  plan(view, context) {
    const { settings } = context
    const targetOf = targetFinder(view, context)
    const reads = [
      ...structuredReads(view, targetOf, settings).flatMap((read) => withShownRange(read, context)),
      ...(settings.deduplicateByText ? wordedReads(view, targetOf, context) : []),
    ]
    const writes = writesIn(view)
    const replace: PlannedReplacement[] = []
    const survivors = new Survivors()
    let candidateUnits = 0
    let savedUnits = 0
    const files = new Set<string>()

    const groups = new Map<string, FileRead[]>()
    for (const read of reads) listIn(groups, read.group).push(read)
    for (const group of groups.values()) {
      const found = supersededReads(view, group, writes)
      if (found.length === 0) continue
      files.add(found[0]!.read.file)
      candidateUnits += group.reduce((sum, read) => sum + shownUnits(read), 0)
      for (const { read, by } of found) {
        const text = deduplicatedText(read.path)
        const units = view.estimator.measureText(text, 'toolResult')
        replace.push(replaceResult(read.row, read.result, text, units, read.preview))
        survivors.add(by.row, by.result.part, read.row.key)
        savedUnits += shownUnits(read) - units
      }
    }

    const attached = attachedAgain(view, context.contentOf)
    candidateUnits += attached.candidateUnits
    savedUnits += attached.savedUnits
    for (const file of attached.files) files.add(`${file}\n`)
    for (const { replacement, to } of attached.pointing) {
      replace.push(replacement)
      for (const { row, part } of to) survivors.add(row, part, replacement.row.key)
    }

    if (replace.length === 0 || savedUnits < settings.deduplicateMinimumSavings * candidateUnits)
      return undefined
    return {
      kind: 'deduplicate',
      hide: [],
      replace: replace.sort((a, b) => a.row.anchor - b.row.anchor || a.part - b.part),
      requires: survivors.all(),
      params: {
        minimumSavings: settings.deduplicateMinimumSavings,
        byText: settings.deduplicateByText,
        files: files.size,
      },
    }
  },
}

/** Goes from the newest to the oldest: each read survives or is covered by a later survivor. */
function supersededReads(
  view: View,
  reads: readonly FileRead[],
  writes: Writes,
): { read: FileRead; by: FileRead }[] {
  const survivors: FileRead[] = []
  const superseded: { read: FileRead; by: FileRead }[] = []
  for (const read of [...reads].sort((a, b) => b.index - a.index || b.result.part - a.result.part)) {
    const by = survivors.find((later) => canReplace(later, read, writes))
    if (by !== undefined && canBeReplaced(view, read)) superseded.push({ read, by })
    else survivors.push(read)
  }
  return superseded
}

function canReplace(later: FileRead, read: FileRead, writes: Writes): boolean {
  return (
    coversRange(later.range, read.range) &&
    (later.preview === undefined || (read.preview !== undefined && coversRange(read.range, later.range))) &&
    later.lines >= read.lines &&
    later.result.media >= read.result.media &&
    (read.isWorded || isSameFile(later, read, writes))
  )
}

/**
 * Returns whether a shorter text may be the new content of a file. A long beginning of the earlier text was cut by a tool without a
 * notice, unless the file was written in between; a few words without common lines are another kind of output.
 */
function isSameFile(later: FileRead, read: FileRead, writes: Writes): boolean {
  if (later.result.units >= MIN_LENGTH_RATIO * read.result.units) return true
  const text = later.text.trimEnd()
  if (read.text.startsWith(text)) {
    const isWritten = (at: number): boolean => at > read.index && at < later.index
    return text.length < MIN_CUT_LENGTH || (writes.get(normalizePath(read.path))?.some(isWritten) ?? false)
  }
  if (text.length > MAX_REMARK_LENGTH) return true
  const lines = bareLines(text)
  const known = knownLinesOf(read)
  return lines.filter((line) => known.has(line)).length * 2 >= lines.length
}

/** The parts to which others point, with the keys of the pointing rows. */
class Survivors {
  readonly #parts = new Map<string, RequiredPart & { readonly by: number[] }>()

  add(row: ViewRow, part: number, pointing: number): void {
    const key = `${row.key}:${part}`
    const known = this.#parts.get(key) ?? { row, part, by: [] }
    this.#parts.set(key, known)
    known.by.push(pointing)
  }

  all(): RequiredPart[] {
    return [...this.#parts.values()]
  }
}

/** The rows of calls that write a file, by path. */
type Writes = ReadonlyMap<string, readonly number[]>

function writesIn({ rows }: View): Writes {
  const writes = new Map<string, number[]>()
  rows.forEach(({ calls }, index) => {
    for (const { name, path } of calls) {
      if (path !== undefined && isWriteTool(name)) listIn(writes, normalizePath(path)).push(index)
    }
  })
  return writes
}

const knownLines = new WeakMap<FileRead, ReadonlySet<string>>()

function knownLinesOf(read: FileRead): ReadonlySet<string> {
  const lines = knownLines.get(read) ?? new Set(bareLines(read.text))
  knownLines.set(read, lines)
  return lines
}

/** Returns the lines of a text that are not blank, without the tool's line numbers. */
function bareLines(text: string): string[] {
  return text.split('\n').flatMap((line) => line.replace(/^\s{0,9}\d{1,9}[→:|\t ]/, '').trim() || [])
}

/** Returns the shown size of a read, in the estimator's units. */
function shownUnits({ result, preview }: Pick<FileRead, 'result' | 'preview'>): number {
  return result.units - (preview?.toolResults ?? 0)
}

function canBeReplaced(view: View, read: FileRead): boolean {
  const { row, path, index } = read
  return (
    !row.pinned &&
    !view.turns.pending.has(index) &&
    view.estimator.measureText(deduplicatedText(path), 'toolResult') < shownUnits(read)
  )
}

type Call = NonNullable<ReturnType<View['turns']['callOf']>>
type Target = {
  readonly path: string
  readonly range: LineRange
  readonly variant: string | undefined
}
type TargetFinder = (call: Call) => Target | undefined

/**
 * Returns whether the index contains the paths of all calls, that is, whether the settings have the default argument names. Settings may
 * be copies, so the lists are compared by content.
 */
function usesIndex({ pathArguments }: StageContext['settings']): boolean {
  return pathArguments === PATH_ARGUMENTS || pathArguments.join() === PATH_ARGUMENTS.join()
}

/** Returns the read of a call from the index, which uses the default argument names. */
function indexedTarget(call: Call): Target | undefined {
  const { path, range = { from: 1 }, variant } = call as Call & IndexedCall
  return path === undefined ? undefined : { path, range, variant }
}

/** With custom argument names, the arguments themselves are read. */
function targetFinder(view: View, { settings, contentOf }: StageContext): TargetFinder {
  if (usesIndex(settings)) return indexedTarget
  return (call) => {
    const input = inputOf(view, call, contentOf)
    const path = input === undefined ? undefined : singlePath(input, settings.pathArguments)
    if (input === undefined || path === undefined) return undefined
    return {
      path,
      range: requestedRange(input),
      variant: readVariant(input, path, settings.pathArguments),
    }
  }
}

function inputOf(view: View, call: Call, contentOf: StageContext['contentOf']): Json | undefined {
  const part = contentOf(view.rows[call.row]!)[call.part]
  return part?.type === 'tool-call' ? part.input : undefined
}

type Candidate = Omit<FileRead, 'lines' | 'text' | 'isWorded'>

/** Returns successful reads by tool name and path argument whose results show their original, of files that are read more than once. */
function structuredReads(
  view: View,
  targetOf: TargetFinder,
  settings: StageContext['settings'],
): Candidate[] {
  const reads: Candidate[] = []
  const counts = new Map<string, number>()
  for (const place of visibleResults(view)) {
    const { index, result } = place
    const call = view.turns.callOf(index, result.part)
    const target = call && isReadTool(call.name, settings.readTools) ? targetOf(call) : undefined
    if (call === undefined || target === undefined) continue
    const { path, range, variant = '' } = target
    const file = `${normalizePath(path)}\n${variant}`
    const group = `${call.name}\n${file}`
    counts.set(group, (counts.get(group) ?? 0) + 1)
    reads.push({ ...place, path, range, file, group })
  }
  return reads.filter(({ group }) => counts.get(group)! > 1)
}

/** Returns the read with the lines that its result shows; `undefined` if the result shows no file. */
function withShownRange(read: Candidate, { contentOf }: StageContext): FileRead[] {
  const output = outputOf(read.row, read.result, contentOf)
  if (output === undefined || !showsFile(output)) return []
  const text = outputText(output)
  return [{ ...read, range: shownRange(read.range, text), lines: 0, text, isWorded: false }]
}

/**
 * Returns whether a result may be the content of a file. Empty results, plain text errors and "unchanged since last read" are not: they
 * neither replace another read nor are replaced.
 */
function showsFile(output: ToolResultOutput): boolean {
  const text = outputText(output)
  if (text.trim() === '') return false
  if (text.length <= MAX_REMARK_LENGTH && REMARK.test(text)) return false
  return outcomeOf({ toolName: 'read' }, output) !== 'failed'
}

/**
 * Returns results whose first line names the file, by tool and arguments. Their number of lines is known only from the heading, so a
 * later read must also have at least as many lines.
 */
function wordedReads(view: View, targetOf: TargetFinder, { settings, contentOf }: StageContext): FileRead[] {
  const reads: FileRead[] = []
  for (const place of visibleResults(view)) {
    const { index, row, result } = place
    const call = view.turns.callOf(index, result.part)
    if (call && isReadTool(call.name, settings.readTools) && targetOf(call) !== undefined) continue
    const output = outputOf(row, result, contentOf)
    const text = output === undefined ? '' : outputText(output)
    const path = headedPath(text)
    if (output === undefined || path === undefined || !showsFile(output)) continue
    const input = call && inputOf(view, call, contentOf)
    const variant = input === undefined ? '' : (readVariant(input, undefined) ?? '')
    const file = normalizePath(path)
    const group = `\n${call?.name ?? result.name ?? ''}\n${file}\n${variant}`
    const range = wordedRange(input === undefined ? { from: 1 } : requestedRange(input), text)
    const lines = text.split('\n').length
    reads.push({ ...place, path, file, group, range, lines, text, isWorded: true })
  }
  return reads
}

function headedPath(text: string): string | undefined {
  const path = withoutTrailing(READ_HEADING.exec(text.slice(0, 500))?.[1] ?? '', '.,:;)]…')
  return path !== '' && looksLikePath(path) ? path : undefined
}

/**
 * Returns the lines of a read. The heading takes precedence over the arguments; a cut result with lines in its heading shows unknown
 * lines.
 */
function wordedRange(requested: LineRange, text: string): LineRange {
  const range = statedRange(text)
  if (range === undefined) return shownRange(requested, text)
  return isCut(text) ? UNKNOWN_LINES : range
}

/** Returns whether a word is a path: it has a slash, or a dot followed by an extension. */
function looksLikePath(text: string): boolean {
  return /[/\\]/.test(text) || /\.[\p{L}\p{N}]{1,8}$/u.test(text)
}

type ResultPlace = Pick<FileRead, 'index' | 'row' | 'result' | 'preview'>

function visibleResults(view: View): ResultPlace[] {
  const places: ResultPlace[] = []
  for (let index = 0; index < view.rows.length; index++) {
    const row = view.rows[index]!
    for (const result of row.results) {
      const preview = view.previewOf(row, result.part)
      if (result.failed || result.spoken === true || preview === false) continue
      places.push({ index, row, result, preview })
    }
  }
  return places
}

function outputOf(
  row: ViewRow,
  result: ResultEntry,
  contentOf: StageContext['contentOf'],
): ToolResultOutput | undefined {
  const part = contentOf(row)[result.part]
  return part?.type === 'tool-result' ? part.output : undefined
}
