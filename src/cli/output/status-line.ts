import type { Sink, StatusLine } from '../command.ts'
import { clipped } from './layout.ts'
import { safeLine, unmark } from './safe-text.ts'

/** A line of a terminal that is rewritten. It moves the cursor, so it writes to the terminal unchanged, and makes its text safe. */
export function statusLine(terminal: Sink): StatusLine {
  let shown = ''
  return {
    show: (text) => {
      const line = clipped(unmark(safeLine(text), false), terminal.columns - 1)
      if (line !== shown) terminal.write(`\r\x1b[2K${line}`)
      shown = line
    },
    clear: () => {
      if (shown !== '') terminal.write('\r\x1b[2K')
      shown = ''
    },
  }
}
