import { check } from '../../core/messages/check.ts'
import type { ForgottenNote, Note } from '../../storage/storage.ts'
import { checkId } from '../arguments.ts'
import {
  type AddNoteOptions,
  addNote,
  type ForgetNoteOptions,
  forgetNoteSchema,
  type ListedNote,
  type ListNotesOptions,
  listNotes,
} from '../notes.ts'
import type { Services } from '../services.ts'

/** Short texts stored alongside the log, for a session or an owner. */
export class Notes {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Stores a note for a session, or for an owner, whose notes apply to all of the owner's sessions. Returns the note. A note with a `key`
   * replaces the current note with that key; the replaced note stays stored and is no longer recalled, and an equal note isn't written
   * again. A text has at most 20,000 characters. Throws `MESSAGE_NOT_FOUND` for an unknown `source`.
   */
  async add(text: string, options: AddNoteOptions): Promise<Note> {
    return addNote(this.#services.context, text, options)
  }

  /**
   * Returns notes. Without a `query`, the newest come first; with a `query`, only notes that contain its words are returned, best first.
   * Notes of a session are returned together with those of its owner. Considers the newest 128 notes (the setting `maxNotes`) of the
   * session and of the owner; with `all`, also replaced and forgotten ones, up to 10,000.
   */
  async list(options: ListNotesOptions): Promise<ListedNote[]> {
    return listNotes(this.#services.context, options)
  }

  /**
   * Takes a note out of use: it stays stored and is no longer recalled. With `purge: true` its text is removed permanently, along with the
   * earlier notes with its key, and the files are cleared as by `sessions.purge`. Only ids stay in the audit. Throws `NOTE_NOT_FOUND`.
   */
  async forget(noteId: string, options: ForgetNoteOptions = {}): Promise<ForgottenNote> {
    const { purge, actor, reason } = check(forgetNoteSchema, options, 'notes.forget')
    return this.#services.context.storage.notes.forget(checkId(noteId, 'noteId'), { purge, actor, reason })
  }
}
