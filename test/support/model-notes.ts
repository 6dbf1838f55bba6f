import { UndertextError } from '../../src/core/errors.ts'
import { canonicalJson, defined } from '../../src/core/messages/json.ts'
import type { Session } from '../../src/storage/sessions.ts'
import {
  type Authorship,
  type ForgetRequest,
  type ForgottenNote,
  type NewNote,
  type Note,
  type NoteQuery,
  type NoteScope,
  type Notes,
  newestFirst,
} from '../../src/storage/storage.ts'

/** The notes of a store as one list, oldest first: which of them are in use is worked out at every call. */
export class ModelNotes implements Notes {
  readonly #purged = new Set<string>()
  readonly #notes: { note: Note; isForgotten: boolean }[] = []
  readonly #sessionOf: (id: string, owner?: string) => Session
  readonly #requireMessage: (sessionId: string, messageId: string) => void

  constructor(
    sessionOf: (id: string, owner?: string) => Session,
    requireMessage: (sessionId: string, messageId: string) => void,
  ) {
    this.#sessionOf = sessionOf
    this.#requireMessage = requireMessage
  }

  remember(scope: NoteScope, { id, text, ...given }: NewNote, { actor }: Authorship): Note {
    if (given.source !== undefined && 'owner' in scope) this.#sessionOf(given.source.sessionId, scope.owner)
    if (given.source !== undefined) this.#requireMessage(given.source.sessionId, given.source.messageId)
    const whose = 'session' in scope ? { sessionId: this.#sessionOf(scope.session).id } : scope
    const { key } = given
    const former = this.#all(scope).find(
      (one) => one.state === 'current' && key !== undefined && one.key === key,
    )
    const facts = ({ text, metadata, source }: Pick<Note, 'text' | 'metadata' | 'source'>): string =>
      canonicalJson(defined({ text, metadata, source }))
    const note: Note = {
      id,
      ...whose,
      text,
      ...defined({ ...given, actor }),
      createdAt: Date.now(),
      state: 'current',
    }
    if (former !== undefined && facts(former) === facts(note)) return former
    this.#notes.push({ note, isForgotten: false })
    return note
  }

  list(scope: NoteScope, { limit, all, key }: NoteQuery): Note[] {
    const owner = 'session' in scope ? this.#sessionOf(scope.session).owner : undefined
    const each = owner === undefined ? [scope] : [scope, { owner }]
    const found = each.flatMap((one) =>
      this.#all(one)
        .filter((note) => (all || note.state === 'current') && (key === undefined || note.key === key))
        .slice(0, limit),
    )
    return newestFirst(found)
  }

  forget(noteId: string, { purge }: ForgetRequest): ForgottenNote {
    const found = this.#notes.find(({ note }) => note.id === noteId)
    if (found === undefined && this.#purged.has(noteId)) return { changed: false, removed: 0 }
    if (found === undefined) throw new UndertextError('NOTE_NOT_FOUND', { noteId })
    const scope =
      found.note.owner === undefined ? { session: found.note.sessionId! } : { owner: found.note.owner }
    const versions = this.#all(scope)
    const at = versions.findIndex(({ id }) => id === noteId)
    const { key, state } = versions[at]!
    if (!purge) {
      if (state !== 'current') return { changed: false, removed: 0 }
      found.isForgotten = true
      return { changed: true, removed: 0 }
    }
    const removed = versions
      .slice(at)
      .filter((one) => one.id === noteId || (key !== undefined && one.key === key))
    for (const { id } of removed) this.#purged.add(id)
    this.#drop(({ id }) => removed.some((one) => one.id === id))
    return { changed: true, removed: removed.length }
  }

  purgeSession(id: string): void {
    this.#drop(({ sessionId }) => sessionId === id)
  }

  #drop(test: (note: Note) => boolean): void {
    const kept = this.#notes.filter(({ note }) => !test(note))
    this.#notes.splice(0, this.#notes.length, ...kept)
  }

  /** The notes of a session or an owner, newest first. One is replaced when a later one of its key came while it was in use. */
  #all(scope: NoteScope): Note[] {
    const own = this.#notes.filter(({ note }) =>
      'session' in scope ? note.sessionId === scope.session : note.owner === scope.owner,
    )
    return own
      .map(({ note, isForgotten }, at): Note => {
        const isReplaced = own
          .slice(at + 1)
          .some((later) => note.key !== undefined && later.note.key === note.key)
        return { ...note, state: isForgotten ? 'forgotten' : isReplaced ? 'replaced' : 'current' }
      })
      .reverse()
  }
}
