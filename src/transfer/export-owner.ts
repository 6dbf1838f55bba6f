import { existsSync, rmSync } from 'node:fs'
import { invalid } from '../core/errors.ts'
import { filePath } from '../store/backup.ts'
import { openStore } from '../store/open.ts'
import { contextOf, Store } from '../store/store.ts'
import { type MoveOptions, type MoveReport, moveStore } from './move-store.ts'

/**
 * Writes everything of an owner to a new file, which is a store of its own: sessions, archived or not, with their compactions, requests and
 * notes, and the notes of the owner. `moveStore` copies it into any other store, and the command line reads it like any store. Each session
 * is copied as of one moment and compared. The report names sessions that couldn't be copied.
 *
 * Throws `INVALID_INPUT` if the file exists, `ABORTED`, and the errors of `openStore`; then no file is left.
 */
export async function exportOwner(
  store: Store,
  owner: string,
  path: string,
  options: MoveOptions = {},
): Promise<MoveReport> {
  if (!(store instanceof Store)) throw invalid('exportOwner: store must be a store')
  const from = store.forOwner(owner)
  const file = filePath('exportOwner', path)
  if (existsSync(file)) throw invalid('exportOwner: the file already exists')
  const estimators = [...contextOf(from).estimators.byName.values()]
  try {
    const to = await openStore(file, { env: false, estimators })
    try {
      return await moveStore(from, to, options)
    } finally {
      await to.close()
    }
  } catch (error) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    throw error
  }
}
