import { constants } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { invalid, UndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import { importInput } from './import-file.ts'
import {
  type ImportFileOptions,
  type ImportReport,
  type ImportStore,
  importFileSchema,
} from './import-report.ts'
import { FileInput } from './source.ts'

/** What came by a stream, to be read as often as asked. */
type Spooled = { readonly input: FileInput; readonly remove: () => Promise<void> }

type SpoolOptions = {
  readonly signal: AbortSignal | undefined
  /** Hears how many bytes have come so far. */
  readonly onBytes: ((bytes: number) => void) | undefined
}

/**
 * Puts all that a stream brings into a temporary file that nobody else may read. Its name is taken away as soon as it is open, so that nothing
 * of it is left however the process ends; where a system keeps names of open files, `remove` takes it away.
 *
 * Throws `IMPORT_ABORTED`, and `FILE_UNREADABLE` when there is no room or the stream fails. `called` is what errors call it.
 */
async function spool(stream: Readable, called: string, { signal, onBytes }: SpoolOptions): Promise<Spooled> {
  const folder = await mkdtemp(join(tmpdir(), 'undertext-import-')).catch((error: unknown) => {
    throw unkept(called, error)
  })
  const remove = () => rm(folder, { recursive: true, force: true }).catch(() => undefined)
  let handle: FileHandle | undefined
  try {
    handle = await open(join(folder, 'input'), READ_AND_WRITE, 0o600)
    await remove()
    await pipeline(stream, writerTo(handle, onBytes), { ...(signal !== undefined && { signal }) })
    return { input: await FileInput.nameless(handle, called), remove }
  } catch (error) {
    await handle?.close()
    await remove()
    if (signal?.aborted) throw new UndertextError('IMPORT_ABORTED', { file: called, imported: 0 })
    throw unkept(called, error)
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

function unkept(file: string, error: unknown): UndertextError<'FILE_UNREADABLE'> {
  const { code } = error as NodeJS.ErrnoException
  const why = code === undefined ? 'it failed' : `the system says ${code}`
  const detail = `it could not be put into a temporary file: ${why}. TMPDIR names the folder for these.`
  return new UndertextError('FILE_UNREADABLE', { file, detail })
}

export type ImportStreamOptions = ImportFileOptions & {
  /** What errors and the report call it. Default: `stream`. */
  readonly called?: string
  /** Hears how many bytes have come so far. */
  readonly onBytes?: (bytes: number) => void
}

/**
 * Imports what a stream brings as `importFile` imports a file. A file is read twice, so all of it is put into a private temporary file first,
 * which is gone when this ends. Nothing that is stored depends on where that was: conversations without an id of their own are called
 * `name`, or without that what the stream is called.
 *
 * Throws what `importFile` throws; `FILE_UNREADABLE` also when there is no room for the temporary file or the stream fails.
 */
export async function importStream(
  store: ImportStore,
  stream: Readable,
  { called = 'stream', onBytes, ...options }: ImportStreamOptions = {},
): Promise<ImportReport> {
  if (typeof called !== 'string' || called === '') throw invalid('importStream: called must be a text')
  const checked = check(importFileSchema, { name: called, ...options }, 'importStream')
  const spooled = await spool(stream, called, { signal: checked.signal, onBytes })
  try {
    return await importInput(store, called, spooled.input, checked)
  } finally {
    await spooled.remove()
  }
}
