import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { forgetDisks, removeFolder, runOnDisk } from './disks.ts'
import { type Filled, fillUp } from './fill.ts'
import { furnish, READS, WRITES } from './verbs.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'undertext-full-'))
})
afterEach(() => removeFolder(folder))
afterAll(forgetDisks)

/**
 * No room is no harm: reading goes on, what is refused is refused with one of our codes and changes nothing, what
 * was acknowledged is there, and with room again the same store works on.
 */
function expectHarmless({ ended, whileFull, afterwards, problems }: Filled, codes: readonly string[]): void {
  expect(problems).toEqual([])
  expect(codes).toContain(ended)
  for (const name of Object.keys(READS)) expect(whileFull[name], name).toBe('done')
  for (const [name, outcome] of Object.entries(whileFull)) expect(['done', ...codes], name).toContain(outcome)
  expect(codes).toContain(whileFull.append)
  expect(Object.keys(afterwards).length).toBeGreaterThan(0)
  for (const [name, outcome] of Object.entries(afterwards)) expect(outcome, name).toBe('done')
}

describe('a full disk', () => {
  for (const journal of ['wal', 'delete', 'truncate']) {
    test(`as a limit of pages, journal ${journal}`, async () => {
      const database = new BetterSqlite3(join(folder, 'chats.db'))
      database.pragma(`journal_mode = ${journal}`)
      const store = await openStore(database)
      const pages = (): number => database.pragma('page_count', { simple: true }) as number
      const filled = await fillUp(store, {
        shrink: () => database.pragma(`max_page_count = ${pages() + 12}`),
        makeRoom: () => database.pragma(`max_page_count = ${pages() + 10_000}`),
      })
      expectHarmless(filled, ['STORE_FULL'])
      database.close()
    })
  }

  test('of a real small file system', (context) => {
    const filled = runOnDisk('small', 'fill', folder) as (Filled & { reopened: string }) | undefined
    if (filled === undefined) return context.skip()
    expectHarmless(filled, ['STORE_FULL'])
    expect(filled.reopened).toBe('done')
  })

  test('as a limit of the size of a file, which is an error of writing', (context) => {
    const filled = runOnDisk('limited', 'limit', folder) as (Filled & { reopened: string }) | undefined
    if (filled === undefined) return context.skip()
    // The system says "file too large", not "no space left": the first part of a write fits, the rest does not.
    expectHarmless(filled, ['STORE_FULL', 'STORE_UNAVAILABLE'])
    expect(filled.reopened).toBe('done')
  })
})

test('a purge without room for rewriting the file reports it; with room again the next write clears the files', (context) => {
  const purged = runOnDisk('small', 'purge', folder)
  if (purged === undefined) return context.skip()
  expect(purged).toEqual({
    filesCleared: false,
    whileFull: [true, 'done'],
    afterwards: ['done', false],
    findings: [],
  })
})

describe('a disk that cannot be written to', () => {
  type Tried = { opened: string; reads: Record<string, string>; writes: Record<string, string> }
  const tryAll = (): Record<string, Tried> | undefined =>
    runOnDisk('readonly', 'open', folder) as Record<string, Tried> | undefined

  /** A store with something of everything; with `inUse` also the log as it is while the store is open. */
  async function makeStore(name: string, inUse: boolean): Promise<void> {
    const source = join(folder, inUse ? 'source' : name)
    const store = await openStore(source)
    writeFileSync(join(folder, 'furnished.json'), JSON.stringify(await furnish(store)))
    for (const part of inUse ? ['', '-wal', '-shm'] : [])
      copyFileSync(`${source}${part}`, join(folder, `${name}${part}`))
    await store.close()
  }

  test('is read where its store was left in use; what would write is refused', async (context) => {
    await makeStore('in-use.db', true)
    const tried = tryAll()
    if (tried === undefined) return context.skip()
    expect(Object.keys(tried)).toEqual(['in-use.db', 'in-use.db read-only'])
    for (const [how, { opened, reads, writes }] of Object.entries(tried)) {
      expect(opened, how).toBe('done')
      expect(Object.keys(reads)).toEqual(Object.keys(READS))
      for (const [name, outcome] of Object.entries(reads)) expect(outcome, `${how}: ${name}`).toBe('done')
      expect(Object.keys(writes)).toEqual(Object.keys(WRITES))
      for (const [name, outcome] of Object.entries(writes)) {
        // Where there is nothing to repair and nothing to undo, nothing is written.
        const allowed =
          name === 'undoCompaction' || name.includes('repair')
            ? ['STORE_READONLY', 'done']
            : ['STORE_READONLY']
        expect(allowed, `${how}: ${name}`).toContain(outcome)
      }
    }
  })

  test('and has a store that was closed cannot make the log SQLite wants to read it by', async (context) => {
    await makeStore('closed.db', false)
    const tried = tryAll()
    if (tried === undefined) return context.skip()
    expect(Object.values(tried).map(({ opened }) => opened)).toEqual([
      'STORE_UNAVAILABLE',
      'STORE_UNAVAILABLE',
    ])
  })
})
