import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { type ErrorCode, type OpenOptions, openStore } from '../../src/index.ts'
import { chat, say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'
import { newFolder } from '../support/temporary.ts'
import { waitingModel } from './contract/support.ts'

let folder: string
beforeEach(() => {
  folder = newFolder()
})

const at = (name = 'chats.db'): string => join(folder, name)

async function refused(
  location: unknown,
  code: ErrorCode | readonly ErrorCode[],
  options?: OpenOptions,
): Promise<void> {
  const error = await failureOf(() => openStore(location as string, options))
  expectFailure(error, code, String(location).slice(0, 80))
}

/** Makes a store of some messages and closes it. */
async function makeStore(file = at()): Promise<string> {
  const store = await openStore(file)
  await store.append('s', chat(3))
  await store.close()
  return file
}

/** Something done to a file through a connection that knows nothing of us. */
function tamper(file: string, sql: string): void {
  const database = new BetterSqlite3(file)
  database.exec(sql)
  database.close()
}

describe('opening what is no store', () => {
  test('a text file', async () => {
    writeFileSync(at(), 'This is no database. '.repeat(100))
    await refused(at(), 'NOT_A_STORE')
    expect(readFileSync(at(), 'utf8').startsWith('This is no database.')).toBe(true)
  })

  test('a folder', async () => {
    mkdirSync(at())
    await refused(at(), 'STORE_UNAVAILABLE')
  })

  test('a file in a folder that is not there', async () => {
    await refused(at('nowhere/chats.db'), 'STORE_UNAVAILABLE')
    expect(existsSync(at('nowhere'))).toBe(false)
  })

  test('a path below a file', async () => {
    writeFileSync(at('file'), '')
    await refused(at('file/chats.db'), 'STORE_UNAVAILABLE')
    await refused(at('file/deeper/chats.db'), 'STORE_UNAVAILABLE')
  })

  test('a name longer than any file may have', async () => {
    await refused(at('x'.repeat(300)), 'STORE_UNAVAILABLE')
    await refused(at('x'.repeat(100_000)), 'STORE_UNAVAILABLE')
  })

  test('a place without write permission', async () => {
    await refused('/proc/undertext.db', 'STORE_UNAVAILABLE')
    await refused('/dev/null', ['STORE_UNAVAILABLE', 'NOT_A_STORE'])
  })

  test('a database that is damaged', async () => {
    const file = await makeStore()
    const bytes = readFileSync(file)
    // The first page stays as it is, so that it looks like a database.
    writeFileSync(file, Buffer.concat([bytes.subarray(0, 4_096), Buffer.alloc(bytes.length - 4_096, 0x5a)]))
    rmSync(`${file}-wal`, { force: true })
    const error = await failureOf(async () => {
      const store = await openStore(file)
      try {
        await store.getEffectiveHistory('s')
      } finally {
        await store.close()
      }
    })
    expectFailure(error, 'STORE_CORRUPT')
  })

  test('a database cut off in the middle', async () => {
    const file = await makeStore()
    const bytes = readFileSync(file)
    writeFileSync(file, bytes.subarray(0, 10_000))
    const error = await failureOf(async () => {
      const store = await openStore(file)
      try {
        await store.getEffectiveHistory('s')
        await store.append('s', chat(1))
        await store.sessions.verify('s')
      } finally {
        await store.close()
      }
    })
    expectFailure(error, ['STORE_CORRUPT', 'STORE_UNAVAILABLE'])
  })

  test('invalid arguments', async () => {
    for (const location of [
      '',
      null,
      undefined,
      5,
      {},
      [],
      Symbol('x'),
      new Date(),
      () => ':memory:',
      Buffer.from('x'),
    ])
      await refused(location, 'INVALID_INPUT')
    await refused('a\0b', 'INVALID_INPUT')
    for (const options of [
      null,
      5,
      [],
      { readOnly: true },
      { readonly: 'yes' },
      { durability: 'none' },
      { busyTimeoutMs: -1 },
      { busyTimeoutMs: Number.NaN },
      { busyTimeoutMs: 1e12 },
      { estimator: {} },
      { estimators: {} },
      { estimators: [null] },
      { summarizer: () => 'x' },
    ])
      await refused(at(), 'INVALID_INPUT', options as never)
    expect(existsSync(at()), 'nothing was made').toBe(false)
  })
})

describe("another program's database", () => {
  const FILES: Record<string, string> = {
    'with a table': 'create table theirs (a); insert into theirs values (1)',
    'with a table, in the journal mode wal':
      'pragma journal_mode = wal; create table theirs (a); insert into theirs values (1)',
    'with a view alone': 'create view theirs as select 1',
    'with an id of its application alone': 'pragma application_id = 77',
  }
  for (const [name, sql] of Object.entries(FILES)) {
    test(`${name} is refused, and stays byte for byte`, async () => {
      tamper(at(), sql)
      const before = readFileSync(at())
      await refused(at(), 'NOT_A_STORE')
      expect(readFileSync(at()).equals(before)).toBe(true)
      expect(readdirSync(folder)).toEqual(['chats.db'])
      await (await openStore(at(), { adopt: true })).close()
      const store = await openStore(at())
      await store.append('s', chat(1))
      await store.close()
    })
  }

  test('with a log that its program left there is rejected, and both files stay byte for byte', async () => {
    const theirs = new BetterSqlite3(at('theirs.db'))
    theirs.exec('pragma journal_mode = wal; create table theirs (a); insert into theirs values (1)')
    for (const end of ['', '-wal']) copyFileSync(at(`theirs.db${end}`), at(`chats.db${end}`))
    theirs.close()
    const bytes = (): Buffer => Buffer.concat([readFileSync(at()), readFileSync(`${at()}-wal`)])
    const before = bytes()
    await refused(at(), 'NOT_A_STORE')
    expect(bytes().equals(before)).toBe(true)
  })

  test('and its connections continue, and a store whose tables are in their log alone is found', async () => {
    const theirs = new BetterSqlite3(at())
    theirs.exec('pragma journal_mode = wal; create table theirs (a)')
    await refused(at(), 'NOT_A_STORE')
    const handedIn = await openStore(theirs)
    await handedIn.append('s', chat(1))
    const store = await openStore(at())
    expect(await store.getMessages('s')).toHaveLength(2)
    await store.close()
    expect(theirs.prepare('insert into theirs values (1)').run().changes).toBe(1)
    theirs.close()
  })

  test('keeps its journal mode when its connection is handed in', async () => {
    const theirs = new BetterSqlite3(at())
    theirs.exec('create table theirs (a)')
    await (await openStore(theirs)).close()
    expect(theirs.pragma('journal_mode', { simple: true })).toBe('delete')
    theirs.close()
  })

  test('that is empty is a new store', async () => {
    writeFileSync(at(), '')
    await (await openStore(at())).close()
    tamper(at('once.db'), 'create table theirs (a); drop table theirs')
    await (await openStore(at('once.db'))).close()
  })
})

describe('read-only', () => {
  test('a file that is not there, is no store, or is no database', async () => {
    await refused(at(), 'STORE_UNAVAILABLE', { readonly: true })
    expect(existsSync(at())).toBe(false)
    tamper(at('foreign.db'), 'create table mine (x)')
    await refused(at('foreign.db'), 'NOT_A_STORE', { readonly: true })
    writeFileSync(at('empty.db'), '')
    await refused(at('empty.db'), 'NOT_A_STORE', { readonly: true })
    writeFileSync(at('text.db'), 'no database '.repeat(100))
    await refused(at('text.db'), 'NOT_A_STORE', { readonly: true })
  })

  test('in memory there is nothing to read', async () => {
    await refused(':memory:', ['INVALID_INPUT', 'NOT_A_STORE', 'STORE_UNAVAILABLE'], { readonly: true })
  })

  test('sees what another store writes', async () => {
    const writer = await openStore(at())
    await writer.append('s', chat(1))
    const reader = await openStore(at(), { readonly: true })
    expect(await reader.getEffectiveHistory('s')).toHaveLength(2)
    await writer.append('s', chat(1))
    expect(await reader.getEffectiveHistory('s')).toHaveLength(4)
    await reader.close()
    await writer.close()
  })
})

describe('the schema', () => {
  test('a newer one is refused, and left as it is', async () => {
    const file = await makeStore()
    tamper(file, "update undertext_meta set value = '99' where key = 'schema'")
    for (const readonly of [false, true]) {
      const error = await failureOf(() => openStore(file, { readonly }))
      expectFailure(error, 'STORE_TOO_NEW')
      expect(error).toMatchObject({ facts: { found: 99 } })
    }
    const database = new BetterSqlite3(file, { readonly: true })
    expect(database.prepare("select value from undertext_meta where key = 'schema'").pluck().get()).toBe('99')
    database.close()
  })

  test('a version that is no number is refused', async () => {
    const file = await makeStore()
    tamper(file, "update undertext_meta set value = 'soon' where key = 'schema'")
    await refused(file, ['STORE_CORRUPT', 'NOT_A_STORE', 'STORE_TOO_NEW'])
  })

  test('opening again changes nothing', async () => {
    const file = await makeStore()
    const schema = (): unknown => {
      const database = new BetterSqlite3(file, { readonly: true })
      const rows = database.prepare('select type, name, sql from sqlite_master order by name').all()
      database.close()
      return rows
    }
    const before = schema()
    for (let round = 0; round < 3; round++) await (await openStore(file)).close()
    expect(schema()).toEqual(before)
  })

  test('without a guard it is no store of ours', async () => {
    for (const guard of [
      'undertext_messages_are_written_once',
      'undertext_messages_are_kept',
      'undertext_contents_are_written_once',
      'undertext_contents_are_kept',
      'undertext_compactions_cover_what_they_cover',
      'undertext_compactions_are_kept',
      'undertext_replacements_are_kept',
      'undertext_audit_is_append_only',
      'undertext_audit_is_kept',
    ]) {
      const file = await makeStore(at(`${guard}.db`))
      tamper(file, `drop trigger ${guard}`)
      await refused(file, 'NOT_A_STORE')
    }
  })

  test('a database with tables of another program gets ours beside them, with consent given once', async () => {
    tamper(at(), 'create table messages (x); insert into messages values (1); pragma user_version = 7')
    await (await openStore(at(), { adopt: true })).close()
    const store = await openStore(at())
    await store.append('s', chat(1))
    await store.close()
    const database = new BetterSqlite3(at(), { readonly: true })
    expect(database.prepare('select x from messages').pluck().all()).toEqual([1])
    expect(database.pragma('user_version', { simple: true })).toBe(7)
    database.close()
  })
})

describe('the file', () => {
  test('has a write-ahead log', async () => {
    await makeStore()
    const database = new BetterSqlite3(at(), { readonly: true })
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
    database.close()
  })
})

describe.runIf(process.platform !== 'win32')('files are for their owner alone', () => {
  const modesOf = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(folder).map((name) => [name, (statSync(at(name)).mode & 0o777).toString(8)]),
    )
  const PRIVATE = { 'chats.db': '600', 'chats.db-wal': '600', 'chats.db-shm': '600' }

  for (const umask of ['000', '077', '777']) {
    test(`with the umask ${umask}`, async () => {
      const script = fileURLToPath(new URL('../support/open-and-append.ts', import.meta.url))
      const tsx = fileURLToPath(import.meta.resolve('tsx'))
      const command = `umask ${umask}; exec "$0" --import "file://${tsx}" "${script}" "${at()}" me 0 forever`
      const child = spawn('sh', ['-c', command, process.execPath], { stdio: ['ignore', 'pipe', 'pipe'] })
      const closed = new Promise((resolve) => child.once('close', resolve))
      const first = await new Promise((resolve) => {
        child.stdout.once('data', resolve)
        child.stderr.once('data', resolve)
      })
      const modes = modesOf()
      child.kill('SIGKILL')
      await closed
      expect(String(first)).toMatch(/^\d/)
      expect(modes).toEqual(PRIVATE)
    })
  }

  test('when the location is a link that leads nowhere yet', async () => {
    mkdirSync(at('there'))
    symlinkSync('there/linked.db', at('link.db'))
    const store = await openStore(at('link.db'))
    for (const name of ['linked.db', 'linked.db-wal'])
      expect([name, statSync(at(`there/${name}`)).mode & 0o777]).toEqual([name, 0o600])
    await store.close()
  })

  test('but a file that is there keeps its mode', async () => {
    writeFileSync(at(), '')
    chmodSync(at(), 0o640)
    const store = await openStore(at())
    await store.append('s', chat(1))
    expect(modesOf()).toEqual({ 'chats.db': '640', 'chats.db-wal': '640', 'chats.db-shm': '640' })
    await store.close()
  })
})

