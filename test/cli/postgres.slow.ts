import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { MIGRATIONS } from '../../src/storage/postgres/migrations.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { type Ran, type RunOptions, runCli } from '../support/cli-run.ts'
import { beNext, beNow } from '../support/next-version.ts'
import { postgresServer, query } from '../support/postgres.ts'
import { newFile, newFolder } from '../support/temporary.ts'

/* The commands over a PostgreSQL server do what they do over a file. */

const server = await postgresServer()

/** What somebody said. It belongs on the output of a few commands, and never on the error stream. */
const SAID = 'the heron in the reeds'

/** Runs a command, and checks that neither the password nor what was said leaks. */
async function over(db: string, argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const ran = await runCli([...argv, '--db', db], options)
  const secret = URL.canParse(db) ? new URL(db).password : ''
  if (secret !== '') expect(ran.out + ran.err).not.toContain(secret)
  expect(ran.err).not.toContain(SAID)
  return ran
}

/** A text without ids, times and names of stores. */
function plain(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(
      /"(createdAt|changedAt|updatedAt|newestAt|importedAt|at|durationMs|exportedAt)": \d+/g,
      '"$1": 0',
    )
    .replaceAll(/\b[0-9a-f]{8}\b/g, 'ID')
    .replaceAll(/[\w-]{16}:s?(?=\d)/g, 'ID:')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?/g, 'TIME')
}

