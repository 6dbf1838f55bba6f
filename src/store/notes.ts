import { v7 as uuidv7 } from 'uuid'
import { UndertextError } from '../core/errors.ts'
import { check, taken } from '../core/messages/check.ts'
import { readQuery } from '../core/search/query.ts'
import { type Candidate, rank } from '../core/search/rank.ts'
import { wordsOf } from '../core/search/words.ts'
import { tokensOfText } from '../core/tokens/measure.ts'
import {
  isOpenTo,
  type Note,
  type NoteQuery,
  type NoteScope,
  type NoteSource,
  newestFirst,
} from '../storage/storage.ts'
import { checkId } from './arguments.ts'
import {
  type AddNoteOptions,
  addNoteSchema,
  type ListNotesOptions,
  listNotesSchema,
  noteTextSchema,
} from './config/note-options.ts'
import type { StoreContext } from './context.ts'
import { type NoteSection, noteSection } from './requests/notes.ts'
import type { CheckedPrepare } from './requests/options.ts'

/** A listed note; with a query it has the score by which it was chosen, higher for a better match. */
export type ListedNote = Note & { readonly score?: number }

/** See `Notes.add`. */
export async function addNote(
  { storage }: StoreContext,
  text: string,
  options: AddNoteOptions,
): Promise<Note> {
  const checked = check(addNoteSchema, options, 'notes.add')
  const { session, owner, key, metadata, source, actor, reason } = checked
  const note = {
    id: uuidv7(),
    text: check(noteTextSchema, text, 'notes.add: text'),
    key,
    metadata: taken(metadata),
    source: sourceOf(source, session),
  }
  return storage.notes.remember(scopeOf(session, owner), note, { actor, reason })
}

function sourceOf(source: string | NoteSource | undefined, session: string | undefined) {
  return typeof source === 'string' ? { sessionId: session!, messageId: source } : source
}

function scopeOf(session: string | undefined, owner: string | undefined): NoteScope {
  return session === undefined ? { owner: owner! } : { session: checkId(session) }
}

/** See `Notes.list`. */
export async function listNotes(context: StoreContext, options: ListNotesOptions): Promise<ListedNote[]> {
  const { session, owner, key, query, limit, all } = check(listNotesSchema, options, 'notes.list')
  const notes = await readNotes(context, scopeOf(session, owner), { all, key })
  return ranked(notes, query).slice(0, limit)
}

/** The most notes that `all` reads of a session or an owner, the current ones included. */
const MOST_NOTES = 10_000

/** Newest first. */
async function readNotes(
  { storage, configuration }: StoreContext,
  scope: NoteScope,
  { all, key }: Omit<NoteQuery, 'limit'>,
): Promise<Note[]> {
  const config = 'session' in scope ? (await storage.session(scope.session))?.config : undefined
  const { maxNotes } = configuration.ofSession(config).settings
  return storage.notes.list(scope, { limit: all ? MOST_NOTES : maxNotes, all, key })
}

/** Notes by how well they match a query, best first; those without any of its words are left out. Without a query they stay as they are. */
function ranked(notes: readonly Note[], query: string | undefined): ListedNote[] {
  if (query === undefined || query.trim() === '') return [...notes]
  const rows = notes.map((note, key): Candidate & { readonly note: Note } => ({
    ...{ key, session: key, role: 'system', isQuestion: false, note },
    ...{ createdAt: note.createdAt, words: wordsOf(`${note.key ?? ''}\n${note.text}`) },
  }))
  const counts = new Map<string, number>()
  for (const { words } of rows)
    for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1)
  const collection = {
    documents: rows.length,
    documentsWith: (word: string): number => counts.get(word) ?? 0,
  }
  return rank(readQuery(query), rows, collection).map(({ row, score }) => ({ ...row.note, score }))
}

/** The notes for a request; `undefined` when none were asked for. Throws `SESSION_NOT_FOUND` for a session of another owner than the given one. */
export async function notesForRequest(
  context: StoreContext,
  sessionId: string,
  { notes, provider, model }: CheckedPrepare,
): Promise<NoteSection | undefined> {
  if (notes === undefined) return undefined
  const { storage, estimators } = context
  const session = await storage.session(sessionId)
  if (session !== undefined && !isOpenTo(session, notes.owner))
    throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  const query = { all: false, key: undefined }
  const own = session === undefined ? [] : await readNotes(context, { session: sessionId }, query)
  const isRead = notes.owner === undefined || session?.owner === notes.owner
  const theirs = isRead ? [] : await readNotes(context, { owner: notes.owner! }, query)
  const estimator =
    session === undefined ? estimators.standard : context.estimatorNamed(session.estimator, sessionId)
  const { key } = context.modelFor(session, provider, model)
  return noteSection(ranked(newestFirst([...own, ...theirs]), notes.query), notes.tokens, (text) =>
    tokensOfText(text, estimator, key),
  )
}
