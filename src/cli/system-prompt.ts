import { Option } from 'commander'
import { readTextFile } from './text-file.ts'

export type SystemPromptOptions = { readonly system?: string; readonly systemFile?: string }

/** `--system`, the same wherever a system prompt is given. `use` says what it is for. */
export function systemOption(use = ''): Option {
  return new Option('--system <text>', `the system prompt${use}`).conflicts('systemFile')
}

/** `--system-file`, likewise. */
export function systemFileOption(use = ''): Option {
  return new Option('--system-file <file>', `the system prompt, from a file${use}`)
}

/** The system prompt that was given, if one was. Throws what the file system says of a file. */
export async function systemPromptOf(
  { system, systemFile }: SystemPromptOptions,
  cwd: string,
): Promise<string | undefined> {
  return systemFile === undefined ? system : readTextFile(cwd, systemFile)
}
