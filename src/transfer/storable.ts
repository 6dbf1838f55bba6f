import { messageProblem } from '../core/message-check.ts'
import type { MessageEvent } from '../import/import-event.ts'

/** Why the store would refuse a message, or `undefined`. In a file of something else the name of a field may be what somebody said. */
export function storable({ message }: MessageEvent): string | undefined {
  const problem = messageProblem(message)?.replace(/(unknown key) "(?:[^"\\]|\\.)*"/, '$1')
  if (problem === undefined) return undefined
  return problem.startsWith('.') ? `message${problem}` : `message ${problem}`
}
