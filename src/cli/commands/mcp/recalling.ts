import { z } from 'zod'
import { invalid, isUndertextError } from '../../../core/errors.ts'
import { defined } from '../../../core/messages/defined.ts'
import type { RecallAnswer, RecalledPiece } from '../../../store/recall/answer.ts'
import { logNotes } from '../../../store/recall/log-notes.ts'
import { openInput, openRow } from '../../../store/recall/open-row.ts'
import { readInput, readLog } from '../../../store/recall/read-log.ts'
import type { RecallScope } from '../../../store/recall/scope.ts'
import { searchInput, searchLog } from '../../../store/recall/search-log.ts'
import { contextOf } from '../../../store/store.ts'
import type { Access } from './access.ts'
import { BAD_CURSOR, Problem, timeText } from './answer.ts'
import { cursor, nextCursor, sessionId, type Tool, tool } from './tool.ts'

/* The tools of undertext/recall, with the names and the fields of this protocol, over all sessions that the client may see. */

const pieceShape = z.strictObject({
  session_id: z.string(),
  message_id: z.string(),
  kind: z.enum(['message', 'summary', 'marker']),
  position: z.int().nullable(),
  anchor: z.int().describe('the position; of a summary, the last position that it covers'),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  created_at: z.string(),
  tools: z.array(z.string()).describe('tools that it calls or holds a result of, the first 20'),
  hidden_by: z.string().nullable().describe('the compaction that hides it from the view'),
  replaced_by: z
    .array(z.string())
    .describe('compactions whose texts the view shows in place of parts of it, the first 20'),
  passages: z.array(z.strictObject({ from: z.int(), to: z.int(), text: z.string() })),
  length: z.int().describe('characters of its whole text'),
  cursor: z.string().nullable().describe('a cursor of open_history for the rest of its text'),
})
/** Names of one list that the structured form has. */
const MOST_NAMES = 20

const foundShape = z.strictObject({
  messages: z.array(pieceShape),
  next_cursor: nextCursor,
  previous_cursor: z.string().optional().describe('a cursor of the same tool for what comes before'),
})

function foundOf({ pieces, cursor, previous }: RecallAnswer) {
  return {
    messages: pieces.map(pieceData),
    ...(cursor !== undefined && { next_cursor: cursor }),
    ...(previous !== undefined && { previous_cursor: previous }),
  }
}

function pieceData({ sessionId: session, messageId, position, createdAt, tools, ...piece }: RecalledPiece) {
  return {
    session_id: session,
    message_id: messageId,
    kind: piece.kind,
    position: position ?? null,
    anchor: piece.anchor,
    role: piece.role,
    created_at: timeText(createdAt),
    tools: (tools ?? []).slice(0, MOST_NAMES),
    hidden_by: piece.hiddenBy ?? null,
    replaced_by: (piece.replacedBy ?? []).slice(0, MOST_NAMES),
    passages: piece.passages.map(({ from, to, text }) => ({ from, to, text })),
    length: piece.length,
    cursor: piece.cursor ?? null,
  }
}

/** All that a client may read: everything, or the sessions of its owner. */
function scopeOf({ owner }: Access): RecallScope {
  return owner === undefined ? { sessions: 'all' } : { owner }
}

/** The same for a call that names a session, whose estimator counts the answer. */
async function scopeAt(access: Access, session: string): Promise<RecallScope> {
  try {
    const { id, estimator } = await access.session(session)
    if (contextOf(access.store).estimators.byName.has(estimator)) return { session: id }
  } catch (error) {
    // The tool itself says that there is no such session.
    if (!isUndertextError(error, 'SESSION_NOT_FOUND')) throw error
  }
  return scopeOf(access)
}

/** Words of the recall tools about their arguments and actions, and what they are called here. */
const WORDS: readonly (readonly [theirs: RegExp, here: string])[] = [
  [/^history_notes: /, ''],
  [/history_notes with the action "recall"|the action "recall"/gi, 'recall_notes'],
  [/\bmessageId\b/g, 'message_id'],
  [/\bcallId\b/g, 'call_id'],
  [/\bnoteId\b/g, 'note_id'],
]

