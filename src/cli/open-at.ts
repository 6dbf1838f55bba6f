import { statSync } from 'node:fs'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { knownVariables, unknownVariables } from '../config/environment.ts'
import { UndertextError } from '../errors.ts'
import { type OpenOptions, openStore, type SqliteStore } from '../store/open.ts'
import { CliError } from './cli-error.ts'
import type { Context } from './command.ts'
import { fileFacts, isNothingThere } from './doctor/store-file.ts'
import { LOCATED_BY } from './location.ts'

type Given = Pick<OpenOptions, 'config'> & Pick<Context, 'env' | 'err' | 'style'>

/**
 * Opens the store a command works on. Reading and changing make no file and throw `NOT_THERE` where there is none; writing makes it. A variable
 * under our prefix that nothing reads is named on `err`.
 */
export async function openAt(
  { path, from }: Context['location'],
  access: 'read' | 'change' | 'write',
  { config, env, err, style }: Given,
): Promise<SqliteStore> {
  if (access !== 'write' && isMissing(path)) throw noStore(path, from)
  if (access === 'change') await refuseOthers(path)
  if (access === 'write' && from === 'default') await makeFolderOf(path)
  for (const name of unknownVariables(env))
    err.write(style.yellow(`undertext: nothing reads ${name}; docs/configuration.md has the variables.\n`))
  return openStore(path, {
    env: knownVariables(env),
    readonly: access === 'read',
    ...(config !== undefined && { config }),
  })
}

/** Whether there is no such file. One that may not be looked at is left to the store, which says why. */
function isMissing(path: string): boolean {
  try {
    statSync(path)
    return false
  } catch (error) {
    return isNothingThere(error)
  }
}

/** A database of something else, named by a slip, must not get tables of ours from a command that found nothing in it. */
async function refuseOthers(path: string): Promise<void> {
  const { database } = await fileFacts(path, false)
  if (database?.schema !== null) return
  const detail = 'it holds no tables of undertext, and this command makes none.'
  throw new UndertextError('NOT_A_STORE', { location: path, detail })
}

/** Whether writing would make the store here first: there is no file, or one without any tables. */
export async function isToBeMade(path: string): Promise<boolean> {
  if (isMissing(path)) return true
  const { database } = await fileFacts(path, false)
  return database?.schema === null && database.pages <= 1
}

function noStore(path: string, from: Context['location']['from']): CliError {
  return new CliError('NOT_THERE', `There is no store at ${path} (${LOCATED_BY[from]}).`, {
    facts: { path, from },
    hint: 'Name one with --db PATH or UNDERTEXT_DB, or make one: undertext chat, undertext import FILE.',
  })
}

/** Makes the folder of the default store, for its owner alone. One that is there stays as it is. */
async function makeFolderOf(path: string): Promise<void> {
  const folder = dirname(path)
  if ((await stat(folder).catch(() => undefined)) !== undefined) return
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o700)
}
