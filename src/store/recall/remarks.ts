import { isUndertextError, UndertextError } from '../../core/errors.ts'
import { headOf } from '../../core/messages/characters.ts'

/* The remarks of an answer, besides stored text: codes with facts, and one sentence for each. */

/** The names of tools and arguments, as the reader of the answers knows them. */
export type Names = {
  readonly search: string
  readonly read: string
  readonly open: string
  /** The name of the call that lists notes. */
  readonly notes: string
  readonly session: string
  readonly messageId: string
  readonly callId: string
  readonly noteId: string
}

export const TOOL_NAMES: Names = {
  search: 'search_history',
  read: 'read_history',
  open: 'open_history',
  notes: 'history_notes with the action "recall"',
  session: 'session',
  messageId: 'messageId',
  callId: 'callId',
  noteId: 'noteId',
}

const MAX_WORDS = 8

/** Each remark with its sentence. Sentences contain only our own words. */
const SENTENCES = {
  empty: () => 'The session is empty.',
  'no-further': ({ last }: { last: number }) =>
    `There are no further messages: the positions are 1 to ${last}.`,
  messages: ({ first, end, last }: { first: number; end: number; last: number }) =>
    `Messages ${first} to ${end} of ${last}.`,
  'no-text': () => 'The message has no text.',
  text: () => 'The stored text of a message.',
  'part-ends': ({ end }: { end: number }) =>
    `This call or output ends at character ${end}; the message continues with other parts.`,
  'pass-session': (_: object, { session }: Names) => `Pass ${session} with the cursor.`,
  sources: () => 'The messages that a summary replaces, in order.',
  'no-sources': () => 'This summary replaces no further messages.',
  passages: ({ messages }: { messages: number }) =>
    `Passages of ${messages} ${messages === 1 ? 'message' : 'messages'}, best first.`,
  'no-match': () =>
    'No message contains words of this query. Try other words: names, numbers, or a word of the answer.',
  'no-passages': () => 'No further passages.',
  incomplete: () => "Rows that aren't indexed yet weren't searched.",
  around: (_: object, { read }: Names) => `For the context of a message, use ${read} with its position.`,
  wordless: ({ leftOut }: { leftOut: readonly string[] }) => {
    const named = `${leftOut.slice(0, MAX_WORDS).join(', ')}${leftOut.length > MAX_WORDS ? ', …' : ''}`
    const why =
      leftOut.length === 0
        ? 'This query has no word that can be searched for.'
        : `All words of this query are too common to search for (${named}).`
    return `${why} Use other words: names, numbers, or a word of the answer.`
  },
  remembered: ({ noteId }: { noteId: string }) => `Remembered as note ${JSON.stringify(noteId)}.`,
  forgotten: () => 'The note is no longer in use.',
  notes: ({ shown, found, sought }: { shown: number; found: number; sought: boolean }) =>
    `${shown} of ${found} notes, ${sought ? 'best' : 'newest'} first.`,
  'no-notes': () => 'No note was found.',
  'nothing-hidden': () =>
    'Nothing was hidden: no message may be hidden, or hiding would save too few tokens.',
  refused: ({ why }: { why: string }) => `Nothing was hidden. The proposal was rejected: ${why}`,
  vetoed: () => 'Nothing was hidden: the compaction was rejected.',
  room: (made: { rowsHidden: number; partsReplaced: number; tokensBefore: number; tokensAfter: number }) =>
    `Room was made: ${made.rowsHidden} messages hidden and ${made.partsReplaced} outputs shortened. ${made.tokensBefore} tokens before, ${made.tokensAfter} after.`,
  'can-undo': ({ runId }: { runId: string }) => `A person can undo it: undoCompaction with ${runId}.`,
  'still-stored': (_: object, { search }: Names) => `Hidden messages are still stored: ${search} finds them.`,
  stays: ({ position, why, before }: { position: number; why: string; before: number }) =>
    `Position ${position} stays, because ${why}. To hide the messages before it, pass upToPosition ${before}.`,
}
type Sentences = typeof SENTENCES

/** A remark of an answer: a code, and the facts in its sentence. */
export type RecallRemark = {
  [C in keyof Sentences]: { readonly code: C } & (Parameters<Sentences[C]> extends [infer F, ...unknown[]]
    ? Readonly<F>
    : object)
}[keyof Sentences]

export function sentence(remark: RecallRemark, names: Names): string {
  return (SENTENCES[remark.code] as (facts: RecallRemark, names: Names) => string)(remark, names)
}

// ── Mistakes that a model can fix. Anything else is a failure of the store or a mistake of the application, and throws. ─────

/** Returns an error for a mistake in the input of a tool, described in one sentence. */
export function wrong(text: string): UndertextError<'INVALID_INPUT'> {
  return new UndertextError('INVALID_INPUT', { problems: text })
}

export function badCursor(): never {
  throw wrong(
    "The cursor doesn't belong to this tool with these arguments. Copy it from an answer without changes, or begin without a cursor.",
  )
}

/** Maximum length of the description of a mistake, UTF-16 units. */
const MAX_MISTAKE_LENGTH = 600

/** Returns what a model should do after an error; `undefined` if the error isn't the model's mistake. */
export function sentenceOf(error: unknown, { search, session, notes }: Names): string | undefined {
  if (isUndertextError(error, 'INVALID_INPUT')) return headOf(error.facts.problems, MAX_MISTAKE_LENGTH)
  if (isUndertextError(error, 'SESSION_NOT_FOUND'))
    return `This session doesn't exist, or it was purged. Repeat the call without \`${session}\`.`
  if (isUndertextError(error, 'MESSAGE_NOT_FOUND'))
    return `There is no such message in this session. Take positions and ids from an answer of ${search}.`
  if (isUndertextError(error, 'TOOL_CALL_NOT_FOUND'))
    return `There is no such tool call in this session. Take its position from an answer of ${search}.`
  if (isUndertextError(error, 'NOTE_NOT_FOUND'))
    return `There is no such note. ${notes} lists the notes and their ids.`
  return undefined
}