/** The answer of a recall tool. Throws its problem, which is a sentence for the client. */
function answered<T>(answer: RecallAnswer, data: (answer: RecallAnswer) => T): { data: T; text: string } {
  if (answer.problem === undefined) return { data: data(answer), text: answer.text }
  throw new Problem(
    answer.problem,
    WORDS.reduce((text, [theirs, here]) => text.replace(theirs, here), answer.text),
  )
}

const wordlessShape = {
  no_words: z.literal(true).optional().describe('present when no word of the query could be looked for'),
  left_out: z.array(z.string()).optional().describe('with no_words: its words, which are too common'),
}

function wordlessOf({ noWords, leftOut }: RecallAnswer) {
  return defined({ no_words: noWords, left_out: leftOut && [...leftOut] })
}

const searchHistory = tool({
  name: 'search_history',
  title: 'Search messages',
  description:
    'Finds passages of stored messages by what they say: hidden messages, tool calls, tool outputs and summaries too. Use it for what was written, decided or done before.',
  input: z.strictObject({
    query: searchInput.shape.query,
    session_id: sessionId.optional().describe('only this session; default: all'),
    hidden: searchInput.shape.hidden,
    cursor: searchInput.shape.cursor,
  }),
  output: foundShape.safeExtend({
    complete: z.boolean().describe('false when rows that are not in the index were not searched'),
    ...wordlessShape,
  }),
  async run({ access, maxTokens }, { session_id: session, ...given }) {
    return answered(
      await searchLog(access.store, scopeOf(access), { ...given, session }, { maxTokens }),
      (answer) => ({
        ...foundOf(answer),
        complete: answer.complete !== false,
        ...wordlessOf(answer),
      }),
    )
  },
})

const readHistory = tool({
  name: 'read_history',
  title: 'Read messages',
  description:
    'Reads stored messages of a session in order: one with its neighbours, or the last ones. Use it after search_history for what is around a hit.',
  input: z.strictObject({
    session_id: sessionId,
    position: readInput.shape.position,
    message_id: readInput.shape.messageId,
    before: readInput.shape.before,
    after: readInput.shape.after,
    query: readInput.shape.query,
    cursor: readInput.shape.cursor,
  }),
  output: foundShape,
  async run({ access, maxTokens }, { session_id: session, message_id: messageId, ...given }) {
    const input = { ...given, session, messageId }
    return answered(
      await readLog(access.store, await scopeAt(access, session), input, { maxTokens }),
      foundOf,
    )
  },
})

const openHistory = tool({
  name: 'open_history',
  title: 'Open a summary or a whole message',
  description:
    'Opens what is shown shortened: the messages that a summary replaces, the whole output of a tool call, or the whole text of a message.',
  input: z.strictObject({
    session_id: sessionId,
    position: openInput.shape.position,
    message_id: openInput.shape.messageId,
    call_id: openInput.shape.callId,
    levels: openInput.shape.levels,
    query: openInput.shape.query,
    cursor: openInput.shape.cursor,
  }),
  output: foundShape,
  async run(
    { access, maxTokens },
    { session_id: session, message_id: messageId, call_id: callId, ...given },
  ) {
    const input = { ...given, session, messageId, callId }
    return answered(
      await openRow(access.store, await scopeAt(access, session), input, { maxTokens }),
      foundOf,
    )
  },
})

const noteOwner = z
  .string()
  .min(1)
  .optional()
  .describe('the notes of an owner, instead of those of a session')
const noteSession = sessionId.optional().describe('the notes of a session, with those of its owner')

/** Whose notes a call names; without both, those of the owner that the server is restricted to. Throws `SESSION_NOT_FOUND`, `INVALID_INPUT`. */
async function noteScope(
  access: Access,
  {
    session_id: session,
    owner,
  }: { readonly session_id?: string | undefined; readonly owner?: string | undefined },
): Promise<RecallScope> {
  if (session !== undefined && owner !== undefined) throw invalid('name a session_id or an owner, not both')
  if (session !== undefined) return { session: (await access.session(session)).id }
  const whose = access.ownerNamed(owner)
  if (whose === undefined) throw invalid('whose notes? name a session_id or an owner')
  return { owner: whose }
}

