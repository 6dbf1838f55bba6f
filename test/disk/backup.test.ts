import {
  chmodSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { type BackupProgress, type OpenOptions, openStore, type Store } from '../../src/index.ts'
import { backup } from '../../src/store/backup.ts'
import type { StoreContext } from '../../src/store/context.ts'
import { chat, say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'
import { newFile, newFolder } from '../support/temporary.ts'
import { backUpUnderLoad } from './backups.ts'

/* Backups of a store in SQLite. test/disk/backup.slow.ts makes fifty of them while processes write and are killed. */

const open: Store[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})
async function opened(location: Parameters<typeof openStore>[0], options: OpenOptions = {}): Promise<Store> {
  const store = await openStore(location as string, options)
  open.push(store)
  return store
}

/** The names in the folder of a file that belong to a backup that isn't complete. */
const partials = (path: string): string[] =>
  readdirSync(dirname(path)).filter((name) => name.includes('.partial-backup'))

/** What a store shows of itself. */
async function shownBy(store: Store): Promise<unknown> {
  const shown = []
  for (const { id } of await store.sessions.list()) {
    const { findings } = await store.sessions.verify(id)
    shown.push([id, findings, await store.getMessages(id), await store.listCompactions(id)])
  }
  return shown
}

async function filled(path: string): Promise<Store> {
  const store = await opened(path)
  await store.append('talk', chat(10))
  await store.append('other', [say('user', 'the heron')])
  const run = await store.compactSession('talk', { range: { from: 1, to: 4 }, summary: 'One.' })
  await store.undoCompaction('talk', run!.runId)
  return store
}

describe('a backup', () => {
  it('is a store with the same sessions, that only its owner can read, without files beside it', async () => {
    const path = newFile()
    const store = await filled(path)
    const to = newFile('backup.db')
    const before = Date.now()
    const made = await store.backup(to)
    expect(made).toEqual({
      path: to,
      bytes: statSync(to).size,
      pages: statSync(to).size / 4_096,
      sessions: 2,
      at: expect.any(Number),
    })
    expect(made.at).toBeGreaterThanOrEqual(before)
    expect(made.at).toBeLessThanOrEqual(Date.now())
    expect(statSync(to).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(to))).toEqual(['backup.db'])
    const copy = await opened(to, { readonly: true })
    expect(await shownBy(copy)).toEqual(await shownBy(store))
    expect(readdirSync(dirname(to)), 'reading it creates no file').toEqual(['backup.db'])
    const database = new BetterSqlite3(to, { readonly: true })
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(database.pragma('journal_mode', { simple: true })).toBe('delete')
    database.close()
  })

  it('can be continued, and a backup of it is equal', async () => {
    const store = await filled(newFile())
    const first = await store.backup(newFile('backup.db'))
    const copy = await opened(first.path)
    expect(await shownBy(copy)).toEqual(await shownBy(store))
    await copy.append('talk', [say('user', 'more')])
    expect((await copy.sessions.get('talk')).messageCount).toBe(21)
    expect((await store.sessions.get('talk')).messageCount).toBe(20)
    const again = await opened((await copy.backup(newFile('again.db'))).path)
    expect(await shownBy(again)).toEqual(await shownBy(copy))
  })

  it('is made of a store in memory, a read-only store, and a connection of the application', async () => {
    const path = newFile()
    await (await filled(path)).close()
    const database = new BetterSqlite3(path)
    database.pragma('journal_mode = delete')
    database.exec("create table app (name text); insert into app values ('mine')")
    const memory = await opened(new BetterSqlite3(database.serialize()))
    for (const store of [memory, await opened(path, { readonly: true }), await opened(database)]) {
      const made = await store.backup(newFile('backup.db'))
      const copy = await opened(made.path, { readonly: true })
      expect(await shownBy(copy)).toEqual(await shownBy(memory))
      const own = new BetterSqlite3(made.path, { readonly: true })
      expect(own.prepare('select name from app').pluck().all()).toEqual(['mine'])
      own.close()
    }
    database.exec('begin')
    expectFailure(await failureOf(() => open.at(-4)!.backup(newFile())), 'IN_TRANSACTION')
    database.close()
  })

  it('is made of a store with a rollback journal', async () => {
    const path = newFile()
    await (await filled(path)).close()
    const database = new BetterSqlite3(path)
    database.pragma('journal_mode = delete')
    const store = await opened(database)
    const copy = await opened((await store.backup(newFile('backup.db'))).path)
    expect(await shownBy(copy)).toEqual(await shownBy(store))
    database.close()
  })

  it('shows the moment of its call: what the store writes meanwhile is not in it', async () => {
    const store = await opened(newFile())
    for (let n = 0; n < 40; n++) await store.append('large', [say('user', 'x'.repeat(100_000))])
    const steps: number[] = []
    const to = newFile('backup.db')
    await store.backup(to, {
      onProgress: ({ pages }) => {
        steps.push(pages)
        void store.append('large', [say('user', 'later')])
      },
    })
    expect(steps.length).toBeGreaterThan(3)
    expect((await store.sessions.get('large')).messageCount).toBe(40 + steps.length)
    expect((await (await opened(to)).sessions.get('large')).messageCount).toBe(40)
  })

  it('reports the pages from none to all', async () => {
    const store = await opened(newFile())
    for (let n = 0; n < 40; n++) await store.append('large', [say('user', 'x'.repeat(100_000))])
    const seen: BackupProgress[] = []
    const { pages } = await store.backup(newFile('backup.db'), { onProgress: (now) => seen.push(now) })
    expect(seen[0]).toEqual({ pages: 0, totalPages: pages })
    expect(seen.at(-1)).toEqual({ pages, totalPages: pages })
    expect(seen.map((one) => one.pages)).toEqual(seen.map((one) => one.pages).toSorted((a, b) => a - b))
    const memory = await opened(':memory:')
    const last: BackupProgress[] = []
    const made = await memory.backup(newFile('backup.db'), { onProgress: (now) => last.push(now) })
    expect(last).toEqual([{ pages: made.pages, totalPages: made.pages }])
  })

  it('that another path reaches through a link is written where the link ends', async () => {
    const store = await filled(newFile())
    const [target, link] = [newFile('real.db'), newFile('link.db')]
    writeFileSync(target, 'old')
    symlinkSync(target, link)
    expect((await store.backup(link, { overwrite: true })).path).toBe(target)
    expect(await shownBy(await opened(target))).toEqual(await shownBy(store))
  })
})

