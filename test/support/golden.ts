import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file of `test/golden`, which `test/golden/README.md` describes. */
export function readGolden<T>(name: string): T {
  return JSON.parse(readFileSync(join(import.meta.dirname, '..', 'golden', `${name}.json`), 'utf8')) as T
}
