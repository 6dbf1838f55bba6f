import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Where a file of the shared test data is: under `UNDERTEXT_SHARED`, else in `shared` beside the repository.
 * `undefined`, with a notice, where it is absent; the test that wanted it is then skipped.
 */
export function sharedPath(relative: string): string | undefined {
  const folder = process.env.UNDERTEXT_SHARED ?? join(REPOSITORY, '..', 'shared')
  const path = resolve(folder, relative)
  if (existsSync(path)) return path
  console.info(`skipped: ${relative} is not in ${folder} (UNDERTEXT_SHARED names another folder)`)
  return undefined
}
