import { resolve } from 'node:path'
import { z } from 'zod'
import { invalid, UndertextError } from '../core/errors.ts'
import { check } from '../core/messages/check.ts'
import { isAddress, isPostgresUrl } from '../storage/location.ts'
import type { Backup, BackupProgress } from '../storage/storage.ts'
import type { StoreContext } from './context.ts'

const backupSchema = z.strictObject({
  /** Whether an existing file is replaced. The new one takes its place only when it is complete. */
  overwrite: z.boolean().default(false),
  signal: z.instanceof(AbortSignal).optional(),
  /** Called at the beginning, between the steps of the copy, and at its end. */
  onProgress: z
    .custom<(progress: BackupProgress) => void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})
/** Options of `backup`. */
export type BackupOptions = z.input<typeof backupSchema>

/** Where PostgreSQL's own tools are described. */
const PAGE = 'docs/backup.md'

/** See `Store.backup`. */
export async function backup(
  { storage, owner }: StoreContext,
  path: string,
  options: BackupOptions,
): Promise<Backup> {
  if (owner !== undefined)
    throw invalid('backup: a backup has the data of all owners; exportOwner writes those of one')
  const checked = check(backupSchema, options, 'backup')
  const file = filePath('backup', path)
  if (storage.backup === undefined)
    throw new UndertextError('NOT_SUPPORTED', { verb: 'backup', engine: 'PostgreSQL', page: PAGE })
  return storage.backup({ ...checked, path: file })
}

/** Returns the absolute path of a file to write. Throws `INVALID_INPUT` for anything else, such as an address. */
export function filePath(verb: string, path: unknown): string {
  if (typeof path !== 'string' || path === '' || path === ':memory:' || path.includes('\0'))
    throw invalid(`${verb}: path must be the path of a file`)
  if (isPostgresUrl(path) || isAddress(path))
    throw invalid(`${verb}: path must be a file, not an address; moveStore copies a store to a server`)
  return resolve(path)
}
