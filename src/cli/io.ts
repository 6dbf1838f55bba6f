import type { Context, Sink } from './command.ts'

/** What a program run has of the world outside. */
export type Io = Pick<Context, 'input' | 'env' | 'cwd' | 'signal' | 'readerLeft'> & {
  /** As they are: what is written to them is sent. */
  readonly out: Sink
  readonly err: Sink
  /** This package's version. */
  readonly version: string
  /** The per-user folder for data. */
  dataFolder(): Promise<string>
  /** Says that a store is opened for writing: from then on a reader who leaves does not end the program. */
  changes?(): void
  /** Writes to the standard output and waits until it can take more. */
  pour?(text: string): Promise<void>
  /** Shows a long text by a program of the user's, in pieces as it takes them; false when there is none, and nothing was shown. */
  page?(command: string, pieces: AsyncIterable<string>): Promise<boolean>
}
