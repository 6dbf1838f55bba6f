import { SOURCES } from '../../../transfer/detect.ts'
import type { ImportedConversation, ImportReport } from '../../../transfer/import-report.ts'
import { NOTHING_READ } from '../../../transfer/import-report.ts'
import type { Place } from '../../../transfer/source.ts'
import type { Context, Output } from '../../command.ts'
import { indentedJson } from '../../context.ts'
import { ENDINGS, EXIT, type ExitCode, type Failure } from '../../errors.ts'
import { count, counted, listing } from '../../output/figures.ts'
import { clipped, clippedInside, sentence, widthOf, writeLines } from '../../output/layout.ts'
import { safeLine } from '../../output/safe-text.ts'
import { type Column, table } from '../../output/table.ts'

/** The outcome of a file. */
export type FileOutcome = { readonly path: string } & (
  | {
      readonly report: ImportReport
      /** Whether an earlier import of its folder reported the same about this file. Then it doesn't count again. */
      readonly reported?: boolean
    }
  | { readonly failure: Failure; readonly error: unknown }
)

/** The other contents of a folder besides the imported files. */
type FolderOutcome = {
  readonly path: string
  /** Files that were looked at. */
  readonly files: number
  /** Files whose kind was not recognized. */
  readonly unrecognized: number
  /** The first of them, with what each looks like. */
  readonly named: readonly { readonly path: string; readonly looks: string }[]
}

/** Reports outcomes as they become known, so that thousands of files are not held in memory. */
export type ImportReporter = {
  /** Whether output was written that must be completed. */
  readonly hasBegun: boolean
  file(outcome: FileOutcome, isWithin: boolean): void
  /** Called after the files of the folder. `isWhole`: all of them were looked at. */
  folder(outcome: FolderOutcome, isWhole: boolean): void
  /** Completes the report and returns the exit code. */
  end(): number
}

/** Failures that concern one file; after any other the next file would fail too. */
const FILE_ERRORS: ReadonlySet<string> = new Set(['FILE_UNREADABLE', 'FILE_UNRECOGNIZED', 'FILE_CHANGED'])

/** Whether this outcome prevents every later import. */
export function isFatal(outcome: FileOutcome): outcome is FileOutcome & { failure: Failure; error: unknown } {
  return 'failure' in outcome && !FILE_ERRORS.has(outcome.failure.code)
}

/** Whether a file was read and had nothing to store, and nothing to report that was not reported before. */
function isNothingNew(outcome: FileOutcome): boolean {
  if ('failure' in outcome) return false
  const { messages, refused, problems, compactionsApplied, compactionsRefused } = outcome.report.totals
  const bad = outcome.reported === true ? 0 : refused + problems + compactionsRefused
  return messages + compactionsApplied + bad === 0
}

/** Exit codes by weight. Bad data weighs most, because it needs repair; a fatal failure weighs more than all of them. */
const BY_WEIGHT: readonly ExitCode[] = [EXIT.done, EXIT.no, EXIT.refused, EXIT.notFound, EXIT.badData]

class Totals {
  files = 0
  unread = 0
  nothingNew = 0
  sessions = 0
  messages = 0
  refused = 0
  /** Refusals that were reported before; `filesBefore` and `namedBefore` are the files with them: their number, and the first few. */
  refusedBefore = 0
  filesBefore = 0
  readonly namedBefore: string[] = []
  readonly #exits = new Set<ExitCode>()
  #fatal: ExitCode | undefined

  add(outcome: FileOutcome): void {
    this.files += 1
    for (const exit of exitsOf(outcome)) this.#exits.add(exit)
    if (isFatal(outcome)) this.#fatal = outcome.failure.exit
    if (isNothingNew(outcome)) this.nothingNew += 1
    if ('failure' in outcome) {
      this.unread += 1
      return
    }
    const { totals } = outcome.report
    this.sessions += totals.imported + totals.extended + totals.checked
    this.messages += totals.messages
    if (outcome.reported !== true) this.refused += totals.refused
    else if (totals.refused > 0) {
      this.refusedBefore += totals.refused
      this.filesBefore += 1
      if (this.namedBefore.length < LISTED_OTHERS) this.namedBefore.push(outcome.path)
    }
  }

  /** Naming a folder without any conversation is a mistake; other files beside conversations are not. */
  addFolder({ files, unrecognized }: FolderOutcome): void {
    if (files === unrecognized) this.#exits.add(EXIT.no)
  }