const noteShape = z.strictObject({
  note_id: z.string(),
  key: z.string().nullable(),
  session_id: z.string().nullable(),
  owner: z.string().nullable(),
  text: z.string(),
  from: z.int().describe('where this part of the text begins; 0 for its beginning'),
  length: z.int().describe('characters of the whole text; for the rest, pass note_id and offset'),
  created_at: z.string(),
})

/** Lines of our own in an answer with notes; every line of a note is indented. */
const REST_OF_NOTE = /^(~ characters .*, more: recall with this )noteId\b/gm
const NEXT_NOTES = /^For the next notes: after (\d+)\.$/m

const recallNotes = tool({
  name: 'recall_notes',
  title: 'Recall notes',
  description:
    'Returns the notes of a session or an owner: the best matches for a query, otherwise the newest.',
  input: z.strictObject({
    session_id: noteSession,
    owner: noteOwner,
    query: z
      .string()
      .max(20_000)
      .optional()
      .describe('notes with these words, best first; default: the newest'),
    key: z.string().min(1).optional().describe('only the note of this key'),
    note_id: z.string().min(1).optional().describe('only this note'),
    offset: z.int().nonnegative().optional().describe('with note_id: the character to begin at'),
    cursor,
  }),
  output: z.strictObject({ notes: z.array(noteShape), next_cursor: nextCursor, ...wordlessShape }),
  async run({ access, maxTokens }, { session_id, owner, note_id: noteId, cursor: given, ...rest }) {
    const scope = await noteScope(access, { session_id, owner })
    if (given !== undefined && !/^\d{1,9}$/.test(given)) throw invalid(BAD_CURSOR)
    const after = given === undefined ? undefined : Number(given)
    const input = { action: 'recall' as const, ...rest, noteId, after }
    const answer = await logNotes(access.store, scope, input, { maxTokens })
    // The number of notes to leave out is the cursor of the next page.
    const next = answer.after === undefined ? undefined : String(answer.after)
    const text = answer.text
      .replace(REST_OF_NOTE, '$1note_id')
      .replace(NEXT_NOTES, (_, count: string) => `After this: cursor ${JSON.stringify(count)}`)
    return answered({ ...answer, text }, ({ notes = [] }) => ({
      notes: notes.map((note) => ({
        note_id: note.id,
        key: note.key ?? null,
        session_id: note.sessionId ?? null,
        owner: note.owner ?? null,
        text: note.text,
        from: note.from,
        length: note.length,
        created_at: timeText(note.createdAt),
      })),
      ...(next !== undefined && { next_cursor: next }),
      ...wordlessOf(answer),
    }))
  },
})

const rememberNote = tool({
  name: 'remember_note',
  title: 'Remember a note',
  description:
    'Stores a short note apart from the conversations: a preference, a decision, a fact. One with the key of another note replaces it.',
  permission: 'note',
  input: z.strictObject({
    session_id: noteSession,
    owner: noteOwner,
    text: z.string().min(1),
    key: z.string().min(1).optional().describe('replaces the note of this key, such as "deploys"'),
  }),
  output: z.strictObject({ remembered: z.literal(true), note_id: z.string() }),
  async run({ access, maxTokens }, { session_id, owner, text, key }) {
    const scope = await noteScope(access, { session_id, owner })
    const answer = await logNotes(access.store, scope, { action: 'remember', text, key }, { maxTokens })
    return answered(answer, ({ notes = [] }) => ({ remembered: true as const, note_id: notes[0]!.id }))
  },
})

const forgetNote = tool({
  name: 'forget_note',
  title: 'Forget a note',
  description: 'Takes a note out of use: it is no longer recalled. Its text stays stored.',
  permission: 'note',
  input: z.strictObject({ session_id: noteSession, owner: noteOwner, note_id: z.string().min(1) }),
  output: z.strictObject({ forgotten: z.literal(true) }),
  async run({ access, maxTokens }, { session_id, owner, note_id: noteId }) {
    const scope = await noteScope(access, { session_id, owner })
    const answer = await logNotes(access.store, scope, { action: 'forget', noteId }, { maxTokens })
    return answered(answer, () => ({ forgotten: true as const }))
  },
})

export const RECALLING: readonly Tool[] = [
  searchHistory,
  readHistory,
  openHistory,
  recallNotes,
  rememberNote,
  forgetNote,
]
