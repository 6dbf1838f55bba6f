import { z } from 'zod'
import { encodeCursor } from '../../core/cursor.ts'
import { nameSchema } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/json.ts'
import type { Note } from '../../storage/storage.ts'
import { noteTextSchema } from '../notes.ts'
import type { Store } from '../store.ts'
import {
  type Ask,
  answered,
  answerOf,
  countSchema,
  cursorPlace,
  FRAME_TOKENS,
  headWithin,
  MIN_PIECE_TOKENS,
  placeOf,
  remarkAnswer,
  wordlessAnswer,
} from './answer.ts'
import type { RecallAnswer, RecalledNoteText } from './data.ts'
import { wrong } from './remarks.ts'
import { type RecallBounds, type RecallScope, type Scope, textInput } from './scope.ts'

export const notesInput = z.strictObject({
  action: z
    .enum(['recall', 'remember', 'forget'])
    .describe('recall: lists notes. remember: stores one. forget: takes one out of use.'),
  query: textInput(20_000, 'recall: notes with these words, best first. Default: the newest.'),
  text: noteTextSchema.optional().describe('remember: the text.'),
  key: nameSchema
    .optional()
    .describe(
      'remember: replaces the note with this key, such as "deploys". recall: only the note with this key.',
    ),
  about: z
    .enum(['session', 'owner'])
    .optional()
    .describe('remember: "owner" for a note that applies to all sessions of this user. Default "session".'),
  noteId: nameSchema.optional().describe('forget: the id of the note. recall: only this note.'),
  cursor: textInput(
    2_000,
    'recall: a cursor from an earlier answer, for the next notes or the rest of a note.',
  ),
})
/** The input of `logNotes`. */
export type LogNotesInput = z.input<typeof notesInput>

/** The actor of a model's changes, in the audit. */
export const MODEL = 'model'

export const NOTES: Ask<typeof notesInput> = {
  tool: 'history_notes',
  input: notesInput,
  work(scope, { action, ...rest }, maxTokens) {
    if (action === 'remember') return remember(scope, rest)
    if (action === 'forget') return forget(scope, rest)
    return recall(scope, rest, maxTokens)
  },
}

/** Recalls, stores and forgets notes of a scope's session and of its owner. */
export function logNotes(
  store: Store,
  scope: RecallScope,
  input: LogNotesInput,
  bounds: RecallBounds = {},
): Promise<RecallAnswer> {
  return answered(store, scope, NOTES, input, bounds)
}

type Given = Omit<z.output<typeof notesInput>, 'action'>

async function remember(scope: Scope, { text, key, about }: Given): Promise<RecallAnswer> {
  if (text === undefined) throw wrong('Pass the text to remember.')
  const { base, owner, store } = scope
  const isOwners = about === 'owner' || base === undefined
  if (isOwners && owner === undefined)
    throw wrong('This session has no owner: remember the note for the session.')
  const whose = isOwners ? { owner: owner! } : { session: base.id }
  const note = await store.notes.add(text, { ...whose, ...(key !== undefined && { key }), actor: MODEL })
  const answer = remarkAnswer(scope, { code: 'remembered', noteId: note.id })
  return { ...answer, notes: [shownNote(note, note.text, 0)] }
}

async function forget(scope: Scope, { noteId }: Given): Promise<RecallAnswer> {
  const { names } = scope
  if (noteId === undefined) throw wrong(`Pass the ${names.noteId} to forget: ${names.notes} lists the ids.`)
  const known = await notesOf(scope, { limit: MAX_LISTED_NOTES })
  if (!known.some(({ id }) => id === noteId))
    throw wrong(`No note with this id is in use. ${names.notes} lists the notes and their ids.`)
  await scope.store.notes.forget(noteId, { actor: MODEL })
  return remarkAnswer(scope, { code: 'forgotten' })
}

const MAX_LISTED_NOTES = 1_000

async function notesOf(
  { store, base, owner }: Scope,
  {
    query,
    key,
    limit,
  }: { readonly query?: string | undefined; readonly key?: string | undefined; readonly limit: number },
): Promise<Note[]> {
  if (base === undefined && owner === undefined)
    throw wrong('Notes belong to a session or an owner, and this tool has neither.')
  const whose = base === undefined ? { owner: owner! } : { session: base.id }
  return store.notes.list({ query, ...whose, limit, ...(key !== undefined && { key }) })
}

/** The number of notes before a page; or a note and a place in its text. */
const notesCursor = z.union([z.tuple([countSchema]), z.tuple([z.string(), countSchema])])

async function recall(
  scope: Scope,
  { query, key, noteId, cursor }: Given,
  maxTokens: number,
): Promise<RecallAnswer> {
  const [place, offset = 0] = cursor === undefined ? [0] : placeOf(notesCursor, cursor)
  const [id, after] = typeof place === 'string' ? [place, 0] : [noteId, place]
  const all = await notesOf(scope, { query, key, limit: MAX_LISTED_NOTES })
  const isSought = query !== undefined && query.trim() !== '' && id === undefined
  const wordless = isSought ? wordlessAnswer(scope, query) : undefined
  if (wordless !== undefined) return { ...wordless, notes: [] }
  const found = id === undefined ? all.slice(after) : all.filter((note) => note.id === id)
  const notes: RecalledNoteText[] = []
  let left = maxTokens - FRAME_TOKENS
  for (const note of found) {
    if (left < MIN_PIECE_TOKENS && notes.length > 0) break
    const from = cursorPlace(note.text, offset)
    const head = headWithin(scope, note.text.slice(from), Math.max(MIN_PIECE_TOKENS, left - NOTE_TOKENS))
    left -= scope.tokensOf(head) + NOTE_TOKENS
    notes.push(shownNote(note, head, from))
  }
  return answerOf(scope, maxTokens, notes.length, (shown) => ({
    notes: notes.slice(0, shown),
    lead:
      shown === 0
        ? { code: 'no-notes' }
        : { code: 'notes', shown, found: found.length, sought: query !== undefined },
    cursor: shown < found.length ? encodeCursor([after + shown]) : undefined,
  }))
}

/** Tokens for the heading of a note, and for its cursor. */
const NOTE_TOKENS = 80

function shownNote(
  { id, key, owner, sessionId, text: whole, createdAt }: Note,
  text: string,
  from: number,
): RecalledNoteText {
  const to = from + text.length
  const cursor = to < whole.length ? encodeCursor([id, to]) : undefined
  const named = defined({ key, owner, sessionId, cursor })
  return { ...{ id, text, from, length: whole.length, createdAt }, ...named }
}
