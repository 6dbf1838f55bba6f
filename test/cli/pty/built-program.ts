import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const REPOSITORY = join(import.meta.dirname, '..', '..', '..')

/** The program as it is published, in a folder of its own. */
export type BuiltProgram = {
  /** Its main file. */
  readonly main: string
  /** For further files of the test; goes with the program. */
  readonly folder: string
  readonly remove: () => void
}

/** Builds the program as `npm run build` does, without its types. */
export async function buildProgram(): Promise<BuiltProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-program-'))
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
  copyFileSync(join(REPOSITORY, 'package.json'), join(folder, 'package.json'))
  execFileSync(process.execPath, ['scripts/build.mjs', join(folder, 'dist')], { cwd: REPOSITORY })
  const main = join(folder, 'dist', 'cli', 'main.js')
  return {
    main,
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
