import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Job, Report } from './child.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/**
 * Processes to be killed. The source is made one file first, which starts in a third of the time; and the next process
 * starts while the last one is looked into.
 */
export class Children {
  /** Where the files of the test go. */
  readonly folder = mkdtempSync(join(tmpdir(), 'undertext-crashes-'))
  readonly #script = join(this.folder, 'build', 'a', 'b', 'c', 'child.mjs')
  #waiting: ChildProcess[] = []

  async build(): Promise<void> {
    const root = join(this.folder, 'build')
    mkdirSync(root)
    // The compiled file finds its packages where the source would.
    symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
    await build({
      entryPoints: [join(import.meta.dirname, 'child.ts')],
      outfile: this.#script,
      bundle: true,
      format: 'esm',
      platform: 'node',
      packages: 'external',
      logLevel: 'error',
    })
    this.prepare(1)
  }

  /** Starts processes that will be wanted soon. */
  prepare(count: number): void {
    while (this.#waiting.length < count)
      this.#waiting.push(spawn(process.execPath, [this.#script], { stdio: 'pipe' }))
  }

  /** Lets a process do a job until it is dead; answers what it said. One that came to its end is killed. */
  async run(job: Job): Promise<Report[]> {
    this.prepare(1)
    const child = this.#waiting.shift()!
    this.prepare(1)
    const gone = once(child, 'close')
    let said = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.includes('{"event":"end"}')) child.kill('SIGKILL')
    })
    let failure = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      failure += text
    })
    child.stdin!.write(`${JSON.stringify(job)}\n`)
    const [code, signal] = await gone
    if (signal !== 'SIGKILL') throw new Error(`a child ended by itself: ${code ?? signal} ${failure}`)
    // What stands behind the last line end was being said when it died.
    const lines = said.split('\n').slice(0, -1)
    return lines
      .map((line) => JSON.parse(line) as Report)
      .filter(({ event }) => event !== 'ready' && event !== 'end')
  }

  async remove(): Promise<void> {
    for (const child of this.#waiting) child.kill('SIGKILL')
    this.#waiting = []
    rmSync(this.folder, { recursive: true, force: true })
  }
}
