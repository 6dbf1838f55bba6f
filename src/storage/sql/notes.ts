import { invalid, UndertextError } from '../../core/errors.ts'
import { canonicalJson, defined, type JsonObject, stringifyJson } from '../../core/messages/json.ts'
import { isSeen } from '../owners.ts'
import {
  type Authorship,
  type ForgetRequest,
  type ForgottenNote,
  type NewNote,
  type Note,
  type NoteQuery,
  type NoteScope,
  newestFirst,
} from '../storage.ts'
import { writeAudit } from './audit.ts'
import { insertInto, NOTE, NOTE_COLUMNS } from './columns.ts'
import { parseStoredObject, parseStoredText, storedNumber, storedText } from './content-codec.ts'
import { requireMessages } from './pins.ts'
import { requireHead, sessionOf } from './sessions.ts'
import { erasing, outside, type Row, reading, type Sql } from './sql.ts'
import type { Work } from './work.ts'

/*
 * Notes are numbered within their session or owner, and the number is part of the primary key. If two writers in PostgreSQL take the same
 * number, the second one retries, so that only one note with a given `key` is current.
 */

const INSERT = insertInto('undertext_notes', NOTE_COLUMNS)
const CURRENT = 'n.replaced_by is null and n.forgotten_at is null'
const FROM = 'from undertext_notes n where {family n} n.session = ? and n.owner = ?'

/** The location of the notes of a scope: the number of its session, or 0 for an owner. */
type Place = { readonly session: number; readonly owner: string; readonly scope: NoteScope }
type StoredNote = Note & { readonly no: number }
/** A scope, and the owner of its session if that is known. */
type Found = NoteScope & { readonly ofSession?: string | null }

/** Throws `SESSION_NOT_FOUND`. */
function* enterScope(sql: Sql, scope: Found): Work<Place> {
  if ('session' in scope) {
    const { session: id, ofSession } = scope
    const { no } = yield* ofSession === undefined ? requireHead(sql, id) : sessionOf(sql, id, ofSession)
    return { session: no, owner: '', scope }
  }
  if (!isSeen(sql.seen, scope)) throw invalid('notes: the store of an owner has no notes of another')
  yield* sql.enterOwner(scope.owner)
  return { session: 0, owner: scope.owner, scope }
}

export function* remember(sql: Sql, scope: NoteScope, note: NewNote, authorship: Authorship): Work<Note> {
  const { key, source } = note
  if (source !== undefined) yield* requireMessages(sql, source.sessionId, [source.messageId])
  return yield* sql.write('notes.add', function* () {
    const place = yield* enterScope(sql, scope)
    const { session, owner } = place
    // The number is read first, so that a writer that adds a note after this read takes the same number and retries.
    const last = (yield* sql.get(`select coalesce(max(n.no), 0) ${FROM}`, session, owner))![0] as number
    const former = key === undefined ? undefined : yield* oneNote(sql, place, `n.key = ? and ${CURRENT}`, key)
    if (former !== undefined && isSame(former, note)) return withoutNumber(former)
    const no = last + 1
    const createdAt = Date.now()
    const { actor, reason } = authorship
    if (former !== undefined)
      yield* sql.run(
        'update undertext_notes set replaced_by = ? where {family} session = ? and owner = ? and no = ?',
        ...[no, session, owner, former.no],
      )
    const from = { sourceSession: source?.sessionId, source: source?.messageId }
    yield* sql.run(INSERT, session, owner, ...NOTE.write({ ...note, ...from, no, actor, createdAt }))
    const { redacted } = note
    const detail = defined({ noteId: note.id, replaces: former?.id, reason, redacted })
    yield* recordEvent(sql, place, 'remembered', { actor, detail })
    return {
      ...{ id: note.id, ...scopeOf(scope) },
      ...defined({ key }),
      text: note.text,
      ...defined({ metadata: note.metadata, source, actor }),
      ...{ createdAt, state: 'current' },
    }
  })
}

function isSame(former: Note, { text, metadata, source }: NewNote): boolean {
  const facts = (note: Pick<Note, 'text' | 'metadata' | 'source'>): string =>
    canonicalJson([note.text, note.metadata ?? null, note.source ?? null])
  return facts(former) === facts({ text, ...defined({ metadata, source }) })
}

