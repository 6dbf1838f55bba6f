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

/** Bytes between two reports at least: a machine that reads 40 MB a second makes ten of them. */
const STEP_BYTES = 4 * 1024 * 1024
/** Reports of a phase at most, for files of any size. */
const MOST_STEPS = 200

/** Tells how far an import is, by bytes: the same calls each time, however fast it goes. */
class Progress {
  readonly #tell: (progress: ImportProgress) => void
  readonly #size: number
  readonly #step: number
  #phase: ImportProgress['phase'] = 'check'
  #bytes = 0
  #told = 0
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

  /** Where a reading has come to; one that starts over counts from where it passes the last. */
  reached(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, bytes)
    if (this.#bytes - this.#told >= this.#step) this.#say()
  }

  counted(messages: number): void {
    this.#messages = messages
  }

  end(): void {
    this.#bytes = this.#size
    this.#say()
  }

  #say(): void {
    this.#told = this.#bytes
    this.#tell({ phase: this.#phase, bytes: this.#bytes, size: this.#size, messages: this.#messages })
  }
}

const importStoreSchema = storeSchema<ImportStore>('importSession', 'restoreSession', 'getSession')

/**
 * Brings the conversations of a file into a store: sessions of agents, exports of chats, transcripts. The kind of file is told by its content.
 *
 * The file is read twice, in bounded memory: once to check all of it, once to store it, conversation by conversation. A conversation
 * with a place that cannot be read is not stored at all, or without that place with `skipBad`; the others are. The same file again adds
 * nothing, a longer one adds its end. `docs/imports.md` says what is recognised and how it is mapped.
 *
 * Throws `FILE_UNREADABLE`, `FILE_UNRECOGNISED` for a file of no known kind, `FILE_CHANGED` when it is rewritten meanwhile (what somebody
 * appends to it is left for the next time), `IMPORT_ABORTED`, `INVALID_INPUT` for options that cannot be, and what the store throws for
 * reasons of its own (`STORE_BUSY`, `STORE_FULL` …). Conversations stored before that stay; importing again goes on from there.
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

/** Imports what is open, and closes it. Errors and the report call it `path`. Throws what `importFile` throws. */
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

  /** The end of the check is told before. */
  #beginWriting(): void {
    this.#progress.end()
    this.#progress.begin('write')
  }

  readonly #onMessages = (count: number): void => this.#progress.counted(count)

  get #reading(): { readonly branches: boolean } {
    return { branches: this.#options.branches }
  }

  /** Tells how far it is, and stops where that is asked for. */
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
