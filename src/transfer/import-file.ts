import { isUndertextError, UndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import { storeSchema } from '../store/arguments.ts'
import { type CheckedConversation, checkFile } from './check-file.ts'
import { detectSource } from './detect.ts'
import {
  checkHistories,
  historyNames,
  historyOutcome,
  historyRefused,
  restoreHistories,
} from './import-histories.ts'
import {
  type CheckedImportFile,
  type ImportedConversation,
  type ImportFileOptions,
  type ImportProgress,
  type ImportReport,
  importFileSchema,
  reportOf,
} from './import-report.ts'
import type { Done } from './outcomes.ts'
import { sessionNames } from './session-rows.ts'
import type { Source } from './source.ts'
import { FileInput } from './source.ts'
import { type ImportStore, writeFile } from './write-file.ts'

/** The minimum bytes between two reports: about ten per second at 40 MB per second. */
const STEP_BYTES = 4 * 1024 * 1024
/** The maximum number of reports per phase. */
const MOST_STEPS = 200

/** Reports the progress of an import by bytes: the same calls at any speed. */
class Progress {
  readonly #tell: (progress: ImportProgress) => void
  readonly #size: number
  readonly #step: number
  #phase: ImportProgress['phase'] = 'check'
  #bytes = 0
  #reported = 0
  #messages = 0

  constructor(size: number, tell: ((progress: ImportProgress) => void) | undefined) {
    this.#size = size
    this.#tell = tell ?? (() => undefined)
    this.#step = Math.max(STEP_BYTES, Math.ceil(size / MOST_STEPS))
  }

  begin(phase: ImportProgress['phase']): void {
    this.#phase = phase
    this.#bytes = 0
    this.#messages = 0
    this.#say()
  }

  /** The position of a reading; a repeated reading counts once it passes the last one. */
  reached(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, bytes)
    if (this.#bytes - this.#reported >= this.#step) this.#say()
  }

  counted(messages: number): void {
    this.#messages = messages
  }

  end(): void {
    this.#bytes = this.#size
    this.#say()
  }

  #say(): void {
    this.#reported = this.#bytes
    this.#tell({ phase: this.#phase, bytes: this.#bytes, size: this.#size, messages: this.#messages })
  }
}

const importStoreSchema = storeSchema<ImportStore>('importSession', 'restoreSession', 'getSession')

/**
 * Imports the conversations of a file into a store: sessions of agents, chat exports, transcripts. The kind of file is detected from its content.
 *
 * The file is read twice, in bounded memory: once to check all of it, once to store it, conversation by conversation. A conversation with an
 * unreadable place is not stored, or with `skipBad` stored without that place; the others are stored. Importing the same file again adds
 * nothing, a longer one adds its new messages. `docs/imports.md` lists the recognized files and their mapping.
 *
 * Throws `FILE_UNREADABLE`, `FILE_UNRECOGNISED` for a file of an unknown kind, `FILE_CHANGED` when it is rewritten meanwhile (appended text is
 * left for the next import), `IMPORT_ABORTED`, `INVALID_INPUT` for invalid options, and the store's own errors (`STORE_BUSY`, `STORE_FULL` …).
 * Conversations that were stored before stay; another import continues there.
 */
export async function importFile(
  store: ImportStore,
  path: string,
  options: ImportFileOptions = {},
): Promise<ImportReport> {
  check(importStoreSchema, store, 'importFile: store')
  const checked = check(importFileSchema, options, 'importFile')
  return importInput(store, path, await FileInput.open(path, checked.followLinks), checked)
}

/** Imports an open file and closes it. `path` is its name in errors and the report. Throws like `importFile`. */
export async function importInput(
  store: ImportStore,
  path: string,
  input: FileInput,
  options: CheckedImportFile,
): Promise<ImportReport> {
  try {
    return await new FileImport(store, path, input, options).run()
  } finally {
    await input.close()
  }
}

class FileImport {
  readonly #store: ImportStore
  readonly #path: string
  readonly #input: FileInput
  readonly #options: CheckedImportFile
  readonly #progress: Progress

  constructor(store: ImportStore, path: string, input: FileInput, options: CheckedImportFile) {
    this.#store = store
    this.#path = path
    this.#input = input
    this.#options = options
    this.#progress = new Progress(input.size, options.onProgress)
  }

  async run(): Promise<ImportReport> {
    this.#watch()
    const source = await this.#source()
    const isHistory = source === 'history'
    this.#progress.begin('check')
    const conversations = await (isHistory ? this.#histories() : this.#conversations(source))
    this.#progress.end()
    const { name, size } = this.#input
    const file = name === '' ? this.#path : name
    const { dryRun } = this.#options
    return reportOf({ file, size, source: isHistory ? 'undertext' : source.name, dryRun, conversations })
  }

  async #conversations(source: Source): Promise<ImportedConversation[]> {
    const checked = await checkFile(this.#input, source, this.#reading, this.#onMessages)
    const names = sessionNames(checked, this.#input.name, this.#options)
    return this.#written(source, checked, names)
  }

  async #histories(): Promise<ImportedConversation[]> {
    const importing = {
      store: this.#store,
      path: this.#path,
      input: this.#input,
      options: this.#options,
      onMessages: this.#onMessages,
    }
    const histories = await checkHistories(importing)
    const names = historyNames(histories, importing)
    if (!this.#options.dryRun) {
      this.#beginWriting()
      return restoreHistories(histories, names, importing)
    }
    const done: ImportedConversation[] = []
    for (const [i, history] of histories.entries()) {
      const { messages } = history.counts
      const would = await this.#wouldBe(names[i]!, messages, historyRefused(history))
      done.push(historyOutcome(names[i]!, history, would, i))
    }
    return done
  }

  /** Reports the end of the check first. */
  #beginWriting(): void {
    this.#progress.end()
    this.#progress.begin('write')
  }

  readonly #onMessages = (count: number): void => this.#progress.counted(count)

  get #reading(): { readonly branches: boolean } {
    return { branches: this.#options.branches }
  }

  /** Reports the progress, and stops when the signal aborted. */
  #watch(): void {
    const { signal } = this.#options
    this.#input.onBlock = (bytes) => {
      if (signal?.aborted) throw new UndertextError('IMPORT_ABORTED', { file: this.#path, imported: 0 })
      this.#progress.reached(bytes)
    }
  }

  async #source(): Promise<Source | 'history'> {
    const { source, checkSource } = this.#options
    const found = await detectSource(this.#input, source, checkSource)
    if ('source' in found) return found.source
    throw new UndertextError('FILE_UNRECOGNISED', { file: this.#path, looks: found.looks })
  }

  async #written(
    source: Source,
    conversations: readonly CheckedConversation[],
    names: readonly string[],
  ): Promise<ImportedConversation[]> {
    this.#beginWriting()
    return writeFile(conversations, names, {
      store: this.#store,
      path: this.#path,
      input: this.#input,
      source,
      reading: this.#reading,
      options: this.#options,
      onMessages: this.#onMessages,
    })
  }

  async #wouldBe(name: string, messages: number, why: string | undefined): Promise<Done> {
    if (why !== undefined) return { status: 'refused', why }
    if (messages === 0) return { status: 'empty' }
    return { status: 'checked', messages, existing: await this.#messagesOf(name) }
  }

  async #messagesOf(sessionId: string): Promise<number> {
    try {
      return (await this.#store.getSession(sessionId)).messageCount
    } catch (error) {
      if (isUndertextError(error, 'SESSION_NOT_FOUND')) return 0
      throw error
    }
  }
}
