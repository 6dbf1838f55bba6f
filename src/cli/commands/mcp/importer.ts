import { type FSWatcher, watch } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { errorName } from '../../../core/errors.ts'
import { importFile } from '../../../transfer/import-file.ts'
import type { ImportReport } from '../../../transfer/import-report.ts'
import type { Context } from '../../command.ts'
import { CliError, failureOf } from '../../errors.ts'
import { filesIn, nameWithin } from '../import/folder.ts'
import { type FileOutcome, isFatal, placeText } from '../import/report.ts'
import type { Access } from './tool.ts'

/** A file that was not stored, or a part of it: the reason, without its text. */
type NotImported = { readonly path: string; readonly code: string; readonly message: string }

/** The result of an import. */
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

  /** Imports a file below a folder, with `skipBad` without its unreadable places. Two files at once would be two writers of a session. */
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
      throw new CliError('NOT_THERE', 'There is no such file or folder.', { hint: 'Pass an absolute path.' })
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
      // This client must not learn that another owner has a session with this id.
      const message = this.#access.owner !== undefined && code === 'SESSION_EXISTS' ? 'the id is taken' : why
      return [{ path, code, message }]
    })
  }
}

/** The places of a file that its import left out, for people. */
function skippedPlaces(outcome: FileOutcome): string[] {
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

/**
 * The pause between a change and the import, which combines many changes; the factor by which it exceeds the last import's time; and its
 * limit.
 */
const [PAUSE_MS, PAUSE_FACTOR, MAX_PAUSE_MS] = [300, 4, 30_000]
/** After this many files and this time, files changed meanwhile are imported before the rest, because the first import may take minutes. */
const [PASS_FILES, PASS_MS] = [20, 2_000]
/** Folders are looked through this often anyway: not every file system reports changes. */
const RESCAN_MS = 60_000
/** The time limit for importing the last changes before the server ends. */
const FLUSH_MS = 5_000

/** Failures because another process was faster, or is writing to the file or the store: a second attempt usually has nothing left to do. */
const CONFLICTS: ReadonlySet<string> = new Set([
  'FILE_CHANGED',
  'POSITION_CONFLICT',
  'IDEMPOTENCY_CONFLICT',
  'SESSION_EXISTS',
  'STORE_BUSY',
])

type Watching = {
  readonly importer: Pick<Importer, 'file' | 'failuresOf'>
  readonly signal: AbortSignal
  /** Receives a line for people: why a file is not imported, each reason of a file once. */
  readonly report: (line: string) => void
  /** Called when sessions were stored or grew. */
  readonly changed: () => void
}

/**
 * Imports the files of a folder, and again those that appear or grow. A change of a folder only causes a look at the sizes and times of its
 * files, which are what decides, so lost, repeated and late notices do no harm.
 */
export class FolderWatch {
  readonly #folder: string
  readonly #given: Watching
  readonly #ending = new AbortController()
  readonly #signal: AbortSignal
  /** Size and time of each file at its last import, by path. */
  #imported = new Map<string, string>()
  /** The state at which a file was tried a second time. */
  readonly #repeated = new Map<string, string>()
  readonly #reported = new Set<string>()
  readonly #watchers = new Map<string, FSWatcher>()
  #timer: NodeJS.Timeout | undefined
  #rescan: NodeJS.Timeout | undefined
  #scan: Promise<void> | undefined
  #isDue = false
  #isEnding = false
  #pauseMs = PAUSE_MS

  constructor(folder: string, given: Watching) {
    this.#folder = folder
    this.#given = given
    this.#signal = AbortSignal.any([given.signal, this.#ending.signal])
  }

  start(): void {
    this.#rescan = setInterval(() => this.#due(), RESCAN_MS)
    this.#run()
  }

  /** Imports the last changes, for a few seconds at most, and stops. */
  async end(): Promise<void> {
    this.#isEnding = true
    clearInterval(this.#rescan)
    clearTimeout(this.#timer)
    const limit = setTimeout(() => this.#ending.abort(), FLUSH_MS)
    await this.#scan
    if (!this.#signal.aborted) await this.#look()
    clearTimeout(limit)
    this.#ending.abort()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #due(): void {
    this.#isDue = true
    if (this.#isEnding || this.#signal.aborted) return
    if (this.#scan === undefined && this.#timer === undefined)
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        this.#run()
      }, this.#pauseMs)
  }

  #run(): void {
    const began = Date.now()
    this.#scan = this.#look().finally(() => {
      this.#scan = undefined
      this.#pauseMs = Math.min(MAX_PAUSE_MS, Math.max(PAUSE_MS, PAUSE_FACTOR * (Date.now() - began)))
      if (this.#isDue) this.#due()
    })
  }

  /** Looks through the folder and imports new content, the newest file first. Failures are reported, and tried again at the next look. */
  #look(): Promise<void> {
    return this.#passes().catch((error: unknown) => {
      this.#once(
        '\nlook',
        `${this.#folder} could not be scanned (${errorName(error)}); the next attempt follows within a minute.`,
      )
    })
  }

  async #passes(): Promise<void> {
    while (await this.#pass());
  }

  /** One look. Returns `true` if it was interrupted because files changed. */
  async #pass(): Promise<boolean> {
    this.#isDue = false
    const folders = new Set<string>()
    const files = new Map<string, string>()
    const changed: { path: string; state: string; time: number }[] = []
    for await (const { path, kind } of filesIn(this.#folder, false)) {
      if (this.#signal.aborted) return false
      if (kind === 'folder') {
        folders.add(path)
        this.#watch(path)
      } else if (kind === 'file') {
        // A file may disappear at any moment.
        const facts = await stat(join(this.#folder, path)).catch(() => undefined)
        if (facts === undefined) continue
        const state = `${facts.size}:${facts.mtimeMs}`
        const known = this.#imported.get(path)
        if (known === state) files.set(path, state)
        else changed.push({ path, state, time: facts.mtimeMs })
      }
    }
    for (const [path, watcher] of this.#watchers)
      if (!folders.has(path)) {
        watcher.close()
        this.#watchers.delete(path)
      }
    this.#imported = files
    const began = Date.now()
    for (const [done, { path, state }] of changed.sort((a, b) => b.time - a.time).entries()) {
      if (this.#isDue && done >= PASS_FILES && Date.now() - began > PASS_MS) return true
      if (this.#signal.aborted) return false
      // A place that cannot be read must not stop a session: it is reported, and what follows is stored.
      const outcome = await this.#given.importer.file(this.#folder, path, this.#signal, true)
      if (this.#signal.aborted) return false
      if ('report' in outcome && outcome.report.totals.imported + outcome.report.totals.extended > 0)
        this.#given.changed()
      const failures = this.#given.importer.failuresOf(outcome)
      if (failures.some(({ code }) => CONFLICTS.has(code)) && this.#repeated.get(path) !== state) {
        this.#repeated.set(path, state)
        this.#isDue = true
      } else {
        this.#repeated.delete(path)
        this.#report(failures, isFatal(outcome))
        for (const place of skippedPlaces(outcome))
          this.#once(`${path}\n${place}`, `${outcome.path}: skipped, ${place}`)
        // A failure that prevents every import is tried again at the next look.
        if (!isFatal(outcome)) this.#imported.set(path, state)
      }
      if (isFatal(outcome)) return false
    }
    return false
  }

  #report(failures: readonly NotImported[], isFatal: boolean): void {
    // Files of other kinds aren't transcripts.
    for (const { path, code, message } of failures)
      if (code !== 'FILE_UNRECOGNIZED')
        this.#once(`${isFatal ? '' : path}\n${code}`, `${path} wasn't imported (${code}): ${message}`)
  }

  #once(key: string, line: string): void {
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    this.#given.report(line)
  }

  #watch(path: string): void {
    if (this.#watchers.has(path)) return
    try {
      const watcher = watch(join(this.#folder, path), () => this.#due())
      watcher.on('error', () => {
        watcher.close()
        this.#watchers.delete(path)
        this.#due()
      })
      this.#watchers.set(path, watcher)
    } catch (error) {
      this.#once(
        '\nwatch',
        `Not all folders can be watched (${errorName(error)}); changes in them are imported within a minute.`,
      )
    }
  }
}
