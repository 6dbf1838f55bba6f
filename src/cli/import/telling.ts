import type { Context } from '../command.ts'
import { printable } from '../output/print-json.ts'
import { type FileOutcome, type FolderOutcome, isNothingNew, Sums } from './outcome.ts'
import { folderLines, importLines, sumLine } from './report-lines.ts'

/** Tells what becomes of files as it becomes known, so that nothing is held of thousands of them. */
export type Telling = {
  /** Whether what is told has begun in a way that must be brought to its end. */
  readonly hasBegun: boolean
  file(outcome: FileOutcome, isWithin: boolean): void
  /** The end of a folder, behind its files. `isWhole`: all of them were looked at. */
  folder(outcome: FolderOutcome, isWhole: boolean): void
  end(): void
  readonly exit: number
}

/** Files of one folder that are listed one by one. */
const LISTED = 200

/** One line a file for people. Of a folder's files those with something new, when all of it is done: a bar is drawn meanwhile. */
export class TextTelling implements Telling {
  readonly hasBegun = false
  readonly #context: Pick<Context, 'out' | 'style'>
  readonly #sums = new Sums()
  #folder = new Sums()
  #held: string[][] = []
  #things = 0

  constructor(context: Pick<Context, 'out' | 'style'>) {
    this.#context = context
  }

  file(outcome: FileOutcome, isWithin: boolean): void {
    this.#sums.add(outcome)
    if (!isWithin) {
      this.#things += 1
      this.#write(importLines(this.#context, outcome))
      return
    }
    this.#folder.add(outcome)
    if (!isNothingNew(outcome) && this.#held.length < LISTED)
      this.#held.push(importLines(this.#context, outcome, true))
  }

  folder(outcome: FolderOutcome, isWhole: boolean): void {
    this.#things += 1
    this.#sums.addFolder(outcome)
    for (const lines of this.#held) this.#write(lines)
    this.#write(folderLines(this.#context, outcome, this.#folder, { listed: this.#held.length, isWhole }))
    this.#held = []
    this.#folder = new Sums()
  }

  end(): void {
    if (this.#things > 1) this.#write([sumLine(this.#context, this.#sums)])
  }

  get exit(): number {
    return this.#sums.exit
  }

  #write(lines: readonly string[]): void {
    for (const line of lines) this.#context.out.write(`${line}\n`)
  }
}

/** One JSON value, written piece by piece. */
export class JsonTelling implements Telling {
  readonly #context: Pick<Context, 'out'>
  readonly #sums = new Sums()
  readonly #folders: FolderOutcome[] = []

  constructor(context: Pick<Context, 'out'>) {
    this.#context = context
  }

  get hasBegun(): boolean {
    return this.#sums.files > 0
  }

  file(outcome: FileOutcome): void {
    this.#context.out.write(this.hasBegun ? ',\n' : '{\n  "files": [\n')
    this.#sums.add(outcome)
    this.#context.out.write(`    ${indented(jsonOf(outcome), 4)}`)
  }

  folder(outcome: FolderOutcome): void {
    this.#sums.addFolder(outcome)
    this.#folders.push(outcome)
  }

  end(): void {
    this.#context.out.write(this.hasBegun ? '\n  ],\n' : '{\n  "files": [],\n')
    this.#context.out.write(`  "folders": ${indented(this.#folders, 2)}\n}\n`)
  }

  get exit(): number {
    return this.#sums.exit
  }
}

/** A value as JSON that stands so far from the left. */
function indented(value: unknown, columns: number): string {
  return printable(value).replaceAll('\n', `\n${' '.repeat(columns)}`)
}

function jsonOf(outcome: FileOutcome): object {
  if ('report' in outcome) return { path: outcome.path, ...outcome.report, error: null }
  const { code, message, facts } = outcome.failure
  return { path: outcome.path, error: { code, message, facts } }
}
