import { z } from 'zod'
import { invalid, isUndertextError } from '../../../core/errors.ts'
import { nameSchema } from '../../../core/messages/check.ts'
import { type Ask, answered } from '../../../store/recall/answer.ts'
import type { RecallAnswer } from '../../../store/recall/data.ts'
import { NOTES, notesInput } from '../../../store/recall/log-notes.ts'
import { OPEN, openInput } from '../../../store/recall/open-row.ts'
import { READ, readInput } from '../../../store/recall/read-log.ts'
import { type Names, TOOL_NAMES } from '../../../store/recall/remarks.ts'
import type { RecallScope } from '../../../store/recall/scope.ts'
import { SEARCH, searchInput } from '../../../store/recall/search-log.ts'
import { contextOf } from '../../../store/store.ts'
import { type Answer, Problem } from './answer.ts'
import { type Access, type Call, nextCursor, sessionId, type Tool, time, tool } from './tool.ts'

/* The tools of undertext/recall, with the names and the fields of this protocol, over all sessions that the client may see. */

const pieceShape = z.strictObject({
  session_id: z.string(),
  message_id: z.string(),
  kind: z.enum(['message', 'summary', 'marker']),
  position: z.int().nullable(),
  anchor: z.int().describe('the position; of a summary, the last position that it covers'),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  created_at: time,
  tools: z.array(z.string()).describe('the first 20 tools that it calls or contains a result of'),
  hidden_by: z.string().nullable().describe('the compaction that hides it from the view'),
  replaced_by: z
    .array(z.string())
    .describe('compactions whose texts the view shows in place of parts of it, the first 20'),
  passages: z.array(z.strictObject({ from: z.int(), to: z.int(), text: z.string() })),
  length: z.int().describe('characters of its whole text'),
  cursor: z.string().nullable().describe('a cursor of open_history for the rest of its text'),
})
/** The most names of one list in the structured form. */
const MAX_NAMES = 20

const foundShape = z.strictObject({
  messages: z.array(pieceShape),
  next_cursor: nextCursor,
  previous_cursor: z.string().optional().describe('a cursor of the same tool for what comes before'),
})

function foundOf({ pieces, cursor, previous }: RecallAnswer) {
  const messages = pieces.map(({ tools = [], replacedBy = [], ...piece }) => ({
    ...piece,
    tools: tools.slice(0, MAX_NAMES),
    replacedBy: replacedBy.slice(0, MAX_NAMES),
  }))
  return { messages, nextCursor: cursor, previousCursor: previous }
}

/** The scope that a client may read: everything, or the sessions of its owner. */
function scopeOf({ owner }: Access): RecallScope {
  return owner === undefined ? { sessions: 'all' } : { owner }
}

/** The same scope for a call that names a session, whose estimator counts the answer. */
async function scopeAt(access: Access, session: string): Promise<RecallScope> {
  try {
    const { id, estimator } = await access.session(session)
    if (contextOf(access.store).estimators.byName.has(estimator)) return { session: id }
  } catch (error) {
    // The tool itself reports that there is no such session.
    if (!isUndertextError(error, 'SESSION_NOT_FOUND')) throw error
  }
  return scopeOf(access)
}

/** What this protocol calls the tools of undertext/recall and their arguments. */
const NAMES: Names = {
  ...TOOL_NAMES,
  notes: 'recall_notes',
  session: 'session_id',
  messageId: 'message_id',
  callId: 'call_id',
  noteId: 'note_id',
}

/** Asks a recall tool. Throws its problem, which is a sentence for the client. */
async function ask<S extends z.ZodType>(
  { access, maxTokens }: Call,
  scope: RecallScope,
  ask: Ask<S>,
  input: z.input<S>,
  data: (answer: RecallAnswer) => object,
): Promise<Answer> {
  const answer = await answered(access.store, scope, ask, input, { maxTokens }, NAMES)
  if (answer.problem !== undefined) throw new Problem(answer.problem, answer.text)
  return { data: data(answer), text: answer.text }
}

/** Asks a recall tool about one session. */
async function askSession<S extends z.ZodType>(
  call: Call,
  tool: Ask<S>,
  { sessionId: session, ...given }: { readonly sessionId: string },
): Promise<Answer> {
  return ask(call, await scopeAt(call.access, session), tool, { ...given, session } as z.input<S>, foundOf)
}

const wordlessShape = {
  no_words: z.literal(true).optional().describe('present when no word of the query could be searched for'),
  left_out: z.array(z.string()).optional().describe('with no_words: its words, which are too common'),
}

