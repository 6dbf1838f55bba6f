import { constants } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { invalid, UndertextError } from '../core/errors.ts'
import { check } from '../core/messages/check.ts'
import { storeSchema } from '../store/arguments.ts'
import { detectSource } from './detect.ts'
import { importConversations } from './import-conversations.ts'
import { importHistories } from './import-histories.ts'
import {
  type CheckedImportFile,
  type ImportFileOptions,
  type Importing,
  type ImportProgress,
  type ImportReport,
  type ImportStore,
  importFileSchema,
  reportOf,
} from './import-report.ts'
import { FileInput } from './source.ts'

/** The content of a stream, which can be read several times. */
type Spooled = { readonly input: FileInput; readonly remove: () => Promise<void> }

type SpoolOptions = {
  readonly signal: AbortSignal | undefined
  /** Receives the number of bytes so far. */
  readonly onBytes: ((bytes: number) => void) | undefined
}

/**
 * Writes a stream to a private temporary file. The name of the file is removed once it is open, so that nothing is left however the process
 * ends; on systems that keep the names of open files, `remove` removes it.
 *
 * Throws `IMPORT_ABORTED`, and `FILE_UNREADABLE` if there is no room or the stream fails. `called` is its name in errors.
 */
async function spool(stream: Readable, called: string, { signal, onBytes }: SpoolOptions): Promise<Spooled> {
  const folder = await mkdtemp(join(tmpdir(), 'undertext-import-')).catch((error: unknown) => {
    throw spoolError(called, error)
  })
  const remove = () => rm(folder, { recursive: true, force: true }).catch(() => undefined)
  let handle: FileHandle | undefined
  try {
    handle = await open(join(folder, 'input'), READ_AND_WRITE, 0o600)
    await remove()
    await pipeline(stream, writerTo(handle, onBytes), { ...(signal !== undefined && { signal }) })
    return { input: await FileInput.fromHandle(handle, called), remove }
  } catch (error) {
    await handle?.close()
    await remove()
    if (signal?.aborted) throw new UndertextError('IMPORT_ABORTED', { file: called, imported: 0 })
    throw spoolError(called, error)
  }
}

const READ_AND_WRITE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL

function writerTo(handle: FileHandle, onBytes: SpoolOptions['onBytes']): Writable {
  let bytes = 0
  return new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length
      onBytes?.(bytes)
      handle.appendFile(chunk).then(() => done(), done)
    },
  })
}

function spoolError(file: string, error: unknown): UndertextError<'FILE_UNREADABLE'> {
  const { code } = error as NodeJS.ErrnoException
  const detail = `it could not be written to a temporary file (${code ?? 'unknown error'}). TMPDIR names the folder for such files.`
  return new UndertextError('FILE_UNREADABLE', { file, detail })
}

/** Options of `importStream`. */
export type ImportStreamOptions = ImportFileOptions & {
  /** The name of the stream in errors and in the report. Default: `stream`. */
  readonly called?: string
  /** Receives the number of bytes read so far. */
  readonly onBytes?: (bytes: number) => void
}

/**
 * Imports a stream in the same way as `importFile` imports a file. Because a file is read twice, the stream is first written to a private
 * temporary file, which is removed at the end. Stored data doesn't depend on its path: conversations without an id are named after `name`
 * or, if absent, `called`.
 *
 * Throws the errors of `importFile`. `FILE_UNREADABLE` also means that there is no room for the temporary file, or that the stream failed.
 */
export async function importStream(
  store: ImportStore,
  stream: Readable,
  { called = 'stream', onBytes, ...options }: ImportStreamOptions = {},
): Promise<ImportReport> {
  if (typeof called !== 'string' || called === '') throw invalid('importStream: called must be a string')
  const checked = check(importFileSchema, { name: called, ...options }, 'importStream')
  const spooled = await spool(stream, called, { signal: checked.signal, onBytes })
  try {
    return await importInput(store, called, spooled.input, checked)
  } finally {
    await spooled.remove()
  }
}

