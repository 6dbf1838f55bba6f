import type { Context } from './command.ts'
import type { Io } from './io.ts'
import { safeText } from './output/safe-text.ts'
import { unmark } from './output/trusted-codes.ts'

/** Letters a pager may have taken before it turns out that it was never started: what a pipe holds, and more. */
const MOST_KEPT = 2_000_000

/**
 * Writes a text that comes in pieces of whole lines, through a pager when it is longer than the terminal: `$PAGER`, else `less -R`. An
 * empty `$PAGER` or `cat` means none, and so does a pager that cannot be started. Pieces are taken as fast as they are read.
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
    if (await io.page(command, sealed(source.paged(), seal))) return source.end()
  }
  for await (const piece of source.all()) {
    if (io.out.isTerminal) out.write(piece)
    else await pour(seal(piece))
  }
}

async function* sealed(
  pieces: AsyncIterable<string>,
  seal: (piece: string) => string,
): AsyncGenerator<string> {
  for await (const piece of pieces) yield seal(piece)
}

/** Pieces of a text, of which the first can be looked at, or taken in vain, and are not lost. */
class Source {
  readonly #pieces: AsyncIterator<string> | Iterator<string>
  /** What stands before what is still to be read. */
  #kept: string[] = []

  constructor(pieces: Iterable<string> | AsyncIterable<string>) {
    this.#pieces = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]()
  }

  /** Whether the text and the line behind it fill so many lines; reads as much of it as that takes. */
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

  /** For a pager; what it takes is kept until it must have been started. */
  async *paged(): AsyncGenerator<string> {
    const seen = [...this.#kept]
    yield* seen
    let letters = seen.reduce((sum, { length }) => sum + length, 0)
    for (let piece = await this.#next(); piece !== undefined; piece = await this.#next()) {
      // Whoever asks for more has taken what came before; of this piece, however long, nobody knows yet.
      if (letters > MOST_KEPT) this.#kept = []
      else this.#kept.push(piece)
      letters += piece.length
      yield piece
    }
  }

  /** What was kept, then the rest. */
  async *all(): AsyncGenerator<string> {
    yield* this.#kept
    for (let piece = await this.#next(); piece !== undefined; piece = await this.#next()) yield piece
  }

  /** Nobody wants the rest. */
  async end(): Promise<void> {
    await this.#pieces.return?.()
  }

  async #next(): Promise<string | undefined> {
    const { done, value } = await this.#pieces.next()
    return done === true ? undefined : value
  }
}