const searchHistory = tool({
  name: 'search_history',
  title: 'Search messages',
  description:
    'Searches the text of stored messages, including hidden messages, tool calls, tool outputs and summaries. Use it to find what was written, decided or done before.',
  input: z.strictObject({
    query: searchInput.shape.query,
    session_id: sessionId.optional().describe('only this session; default: all'),
    hidden: searchInput.shape.hidden,
    cursor: searchInput.shape.cursor,
  }),
  output: foundShape.safeExtend({
    complete: z.boolean().describe("false when rows that aren't in the index weren't searched"),
    ...wordlessShape,
  }),
  run: (call, { sessionId: session, ...given }) =>
    ask(call, scopeOf(call.access), SEARCH, { ...given, session }, (answer) => ({
      ...answer,
      ...foundOf(answer),
      complete: answer.complete !== false,
    })),
})

const readHistory = tool({
  name: 'read_history',
  title: 'Read messages',
  description:
    'Reads stored messages of a session in order: one message with its neighbors, or the last messages. Use it after search_history to read the context of a hit.',
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
  run: (call, given) => askSession(call, READ, given),
})

const openHistory = tool({
  name: 'open_history',
  title: 'Open a summary or a whole message',
  description:
    'Returns content that is shown shortened: the messages that a summary replaces, the whole output of a tool call, or the whole text of a message.',
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
  run: (call, given) => askSession(call, OPEN, given),
})

/** The session or the owner of the notes. */
const noteInput = {
  session_id: sessionId.optional().describe('the notes of a session, with those of its owner'),
  owner: z.string().min(1).optional().describe('the notes of an owner, instead of those of a session'),
}

/**
 * Asks for notes of the session or the owner that a call names; without both, of the owner that the server is restricted to. Throws
 * `SESSION_NOT_FOUND`, `INVALID_INPUT`.
 */
async function askNotes(
  call: Call,
  {
    sessionId: session,
    owner,
    ...given
  }: { readonly sessionId?: string | undefined; readonly owner?: string | undefined } & z.input<
    typeof notesInput
  >,
  data: (answer: RecallAnswer) => object,
): Promise<Answer> {
  if (session !== undefined && owner !== undefined) throw invalid('pass session_id or owner, not both')
  const whose = session === undefined ? call.access.ownerNamed(owner) : undefined
  if (session === undefined && whose === undefined)
    throw invalid('pass session_id or owner to select the notes')
  const scope =
    session === undefined ? { owner: whose! } : { session: (await call.access.session(session)).id }
  return ask(call, scope, NOTES, given, data)
}

const noteShape = z.strictObject({
  note_id: z.string(),
  key: z.string().nullable(),
  session_id: z.string().nullable(),
  owner: z.string().nullable(),
  text: z.string(),
  from: z.int().describe('where this part of the text begins; 0 for its beginning'),
  length: z.int().describe('characters of the whole text'),
  cursor: z.string().nullable().describe('a cursor of recall_notes for the rest of its text'),
  created_at: time,
})

const recallNotes = tool({
  name: 'recall_notes',
  title: 'Recall notes',
  description:
    'Returns the notes of a session or an owner: the best matches for a query, otherwise the newest.',
  input: z.strictObject({
    ...noteInput,
    query: notesInput.shape.query.describe('notes with these words, best first; default: the newest'),
    key: notesInput.shape.key.describe('only the note of this key'),
    note_id: notesInput.shape.noteId.describe('only this note'),
    cursor: notesInput.shape.cursor.describe('next_cursor of an answer, or the cursor of a note'),
  }),
  output: z.strictObject({ notes: z.array(noteShape), next_cursor: nextCursor, ...wordlessShape }),
  run: (call, given) =>
    askNotes(call, { ...given, action: 'recall' }, ({ notes = [], cursor, noWords, leftOut }) => ({
      notes: notes.map(({ id, ...note }) => ({ noteId: id, ...note })),
      ...{ nextCursor: cursor, noWords, leftOut },
    })),
})

const rememberNote = tool({
  name: 'remember_note',
  title: 'Remember a note',
  description:
    'Stores a short note apart from the conversations: a preference, a decision, a fact. A note with the key of an existing note replaces it.',
  permission: 'note',
  input: z.strictObject({
    ...noteInput,
    text: z.string(),
    key: notesInput.shape.key.describe('replaces the note of this key, such as "deploys"'),
  }),
  output: z.strictObject({ remembered: z.literal(true), note_id: z.string() }),
  run: (call, given) =>
    askNotes(call, { ...given, action: 'remember' }, ({ notes = [] }) => ({
      remembered: true,
      noteId: notes[0]!.id,
    })),
})

const forgetNote = tool({
  name: 'forget_note',
  title: 'Forget a note',
  description: 'Takes a note out of use: it is no longer recalled. Its text stays stored.',
  permission: 'note',
  input: z.strictObject({ ...noteInput, note_id: nameSchema }),
  output: z.strictObject({ forgotten: z.literal(true) }),
  run: (call, given) => askNotes(call, { ...given, action: 'forget' }, () => ({ forgotten: true })),
})

export const RECALLING: readonly Tool[] = [
  searchHistory,
  readHistory,
  openHistory,
  recallNotes,
  rememberNote,
  forgetNote,
]