/** Writes an entry of the audit: for a session, or for none, like the receipt of a purge. */
function* recordEvent(
  sql: Sql,
  { session }: Place,
  event: 'remembered' | 'forgotten',
  { actor, detail }: { readonly actor: string | undefined; readonly detail: JsonObject },
): Work<void> {
  yield* writeAudit(sql, session, { event, actor, detail })
  if (session === 0) return
  yield* sql.run('update undertext_sessions set version = version + 1 where {family} no = ?', session)
}

export const listNotes = reading('notes.list', function* (sql: Sql, scope: NoteScope, query: NoteQuery): Work<
  Note[]
> {
  const place = yield* enterScope(sql, scope)
  const own = yield* notesAt(sql, place, query)
  if (place.session === 0) return own
  const row = yield* sql.get('select owner from undertext_sessions where {family} no = ?', place.session)
  const owner = row?.[0] as string | null | undefined
  if (owner == null) return own
  const theirs = yield* notesAt(sql, yield* enterScope(sql, { owner }), query)
  return newestFirst([...own, ...theirs])
})

function* notesAt(sql: Sql, { session, owner, scope }: Place, { limit, all, key }: NoteQuery): Work<Note[]> {
  const ofKey = key === undefined ? '' : 'and n.key = ?'
  const rows = yield* sql.all(
    `select ${NOTE.of('n')} ${FROM} ${ofKey} ${all ? '' : `and ${CURRENT}`} order by n.no desc limit ?`,
    ...[session, owner, ...(key === undefined ? [] : [key]), limit],
  )
  return rows.map((row) => withoutNumber(decode(row, scope)))
}

function* oneNote(sql: Sql, place: Place, condition: string, value: unknown): Work<StoredNote | undefined> {
  const row = yield* sql.get(
    `select ${NOTE.of('n')} ${FROM} and ${condition}`,
    ...[place.session, place.owner, value],
  )
  return row && decode(row, place.scope)
}

export function* forget(sql: Sql, noteId: string, request: ForgetRequest): Work<ForgottenNote> {
  const scope = yield* scopeWith(sql, noteId)
  if (scope === undefined) {
    // The note was removed together with a later note of its key; a caller that purges all notes of a list then comes across its id again.
    // The entries of the audit don't name owners, so to the store of an owner each unknown note may be such a note.
    const isPurged = sql.seen !== undefined ? request.purge : yield* wasPurged(sql, noteId)
    if (isPurged) return { changed: false, removed: 0 }
    throw new UndertextError('NOTE_NOT_FOUND', { noteId })
  }
  if (!request.purge)
    return yield* sql.write('notes.forget', function* () {
      const { place, note } = yield* requireNote(sql, scope, noteId)
      if (note.state !== 'current') return { changed: false, removed: 0 }
      yield* sql.run(
        'update undertext_notes set forgotten_at = ? where {family} session = ? and owner = ? and no = ?',
        ...[Date.now(), place.session, place.owner, note.no],
      )
      const { actor, reason } = request
      yield* recordEvent(sql, place, 'forgotten', { actor, detail: defined({ noteId, reason }) })
      return { changed: true, removed: 0 }
    })
  const removed = yield* purgeNote(sql, scope, noteId, request)
  const isCleared = yield* sql.clearFiles()
  return { changed: true, removed, ...(!isCleared && { filesCleared: false }) }
}

