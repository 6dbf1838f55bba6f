import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
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
  const path = resolve(context.cwd, output)
  if (force !== true && existsSync(path)) throw isThere(output)
  // Nobody else reads what people said: as the store's own folder.
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`
  return new FileTarget(output, path, partial, await open(partial, 'wx', 0o600), force === true)
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
