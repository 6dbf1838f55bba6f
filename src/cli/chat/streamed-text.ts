/** Graphemes that wait for what may still join them. */
const HELD = 2

/**
 * Text that comes in pieces, cut anew between whole characters as people see them: what makes text safe for a terminal looks at a
 * character's neighbours, and half of an emoji would be shown as a number.
 */
export class StreamedText {
  readonly #write: (text: string) => void
  readonly #segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  #held = ''

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  push(piece: string): void {
    const graphemes = [...this.#segmenter.segment(this.#held + piece)]
    const from = graphemes.at(-HELD)?.index ?? 0
    const text = this.#held + piece
    this.#held = text.slice(from)
    if (from > 0) this.#write(text.slice(0, from))
  }

  /** Lets out what is left. */
  end(): void {
    if (this.#held !== '') this.#write(this.#held)
    this.#held = ''
  }
}
