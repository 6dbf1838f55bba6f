import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { startModelServer } from '../../support/model-server.ts'
import { type BuiltProgram, buildProgram } from './built-program.ts'
import { hasTerminals, Terminal, type TerminalOptions } from './terminal.ts'

const YELLOW = 3
const CTRL_C = '\x03'
const CTRL_D = '\x04'

describe.skipIf(!(await hasTerminals()))('commands on a terminal', () => {
  let program: BuiltProgram
  const terminals: Terminal[] = []
  let count = 0
  let db = ''

  beforeAll(async () => {
    program = await buildProgram()
  })
  afterEach(() => {
    for (const terminal of terminals.splice(0)) terminal.kill()
  })
  afterAll(() => program?.remove())

  function start(args: readonly string[], options: TerminalOptions = {}): Terminal {
    const terminal = new Terminal(process.execPath, [program.main, '--db', db, ...args], options)
    terminals.push(terminal)
    return terminal
  }

  /** Ten turns of which the first has a tool output that is worth pruning: 160,000 digits and more are some 50,000 tokens. */
  async function storeWithOutputs(): Promise<void> {
    count += 1
    db = join(program.folder, `compact-${count}.db`)
    const store = await openStore(db, { env: false })
    await store.sessions.create({ id: 'outputs', provider: 'anthropic', model: 'claude-sonnet-4-5' })
    for (let at = 1; at <= 10; at++) {
      const toolCallId = `call_${at}`
      const value = Array.from({ length: 1_500 }, (_, line) => `line ${line} of ${at}: ${line * 7919}`).join(
        '\n',
      )
      await store.append('outputs', [
        { role: 'user', content: `Question ${at}` },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId, toolName: 'bash', input: { command: `run ${at}` } }],
        },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId, toolName: 'bash', output: { type: 'text', value } }],
        },
        { role: 'assistant', content: `Answer ${at}` },
      ])
    }
    await store.close()
  }

  async function activeCompactions(): Promise<number> {
    const store = await openStore(db, { readonly: true })
    const { activeCompactions } = await store.sessions.get('outputs')
    await store.close()
    return activeCompactions
  }

  it('asks before it writes; yes', async () => {
    await storeWithOutputs()
    const compact = start(['compact', 'outputs'])
    await compact.sees('Compact now? It can be undone.')
    expect(await activeCompactions()).toBe(0)
    compact.type('y')
    expect(await compact.exit()).toBe(0)
    const [, run = ''] = /Undo it: undertext undo outputs ([0-9a-f]+)/.exec(compact.text()) ?? []
    expect(await activeCompactions()).toBeGreaterThan(0)
    expect(compact.isCursorShown).toBe(true)

    const undo = start(['undo', 'outputs', run])
    expect(await undo.exit()).toBe(0)
    expect(await activeCompactions()).toBe(0)
  })

  it.each([
    ['no', 'n'],
    ['Enter', '\r'],
    ['Ctrl-C', CTRL_C],
    ['Ctrl-D', CTRL_D],
  ])('writes nothing after %s', async (_, keys) => {
    await storeWithOutputs()
    const shell = new Terminal('/bin/sh', [
      '-c',
      `'${process.execPath}' '${program.main}' --db '${db}' compact outputs; echo "exit $?"; stty -a`,
    ])
    terminals.push(shell)
    await shell.sees('Compact now?')
    shell.type(keys)
    expect(await shell.exit()).toBe(0)
    expect(shell.text()).toContain('exit 130')
    expect(shell.text()).toMatch(/(?<!-)\bicanon\b/)
    expect(shell.isCursorShown).toBe(true)
    expect(await activeCompactions()).toBe(0)
  })

  it('reports that a model is called, and changes nothing when that is interrupted', async () => {
    await storeWithOutputs()
    const server = await startModelServer([{ silent: true }])
    const by = ['--summary-url', server.openaiUrl, '--summary-model', 'm']
    const compact = start(['compact', 'outputs', '--stage', 'summarize', '--target', '0.01', ...by])
    await compact.sees('Compact now?')
    compact.type('y')
    await compact.sees('Asking the model for a summary… Press Ctrl-C to cancel.')
    compact.type(CTRL_C)
    expect(await compact.exit()).toBe(130)
    expect(compact.text()).toContain('Interrupted; nothing was changed.')
    expect(await activeCompactions()).toBe(0)
    await server.close()
  })

  it('asks nothing with --yes', async () => {
    await storeWithOutputs()
    const compact = start(['compact', 'outputs', '--yes'])
    expect(await compact.exit()).toBe(0)
    expect(compact.text()).not.toContain('Compact now?')
    expect(await activeCompactions()).toBeGreaterThan(0)
  })

  it('shows the plan row by row in colour, writes nothing, and has no colour with NO_COLOR', async () => {
    await storeWithOutputs()
    const coloured = start(['compact', 'outputs', '--dry-run'])
    expect(await coloured.exit()).toBe(0)
    expect(coloured.text()).toMatch(/ 3 {2}tool bash +pruned +an old tool output +[\d,]+ +\d+ +[\d,]+/)
    expect(coloured.lookOf('pruned   ').colour).toBe(YELLOW)
    const plain = start(['compact', 'outputs', '--dry-run'], { env: { NO_COLOR: '1' } })
    expect(await plain.exit()).toBe(0)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what it looks for
    expect(plain.raw).not.toMatch(/\x1b/)
    expect(plain.text()).toBe(coloured.text())
    expect(await activeCompactions()).toBe(0)
  })

  it('fits a narrow terminal', async () => {
    await storeWithOutputs()
    const compact = start(['compact', 'outputs', '--dry-run'], { columns: 44 })
    expect(await compact.exit()).toBe(0)
    const widths = compact.lines().map((line) => line.length)
    expect(Math.max(...widths)).toBeLessThanOrEqual(44)
  })

  it('shows what a hostile session holds and obeys none of it', async () => {
    count += 1
    db = join(program.folder, `hostile-${count}.db`)
    const hostile =
      '\x1b[2J\x1b[H\x1b]0;owned\x07\x1b]8;;https://evil.example\x07x\x1b]8;;\x07\x1b]52;c;aGk=\x07\x1b[6n\x9b2J\u202eoverride'
    const store = await openStore(db, { env: false })
    await store.sessions.create({ id: 'hostile', title: hostile, provider: 'x\x1b[31m', model: hostile })
    await store.append('hostile', [
      { role: 'user', content: hostile },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: hostile, toolName: hostile, input: { path: hostile } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: hostile,
            toolName: hostile,
            output: { type: 'text', value: `${hostile}\n`.repeat(4_000) },
          },
        ],
      },
      ...Array.from({ length: 12 }, (_, at) => ({
        role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: `${at}${hostile}`,
      })),
    ])
    await store.close()
    for (const args of [
      ['sessions'],
      ['show', 'hostile', '--full'],
      ['stats', 'hostile'],
      ['compact', 'hostile', '--target-tokens', '200', '--dry-run', '--full'],
      ['compact', 'hostile', '--target-tokens', '200', '--yes'],
      ['log', 'hostile'],
      ['diff', 'hostile', '@'],
      ['chat', 'hostile', '--message', hostile],
    ]) {
      const terminal = start(args)
      await terminal.show('still here\r\n')
      await terminal.exit()
      const seen = args.join(' ')
      expect(terminal.lines()[0], seen).toBe('still here')
      expect(terminal.titles, seen).toEqual([])
      expect(terminal.commands, seen).toEqual([])
      expect(terminal.answers, seen).toEqual([])
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what it looks for
      expect(terminal.raw.replace(/\x1b\[[\d;]*m/g, ''), seen).not.toMatch(/(?![\n\r\t])\p{Cc}|\u202e/u)
    }
  })
})
