import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { invalid, UndertextError } from '../../core/errors.ts'
import { type Backup, type BackupProgress, type BackupRequest, publishFile } from '../backup.ts'
import { shownPath } from '../location.ts'
import { Connection, fromDriver, translateFailure } from './connection.ts'
import type { Database } from './driver.ts'
import { clear } from './residue.ts'

/*
 * A backup is written to a file beside the target, which gets its name when it is complete. It is copied by SQLite's backup API from a
 * connection of its own that holds a read transaction. Without the transaction, each write of another process would begin the copy again,
 * so that it never ends. With it, the copy is as of one moment, writers continue, and only the write-ahead log grows meanwhile.
 */

/** The pages that are copied at a time, in about 5 ms: between two steps, the process does other work. */
const PAGES_PER_STEP = 250
/** The bytes after which copied pages are sent to the disk, in the background: the last step waits for all that are left. */
const SYNCED_BYTES = 16 * 1024 * 1024
/** The ends of the names of the files that SQLite keeps beside a database. */
const COMPANIONS = ['-wal', '-shm', '-journal']

/** The used part of the driver for copies. */
type CopiedDatabase = Database & {
  backup(path: string, options: { progress(now: Remaining): number }): Promise<Remaining>
  serialize(): Uint8Array
}
type Remaining = { readonly totalPages: number; readonly remainingPages: number }
type Driver = new (path: string, options: { readonly?: boolean; timeout: number }) => CopiedDatabase

/** Copies the database of a connection to a file, see `Storage.backup`. */
export async function backUp(connection: Connection, request: BackupRequest): Promise<Backup> {
  const { path, overwrite, signal } = request
  const throwIfAborted = (): void => {
    if (signal?.aborted === true) throw new UndertextError('BACKUP_ABORTED', { file: shownPath(path) })
  }
  connection.bare('backup', throwIfAborted)
  let source: Source | undefined
  let partial: string | undefined
  let file: FileHandle | undefined
  try {
    const target = targetOf(connection, path, overwrite)
    source = snapshotOf(connection)
    const name = `${target}.${randomBytes(4).toString('hex')}.partial-backup`
    // Only its owner can read it, like a new store.
    file = await open(name, 'wx', 0o600)
    partial = name
    await source.copy(partial, file, { ...request, throwIfAborted })
    const facts = completed(connection, partial)
    await file.sync()
    await file.close()
    throwIfAborted()
    requireClosed(connection, target)
    const { size: bytes } = statSync(partial)
    await publishFile(partial, target, overwrite)
    return { path: target, bytes, ...facts, at: source.at }
  } catch (error) {
    await file?.close().catch(() => undefined)
    if (partial !== undefined)
      for (const name of ['', ...COMPANIONS]) await unlink(partial + name).catch(() => undefined)
    throw failureOf(error, path, connection.busyTimeoutMs)
  } finally {
    source?.close()
  }
}

/** Returns the path at the end of links. Throws for a path that must not be written. */
function targetOf(connection: Connection, path: string, overwrite: boolean): string {
  const found = lstatSync(path, { throwIfNoEntry: false })
  const end = existsSync(path) ? realpathSync(path) : path
  if (found !== undefined && !statSync(end, { throwIfNoEntry: false })?.isFile())
    throw unwritable(path, "it isn't a file.")
  if (isOwn(connection, end)) throw invalid('backup: the path is the store itself; name another file')
  if (found !== undefined && !overwrite) throw new UndertextError('FILE_EXISTS', { file: shownPath(path) })
  requireClosed(connection, end)
  return end
}

function unwritable(path: string, detail: string): UndertextError {
  return new UndertextError('FILE_UNWRITABLE', { file: shownPath(path), detail })
}

/**
 * Throws if there are files beside a path whose changes SQLite would apply to the copy. A store that nobody has open may have left them:
 * its last reader can't remove them. They are removed with its log, which isn't possible while it is open.
 */
function requireClosed(connection: Connection, path: string): void {
  const companion = (): string | undefined => COMPANIONS.find((name) => existsSync(path + name))
  if (companion() === undefined) return
  if (existsSync(path)) {
    const database = new (driverOf(connection))(path, { timeout: 0 })
    try {
      database.pragma('journal_mode = delete')
    } catch {
      // It is open, or it isn't a database.
    } finally {
      database.close()
    }
  }
  const left = companion()
  if (left === undefined) return
  throw unwritable(
    path,
    `${shownPath(path + left)} belongs to a store with this name, which is open or was removed without it. Close the store, or remove that file.`,
  )
}

/** Whether a path is the file of a store, by any name, or a file beside it. */
function isOwn({ path }: Connection, end: string): boolean {
  if (path === undefined || !existsSync(path)) return false
  const own = realpathSync(path)
  if (['', ...COMPANIONS].some((name) => end === own + name)) return true
  const [a, b] = [statSync(own), statSync(end, { throwIfNoEntry: false })]
  return a.dev === b?.dev && a.ino === b.ino
}

