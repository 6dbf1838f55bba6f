import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

/* `undertext backup` and `undertext restore`. test/disk/backup.test.ts has the backups themselves. */

let small: SmallStore
let file = ''
beforeEach(async () => {
  small = await smallStore()
  file = join(small.folder, 'backup.db')
})
afterEach(() => small.remove())

const run = (...argv: string[]) => runCli(argv, { cwd: small.folder })
const backUp = (): Promise<unknown> => run('backup', file, '--db', small.path)

async function idsIn(path: string): Promise<string[]> {
  const store = await openStore(path, { readonly: true })
  const [open, archived] = [await store.sessions.list(), await store.sessions.list({ archived: true })]
  await store.close()
  return [...open, ...archived].map(({ id }) => id).sort()
}
const ALL = ['empty', 'gone', 'older', 'talk']

describe('backup', () => {
  it('copies the store, says where to, and shows progress on a terminal only', async () => {
    const { exit, out, err } = await run('backup', 'backup.db', '--db', small.path)
    expect([exit, err]).toEqual([0, ''])
    expect(out).toMatch(new RegExp(`^✓ 4 sessions copied to ${file} \\([\\d.]+ KB\\)\n$`))
    expect(await idsIn(file)).toEqual(ALL)
    const there = await runCli(['backup', file, '--force', '--db', small.path], { columns: 80 })
    expect(there.exit).toBe(0)
    expect(there.err).toContain('pages')
  })

  it('replaces a file only with --force', async () => {
    writeFileSync(file, 'precious')
    const { exit, err } = await run('backup', file, '--db', small.path)
    expect([exit, err]).toEqual([
      2,
      `undertext: "${file}" already exists.\n\`undertext backup --force\` replaces it, and so does \`undertext restore --force\`.\n`,
    ])
    expect(readFileSync(file, 'utf8')).toBe('precious')
    expect((await run('backup', file, '--force', '--db', small.path)).exit).toBe(0)
    expect(await idsIn(file)).toEqual(ALL)
  })

  it('copies no store that is not there, and writes nothing when it is interrupted', async () => {
    expect((await run('backup', file, '--db', 'nothing.db')).exit).toBe(3)
    const signal = AbortSignal.abort()
    expect((await runCli(['backup', file, '--db', small.path], { signal })).exit).toBe(130)
    expect(existsSync(file)).toBe(false)
  })
})

describe('restore', () => {
  it('--check of a sound backup writes nothing', async () => {
    await backUp()
    const before = readFileSync(file)
    const { exit, json } = await run('restore', '--check', file, '--json', '--db', 'new.db')
    expect([exit, json]).toEqual([
      0,
      { file, kind: 'backup', sessions: 4, messages: 9, problems: [], restored: null },
    ])
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(existsSync(join(small.folder, 'new.db'))).toBe(false)
    expect((await run('restore', '--check', file)).out).toBe('✓ backup of 4 sessions (9 messages), sound\n')
  })

  it('--check finds sessions of two owners with the same id', async () => {
    const store = await openStore(file)
    for (const owner of ['ann', 'bob'])
      await store.forOwner(owner).append('same', [{ role: 'user', content: 'hi' }])
    await store.close()
    const { exit, json } = await run('restore', '--check', file, '--json')
    expect([exit, json]).toMatchObject([0, { kind: 'backup', sessions: 2, messages: 2, problems: [] }])
  })

  it('copies a backup to a new place, to the default one with its folder, and over a store with --force', async () => {
    await backUp()
    const target = join(small.folder, 'new.db')
    const { exit, out } = await run('restore', file, '--db', target)
    expect([exit, out]).toEqual([0, `✓ backup of 4 sessions (9 messages) restored to ${target}\n`])
    expect(await idsIn(target)).toEqual(ALL)
    const dataFolder = join(small.folder, 'data', 'undertext')
    expect((await runCli(['restore', file], { dataFolder })).exit).toBe(0)
    expect(await idsIn(join(dataFolder, 'undertext.db'))).toEqual(ALL)
    await small.change((store) => store.sessions.create({ id: 'later' }))
    expect((await run('restore', file, '--db', small.path)).exit).toBe(2)
    expect(await idsIn(small.path)).toEqual([...ALL, 'later'].sort())
    expect((await run('restore', file, '--db', small.path, '--force')).exit).toBe(0)
    expect(await idsIn(small.path)).toEqual(ALL)
  })

  it('finds a session that is not sound, and restores nothing', async () => {
    await backUp()
    const database = new BetterSqlite3(file)
    database.exec("update undertext_sessions set visible = 9 where id = 'talk'")
    database.close()
    const { exit, json } = await run('restore', file, '--json', '--db', 'new.db')
    expect([exit, json]).toMatchObject([
      1,
      { sessions: 4, problems: [{ session: 'talk', code: 'COUNTER_DRIFT' }], restored: null },
    ])
    expect(existsSync(join(small.folder, 'new.db'))).toBe(false)
    const { lines } = await run('restore', file)
    expect(lines.at(-1)).toBe('✗ backup of 4 sessions (9 messages), 1 problem; nothing was restored')
  })

  it.each([
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['with overwritten pages', (bytes: Buffer) => Buffer.from(bytes).fill(0xee, 4_096, 40_960)],
  ])('finds that a backup is damaged: %s', async (_, damage) => {
    await backUp()
    writeFileSync(file, damage(readFileSync(file)))
    const { exit, json } = await run('restore', '--check', file, '--json')
    expect(exit).toBe(1)
    expect((json as { problems: { code: string }[] }).problems[0]!.code).toBe('STORE_CORRUPT')
  })

  it('checks an archive, and imports its sessions', async () => {
    const archive = join(small.folder, 'all.jsonl')
    await run('export', '--all', '-o', archive, '--db', small.path)
    expect((await run('restore', '--check', archive)).out).toBe(
      '✓ archive of 4 sessions (9 messages), sound\n',
    )
    expect((await run('restore', archive, '--db', 'new.db')).exit).toBe(0)
    expect(await idsIn(join(small.folder, 'new.db'))).toEqual(ALL)
    writeFileSync(archive, readFileSync(archive, 'utf8').replace('It boils.', 'It burns.'))
    const { exit, json } = await run('restore', archive, '--json', '--db', 'other.db')
    expect([exit, json]).toMatchObject([
      1,
      {
        kind: 'archive',
        sessions: 4,
        problems: [{ session: null, code: 'HISTORY_REFUSED' }],
        restored: null,
      },
    ])
    expect(existsSync(join(small.folder, 'other.db'))).toBe(false)
  })

  it('refuses other files, databases of other programs, and to restore a file to a server', async () => {
    const other = join(small.folder, 'other.db')
    new BetterSqlite3(other).exec('create table app (x)').close()
    expect((await run('restore', '--check', other)).exit).toBe(5)
    writeFileSync(other, '')
    expect((await run('restore', '--check', other)).exit).toBe(6)
    expect((await run('restore', 'nothing.db')).exit).toBe(3)
    await backUp()
    const { exit, err } = await run('restore', file, '--db', 'postgres://app@127.0.0.1:1/chats')
    expect([exit, err]).toMatchObject([2, expect.stringContaining('undertext move')])
  })
})
