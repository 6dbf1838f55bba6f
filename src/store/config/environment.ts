import { readFile, stat } from 'node:fs/promises'
import { invalid } from '../../core/errors.ts'
import { check } from '../../core/messages/check.ts'
import { isObject } from '../../core/messages/json.ts'
import { frozenCopy, readSettings } from './read-settings.ts'
import { type LayerValues, SETTING_NAMES, type SettingName, settingsSchema } from './settings.ts'

/** Maximum size of a settings file, bytes. */
const MAX_BYTES = 1024 * 1024

/**
 * Reads the settings of a file: JSON if it begins with `{`, else TOML. If the file has a table `undertext` or `memory`, only those two are
 * read; otherwise, the whole file. Names may be in snake_case.
 *
 * `what` names the file in errors. It is never the path, which may come from the environment. Throws `INVALID_INPUT`.
 */
export async function readConfigFile(path: string, what: string): Promise<LayerValues> {
  const content = await parseFile(await readText(path, what), what)
  const isShared = isObject(content.undertext) || isObject(content.memory)
  if (!isShared) return readSettings(content, what, true)
  const { undertext = {}, memory } = content
  if (!isObject(undertext)) throw invalid(`${what}: undertext must be a table`)
  return readSettings(isObject(memory) ? { memory, ...undertext } : undertext, what, true)
}

async function readText(path: string, what: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > MAX_BYTES) throw invalid(`${what}: the file is larger than ${MAX_BYTES} bytes`)
    return (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'INVALID_INPUT') throw error
    throw invalid(`${what}: the file cannot be read (${code ?? 'unknown'})`)
  }
}

async function parseFile(text: string, what: string): Promise<{ readonly [name: string]: unknown }> {
  const isJson = text.trimStart().startsWith('{')
  const content = isJson ? parseJson(text, what) : await parseToml(text, what)
  if (!isObject(content)) throw invalid(`${what}: must be a table of settings`)
  return content
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the file.
    throw invalid(`${what}: the file isn't valid JSON`)
  }
}

async function parseToml(text: string, what: string): Promise<unknown> {
  // Loaded only if there is such a file.
  const { parse, TomlError } = await import('smol-toml')
  try {
    return parse(text)
  } catch (error) {
    const where = error instanceof TomlError ? ` (line ${error.line}, column ${error.column})` : ''
    throw invalid(`${what}: the file isn't valid TOML${where}`)
  }
}

/** Environment variables by name, as in `process.env`. */
export type Environment = { readonly [name: string]: string | undefined }

const PREFIX = 'UNDERTEXT_'
/** The variable that contains the path of a settings file. */
export const FILE_VARIABLE = `${PREFIX}CONFIG`

/** Alternative variables for these settings, after NeuroLink's variables and command line flags. */
const COUNTERPARTS: readonly (readonly [variable: string, SettingName])[] = [
  [`${PREFIX}MEMORY_ENABLED`, 'enabled'],
  [`${PREFIX}SUMMARIZATION_ENABLED`, 'enableSummarize'],
  [`${PREFIX}TOKEN_THRESHOLD`, 'thresholdTokens'],
  [`${PREFIX}COMPACT_THRESHOLD`, 'threshold'],
  [`${PREFIX}COMPACTION_ENABLED`, 'auto'],
]

/** NeuroLink's variables under their own prefix. The `UNDERTEXT_` variables take precedence. */
const FOUNDING_PREFIX = 'NEUROLINK_'
const FOUNDING: readonly (readonly [variable: string, SettingName])[] = [
  [`${FOUNDING_PREFIX}MEMORY_ENABLED`, 'enabled'],
  [`${FOUNDING_PREFIX}SUMMARIZATION_ENABLED`, 'enableSummarize'],
  [`${FOUNDING_PREFIX}TOKEN_THRESHOLD`, 'thresholdTokens'],
  [`${FOUNDING_PREFIX}SUMMARIZATION_PROVIDER`, 'summarizationProvider'],
  [`${FOUNDING_PREFIX}SUMMARIZATION_MODEL`, 'summarizationModel'],
]