/** The database as of one moment. */
type Source = {
  readonly at: number
  copy(partial: string, file: FileHandle, hooks: CopyHooks): Promise<void>
  close(): void
}
type CopyHooks = Pick<BackupRequest, 'onProgress'> & { readonly throwIfAborted: () => void }

function snapshotOf(connection: Connection): Source {
  return connection.path === undefined ? serialized(connection) : held(connection, connection.path)
}

/** A store in memory, which no other connection can read, is copied at once. */
function serialized(connection: Connection): Source {
  const bytes = connection.bare('backup', () => (connection.database as CopiedDatabase).serialize())
  return {
    at: Date.now(),
    copy: async (partial, file, { onProgress }) => {
      await file.writeFile(bytes)
      const totalPages = inCopy(connection, partial, (copy) => Number(copy.readPragma('page_count')))
      onProgress?.({ pages: totalPages, totalPages })
    },
    close: () => {},
  }
}

/** A read transaction of a connection of its own, so that the store's can write. */
function held(connection: Connection, path: string): Source {
  const { busyTimeoutMs, location } = connection
  try {
    connection.requireFile()
    const database = new (driverOf(connection))(path, { readonly: true, timeout: busyTimeoutMs })
    try {
      // The transaction begins with the first read.
      database.exec('begin; select 1 from sqlite_schema limit 1')
    } catch (error) {
      database.close()
      throw error
    }
    return {
      at: Date.now(),
      copy: (partial, file, hooks) => copyPages(database, partial, file, hooks),
      close: () => database.close(),
    }
  } catch (error) {
    throw translateFailure(fromDriver(error, location), { location, busyTimeoutMs, verb: 'backup' })
  }
}

/** The driver of a connection: two copies of SQLite in one process would release each other's locks on a file. */
function driverOf({ database }: Connection): Driver {
  return database.constructor as Driver
}

async function copyPages(
  database: CopiedDatabase,
  partial: string,
  file: FileHandle,
  { onProgress, throwIfAborted }: CopyHooks,
): Promise<void> {
  const pageSize = Number(database.pragma('page_size', { simple: true }))
  const progressOf = ({ totalPages, remainingPages }: Remaining): BackupProgress => ({
    pages: totalPages - remainingPages,
    totalPages,
  })
  let synced = 0
  let isSyncing = false
  let syncing: Promise<void> | undefined
  const progress = (now: Remaining): number => {
    throwIfAborted()
    const { pages } = progressOf(now)
    if (!isSyncing && (pages - synced) * pageSize >= SYNCED_BYTES) {
      synced = pages
      isSyncing = true
      syncing = file
        .datasync()
        // If it fails, so does the sync at the end.
        .catch(() => undefined)
        .finally(() => {
          isSyncing = false
        })
    }
    onProgress?.(progressOf(now))
    return PAGES_PER_STEP
  }
  try {
    const end = await database.backup(partial, { progress })
    onProgress?.(progressOf(end))
  } finally {
    await syncing
  }
}

/**
 * Completes a copy. It is readable without files beside it, unlike a database with a write-ahead log. After a purge whose traces haven't
 * been cleared from the files of the store, they are cleared from the copy.
 */
function completed(connection: Connection, partial: string): Pick<Backup, 'pages' | 'sessions'> {
  return inCopy(connection, partial, (copy) => {
    copy.pragma('journal_mode = delete')
    clear(copy)
    const sessions = copy.get('select count(*) from undertext_sessions where staged_by is null').value
    return { pages: Number(copy.readPragma('page_count')), sessions: sessions?.[0] as number }
  })
}

function inCopy<T>(connection: Connection, partial: string, work: (copy: Connection) => T): T {
  const { busyTimeoutMs, location } = connection
  const database = new (driverOf(connection))(partial, { timeout: busyTimeoutMs })
  const copy = new Connection(database, { location, readonly: false, owned: true, busyTimeoutMs })
  try {
    return work(copy)
  } finally {
    copy.close()
  }
}

/** Translates an error of a file system or of the driver; others are those of the caller. */
function failureOf(error: unknown, path: string, busyTimeoutMs: number): unknown {
  const file = shownPath(path)
  const { code, syscall } = (error instanceof Error ? error : {}) as NodeJS.ErrnoException
  if (syscall === undefined || code === undefined)
    return translateFailure(error, { location: file, busyTimeoutMs, verb: 'backup' })
  if (code === 'EEXIST') return new UndertextError('FILE_EXISTS', { file }, { cause: error })
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new UndertextError('STORE_FULL', { detail: code }, { cause: error })
  const detail =
    code === 'ENOENT' ? "its folder doesn't exist. Create it first." : `it cannot be written (${code}).`
  return new UndertextError('FILE_UNWRITABLE', { file, detail }, { cause: error })
}
