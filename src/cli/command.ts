import type { Command as Commander } from 'commander'
import type { OpenOptions, SqliteStore } from '../store/open.ts'

/*
 * What a command is and what it may touch. A command is registered on the program with its options and examples; when it is run it gets
 * a context, through which all its reading and writing goes. Nothing here or in a command reads `process` itself, so that a command
 * can be run within a test as well as by a terminal.
 */

/** A stream a command writes to. */
export type Sink = {
  /** Whether a person watches: colours, progress and questions only then. */
  readonly isTerminal: boolean
  /** Columns of the terminal; 80 where there is none. */
  readonly columns: number
  /** Lines of the terminal, where there is one. */
  readonly rows?: number
  write(text: string): void
}

/** Colours and weights; all of them leave a text as it is where colours are off. */
export type Style = {
  readonly [name in
    | 'bold'
    | 'dim'
    | 'red'
    | 'green'
    | 'yellow'
    | 'blue'
    | 'magenta'
    | 'cyan'
    | 'gray'
    | 'inverse']: (text: string) => string
}

export type Context = {
  readonly out: Sink
  readonly err: Sink
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly style: Style
  readonly env: { readonly [name: string]: string | undefined }
  readonly cwd: string
  /** This package's version. */
  readonly version: string
  /** Whether `--json` was given: then one JSON value goes to `out` and nothing else does. */
  readonly json: boolean
  /** Whether `--yes` was given, or nobody can be asked. */
  readonly yes: boolean
  /** Whether `--yes` itself was given. */
  readonly agreed: boolean
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  /** Aborted when whoever read the output of a command that changes the store has left. What could go on for ever ends then. */
  readonly readerLeft?: AbortSignal
  /** Where the store is, and who said so: `--db`, `UNDERTEXT_DB` or the per-user default. */
  readonly location: { readonly path: string; readonly from: 'option' | 'environment' | 'default' }
  /**
   * The store, opened once and closed when the command ends. `read` opens it read-only and never makes it: `NOT_THERE` (exit 3) when there is none. `change` opens one that is
   * there for writing, and `write` makes it, with its folder where it is the default one.
   */
  open(access: 'read' | 'change' | 'write', options?: Pick<OpenOptions, 'config'>): Promise<SqliteStore>
  /** The id of a session by itself, a beginning that only one has, or `@` for the one changed last. Throws `SESSION_NOT_FOUND`, `AMBIGUOUS`. */
  session(store: SqliteStore, given: string): Promise<string>
  /** The id of a compaction or a run by itself, a beginning or an end that only one has, or `@` for the newest run. Throws `COMPACTION_NOT_FOUND`, `AMBIGUOUS`. */
  compaction(store: SqliteStore, sessionId: string, given: string): Promise<string>
  /** Asks yes or no on the terminal; true at once with `--yes`, false when nobody can be asked. Ctrl-C throws `INTERRUPTED`. */
  confirm(question: string): Promise<boolean>
  /** Asks for a line on the terminal; `undefined` when nobody can be asked. Ctrl-C throws `INTERRUPTED`. */
  ask(question: string): Promise<string | undefined>
  /**
   * Writes data to `out`: exactly as it is where that is a file or a pipe, made safe on a terminal. Waits until whoever reads it can take more.
   */
  pour(text: string): Promise<void>
  /** A bar on the terminal while something takes long; nothing where nobody watches, or with `--json`. */
  progress(text: string): Promise<Progress>
  /**
   * Writes a text that may be longer than the screen: through the pager on a terminal, else to `out`. Where it comes in pieces of whole lines,
   * each is written as it comes.
   */
  page(text: string | AsyncIterable<string>): Promise<void>
  /** One JSON value, for `--json`: bytes as base64, undefined left out. */
  printJson(value: unknown): void
  /** The same for an object that may be large. A field whose value is an async iterable is a list. Written when all of it could be made. */
  pourJson(value: JsonFields): Promise<void>
}

/** An object to be told as JSON; fields that are async iterables are lists. */
export type JsonFields = { readonly [name: string]: unknown }

/** A bar under way. */
export type Progress = {
  /** How much is done, 0 to 1, and a few words. */
  at(share: number, text: string): void
  end(text: string): void
}

/** A command. `register` adds it to the program; `run` is wired by the program, which turns what it throws into an exit code. */
export type CliCommand = {
  readonly name: string
  register(program: Commander, run: Runner): void
}

/** Runs a command's action in a context; what it answers is the exit code. */
export type Runner = (action: (context: Context) => Promise<number>) => Promise<void>
