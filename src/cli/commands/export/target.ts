import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, link, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../command.ts'
import { CliError } from '../../errors.ts'

/** Where an export is written. A file appears under its name only when it is complete. */
export type Target = {
  write(text: string): Promise<void>
  finish(): Promise<void>
  discard(): Promise<void>
}

/** Opens a file, a device or, without a name, the standard output. */
export async function openTarget(
  context: Context,
  output: string | undefined,
  force: boolean,
): Promise<Target> {
  if (output === undefined)
    return { write: (text) => context.pour(text), finish: async () => {}, discard: async () => {} }
  if (output === '') throw new CliError('WRONG_USE', '-o needs the name of a file.')
  const given = resolve(context.cwd, output)
  const found = await statOf(given)
  if (found?.isDirectory() === true)
    throw new CliError('WRONG_USE', `${output} is a folder.`, { hint: 'Name a file within it.' })
  // A device or a named pipe must not be replaced by a file.
  if (found?.isFile() === false) return deviceTarget(await open(given, 'w'))
  if (found !== undefined && !force) throw existsAlready(output)
  // The target of a link is replaced, not the link.
  const path = found === undefined ? given : await realpath(given)
  const store = context.location.url === undefined ? await realpath(context.location.path) : undefined
  if (store !== undefined && [store, `${store}-wal`, `${store}-shm`].includes(path))
    throw new CliError('WRONG_USE', `${output} is the store itself.`, { hint: 'Name another file.' })
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`
  return fileTarget(output, path, partial, await createFile(partial, output), force)
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Creates a file that only its owner may read, as the store's folder is. An error names the requested file. */
async function createFile(partial: string, output: string): Promise<FileHandle> {
  try {
    return await open(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new CliError('NOT_THERE', `The folder of ${output} does not exist.`)
    throw Object.assign(error as Error, { path: output })
  }
}

function existsAlready(output: string): CliError {
  return new CliError('WRONG_USE', `There is a file ${output} already.`, {
    hint: 'Give --force to replace it.',
  })
}

function deviceTarget(file: FileHandle): Target {
  return {
    write: (text) => file.writeFile(text),
    finish: () => file.close(),
    // What a device received cannot be undone.
    discard: () => file.close().catch(() => undefined),
  }
}

function fileTarget(output: string, path: string, partial: string, file: FileHandle, force: boolean): Target {
  return {
    write: (text) => file.writeFile(text),
    async finish() {
      await file.sync()
      await file.close()
      if (force) return rename(partial, path)
      try {
        // Unlike a rename, a link fails if another program has created the file meanwhile.
        await link(partial, path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existsAlready(output)
        // The file system has no links.
        return rename(partial, path)
      }
      await unlink(partial)
    },
    async discard() {
      await file.close().catch(() => undefined)
      await unlink(partial).catch(() => undefined)
    },
  }
}
