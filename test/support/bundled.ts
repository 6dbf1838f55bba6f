import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** A script as one file of JavaScript, which starts in a third of the time, in a folder of its own. */
export type Bundled = {
  readonly script: string
  /** For further files of the test; goes with the script. */
  readonly folder: string
  readonly remove: () => void
}

/** Bundles a script of the repository, named by its path there. */
export async function bundle(path: string): Promise<Bundled> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-bundled-'))
  const root = join(folder, 'build')
  mkdirSync(root)
  // The bundle finds its packages where the source would.
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
  const script = join(root, 'a', 'b', 'c', 'script.mjs')
  await build({
    entryPoints: [join(REPOSITORY, path)],
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error',
  })
  return { script, folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