describe('processes', () => {
  const script = fileURLToPath(new URL('../support/open-and-append.ts', import.meta.url))
  const tsx = fileURLToPath(import.meta.resolve('tsx'))

  function run(...args: string[]): ChildProcess {
    return spawn(process.execPath, ['--import', `file://${tsx}`, script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
    let output = ''
    child.stdout!.on('data', (data: Buffer) => {
      output += data
    })
    child.stderr!.on('data', (data: Buffer) => {
      output += data
    })
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
  }

  test('four open one new file at once, and all succeed', async () => {
    for (let round = 0; round < 3; round++) {
      const file = at(`round-${round}.db`)
      // They start when the clock says so, so that they really meet.
      const start = String(Date.now() + 2_500)
      const children = ['a', 'b', 'c', 'd'].map((name) => run(file, name, start))
      for (const { code, output } of await Promise.all(children.map(ended))) expect(code, output).toBe(0)
      const store = await openStore(file)
      const rows = await store.getMessages('shared')
      expect(rows.map(({ position }) => position)).toEqual(
        Array.from({ length: 40 }, (_, index) => index + 1),
      )
      for (const name of ['a', 'b', 'c', 'd'])
        expect(rows.filter(({ content }) => String(content).startsWith(name))).toHaveLength(10)
      expect((await store.sessions.verify('shared')).findings).toEqual([])
      await store.close()
    }
  })

  test('what was acknowledged survives the kill of the process', async () => {
    const child = run(at(), 'killed', '0', 'forever')
    const acknowledged = await new Promise<number>((resolve, reject) => {
      let last = 0
      child.on('error', reject)
      child.stdout!.on('data', (data: Buffer) => {
        last = Number(String(data).trim().split('\n').at(-1))
        if (last > 50) {
          child.kill('SIGKILL')
          resolve(last)
        }
      })
    })
    await new Promise((resolve) => child.once('close', resolve))
    const store = await openStore(at())
    const rows = await store.getMessages('shared')
    expect(rows.length).toBeGreaterThanOrEqual(acknowledged)
    expect((await store.sessions.verify('shared')).findings).toEqual([])
    await store.append('shared', [say('user', 'and on')])
    await store.close()
  })

  test('another thread of this process respects the lease too', async () => {
    const store = await openStore(at())
    await store.append('s', chat(9, 100))
    const model = waitingModel()
    const run = store.compactSession('s', {
      targetTokens: 1_000,
      enableTruncate: false,
      summarizer: model.summarizer,
    })
    await model.asked
    const url = new URL('../support/compact-in-thread.ts', import.meta.url).href
    const source = `import('${import.meta.resolve('tsx/esm/api')}').then(({ register }) => {
      register()
      return import('${url}')
    })`
    const worker = new Worker(source, { eval: true, workerData: at() })
    const answer = await new Promise((resolve, reject) => {
      worker.on('message', resolve)
      worker.on('error', reject)
    })
    model.answer()
    const outcome = await run.then(
      (result) => result!.compacted,
      (error: { code?: string }) => error.code,
    )
    expect([answer, outcome]).toEqual(['COMPACTION_IN_PROGRESS', true])
    await store.close()
  })
})
