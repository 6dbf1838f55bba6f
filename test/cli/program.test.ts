import { symlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { EXIT_MEANINGS, failureOf } from '../../src/cli/errors.ts'
import { UndertextError } from '../../src/core/errors.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')
let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
})
afterAll(() => small.remove())

describe('help', () => {
  it('is a guide without a command', async () => {
    const { exit, out } = await runCli([])
    expect(exit).toBe(0)
    expect(out).toContain('$ undertext sessions')
    for (const { name } of COMMANDS) expect(out).toMatch(new RegExp(`^  ${name} `, 'm'))
    expect(out).not.toContain('__complete')
  })

  it('has a line, a paragraph and two to four examples for each command', async () => {
    for (const { name } of COMMANDS) {
      const { exit, out } = await runCli(['help', name])
      expect(exit, name).toBe(0)
      expect(out, name).toContain(`Usage: undertext ${name}`)
      const examples = out.split('Examples:')[1]!.match(/^ {2}\$ undertext /gm)!
      expect(examples.length, name).toBeGreaterThanOrEqual(2)
      expect(examples.length, name).toBeLessThanOrEqual(4)
      expect((await runCli([name, '--help'])).out, name).toBe(out)
    }
  })

  it('lists the exit codes, as the page does', async () => {
    const { out } = await runCli(['--help'])
    const page = await readFile(join(REPOSITORY, 'docs', 'cli.md'), 'utf8')
    for (const [code, meaning] of Object.entries(EXIT_MEANINGS)) {
      expect(out).toContain(`${code}  ${meaning}`)
      expect(page).toContain(`| ${code} | ${meaning} |`)
    }
  })

  it('tells the version', async () => {
    expect(await runCli(['--version'])).toMatchObject({ exit: 0, out: '9.8.7\n' })
  })

  it('is text with --json too', async () => {
    expect(await runCli(['--json', '--version'])).toMatchObject({ exit: 0, out: '9.8.7\n' })
    for (const argv of [['--help'], ['help', 'log'], ['log', '--help'], []])
      expect((await runCli([...argv, '--json'])).out, argv.join(' ')).toBe((await runCli(argv)).out)
  })
})

describe('wrong use', () => {
  it.each([
    [['sesions'], "Unknown command 'sesions'.", 'Did you mean sessions?'],
    [['sessions', '--limt', '3'], "Unknown option '--limt'.", 'Did you mean --limit?'],
    [
      ['sessions', '--limit', 'x'],
      'It must be a whole number, at least 1.',
      '`undertext help sessions` shows the usage.',
    ],
    [
      ['--db', 'x', 'sessions', '--zzzzzz'],
      "Unknown option '--zzzzzz'.",
      '`undertext help sessions` shows the usage.',
    ],
    [['--zzzzzz'], "Unknown option '--zzzzzz'.", '`undertext --help` shows the usage.'],
    [['help', 'sesions'], "Unknown command 'sesions'.", '`undertext --help` shows the usage.'],
    [['show', '-x'], "Unknown option '-x'.", 'An id that begins with - goes after --'],
    [['show'], "Missing required argument 'session'.", ''],
    [['show', 'a', 'b'], 'Too many arguments', ''],
    [['show', 'talk', '--from', '3', '--to', '2'], '--from 3 is after --to 2.', ''],
    [['show', 'talk', '--role', 'robot'], 'Allowed choices are system, user, assistant, tool.', ''],
    [['verify', 'talk', '--all'], 'not both', ''],
    [['sessions', '--db', ''], '--db is empty.', ''],
    [['compact', 'talk', '--dry-run', '--provider', ''], 'provider: must not be empty', ''],
    [['compact', 'talk', '--dry-run', '--stage', ''], "'--stage <name>' argument '' is invalid", ''],
  ])('%j exits with 2 and prints the reason', async (argv, why, hint) => {
    const { exit, out, err } = await runCli(argv, { env: { UNDERTEXT_DB: small.path } })
    expect([exit, out]).toEqual([2, ''])
    expect(err).toMatch(/^undertext: /)
    expect(err).toContain(why)
    expect(err).toContain(hint)
  })

  it('is one JSON value with --json', async () => {
    const { exit, json, err } = await runCli(['sesions', '--json'])
    expect([exit, err]).toEqual([2, ''])
    expect(json).toEqual({
      error: {
        code: 'WRONG_USE',
        message: "Unknown command 'sesions'.",
        facts: { rule: 'commander.unknownCommand' },
      },
    })
  })
})

