import { messageProblem } from '../core/message-check.ts'
import type { MessageEvent } from '../import/import-event.ts'

/** Why the store would refuse a message, or `undefined`. */
export function storable({ message }: MessageEvent): string | undefined {
  const problem = messageProblem(message)
  if (problem === undefined) return undefined
  return problem.startsWith('.') ? `message${problem}` : `message ${problem}`
}