function talk(): string {
  const path = join(newFolder(), 'talk.jsonl')
  const lines = Array.from({ length: 12 }, (_, at) =>
    JSON.stringify({ role: at % 2 === 0 ? 'user' : 'assistant', content: `${at} ${SAID} `.repeat(40) }),
  )
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

/** Commands in an order in which each finds what it needs. */
const STEPS: readonly (readonly string[])[] = [
  ['import', 'TALK', '--session', 'talk'],
  ['import', 'TALK', '--session', 'talk'],
  ['sessions'],
  ['sessions', '--search', 'tal'],
  ['show', 'talk'],
  ['show', '@', '--full', '--tail', '3'],
  ['stats', 'talk', '--model', 'openai/gpt-4o'],
  ['compact', 'talk', '--dry-run', '--target-tokens', '400'],
  ['compact', 'talk', '--target-tokens', '400', '--reason', 'too long'],
  ['log', 'talk'],
  ['diff', 'talk', '@'],
  ['undo', 'talk', '@', '--reason', 'a slip'],
  ['undo', 'talk', '@'],
  ['redo', 'talk', '@'],
  ['export', 'talk', '--format', 'openai'],
  ['export', 'talk', '--format', 'markdown'],
  ['chat', 'talk', '--echo', '--message', 'one more'],
  ['verify'],
  ['show', 'nobody'],
  ['__complete', '--', 'show', ''],
]

afterEach(() => beNow('postgres'))

describe.skipIf(server === undefined)('over a server', () => {
  let url = ''
  let file = ''
  let source = ''
  beforeAll(async () => {
    url = await server!.newDatabase()
    file = newFile()
    source = talk()
  })

  it.each(STEPS.map((argv) => [argv.join(' '), argv] as const))('%s: as over a file', async (_, argv) => {
    const given = argv.map((word) => (word === 'TALK' ? source : word))
    // Completion takes the words after `--` as what is completed.
    const run = (db: string, more: readonly string[]): Promise<Ran> =>
      argv[0] === '__complete' ? runCli(given, { env: { UNDERTEXT_DB: db } }) : over(db, [...given, ...more])
    const isCheap = !['import', 'compact', 'undo', 'redo', 'chat'].includes(argv[0]!)
    for (const more of isCheap && argv[0] !== '__complete' ? [[], ['--json']] : [[]]) {
      const [there, here] = [await run(url, more), await run(file, more)]
      expect(plain(there.err)).toBe(plain(here.err))
      expect(plain(there.out)).toBe(plain(here.out))
      expect(there.exit).toBe(here.exit)
    }
  })

  it('carries a whole history from one to the other', async () => {
    const path = join(newFolder(), 'talk.history')
    expect((await over(url, ['export', 'talk', '-o', path])).exit).toBe(0)
    const back = newFile()
    expect((await over(back, ['import', path])).exit).toBe(0)
    const [there, here] = [
      await over(url, ['show', 'talk', '--full']),
      await over(back, ['show', '@', '--full']),
    ]
    expect(plain(here.out)).toBe(plain(there.out))
  })

  it('remembers what an import of a folder reported: exit 6, then 0', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'bad.jsonl'), `{"role":"user","content":"${SAID}"}\n{"role":"alien"}\n`)
    const database = await server!.newDatabase()
    expect((await over(database, ['import', folder])).exit).toBe(6)
    expect((await over(database, ['import', folder])).exit).toBe(0)
    expect((await over(database, ['import', folder, '--prefix', 'p-'])).exit).toBe(6)
  })

  it('is described by doctor', async () => {
    const { exit, out, lines } = await over(url, ['doctor'], { env: { UNDERTEXT_DB: url } })
    expect([exit, lines]).toEqual([0, expect.arrayContaining(['✓ opens: 1 session', '✓ no problems found'])])
    const { host, pathname, password } = new URL(url)
    expect(lines).toContain(`  postgres://${host}${pathname} (--db)`)
    expect(lines).toContain(`  UNDERTEXT_DB=postgres://${host}${pathname}`)
    expect(out).toMatch(/^ {2}PostgreSQL \d+.*, statements are prepared$/m)
    expect(lines).toContain('✓ triggers guard the history')
    expect(out).not.toMatch(/bytes|journal|integrity|write-ahead/)
    const { json } = await over(`${url}?prepare=false`, ['doctor', '--json'])
    const nothing = { missing: [], changed: [], disabled: [], foreign: [] }
    expect(json).toMatchObject({
      ok: true,
      store: {
        path: `postgres://${host}${pathname}`,
        from: 'option',
        exists: true,
        size: null,
        database: null,
        server: {
          schema: 'undertext',
          schemaVersion: expect.any(Number),
          prepared: false,
          guards: { kind: 'triggers', ...nothing },
        },
        sessions: 1,
      },
    })
    const file = await over(newFile(), ['doctor', '--json'])
    expect(Object.keys((json as { store: object }).store)).toEqual(
      Object.keys((file.json as { store: object }).store),
    )
    expect(JSON.stringify(json)).not.toContain(password)
    expect(await over(url, ['doctor', '--deep'])).toMatchObject({ exit: 2 })
  })

  it('tells of guards that are gone', async () => {
    const database = await server!.newDatabase()
    await over(database, ['import', source])
    const [[name]] = (await query(
      database,
      "select tgname from pg_trigger where tgrelid = 'undertext.messages'::regclass and not tgisinternal limit 1",
    )) as [[string]]
    await query(database, `drop trigger ${name} on undertext.messages`)
    const { exit, out } = await over(database, ['doctor'])
    expect(exit).toBe(1)
    expect(out).toContain('✗ Nothing guards the history')
    expect(out).toContain('✗ missing triggers: ')
    expect(out).toContain("✗ It can't be opened.")
  })

  it('upgrades a store of an older version with --upgrade; reading does not', async () => {
    const database = await server!.newDatabase()
    await over(database, ['import', source])
    beNext('postgres')
    const refused = await over(database, ['sessions'])
    expect(refused.exit).toBe(5)
    expect(refused.err).toContain('`undertext doctor --upgrade` brings the store up to this version.')
    const found = await over(database, ['doctor'])
    expect(found.exit).toBe(1)
    expect(found.out).toContain(`tables in "undertext", schema ${MIGRATIONS.length - 1}`)
    expect(found.out).toContain("✗ It can't be opened.")
    expect(await over(database, ['doctor', '--upgrade'])).toMatchObject({ exit: 0 })
    expect(await over(database, ['sessions'])).toMatchObject({ exit: 0 })
    beNow('postgres')
    expect(await over(database, ['sessions'])).toMatchObject({ exit: 5 })
  })

  it('leaves a store of a newer version as it is', async () => {
    const database = await server!.newDatabase()
    await over(database, ['import', source])
    const newer = MIGRATIONS.length + 1
    await query(database, `update undertext.meta set value = '${newer}'`)
    for (const argv of [['sessions'], ['import', source], ['doctor', '--upgrade']]) {
      const { exit, err } = await over(database, argv)
      expect(exit).toBe(5)
      expect(err).toContain(`${newer}`)
    }
    const { exit, out } = await over(database, ['doctor'])
    expect(exit).toBe(1)
    expect(out).toContain(`tables in "undertext", schema ${newer}`)
    expect(out).toContain("✗ It can't be opened.")
    expect(await query(database, "select value from undertext.meta where key = 'schema'")).toEqual([
      [`${newer}`],
    ])
  })

  it('verifies the guards too', async () => {
    const database = await server!.newDatabase()
    await over(database, ['import', source, '--session', 'talk'])
    await query(database, 'alter table undertext.contents disable trigger contents_are_written_once')
    // A store without all guards is not opened; one that was open reports them (test/storage/postgres/opening.test.ts).
    const { exit, err } = await over(database, ['verify'])
    expect(exit).toBe(5)
    expect(err).toContain('contents_are_written_once')
  })

  it('reads with a role that may only read, whose privileges guard the history', async () => {
    const database = await server!.newDatabase()
    await over(database, ['import', source, '--session', 'here'])
    const reader = new URL(database)
    reader.username = `reader_${database.slice(-8)}`
    reader.password = 'hunter-seventeen'
    await query(
      database,
      `create role ${reader.username} login password '${reader.password}'`,
      `grant usage on schema undertext to ${reader.username}`,
      `grant select on all tables in schema undertext to ${reader.username}`,
      `do $$ declare found record; begin
         for found in select tgname, tgrelid::regclass as place from pg_trigger where not tgisinternal
         loop execute format('drop trigger %I on %s', found.tgname, found.place); end loop; end $$`,
    )
    try {
      expect((await over(reader.href, ['sessions'])).out).toContain('here')
      const { exit, lines } = await over(reader.href, ['doctor'])
      expect([exit, lines]).toEqual([
        0,
        expect.arrayContaining(['✓ the privileges of the role guard the history', '✓ opens: 1 session']),
      ])
      expect(lines.join()).not.toContain('missing')
      expect(await over(reader.href, ['import', talk()])).toMatchObject({ exit: 5 })
    } finally {
      await query(database, `drop owned by ${reader.username}`, `drop role ${reader.username}`)
    }
  })

  it('ends by itself, and completes ids after an address that bash has split', async () => {
    const { script, remove } = await bundleCli()
    try {
      const run = promisify(execFile)
      const sessions = [script, 'sessions', '--json']
      const { stdout, stderr } = await run(process.execPath, sessions, { env: { UNDERTEXT_DB: url } })
      expect([JSON.parse(stdout).sessions.length, stderr]).toEqual([1, ''])
    } finally {
      remove()
    }
    const words = url.split(/([:@=]+)/)
    for (const before of [
      ['--db', ...words],
      ['--db', '=', ...words],
      ['--db', url],
    ]) {
      const { lines } = await runCli(['__complete', '--', 'show', ...before, 't'])
      // After a tab: its title.
      expect(lines.map((line) => line.split('\t')[0])).toEqual(['talk'])
    }
  })

  it('removes a session for good', async () => {
    // The question names the title, which an import takes from what was said.
    const store = await openStore(url, { env: false })
    await store.sessions.update('talk', { title: 'Birds' })
    await store.close()
    expect(await over(url, ['purge', 'talk'])).toMatchObject({
      exit: 130,
      err: expect.stringContaining('(Birds)'),
    })
    expect(await over(url, ['purge', 'talk', '--yes'])).toMatchObject({
      exit: 0,
      err: expect.stringContaining('until it vacuums'),
    })
    expect((await over(url, ['sessions', '--json'])).json).toMatchObject({ sessions: [] })
  })

  it('keeps stores in schemas of their own; the library reads them from the same address', async () => {
    const database = await server!.newDatabase()
    const second = `${database}?schema=second`
    await over(second, ['import', source, '--session', 'here'])
    expect(await over(database, ['sessions'])).toMatchObject({ exit: 3 })
    expect((await over(second, ['sessions', '--json'])).json).toMatchObject({ sessions: [{ id: 'here' }] })
    const store = await openStore(second, { env: false })
    expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['here'])
    await store.close()
  })

  it('creates no tables by reading or changing, nor by a dry run', async () => {
    const database = await server!.newDatabase()
    for (const argv of [['sessions'], ['show', '@'], ['undo', 'a', '@'], ['purge', 'a', '--yes']])
      expect(await over(database, argv)).toMatchObject({ exit: 3, out: '' })
    expect(await over(database, ['import', source, '--dry-run'])).toMatchObject({ exit: 0 })
    const { exit, out } = await over(database, ['doctor'])
    expect(exit).toBe(0)
    expect(out).toContain('There is no store yet')
    expect(await query(database, "select 1 from pg_namespace where nspname = 'undertext'")).toEqual([])
  })

  it("leaves another program's schema alone", async () => {
    const database = await server!.newDatabase()
    await query(database, 'create schema undertext', 'create table undertext.notes (id int)')
    for (const argv of [['sessions'], ['undo', 'a', '@'], ['import', source]])
      expect(await over(database, argv)).toMatchObject({ exit: 5, out: '' })
    const { exit, out } = await over(database, ['doctor'])
    expect(exit).toBe(1)
    expect(out).toContain('✗ It has no undertext tables.')
    expect(
      await query(database, "select relname from pg_class where relnamespace = 'undertext'::regnamespace"),
    ).toEqual([['notes']])
  })

  const failing = async (database: string): Promise<void> => {
    for (const argv of [['sessions'], ['import', source], ['sessions', '--json']]) {
      const { exit, out, err } = await over(database, argv, { env: { UNDERTEXT_DEBUG: '1' } })
      expect(exit).toBe(5)
      expect(argv.includes('--json') ? out : err).toContain("can't be used")
    }
    const { exit, out } = await over(database, ['doctor'], { env: { UNDERTEXT_DB: database } })
    expect(exit).toBe(1)
    expect(out).toContain("✗ It can't be inspected.")
    expect((await over(database, ['doctor', '--json'])).json).toMatchObject({
      ok: false,
      store: { exists: null, error: 'STORE_UNAVAILABLE', server: null, sessions: null },
      problems: [{ code: 'STORE_UNAVAILABLE' }],
    })
  }

  it('refuses a wrong password without repeating it', async () => {
    const wrong = new URL(url)
    wrong.password = 'hunter-seventeen'
    await failing(wrong.href)
  })
  it('tells that a server cannot be reached', () =>
    failing('postgres://me:hunter-seventeen@127.0.0.1:1/chats'))
})

