import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { type Compiled, compile } from '../support/compiled.ts'

/*
 * Disks that are small, or cannot be written to. A mount is made in a namespace of its own, for one process, and
 * is gone when that ends. Where that is not allowed the test is skipped, with a notice.
 */

/** What a shell does before it becomes the process under test; `$0` is the folder. */
const PREPARE = {
  small: { mount: true, line: 'mount -t tmpfs -o size=5600k tmpfs "$0"' },
  readonly: { mount: true, line: 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"' },
  /** No file may grow beyond 800 KB (a block is 512 bytes); the process itself may lift the limit. */
  limited: { mount: false, line: 'ulimit -S -f 1600' },
} as const
export type DiskKind = keyof typeof PREPARE

let compiled: Compiled | undefined

/** Runs one of the scripts of `on-disk.ts` on such a disk; `undefined` where that cannot be done here. */
export function runOnDisk(kind: DiskKind, script: string, folder: string): unknown {
  const { mount, line } = PREPARE[kind]
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  const [command, ...before] = mount ? ['unshare', '--mount', ...asRoot, 'sh', '-c'] : ['sh', '-c']
  const trial = spawnSync(command!, [...before, line, folder])
  if (trial.status !== 0) {
    console.info(`skipped: no ${kind} disk can be had here (${trial.error?.message ?? trial.stderr})`)
    return undefined
  }
  compiled ??= compile('test/disk', 'test/storage/contract')
  const shell = [...before, `${line} && exec "$@"`, folder]
  const child = [process.execPath, compiled.script('test/disk/on-disk.ts'), script, folder]
  const { status, stdout, stderr } = spawnSync(command!, [...shell, ...child], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the process on the ${kind} disk ended with ${status}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Removes what was made for the scripts. */
export function forgetDisks(): void {
  compiled?.remove()
  compiled = undefined
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}
