import { withReadableBlocks } from '../messages/compaction-block.ts'
import { type Message, partsOf } from '../messages/message.ts'
import { type Digest, mergeDigests, ToolCallReader } from '../summarizers/digest.ts'
import { type ExtractiveReader, extractiveReader } from '../summarizers/extractive.ts'
import type { Summarizer } from '../summarizers/summarizer.ts'
import type { SummarySource } from './summary-chunks.ts'

/** What a summary row remembers, so that the next summary can build on it. */
type SummaryMemory = { readonly textLength: number; readonly digest: Digest }

/**
 * What one summary is written from, read one row after another. Rows are kept only for a summarizer that receives
 * messages: the extractive one reads each row at once, and a summary that is given needs the digest only.
 */
export class SummaryMaterial {
  /** Texts of the summaries that come first, which the new one continues. */
  readonly earlier: string[] = []
  /** The rows after those, where they are kept. */
  readonly rest: SummarySource[] = []
  /** Has read the rows after those, where they are not kept. */
  readonly reader: ExtractiveReader | undefined
  /** Number of rows after those. */
  count = 0
  readonly #keepsRows: boolean
  readonly #continues: boolean
  readonly #calls = new ToolCallReader()
  readonly #digests: Digest[] = []

  /** `summarizer`: the one that is to write, `undefined` when the text is given. `level`: that of its request. */
  constructor(summarizer: Summarizer | undefined, level?: number) {
    this.reader = summarizer && extractiveReader(summarizer)
    this.#keepsRows = summarizer !== undefined && this.reader === undefined
    // Summaries of one level are merged side by side, none of them into the next.
    this.#continues = level === undefined
  }

  static of(
    sources: Iterable<SummarySource>,
    summarizer: Summarizer | undefined,
    level?: number,
  ): SummaryMaterial {
    const material = new SummaryMaterial(summarizer, level)
    for (const source of sources) material.add(source)
    return material
  }

  add(source: SummarySource): void {
    if (source.kind === 'message') this.#calls.add(source.original)
    const memory = memoryOf(source)
    if (memory !== undefined) this.#digests.push(memory.digest)
    if (source.kind === 'summary' && this.#continues && this.count === 0) {
      this.earlier.push(ownText(source))
      return
    }
    this.count += 1
    if (this.#keepsRows) this.rest.push(source)
    this.reader?.add({ ...readableSource(source, true), kind: source.kind })
  }

  /** What was run in all rows, summaries included. */
  digest(): Digest {
    return [...this.#digests, this.#calls.digest()].reduce(mergeDigests)
  }

  /** Files of the rows after the earlier summaries. */
  files(): { readonly read: readonly string[]; readonly modified: readonly string[] } {
    return this.#calls.files()
  }
}

/** A row as a summarizer reads it: as it is stored or as it is shown; a summary without its digest, which is merged apart. */
export function readableSource(source: SummarySource, asStored: boolean): Message {
  if (source.kind === 'summary') return withReadableBlocks({ ...source.shown, content: ownText(source) })
  return withReadableBlocks(asStored ? source.original : source.shown)
}

function memoryOf({ kind, metadata }: SummarySource): SummaryMemory | undefined {
  if (kind !== 'summary' || metadata === undefined) return undefined
  const { textLength, digest } = metadata
  if (typeof textLength !== 'number' || typeof digest !== 'object' || digest === null) return undefined
  return { textLength, digest: digest as unknown as Digest }
}

/** A summary's text without its digest. */
function ownText(source: SummarySource): string {
  const text = textOf(source.shown)
  const length = memoryOf(source)?.textLength
  return length === undefined ? text : text.slice(0, length)
}

function textOf(message: Message): string {
  return partsOf(withReadableBlocks(message))
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
}