  get exit(): ExitCode {
    const exits = this.#exits
    return this.#fatal ?? BY_WEIGHT.findLast((code) => exits.has(code)) ?? [...exits][0] ?? EXIT.done
  }

  get stored(): string {
    if (this.messages === 0) return 'nothing new'
    return `${counted(this.messages, 'message')} in ${counted(this.sessions, 'session')}`
  }

  get failed(): string {
    return listing(
      this.refused > 0 && `${counted(this.refused, 'conversation')} rejected`,
      this.refusedBefore > 0 && `${counted(this.refusedBefore, 'conversation')} rejected before`,
      this.unread > 0 && `${counted(this.unread, 'file')} not read`,
    )
  }
}

function exitsOf(outcome: FileOutcome): ExitCode[] {
  if ('failure' in outcome) return [outcome.failure.exit]
  if (outcome.reported === true) return []
  return outcome.report.conversations.flatMap(({ status, code }) => {
    if (status !== 'refused') return []
    return [code === undefined || code === 'INVALID_INPUT' ? EXIT.badData : ENDINGS[code].exit]
  })
}

/** Writes one JSON value piece by piece. */
export function jsonReporter({ out }: Pick<Context, 'out'>): ImportReporter {
  const totals = new Totals()
  const folders: FolderOutcome[] = []
  return {
    get hasBegun() {
      return totals.files > 0
    },
    file(outcome) {
      const before = totals.files > 0 ? ',\n' : '{\n  "files": [\n'
      out.write(`${before}    ${indentedJson(outcomeJson(outcome), 4)}`)
      totals.add(outcome)
    },
    folder(outcome) {
      totals.addFolder(outcome)
      folders.push(outcome)
    },
    end() {
      out.write(totals.files > 0 ? '\n  ],\n' : '{\n  "files": [],\n')
      out.write(`  "folders": ${indentedJson(folders, 2)}\n}\n`)
      return totals.exit
    },
  }
}

function outcomeJson(outcome: FileOutcome): object {
  if ('report' in outcome) {
    const { path, report, reported = false } = outcome
    return { path, ...report, reported, error: null }
  }
  const { code, message, facts } = outcome.failure
  return { path: outcome.path, error: { code, message, facts } }
}

/** Files of a folder and conversations of a file that are listed one by one; as many files again if some of their content was refused. */
const LISTED_FILES = 200
const LISTED_CONVERSATIONS = 50
/** Files of a folder that are named because they are skipped, or were refused before. */
const LISTED_OTHERS = 5

/** Writes a line per file for people. Of a folder only files with something new, after a progress bar has shown the rest. */
export function textReporter(output: Output & Pick<Context, 'err'>): ImportReporter {
  const { out, style } = output
  const totals = new Totals()
  let ofFolder = new Totals()
  let held: string[][] = []
  let heldBad = 0
  let named = 0
  return {
    hasBegun: false,
    file(outcome, isWithin) {
      totals.add(outcome)
      if (!isWithin) {
        named += 1
        writeLines('failure' in outcome ? output.err : out, fileLines(output, outcome, false))
        return
      }
      ofFolder.add(outcome)
      if (isNothingNew(outcome)) return
      const isBad = 'failure' in outcome || outcome.report.totals.refused > 0
      if (isBad ? heldBad === LISTED_FILES : held.length - heldBad === LISTED_FILES) return
      if (isBad) heldBad += 1
      held.push(fileLines(output, outcome, true))
    },
    folder(outcome, isWhole) {
      named += 1
      totals.addFolder(outcome)
      writeLines(out, [...held.flat(), ...folderLines(output, outcome, ofFolder, held.length, isWhole)])
      held = []
      heldBad = 0
      ofFolder = new Totals()
    },
    end() {
      const { files, stored, failed } = totals
      if (named > 1) writeLines(out, [style.bold(`${counted(files, 'file')}: ${listing(stored, failed)}`)])
      return totals.exit
    },
  }
}

/** The outcome of a file. Notes of a file within a folder are only counted: there may be thousands. */
function fileLines(output: Output, outcome: FileOutcome, isWithin: boolean): string[] {
  const { out, style } = output
  if ('failure' in outcome) return [`${style.red('✗')} ${outcome.failure.message}`]
  const { report } = outcome
  return [
    ...headLines(output, outcome),
    ...(report.conversations.length > 1 ? conversationTable(output, report) : []),
    ...remarks(report, isWithin).flatMap((line) => sentence(line, out, style.dim, '  ')),
  ]
}

