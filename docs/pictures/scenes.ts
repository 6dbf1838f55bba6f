import type { Terminal } from '../../test/cli/pty/terminal.ts'

/** A picture: a command, and what is done on its screen before it is drawn. */
export type Scene = {
  /** Of its file, without `.svg`. */
  readonly name: string
  /** On the window, and for those who cannot see it. */
  readonly title: string
  /** Behind `undertext`. */
  readonly command: string
  readonly columns?: number
  /** Default: the command's end is waited for. */
  play?(terminal: Terminal): Promise<void>
}

/** All pictures, in the order they are taken: what one changes in the store the next ones show. */
export const PICTURES: readonly Scene[] = [
  { name: 'sessions', title: 'undertext sessions', command: 'sessions' },
  { name: 'compact', title: 'undertext compact --dry-run', command: 'compact checkout --dry-run' },
]