describe('a refused or failed backup leaves nothing:', () => {
  it('an existing file stays as it is without overwrite, and is replaced whole with it', async () => {
    const store = await filled(newFile())
    const to = newFile('backup.db')
    writeFileSync(to, 'precious')
    expectFailure(await failureOf(() => store.backup(to)), 'FILE_EXISTS')
    expect(readFileSync(to, 'utf8')).toBe('precious')
    let during: string | undefined
    await store.backup(to, {
      overwrite: true,
      onProgress: () => {
        during ??= readFileSync(to, 'utf8')
      },
    })
    expect(during).toBe('precious')
    expect(await shownBy(await opened(to))).toEqual(await shownBy(store))
    expect(partials(to)).toEqual([])
  })

  it('a file that another program creates meanwhile is not replaced', async () => {
    const store = await filled(newFile())
    const to = newFile('backup.db')
    const onProgress = (): void => writeFileSync(to, 'precious')
    expectFailure(await failureOf(() => store.backup(to, { onProgress })), 'FILE_EXISTS')
    expect(readFileSync(to, 'utf8')).toBe('precious')
    expect(partials(to)).toEqual([])
  })

  it('the store itself is refused under each of its names', async () => {
    const path = newFile()
    const store = await filled(path)
    const [soft, hard] = [join(dirname(path), 'soft.db'), join(dirname(path), 'hard.db')]
    symlinkSync(path, soft)
    linkSync(path, hard)
    for (const name of [path, soft, hard, `${path}-wal`, `${path}-shm`, `${path}-journal`])
      expectFailure(await failureOf(() => store.backup(name, { overwrite: true })), 'INVALID_INPUT', name)
    expect((await store.sessions.verify('talk')).findings).toEqual([])
  })

  it('a store that is open elsewhere is not replaced: its log would be applied to the copy', async () => {
    const store = await filled(newFile())
    const other = newFile('other.db')
    const there = await filled(other)
    expectFailure(await failureOf(() => store.backup(other, { overwrite: true })), 'FILE_UNWRITABLE')
    await there.append('talk', [say('user', 'still here')])
    await there.close()
    // Readers leave their files behind.
    await (await openStore(other, { readonly: true })).close()
    expect(existsSync(`${other}-shm`)).toBe(true)
    await store.backup(other, { overwrite: true })
    expect(readdirSync(dirname(other))).toEqual(['other.db'])
    const orphan = newFile('orphan.db')
    writeFileSync(`${orphan}-wal`, 'of a store that was removed')
    expectFailure(await failureOf(() => store.backup(orphan)), 'FILE_UNWRITABLE')
    expect(existsSync(orphan)).toBe(false)
  })

  it.each([
    ['a folder', () => newFolder()],
    ['a device', () => '/dev/null'],
    ['a folder that is missing', () => join(newFolder(), 'none', 'b.db')],
    ['a file as a folder', () => join(withText(), 'b.db')],
  ])('%s is no place for it', async (_, place) => {
    const store = await filled(newFile())
    const to = place()
    expectFailure(await failureOf(() => store.backup(to, { overwrite: true })), 'FILE_UNWRITABLE')
    if (existsSync(dirname(to)) && statSync(dirname(to)).isDirectory()) expect(partials(to)).toEqual([])
  })

  const isRoot = process.getuid?.() === 0
  it.skipIf(isRoot)('a folder that may not be written to', async () => {
    const store = await filled(newFile())
    const folder = newFolder()
    chmodSync(folder, 0o500)
    const failure = await failureOf(() => store.backup(join(folder, 'b.db')))
    chmodSync(folder, 0o700)
    expectFailure(failure, 'FILE_UNWRITABLE')
  })

  it('a signal ends it before, while and after it copies; an error of the application is passed on', async () => {
    const store = await opened(newFile())
    for (let n = 0; n < 40; n++) await store.append('large', [say('user', 'x'.repeat(100_000))])
    const to = newFile('backup.db')
    expectFailure(await failureOf(() => store.backup(to, { signal: AbortSignal.abort() })), 'BACKUP_ABORTED')
    for (const at of [0, 0.5, 1]) {
      const controller = new AbortController()
      const onProgress = ({ pages, totalPages }: BackupProgress): void => {
        if (pages / totalPages >= at) controller.abort()
      }
      const failure = await failureOf(() => store.backup(to, { signal: controller.signal, onProgress }))
      expectFailure(failure, 'BACKUP_ABORTED', String(at))
    }
    const onProgress = (): never => {
      throw new RangeError('own')
    }
    await expect(store.backup(to, { onProgress })).rejects.toThrow(new RangeError('own'))
    expect(readdirSync(dirname(to))).toEqual([])
    await store.append('large', [say('user', 'the store can still be written')])
  })

  it('a store that was replaced since it was opened', async () => {
    const path = newFile()
    const store = await filled(path)
    renameSync(path, `${path}.old`)
    writeFileSync(path, '')
    expectFailure(await failureOf(() => store.backup(newFile('backup.db'))), 'STORE_UNAVAILABLE')
  })

  it('a store whose engine has tools of its own, which names the page', async () => {
    const to = newFile('backup.db')
    const failure = await failureOf(() => backup({ storage: {} } as StoreContext, to, {}))
    expectFailure(failure, 'NOT_SUPPORTED')
    expect((failure as Error).message).toContain('docs/backup.md')
    expect(existsSync(to)).toBe(false)
  })
})

