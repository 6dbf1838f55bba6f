import { isUndertextError, UndertextError } from '../../core/errors.ts'
import { headOf } from '../../core/messages/characters.ts'

/* What a model can mend: the answer says it. Anything else is a failure of the store or a mistake of the application, and throws. */

export const BAD_CURSOR =
  'The cursor is not one of this tool. Copy it from an answer without changes, or call the tool without a cursor.'

/** A mistake in the input of a tool, as one sentence. */
export function wrong(sentence: string): UndertextError<'INVALID_INPUT'> {
  return new UndertextError('INVALID_INPUT', { problems: sentence })
}

/** The most units of the description of a mistake. */
const MOST_UNITS = 600

/** What a model should do after an error; `undefined` when the error is not its mistake. */
export function sentenceOf(error: unknown): string | undefined {
  if (isUndertextError(error, 'INVALID_INPUT')) return headOf(error.facts.problems, MOST_UNITS)
  if (isUndertextError(error, 'SESSION_NOT_FOUND'))
    return 'This session does not exist, or it was purged. Repeat the call without `session`.'
  if (isUndertextError(error, 'MESSAGE_NOT_FOUND'))
    return 'There is no such message in this session. Take positions and ids from an answer of search_history.'
  if (isUndertextError(error, 'TOOL_CALL_NOT_FOUND'))
    return 'There is no such tool call in this session. Take its position from an answer of search_history.'
  if (isUndertextError(error, 'NOTE_NOT_FOUND'))
    return 'There is no such note. history_notes with the action "recall" lists the notes and their ids.'
  return undefined
}
