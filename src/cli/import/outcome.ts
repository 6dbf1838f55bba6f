import type { ImportReport } from '../../transfer/import-report.ts'
import { EXIT, EXIT_OF, type ExitCode } from '../exit-codes.ts'
import type { Failure } from '../failure.ts'

/** What became of a file. */
export type FileOutcome = { readonly path: string } & (
  | { readonly report: ImportReport }
  | { readonly failure: Failure; readonly error: unknown }
)

/** What a folder held besides what was imported. */
export type FolderOutcome = {
  readonly path: string
  /** Files that were looked at. */
  readonly files: number
  /** Those that hold no conversation in a form that is known. */
  readonly unrecognised: number
  /** The first of them, with what each looks like. */
  readonly named: readonly { readonly path: string; readonly looks: string }[]
}

/** Failures that concern one file; behind any other the next would fail too. */
const OF_FILE: ReadonlySet<string> = new Set(['FILE_UNREADABLE', 'FILE_UNRECOGNISED', 'FILE_CHANGED'])

/** Whether nothing can be imported after this. */
export function isFatal(outcome: FileOutcome): outcome is FileOutcome & { failure: Failure; error: unknown } {
  return 'failure' in outcome && !OF_FILE.has(outcome.failure.code)
}

/** Whether a file was read and there was nothing to store, nor to say. */
export function isNothingNew(outcome: FileOutcome): boolean {
  if ('failure' in outcome) return false
  const { messages, refused, problems, compactionsApplied, compactionsRefused } = outcome.report.totals
  return messages + refused + problems + compactionsApplied + compactionsRefused === 0
}

/** What ends the command weighs most, then bad data: it is what somebody has to mend. */
const WEIGHTS: readonly ExitCode[] = [EXIT.done, EXIT.no, EXIT.refused, EXIT.notFound, EXIT.badData]

/** What became of several files together. */
export class Sums {
  files = 0
  unread = 0
  nothingNew = 0
  sessions = 0
  messages = 0
  refused = 0
  readonly #exits = new Set<ExitCode>()
  #end: ExitCode | undefined

  add(outcome: FileOutcome): void {
    this.files += 1
    for (const exit of exitsOf(outcome)) this.#exits.add(exit)
    if (isFatal(outcome)) this.#end = outcome.failure.exit
    if (isNothingNew(outcome)) this.nothingNew += 1
    if ('failure' in outcome) {
      this.unread += 1
      return
    }
    const { totals } = outcome.report
    this.sessions += totals.imported + totals.extended + totals.checked
    this.messages += totals.messages
    this.refused += totals.refused
  }

  /** A folder without any conversation is a mistake of whoever named it; other files in one are none. */
  addFolder({ files, unrecognised }: FolderOutcome): void {
    if (files === unrecognised) this.#exits.add(EXIT.no)
  }

  get exit(): ExitCode {
    return this.#end ?? WEIGHTS.findLast((code) => this.#exits.has(code)) ?? [...this.#exits][0] ?? EXIT.done
  }
}

function exitsOf(outcome: FileOutcome): ExitCode[] {
  if ('failure' in outcome) return [outcome.failure.exit]
  return outcome.report.conversations.flatMap(({ status, code }) => {
    if (status !== 'refused') return []
    return [code === undefined || code === 'INVALID_INPUT' ? EXIT.badData : EXIT_OF[code]]
  })
}
