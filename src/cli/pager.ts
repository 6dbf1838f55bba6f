import type { Sink } from './command.ts'
import type { Io } from './io.ts'
import { safeText } from './output/safe-text.ts'
import { unmark } from './output/trusted-codes.ts'

/**
 * Writes a text, through a pager when it is longer than the terminal: `$PAGER`, else `less -R`. An empty `$PAGER` or `cat` means none, and
 * so does a pager that cannot be started.
 */
export async function page(
  io: Io,
  out: Sink,
  colours: boolean,
  text: string,
  wanted: boolean,
): Promise<void> {
  const command = io.env.PAGER ?? 'less -R'
  const isLong = (io.out.rows ?? Number.POSITIVE_INFINITY) <= text.split('\n').length
  const isPaged = wanted && io.out.isTerminal && isLong && command.trim() !== '' && command.trim() !== 'cat'
  if (isPaged && (await io.page?.(command, unmark(safeText(text), colours))) === true) return
  out.write(text)
}
