import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { runCli } from '../support/cli-run.ts'
import { newFolder } from '../support/temporary.ts'
import { hasTerminals, Terminal } from './pty/terminal.ts'

let folder: string
beforeEach(() => {
  folder = newFolder()
})

const line = (content: string) => `${JSON.stringify({ role: 'user', content })}\n`
const pipe = (piped: string, ...argv: readonly string[]) =>
  runCli(['import', ...argv], { cwd: folder, env: { UNDERTEXT_DB: join(folder, 'chats.db') }, piped })

describe('import -', () => {
  it('stores what is piped in, once', async () => {
    const first = await pipe(line('one') + line('two'), '-')
    expect(first).toMatchObject({
      exit: 0,
      err: '',
      out: '✓ -: plain messages, 2 messages stored as stdin\n',
    })
    const again = await pipe(line('one') + line('two'), '-')
    expect(again.out).toBe('✓ -: plain messages, nothing new in stdin, 2 there already\n')
    const more = await pipe(line('one') + line('two') + line('three'), '-')
    expect(more.out).toBe('✓ -: plain messages, 1 message stored as stdin, 2 there already\n')
  })

  it('advises when stdin contains another conversation by now', async () => {
    await pipe(line('one'), '-')
    const { exit, lines } = await pipe(line('another'), '-')
    expect(exit).toBe(4)
    expect(lines.at(-1)).toBe('  --session stores it under another id; --prefix does so for several')
    expect(await pipe(line('another'), '-', '--session', 'second')).toMatchObject({
      exit: 0,
      out: '✓ -: plain messages, 1 message stored as second\n',
    })
  })

  it('takes a session by the name its own entries have, as its file does', async () => {
    const entry = { type: 'user', uuid: 'u', parentUuid: null, sessionId: 's-1', isSidechain: false }
    const text = `${JSON.stringify({ ...entry, message: { role: 'user', content: 'Hello.' } })}\n`
    writeFileSync(join(folder, 's-1.jsonl'), text)
    expect((await pipe('', 's-1.jsonl')).out).toContain('1 message stored as s-1')
    expect((await pipe(text, '-')).out).toBe(
      '✓ -: a session of Claude Code, nothing new in s-1, 1 there already\n',
    )
  })

  it('reports an interruption in the words of a command', async () => {
    const controller = new AbortController()
    controller.abort()
    const options = { cwd: folder, env: { UNDERTEXT_DB: join(folder, 'chats.db') }, piped: line('one') }
    const interrupted = (...argv: string[]) =>
      runCli(['import', ...argv], { ...options, signal: controller.signal })
    const end = 'was interrupted; none of it was stored. Import it again: nothing is added twice.'
    const stdin = `The import of the standard input ${end}`
    expect(await interrupted('-')).toMatchObject({ exit: 130, err: `undertext: ${stdin}\n` })
    expect((await interrupted('-', '--json')).json).toMatchObject({
      error: { code: 'IMPORT_ABORTED', message: stdin },
    })
    const path = join(folder, 'a.jsonl')
    writeFileSync(path, line('a'))
    expect(await interrupted('a.jsonl')).toMatchObject({
      exit: 130,
      err: `undertext: The import of ${JSON.stringify(path)} ${end}\n`,
    })
  })

  it('is one of the files, once', async () => {
    writeFileSync(join(folder, 'a.jsonl'), line('a'))
    writeFileSync(join(folder, '-'), line('odd') + line('even'))
    const { json, exit } = await pipe(line('piped'), 'a.jsonl', '-', './-', '--json')
    expect(exit).toBe(0)
    expect(json).toMatchObject({
      files: [
        { path: 'a.jsonl', file: 'a.jsonl' },
        { path: '-', file: '-', size: line('piped').length, conversations: [{ sessionId: 'stdin' }] },
        { path: './-', file: '-', conversations: [{ sessionId: '-' }] },
      ],
      folders: [],
    })
    expect(await pipe('', '-', '-')).toMatchObject({ exit: 2, out: '' })
  })

  it('refuses what an empty file is refused for, and what is no conversation', async () => {
    writeFileSync(join(folder, 'empty.jsonl'), '')
    const named = await pipe('', 'empty.jsonl')
    const piped = await pipe('', '-')
    expect([piped.exit, named.exit]).toEqual([6, 6])
    expect(piped.out).toBe(named.out.replace(/"[^"]*"/, 'The standard input'))
    expect((await pipe('words', '-', '--json')).json).toMatchObject({
      files: [
        {
          path: '-',
          error: { code: 'FILE_UNRECOGNIZED', facts: { file: '-', looks: 'text that is not JSON' } },
        },
      ],
    })
  })

  it('reports at once that a terminal has nothing to import', async () => {
    const { exit, err, out } = await runCli(['import', '-', '--db', join(folder, 'chats.db')], { typed: '' })
    expect([exit, out]).toEqual([2, ''])
    expect(err).toContain('cat talk.jsonl | undertext import -')
    expect(readdirSync(folder)).toEqual([])
  })
})

let bundled: Bundled
beforeAll(async () => {
  bundled = await bundleCli()
})
afterAll(() => bundled.remove())

const isTerminalHere = await hasTerminals()
describe.skipIf(!isTerminalHere)('with a terminal to look at', () => {
  const onTerminal = async (script: string): Promise<string[]> => {
    const env = { UNDERTEXT_DB: join(folder, 'chats.db'), PROGRAM: `${process.execPath} ${bundled.script}` }
    const terminal = new Terminal('sh', ['-c', script], { cwd: folder, env })
    await terminal.exit()
    return terminal.lines()
  }

  it('what is piped in is all imported: no bar reads it', async () => {
    writeFileSync(join(folder, 'a.jsonl'), line('a'))
    writeFileSync(join(folder, 'b.jsonl'), line('b').repeat(3))
    const screen = await onTerminal('cat b.jsonl | $PROGRAM import a.jsonl -')
    expect(screen).toContain('✓ a.jsonl: plain messages, 1 message stored as a')
    expect(screen).toContain('✓ -: plain messages, 3 messages stored as stdin')
  })

  it('nor the list that a loop goes through', async () => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, `${name}.jsonl`), line(name))
    const screen = await onTerminal('ls *.jsonl | while read file; do $PROGRAM import "$file"; done')
    for (const name of ['a', 'b', 'c'])
      expect(screen).toContain(`✓ ${name}.jsonl: plain messages, 1 message stored as ${name}`)
  })
})

