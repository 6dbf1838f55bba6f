import type { MessageEvent } from '../history/import/import-event.ts'
import { messageProblem } from '../messages/message-check.ts'

/** Why the store would refuse a message, or `undefined`. */
export function storable({ message }: MessageEvent): string | undefined {
  const problem = messageProblem(message)
  if (problem === undefined) return undefined
  return problem.startsWith('.') ? `message${problem}` : `message ${problem}`
}
