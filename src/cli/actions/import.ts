import { resolve } from 'node:path'
import { openStore, type SqliteStore } from '../../store/open.ts'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { isFolder } from '../import/folder-files.ts'
import { type ImportCommandOptions, ImportRun, STANDARD_INPUT } from '../import/import-run.ts'
import { JsonTelling, TextTelling } from '../import/telling.ts'
import { isToBeMade } from '../open-at.ts'

/** Imports files, folders and the standard input one after the other; one that cannot be read does not keep the others out. */
export async function importFiles(
  context: Context,
  paths: readonly string[],
  options: ImportCommandOptions,
): Promise<number> {
  await refuseWrongUse(context, paths, options)
  const store = await storeFor(context, options)
  const telling = context.json ? new JsonTelling(context) : new TextTelling(context)
  const run = new ImportRun(context, store, options, telling)
  for (const path of paths) if (!(await run.take(path))) break
  await telling.end()
  return telling.exit
}

/** Throws `WRONG_USE`. */
async function refuseWrongUse(
  { cwd, input }: Context,
  paths: readonly string[],
  { session }: ImportCommandOptions,
): Promise<void> {
  const isOnlyFile =
    paths.length === 1 && (paths[0] === STANDARD_INPUT || !(await isFolder(resolve(cwd, paths[0]!))))
  if (session !== undefined && !isOnlyFile)
    throw new CliError('WRONG_USE', '--session names one session, so there can be one file only.', {
      hint: 'Give --prefix to tell the sessions of several files from others.',
    })
  const streams = paths.filter((path) => path === STANDARD_INPUT).length
  if (streams > 1)
    throw new CliError('WRONG_USE', 'There is one standard input, so - can stand once only.', {
      hint: './- is a file of that name.',
    })
  if (streams > 0 && input.isTTY === true)
    throw new CliError('WRONG_USE', 'Nothing is piped into the standard input: it is the terminal.', {
      hint: 'Pipe something in, as in `cat talk.jsonl | undertext import -`, or name a file.',
    })
}

/** The store; a dry run makes none, and holds the files against nothing where there is none. */
async function storeFor(context: Context, { dryRun }: ImportCommandOptions): Promise<SqliteStore> {
  if (dryRun !== true) return context.open('write')
  const isNone = await isToBeMade(context.location.path)
  return isNone ? openStore(':memory:', { env: false }) : context.open('read')
}