type Kind = 'boolean' | 'number' | 'text'

type Variable = { readonly variable: string; readonly setting: SettingName; readonly kind: Kind }

/** All variables: one for each setting that is a string, a number or a boolean, and NeuroLink's names. */
export const VARIABLES: readonly Variable[] = [
  ...SETTING_NAMES.map((setting) => [variableOf(setting), setting] as const),
  ...COUNTERPARTS,
  ...FOUNDING,
].flatMap(([variable, setting]) => {
  const kind = kindOf(setting)
  return kind === undefined ? [] : [{ variable, setting, kind }]
})

/** Variables with the prefix that are read elsewhere. */
const OTHERS: ReadonlySet<string> = new Set([
  FILE_VARIABLE,
  `${PREFIX}DB`,
  `${PREFIX}OWNER`,
  `${PREFIX}DEBUG`,
  `${PREFIX}SHARED`,
  `${PREFIX}PG`,
  `${PREFIX}CHROMIUM`,
  `${PREFIX}SCREENSHOTS`,
  ...['', '_KILL', '_START'].map((rest) => `${PREFIX}CITUS${rest}`),
])

/** Returns the variables with the prefix that nothing reads: misspelled names, or settings that aren't a string, a number or a boolean. */
export function unknownVariables(environment: Environment): string[] {
  const known = new Set(VARIABLES.map(({ variable }) => variable))
  return Object.keys(environment).filter(
    (name) => name.startsWith(PREFIX) && !known.has(name) && !OTHERS.has(name) && environment[name] !== '',
  )
}

/** Returns the environment without the variables that `unknownVariables` returns. */
export function knownVariables(environment: Environment): Environment {
  const unknown = new Set(unknownVariables(environment))
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !unknown.has(name)))
}

/** `UNDERTEXT_ENABLE_PRUNE` for `enablePrune`. */
function variableOf(setting: SettingName): string {
  return PREFIX + setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

type Described = { readonly def: { readonly type: string; readonly options?: readonly Described[] } }

function kindOf(setting: SettingName): Kind | undefined {
  const { type, options = [] } = (settingsSchema.shape[setting].def.innerType as Described).def
  if (type === 'boolean' || type === 'number') return type
  const isText = type === 'string' || type === 'enum' || options.some(({ def }) => def.type === 'string')
  return isText ? 'text' : undefined
}

/** Reads the settings of an environment. Empty variables are ignored. Throws `INVALID_INPUT` with the variable, never its value. */
export function readEnvironment(environment: Environment): LayerValues {
  const found = new Map<SettingName, { readonly value: unknown; readonly variable: string }>()
  for (const { variable, setting, kind } of VARIABLES) {
    const text = environment[variable]
    if (text === undefined || text === '') continue
    const value = check(settingsSchema.shape[setting], parsed(text, kind, setting, variable), variable)
    const before = found.get(setting)
    if (before !== undefined && variable.startsWith(FOUNDING_PREFIX)) continue
    if (before !== undefined && before.value !== value)
      throw invalid(`${before.variable} and ${variable} give the same setting different values`)
    found.set(setting, { value, variable })
  }
  return frozenCopy(Object.fromEntries([...found].map(([setting, { value }]) => [setting, value])))
}

function parsed(text: string, kind: Kind, setting: SettingName, variable: string): boolean | number | string {
  // The only string setting that can be switched off.
  if (setting === 'truncationMarker' && text.trim().toLowerCase() === 'false') return false
  if (kind === 'text') return text
  const plain = text.trim().toLowerCase()
  if (kind === 'number') {
    if (!/^-?\d+(?:\.\d+)?$/.test(plain)) throw invalid(`${variable}: must be a number`)
    return Number(plain)
  }
  if (plain === 'true' || plain === '1') return true
  if (plain === 'false' || plain === '0') return false
  throw invalid(`${variable}: must be true or false`)
}
