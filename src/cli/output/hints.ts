import type { Output } from '../command.ts'
import { commandLine } from './ids.ts'
import { sentence } from './layout.ts'

/** The last lines of a command that shows a session, on a terminal: where there is more to see. */
export function inspectHint({ out, style }: Output, sessionId: string): string[] {
  if (!out.isTerminal) return []
  return ['', ...sentence(`Open it in a browser: ${commandLine('inspect', sessionId)}`, out, style.dim)]
}
