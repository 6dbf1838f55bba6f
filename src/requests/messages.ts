import { invalid } from '../errors.ts'

/** A message that is one text. */
export type TextMessage<R extends 'system' | 'user' | 'assistant'> = {
  readonly role: R
  readonly content: string
}

/** A system message with this text. Throws `INVALID_INPUT`. Source: seed 000, checklist S0-06. */
export function systemMessage(text: string): TextMessage<'system'> {
  return messageOf('system', text)
}

/** A message of the user's with this text. Throws `INVALID_INPUT`. Source: seed 000, checklist S0-06. */
export function userMessage(text: string): TextMessage<'user'> {
  return messageOf('user', text)
}

/** A message of the assistant's with this text. Throws `INVALID_INPUT`. Source: seed 000, checklist S0-06. */
export function assistantMessage(text: string): TextMessage<'assistant'> {
  return messageOf('assistant', text)
}

function messageOf<R extends 'system' | 'user' | 'assistant'>(role: R, text: unknown): TextMessage<R> {
  if (typeof text !== 'string') throw invalid(`${role}Message: text must be a text`)
  return { role, content: text }
}
