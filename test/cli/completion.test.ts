import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { SCRIPTS } from '../../src/cli/completion/scripts.ts'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

const run = promisify(execFile)
let small: SmallStore
let bundled: Bundled
beforeAll(async () => {
  small = await smallStore()
  await small.change(async (store) => {
    await store.createSession({ id: 'odd; rm -rf $HOME' })
    await store.createSession({ id: '--json' })
    await store.createSession({ id: 'tall-1', title: 'A tall one' })
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
    expect(await candidates('s')).toEqual(['sessions', 'show', 'stats'])
    expect(await candidates('')).toEqual([...COMMANDS.map(({ name }) => name), 'help'])
    expect(await candidates('show', '@', '--f')).toEqual(['--full', '--from'])
    expect(await candidates('show', '@', '--role', 'a')).toEqual(['assistant'])
    expect(await candidates('--no-p')).toEqual(['--no-pager'])
    expect(await candidates('completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(await candidates('help', 'lo')).toEqual(['log'])
  })

  it('are of the store that is written in quotes, from home, or behind an equals sign', async () => {
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
    expect(await candidates('show', '')).toEqual(['@', 'tall-1', 'talk', 'older', 'empty', 'gone'])
    expect(await candidates('show', '--full', 'ta')).toEqual(['tall-1', 'talk'])
    expect(await candidates('export', 'older', 'talk', 'ta')).toEqual(['tall-1', 'talk'])
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

  it('come from the store that --db names, and are none where something is wrong', async () => {
    const { out } = await runCli(['__complete', '--', '--db', small.path, 'show', 'old'])
    expect(out).toBe('older\tRounding of invoices\n')
    expect(await runCli(['__complete', '--', 'show', ''])).toMatchObject({ exit: 0, out: '', err: '' })
    expect(await candidates('undo', 'nobody', '')).toEqual([])
    expect(await candidates('show', '--db', '')).toEqual([])
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
complete_words undertext show o`
    const { stdout, stderr } = await run('bash', ['-c', script], { env: env() })
    expect([stdout.trim().split('\n'), stderr]).toEqual([
      ['sessions', 'tall-1', 'talk', small.compactions[0]!.id, 'older'],
      '',
    ])
  })

  for (const shell of ['zsh', 'fish'] as const) {
    const isThere = installed(shell)
    if (!isThere) console.warn(`${shell} is not installed: its completion script is not tried`)
    it.skipIf(!isThere)(`is accepted by ${shell}`, async () => {
      const file = join(bundled.folder, `script.${shell}`)
      writeFileSync(file, SCRIPTS[shell])
      await run(shell, ['-n', file], { env: env() })
      if (shell === 'fish') {
        const { stdout } = await run('fish', ['-c', `source ${file}; complete -C 'undertext sess'`], {
          env: env(),
        })
        expect(stdout).toContain('sessions')
      }
    })
  }
})

function installed(shell: string): boolean {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
