import { z } from 'zod'
import { check, nameSchema } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/defined.ts'
import type { Note } from '../../storage/storage.ts'
import { noteTextSchema } from '../config/note-options.ts'
import type { Store } from '../store.ts'
import {
  answering,
  answerOf,
  cursorPlace,
  FRAME_TOKENS,
  headWithin,
  LEAST_PIECE,
  type RecallAnswer,
  type RecalledNoteText,
  sentenceAnswer,
  wordlessAnswer,
} from './answer.ts'
import { wrong } from './problems.ts'
import { boundsSchema, type RecallBounds, type RecallScope, type Scope } from './scope.ts'

export const notesInput = z.strictObject({
  action: z
    .enum(['recall', 'remember', 'forget'])
    .describe('recall: lists notes. remember: stores one. forget: takes one out of use.'),
  query: z
    .string()
    .max(20_000)
    .optional()
    .describe('recall: notes with these words, best first. Default: the newest.'),
  text: noteTextSchema.optional().describe('remember: the text.'),
  key: nameSchema
    .optional()
    .describe(
      'remember: replaces the note of this key, such as "deploys". recall: only the note of this key.',
    ),
  about: z
    .enum(['session', 'owner'])
    .optional()
    .describe('remember: "owner" for a note that holds in all sessions of this user. Default "session".'),
  noteId: nameSchema.optional().describe('forget: the id of the note. recall: only this note.'),
  offset: z.int().nonnegative().optional().describe('recall, with noteId: the character to begin at.'),
  after: z.int().nonnegative().optional().describe('recall: skips this many notes.'),
})
/** The input of `logNotes`. */
export type LogNotesInput = z.input<typeof notesInput>

/** The author of what a model does, in the audit. */
export const MODEL = 'model'

/** Recalls, stores and takes out of use notes of the session of a scope and of its owner. */
export async function logNotes(
  store: Store,
  scope: RecallScope,
  input: LogNotesInput,
  bounds: RecallBounds = {},
): Promise<RecallAnswer> {
  const { maxTokens } = check(boundsSchema, bounds, 'logNotes')
  return answering(store, scope, maxTokens, async (now) => {
    const { action, ...rest } = check(notesInput, input, 'history_notes')
    if (action === 'remember') return remember(now, rest, maxTokens)
    if (action === 'forget') return forget(now, rest, maxTokens)
    return recall(now, rest, maxTokens)
  })
}

type Given = Omit<z.output<typeof notesInput>, 'action'>

async function remember(scope: Scope, { text, key, about }: Given, maxTokens: number): Promise<RecallAnswer> {
  if (text === undefined) throw wrong('Pass the text to remember.')
  const { base, owner, store } = scope
  const isOwners = about === 'owner' || base === undefined
  if (isOwners && owner === undefined)
    throw wrong('This session has no owner: remember the note about the session.')
  const whose = isOwners ? { owner: owner! } : { session: base.id }
  const note = await store.remember(text, { ...whose, ...(key !== undefined && { key }), actor: MODEL })
  const answer = sentenceAnswer(scope, maxTokens, `Remembered as note ${JSON.stringify(note.id)}.`)
  return { ...answer, notes: [shownNote(note, note.text, 0)] }
}

async function forget(scope: Scope, { noteId }: Given, maxTokens: number): Promise<RecallAnswer> {
  if (noteId === undefined) throw wrong('Pass the noteId to forget: the action "recall" lists the ids.')
  const known = await notesOf(scope, { limit: MOST })
  if (!known.some(({ id }) => id === noteId))
    throw wrong('There is no such note in use. The action "recall" lists the notes and their ids.')
  await scope.store.forget(noteId, { actor: MODEL })
  return sentenceAnswer(scope, maxTokens, 'The note is out of use.')
}

/** Notes that are looked at. */
const MOST = 1_000

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
  return store.recall(query, { ...whose, limit, ...(key !== undefined && { key }) })
}

async function recall(
  scope: Scope,
  { query, key, noteId, offset = 0, after = 0 }: Given,
  maxTokens: number,
): Promise<RecallAnswer> {
  const all = await notesOf(scope, { query, key, limit: MOST })
  const isSought = query !== undefined && query.trim() !== '' && noteId === undefined
  const wordless = isSought ? wordlessAnswer(scope, maxTokens, query) : undefined
  if (wordless !== undefined) return { ...wordless, notes: [] }
  const found = noteId === undefined ? all.slice(after) : all.filter(({ id }) => id === noteId)
  const notes: RecalledNoteText[] = []
  let left = maxTokens - FRAME_TOKENS
  for (const note of found) {
    const { text } = note
    if (left < LEAST_PIECE && notes.length > 0) break
    const from = noteId === undefined ? 0 : cursorPlace(text, offset)
    const head = headWithin(scope, text.slice(from), Math.max(LEAST_PIECE, left - 60))
    left -= scope.tokensOf(head) + 60
    notes.push(shownNote(note, head, from))
  }
  const answer = answerOf(scope, maxTokens, notes.length, (shown) => ({
    notes: notes.slice(0, shown),
    lead:
      shown === 0
        ? 'No note was found.'
        : `${shown} of ${found.length} notes, ${query === undefined ? 'newest' : 'best'} first.`,
    trail: shown < found.length ? [`For the next notes: after ${after + shown}.`] : [],
  }))
  const shown = answer.notes?.length ?? 0
  return { ...answer, ...(shown < found.length && { after: after + shown }) }
}

/** A note with a part of its text. */
function shownNote(
  { id, key, owner, sessionId, text: whole, createdAt }: Note,
  text: string,
  from: number,
): RecalledNoteText {
  return { ...{ id, text, from, length: whole.length, createdAt }, ...defined({ key, owner, sessionId }) }
}
