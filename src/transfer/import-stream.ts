import type { Readable } from 'node:stream'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import { importInput } from './import-file.ts'
import { type ImportFileOptions, importFileSchema } from './import-options.ts'
import type { ImportReport } from './import-report.ts'
import { spool } from './spool.ts'
import type { ImportStore } from './write-file.ts'

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
