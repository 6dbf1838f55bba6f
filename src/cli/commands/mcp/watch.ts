import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorName } from '../../../core/errors.ts'
import { filesIn } from '../import/folder.ts'
import { isFatal } from '../import/report.ts'
import { type Importer, leftOutOf, type NotImported } from './importer.ts'

/** The pause between a change and the import, so that many changes are one; how much longer than the last import it is, and its limit. */
const [PAUSE_MS, PAUSE_FACTOR, MAX_PAUSE_MS] = [300, 4, 30_000]
/** After so many files and this time, what was changed meanwhile comes before the rest: the first import may take minutes. */
const [PASS_FILES, PASS_MS] = [20, 2_000]
/** Folders are looked through this often anyway: not every file system reports changes. */
const RESCAN_MS = 60_000
/** What was changed before the end of the server may take so long to be imported. */
const FLUSH_MS = 5_000

/** Failures because another process was faster, or writes the file or the store now: a second attempt usually has nothing left to do. */
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

  /** Imports what has changed, for a few seconds at most, and stops. */
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

  /** Looks through the folder and imports what is new, the newest file first. What fails is reported, and tried again at the next look. */
  #look(): Promise<void> {
    return this.#passes().catch((error: unknown) => {
      this.#once(
        '\nlook',
        `${this.#folder} was not looked through (${errorName(error)}); it is tried again within a minute.`,
      )
    })
  }

  async #passes(): Promise<void> {
    while (await this.#pass());
  }

  /** One look; `true` when it was interrupted because something was changed. */
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
        for (const place of leftOutOf(outcome))
          this.#once(`${path}\n${place}`, `${outcome.path}: left out, ${place}`)
        // What prevents every import is tried again at the next look.
        if (!isFatal(outcome)) this.#imported.set(path, state)
      }
      if (isFatal(outcome)) return false
    }
    return false
  }

  #report(failures: readonly NotImported[], isFatal: boolean): void {
    // Files of other kinds are no transcripts.
    for (const { path, code, message } of failures)
      if (code !== 'FILE_UNRECOGNIZED')
        this.#once(`${isFatal ? '' : path}\n${code}`, `${path} was not imported (${code}): ${message}`)
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
