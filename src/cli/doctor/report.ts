import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { knownVariables, unknownVariables, VARIABLES } from '../../config/environment.ts'
import { SETTING_NAMES, type Settings } from '../../config/settings.ts'
import { errorName } from '../../errors.ts'
import { loadDriver } from '../../storage/sqlite/driver.ts'
import { openStore } from '../../store/open.ts'
import type { Context } from '../command.ts'
import { failureOf } from '../failure.ts'
import { type FileFacts, fileFacts, storedIn } from './store-file.ts'

/** Packages that add something where they are installed. */
const OPTIONAL = [
  'ai',
  'gpt-tokenizer',
  '@langchain/core',
  '@openai/agents',
  '@anthropic-ai/claude-agent-sdk',
] as const

type Versions = {
  readonly undertext: string
  readonly node: string
  readonly betterSqlite3: string | null
  readonly sqlite: string | null
  /** Why the driver cannot be loaded. */
  readonly driverError?: string
  /** Versions of the optional packages that were found; `null` for the others. */
  readonly optional: { readonly [name: string]: string | null }
}

async function versions(undertext: string): Promise<Versions> {
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

/** Variables beside the settings' own that a run looks at. None of them is a secret. */
const OTHER_VARIABLES = [
  'UNDERTEXT_CONFIG',
  'UNDERTEXT_DB',
  'UNDERTEXT_DEBUG',
  'NO_COLOR',
  'FORCE_COLOR',
  'TERM',
  'PAGER',
  'XDG_DATA_HOME',
]

type Problem = { readonly code: string; readonly message: string; readonly hint: string | null }

type Setting = { readonly name: string; readonly value: unknown; readonly source: string }

export type Report = {
  readonly location: Context['location']
  readonly file: FileFacts
  /** Sessions in the ordinary list and archived ones; `null` where the store cannot be opened. */
  readonly sessions: number | null
  readonly versions: Versions
  readonly settings: readonly Setting[]
  readonly variables: readonly { readonly name: string; readonly value: string }[]
  readonly problems: readonly Problem[]
}

/** Looks at all there is. Nothing it finds throws. */
export async function examine(context: Context, version: string, deep: boolean): Promise<Report> {
  const problems: Problem[] = []
  const tell = (error: unknown): void => {
    const { code, message, hint = null } = failureOf(error, false)
    // Settings that cannot be read keep the store from opening as well.
    if (!problems.some((one) => one.message === message)) problems.push({ code, message, hint })
  }
  const { location, env } = context
  const found = await versions(version)
  const file = await fileFacts(location.path, deep)
  const opens = file.exists && (await isOpened(context).catch(tell)) === true
  const stored = opens ? await storedIn(location.path) : undefined
  if (file.error !== undefined && problems.length === 0)
    problems.push({
      code: 'STORE_UNAVAILABLE',
      message: `The file could not be looked at (${file.error}).`,
      hint: 'Try again: another program may have held it for a moment.',
    })
  if (stored?.filesCleared === false)
    problems.push({
      code: 'FILES_NOT_CLEARED',
      message: 'Rows that were removed may still be readable in the files.',
      hint: 'They are cleared when the store is opened for writing and no other program prevents it: undertext doctor --upgrade',
    })
  const settings = await settingsIn(env).catch(tell)
  const integrity = file.database?.integrity ?? ['ok']
  if (integrity.join() !== 'ok')
    problems.push({
      code: 'STORE_CORRUPT',
      message: `The file is damaged: ${integrity.join('; ')}`,
      hint: null,
    })
  for (const name of unknownVariables(env))
    problems.push({ code: 'UNKNOWN_VARIABLE', message: `Nothing reads the variable ${name}.`, hint: null })
  return {
    location,
    file,
    sessions: stored?.sessions ?? null,
    versions: found,
    settings: settings ?? [],
    variables: variablesIn(env),
    problems,
  }
}

async function isOpened(context: Context): Promise<true> {
  await context.open('read')
  return true
}

/** The settings for all sessions. A store in memory reads them as any other does. */
async function settingsIn(env: Context['env']): Promise<Setting[]> {
  const store = await openStore(':memory:', { env: knownVariables(env) })
  const { settings, sources } = await store.getConfig()
  await store.close()
  return SETTING_NAMES.flatMap((name: keyof Settings) => {
    const value = settings[name]
    return value === undefined ? [] : [{ name, value, source: sources[name] ?? 'default' }]
  })
}

function variablesIn(env: Context['env']): { readonly name: string; readonly value: string }[] {
  const names = new Set([...VARIABLES.map(({ variable }) => variable), ...OTHER_VARIABLES])
  return [...names].flatMap((name) => {
    const value = env[name]
    return value === undefined || value === '' ? [] : [{ name, value }]
  })
}
