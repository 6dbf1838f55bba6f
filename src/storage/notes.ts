import type { JsonObject } from '../core/messages/json.ts'
import type { Awaitable } from './jobs.ts'
import type { Authorship, Redactions } from './sessions.ts'

/** The scope of a note: a session, or an owner, whose notes apply to all of the owner's sessions. */
export type NoteScope = { readonly session: string } | { readonly owner: string }

export const NOTE_STATES = ['current', 'replaced', 'forgotten'] as const
/** Whether a note is recalled. A note that was forgotten, or replaced by a later one with the same key, is not. */
export type NoteState = (typeof NOTE_STATES)[number]

/** The message that a note was taken from. */
export type NoteSource = { readonly sessionId: string; readonly messageId: string }

/** A note. It has either `sessionId` or `owner`. */
export type Note = {
  readonly id: string
  readonly sessionId?: string
  readonly owner?: string
  readonly key?: string
  readonly text: string
  readonly metadata?: JsonObject
  /** The message that it was taken from; its session may have been purged since. */
  readonly source?: NoteSource
  readonly actor?: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly state: NoteState
}

/** Sorts notes of several scopes, newest first. Within a millisecond of one process, the order of ids is the order of creation. */
export function newestFirst(notes: Note[]): Note[] {
  return notes.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
}

export type NewNote = {
  readonly id: string
  readonly text: string
  readonly key: string | undefined
  readonly metadata: JsonObject | undefined
  readonly source: NoteSource | undefined
  /** What was redacted in its text and metadata, for the audit. */
  readonly redacted?: Redactions
}

export type NoteQuery = {
  /** At most this many notes of the session, and as many of its owner; the newest are returned. */
  readonly limit: number
  /** Whether replaced and forgotten notes are included. */
  readonly all: boolean
  readonly key: string | undefined
}

/** The result of `forget`. */
export type ForgottenNote = {
  /** Whether the note was in use; with `purge`, whether it was stored. */
  readonly changed: boolean
  /** The number of notes whose text was removed permanently: the note and those that it replaced. */
  readonly removed: number
  /** Present if the removed text can still be found in the store's files, which are cleared later. */
  readonly filesCleared?: false
}

export type ForgetRequest = Authorship & { readonly purge: boolean }

/** Notes. Each method is one transaction, or two. */
export interface Notes {
  /**
   * Stores a note, which replaces the current note with the same key. An equal note isn't written again. Throws `SESSION_NOT_FOUND`, and
   * `MESSAGE_NOT_FOUND` for an unknown source.
   */
  remember(scope: NoteScope, note: NewNote, authorship: Authorship): Awaitable<Note>
  /** Returns notes, newest first; those of a session together with those of its owner. Throws `SESSION_NOT_FOUND`. */
  list(scope: NoteScope, query: NoteQuery): Awaitable<Note[]>
  /** Takes a note out of use, or removes its text permanently. A purged note stays purged. Throws `NOTE_NOT_FOUND` for an unknown note. */
  forget(noteId: string, request: ForgetRequest): Awaitable<ForgottenNote>
}
