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

/** Parses a whole number from `least` up. */
export function wholeNumber(least = 0): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
      throw new InvalidArgumentError(`It must be a whole number from ${least} up.`)
    return value
  }
}

/** Parses an option that may be repeated, or given several values with commas. */
export function listed(text: string, before: readonly string[] = []): string[] {
  const found = text.split(',').filter((value) => value !== '')
  if (found.length === 0) throw new InvalidArgumentError('It names nothing.')
  return [...before, ...found]
}

/** Collects an option that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** The same as `listed`, limited to some names. */
export function listedOf(names: readonly string[]): typeof listed {
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

/** An option with a value from a list. */
export function choice(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, description).choices(values)
}

export type SystemPromptOptions = { readonly system?: string; readonly systemFile?: string }

/** `--system`. `use` continues its description. */
export function systemOption(use = ''): Option {
  return new Option('--system <text>', `the system prompt${use}`).conflicts('systemFile')
}

/** `--system-file`. */
export function systemFileOption(use = ''): Option {
  return new Option('--system-file <file>', `the system prompt, from a file${use}`)
}

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
