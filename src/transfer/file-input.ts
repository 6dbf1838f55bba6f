import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { UndertextError } from '../errors.ts'
import type { Input } from './source.ts'

/** Bytes read at once. Blocks are always whole, so that every reading is cut at the same places. */
const BLOCK_BYTES = 256 * 1024

/** A pipe nobody writes to would be waited for without end before it can be seen that it is one. */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** A file that is read more than once, as far as it went when it was opened, and that knows what it has read. */
export class FileInput implements Input {
  readonly name: string
  readonly folder: string
  readonly size: number
  readonly #path: string
  readonly #handle: FileHandle
  /** Called before each block, with where it ends. */
  onBlock: (bytes: number) => void = () => undefined
  // The reading that began last.
  #offset = 0
  #hash: Hash = createHash('sha256')

  private constructor(path: string, handle: FileHandle, size: number, whole: string) {
    this.#path = path
    this.#handle = handle
    this.name = basename(whole)
    this.folder = basename(dirname(whole))
    this.size = size
  }

  /** A file that is open and whose name says nothing; errors call it `called`. It is closed with this. */
  static async nameless(handle: FileHandle, called: string): Promise<FileInput> {
    const { size } = await handle.stat()
    return new FileInput(called, handle, size, '')
  }

  /** Throws `FILE_UNREADABLE`. */
  static async open(path: string, followLinks = true): Promise<FileInput> {
    let handle: FileHandle | undefined
    try {
      if (!followLinks && (await lstat(path)).isSymbolicLink()) throw unreadable(path, IS_LINK)
      handle = await open(path, followLinks ? READ_AT_ONCE : READ_AT_ONCE | (constants.O_NOFOLLOW ?? 0))
      const stats = await handle.stat()
      if (!stats.isFile())
        throw unreadable(path, stats.isDirectory() ? 'it is a folder.' : 'it is no regular file.')
      return new FileInput(path, handle, stats.size, resolve(path))
    } catch (error) {
      await handle?.close()
      throw error instanceof UndertextError ? error : unreadable(path, whyOf(error))
    }
  }

  /** Throws `FILE_UNREADABLE`, and `FILE_CHANGED` when the file has become shorter. */
  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    const hash = createHash('sha256')
    this.#hash = hash
    this.#offset = 0
    let offset = 0
    while (offset < this.size) {
      const block = await this.#block(offset, Math.min(BLOCK_BYTES, this.size - offset))
      offset += block.length
      hash.update(block)
      if (this.#hash === hash) this.#offset = offset
      this.onBlock(offset)
      yield block
    }
  }

  /** What the reading that began last has read so far: equal for equal bytes. */
  mark(): string {
    return `${this.#offset}:${this.#hash.copy().digest('hex')}`
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  async #block(from: number, length: number): Promise<Buffer> {
    const block = Buffer.allocUnsafe(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await this.#read(block, filled, from + filled)
      if (bytesRead === 0) throw new UndertextError('FILE_CHANGED', { file: this.#path, imported: 0 })
      filled += bytesRead
    }
    return block
  }

  async #read(block: Buffer, at: number, from: number): Promise<{ readonly bytesRead: number }> {
    try {
      return await this.#handle.read(block, at, block.length - at, from)
    } catch (error) {
      throw unreadable(this.#path, whyOf(error))
    }
  }
}

const IS_LINK = 'it is a symbolic link.'

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such file.'],
  ['ENOTDIR', 'there is no such file.'],
  ['EACCES', 'it is not allowed.'],
  ['EPERM', 'it is not allowed.'],
  ['EISDIR', 'it is a folder.'],
  // Made a link between the look and the opening.
  ['ELOOP', IS_LINK],
])

function whyOf(error: unknown): string {
  const code = error instanceof Error ? (error as { readonly code?: unknown }).code : undefined
  return REASONS.get(code) ?? (typeof code === 'string' ? `the system says ${code}.` : 'it failed.')
}

function unreadable(file: string, detail: string): UndertextError<'FILE_UNREADABLE'> {
  return new UndertextError('FILE_UNREADABLE', { file, detail })
}