describe('where the store is', () => {
  it('--db counts before UNDERTEXT_DB, and that before the default', async () => {
    const missing = join(small.folder, 'none.db')
    expect((await runCli(['sessions', '--db', small.path], { env: { UNDERTEXT_DB: missing } })).exit).toBe(0)
    expect((await runCli(['sessions'], { env: { UNDERTEXT_DB: small.path } })).exit).toBe(0)
    expect((await runCli(['sessions', '--db', 'chats.db'], { cwd: small.folder })).exit).toBe(0)
    const { exit, err } = await runCli(['sessions'], { dataFolder: small.folder })
    expect(exit).toBe(3)
    expect(err).toContain(`There is no store at ${join(small.folder, 'undertext.db')} (the default place).`)
  })

  it('is distinguished from a file that may not be read', async () => {
    const path = join(small.folder, 'loop.db')
    symlinkSync(path, path)
    const { exit, err } = await runCli(['sessions', '--db', path])
    expect([exit, err.split('\n')[0]]).toEqual([
      5,
      `undertext: The store ${JSON.stringify(path)} can't be used: it cannot be read (ELOOP).`,
    ])
    const { exit: found, json } = await runCli(['doctor', '--json', '--db', path])
    expect(found).toBe(1)
    expect(json).toMatchObject({
      ok: false,
      store: { exists: true, size: null, error: 'ELOOP' },
      problems: [{ code: 'STORE_UNAVAILABLE' }],
    })
    const piped = '{"role":"user","content":"Hello."}'
    expect((await runCli(['import', '-', '--dry-run', '--db', path], { piped })).exit).toBe(5)
  })

  it('is reported by doctor when removed rows may still be readable in its files', async () => {
    const database = new BetterSqlite3(small.path)
    database.prepare("insert into undertext_meta values ('residue', 'log:x')").run()
    database.exec('begin')
    database.prepare('select count(*) from undertext_messages').get()
    // While another program reads it, its log cannot be truncated.
    const { exit, json } = await runCli(['doctor', '--json', '--db', small.path])
    expect([exit, json]).toMatchObject([1, { ok: false, problems: [{ code: 'FILES_NOT_CLEARED' }] }])
    database.close()
    expect((await runCli(['doctor', '--upgrade', '--db', small.path])).exit).toBe(0)
  })

  it('is no database of something else: a command that changes a session puts no tables into it', async () => {
    const path = join(small.folder, 'other.db')
    const other = new BetterSqlite3(path)
    other.exec('create table theirs (a)')
    const tables = () => other.prepare('select name from sqlite_master').pluck().all()
    for (const argv of [
      ['compact', 'talk'],
      ['undo', 'talk', '@'],
      ['redo', 'talk', '@'],
      ['verify', '--repair'],
      ['purge', 'talk', '--yes'],
      ['doctor', '--upgrade'],
      ['chat', 'talk', '--echo', '--message', 'hi'],
    ]) {
      const { exit, json } = await runCli([...argv, '--json', '--db', path])
      expect([argv, exit, json]).toMatchObject([argv, 5, { error: { code: 'NOT_A_STORE' } }])
    }
    // An import makes a store where there is none, but not there; and its dry run says so.
    const piped = '{"role":"user","content":"Hello."}'
    for (const more of [['--dry-run'], []]) {
      const { exit, json } = await runCli(['import', '-', '--json', '--db', path, ...more], { piped })
      expect([more, exit, json]).toMatchObject([more, 5, { error: { code: 'NOT_A_STORE' } }])
    }
    expect(tables()).toEqual(['theirs'])
    expect(other.pragma('journal_mode', { simple: true })).toBe('delete')
    other.close()
  })

  it('names a variable that is not used, and continues', async () => {
    const { exit, err } = await runCli(['sessions'], {
      env: { UNDERTEXT_DB: small.path, UNDERTEXT_THRESHHOLD: '1' },
    })
    expect(exit).toBe(0)
    expect(err).toBe(
      'undertext: nothing reads UNDERTEXT_THRESHHOLD; docs/configuration.md lists the variables.\n',
    )
  })
})