/** The minimum number of bytes between two reports; at 40 MB per second, about ten reports per second. */
const STEP_BYTES = 4 * 1024 * 1024
const MAX_STEPS = 200

/** Reports the progress of an import by bytes, so that the calls don't depend on its speed. */
class Progress {
  readonly #onProgress: (progress: ImportProgress) => void
  readonly #size: number
  readonly #step: number
  #phase: ImportProgress['phase'] = 'check'
  #bytes = 0
  #reported = 0
  #messages = 0

  constructor(size: number, tell: ((progress: ImportProgress) => void) | undefined) {
    this.#size = size
    this.#onProgress = tell ?? (() => undefined)
    this.#step = Math.max(STEP_BYTES, Math.ceil(size / MAX_STEPS))
  }

  begin(phase: ImportProgress['phase']): void {
    this.#phase = phase
    this.#bytes = 0
    this.#messages = 0
    this.#report()
  }

  /** Records the position of a reading. A repeated reading counts only once it passes the previous one. */
  reached(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, bytes)
    if (this.#bytes - this.#reported >= this.#step) this.#report()
  }

  counted(messages: number): void {
    this.#messages = messages
  }

  end(): void {
    this.#bytes = this.#size
    this.#report()
  }

  #report(): void {
    this.#reported = this.#bytes
    this.#onProgress({ phase: this.#phase, bytes: this.#bytes, size: this.#size, messages: this.#messages })
  }
}

const importStoreSchema = storeSchema<ImportStore>('sessions')

/**
 * Imports the conversations of a file into a store: sessions of agents, chat exports, transcripts. The kind of file is detected from its
 * content.
 *
 * The file is read twice, in bounded memory: once to check all of it, and once to store it, conversation by conversation. A conversation
 * with an unreadable place isn't stored, or with `skipBad` is stored without that place; the others are stored. Importing the same file
 * again adds nothing; importing a longer version adds its new messages. `docs/imports.md` lists the recognized files and their mapping.
 *
 * Throws `FILE_UNREADABLE`, `FILE_UNRECOGNIZED` for a file of an unknown kind, `FILE_CHANGED` if the file is rewritten meanwhile (appended
 * text is left for the next import), `IMPORT_ABORTED`, `INVALID_INPUT` for invalid options, and the store's own errors (`STORE_BUSY`,
 * `STORE_FULL` …). Conversations that were already stored remain, and another import continues there.
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

/** Imports an open file and closes it. Errors and the report call it `path`. Throws the errors of `importFile`. */
async function importInput(
  store: ImportStore,
  path: string,
  input: FileInput,
  options: CheckedImportFile,
): Promise<ImportReport> {
  const { signal, dryRun } = options
  const progress = new Progress(input.size, options.onProgress)
  // The check reads everything that determines the result.
  let digest: string | undefined
  input.onBlock = (bytes) => {
    if (signal?.aborted) throw new UndertextError('IMPORT_ABORTED', { file: path, imported: 0 })
    progress.reached(bytes)
  }
  const importing: Importing = {
    ...{ store, path, input, options },
    onMessages: (count) => progress.counted(count),
    onWrite: () => {
      digest = input.digest()
      progress.end()
      progress.begin('write')
    },
  }
  try {
    const found = await detectSource(input, options.source, options.checkSource)
    if ('looks' in found) throw new UndertextError('FILE_UNRECOGNIZED', { file: path, looks: found.looks })
    progress.begin('check')
    const { source } = found
    const isHistory = source === 'history'
    const conversations = await (isHistory
      ? importHistories(importing)
      : importConversations(source, importing))
    progress.end()
    const file = input.name === '' ? path : input.name
    const name = isHistory ? 'undertext' : source.name
    digest ??= input.digest()
    return reportOf({ file, size: input.size, digest, source: name, dryRun, conversations })
  } finally {
    await input.close()
  }
}