/** The fewest columns for a name. */
const MIN_NAME_WIDTH = 12

/**
 * The outcome of a file, on one line. If it doesn't fit on a terminal, the kind of file is left out, a stored session is named by its id,
 * with which it can be shown, and a refusal continues on the next line.
 */
function headLines(
  { out, style }: Output,
  { path, report }: { readonly path: string; readonly report: ImportReport },
): string[] {
  const mark = report.totals.refused > 0 ? style.red('✗') : style.green('✓')
  const [only] = report.conversations.length === 1 ? report.conversations : []
  const text = only === undefined ? totalsText(report) : conversationText(only, report.source)
  const line = `${mark} ${path}: ${titleOf(report.source)}, ${text}`
  if (!out.isTerminal || widthOf(safeLine(line)) <= out.columns) return [line]
  const fitted = (name: string, what: string): string => {
    const words = clipped(what, out.columns - MIN_NAME_WIDTH - 4)
    return `${mark} ${clippedInside(safeLine(name), out.columns - 4 - widthOf(words))}: ${words}`
  }
  if (only === undefined || only.status === 'empty') return [fitted(path, text)]
  if (only.status !== 'refused') return [fitted(only.sessionId, countsText(only, true))]
  return [fitted(path, 'rejected'), ...sentence(refusalText(only, report.source), out, style.dim, '  ')]
}

function folderLines(
  output: Output,
  { path, files, unrecognized, named }: FolderOutcome,
  totals: Totals,
  listed: number,
  isWhole: boolean,
): string[] {
  const { style } = output
  const { nothingNew, messages, stored, failed, filesBefore, namedBefore } = totals
  const unlisted = totals.files - nothingNew - listed
  const isEmpty = files === unrecognized
  const parts = listing(
    isEmpty ? 'no conversations found' : stored,
    nothingNew > 0 && messages > 0 && `${counted(nothingNew, 'file')} with nothing new`,
    failed,
    !isWhole && 'then the import ended',
  )
  const mark = isEmpty || !isWhole ? style.red('✗') : style.green('✓')
  const skipped = named.map((file) => `${file.path}: ${file.looks}`)
  return [
    ...(unlisted > 0 ? [style.dim(`  and ${counted(unlisted, 'more file')}; --json lists all`)] : []),
    `${mark} ${path}: ${style.bold(`${counted(files, 'file')}: ${parts}`)}`,
    ...otherFiles(output, 'rejected before, and unchanged since', filesBefore, namedBefore),
    ...otherFiles(output, 'not recognized, and skipped', unrecognized, skipped),
  ]
}

/** The first of some files of a folder, one per line. */
function otherFiles({ out, style }: Output, what: string, files: number, lines: readonly string[]): string[] {
  if (files === 0) return []
  const shown = lines.slice(0, LISTED_OTHERS)
  const more = files > shown.length ? [`and ${count(files - shown.length)} more`] : []
  return [
    style.dim(`  ${what}: ${counted(files, 'file')}`),
    ...[...shown, ...more].flatMap((line) => sentence(line, out, style.dim, '    ')),
  ]
}

/** A kind of file, for people. */
function titleOf(source: ImportReport['source']): string {
  return SOURCES.find(({ name }) => name === source)?.title ?? 'histories of undertext'
}

/** The outcome of a file's only conversation. */
function conversationText(one: ImportedConversation, source: ImportReport['source']): string {
  if (one.status === 'refused') return `rejected ${refusalText(one, source)}`
  return one.status === 'empty' ? 'no messages' : countsText(one, false)
}

function refusalText(
  { sessionId, why = '', code, problemCount }: ImportedConversation,
  source: ImportReport['source'],
): string {
  // A history is restored whole or not at all.
  const hasRest = code === undefined && problemCount > 0 && why !== NOTHING_READ && source !== 'undertext'
  return `as ${sessionId}: ${why}${hasRest ? '; --skip-bad stores the rest' : ''}`
}

