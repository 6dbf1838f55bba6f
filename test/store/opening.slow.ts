import { execFile, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type BetterSqlite3 from 'better-sqlite3'
import { beforeAll, describe, expect, it } from 'vitest'
import { isUndertextError, openStore } from '../../src/index.ts'
import { driverAdvice } from '../../src/storage/sqlite/driver.ts'
import { chat, say } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3
const run = promisify(execFile)
const SOURCE = join(import.meta.dirname, '..', '..', 'src', 'index.ts')
const TSX = join(import.meta.dirname, '..', '..', 'node_modules', 'tsx', 'dist', 'cli.mjs')

let folder: string
beforeAll(async () => {
  folder = newFolder()
})

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'works'
  } catch (error) {
    return isUndertextError(error) ? error.code : String(error)
  }
}

describe('opening', () => {
  it('reports in one error what a location is not', async () => {
    const text = join(folder, 'text.db')
    await writeFile(text, 'this is no database, and long enough to be looked at as one'.repeat(50))
    const foreign = join(folder, 'foreign.db')
    new Database(foreign).exec('create table mine (a)').close()

    expect(await codeOf(openStore(text))).toBe('NOT_A_STORE')
    expect(await codeOf(openStore(folder))).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(openStore(join(folder, 'no', 'such', 'folder.db')))).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(openStore(join(text, 'below-a-file.db')))).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(openStore('/proc/undertext.db'))).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(openStore(join(folder, 'missing.db'), { readonly: true }))).toBe('STORE_UNAVAILABLE')
    expect(await codeOf(openStore(foreign, { readonly: true }))).toBe('NOT_A_STORE')
    expect(await codeOf(openStore(''))).toBe('INVALID_INPUT')
    expect(await codeOf(openStore(7 as never))).toBe('INVALID_INPUT')
    expect(await codeOf(openStore(':memory:', { readOnly: true } as never))).toBe('INVALID_INPUT')
  })

  it('refuses a file of a newer version and one without its guards', async () => {
    const newer = join(folder, 'newer.db')
    await (await openStore(newer)).close()
    new Database(newer).exec("update undertext_meta set value = '99' where key = 'schema'").close()
    expect(await codeOf(openStore(newer))).toBe('STORE_TOO_NEW')
    expect(await codeOf(openStore(newer, { readonly: true }))).toBe('STORE_TOO_NEW')

    const unguarded = join(folder, 'unguarded.db')
    await (await openStore(unguarded)).close()
    new Database(unguarded).exec('drop trigger undertext_contents_are_kept').close()
    expect(await codeOf(openStore(unguarded))).toBe('NOT_A_STORE')
  })

  it('keeps what was stored, in the write-ahead log, at the durability asked for', async () => {
    const path = join(folder, 'kept.db')
    const store = await openStore(path)
    await store.append('s', chat(3))
    await store.close()
    await store.close()
    expect(await codeOf(store.sessions.get('s'))).toBe('STORE_CLOSED')
    expect(() => store.needsCompaction('s')).toThrow('closed')

    const again = await openStore(path, { readonly: true })
    expect(await again.getEffectiveHistory('s')).toHaveLength(6)
    expect(await codeOf(again.append('s', chat(1)))).toBe('STORE_READONLY')
    expect(await codeOf(again.compactSession('s', { targetTokens: 1 }))).toBe('STORE_READONLY')
    await again.close()
    const database = new Database(path)
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
    database.close()
  })

  it('works from four processes at once, round after round', async () => {
    const script = join(folder, 'open.mts')
    await writeFile(
      script,
      `import { openStore } from ${JSON.stringify(SOURCE)}
       const store = await openStore(process.argv[2]!)
       await store.append('s', [{ role: 'user', content: process.argv[3]! }])
       await store.close()`,
    )
    for (let round = 0; round < 3; round++) {
      const path = join(folder, `race-${round}.db`)
      await Promise.all([1, 2, 3, 4].map((name) => run(process.execPath, [TSX, script, path, String(name)])))
      const store = await openStore(path)
      expect((await store.getMessages('s')).map(({ position }) => position)).toEqual([1, 2, 3, 4])
      await store.close()
    }
  }, 120_000)
})

describe('a connection of the application', () => {
  it('keeps its pragmas, its tables and its life', async () => {
    const database = new Database(join(folder, 'app.db'))
    database.exec('create table mine (a)')
    database.defaultSafeIntegers(true)
    const pragmas = [
      'journal_mode',
      'synchronous',
      'recursive_triggers',
      'foreign_keys',
      'busy_timeout',
      'user_version',
    ]
    const before = pragmas.map((name) => database.pragma(name, { simple: true }))

    const store = await openStore(database)
    await store.append('s', chat(2))
    expect((await store.sessions.get('s')).messageCount).toBe(4)
    expect(await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'x' })).toMatchObject({
      compacted: true,
    })
    expect(pragmas.map((name) => database.pragma(name, { simple: true }))).toEqual(before)

    database.exec('begin')
    expect(await codeOf(store.append('s', chat(1)))).toBe('IN_TRANSACTION')
    expect(await codeOf(store.sessions.get('s'))).toBe('IN_TRANSACTION')
    database.exec('rollback')

    await store.close()
    expect(database.open).toBe(true)
    expect(database.prepare('select count(*) from mine').pluck().get()).toBe(0n)
    database.close()
  })
})

