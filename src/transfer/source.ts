import type { CompactionEvent, FieldsEvent, MessageEvent } from '../history/import/import-types.ts'

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
