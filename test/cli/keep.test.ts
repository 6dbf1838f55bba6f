import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openAt } from '../../src/cli/open-store.ts'
import { createStyle } from '../../src/cli/output/safe-text.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'
import { beNext, beNow } from '../support/next-version.ts'

let small: SmallStore
beforeEach(async () => {
  small = await smallStore()
})
afterEach(() => {
  beNow('sqlite')
  small.remove()
})

const run = async (...argv: string[]) => runCli([...argv, '--db', small.path])
const damage = (sql: string, path = small.path): void => {
  const database = new BetterSqlite3(path)
  database.exec(sql)
  database.close()
}

describe('verify', () => {
  it('finds nothing in a sound store', async () => {
    expect(await run('verify')).toMatchObject({ exit: 0, out: '✓ 4 sessions checked, nothing found\n' })
    expect(await run('verify', 'talk')).toMatchObject({
      exit: 0,
      out: '✓ 1 session checked, nothing found\n',
    })
  })

  it('exits with 1 when something is found, and mends it with --repair', async () => {
    damage("update undertext_sessions set visible = 9 where id = 'talk'")
    const found = await run('verify', '--all')
    expect(found.exit).toBe(1)
    expect(found.lines[0]!.split(/ {2,}/)).toEqual(['SESSION', 'FOUND', 'AT', 'WHAT', 'REPAIR'])
    expect(found.lines[1]).toMatch(/^talk +COUNTER_DRIFT .*--repair$/)
    expect(found.lines.at(-1)).toBe('✗ 4 sessions checked, 1 finding, 1 left')
    const repaired = await run('verify', 'talk', '--repair')
    expect(repaired.exit).toBe(0)
    expect(repaired.lines.at(-1)).toBe('✓ 1 session checked, 1 finding, all repaired')
    expect((await run('verify', 'talk')).exit).toBe(0)
  })
})

it('stops at Ctrl-C with 130, having changed nothing', async () => {
  const before = await small.change((store) => store.sessions.audit('talk'))
  const { exit, out, err } = await runCli(['verify', '--repair', '--db', small.path], {
    signal: AbortSignal.abort(),
  })
  expect([exit, out, err]).toEqual([130, '', 'undertext: Interrupted.\n'])
  expect(await small.change((store) => store.sessions.audit('talk'))).toEqual(before)
})

describe('purge', () => {
  it('takes no beginning of an id with --yes: that may be another session', async () => {
    expect(await run('purge', 'tal', '--yes')).toMatchObject({ exit: 2, out: '' })
    expect((await run('show', 'talk')).exit).toBe(0)
  })

  const isThere = async (): Promise<boolean> => (await run('show', 'talk')).exit === 0

  it('removes with --yes', async () => {
    const { exit, out } = await run('purge', 'talk', '--yes', '--reason', 'asked')
    expect([exit, out]).toEqual([0, 'Removed: session talk (8 messages, 2 compactions, 0 stored files).\n'])
    expect(await isThere()).toBe(false)
  })

  it('is refused without a terminal to confirm it', async () => {
    expect(await run('purge', 'talk')).toMatchObject({ exit: 130, out: '' })
    expect(await isThere()).toBe(true)
  })

  it('asks for the id on a terminal', async () => {
    const typed = async (text: string) =>
      runCli(['purge', 'talk', '--db', small.path], { columns: 120, typed: text })
    const wrong = await typed('tal\r')
    expect([wrong.exit, await isThere()]).toEqual([130, true])
    expect(wrong.err).toContain(
      '8 messages and 2 compactions of session talk (The kettle) will be removed permanently.',
    )
    for (const key of ['\x03', '\x04']) {
      const interrupted = await typed(key)
      expect([interrupted.exit, await isThere()]).toEqual([130, true])
    }
    expect((await typed('talk\r')).exit).toBe(0)
    expect(await isThere()).toBe(false)
  })
})

