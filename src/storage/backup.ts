import { link, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/** How far a backup is. */
export type BackupProgress = { readonly pages: number; readonly totalPages: number }

/** A backup to make. */
export type BackupRequest = {
  /** The absolute path of the file. */
  readonly path: string
  /** Whether an existing file is replaced. */
  readonly overwrite: boolean
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: BackupProgress) => void) | undefined
}

/** A finished backup. */
export type Backup = {
  /** The absolute path of the file. */
  readonly path: string
  readonly bytes: number
  readonly pages: number
  readonly sessions: number
  /** The moment that it shows, in milliseconds since 1970. */
  readonly at: number
}

/**
 * Gives a complete file its name. Without `overwrite`, fails with `EEXIST` if there is a file with this name, even if another program has
 * just created it: a link fails then, unlike a rename.
 */
export async function publishFile(partial: string, path: string, overwrite: boolean): Promise<void> {
  if (overwrite || !(await linked(partial, path))) await rename(partial, path)
  await syncFolder(dirname(path))
}

/** Returns `false` if the file system has no links. */
async function linked(partial: string, path: string): Promise<boolean> {
  try {
    await link(partial, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
    return false
  }
  await unlink(partial)
  return true
}

/** Makes a new name survive a power failure. Windows can't open folders, and needs no such call. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => undefined)
  await folder?.sync().catch(() => undefined)
  await folder?.close()
}
