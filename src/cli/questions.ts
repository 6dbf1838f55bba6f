import type { Readable } from 'node:stream'
import { confirm as askConfirm, text as askText, isCancel, updateSettings } from '@clack/prompts'
import { CliError } from './cli-error.ts'
import type { Io } from './io.ts'
import { safeText } from './output/safe-text.ts'
import { terminalOf } from './output/terminal.ts'
import { unmark } from './output/trusted-codes.ts'

/*
 * Questions on the terminal. They move the cursor, so they are written as they are, and only what is asked is made safe. They go to
 * `err`: an answer on `out` can be piped on.
 */

// Ctrl-D closes the line editor beneath a question, which would wait for ever.
updateSettings({ aliases: { '\x04': 'cancel' } })

/** Yes or no; no is what Enter says. Throws `INTERRUPTED` for Ctrl-C and Ctrl-D. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  return answered(await askConfirm({ message: plain(question), initialValue: false, ...streams(io) }))
}

/** A line. Throws `INTERRUPTED` for Ctrl-C and Ctrl-D. */
export async function ask(io: Io, question: string): Promise<string> {
  return answered(await askText({ message: plain(question), ...streams(io) })) ?? ''
}

function answered<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new CliError('INTERRUPTED', 'Interrupted; nothing was changed.')
  return answer as Exclude<T, symbol>
}

function plain(question: string): string {
  return unmark(safeText(question), false)
}

function streams({ input, err, signal }: Io) {
  return { input: input as Readable, output: terminalOf(err), signal }
}
