import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { openStore, type SqliteStore } from '../../open.ts'
import { importFile } from '../../transfer/import-file.ts'
import type { ImportProgress } from '../../transfer/import-options.ts'
import type { SourceName } from '../../transfer/source.ts'
import { CliError } from '../cli-error.ts'
import type { Context, Progress } from '../command.ts'
import { EXIT, EXIT_OF, type ExitCode } from '../exit-codes.ts'
import { failureOf } from '../failure.ts'
import { bytes, count } from '../output/figures.ts'
import { type FileOutcome, writeImport, writeImports } from './import-report.ts'

export type ImportCommandOptions = {
  readonly from?: SourceName
  readonly session?: string
  readonly prefix?: string
  readonly skipBad?: boolean
  readonly branches?: boolean
  readonly dryRun?: boolean
  readonly owner?: string
  readonly reason?: string
}

/** Failures that concern one file; behind any other the next would fail too. */
const OF_FILE: ReadonlySet<string> = new Set(['FILE_UNREADABLE', 'FILE_UNRECOGNISED', 'FILE_CHANGED'])

/** Imports files one after the other; one that cannot be read does not keep the others out. */
export async function importFiles(
  context: Context,
  files: readonly string[],
  options: ImportCommandOptions,
): Promise<number> {
  if (options.session !== undefined && files.length > 1)
    throw new CliError('WRONG_USE', '--session names one session, so there can be one file only.', {
      hint: 'Give --prefix to tell the sessions of several files from others.',
    })
  const store = await storeFor(context, options)
  const outcomes: FileOutcome[] = []
  for (const path of files) {
    const outcome = await importOne(context, store, path, options).catch((error: unknown) => {
      // On a terminal the files before it are told already.
      if (!context.json || outcomes.length === 0) throw error
      return { path, failure: failureOf(error, context.signal.aborted) }
    })
    outcomes.push(outcome)
    if (!context.json) writeImport(context, outcome)
    if ('failure' in outcome && !OF_FILE.has(outcome.failure.code)) break
  }
  if (context.json) context.printJson({ files: outcomes.map(jsonOf) })
  else if (files.length > 1) writeImports(context, outcomes)
  return worst(outcomes)
}

/** The store; a dry run makes none, and holds the files against nothing where there is none. */
async function storeFor(context: Context, { dryRun }: ImportCommandOptions): Promise<SqliteStore> {
  if (dryRun !== true) return context.open('write')
  return existsSync(context.location.path) ? context.open('read') : openStore(':memory:', { env: false })
}

async function importOne(
  context: Context,
  store: SqliteStore,
  path: string,
  { from, ...options }: ImportCommandOptions,
): Promise<FileOutcome> {
  const progress = await context.progress(`${path}: looking`)
  try {
    const report = await importFile(store, resolve(context.cwd, path), {
      ...options,
      ...(from !== undefined && { source: from }),
      signal: context.signal,
      onProgress: (now) => show(progress, path, now),
    })
    progress.end(`${path}: ${bytes(report.size)} read`)
    return { path, report }
  } catch (error) {
    progress.end(`${path}: not imported`)
    const failure = failureOf(error, context.signal.aborted)
    if (!OF_FILE.has(failure.code)) throw error
    return { path, failure }
  }
}

/** A file is read twice: the check is the first half of the bar. */
function show(progress: Progress, path: string, { phase, ...now }: ImportProgress): void {
  const half = (now.size === 0 ? 1 : now.bytes / now.size) / 2
  const doing = phase === 'check' ? 'checking' : 'storing'
  const text = `${path}: ${doing}, ${bytes(now.bytes)} of ${bytes(now.size)}, ${count(now.messages)} messages`
  progress.at(phase === 'check' ? half : 0.5 + half, text)
}

function jsonOf(outcome: FileOutcome): object {
  if ('report' in outcome) return { path: outcome.path, ...outcome.report, error: null }
  const { code, message, facts } = outcome.failure
  return { path: outcome.path, error: { code, message, facts } }
}

/** What ends the command weighs most, then bad data: it is what somebody has to mend. */
const WEIGHTS: readonly ExitCode[] = [EXIT.done, EXIT.refused, EXIT.notFound, EXIT.badData]

function worst(outcomes: readonly FileOutcome[]): number {
  const last = outcomes.at(-1)
  if (last !== undefined && 'failure' in last && !OF_FILE.has(last.failure.code)) return last.failure.exit
  const codes = outcomes.flatMap(exitsOf)
  return WEIGHTS.findLast((code) => codes.includes(code)) ?? codes[0] ?? EXIT.done
}

function exitsOf(outcome: FileOutcome): ExitCode[] {
  if ('failure' in outcome) return [outcome.failure.exit]
  return outcome.report.conversations.flatMap(({ status, code }) => {
    if (status !== 'refused') return []
    return [code === undefined ? EXIT.badData : code === 'INVALID_INPUT' ? EXIT.badData : EXIT_OF[code]]
  })
}
