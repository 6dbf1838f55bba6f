import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { UndertextError } from '../core/errors.ts'
import type { CompactionEvent, FieldsEvent, MessageEvent } from '../store/history/import/import-types.ts'

/** The number of bytes per read. Blocks are always complete, so that every reading is divided at the same places. */
const BLOCK_BYTES = 256 * 1024

/** Opening a pipe without a writer would block forever before it can be recognized as a pipe. */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** A file that is read more than once, up to its size when it was opened, with a hash of the bytes read. */
export class FileInput implements Input {
  readonly name: string
  readonly folder: string
  readonly size: number
  readonly #path: string
  readonly #handle: FileHandle
  /** Called before each block, with its end. */
  onBlock: (bytes: number) => void = () => undefined
  // State of the newest reading.
  #offset = 0
  #hash: Hash = createHash('sha256')

  private constructor(path: string, handle: FileHandle, size: number, whole: string) {
    this.#path = path
    this.#handle = handle
    this.name = basename(whole)
    this.folder = basename(dirname(whole))
    this.size = size
  }

  /** Returns an open file without a meaningful name; `called` is its name in errors. The file is closed with the returned object. */
  static async fromHandle(handle: FileHandle, called: string): Promise<FileInput> {
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
        throw unreadable(path, stats.isDirectory() ? 'it is a folder.' : 'it is not a regular file.')
      return new FileInput(path, handle, stats.size, resolve(path))
    } catch (error) {
      await handle?.close()
      throw error instanceof UndertextError ? error : unreadable(path, whyOf(error))
    }
  }

  /** Throws `FILE_UNREADABLE`, and `FILE_CHANGED` if the file has become shorter. */
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

  async readSibling(name: string, maxBytes: number): Promise<string | undefined> {
    if (this.name === '') return undefined
    try {
      const input = await FileInput.open(join(dirname(resolve(this.#path)), name), false)
      const { size } = input
      try {
        return size > maxBytes ? undefined : (await input.#block(0, size)).toString('utf8')
      } finally {
        await input.close()
      }
    } catch {
      return undefined
    }
  }

  /** Returns the SHA-256, in hexadecimal, of what the newest reading has read so far. */
  digest(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Returns a mark for what the newest reading has read so far. Equal bytes have equal marks. */
  mark(): string {
    return `${this.#offset}:${this.digest()}`
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
  ['EACCES', 'permission denied.'],
  ['EPERM', 'permission denied.'],
  ['EISDIR', 'it is a folder.'],
  // The path became a link between the check and the opening.
  ['ELOOP', IS_LINK],
])

function whyOf(error: unknown): string {
  const code = error instanceof Error ? (error as { readonly code?: unknown }).code : undefined
  return REASONS.get(code) ?? (typeof code === 'string' ? `the system reported ${code}.` : 'it failed.')
}

function unreadable(file: string, detail: string): UndertextError<'FILE_UNREADABLE'> {
  return new UndertextError('FILE_UNREADABLE', { file, detail })
}

/*
 * A source reads one kind of foreign files. It reads the bytes of one file and yields its contents in order: conversations, their import
 * events (src/store/history/import/import-types.ts), each with its place, and problems. It writes nothing, has bounded memory, and yields
 * the same events for the same bytes, because an import reads a file twice, once to check it and once to store it.
 */

/** The recognized kinds of files. */
export const SOURCE_NAMES = [
  'undertext',
  'claude-code',
  'pi',
  'cline',
  'roo',
  'chatgpt',
  'claude',
  'openai',
  'anthropic',
  'messages',
] as const
/** The name of a kind of file. */
export type SourceName = (typeof SOURCE_NAMES)[number]

/** A place in a file. Lines, columns and elements count from 1. */
export type Place = {
  readonly line?: number
  /** The column in the line where it begins, if the line holds several values. */
  readonly column?: number
  /** The element of the file's outermost list, or the message of its conversation. */
  readonly element?: number
}

/** The beginning of a conversation. The events up to the next conversation belong to it. */
export type ConversationEvent = {
  readonly type: 'conversation'
  readonly at: Place
  /** The id in its own system; if absent, the conversation is named after its file. */
  readonly id?: string
  /** An alternative id if another conversation has the id. It is given for short ids, and for ids from file names. */
  readonly otherwise?: string
  /** For an abandoned branch, the id of the conversation that it branched from. */
  readonly branchOf?: string
}

/** A message of the file. In a new session, the nth message event of a conversation becomes position n. */
export type PlacedMessage = MessageEvent & {
  readonly at: Place
  /** For a message of an unknown form, which is stored and never sent: the names of its fields. */
  readonly unread?: readonly string[]
  /** Whether an agent added it with the user's role, so that the user didn't type it. */
  readonly added?: boolean
}

/** The note for a message that can't be read, and is therefore stored but never sent. */
export const UNKNOWN_FORM = 'a message of an unknown form'

/** Returns the names of an object's fields that describe its form. They are identifiers, so they contain no text of a conversation. */
export function fieldNames(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.keys(value)
    .filter((name) => /^[a-z][a-z_A-Z]{0,29}$/.test(name))
    .slice(0, 12)
}

/** A compaction of the file. */
export type PlacedCompaction = CompactionEvent & { readonly at: Place }

/**
 * Something that was repaired, omitted, or stored without being interpreted; the import continues. It contains places and rules, never
 * content.
 */
export type NoteEvent = {
  readonly type: 'note'
  readonly at: Place
  /**
   * What happened: `mended` (repaired), `left-out`, `torn` (a line that the agent didn't finish, omitted), `kept` (stored, never sent),
   * `branch` (a branch other than the current one).
   */
  readonly kind: 'mended' | 'left-out' | 'torn' | 'kept' | 'branch'
  readonly why: string
}

/** An unreadable place. The source continues after it, and the import decides whether to store the conversation. */
export type ProblemEvent = { readonly type: 'problem'; readonly at: Place; readonly why: string }

export type SourceEvent =
  | ConversationEvent
  | FieldsEvent
  | PlacedMessage
  | PlacedCompaction
  | NoteEvent
  | ProblemEvent

/** The bytes of a file, which can be read from the beginning several times. */
export type Input = {
  /**
   * The file's name without its folder, and the name of the folder. In some systems they are the id of a conversation. Both are empty for
   * bytes that don't come from a file.
   */
  readonly name: string
  readonly folder: string
  /** The number of bytes to read. */
  readonly size: number
  /** Yields the bytes from 0 to `size`. */
  bytes(): AsyncIterable<Uint8Array>
  /** Returns the text of another file in the same folder; `undefined` if it can't be read, is a link, or is larger than `maxBytes`. */
  readSibling?(name: string, maxBytes: number): Promise<string | undefined>
}

export type ReadOptions = {
  /** Whether other branches become separate conversations (with `branchOf`), or only a note. */
  readonly branches: boolean
}

/**
 * The beginning of a file, for detection: the JSON values that are complete within the first 256 KB, and the beginning of an object's
 * messages if they begin later.
 */
export type Head = {
  /** The file's name without its folder; empty for bytes that don't come from a file. */
  readonly name: string
  /** `lines`: one JSON value per line. `list`: one list. `object`: one object. */
  readonly shape: 'lines' | 'list' | 'object'
  /** The first values (lines, or elements of the list), or the readable fields of the object. */
  readonly values: readonly unknown[]
}

export type Source = {
  readonly name: SourceName
  /** The name for people: "a session of Claude Code". */
  readonly title: string
  recognizes(head: Head): boolean
  /** Returns a description of a file from the same system that contains no conversation; `undefined` for any other file. */
  describeOther?(head: Head): string | undefined
  read(input: Input, options: ReadOptions): AsyncIterable<SourceEvent>
}
