import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { VIEW_FORMATS } from '../transfer/view-formats.ts'

/** Stages that need no options. Listed here because loading the registry of stages would slow down help. */
export const STAGES = [
  'media',
  'prune',
  'deduplicate',
  'summarize',
  'truncate',
  'cut',
  'hierarchical_summaries',
  'sliding_window',
  'sliding_window_with_summary',
  'priority_based',
  'drop_reasoning',
]

/** What `mcp --allow` may name. */
export const PERMISSIONS = ['compact', 'undo', 'pin', 'note', 'fork', 'import'] as const

/* Values of options, parsed the same way in every command. */

/** What `export` writes: the history, documents for people, and the formats of the view. */
export const EXPORT_FORMATS = ['history', 'markdown', 'html', ...VIEW_FORMATS] as const

export const ROLES = ['system', 'user', 'assistant', 'tool'] as const

/**
 * An option as a command declares it: a function that makes it for a flag such as `--dry-run`. `given` is the type of the value that the
 * action receives.
 */
export type Declared<G> = ((flag: string) => Option) & { readonly given: G }

type GivenOf<D> = D extends Declared<infer G> ? G : never

/** The options of an action; those that may be absent are optional. */
export type OptionsOf<D> = {
  readonly [N in keyof D as undefined extends GivenOf<D[N]> ? N : never]?: Exclude<GivenOf<D[N]>, undefined>
} & {
  readonly [N in keyof D as undefined extends GivenOf<D[N]> ? never : N]: GivenOf<D[N]>
}

function declared<G>(make: (flag: string) => Option): Declared<G> {
  return make as Declared<G>
}

/** An option without a value: true if it is given. */
export function flag(about: string): Declared<boolean | undefined> {
  return declared((flag) => new Option(flag, about))
}

/** `--no-fold`: true unless it is given. */
export function unless(about: string): Declared<boolean> {
  return declared((flag) => new Option(flag.replace('--', '--no-'), about))
}

export function text(value: string, about: string): Declared<string | undefined> {
  return declared((flag) => new Option(`${flag} <${value}>`, about))
}

/** A text that may be omitted; the value is then `true`. */
export function optionally(value: string, about: string): Declared<string | boolean | undefined> {
  return declared((flag) => new Option(`${flag} [${value}]`, about))
}

/** A value that a function reads from the text, and from the earlier value if the option is repeated. */
export function read<T>(
  value: string,
  about: string,
  reader: (text: string, before?: T) => T,
): Declared<T | undefined> {
  return declared((flag) => new Option(`${flag} <${value}>`, about).argParser(reader))
}

/** A whole number from `least` up. */
export function number(value: string, about: string, least = 1): Declared<number | undefined> {
  return read(value, about, wholeNumber(least))
}

/** One of some values. */
export function oneOf<const V extends readonly string[]>(
  value: string,
  about: string,
  values: V,
): Declared<V[number] | undefined> {
  return declared((flag) => new Option(`${flag} <${value}>`, about).choices(values))
}

/** Some of some values, with commas or repeated. */
export function severalOf<const V extends readonly string[]>(
  value: string,
  about: string,
  values: V,
): Declared<V[number][] | undefined> {
  return declared((flag) =>
    new Option(`${flag} <${value}>`, about).choices(values).argParser(listedOf(values)),
  )
}

/** Makes an option exclude another one. */
export function against<G>(other: string, option: Declared<G>): Declared<G> {
  return declared((flag) => option(flag).conflicts(other))
}

export function withDefault<T>(value: T, option: Declared<T | undefined>): Declared<T> {
  return declared((flag) => option(flag).default(value))
}

/** Makes an option required. */
export function needed<G>(option: Declared<G>): Declared<Exclude<G, undefined>> {
  return declared((flag) => option(flag).makeOptionMandatory())
}

/** Adds a short flag to an option. */
export function short<G>(letter: string, option: Declared<G>): Declared<G> {
  return declared((flag) => option(`-${letter}, ${flag}`))
}

/** `--system` and `--system-file`. `use` continues their descriptions. */
export function systemPrompt(use = '') {
  return {
    system: against('systemFile', text('text', `the system prompt${use}`)),
    systemFile: text('file', `the system prompt, from a file${use}`),
  }
}

/** Parses a whole number from `least` up. */
function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
      throw new InvalidArgumentError(`It must be a whole number, at least ${least}.`)
    return value
  }
}

/** Parses an option that may be repeated, or given several values with commas. */
export function listed(text: string, before: readonly string[] = []): string[] {
  const found = text.split(',').filter((value) => value !== '')
  if (found.length === 0) throw new InvalidArgumentError('It is empty.')
  return [...before, ...found]
}

/** Collects an option that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** The same as `listed`, limited to some names. */
function listedOf(names: readonly string[]): typeof listed {
  return (text, before) => {
    const found = listed(text, before)
    if (!found.every((name) => names.includes(name)))
      throw new InvalidArgumentError(`Allowed choices are ${names.join(', ')}.`)
    return found
  }
}

/** Parses a share from 0 to 1, also as a percentage. */
export function share(text: string): number {
  const [, number, percent] = /^(\d+(?:\.\d*)?|\.\d+)(\s*%)?$/.exec(text) ?? []
  const value = Number(number) / (percent === undefined ? 1 : 100)
  if (number === undefined || value > 1)
    throw new InvalidArgumentError('It must be a share from 0 to 1, such as 0.4 or 40%.')
  return value
}

/**
 * The provider and the model of a command line. Without `--provider`, `--model provider/model` names both and `--model provider/` the
 * provider alone.
 */
export function providerAndModel({
  provider,
  model,
}: {
  readonly provider?: string | undefined
  readonly model?: string | undefined
}): { readonly provider?: string; readonly model?: string } {
  const slash = provider === undefined && model !== undefined ? model.indexOf('/') : -1
  if (slash <= 0)
    return { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) }
  const rest = model!.slice(slash + 1)
  return { provider: model!.slice(0, slash), ...(rest !== '' && { model: rest }) }
}

type SystemPromptOptions = { readonly system?: string; readonly systemFile?: string }

/** The system prompt of a command line, if it has one. Throws the system's error for a file that cannot be read. */
export async function systemPromptOf(
  { system, systemFile }: SystemPromptOptions,
  cwd: string,
): Promise<string | undefined> {
  return systemFile === undefined ? system : readTextFile(cwd, systemFile)
}

/** The text of a file without a byte order mark. Throws the system's error with the path of the file. */
export async function readTextFile(cwd: string, path: string): Promise<string> {
  const file = resolve(cwd, path)
  try {
    return (await readFile(file, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    // The error for a folder has no path.
    throw Object.assign(error as Error, { path: file })
  }
}
