import type { OpenOptions } from '../store/open.ts'
import type { Store } from '../store/store.ts'

/*
 * The environment of an action. All its input and output goes through a context, never through `process`, so that a command runs in a test
 * as it does in a terminal.
 */

/** A stream that a command writes to. */
export type Sink = {
  /** Colors, progress and questions appear only on a terminal. */
  readonly isTerminal: boolean
  /** Columns of the terminal; 80 without one. */
  readonly columns: number
  /** Lines of the terminal; absent without one. */
  readonly rows?: number
  write(text: string): void
}

export const STYLES = ['bold', 'dim', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'gray'] as const

/** Colors and weights. Without colors each function returns its text unchanged. */
export type Style = { readonly [name in (typeof STYLES)[number]]: (text: string) => string }

/** The stream to write text to, and its colors. */
export type Output = Pick<Context, 'out' | 'style'>

/** Where the store is. */
export type Location = {
  /** The path of a file, or the address of a server without user and password. Only this is printed. */
  readonly path: string
  /** The address of a server, with its password; absent for a file. */
  readonly url?: string
  /** The source of the location: `--db`, `UNDERTEXT_DB` or the per-user default. */
  readonly from: 'option' | 'environment' | 'default'
}

/** How a command opens a store. `at`: a store other than the one that `--db` names. */
type StoreOptions = Pick<OpenOptions, 'config' | 'estimators'> & { readonly at?: Location }

export type Context = {
  readonly out: Sink
  readonly err: Sink
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly style: Style
  readonly env: { readonly [name: string]: string | undefined }
  readonly cwd: string
  /** This package's version. */
  readonly version: string
  /** Whether `--json` was given. Then exactly one JSON value is written to `out`. */
  readonly json: boolean
  /** Whether questions are skipped: `--yes` was given, or there is no terminal to ask on. */
  readonly yes: boolean
  /** Whether `--yes` itself was given. */
  readonly agreed: boolean
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  /** Aborted when the reader of the output has left while a command changes the store. Endless work ends then. */
  readonly readerLeft?: AbortSignal
  readonly location: Location
  /**
   * Opens the store; it is closed when the command ends. `read` opens an existing one read-only and `change` for writing; both throw
   * `NOT_THERE` (exit 3) if there is none. `write` creates it, with its folder if that is the default one.
   */
  open(access: 'read' | 'change' | 'write', options?: StoreOptions): Promise<Store>
  /** Asks yes or no on the terminal. Returns true at once with `--yes`, false without a terminal. Ctrl-C throws `INTERRUPTED`. */
  confirm(question: string): Promise<boolean>
  /** Asks for a line on the terminal; a secret one isn't shown. Returns `undefined` without a terminal. Ctrl-C throws `INTERRUPTED`. */
  ask(question: string, isSecret?: boolean): Promise<string | undefined>
  /** Writes data to `out`: unchanged to a file or a pipe, made safe on a terminal. Waits until the reader can take more. */
  pour(text: string): Promise<void>
  /** Shows a progress bar on the terminal; nothing without a terminal or with `--json`. */
  progress(text: string): Promise<Progress>
  /**
   * Begins a line of the terminal that is rewritten; nothing without a terminal or with `--json`. It reads no keys, so that Ctrl-C
   * interrupts.
   */
  statusLine(): Promise<StatusLine>
  /** Writes a text that may be longer than the screen: through the pager on a terminal, else to `out`. Pieces must be whole lines. */
  page(text: string | AsyncIterable<string>): Promise<void>
  /** Writes one JSON value, for `--json`: bytes as base64, undefined left out. */
  printJson(value: unknown): void
  /**
   * Like `printJson`, for an object that may be large. A field whose value is an async iterable becomes a list. If producing it fails,
   * nothing is written.
   */
  pourJson(value: { readonly [name: string]: unknown }): Promise<void>
}

export type Progress = {
  /** The share done, 0 to 1, and a few words. */
  at(share: number, text: string): void
  end(text: string): void
}

/** A line of the terminal that is rewritten, until it is cleared. */
export type StatusLine = {
  show(text: string): void
  clear(): void
}

/** The parts of its process that a run of the program uses. */
export type Io = Pick<Context, 'input' | 'env' | 'cwd' | 'signal' | 'readerLeft' | 'version'> & {
  /** Whatever is written here is sent unchanged. */
  readonly out: Sink
  readonly err: Sink
  /** The per-user folder for data. */
  dataFolder(): Promise<string>
  /** Called when a store is opened for writing: from then on a reader who leaves does not end the program. */
  changes?(): void
  /** Writes to the standard output and waits until the reader can take more. */
  pour(text: string): Promise<void>
  /**
   * Shows a long text with the given pager, in pieces as it takes them. Returns false if the pager could not be started, so that nothing
   * was shown.
   */
  page?(command: string, pieces: AsyncIterable<string>): Promise<boolean>
}
