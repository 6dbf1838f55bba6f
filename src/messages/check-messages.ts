import { invalid } from '../errors.ts'
import type { NewMessage } from './message.ts'
import { messageProblem } from './message-check.ts'

/** What is to be stored, at the door. `what` names the argument. Throws `INVALID_INPUT`. */
export function checkMessages(
  messages: unknown,
  what = 'messages',
): asserts messages is readonly NewMessage[] {
  if (!Array.isArray(messages)) throw invalid(`${what} must be an array`)
  if (messages.length === 0) throw invalid(`${what} must not be empty`)
  for (let index = 0; index < messages.length; index++) {
    const problem = messageProblem(messages[index])
    if (problem !== undefined)
      throw invalid(`${what}[${index}]${problem.startsWith('.') ? '' : ' '}${problem}`)
  }
}
