import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Ran, runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeEach(async () => {
  small = await smallStore()
})
afterEach(() => small.remove())

const run = async (...argv: string[]): Promise<Ran> =>
  runCli(['export', ...argv, '--db', small.path], { cwd: small.folder })
const at = (name: string): string => join(small.folder, name)
const left = (): string[] => readdirSync(small.folder).filter((name) => name.endsWith('.partial'))

/** The view of session `older`, which holds one message. */
const OLDER = ['older', '--format', 'openai', '--lines']
const HELLO = '{"role":"user","content":"Hello"}\n'

describe('export writes', () => {
  it('the same to a file as to the standard output, for its owner alone', async () => {
    expect((await run(...OLDER)).out).toBe(HELLO)
    expect((await run(...OLDER, '-o', '-')).out).toBe(HELLO)
    expect(await run(...OLDER, '-o', 'older.jsonl')).toMatchObject({ exit: 0, out: '' })
    expect(readFileSync(at('older.jsonl'), 'utf8')).toBe(HELLO)
    expect(statSync(at('older.jsonl')).mode & 0o777).toBe(0o600)
    expect(readdirSync(small.folder)).not.toContain('-')
  })

  it('a history and HTML to no screen, and other forms to it', async () => {
    const onScreen = (...argv: string[]): Promise<Ran> =>
      runCli(['export', 'older', ...argv, '--db', small.path], { cwd: small.folder, columns: 80 })
    const history = await onScreen()
    expect([history.exit, history.out]).toEqual([2, ''])
    expect(history.err).toContain('Pass -o FILE')
    expect((await onScreen('--format', 'html')).exit).toBe(2)
    expect((await onScreen('--format', 'openai', '--lines')).out).toBe(HELLO)
  })

  it('over a file that is there only with --force, and through a link to what it points at', async () => {
    writeFileSync(at('there.jsonl'), 'before')
    symlinkSync('there.jsonl', at('link.jsonl'))
    const refused = await run(...OLDER, '-o', 'link.jsonl')
    expect([refused.exit, readFileSync(at('there.jsonl'), 'utf8')]).toEqual([2, 'before'])
    expect((await run(...OLDER, '-o', 'link.jsonl', '--force')).exit).toBe(0)
    expect(lstatSync(at('link.jsonl')).isSymbolicLink()).toBe(true)
    expect(readFileSync(at('there.jsonl'), 'utf8')).toBe(HELLO)
    expect(left()).toEqual([])
  })

  it('all sessions so that a copy of the store lists them as it does', async () => {
    expect((await run('--all', '-o', 'all.jsonl')).exit).toBe(0)
    const copy = at('copy.db')
    expect((await runCli(['import', at('all.jsonl'), '--db', copy])).exit).toBe(0)
    for (const more of [[], ['--archived']]) {
      const listed = async (path: string): Promise<unknown> =>
        (await runCli(['sessions', ...more, '--json', '--db', path])).json
      expect(await listed(copy)).toEqual(await listed(small.path))
    }
  })

  it('all sessions but one that is purged meanwhile, before its turn', async () => {
    const purge = async (): Promise<void> =>
      small.change(async (store) => {
        if ((await store.sessions.list()).some(({ id }) => id === 'talk')) await store.sessions.purge('talk')
      })
    const { exit, out } = await runCli(['export', '--all', '--db', small.path], { beforePour: purge })
    const ids = [...out.matchAll(/"type":"session","id":"(\w+)"/g)].map(([, id]) => id)
    expect([exit, ids]).toEqual([0, ['gone', 'empty', 'older']])
  })

  it.each([[[]], [['--force']]])('into a pipe, which stays one (%s)', async (force) => {
    execFileSync('mkfifo', [at('pipe')])
    const reader = spawn('cat', [at('pipe')])
    let read = ''
    reader.stdout.on('data', (data: Buffer) => {
      read += data.toString()
    })
    const closed = once(reader, 'close')
    expect((await run(...OLDER, '-o', 'pipe', ...force)).exit).toBe(0)
    await closed
    expect(read).toBe(HELLO)
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true)
    expect(left()).toEqual([])
  })
})

it('reports that the reader of a pipe has left', async () => {
  // More than a pipe holds, so that the rest has nowhere to go.
  await small.change((store) => store.append('older', [{ role: 'user', content: 'x'.repeat(1_000_000) }]))
  execFileSync('mkfifo', [at('pipe')])
  const reader = spawn('head', ['-c', '1', at('pipe')], { stdio: 'ignore' })
  const closed = once(reader, 'close')
  const { exit, err } = await run('older', '-o', 'pipe')
  await closed
  expect([exit, err]).toEqual([5, 'undertext: A file was closed by its reader before the end.\n'])
})

describe('export refuses', () => {
  it.each([
    [['--all', '-o', 'chats.db', '--force'], 2, 'chats.db is the store itself.'],
    [['--all', '-o', '.', '--force'], 2, '. is a folder.'],
    [['--all', '-o', 'x'.repeat(300)], 5, 'has a name that is too long'],
    [['--all', '-o', 'loop'], 5, 'loop is a link that leads to itself.'],
    [['--all', '-o', ''], 2, '-o needs the name of a file.'],
    [['--all', '-o', 'no/folder.jsonl'], 3, "The folder of no/folder.jsonl doesn't exist."],
    [['talk', '--hidden', 'show'], 2, '--hidden applies only to documents (markdown, html), not to history.'],
    [['talk', '--cut-outputs', '9', '--format', 'ui'], 2, '--cut-outputs applies only to documents'],
    [['talk', '--hidden', 'some', '--format', 'html'], 2, 'Allowed choices are omit, show.'],
    [['--format', 'openai', '--rendered', 'talk'], 2, '--rendered read "talk" as its provider'],
  ])('%s', async (argv, exit, sentence) => {
    symlinkSync('loop', at('loop'))
    const before = readFileSync(small.path)
    const ran = await run(...argv)
    expect(ran.err).toContain(sentence)
    expect([ran.exit, ran.out]).toEqual([exit, ''])
    expect(readFileSync(small.path).equals(before)).toBe(true)
    expect(left()).toEqual([])
  })
})
