import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { isUndertextError } from '../../core/errors.ts'
import { withoutTrailing } from '../../core/messages/characters.ts'
import { openStore } from '../../store/open.ts'
import { type Store, storageOf } from '../../store/store.ts'
import { importFile, importStream } from '../../transfer/import-file.ts'
import type { ImportFileOptions, ImportProgress, ImportReport } from '../../transfer/import-report.ts'
import type { Context, Progress } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, failureOf } from '../errors.ts'
import { looksLikeAddress } from '../location.ts'
import { isNewStore } from '../open-store.ts'
import { bytes, count } from '../output/figures.ts'
import { filesIn, nameWithin } from './import/folder.ts'
import {
  type FileOutcome,
  type ImportReporter,
  isFatal,
  jsonReporter,
  textReporter,
} from './import/report.ts'

type ImportOptions = Given<'import'>

/** Names the standard input among the files. */
const STANDARD_INPUT = '-'

/** Imports files, folders and the standard input, one after the other. One that cannot be read does not stop the others. */
export async function importFiles(
  context: Context,
  paths: readonly string[],
  options: ImportOptions,
): Promise<number> {
  await checkOptions(context, paths, options)
  const store = await storeFor(context, options)
  const reporter = context.json ? jsonReporter(context) : textReporter(context)
  const run = new ImportRun(context, store, options, reporter)
  for (const path of paths) if (!(await run.take(path))) break
  return reporter.end()
}

/** Throws `WRONG_USE`. */
async function checkOptions(
  { cwd, input }: Context,
  paths: readonly string[],
  { session }: ImportOptions,
): Promise<void> {
  if (paths.some((path) => looksLikeAddress(path, cwd)))
    throw new CliError('WRONG_USE', "An address can't be imported.", {
      hint: '--db names the store; files and folders follow the command.',
    })
  const isOnlyFile =
    paths.length === 1 && (paths[0] === STANDARD_INPUT || !(await isFolder(resolve(cwd, paths[0]!))))
  if (session !== undefined && !isOnlyFile)
    throw new CliError('WRONG_USE', '--session names one session, so only one file can be given.', {
      hint: 'Pass --prefix to distinguish the sessions of several files from others.',
    })
  const streams = paths.filter((path) => path === STANDARD_INPUT).length
  if (streams > 1)
    throw new CliError('WRONG_USE', 'There is one standard input, so - can be given only once.', {
      hint: 'For a file with this name, write ./-.',
    })
  if (streams > 0 && input.isTTY === true)
    throw new CliError('WRONG_USE', 'The standard input is a terminal, and nothing is piped into it.', {
      hint: 'Pipe something in, as in `cat talk.jsonl | undertext import -`, or name a file.',
    })
}

/** Opens the store. A dry run doesn't create one: if there is none, the files are compared with an empty store. */
async function storeFor(context: Context, { dryRun }: ImportOptions): Promise<Store> {
  if (dryRun !== true) return context.open('write')
  const isNew = await isNewStore(context.location)
  return isNew ? openStore(':memory:', { env: false }) : context.open('read')
}

/** Unrecognized files of a folder that are kept for the report. */
const MAX_NAMED = 20

class ImportRun {
  readonly #context: Context
  readonly #store: Store
  readonly #options: ImportFileOptions
  readonly #follow: boolean
  readonly #reporter: ImportReporter
  readonly #reported: Reported

  constructor(
    context: Context,
    store: Store,
    { from, follow = true, ...options }: ImportOptions,
    reporter: ImportReporter,
  ) {
    this.#context = context
    this.#store = store
    this.#options = { ...options, source: from, signal: context.signal }
    this.#reporter = reporter
    this.#follow = follow
    this.#reported = new Reported(store, options.owner)
  }

