import type { Context, Io } from '../command.ts'
import { safeText, unmark } from './safe-text.ts'

/** Characters that a pager may have taken before it turns out that it never started: more than a pipe holds. */
const MOST_KEPT = 2_000_000

/**
 * Writes a text in pieces of whole lines, through a pager if it is longer than the terminal: `$PAGER`, else `less -R`. An empty `$PAGER`,
 * `cat` or a pager that cannot be started means none. Pieces are read only as fast as they are taken.
 */
export async function page(
  io: Io,
  { out, pour }: Pick<Context, 'out' | 'pour'>,
  colours: boolean,
  text: string | AsyncIterable<string>,
  wanted: boolean,
): Promise<void> {
  const source = new Source(typeof text === 'string' ? [text] : text)
  const seal = (piece: string): string => unmark(safeText(piece), colours)
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

/** Pieces of a text. Those that were looked at, or given to a pager that never started, are kept. */
class Source {
  readonly #pieces: AsyncIterator<string> | Iterator<string>
  /** Pieces to be repeated before the next one. */
  #kept: string[] = []

  constructor(pieces: Iterable<string> | AsyncIterable<string>) {
    this.#pieces = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]()
  }

  /** Whether the text and the prompt after it fill so many lines; reads as much of it as that takes. */
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
      if (length > MOST_KEPT) this.#kept = []
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
