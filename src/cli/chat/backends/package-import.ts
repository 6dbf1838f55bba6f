import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject } from '../../../messages/json.ts'

/** The conditions under which a package's entry is looked up. */
const CONDITIONS: ReadonlySet<string> = new Set(['node', 'import', 'module-sync', 'default'])

/**
 * Loads a package as a program in `folder` would: the command line may be installed elsewhere than the packages of the project it is
 * called in. Not found there, it is looked for beside this package. Rejects with `PackageMissingError`, or what loading it throws.
 */
export async function importFrom(
  folder: string,
  name: string,
): Promise<{ readonly [name: string]: unknown }> {
  const path = entryFrom(folder, name)
  if (path !== undefined) return import(pathToFileURL(path).href)
  try {
    return await import(name)
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new PackageMissingError(name)
  }
}

/** A package is not installed. */
export class PackageMissingError extends Error {
  readonly packageName: string

  constructor(packageName: string) {
    super(`${packageName} is not installed`)
    this.name = 'PackageMissingError'
    this.packageName = packageName
  }
}

/** The file a package's name stands for, in the nearest `node_modules` that has it. */
function entryFrom(folder: string, name: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const root = join(at, 'node_modules', name)
    if (existsSync(join(root, 'package.json'))) return join(root, entryOf(root))
    if (at === dirname(at)) return undefined
  }
}

function entryOf(root: string): string {
  const { exports, module, main } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports?: unknown
    module?: string
    main?: string
  }
  const own = isObject(exports) && '.' in exports ? exports['.'] : exports
  return targetIn(own) ?? main ?? module ?? 'index.js'
}

function targetIn(target: unknown): string | undefined {
  if (typeof target === 'string') return target
  const choices = Array.isArray(target)
    ? target
    : isObject(target)
      ? Object.keys(target).flatMap((key) => (CONDITIONS.has(key) ? [target[key]] : []))
      : []
  for (const choice of choices) {
    const found = targetIn(choice)
    if (found !== undefined) return found
  }
  return undefined
}