describe('the database itself', () => {
  it('refuses to change or remove messages, also from other programs', async () => {
    const path = join(folder, 'guarded.db')
    const store = await openStore(path)
    await store.append('s', chat(2))
    await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'x' })
    const other = new Database(path)
    other.pragma('recursive_triggers = on')
    for (const sql of [
      'update undertext_contents set content = \'"no"\'',
      'delete from undertext_contents',
      'insert or replace into undertext_contents (key, content) values (1, \'"no"\')',
      'update undertext_messages set position = position + 10',
      'update undertext_messages set role = 0',
      'delete from undertext_messages',
      "update undertext_compactions set coverage = '{}'",
      'delete from undertext_compactions',
      'delete from undertext_audit',
    ]) {
      expect(() => other.exec(sql), sql).toThrow('undertext:')
    }
    other.close()
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.close()
  })

  it('is found out and mended when tags, sizes or counters were tampered with', async () => {
    const path = join(folder, 'tampered.db')
    const store = await openStore(path)
    await store.append('s', chat(6))
    await store.compactSession('s', { range: { from: 1, to: 4 }, summary: 'x' })
    await store.compactions.hide('s', [(await store.getEffectiveHistory('s')).at(-1)!.id])
    const before = JSON.stringify(await store.getEffectiveHistory('s'))
    const other = new Database(path)
    other.exec(`update undertext_messages set condense_parent = null where position = 2;
      update undertext_messages set truncation_parent = 77 where position = 8;
      update undertext_messages set size_text = size_text + 5 where position = 9;
      update undertext_messages set shown = '[[0,1]]' where position = 10;
      update undertext_sessions set visible = visible + 3, size_text = 0`)
    other.close()
    const { findings } = await store.sessions.verify('s')
    const codes = new Set(findings.map(({ code }) => code))
    expect([...codes].sort()).toEqual([
      'COUNTER_DRIFT',
      'ORPHAN_TAG',
      'SIZE_DRIFT',
      'TAG_MISSING',
      'TAG_WRONG',
    ])
    expect((await store.sessions.verify('s', { repair: true })).repaired).toBe(true)
    expect((await store.sessions.verify('s')).findings).toEqual([])
    expect(JSON.stringify(await store.getEffectiveHistory('s'))).toBe(before)
    expect((await store.sessions.audit('s')).at(-1)!.event).toBe('repaired')
    await store.close()
  })
})

describe('a process that dies while it asks for a summary', () => {
  it('leaves nothing hidden and nothing blocked, and its attempt on record as expired', async () => {
    const path = join(folder, 'killed.db')
    const store = await openStore(path)
    await store.append('s', chat(10, 20))
    const before = JSON.stringify(await store.getEffectiveHistory('s'))
    const script = join(folder, 'hang.mts')
    await writeFile(
      script,
      `import { openStore } from ${JSON.stringify(SOURCE)}
       const store = await openStore(process.argv[2]!)
       setInterval(() => undefined, 1000)
       await store.compactSession('s', { targetTokens: 100, keepRecentTokens: 50, summarizer: {
         name: 'hanging', usesModel: true, summarize: () => { console.log('asked'); return new Promise(() => undefined) } } })`,
    )
    const child = spawn(process.execPath, ['--import', 'tsx', script, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await new Promise((resolve) => child.stdout.once('data', resolve))

    const modelRun = {
      targetTokens: 100,
      keepRecentTokens: 50,
      waitMs: 30,
      summarizer: { name: 'quick', usesModel: true, summarize: () => ({ text: 'short' }) },
    }
    expect(await codeOf(store.compactSession('s', modelRun))).toBe('COMPACTION_IN_PROGRESS')
    // An overflow does not wait: it goes on with the stages that need no model.
    const overflow = await store.compactSession('s', { ...modelRun, trigger: 'overflow' })
    expect(overflow!.stagesUsed).not.toContain('summarize')
    await store.undoCompaction('s', overflow!.runId)

    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
    expect(JSON.stringify(await store.getEffectiveHistory('s'))).toBe(before)
    const result = await store.compactSession('s', modelRun)
    expect(result!.stagesUsed).toContain('summarize')
    const hanging = (await store.listCompactions('s')).find(({ summarizer }) => summarizer === 'hanging')
    expect(hanging!.status).toBe('expired')
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.close()
  })
})

it('knows which pairs of driver and Node cannot work', () => {
  expect(driverAdvice('13.2.0', '20.20.2')).toContain('better-sqlite3@^12.11.1')
  expect(driverAdvice('11.0.0', '20.20.2')).toContain('12.11.1')
  expect(driverAdvice('12.11.1', '20.19.0')).toBeUndefined()
  expect(driverAdvice('13.2.0', '24.21.0')).toBeUndefined()
})

it('keeps a result that came before its call, and reports it', async () => {
  const store = await openStore(':memory:')
  await store.append('s', [
    say('user', 'x'),
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'y' } }],
    },
  ])
  const { mends } = await store.renderHistory('s', { provider: 'openai' })
  expect(mends).toHaveLength(1)
})