/** Removes a note and the earlier notes of its key, which state the same fact in other words. */
const purgeNote = erasing(
  'notes.forget',
  function* (sql: Sql, scope: Found, noteId: string, { actor, reason }: Authorship): Work<number> {
    const { place, note } = yield* requireNote(sql, scope, noteId)
    const [which, values] =
      note.key === undefined ? ['no = ?', [note.no]] : ['key = ? and no <= ?', [note.key, note.no]]
    const those = `from undertext_notes where {family} session = ? and owner = ? and ${which}`
    const versions = yield* sql.all(
      `select id ${those} order by no desc`,
      ...[place.session, place.owner, ...values],
    )
    yield* sql.unguarded(noteId, function* () {
      yield* sql.run(`delete ${those}`, ...[place.session, place.owner, ...values])
    })
    const ids = versions.map(([id]) => id as string)
    // An entry of the audit has limited size, so several entries list all ids. A copy of the store needs them, so that it doesn't add these
    // notes again.
    for (let at = 0; at < ids.length; at += IDS_OF_ENTRY) {
      const [newest, ...older] = ids.slice(at, at + IDS_OF_ENTRY)
      const detail = {
        noteId: newest!,
        removed: 1 + older.length,
        ...(older.length > 0 && { versions: older }),
      }
      yield* recordEvent(sql, place, 'forgotten', { actor, detail: { ...detail, ...defined({ reason }) } })
    }
    return ids.length
  },
)

const IDS_OF_ENTRY = 50
/** Returns the ids of the purged notes of owners. */
export function* purgedNotes(sql: Sql): Work<Set<string>> {
  const rows = yield* sql.all(
    "select detail from undertext_audit where session = 0 and event = 'forgotten' and detail is not null order by no",
  )
  const ids = new Set<string>()
  for (const [text] of rows) for (const id of purgedBy(text)) ids.add(id)
  return ids
}

/** Returns whether the audit lists a note as purged. */
const wasPurged = outside('notes.forget', function* (sql: Sql, noteId: string): Work<boolean> {
  const rows = yield* sql.all(
    "select detail from undertext_audit where event = 'forgotten' and {instr}(detail, ?) > 0",
    stringifyJson(noteId),
  )
  return rows.some(([text]) => purgedBy(text).includes(noteId))
})

function purgedBy(detail: unknown): string[] {
  const { noteId, removed, versions } = parseStoredObject(detail, 'detail', 'audit entry of a note')
  if (removed === undefined) return []
  return [noteId, ...(Array.isArray(versions) ? versions : [])].map(String)
}

/** Finds the scope of a note. The family isn't known yet, so the statement searches all of them. */
const scopeWith = outside('notes.forget', function* (sql: Sql, noteId: string): Work<Found | undefined> {
  const row = yield* sql.get(
    `select s.id, n.owner, s.owner from undertext_notes n left join undertext_sessions s on {same s n} s.no = n.session
       where n.id = ?`,
    noteId,
  )
  if (row === undefined) return undefined
  const [session, owner, ofSession] = row as [string | null, string, string | null]
  if (!isSeen(sql.seen, { owner: session === null ? owner : ofSession })) return undefined
  return session === null ? { owner } : { session, ofSession }
})

/** Throws `NOTE_NOT_FOUND` if the note was purged meanwhile. */
function* requireNote(
  sql: Sql,
  scope: Found,
  noteId: string,
): Work<{ readonly place: Place; readonly note: StoredNote }> {
  const place = yield* enterScope(sql, scope)
  const note = yield* oneNote(sql, place, 'n.id = ?', noteId)
  if (note === undefined) throw new UndertextError('NOTE_NOT_FOUND', { noteId })
  return { place, note }
}

function decode(row: Row, scope: NoteScope): StoredNote {
  const [id, no, key, text, metadata, sourceSession, source, actor, createdAt, replacedBy, forgottenAt] = row
  const name = `note no. ${no}`
  const state = replacedBy === null ? (forgottenAt === null ? 'current' : 'forgotten') : 'replaced'
  const messageId = storedText(source, name)
  return {
    ...{ id: id as string, ...scopeOf(scope), no: storedNumber(no, name) },
    ...defined({ key: storedText(key, name) }),
    text: parseStoredText(text, 'note', name),
    ...defined({
      metadata: metadata === null ? undefined : parseStoredObject(metadata, 'metadata', name),
      source:
        messageId === undefined ? undefined : { sessionId: storedText(sourceSession, name)!, messageId },
      actor: storedText(actor, name),
    }),
    createdAt: storedNumber(createdAt, name),
    state,
  }
}

function scopeOf(scope: NoteScope): { readonly sessionId: string } | { readonly owner: string } {
  return 'session' in scope ? { sessionId: scope.session } : scope
}

function withoutNumber({ no: _, ...note }: StoredNote): Note {
  return note
}
