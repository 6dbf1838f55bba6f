import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { importFile } from '../../../transfer/import-file.ts'
import type { ImportReport } from '../../../transfer/import-report.ts'
import type { Context } from '../../command.ts'
import { CliError, failureOf } from '../../errors.ts'
import { filesIn, nameWithin } from '../import/folder.ts'
import { type FileOutcome, isFatal, placeText } from '../import/report.ts'
import type { Access } from './tool.ts'

/** A file that was not stored, or a part of it: the reason, without its text. */
export type NotImported = { readonly path: string; readonly code: string; readonly message: string }

/** What an import did. */
export type Imported = {
  readonly files: number
  readonly unrecognized: number
  readonly sessions: number
  readonly messages: number
  readonly failures: readonly NotImported[]
}

/** Imports transcripts into the store, one file at a time, for the owner that the server is restricted to. Links are not followed. */
export class Importer {
  readonly #access: Access
  readonly #context: Context
  /** The only folders from which files are imported; empty for no restriction. */
  readonly #folders: readonly string[]
  #last: Promise<unknown> = Promise.resolve()

  constructor(access: Access, context: Context, folders: readonly string[]) {
    this.#access = access
    this.#context = context
    this.#folders = folders
  }

  /**
   * Imports a file below a folder, with `skipBad` without its unreadable places. Two files at once would be two writers of a session.
   */
  file(folder: string, path: string, signal: AbortSignal, skipBad = false): Promise<FileOutcome> {
    const next = (): Promise<FileOutcome> => this.#file(folder, path, signal, skipBad)
    // An earlier import may have failed; its caller receives that error.
    const outcome = this.#last.then(next, next)
    this.#last = outcome
    return outcome
  }

  async #file(folder: string, path: string, signal: AbortSignal, skipBad: boolean): Promise<FileOutcome> {
    const { store, owner } = this.#access
    const file = join(folder, path)
    try {
      const report = await importFile(store, file, {
        ...nameWithin(path),
        ...(owner !== undefined && { owner }),
        signal,
        skipBad,
        followLinks: false,
      })
      return { path: file, report }
    } catch (error) {
      return { path: file, failure: failureOf(error, signal.aborted), error }
    }
  }

  /** Imports a file, or all files of a folder. Throws what prevents any import, and `WRONG_USE` for a path outside of the folders. */
  async path(given: string, signal: AbortSignal): Promise<Imported> {
    const path = await this.#allowed(resolve(this.#context.cwd, given))
    const isFolder = (await stat(path)).isDirectory()
    const outcomes: FileOutcome[] = []
    for await (const [folder, file] of isFolder
      ? filesOf(path)
      : [[dirname(path), basename(path)] as const]) {
      if (signal.aborted) throw new CliError('INTERRUPTED', 'The import was interrupted.')
      const outcome = await this.file(folder, file, signal)
      if (isFatal(outcome)) throw outcome.error
      outcomes.push(outcome)
    }
    return this.#sum(outcomes, isFolder)
  }

  async #allowed(path: string): Promise<string> {
    const real = await realpath(path).catch(() => {
      throw new CliError('NOT_THERE', 'There is no such file or folder.', { hint: 'Give an absolute path.' })
    })
    const folders = await Promise.all(this.#folders.map((folder) => realpath(folder).catch(() => folder)))
    if (folders.length === 0 || folders.some((folder) => isWithin(folder, real))) return real
    throw new CliError('WRONG_USE', 'This server imports only from the folders that --watch names.')
  }

  #sum(outcomes: readonly FileOutcome[], isFolder: boolean): Imported {
    const reports = outcomes.flatMap((one) => ('report' in one ? [one.report] : []))
    const isOther = (one: FileOutcome): boolean =>
      isFolder && 'failure' in one && one.failure.code === 'FILE_UNRECOGNIZED'
    const total = (of: (report: ImportReport) => number): number =>
      reports.reduce((sum, report) => sum + of(report), 0)
    return {
      files: outcomes.length,
      unrecognized: outcomes.filter(isOther).length,
      sessions: total(({ totals }) => totals.imported + totals.extended),
      messages: total(({ totals }) => totals.messages),
      failures: outcomes.filter((one) => !isOther(one)).flatMap((one) => this.failuresOf(one)),
    }
  }

  /** Why a file, or conversations of it, were not stored. */
  failuresOf(outcome: FileOutcome): NotImported[] {
    const { path } = outcome
    if ('failure' in outcome) return [{ path, code: outcome.failure.code, message: outcome.failure.message }]
    return outcome.report.conversations.flatMap(({ status, code = 'BAD_DATA', why = '' }) => {
      if (status !== 'refused') return []
      // Whether another owner has a session of this id is not for this client.
      const message = this.#access.owner !== undefined && code === 'SESSION_EXISTS' ? 'the id is taken' : why
      return [{ path, code, message }]
    })
  }
}

/** The places of a file that its import left out, for people. */
export function leftOutOf(outcome: FileOutcome): string[] {
  if ('failure' in outcome) return []
  return outcome.report.conversations.flatMap(({ status, problems, notes }) => {
    const torn = notes.filter(({ kind }) => kind === 'torn')
    const places = status === 'refused' ? torn : [...problems, ...torn]
    return places.map((place) => `${placeText(place)}: ${place.why}`)
  })
}

async function* filesOf(folder: string): AsyncGenerator<readonly [folder: string, file: string]> {
  for await (const { path, kind } of filesIn(folder, false)) if (kind === 'file') yield [folder, path]
}

function isWithin(folder: string, path: string): boolean {
  const below = relative(folder, path)
  return below === '' || (below !== '..' && !below.startsWith(`..${sep}`) && resolve(folder, below) === path)
}
