import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { withoutTrailing } from '../../messages/characters.ts'
import { MAX_NAME_LENGTH } from '../../messages/check.ts'
import type { SqliteStore } from '../../store/open.ts'
import { importFile } from '../../transfer/import-file.ts'
import type { ImportFileOptions, ImportProgress, ImportReport } from '../../transfer/import-report.ts'
import { importStream } from '../../transfer/import-stream.ts'
import { stemOf } from '../../transfer/session-rows.ts'
import type { SourceName } from '../../transfer/source.ts'
import { CliError } from '../cli-error.ts'
import type { Context, Progress } from '../command.ts'
import { failureOf } from '../failure.ts'
import { bytes, count } from '../output/figures.ts'
import { countFiles, filesIn, isFolder } from './folder-files.ts'
import { type FileOutcome, isFatal } from './outcome.ts'
import type { Telling } from './telling.ts'

export type ImportCommandOptions = {
  readonly from?: SourceName
  readonly session?: string
  readonly prefix?: string
  readonly skipBad?: boolean
  readonly branches?: boolean
  readonly dryRun?: boolean
  readonly follow?: boolean
  readonly owner?: string
  readonly reason?: string
}

/** Stands for the standard input, among names of files. */
export const STANDARD_INPUT = '-'

/** Files of a folder that hold no conversation and are told by name. */
const NAMED = 20

/** Imports what is named, one after the other, and tells what becomes of it. */
export class ImportRun {
  readonly #context: Context
  readonly #store: SqliteStore
  readonly #options: ImportFileOptions
  readonly #follow: boolean
  readonly #telling: Telling

  constructor(
    context: Context,
    store: SqliteStore,
    { from, follow = true, ...options }: ImportCommandOptions,
    telling: Telling,
  ) {
    this.#context = context
    this.#store = store
    this.#options = { ...options, ...(from !== undefined && { source: from }), signal: context.signal }
    this.#telling = telling
    this.#follow = follow
  }

  /** Imports a file, a folder or the standard input. False when nothing can be imported any more. */
  async take(path: string): Promise<boolean> {
    if (path === STANDARD_INPUT) return this.#told(await this.#stream())
    return (await isFolder(this.#at(path))) ? this.#folder(path) : this.#told(await this.#file(path))
  }

  #at(path: string): string {
    return resolve(this.#context.cwd, path)
  }

  /** Of what ends the command nothing is told here, unless there is JSON already that must be brought to its end. */
  #told(outcome: FileOutcome, isWithin = false): boolean {
    const isEnd = isFatal(outcome)
    if (isEnd && !this.#telling.hasBegun) throw outcome.error
    this.#telling.file(outcome, isWithin)
    return !isEnd
  }

  async #file(path: string): Promise<FileOutcome> {
    const progress = await this.#context.progress(`${path}: looking`)
    const onProgress = (now: ImportProgress): void => progress.at(shareOf(now), `${path}: ${wordsOf(now)}`)
    return this.#closing(progress, path, () =>
      importFile(this.#store, this.#at(path), { ...this.#options, onProgress }),
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
        onBytes: (come) => progress.at(0, `${name}: ${bytes(come)}`),
        onProgress: (now) => progress.at(shareOf(now), `${name}: ${wordsOf(now)}`),
      }),
    )
  }

  async #closing(progress: Progress, path: string, work: () => Promise<ImportReport>): Promise<FileOutcome> {
    const outcome = await this.#outcomeOf(path, work)
    const end = 'report' in outcome ? `${bytes(outcome.report.size)} read` : 'not imported'
    progress.end(`${path}: ${end}`)
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

  /** Imports what is recognised of a folder. */
  async #folder(path: string): Promise<boolean> {
    const progress = await this.#context.progress(`${path}: looking`)
    const { json, err } = this.#context
    const total = err.isTerminal && !json ? await countFiles(this.#at(path), this.#follow) : 0
    let isWhole = false
    const found = { files: 0, unrecognised: 0, named: [] as { path: string; looks: string }[] }
    try {
      for await (const entry of filesIn(this.#at(path), this.#follow)) {
        if (this.#context.signal.aborted) return this.#told(this.#interrupted(path), true)
        const at = found.files
        const onProgress = (now: ImportProgress): void =>
          progress.at((at + shareOf(now)) / total, `${path}: ${count(at + 1)} of ${count(total)} files`)
        const outcome = await this.#within(path, entry.path, onProgress)
        if (!entry.isFolder) found.files += 1
        if ('failure' in outcome && outcome.failure.code === 'FILE_UNRECOGNISED') {
          const { looks } = outcome.failure.facts as { readonly looks: string }
          found.unrecognised += 1
          if (found.named.length < NAMED) found.named.push({ path: outcome.path, looks })
        } else if (!this.#told(outcome, true)) return false
      }
      isWhole = true
    } finally {
      progress.end(`${path}: ${count(found.files)} files`)
      this.#telling.folder({ path, ...found }, isWhole)
    }
    return isWhole
  }

  #interrupted(path: string): FileOutcome {
    const error = new CliError('INTERRUPTED', 'Interrupted.')
    return { path, failure: failureOf(error, true), error }
  }

  /** A file of a folder: what has no id of its own is called after its whole way, since names of files may be the same in every folder. */
  #within(
    folder: string,
    path: string,
    onProgress: (progress: ImportProgress) => void,
  ): Promise<FileOutcome> {
    const shown = path === '' ? folder : `${withoutTrailing(folder, '/')}/${path}`
    const name = stemOf(path)
    const isName = name !== '' && name.length <= MAX_NAME_LENGTH && name.isWellFormed()
    return this.#outcomeOf(shown, () =>
      importFile(this.#store, join(this.#at(folder), path), {
        ...this.#options,
        ...(isName && { name }),
        checkSource: true,
        followLinks: this.#follow,
        onProgress,
      }),
    )
  }
}

/** A file is read twice: the check is the first half. */
function shareOf({ phase, bytes: read, size }: ImportProgress): number {
  const half = (size === 0 ? 1 : read / size) / 2
  return phase === 'check' ? half : 0.5 + half
}

function wordsOf({ phase, bytes: read, size, messages }: ImportProgress): string {
  const doing = phase === 'check' ? 'checking' : 'storing'
  return `${doing}, ${bytes(read)} of ${bytes(size)}, ${count(messages)} messages`
}
