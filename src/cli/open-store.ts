import { isTokenizerName } from '../core/tokens/tokenizer.ts'
import { knownVariables, unknownVariables } from '../store/config/environment.ts'
import { type OpenOptions, openForCommand } from '../store/open.ts'
import { contextOf, type Store, storageOf } from '../store/store.ts'
import type { Context, Location } from './command.ts'
import { CliError } from './errors.ts'
import { LOCATED_BY } from './location.ts'
import { isBlankFile, isMissing, prepareFile, serverFacts } from './store-facts.ts'
import { installedTokenizer } from './token-counter.ts'

/** Opens the store of a command, as `Context.open` describes. Warns on `err` about variables with our prefix that nothing reads. */
export async function openAt(
  location: Location,
  access: 'read' | 'change' | 'write',
  {
    config,
    estimators,
    env,
    err,
    style,
  }: Pick<OpenOptions, 'config' | 'estimators'> & Pick<Context, 'env' | 'err' | 'style'>,
): Promise<Store> {
  const { path, url, from } = location
  if (access !== 'write' && (await isAbsent(location)))
    throw new CliError('NOT_THERE', `There is no store at ${path} (${LOCATED_BY[from]}).`, {
      facts: { path, from },
      hint: 'Name one with --db or UNDERTEXT_DB, or create one: undertext chat, undertext import FILE.',
    })
  if (url === undefined) await prepareFile(location, access)
  for (const name of unknownVariables(env))
    err.write(style.yellow(`undertext: nothing reads ${name}; docs/configuration.md lists the variables.\n`))
  return openForCommand(url ?? path, {
    env: knownVariables(env),
    readonly: access === 'read',
    ...(config !== undefined && { config }),
    ...(estimators !== undefined && { estimators }),
  })
}

/** Registers the installed tokenizers with which sessions of the store were counted. */
export async function loadTokenizers(store: Store): Promise<void> {
  const { byName } = contextOf(store).estimators
  for (const name of await estimatorNames(store)) {
    if (byName.has(name) || !isTokenizerName(name)) continue
    const tokenizer = await installedTokenizer(name)
    if (tokenizer !== undefined) byName.set(name, tokenizer)
  }
}

/** Returns no names if they can't be read, because the command itself reports problems of the store. */
async function estimatorNames(store: Store): Promise<readonly string[]> {
  try {
    return await storageOf(store).estimatorNames()
  } catch {
    return []
  }
}

/** Whether opening it for writing would create the store. */
export async function isNewStore(location: Location): Promise<boolean> {
  return (await isAbsent(location)) || (location.url === undefined && (await isBlankFile(location.path)))
}

async function isAbsent({ path, url }: Location): Promise<boolean> {
  return url === undefined ? isMissing(path) : !(await serverFacts(url)).exists
}
