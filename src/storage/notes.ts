import type { JsonObject } from '../core/messages/json.ts'
import type { Awaitable } from './jobs.ts'
import type { Authorship } from './sessions.ts'

/** Whose notes: those of a session, or those of an owner, which apply to all of its sessions. */
export type NoteScope = { readonly session: string } | { readonly owner: string }

export const NOTE_STATES = ['current', 'replaced', 'forgotten'] as const
/** Whether a note is recalled: not when a later one of the same key replaced it, and not when it was forgotten. */
export type NoteState = (typeof NOTE_STATES)[number]

/** The message that a note is from. */
export type NoteSource = { readonly sessionId: string; readonly messageId: string }

/** A note. It has either `sessionId` or `owner`. */
export type Note = {
  readonly id: string
  readonly sessionId?: string
  readonly owner?: string
  readonly key?: string
  readonly text: string
  readonly metadata?: JsonObject
  /** Its session may have been purged since. */
  readonly source?: NoteSource
  readonly actor?: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly state: NoteState
}

/** Sorts notes of several scopes. Of one millisecond and process, their ids are in the order of their creation. */
export function newestFirst(notes: Note[]): Note[] {
  return notes.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
}

export type NewNote = {
  readonly id: string
  readonly text: string
  readonly key: string | undefined
  readonly metadata: JsonObject | undefined
  readonly source: NoteSource | undefined
}

export type NoteQuery = {
  /** The newest so many of the session, and as many of its owner. */
  readonly limit: number
  /** Whether replaced and forgotten ones are included. */
  readonly all: boolean
  readonly key: string | undefined
}

/** What `forget` did. */
export type ForgottenNote = {
  /** Whether the note was in use, or stored in the case of `purge`. */
  readonly changed: boolean
  /** The number of notes whose text was removed for good: of the note, and of those that it replaced. */
  readonly removed: number
  /** Present when the removed text can still be found in the files: they are cleared later. */
  readonly filesCleared?: false
}

export type ForgetRequest = Authorship & { readonly purge: boolean }

/** Notes. Each method is one transaction, or two. */
export interface Notes {
  /**
   * Stores a note; the current one of the same key is replaced. One that equals it is not written again. Throws `SESSION_NOT_FOUND`,
   * and `MESSAGE_NOT_FOUND` for an unknown source.
   */
  remember(scope: NoteScope, note: NewNote, authorship: Authorship): Awaitable<Note>
  /** Newest first; those of a session together with those of its owner. Throws `SESSION_NOT_FOUND`. */
  list(scope: NoteScope, query: NoteQuery): Awaitable<Note[]>
  /** Takes a note out of use, or removes its text for good. One that was purged stays so. Throws `NOTE_NOT_FOUND` for an unknown one. */
  forget(noteId: string, request: ForgetRequest): Awaitable<ForgottenNote>
}
