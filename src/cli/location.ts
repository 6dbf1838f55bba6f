import { join, resolve } from 'node:path'
import { CliError } from './cli-error.ts'
import type { Context } from './command.ts'
import type { Io } from './io.ts'

/** Where the store is. An empty variable says nothing. Throws `WRONG_USE` for an empty `--db`. */
export async function locate(io: Io, option: string | undefined): Promise<Context['location']> {
  if (option === '') throw new CliError('WRONG_USE', '--db names no file.')
  if (option !== undefined) return { path: resolve(io.cwd, option), from: 'option' }
  const variable = io.env.UNDERTEXT_DB ?? ''
  if (variable !== '') return { path: resolve(io.cwd, variable), from: 'environment' }
  return { path: join(await io.dataFolder(), 'undertext.db'), from: 'default' }
}

/** Who said so, for people. */
export const LOCATED_BY: { readonly [from in Context['location']['from']]: string } = {
  option: '--db',
  environment: 'UNDERTEXT_DB',
  default: 'the default place',
}
