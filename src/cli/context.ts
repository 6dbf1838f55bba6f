import { join } from 'node:path'
import type { Store } from '../store/store.ts'
import type { Context, Io, Location } from './command.ts'
import { locationNamed } from './location.ts'
import { createStyle, hasColors, printable, safeText, sealed, unmark } from './output/safe-text.ts'

/** Characters that are written together. */
const CHUNK = 65_536

/** Joins short texts into pieces that are worth a write. */
export async function* chunked(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const text of texts) {
    piece += text
    if (piece.length < CHUNK) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/** An object as indented JSON and a line feed, in pieces. A field whose value is an async iterable is a list. */
export async function* jsonPieces(fields: { readonly [name: string]: unknown }): AsyncGenerator<string> {
  let separator = '{'
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    yield `${separator}\n  ${printable(name)}: `
    separator = ','
    if (!isAsyncIterable(value)) {
      yield indentedJson(value, 2)
      continue
    }
    let opening = '['
    for await (const item of value) {
      yield `${opening}\n    ${indentedJson(item, 4)}`
      opening = ','
    }
    yield opening === '[' ? '[]' : '\n  ]'
  }
  yield separator === '{' ? '{}\n' : '\n}\n'
}

/** A value as JSON whose lines after the first are indented. JSON strings contain no line feed, so each one ends a line of the layout. */
export function indentedJson(value: unknown, columns: number): string {
  return printable(value).replaceAll('\n', `\n${' '.repeat(columns)}`)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** The options of every command, as commander parses them. */
export type GlobalOptions = {
  readonly db?: string
  readonly json?: boolean
  readonly yes?: boolean
  readonly color: boolean
  readonly pager: boolean
}

/** The context of one run of a command. `close` closes the stores it opened. */
export async function createContext(
  io: Io,
  options: GlobalOptions,
): Promise<{ readonly context: Context; close(): Promise<void> }> {
  const { env, input, cwd, signal, version, readerLeft } = io
  const colors = {
    out: hasColors(io.out, env, !options.color),
    err: hasColors(io.err, env, !options.color),
  }
  const out = sealed(io.out, colors.out)
  const err = sealed(io.err, colors.err)
  const location = await locate(io, options.db)
  const stores: Store[] = []
  const canAsk = input.isTTY === true && io.err.isTerminal
  const agreed = options.yes === true
  const json = options.json === true
  const hasProgress = io.err.isTerminal && !json && env.TERM !== 'dumb'
  const style = createStyle(colors.out || colors.err)
  const context: Context = {
    out,
    err,
    input,
    style,
    env,
    cwd,
    version,
    signal,
    ...(readerLeft !== undefined && { readerLeft }),
    location,
    json,
    yes: agreed || !canAsk,
    agreed,
    open: async (access, { at = location, ...options } = {}) => {
      const { loadTokenizers, openAt } = await import('./open-store.ts')
      if (access !== 'read') io.changes?.()
      const store = await openAt(at, access, { env, err, style, ...options })
      stores.push(store)
      await loadTokenizers(store)
      // Ids are unique for an owner, so the variable may be necessary to name a session.
      const { UNDERTEXT_OWNER: owner = '' } = env
      return owner === '' ? store : store.forOwner(owner)
    },
    confirm: async (question) =>
      agreed || !canAsk ? agreed : (await import('./prompts.ts')).confirm(io, question),
    ask: async (question, isSecret) =>
      canAsk ? (await import('./prompts.ts')).ask(io, question, isSecret) : undefined,
    pour: async (text) => (io.out.isTerminal ? out.write(text) : io.pour(text)),
    statusLine: async () => {
      if (!hasProgress) return { show: () => {}, clear: () => {} }
      return (await import('./output/layout.ts')).statusLine(io.err)
    },
    progress: async (text) => {
      if (!hasProgress) return { at: () => {}, end: () => {} }
      return (await import('./prompts.ts')).startProgress(io, text)
    },
    page: (text) =>
      page(io, context, colors.out, typeof text === 'string' ? text : chunked(text), options.pager && !json),
    printJson: (value) => out.write(`${printable(value)}\n`),
    pourJson: async (value) => {
      // Completed before any of it is written, so that a failure is the only JSON value on the output.
      const whole: Buffer[] = []
      for await (const piece of chunked(jsonPieces(value))) whole.push(Buffer.from(piece))
      for (const piece of whole) await context.pour(piece.toString())
    },
  }
  return { context, close: async () => void (await Promise.all(stores.map((store) => store.close()))) }
}

/** Where the store is. An empty variable counts as not set. Throws `WRONG_USE`. */
async function locate(io: Io, option: string | undefined): Promise<Location> {
  if (option !== undefined) return locationNamed(option, 'option', io.cwd)
  const variable = io.env.UNDERTEXT_DB ?? ''
  if (variable !== '') return locationNamed(variable, 'environment', io.cwd)
  return { path: join(await io.dataFolder(), 'undertext.db'), from: 'default' }
}

/** Characters that a pager may have taken before it turns out that it never started: more than a pipe holds. */
const MAX_KEPT = 2_000_000

/**
 * Writes a text in pieces of whole lines, through a pager if it is longer than the terminal: `$PAGER`, else `less -R`. An empty `$PAGER`,
 * `cat` or a pager that cannot be started means none. Pieces are read only as fast as they are taken.
 */
export async function page(
  io: Io,
  { out, pour }: Pick<Context, 'out' | 'pour'>,
  colors: boolean,
  text: string | AsyncIterable<string>,
  wanted: boolean,
): Promise<void> {
  const source = new Source(typeof text === 'string' ? [text] : text)
  const seal = (piece: string): string => unmark(safeText(piece), colors)
  const command = io.env.PAGER ?? 'less -R'
  const mayPage = wanted && io.out.isTerminal && command.trim() !== '' && command.trim() !== 'cat'
  const { rows } = io.out
  if (mayPage && io.page !== undefined && rows !== undefined && (await source.isLong(rows))) {
    if (await io.page(command, source.kept(seal))) return source.end()
  }
  for await (const piece of source.all()) {
    if (io.out.isTerminal) out.write(piece)
    else await pour(seal(piece))
  }
}

/** Pieces of a text. Pieces that were read ahead, or given to a pager that never started, are kept. */
class Source {
  readonly #pieces: AsyncIterator<string> | Iterator<string>
  /** Pieces to be repeated before the next one. */
  #kept: string[] = []

  constructor(pieces: Iterable<string> | AsyncIterable<string>) {
    this.#pieces = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]()
  }

  /** Whether the text and the prompt after it fill this many lines. Reads only as much of the text as needed. */
  async isLong(rows: number): Promise<boolean> {
    let lines = 1
    while (lines < rows) {
      const piece = await this.#next()
      if (piece === undefined) return false
      this.#kept.push(piece)
      lines += piece.split('\n').length - 1
    }
    return true
  }

  /** The sealed pieces for a pager. They are kept until the pager must have been started. */
  async *kept(seal: (piece: string) => string): AsyncGenerator<string> {
    const seen = [...this.#kept]
    for (const piece of seen) yield seal(piece)
    let length = seen.reduce((sum, piece) => sum + piece.length, 0)
    for (let piece = await this.#next(); piece !== undefined; piece = await this.#next()) {
      // A request for another piece shows that the earlier ones were taken; whether this one will be, however long, is not known yet.
      if (length > MAX_KEPT) this.#kept = []
      else this.#kept.push(piece)
      length += piece.length
      yield seal(piece)
    }
  }

  /** The kept pieces, then the rest. */
  async *all(): AsyncGenerator<string> {
    yield* this.#kept
    for (let piece = await this.#next(); piece !== undefined; piece = await this.#next()) yield piece
  }

  async end(): Promise<void> {
    await this.#pieces.return?.()
  }

  async #next(): Promise<string | undefined> {
    const { done, value } = await this.#pieces.next()
    return done === true ? undefined : value
  }
}