/** What was stored of a conversation. `brief`: without its id. */
function countsText(
  { sessionId, status, messages, existing, bookkeeping, skipped, visible, compactions }: ImportedConversation,
  brief: boolean,
): string {
  const inView = visible !== undefined && visible !== messages + existing && `${count(visible)} visible`
  const stored = `${status === 'checked' ? 'would be stored' : 'stored'} as ${sessionId}`
  const isNothing = messages + bookkeeping === 0
  const what = isNothing ? 'nothing new' : listing(counted(messages, 'message'), inView)
  const where = isNothing ? ` in ${sessionId}` : `${inView === false ? '' : ','} ${stored}`
  const applied = compactions.applied > 0 && counted(compactions.applied, 'compaction')
  return listing(
    brief ? what : what + where,
    existing > 0 && `${count(existing)} there already`,
    applied && (brief ? applied : `${applied} that can be undone`),
    skipped > 0 && `${counted(skipped, 'unreadable place')} skipped`,
  )
}

function totalsText({ totals, dryRun }: ImportReport): string {
  const { messages, existing, imported, extended, checked, refused, compactionsApplied } = totals
  const where = `${dryRun ? 'would be stored' : 'stored'} in ${counted(imported + extended + checked, 'session')}`
  return listing(
    messages === 0 ? 'nothing new' : `${counted(messages, 'message')} ${where}`,
    existing > 0 && `${count(existing)} there already`,
    compactionsApplied > 0 && `${counted(compactionsApplied, 'compaction')} that can be undone`,
    refused > 0 && `${counted(refused, 'conversation')} rejected`,
  )
}

const COLUMNS: readonly Column[] = [
  { title: 'SESSION', flexible: 'clip', isName: true },
  { title: 'STATUS' },
  { title: 'NEW', align: 'right' },
  { title: 'THERE', align: 'right' },
  { title: 'COMPACTIONS', align: 'right' },
  { title: 'WHY', flexible: 'clip' },
]

function conversationTable({ out, style }: Output, { conversations }: ImportReport): string[] {
  const looks = { refused: style.red, imported: style.green, extended: style.green }
  const rows = conversations.slice(0, LISTED_CONVERSATIONS).map((one) => {
    const { applied, refused } = one.compactions
    return [
      { text: one.sessionId, style: style.cyan },
      { text: one.status, style: looks[one.status as keyof typeof looks] ?? style.dim },
      count(one.messages),
      one.existing === 0 ? '' : count(one.existing),
      applied + refused === 0 ? '' : listing(count(applied), refused > 0 && `${count(refused)} refused`),
      one.why ?? (one.skipped > 0 ? `${counted(one.skipped, 'unreadable place')} skipped` : ''),
    ]
  })
  const left = conversations.length - rows.length
  const more = left > 0 ? [style.dim(`and ${counted(left, 'more conversation')}; --json lists all`)] : []
  return [...table(COLUMNS, rows, out, style), ...more]
}

/** Refusals that can be avoided with another name. */
const NAME_TAKEN: ReadonlySet<string | undefined> = new Set(['SESSION_EXISTS', 'IMPORT_DIVERGED'])

function remarks({ conversations, totals }: ImportReport, isWithin: boolean): string[] {
  const problems = conversations.flatMap((one) => one.problems)
  const notes = conversations.flatMap((one) => one.notes)
  const refusals = conversations.flatMap(({ compactions }) => compactions.refusals)
  // The table clips them.
  const reasons = conversations.length === 1 ? [] : conversations.filter(({ code }) => code !== undefined)
  const noteLines = isWithin
    ? totals.notes > 0
      ? [`${counted(totals.notes, 'note')}; --json lists them`]
      : []
    : [
        ...notes.map((note) => `${note.kind}, ${placeText(note)}: ${note.why}`),
        ...moreLine(totals.notes - notes.length, 'note'),
      ]
  return [
    ...reasons.slice(0, LISTED_CONVERSATIONS).map(({ sessionId, why }) => `${sessionId}: ${why}`),
    ...problems.map((problem) => `${placeText(problem)}: ${problem.why}`),
    ...moreLine(totals.problems - problems.length, 'unreadable place'),
    ...noteLines,
    ...(conversations.some(({ code }) => NAME_TAKEN.has(code))
      ? ['--session stores it under another id; --prefix does so for several']
      : []),
    ...refusals.map(({ id, why }) => `compaction ${id} wasn't imported: ${why}`),
  ]
}

function moreLine(left: number, name: string): string[] {
  return left > 0 ? [`and ${counted(left, `more ${name}`)}`] : []
}

/** A place of a file for people. */
export function placeText({ line, column, element }: Place): string {
  const place = listing(
    line !== undefined && `line ${line}`,
    column !== undefined && `column ${column}`,
    element !== undefined && `element ${element}`,
  )
  return place || 'unknown place'
}