describe('doctor', () => {
  const doctor = async (path: string, ...more: string[]) => runCli(['doctor', '--db', path, ...more])

  it('finds a sound store well', async () => {
    const { exit, lines } = await doctor(small.path, '--deep')
    expect(exit).toBe(0)
    for (const line of [
      `  ${small.path} (--db)`,
      '✓ opens: 4 sessions',
      '✓ integrity_check: ok',
      '✓ no problems found',
    ])
      expect(lines).toContain(line)
    expect(lines.find((line) => line.startsWith('threshold '))!.split(/ {2,}/)).toEqual([
      'threshold',
      '0.8',
      'default',
    ])
  })

  it('works without a store, and makes none', async () => {
    const path = join(small.folder, 'none.db')
    const { exit, out } = await doctor(path)
    expect(exit).toBe(0)
    expect(out).toContain('There is no store yet')
    expect(existsSync(path)).toBe(false)
  })

  it.each([
    ['no database', (path: string) => writeFileSync(path, 'what somebody said '.repeat(100)), 'NOT_A_STORE'],
    ['no store', (path: string) => damage('create table a (b)', path), 'NOT_A_STORE'],
    [
      'of a later version',
      (path: string) => damage("update undertext_meta set value = '99' where key = 'schema'", path),
      'STORE_TOO_NEW',
    ],
  ])('tells of a file that is %s', async (what, make, code) => {
    const path = what === 'of a later version' ? small.path : join(small.folder, 'other.db')
    make(path)
    const { exit, out } = await doctor(path)
    expect(exit).toBe(1)
    expect(out).toContain(what === 'no database' ? "✗ SQLite can't open it" : "✗ It can't be opened.")
    expect(out).not.toContain('somebody')
    expect((await doctor(path, '--json')).json).toMatchObject({ ok: false, problems: [{ code }] })
  })

  it('tells settings of the environment, and what nothing reads', async () => {
    const env = { UNDERTEXT_THRESHOLD: '0.7', UNDERTEXT_THRESHHOLD: '0.6', OPENAI_API_KEY: 'sk-secret' }
    const { exit, out } = await runCli(['doctor', '--db', small.path], { env })
    expect(exit).toBe(1)
    expect(out).toMatch(/^threshold +0\.7 +environment$/m)
    expect(out).toContain('  UNDERTEXT_THRESHOLD=0.7')
    expect(out).toContain('✗ Nothing reads the variable UNDERTEXT_THRESHHOLD.')
    expect(out).not.toContain('secret')
  })

  it('tells once of a setting that cannot be read', async () => {
    const { exit, json } = await runCli(['doctor', '--json', '--db', small.path], {
      env: { UNDERTEXT_THRESHOLD: 'abc' },
    })
    expect(exit).toBe(1)
    expect(json).toMatchObject({
      problems: [{ code: 'INVALID_INPUT', message: 'Invalid input: UNDERTEXT_THRESHOLD: must be a number' }],
    })
  })

  it('upgrades a store of an older version with --upgrade; reading does not', async () => {
    const { path } = small
    beNext('sqlite')
    const refused = await runCli(['sessions', '--db', path])
    expect(refused.exit).toBe(5)
    expect(refused.err).toContain('`undertext doctor --upgrade` brings the store up to this version.')
    expect(await doctor(path)).toMatchObject({ exit: 1 })
    expect(await doctor(path, '--upgrade')).toMatchObject({ exit: 0 })
    expect(await runCli(['sessions', '--db', path])).toMatchObject({ exit: 0 })
    beNow('sqlite')
    expect(await runCli(['sessions', '--db', path])).toMatchObject({ exit: 5 })
  })
})

it('makes the folder of the default store for its owner alone', async () => {
  const folder = join(small.folder, 'data', 'undertext')
  const location = { path: join(folder, 'undertext.db'), from: 'default' } as const
  const silent = { isTerminal: false, columns: 80, write: () => {} }
  const store = await openAt(location, 'write', { env: {}, err: silent, style: createStyle(false) })
  await store.close()
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})
