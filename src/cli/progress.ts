import { progress as clackProgress } from '@clack/prompts'
import type { Progress } from './command.ts'
import type { Io } from './io.ts'
import { clipped } from './output/layout.ts'
import { safeLine } from './output/safe-text.ts'
import { terminalOf } from './output/terminal.ts'
import { unmark } from './output/trusted-codes.ts'

/** Steps of a bar: as fine as anybody can see. */
const STEPS = 1_000

/** A bar on the terminal, or nothing at all where nobody watches. It goes to `err`, so that what is on `out` can be piped on. */
export function startProgress(io: Io, isShown: boolean, text: string): Progress {
  if (!isShown) return { at: () => undefined, end: () => undefined }
  if (io.input.isTTY !== true) return startLine(io, text)
  const bar = clackProgress({ max: STEPS, size: 30, output: terminalOf(io.err), signal: io.signal })
  let reached = 0
  bar.start(plain(text))
  return {
    at: (share, now) => {
      const step = Math.min(STEPS, Math.max(reached, Math.floor(share * STEPS)))
      bar.advance(step - reached, plain(now))
      reached = step
    },
    end: (last) => bar.stop(plain(last)),
  }
}

/**
 * One line that is written over. A bar of clack's reads keys from the standard input, and where that is no keyboard, what comes by it is for
 * somebody else: a file that is piped in, or the list a loop of a shell goes through.
 */
function startLine({ err }: Io, text: string): Progress {
  let drawn = ''
  const draw = (now: string): void => {
    const line = clipped(plain(now), err.columns - 1)
    if (line !== drawn) err.write(`\r\x1b[2K${line}`)
    drawn = line
  }
  draw(text)
  return {
    at: (_share, now) => draw(now),
    end: (last) => {
      draw(last)
      err.write('\n')
    },
  }
}

function plain(text: string): string {
  return unmark(safeLine(text), false)
}