describe('an address', () => {
  const SECRET = 'hunter-seventeen'

  it.each([
    `mysql://me:${SECRET}@db.example/chats`,
    `postgres:/me:${SECRET}@db.example/chats`,
    `postgresq://me:${SECRET}@db.example/chats`,
    `"postgres://me:${SECRET}@db.example/chats"`,
  ])('that is not quite one is refused, and never printed: %s', async (db) => {
    for (const more of [[], ['--json']]) {
      const { exit, out, err } = await runCli(['sessions', '--db', db, ...more])
      expect(exit).toBe(2)
      expect(out + err).not.toContain(SECRET)
    }
    const { out, err } = await runCli(['doctor', '--db', newFile()], { env: { UNDERTEXT_DB: db } })
    expect(out + err).not.toContain(SECRET)
  })

  it.each([
    ['a command', []],
    ['a session', ['show']],
    ['a file', ['import']],
    ['an output', ['export', '@', '-o']],
  ])('is not repeated in place of %s', async (_, before) => {
    const path = newFile()
    await (await openStore(path, { env: false })).close()
    const argv = [...before, `postgres://me:${SECRET}@db.example/chats`]
    for (const more of [[], ['--json']]) {
      const { out, err } = await runCli([...argv, '--db', path, ...more], { env: { UNDERTEXT_DEBUG: '1' } })
      expect(out + err).not.toContain(SECRET)
    }
  })

  it('is the example of the help', async () => {
    expect((await runCli(['--help'])).out).toContain('postgres://…')
    expect(readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8')).toContain('postgres://USER')
  })
})
