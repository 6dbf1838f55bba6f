import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { UndertextError } from '../errors.ts'
import type { CompactionEvent, FieldsEvent, MessageEvent } from '../history/import/import-types.ts'

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

/*
 * What reads a kind of foreign files. A source reads the bytes of one file and tells, in order, what stands in it: conversations, the
 * events an import takes of them (src/history/import/import-event.ts), each with its place, and what is wrong with a place. It writes nothing, holds no more than it must,
 * and tells the same events each time it reads the same bytes: an import reads a file twice, once to check it and once to write.
 */

/** The kinds of files that are recognised. */
export const SOURCE_NAMES = [
  'undertext',
  'claude-code',
  'pi',
  'roo',
  'chatgpt',
  'claude',
  'openai',
  'anthropic',
  'messages',
] as const
export type SourceName = (typeof SOURCE_NAMES)[number]

/** Where something stands in its file. Lines and elements count from 1. */
export type Place = {
  readonly line?: number
  /** The element of the file's outermost list, or the message of its conversation. */
  readonly element?: number
}

/** A conversation begins; what follows belongs to it, up to the next one. */
export type ConversationEvent = {
  readonly type: 'conversation'
  readonly at: Place
  /** What its own system calls it. Absent: it is called after its file. */
  readonly id?: string
  /** What it is called where a session of that id is another conversation: for ids that are short, or told by the name of a file. */
  readonly otherwise?: string
  /** For a branch that its own system had left: the id of the conversation it parted from. */
  readonly branchOf?: string
}

/** A message as it stands in the file. In a new session the nth message event of a conversation becomes position n. */
export type PlacedMessage = MessageEvent & { readonly at: Place }

/** A compaction as it stands in the file. */
type PlacedCompaction = CompactionEvent & { readonly at: Place }

/** Something that was mended, left out or kept unread; the import goes on. Names places and rules, never what somebody said. */
export type NoteEvent = {
  readonly type: 'note'
  readonly at: Place
  /** What happened to it: `mended`, `left-out`, `kept` (stored, sent nowhere), `branch` (a branch that is not the current one). */
  readonly kind: 'mended' | 'left-out' | 'kept' | 'branch'
  readonly why: string
}

/** A place that cannot be read. The source goes on behind it; whether the conversation is stored is not its business. */
type ProblemEvent = { readonly type: 'problem'; readonly at: Place; readonly why: string }

export type SourceEvent =
  | ConversationEvent
  | FieldsEvent
  | PlacedMessage
  | PlacedCompaction
  | NoteEvent
  | ProblemEvent

/** The bytes of a file, to be read from the beginning as often as asked. */
export type Input = {
  /**
   * The file's name without its folder, and the folder's own name: some systems keep what a conversation is called there. Both are empty for
   * bytes that come from no file.
   */
  readonly name: string
  readonly folder: string
  /** Bytes there are, as far as they are read. */
  readonly size: number
  /** From byte 0 to `size`. */
  bytes(): AsyncIterable<Uint8Array>
}

export type ReadOptions = {
  /** Whether branches that are not the current one are told as conversations of their own (with `branchOf`), or as a note. */
  readonly branches: boolean
}

/**
 * The beginning of a file, by which its kind is told: the first JSON values in it that are whole within the first 256 KB. Of an object whose
 * messages begin behind that, their beginning as well.
 */
export type Head = {
  /** The file's name without its folder; empty for bytes that come from no file. */
  readonly name: string
  /** `lines`: a JSON value a line. `list`: one list. `object`: one object. */
  readonly shape: 'lines' | 'list' | 'object'
  /** The first values (lines, or elements of the list), or the keys of the object with what could be read of it. */
  readonly values: readonly unknown[]
}

export type Source = {
  readonly name: SourceName
  /** For people: "a session of Claude Code". */
  readonly title: string
  recognises(head: Head): boolean
  /** What it is, for a file of the same system that holds no conversation; `undefined` for any other. */
  isBeside?(head: Head): string | undefined
  read(input: Input, options: ReadOptions): AsyncIterable<SourceEvent>
}
