import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, link, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import type { ExportCommandOptions } from './export-format.ts'

/** Where an export goes. A file appears under its name when all of it is there, and only then. */
export type Target = {
  /** Bytes written so far. */
  readonly bytes: number
  write(text: string): Promise<void>
  finish(): Promise<void>
  discard(): Promise<void>
}

export async function openTarget(
  context: Context,
  { output, force }: Pick<ExportCommandOptions, 'output' | 'force'>,
): Promise<Target> {
  if (output === undefined) return new OutputTarget(context)
  if (output === '') throw new CliError('WRONG_USE', '-o needs the name of a file.')
  const given = resolve(context.cwd, output)
  const there = await statOf(given)
  if (there?.isDirectory() === true)
    throw new CliError('WRONG_USE', `${output} is a folder.`, { hint: 'Name a file within it.' })
  // A device or a pipe takes what it is given; to put a file in its place would take it from everybody.
  if (there?.isFile() === false) return new DeviceTarget(await open(given, 'w'))
  if (there !== undefined && force !== true) throw isThere(output)
  // What a link points at is replaced, not the link.
  const path = there === undefined ? given : await realpath(given)
  await refuseStore(context, path, output)
  // Nobody else reads what people said: as the store's own folder.
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`
  return new FileTarget(output, path, partial, await opened(partial, output), force === true)
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** An export in the place of the store it is of would be the end of both. */
async function refuseStore({ location }: Context, path: string, output: string): Promise<void> {
  const store = await realpath(location.path)
  if ([store, `${store}-wal`, `${store}-shm`].includes(path))
    throw new CliError('WRONG_USE', `${output} is the store itself.`, { hint: 'Name another file.' })
}

/** Opens a file anew; what is said of a failure names the file that was asked for. */
async function opened(partial: string, output: string): Promise<FileHandle> {
  try {
    return await open(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new CliError('NOT_THERE', `The folder of ${output} is not there.`)
    throw Object.assign(error as Error, { path: output })
  }
}

function isThere(output: string): CliError {
  return new CliError('WRONG_USE', `There is a file ${output} already.`, {
    hint: 'Give --force to replace it.',
  })
}

/** Characters gathered before they are written. */
const CHUNK = 64 * 1024

class OutputTarget implements Target {
  readonly #context: Context
  bytes = 0

  constructor(context: Context) {
    this.#context = context
  }

  async write(text: string): Promise<void> {
    this.bytes += Buffer.byteLength(text)
    await this.#context.pour(text)
  }

  async finish(): Promise<void> {}

  async discard(): Promise<void> {}
}

/** A device or a named pipe. What it was given cannot be taken back. */
class DeviceTarget implements Target {
  readonly #file: FileHandle
  bytes = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  async write(text: string): Promise<void> {
    const data = Buffer.from(text)
    this.bytes += data.length
    await this.#file.writeFile(data)
  }

  finish(): Promise<void> {
    return this.#file.close()
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined)
  }
}

class FileTarget implements Target {
  readonly #name: string
  readonly #path: string
  readonly #partial: string
  readonly #file: FileHandle
  readonly #replaces: boolean
  #waiting = ''
  bytes = 0

  constructor(name: string, path: string, partial: string, file: FileHandle, replaces: boolean) {
    this.#name = name
    this.#path = path
    this.#partial = partial
    this.#file = file
    this.#replaces = replaces
  }

  async write(text: string): Promise<void> {
    this.#waiting += text
    if (this.#waiting.length >= CHUNK) await this.#flush()
  }

  async #flush(): Promise<void> {
    const data = Buffer.from(this.#waiting)
    this.#waiting = ''
    this.bytes += data.length
    await this.#file.writeFile(data)
  }

  async finish(): Promise<void> {
    await this.#flush()
    await this.#file.sync()
    await this.#file.close()
    if (this.#replaces) return rename(this.#partial, this.#path)
    try {
      // A link refuses what a rename would replace: somebody may have made the file meanwhile.
      await link(this.#partial, this.#path)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST') throw isThere(this.#name)
      // File systems without links.
      return rename(this.#partial, this.#path)
    }
    await unlink(this.#partial)
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined)
    await unlink(this.#partial).catch(() => undefined)
  }
}
