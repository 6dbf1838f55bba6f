import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TSX = createRequire(import.meta.url).resolve('tsx/cli')
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What a run of the demo came to. */
export type Outcome = {
  readonly code: number | null
  readonly out: string
  readonly err: string
  /** Folders it did not remove. */
  readonly left: readonly string[]
}

/** Runs the demo with piped output, as `npm run demo -- …` does. `stopAt`: ends it once it has written this. */
export function runDemo(
  args: readonly string[],
  { env = {}, stopAt }: { readonly env?: NodeJS.ProcessEnv; readonly stopAt?: string } = {},
): Promise<Outcome> {
  const temporary = mkdtempSync(join(tmpdir(), 'demo-run-'))
  const { FORCE_COLOR: _, NO_COLOR: __, COLUMNS: ___, NODE_OPTIONS: ____, ...plain } = process.env
  const child = spawn(process.execPath, [TSX, MAIN, ...args], {
    cwd: ROOT,
    env: { ...plain, TMPDIR: temporary, NODE_NO_WARNINGS: '1', ...env },
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (stopAt !== undefined && out.includes(stopAt) && !child.killed) child.kill('SIGTERM')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  return new Promise((settle, fail) => {
    child.once('error', fail)
    child.once('close', (code) => {
      const left = readdirSync(temporary).filter((name) => name.startsWith('undertext-demo-'))
      rmSync(temporary, { recursive: true, force: true })
      settle({ code, out, err, left })
    })
  })
}