  /** Imports a file, a folder or the standard input. Returns false if nothing more can be imported. */
  async take(path: string): Promise<boolean> {
    if (path === STANDARD_INPUT) return this.#report(await this.#stream())
    return (await isFolder(this.#at(path))) ? this.#folder(path) : this.#report(await this.#file(path))
  }

  #at(path: string): string {
    return resolve(this.#context.cwd, path)
  }

  /** Reports an outcome. A fatal one is thrown instead, unless the report has begun as JSON that must be completed. */
  #report(outcome: FileOutcome, isWithin = false): boolean {
    const fatal = isFatal(outcome)
    if (fatal && !this.#reporter.hasBegun) throw outcome.error
    this.#reporter.file(outcome, isWithin)
    return !fatal
  }

  async #file(path: string): Promise<FileOutcome> {
    const progress = await this.#context.progress(`${path}: scanning`)
    return this.#closing(progress, path, () =>
      importFile(this.#store, this.#at(path), {
        ...this.#options,
        onProgress: (now) => progress.at(shareOf(now), `${path}: ${progressText(now)}`),
      }),
    )
  }

  async #stream(): Promise<FileOutcome> {
    const name = 'standard input'
    const progress = await this.#context.progress(`${name}: waiting`)
    return this.#closing(progress, STANDARD_INPUT, () =>
      importStream(this.#store, this.#context.input as Readable, {
        ...this.#options,
        name: 'stdin',
        called: STANDARD_INPUT,
        onBytes: (received) => progress.at(0, `${name}: ${bytes(received)}`),
        onProgress: (now) => progress.at(shareOf(now), `${name}: ${progressText(now)}`),
      }),
    )
  }

  async #closing(progress: Progress, path: string, work: () => Promise<ImportReport>): Promise<FileOutcome> {
    const outcome = await this.#outcomeOf(path, work)
    progress.end(`${path}: ${'report' in outcome ? `${bytes(outcome.report.size)} read` : 'not imported'}`)
    return outcome
  }

  async #outcomeOf(path: string, work: () => Promise<ImportReport>): Promise<FileOutcome> {
    try {
      return { path, report: await work() }
    } catch (error) {
      const failure = failureOf(error, this.#context.signal.aborted)
      const message = failure.message.replace(`${JSON.stringify(STANDARD_INPUT)} `, 'The standard input ')
      return { path, failure: path === STANDARD_INPUT ? { ...failure, message } : failure, error }
    }
  }

  /** Imports the recognized files of a folder. */
  async #folder(path: string): Promise<boolean> {
    const progress = await this.#context.progress(`${path}: scanning`)
    const { json, err, signal } = this.#context
    const total = err.isTerminal && !json ? await countFiles(this.#at(path), this.#follow) : 0
    let isWhole = false
    const found = { files: 0, unrecognized: 0, named: [] as { path: string; looks: string }[] }
    try {
      for await (const entry of filesIn(this.#at(path), this.#follow)) {
        if (entry.kind === 'folder') continue
        if (signal.aborted) {
          const error = new CliError('INTERRUPTED', 'Interrupted.')
          return this.#report({ path, failure: failureOf(error, true), error }, true)
        }
        const at = found.files
        const outcome = await this.#fileWithin(path, entry.path, (now) =>
          progress.at((at + shareOf(now)) / total, `${path}: ${count(at + 1)} of ${count(total)} files`),
        )
        if (entry.kind === 'file') found.files += 1
        if ('failure' in outcome && outcome.failure.code === 'FILE_UNRECOGNIZED') {
          const { looks } = outcome.failure.facts as { readonly looks: string }
          found.unrecognized += 1
          if (found.named.length < MAX_NAMED) found.named.push({ path: outcome.path, looks })
        } else if (!this.#report(outcome, true)) return false
      }
      isWhole = true
    } finally {
      progress.end(`${path}: ${count(found.files)} files`)
      this.#reporter.folder({ path, ...found }, isWhole)
    }
    if (this.#options.dryRun !== true) await this.#reported.keep()
    return isWhole
  }

  /** Imports a file of a folder. */
  async #fileWithin(
    folder: string,
    path: string,
    onProgress: (progress: ImportProgress) => void,
  ): Promise<FileOutcome> {
    const shown = path === '' ? folder : `${withoutTrailing(folder, '/')}/${path}`
    const file = join(this.#at(folder), path)
    const outcome = await this.#outcomeOf(shown, () =>
      importFile(this.#store, file, {
        ...this.#options,
        ...nameWithin(path),
        checkSource: true,
        followLinks: this.#follow,
        onProgress,
      }),
    )
    if ('failure' in outcome) return outcome
    return { ...outcome, reported: await this.#reported.knows(file, outcome.report) }
  }
}

/** The share of a file that is done. It is read twice: the check is the first half. */
function shareOf({ phase, bytes: read, size }: ImportProgress): number {
  const half = (size === 0 ? 1 : read / size) / 2
  return phase === 'check' ? half : 0.5 + half
}

function progressText({ phase, bytes: read, size, messages }: ImportProgress): string {
  const doing = phase === 'check' ? 'checking' : 'storing'
  return `${doing}, ${bytes(read)} of ${bytes(size)}, ${count(messages)} messages`
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

async function countFiles(root: string, follow: boolean): Promise<number> {
  let files = 0
  for await (const entry of filesIn(root, follow)) if (entry.kind === 'file') files += 1
  return files
}

type Mark = { readonly key: string; readonly value: string }

/**
 * The problems that imports of folders have reported, as marks in the store: for each file, a digest of its bytes and of what could not be
 * stored. Otherwise a file that stays bad would fail every later import of its folder.
 */
export class Reported {
  readonly #store: Store
  readonly #owner: string | undefined
  #news: Mark[] = []

  constructor(store: Store, owner: string | undefined) {
    this.#store = store
    this.#owner = owner
  }

  /** Whether the same problems of a file were reported before. New problems are noted for `keep`. */
  async knows(path: string, report: ImportReport): Promise<boolean> {
    const bad = report.conversations.filter(
      ({ status, skipped, compactions }) => status === 'refused' || skipped + compactions.refused > 0,
    )
    if (bad.length === 0) return false
    const key = `reported:${digestOf([resolve(path), this.#owner ?? null])}`
    const what = bad.map(({ sessionId, why, skipped, compactions }) => [
      sessionId,
      why ?? null,
      skipped,
      compactions.refused,
    ])
    const value = digestOf([report.digest, what])
    if ((await storageOf(this.#store).histories.mark(key)) === value) return true
    this.#news.push({ key, value })
    return false
  }

  /** Stores the problems reported so far. If marks can't be written, the import doesn't fail; the same problems are just reported again. */
  async keep(): Promise<void> {
    const news = this.#news
    this.#news = []
    try {
      for (const { key, value } of news) await storageOf(this.#store).histories.writeMark(key, value)
    } catch (error) {
      if (!isUndertextError(error)) throw error
    }
  }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
