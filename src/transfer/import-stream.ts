import { constants } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { invalid, UndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import { importInput } from './import-file.ts'
import type { ImportReport } from './import-report.ts'
import { type ImportFileOptions, importFileSchema } from './import-report.ts'
import { FileInput } from './source.ts'
import type { ImportStore } from './write-file.ts'

/** The content of a stream, which can be read several times. */
type Spooled = { readonly input: FileInput; readonly remove: () => Promise<void> }

type SpoolOptions = {
  readonly signal: AbortSignal | undefined
  /** Receives the number of bytes so far. */
  readonly onBytes: ((bytes: number) => void) | undefined
}

/**
 * Writes a stream to a private temporary file. Its name is removed as soon as it is open, so that nothing is left however the process ends; on
 * systems that keep the names of open files, `remove` removes it.
 *
 * Throws `IMPORT_ABORTED`, and `FILE_UNREADABLE` when there is no room or the stream fails. `called` is its name in errors.
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
  /** Its name in errors and the report. Default: `stream`. */
  readonly called?: string
  /** Receives the number of bytes so far. */
  readonly onBytes?: (bytes: number) => void
}

/**
 * Imports a stream as `importFile` imports a file. Because a file is read twice, the stream is first written to a private temporary file, which is
 * removed at the end. Stored data does not depend on its path: conversations without an id are named `name`, else `called`.
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
