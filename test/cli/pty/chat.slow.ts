import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { type ModelServer, startModelServer } from '../../support/model-server.ts'
import { type BuiltProgram, buildProgram } from './built-program.ts'
import { hasTerminals, Terminal, type TerminalOptions } from './terminal.ts'

const GRAY = 8
const YELLOW = 3
const CTRL_C = '\x03'
const CTRL_D = '\x04'
const UP = '\x1b[A'

describe.skipIf(!(await hasTerminals()))('undertext chat on a terminal', () => {
  let program: BuiltProgram
  let server: ModelServer
  const terminals: Terminal[] = []
  let count = 0
  let db = ''

  beforeAll(async () => {
    program = await buildProgram()
    server = await startModelServer()
  })
  afterEach(() => {
    for (const terminal of terminals.splice(0)) terminal.kill()
  })
  afterAll(async () => {
    await server?.close()
    program?.remove()
  })

  function start(args: readonly string[], options: TerminalOptions = {}): Terminal {
    const terminal = new Terminal(process.execPath, [program.main, '--db', db, ...args], options)
    terminals.push(terminal)
    return terminal
  }

  /** A database of its own for each test. */
  function fresh(): void {
    count += 1
    db = join(program.folder, `chat-${count}.db`)
  }

  it('answers turn after turn, ends with Ctrl-D, and continues in a new process', async () => {
    fresh()
    const first = start(['chat', '--echo'])
    await first.sees('> ')
    first.type('first words\r')
    await first.sees(/> first words\nfirst words\n/)
    first.type('second words\r')
    await first.sees(/> second words\nsecond words\n/)
    first.type(CTRL_D)
    expect(await first.exit()).toBe(0)
    const [, id = ''] = /Continue: undertext chat (\S+)/.exec(first.text()) ?? []
    expect(id).toMatch(/^[0-9a-f-]{36}$/)

    const second = start(['chat', id.slice(0, 13), '--echo'])
    await second.sees(/Session .*4 messages/)
    await second.sees(/3 {2}user {7}second words\n +4 {2}assistant {2}second words/)
    second.type(`${UP}${UP}\r`)
    await second.sees(/> first words\nfirst words\n/)
    second.type('/exit\r')
    expect(await second.exit()).toBe(0)
    const store = await openStore(db, { readonly: true })
    expect((await store.getMessages(id)).map(({ content }) => content)).toEqual([
      'first words',
      'first words',
      'second words',
      'second words',
      'first words',
      'first words',
    ])
    await store.close()
  })

  it('warns from 60 percent on, compacts, prints how to undo it, and undoes it', async () => {
    fresh()
    // 2,000 tokens less 1,000 for the answer: 1,000 for the request. A short word is about one token, and the echo says it again.
    const words = (many: number): string => 'word '.repeat(many).trim()
    const chat = start(['chat', '--echo', '--context-window', '2000', '--max-tokens', '1000'])
    await chat.sees('> ')
    chat.type(`${words(200)}\r`)
    await chat.sees(/word\n\n> $/)
    expect(chat.text()).not.toContain('Context')
    chat.type(`${words(100)}\r`)
    await chat.sees(/Context: 6\d% used/)
    expect(chat.lookOf('Context: 6').colour).toBe(GRAY)
    chat.type(`${words(90)}\r`)
    await chat.sees(/Context usage: 8\d% of window \(8\d\d \/ 1,000 tokens\)/)
    await chat.sees('Auto-compaction will trigger to preserve conversation quality.')
    expect(chat.lookOf('Context usage:').colour).toBe(YELLOW)
    expect(chat.lookOf('Auto-compaction').colour).toBe(YELLOW)
    chat.type('go on\r')
    await chat.sees(/Compacted: history [\d,]+ → [\d,]+ tokens by \d compactions?; undo it with \/undo /)
    await chat.sees(/> go on\n(?:.*\n)*go on\n/)
    expect(chat.lookOf('Compacted:').dim).toBe(true)
    chat.type('/undo\r')
    await chat.sees(/Undone: \w+ [0-9a-f]/)
    chat.type('/redo\r')
    await chat.sees(/Redone: \w+ [0-9a-f]/)
    chat.type('/log\r')
    await chat.sees(/condense [0-9a-f]{8} {2}in force/)
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
  })

  it('stores the part of an interrupted answer, and continues', async () => {
    fresh()
    server.script([
      { text: 'This answer takes its time and never comes to its end.', betweenMs: 40, pieceLength: 5 },
      { text: 'Yes?' },
    ])
    const chat = start(['chat', '--url', server.openaiUrl, '--model', 'slow'])
    await chat.sees('> ')
    chat.type('tell me\r')
    await chat.sees('This answer')
    chat.type(CTRL_C)
    await chat.sees('(incomplete; the part above is stored)')
    chat.type('hello?\r')
    await chat.sees(/> hello\?\nYes\?\n/)
    chat.type(CTRL_C)
    expect(await chat.exit()).toBe(0)
    const store = await openStore(db, { readonly: true })
    const [{ id } = { id: '' }] = await store.sessions.list()
    const rows = await store.getMessages(id)
    expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(rows[1]?.content).toMatch(/^This answer/)
    expect(rows[1]?.content).not.toMatch(/end\.$/)
    expect(rows[1]?.metadata).toEqual({ chat: { stopped: 'interrupted' } })
    expect(rows[3]?.content).toBe('Yes?')
    await store.close()
  })

  it('stops a slow summary with Ctrl-C, and continues', async () => {
    fresh()
    const before = await openStore(db, { env: false })
    const turns = Array.from({ length: 20 }, (_, at) => ({
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${at}: ${'word '.repeat(100)}`,
    }))
    await before.append('long', turns)
    await before.close()
    server.script([{ silent: true }])
    const by = ['--url', server.openaiUrl, '--model', 'm', '--summary-model', 'small']
    const chat = start(['chat', 'long', ...by, '--context-window', '4000'])
    await chat.sees('> ')
    chat.type('/compact 0.2\r')
    await chat.sees('total  history')
    chat.type(CTRL_C)
    await chat.sees('Interrupted; nothing was changed.')
    chat.type('/log\r')
    await chat.sees('ABORTED')
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
  })

  it('stores nothing of an unanswered question, and sends it again', async () => {
    fresh()
    server.script([{ status: 500, message: 'out of order' }, { text: 'Now it works.' }])
    const chat = start(['chat', '--url', server.openaiUrl, '--model', 'moody'])
    await chat.sees('> ')
    chat.type('are you there?\r')
    await chat.sees('returned status 500: out of order')
    await chat.sees("Your message wasn't stored")
    chat.type(`${UP}\r`)
    await chat.sees('Now it works.')
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
    const store = await openStore(db, { readonly: true })
    const [{ id } = { id: '' }] = await store.sessions.list()
    expect((await store.getMessages(id)).map(({ content }) => content)).toEqual([
      'are you there?',
      'Now it works.',
    ])
    await store.close()
  })

  it('reads a paste of several lines as one prompt, and joins a line that ends with a backslash', async () => {
    fresh()
    const chat = start(['chat', '--echo'])
    await chat.sees('> ')
    expect(chat.marksPastes).toBe(true)
    chat.paste('one\ntwo\nthree\n')
    chat.type('\r')
    await chat.sees(/\none\ntwo\nthree\n/)
    chat.type('four\\\r')
    await chat.sees('… ')
    chat.type('five\r')
    await chat.sees(/\nfour\nfive\n/)
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
    expect(chat.marksPastes).toBe(false)
    const store = await openStore(db, { readonly: true })
    const [{ id } = { id: '' }] = await store.sessions.list()
    expect((await store.getMessages(id)).map(({ content }) => content)).toEqual([
      'one\ntwo\nthree',
      'one\ntwo\nthree',
      'four\nfive',
      'four\nfive',
    ])
    await store.close()
  })

  it('keeps what is typed while an answer comes for the next prompt', async () => {
    fresh()
    server.script([{ text: 'A slow answer it is.', betweenMs: 30, pieceLength: 4 }, { text: 'Second.' }])
    const chat = start(['chat', '--url', server.openaiUrl, '--model', 'slow'])
    await chat.sees('> ')
    chat.type('first\r')
    await chat.sees('A slow')
    chat.type('second\r')
    await chat.sees(/A slow answer it is\.\n\n> second\nSecond\./)
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
  })

  it('clears a line with Ctrl-C and ends with it on an empty one, the terminal in order', async () => {
    fresh()
    const shell = new Terminal('/bin/sh', [
      '-c',
      `'${process.execPath}' '${program.main}' --db '${db}' chat --echo; echo "exit $?"; stty -a`,
    ])
    terminals.push(shell)
    await shell.sees('> ')
    shell.type('never sent')
    await shell.sees('never sent')
    shell.type(CTRL_C)
    await shell.sees(/> ?$/)
    shell.type(CTRL_C)
    expect(await shell.exit()).toBe(0)
    expect(shell.text()).toContain('No prompt was answered, so nothing is stored.')
    expect(shell.text()).toContain('exit 0')
    expect(shell.text()).toMatch(/(?<!-)\bicanon\b/)
    expect(shell.text()).toMatch(/(?<!-)\becho\b(?!.*exit)/)
    expect(shell.isCursorShown).toBe(true)
    expect(shell.marksPastes).toBe(false)
  })

  it('is there again after Ctrl-Z and fg', async () => {
    fresh()
    const shell = new Terminal('/bin/sh', ['-i'], { env: { PS1: '$ ' } })
    terminals.push(shell)
    await shell.sees('$ ')
    shell.type(`'${process.execPath}' '${program.main}' --db '${db}' chat --echo\r`)
    await shell.sees(/\n> $/)
    shell.type('hello')
    await shell.sees('> hello')
    shell.type('\x1a')
    await shell.sees(/Stopped|Suspended/i)
    // As bash and zsh do.
    shell.type("printf '\\033[?2004l'; fg\r")
    await shell.sees(/fg\n(?:.*\n)*> hello$/)
    expect(shell.marksPastes).toBe(true)
    shell.type(' again\r')
    await shell.sees(/> hello again\nhello again\n/)
    shell.type(`${CTRL_D}`)
    await shell.sees('Continue:')
    await shell.sees(/\$ $/)
    shell.type('exit\r')
    expect(await shell.exit()).toBe(0)
  })

  it('ends on a signal, and restores the terminal', async () => {
    fresh()
    const chat = start(['chat', '--echo'])
    await chat.sees('> ')
    process.kill(chat.pid, 'SIGINT')
    expect(await chat.exit()).toBe(130)
    expect(chat.marksPastes).toBe(false)
  })

  it('shows the escape sequences of a model and obeys none', async () => {
    fresh()
    server.script([
      {
        text: 'before \x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1b[6n\x1b[10;10H\x9b31m after',
        pieceLength: 1,
      },
    ])
    const chat = start(['chat', '--url', server.openaiUrl, '--model', 'rude'])
    await chat.sees('> ')
    chat.type('hi\r')
    await chat.sees('after')
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
    expect(chat.text()).toContain('before ␛[2J␛]0;owned␇␛]52;c;aGk=␇␛[6n␛[10;10H\\u009b31m after')
    expect(chat.titles).toEqual([])
    expect(chat.commands).toEqual([])
    expect(chat.answers).toEqual([])
  })

  it('shows emoji and scripts with joiners as they are typed', async () => {
    fresh()
    const chat = start(['chat', '--echo'])
    await chat.sees('> ')
    chat.type('\u{1f469}\u200d\u{1f4bb} \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u2764\ufe0f so\r')
    await chat.sees(/so\n(?:.*\n)*.* so\n/)
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
    expect(chat.text()).not.toMatch(/\\u(?:200|fe0)/)
  })

  it('is readable on a narrow terminal, also when that changes', async () => {
    fresh()
    const chat = start(['chat', '--echo'], { columns: 40, rows: 12 })
    await chat.sees('> ')
    chat.type('a line that is longer than the forty columns there are\r')
    await chat.sees(/are\na line that is longer than the forty columns there are\n/)
    chat.resize(60, 12)
    chat.type('/history\r')
    await chat.sees(/1 {2}user .*\n +2 {2}assistant {2}a line/)
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
  })

  it('has no colour with NO_COLOR', async () => {
    fresh()
    const chat = start(['chat', '--echo'], { env: { NO_COLOR: '1' } })
    await chat.sees('> ')
    chat.type('plain\r')
    await chat.sees(/> plain\nplain\n/)
    chat.type(CTRL_D)
    expect(await chat.exit()).toBe(0)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what it looks for
    expect(chat.raw).not.toMatch(/\x1b\[[\d;]*m/)
  })
})
