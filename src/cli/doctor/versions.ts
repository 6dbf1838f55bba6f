import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { errorName } from '../../errors.ts'
import { loadDriver } from '../../storage/sqlite/driver.ts'

/** Packages that add something where they are installed. */
const OPTIONAL = [
  'ai',
  'gpt-tokenizer',
  '@langchain/core',
  '@openai/agents',
  '@anthropic-ai/claude-agent-sdk',
] as const

export type Versions = {
  readonly undertext: string
  readonly node: string
  readonly betterSqlite3: string | null
  readonly sqlite: string | null
  /** Why the driver cannot be loaded. */
  readonly driverError?: string
  /** Versions of the optional packages that were found; `null` for the others. */
  readonly optional: { readonly [name: string]: string | null }
}

export async function versions(undertext: string): Promise<Versions> {
  const base = {
    undertext,
    node: process.versions.node,
    betterSqlite3: versionOf('better-sqlite3'),
    optional: Object.fromEntries(OPTIONAL.map((name) => [name, versionOf(name)])),
  }
  try {
    const Driver = await loadDriver()
    const database = new Driver(':memory:')
    const { sqlite } = database.prepare('select sqlite_version() as sqlite').get() as {
      readonly sqlite: string
    }
    database.close()
    return { ...base, sqlite }
  } catch (error) {
    return { ...base, sqlite: null, driverError: error instanceof Error ? error.message : errorName(error) }
  }
}

/** The version of a package as this one would find it. Some do not export their package.json, so it is looked for. */
function versionOf(name: string): string | null {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  const file = folders.map((folder) => join(folder, name, 'package.json')).find((path) => existsSync(path))
  if (file === undefined) return null
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: unknown }
  return typeof version === 'string' ? version : null
}
