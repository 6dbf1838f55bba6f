import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCRIPTS } from '../../src/cli/commands/completion.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'
import { hasTerminals, Terminal } from './pty/terminal.ts'

const run = promisify(execFile)
/** What a shell could take for its own. */
const ODD_TITLE = 'It: 50% \\n `x` $(y)'
const ODD = ['odd-1', 'odd-2']
let small: SmallStore
let bundled: Bundled
beforeAll(async () => {
  small = await smallStore()
  await small.change(async (store) => {
    await store.sessions.create({ id: 'odd; rm -rf $HOME' })
    await store.sessions.create({ id: '--json' })
    for (const id of ODD.toReversed()) await store.sessions.create({ id, title: ODD_TITLE })
    await store.sessions.create({ id: 'tall-1', title: 'A tall one' })
  })
  bundled = await bundleCli()
  const bin = join(bundled.folder, 'undertext')
  writeFileSync(bin, `#!/bin/sh\nexec ${process.execPath} ${bundled.script} "$@"\n`)
  chmodSync(bin, 0o755)
})
afterAll(() => {
  small.remove()
  bundled.remove()
})

const candidates = async (...words: string[]): Promise<string[]> => {
  const { out, exit, err } = await runCli(['__complete', '--', ...words], {
    env: { UNDERTEXT_DB: small.path },
  })
  expect([exit, err]).toEqual([0, ''])
  return out === ''
    ? []
    : out
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t')[0]!)
}