function withText(): string {
  const path = newFile('text')
  writeFileSync(path, 'x')
  return path
}

describe('after a purge', () => {
  const SECRET = 'the-removed-words-8c1d'

  it.each(['log', 'tables'] as const)(
    'that left traces in the files (%s), a backup has none',
    async (stage) => {
      const path = newFile()
      const store = await filled(path)
      await store.append('secret', [say('user', `${SECRET} `.repeat(400)), ...chat(30)])
      await store.search(SECRET)
      const other = new BetterSqlite3(path)
      other.exec('begin; select 1 from sqlite_schema limit 1')
      const busy = await opened(path, { busyTimeoutMs: 0 })
      const purged = await busy.sessions.purge('secret', { clearFiles: stage === 'log' })
      expect(purged.filesCleared).toBe(false)
      expect(markIn(path)).toBe(stage)
      const { path: to } = await store.backup(newFile('backup.db'))
      expect(bytesOf(path), 'the files of the store still have it').toContain(SECRET)
      expect(bytesOf(to)).not.toContain(SECRET)
      expect(markIn(to)).toBeUndefined()
      expect(markIn(path), 'the store still has to clear its files').toBe(stage)
      const copy = await opened(to)
      expect(await shownBy(copy)).toEqual(await shownBy(store))
      other.close()
    },
  )
})

/** The stage of clearing that a file records. */
function markIn(path: string): string | undefined {
  const database = new BetterSqlite3(path, { readonly: true })
  const mark = database.prepare("select value from undertext_meta where key = 'residue'").pluck().get()
  database.close()
  return (mark as string | undefined)?.split(':')[0]
}

/** The bytes of a store's files. */
function bytesOf(path: string): string {
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)))
  return names.map((name) => readFileSync(join(dirname(path), name), 'latin1')).join('')
}

it('two backups under load, with kills, are each a sound store as of one moment', async () => {
  expect((await backUpUnderLoad(2, 1)).whole).toBe(2)
}, 120_000)
