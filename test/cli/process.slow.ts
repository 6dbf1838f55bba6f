import { execFile, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

/* The program as a process of its own: streams, signals and exit codes are the system's. */

const run = promisify(execFile)
let small: SmallStore
let bundled: Bundled
beforeAll(async () => {
  small = await smallStore()
  bundled = await bundleCli()
})
afterAll(() => {
  small.remove()
  bundled.remove()
})

const start = (argv: readonly string[], more: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [bundled.script, ...argv], {
    env: { ...process.env, UNDERTEXT_DB: small.path, ...more },
    cwd: small.folder,
  })

it('writes to the output and ends with 0', async () => {
  const { stdout, stderr } = await start(['show', 'talk'])
  expect(stderr).toBe('')
  expect(stdout).toContain('  It boils.\n')
})

it('tells errors on the error stream, by its exit code', async () => {
  await expect(start(['show', 'nobody'])).rejects.toMatchObject({ code: 3, stdout: '' })
  await expect(start(['nothing'])).rejects.toMatchObject({ code: 2 })
  await expect(start(['sessions'], { UNDERTEXT_DB: `${small.folder}/none.db` })).rejects.toMatchObject({
    code: 3,
  })
})

it('finds the default store in the data folder of the user', async () => {
  const failed = await start(['sessions'], { UNDERTEXT_DB: '', XDG_DATA_HOME: small.folder }).catch(
    (error) => error as { stderr: string; code: number },
  )
  expect(failed).toMatchObject({ code: 3 })
  if (process.platform === 'linux')
    expect((failed as { stderr: string }).stderr).toContain(`${small.folder}/undertext/undertext.db`)
})

it.skipIf(process.platform !== 'linux')(
  "is in the account's own folder where the variables name no whole path",
  async () => {
    const { homedir } = userInfo()
    for (const more of [{ XDG_DATA_HOME: 'here' }, { XDG_DATA_HOME: '', HOME: '' }]) {
      const { stdout } = await start(['doctor', '--json'], { UNDERTEXT_DB: '', ...more }).catch(
        (error) => error as { stdout: string },
      )
      expect(JSON.parse(stdout).store.path).toBe(`${homedir}/.local/share/undertext/undertext.db`)
    }
  },
)

it('ends quietly when its reader leaves', async () => {
  await small.change((store) =>
    store.append('long', [{ role: 'user', content: 'a line that is long\n'.repeat(200_000) }]),
  )
  const child = spawn(process.execPath, [bundled.script, 'show', 'long'], {
    env: { ...process.env, UNDERTEXT_DB: small.path },
  })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
  })
  child.stdout.once('data', () => child.stdout.destroy())
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect([code, stderr]).toEqual([0, ''])
})

it('gives a pipe all of a long text', async () => {
  const { stdout } = await run('sh', [
    '-c',
    `"${process.execPath}" "${bundled.script}" show long --db "${small.path}" | wc -l`,
  ])
  expect(Number(stdout)).toBe(200_000 + 4)
})

it('stores its input although its output is not read', async () => {
  await small.change(async (store) => {
    await store.sessions.create({ id: 'wordy', provider: 'openai', model: 'gpt-4' })
    for (let at = 1; at <= 12; at++)
      await store.append('wordy', [
        { role: 'user', content: `Question ${at}: ${'some words of mine '.repeat(10)}` },
        { role: 'assistant', content: `Answer ${at}: ${'many words of yours '.repeat(10)}` },
      ])
  })
  const child = spawn(process.execPath, [bundled.script, 'compact', 'wordy', '--target-tokens', '500'], {
    env: { ...process.env, UNDERTEXT_DB: small.path },
  })
  child.stdout.destroy()
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
  const { stdout } = await start(['log', 'wordy', '--json'])
  expect((JSON.parse(stdout) as { runs: unknown[] }).runs.length).toBe(1)
})

it('keeps its exit code when its errors are not read', async () => {
  const child = spawn(process.execPath, [bundled.script, 'show', 'nobody'], {
    env: { ...process.env, UNDERTEXT_DB: small.path },
  })
  child.stderr.destroy()
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(3)
})

it.skipIf(!existsSync('/dev/full'))('keeps its exit code when its errors cannot be written', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [bundled.script, 'show', 'nobody'], {
    env: { ...process.env, UNDERTEXT_DB: small.path },
    stdio: ['ignore', 'ignore', full],
  })
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(3)
  closeSync(full)
})

it.skipIf(!existsSync('/dev/full'))('reports that its output cannot be written', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [bundled.script, 'show', 'talk'], {
    env: { ...process.env, UNDERTEXT_DB: small.path },
    stdio: ['ignore', full, 'pipe'],
  })
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk)
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  closeSync(full)
  expect([code, stderr]).toEqual([5, "undertext: The output can't be written (ENOSPC).\n"])
})