describe('candidates', () => {
  it('are commands, options and choices', async () => {
    expect(await candidates('s')).toEqual(['sessions', 'show', 'search', 'stats', 'scan'])
    expect(await candidates('')).toEqual([...COMMANDS.map(({ name }) => name), 'help'])
    expect(await candidates('show', '@', '--f')).toEqual(['--full', '--from'])
    expect(await candidates('show', '@', '--role', 'a')).toEqual(['assistant'])
    expect(await candidates('compact', '@', '--stage', 'sl')).toEqual([
      'sliding_window',
      'sliding_window_with_summary',
    ])
    expect(await candidates('--no-p')).toEqual(['--no-pager'])
    expect(await candidates('completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(await candidates('help', 'lo')).toEqual(['log'])
  })

  it('are files where a file is meant', async () => {
    for (const words of [
      ['import', ''],
      ['import', 'a', 'b'],
      ['--db', ''],
      ['--db=x'],
      ['export', '@', '-o', 'x'],
    ])
      expect(await candidates(...words), words.join(' ')).toEqual([':files'])
    expect(await candidates('import', 'a', '--fro')).toEqual(['--from'])
  })

  it('are values after an equals sign, in one word or as bash splits it', async () => {
    expect(await candidates('show', '@', '--role=as')).toEqual(['--role=assistant'])
    expect(await candidates('show', '@', '--role', '=', 'as')).toEqual(['assistant'])
    expect(await candidates('completion', '--json', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(await candidates('show', '@', '--role', '=')).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(await candidates('sessions', '--after=ol')).toEqual(['--after=older'])
    expect(await candidates('sessions', '--after', 'ol')).toEqual(['older'])
  })

  it('cover each of several values and quoted ones, and no options after --', async () => {
    expect(await candidates('export', 'talk', 'ol')).toEqual(['older'])
    expect(await candidates('show', '"ol')).toEqual(['older'])
    expect(await candidates('show', '--', '--f')).toEqual([])
    expect(await candidates('show', '--', 'ol')).toEqual(['older'])
  })

  it('cover a store path in quotes, from home, or after an equals sign', async () => {
    const folder = small.path.slice(0, small.path.lastIndexOf('/'))
    const name = small.path.slice(folder.length + 1)
    for (const words of [
      ['--db', `"${small.path}"`],
      ['--db', `'${small.path}'`],
      ['--db', small.path.replace('.', '\\.')],
      ['--db', `~/${name}`],
      ['--db', '=', small.path],
      [`--db=~/${name}`.replace('~', folder)],
    ]) {
      const { out } = await runCli(['__complete', '--', ...words, 'show', 'tall'], {
        env: { UNDERTEXT_DB: '/nowhere.db', HOME: folder },
      })
      expect(out, words.join(' ')).toBe('tall-1\tA tall one\n')
    }
  })

  it('are ids, but none that a shell would take apart', async () => {
    expect(await candidates('show', '')).toEqual([
      '@',
      'talk',
      'older',
      'tall-1',
      'odd-1',
      'odd-2',
      'empty',
      'gone',
    ])
    expect(await candidates('show', '--full', 'ta')).toEqual(['talk', 'tall-1'])
    expect(await candidates('export', 'older', 'talk', 'ta')).toEqual(['talk', 'tall-1'])
    expect(await candidates('show', 'older', 'ta')).toEqual([])
    const [condensed, manual] = small.compactions
    expect(await candidates('undo', 'talk', '')).toEqual([
      '@',
      manual!.id,
      condensed!.id,
      manual!.runId,
      condensed!.runId,
    ])
    expect(await candidates('undo', 'talk', condensed!.id)).toEqual([condensed!.id])
  })

  it('come from the store that --db names, and are empty when something is wrong', async () => {
    const { out } = await runCli(['__complete', '--', '--db', small.path, 'show', 'old'])
    expect(out).toBe('older\tRounding of invoices\n')
    expect(await runCli(['__complete', '--', 'show', ''])).toMatchObject({ exit: 0, out: '', err: '' })
    expect(await candidates('undo', 'nobody', '')).toEqual([])
    expect(await candidates('sessions', '')).toEqual([])
    expect(await candidates('nothing', '')).toEqual([])
  })
})

const env = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${bundled.folder}:${process.env.PATH}`,
  UNDERTEXT_DB: small.path,
})

describe('the scripts', () => {
  it('complete in bash', async () => {
    const script = `${SCRIPTS.bash}
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _undertext; printf '%s\\n' "\${COMPREPLY[@]}"; }
complete_words undertext sess
complete_words undertext show ta
complete_words undertext undo talk ${small.compactions[0]!.id.slice(0, -1)}
complete_words undertext show ol`
    const { stdout, stderr } = await run('bash', ['-c', script], { env: env() })
    expect([stdout.trim().split('\n'), stderr]).toEqual([
      ['sessions', 'talk', 'tall-1', small.compactions[0]!.id, 'older'],
      '',
    ])
  })

  it('leaves files to bash only where files are wanted', async () => {
    await onTerminal('bash', ['--norc', '--noprofile'], `source ${scriptOf('bash')}`, [
      ['undertext sess', 'undertext sessions '],
      ['undertext show tall', 'undertext show tall-1 '],
      ['undertext show "old', 'undertext show "older" '],
      ['undertext show @ --role=ass', '--role=assistant '],
      ['undertext import alp', 'undertext import alpha.jsonl '],
      ['undertext export @ -o be', 'undertext export @ -o beta/'],
      // Nothing is completed here, or the letter would not stand where it does.
      ['undertext show alp\tX', 'undertext show alpX'],
    ])
  })

  itWith('zsh')('complete in zsh', async () => {
    const start = `fpath=(${dirname(scriptOf('zsh', 'functions/_undertext'))} $fpath); autoload -U compinit; compinit -u -D`
    await onTerminal('zsh', ['-f'], start, [
      ['undertext sess', 'undertext sessions '],
      ['undertext show tall', 'undertext show tall-1 '],
      ['undertext show "old', 'undertext show "older" '],
      ['undertext log odd-', /^(?:odd-[12] +){2}-- It: 50% \\n `x` \$\(y\) *$/m],
      ['undertext show @ --ful', 'undertext show @ --full '],
      ['undertext show @ --role=ass', '--role=assistant '],
      ['undertext import alp', 'undertext import alpha.jsonl '],
      ['undertext --db=be', 'undertext --db=beta/'],
      ['undertext show alp\tX', 'undertext show alpX'],
    ])
  })

  itWith('zsh')('can be sourced by zsh', async () => {
    const start = `autoload -U compinit; compinit -u -D; source ${scriptOf('zsh')}`
    await onTerminal('zsh', ['-f'], start, [['undertext show tall', 'undertext show tall-1 ']])
  })

  itWith('fish')('complete in fish', async () => {
    const completed = async (line: string): Promise<string[]> => {
      const command = `source ${scriptOf('fish')}; complete -C $argv[1]`
      const { stdout } = await run('fish', ['--no-config', '-c', command, line], { env: env(), cwd: work() })
      return stdout.split('\n').slice(0, -1)
    }
    expect(await completed('undertext sess')).toEqual(['sessions\tlist the sessions of the store'])
    expect(await completed('undertext show tal')).toEqual(['tall-1\tA tall one', 'talk\tThe kettle'])
    expect(await completed('undertext show "old')).toEqual(['older\tRounding of invoices'])
    expect(await completed('undertext log odd')).toEqual(ODD.map((id) => `${id}\t${ODD_TITLE}`))
    expect(await completed('undertext show @ --ful')).toEqual([
      '--full\teverything that is stored, hidden rows too',
    ])
    expect(await completed('undertext show @ --role=ass')).toEqual([
      '--role=assistant\tonly rows of this role',
    ])
    expect(await completed('undertext import ')).toEqual(['alpha.jsonl', 'beta/'])
    expect(await completed('undertext import alpha.jsonl be')).toEqual(['beta/'])
    expect(await completed('undertext --db=be')).toEqual(['--db=beta/'])
    for (const line of ['undertext show alp', 'undertext sessions ', 'undertext undo nobody '])
      expect(await completed(line), line).toEqual([])
  })
})

/** A test of a shell that may not be there, which is told. */
function itWith(shell: string): typeof it | typeof it.skip {
  const isThere = installed(shell)
  if (!isThere) console.warn(`${shell} is not installed: its completion script is not tried`)
  return isThere ? it : it.skip
}

/** The script of a shell in a file. */
function scriptOf(shell: keyof typeof SCRIPTS, name = `script.${shell}`): string {
  const path = join(bundled.folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, SCRIPTS[shell])
  return path
}

/** A folder with a file and a folder, to complete their names in. */
function work(): string {
  const folder = join(bundled.folder, 'work')
  mkdirSync(join(folder, 'beta'), { recursive: true })
  writeFileSync(join(folder, 'alpha.jsonl'), '')
  return folder
}

/** Types each text and the Tab key into a shell on a terminal, and waits for what it makes of it. */
async function onTerminal(
  shell: string,
  args: readonly string[],
  start: string,
  typed: readonly (readonly [text: string, seen: string | RegExp])[],
): Promise<void> {
  const { PATH = '', UNDERTEXT_DB = '' } = env()
  if (!(await hasTerminals())) return
  const terminal = new Terminal(shell, args, {
    cwd: work(),
    env: { PATH, UNDERTEXT_DB, HOME: bundled.folder, PS1: '% ' },
  })
  try {
    terminal.type(`${start}; clear; echo rea""dy\r`)
    await terminal.sees(/^ready$/m)
    for (const [text, seen] of typed) {
      terminal.type(`${text}\t`)
      await terminal.sees(seen)
      // Ctrl-U takes the line away.
      terminal.type('\x15')
    }
  } finally {
    terminal.kill()
  }
}

function installed(shell: string): boolean {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