describe('the temporary file', () => {
  const start = () => {
    const temporary = join(folder, 'tmp')
    mkdirSync(temporary)
    const child = spawn(process.execPath, [bundled.script, 'import', '-', '--json'], {
      env: { ...process.env, TMPDIR: temporary, TEMP: temporary, UNDERTEXT_DB: join(folder, 'chats.db') },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = new Promise<number | string>((resolve) =>
      child.on('close', (code, signal) => resolve(code ?? signal ?? '')),
    )
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    return { child, ended, temporary, told: () => out }
  }

  it('is gone when all is done', async () => {
    const { child, ended, temporary, told } = start()
    child.stdin.end(line('one').repeat(20_000))
    expect(await ended).toBe(0)
    expect(JSON.parse(told())).toMatchObject({ files: [{ path: '-', totals: { messages: 20_000 } }] })
    expect(readdirSync(temporary)).toEqual([])
  })

  it.skipIf(process.platform === 'win32').each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'is gone after %s in the middle',
    async (signal) => {
      const { child, ended, temporary } = start()
      // More than a pipe holds: when all of it is taken, the file is open.
      await new Promise((resolve) => child.stdin.write(line('one').repeat(20_000), resolve))
      child.kill(signal)
      expect(await ended).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 130)
      expect(readdirSync(temporary)).toEqual([])
    },
  )
})