describe('colours', () => {
  const coloured = async (columns: number | undefined, env: Record<string, string>, ...more: string[]) =>
    (
      await runCli(['show', 'talk', '--db', small.path, ...more], {
        ...(columns !== undefined && { columns }),
        env,
      })
    ).out.includes('\x1b[')

  it('are for terminals, NO_COLOR, FORCE_COLOR, TERM and --no-color honoured', async () => {
    expect(await coloured(80, {})).toBe(true)
    expect(await coloured(undefined, {})).toBe(false)
    expect(await coloured(80, { NO_COLOR: '1' })).toBe(false)
    expect(await coloured(80, { NO_COLOR: '' })).toBe(true)
    expect(await coloured(undefined, { FORCE_COLOR: '1' })).toBe(true)
    expect(await coloured(80, { FORCE_COLOR: '0' })).toBe(false)
    expect(await coloured(80, { TERM: 'dumb' })).toBe(false)
    expect(await coloured(80, {}, '--no-color')).toBe(false)
  })
})

describe('failures', () => {
  it('have exit codes of their own', () => {
    const exit = (error: unknown): number => failureOf(error, false).exit
    expect(exit(new UndertextError('STALE_PLAN', { sessionId: 's', why: 'x', messageIds: [] }))).toBe(4)
    expect(exit(new UndertextError('STORE_BUSY', { waitedMs: 1 }))).toBe(5)
    expect(exit(new UndertextError('MODEL_CALL_FAILED', { summarizer: 's', error: 'E' }))).toBe(7)
    expect(exit(Object.assign(new Error('x'), { code: 'ENOENT', path: 'a' }))).toBe(3)
    expect(exit(new TypeError('x'))).toBe(70)
    expect(failureOf(new Error('what somebody said'), false).message).not.toContain('said')
    expect(failureOf(new Error('x'), true).exit).toBe(130)
  })

  it('give advice for the command line, not for a program', () => {
    const told = (error: UndertextError) => {
      const { message, hint } = failureOf(error, false)
      return `${message} ${hint}`
    }
    expect(told(new UndertextError('STORE_BUSY', { waitedMs: 5 }))).not.toContain('busyTimeoutMs')
    expect(told(new UndertextError('STORE_CORRUPT', { detail: 'X' }))).not.toContain('sessions.verify')
    const readonly = told(new UndertextError('STORE_READONLY', { verb: 'openStore' }))
    expect(readonly).toContain('is read-only. ')
    expect(readonly).not.toContain('openStore')
  })

  it('repeat no password of a mistyped address', async () => {
    for (const address of [
      'app:S3CRET@db/chats',
      'app:S3CRET:and@more@db',
      'a:S3CRET@db/chats',
      'postgresql//a:S3CRET@db/chats',
      'host=db password=S3CRET',
    ])
      for (const args of [
        ['sessions', '--db', address],
        ['import', address, '--db', small.path],
        ['show', address, '--db', small.path],
        ['show', 'talk', '--at', address, '--db', small.path],
        ['undo', 'talk', address, '--db', small.path],
        ['requests', 'talk', address, '--db', small.path],
        ['notes', 'forget', address, '--session', 'talk', '--db', small.path],
        [address, '--db', small.path],
        ['stats', `--provider=${address}`, `--${address}`, '--db', small.path],
      ]) {
        const { out, err, exit } = await runCli(args)
        expect(exit).not.toBe(0)
        expect(out + err).not.toContain('S3CRET')
      }
  })

  it('show where they happened with UNDERTEXT_DEBUG=1 alone', async () => {
    const run = (env: Record<string, string>) => runCli(['show', 'nobody', '--db', small.path], { env })
    expect((await run({})).err).not.toContain('    at ')
    expect((await run({ UNDERTEXT_DEBUG: '1' })).err).toContain('    at ')
  })
})

it('loads neither the store nor zod nor the database for its help', async () => {
  const { metafile } = await build({
    entryPoints: [join(REPOSITORY, 'src/cli/main.ts')],
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    outdir: 'out',
  })
  const loaded = new Set<string>()
  const visit = (output: string): void => {
    if (loaded.has(output)) return
    loaded.add(output)
    for (const { path, kind } of metafile.outputs[output]?.imports ?? [])
      if (kind === 'import-statement') visit(path)
  }
  visit('out/main.js')
  const names = [...loaded].filter((name) => !name.endsWith('.js') && !name.startsWith('node:')).sort()
  expect(names).toEqual(['commander', 'picocolors'])
})
