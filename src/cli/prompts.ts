import { type Readable, Writable } from 'node:stream'
import {
  confirm as clackConfirm,
  password as clackPassword,
  progress as clackProgress,
  text as clackText,
  isCancel,
  updateSettings,
} from '@clack/prompts'
import type { Io, Progress, Sink } from './command.ts'
import { CliError } from './errors.ts'
import { statusLine } from './output/layout.ts'
import { safeLine, safeText, unmark } from './output/safe-text.ts'

/*
 * Questions and progress on the terminal. They move the cursor, so the library writes to the terminal unchanged, and only the texts given
 * to it are made safe. They go to `err`, so that the output can be piped.
 */

// Ctrl-D closes the line editor of a question, which would otherwise wait forever.
updateSettings({ aliases: { '\x04': 'cancel' } })

/** Asks yes or no; Enter is no. Throws `INTERRUPTED` for Ctrl-C and Ctrl-D. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  const message = unmark(safeText(question), false)
  return answered(await clackConfirm({ message, initialValue: false, ...streams(io) }))
}

/** Asks for a line; a secret one isn't shown. Throws `INTERRUPTED` for Ctrl-C and Ctrl-D. */
export async function ask(io: Io, question: string, isSecret = false): Promise<string> {
  const message = unmark(safeText(question), false)
  const asked = (isSecret ? clackPassword : clackText)({ message, ...streams(io) })
  return answered(await asked) ?? ''
}

function answered<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new CliError('INTERRUPTED', 'Interrupted; nothing was changed.')
  return answer as Exclude<T, symbol>
}

function streams({ input, err, signal }: Io) {
  return { input: input as Readable, output: terminalStream(err), signal }
}

function terminalStream(sink: Sink): Writable & { isTTY: true; columns: number; rows: number } {
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      sink.write(chunk.toString())
      done()
    },
  })
  return Object.assign(stream, { isTTY: true as const, columns: sink.columns, rows: sink.rows ?? 24 })
}

/** Steps of a bar: finer than the eye can see. */
const STEPS = 1_000

export function startProgress(io: Io, text: string): Progress {
  if (io.input.isTTY !== true) return startLine(io, text)
  const bar = clackProgress({ max: STEPS, size: 30, output: terminalStream(io.err), signal: io.signal })
  let reached = 0
  bar.start(oneLine(text))
  return {
    at: (share, now) => {
      const step = Math.min(STEPS, Math.max(reached, Math.floor(share * STEPS)))
      bar.advance(step - reached, oneLine(now))
      reached = step
    },
    end: (last) => bar.stop(oneLine(last)),
  }
}

/**
 * One line that is overwritten. The bar reads keys from the standard input; if that is a file or a pipe, its contents are for another
 * reader.
 */
function startLine({ err }: Io, text: string): Progress {
  const line = statusLine(err)
  line.show(text)
  return {
    at: (_share, now) => line.show(now),
    end: (last) => {
      line.show(last)
      err.write('\n')
    },
  }
}

function oneLine(text: string): string {
  return unmark(safeLine(text), false)
}
