import { withReadableBlocks } from '../../core/messages/compaction-block.ts'
import { isObject, type Json, type JsonObject, stringifyJson } from '../../core/messages/json.ts'
import {
  type Message,
  type Part,
  partsOf,
  type RowKind,
  textsOf,
  withOutputText,
} from '../../core/messages/message.ts'
import { TextAgentReader } from '../../core/messages/text-agent.ts'
import type { ToolNames } from '../../core/messages/tool-names.ts'
import { CallReader } from '../../core/summarizers/calls.ts'
import { type Digest, mergeDigests, ToolCallReader } from '../../core/summarizers/digest.ts'
import { type ExtractiveReader, extractiveReader, type LogRecord } from '../../core/summarizers/extractive.ts'
import { LogReader } from '../../core/summarizers/model/log-reader.ts'
import type { Summarizer } from '../../core/summarizers/summarizer.ts'
import { fitText, shortenMiddle } from '../../core/summarizers/text.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import {
  addSizes,
  measureMessage,
  NO_SIZES,
  type Sizes,
  tokensOf,
  tokensOfText,
} from '../../core/tokens/measure.ts'

/** The data stored with a summary row so that the next summary can build on it. */
type SummaryMemory = { readonly textLength: number; readonly digest: Digest }

type MaterialOptions = ToolNames & { readonly level?: number | undefined }

/**
 * The material of one summary, added row by row. Rows are kept only for a summarizer that receives messages: the extractive one reads each
 * row at once, and a given summary needs only the digest.
 */
export class SummaryMaterial {
  /** Texts of the summaries at the start, which the new one continues. */
  readonly earlier: string[] = []
  /** Facts from the log that summaries by models stored. */
  readonly memory: { rules: string[]; withdrawn: string[]; lastTest?: LogRecord['lastTest'] } = {
    rules: [],
    withdrawn: [],
  }
  /** The rows after the earlier summaries, if they are kept. */
  readonly rest: SummarySource[] = []
  /** The reader of the rows after the earlier summaries, if they aren't kept. */
  readonly reader: ExtractiveReader | undefined
  /** The reader of the log against which a model's summary is checked. */
  readonly log: LogReader | undefined
  /** Number of rows after the earlier summaries. */
  count = 0
  readonly #keepsRows: boolean
  readonly #continues: boolean
  readonly #textAgent = new TextAgentReader()
  /** Tool names from the settings. */
  readonly names: ToolNames
  readonly #calls: CallReader
  readonly #digest = new ToolCallReader()
  readonly #digests: Digest[] = []

  /** `summarizer`: `undefined` if the text is given. `level`: that of its request. */
  constructor(summarizer: Summarizer | undefined, { level, ...names }: MaterialOptions = {}) {
    this.names = names
    this.#calls = new CallReader(names)
    this.reader = summarizer && extractiveReader(summarizer)
    this.log = summarizer?.usesModel === true ? new LogReader() : undefined
    this.#keepsRows = summarizer !== undefined && this.reader === undefined
    // Summaries of one level are merged with each other instead of being continued.
    this.#continues = level === undefined
  }

  get #anyReader(): ExtractiveReader | undefined {
    return this.reader ?? this.log
  }

  static of(
    sources: Iterable<SummarySource>,
    summarizer: Summarizer | undefined,
    options: MaterialOptions = {},
  ): SummaryMaterial {
    const material = new SummaryMaterial(summarizer, options)
    for (const source of sources) material.add(source)
    material.end()
    return material
  }

  add(source: SummarySource): void {
    const isMessage = source.kind === 'message'
    const readable = readableSource(source, true)
    const read = isMessage ? this.#textAgent.read(readable) : readable
    const calls = this.#calls.add(read)
    if (isMessage) this.#digest.addCalls(calls)
    const memory = memoryOf(source)
    if (memory !== undefined) this.#digests.push(memory.digest)
    if (this.log !== undefined && source.kind === 'summary') this.#remember(source)
    if (source.kind === 'summary' && this.#continues && this.count === 0) {
      this.earlier.push(ownText(source))
      return
    }
    this.count += 1
    if (this.#keepsRows) this.rest.push(source)
    this.#anyReader?.add({ ...read, kind: source.kind }, calls, source.position)
  }

  #remember(source: SummarySource): void {
    const { withdrawn, lastTest } = source.metadata ?? {}
    for (const rule of rulesOf(source)) this.memory.rules.push(rule)
    for (const rule of textsIn(withdrawn)) this.memory.withdrawn.push(rule)
    if (isObject(lastTest) && typeof lastTest.label === 'string')
      this.memory.lastTest = {
        label: lastTest.label,
        outcome: lastTest.outcome === 'failed' ? 'failed' : 'ok',
      }
  }

  /** Adds the calls in an agent's last text, whose results come later. Call it after the last row. */
  end(): void {
    const message = this.#textAgent.unfinished()
    if (message !== undefined) this.#anyReader?.add({ ...message, kind: 'message' }, this.#calls.add(message))
  }

  /** Adds a row that the view shows after the summary. Call it after `end`. */
  follow(source: SummarySource): void {
    const shown = readableSource(source, false)
    this.#anyReader?.follow({ ...shown, kind: source.kind }, this.#calls.add(shown))
  }

  /** Returns the tool calls of all rows, including those in earlier summaries. */
  digest(): Digest {
    return [...this.#digests, this.#digest.digest()].reduce(mergeDigests)
  }

  /** Returns the files of the rows after the earlier summaries. */
  files(): { readonly read: readonly string[]; readonly modified: readonly string[] } {
    return this.#digest.files()
  }
}

/** Returns a row as a summarizer reads it, as stored or as shown; a summary without its digest, which is merged separately. */
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

/** Returns the user's rules that an earlier summary stored; for one by the offline summarizer, the user's quotations in its text. */
function rulesOf(source: SummarySource): readonly string[] {
  const stored = source.metadata?.rules
  if (Array.isArray(stored)) return textsIn(stored)
  return [...ownText(source).matchAll(/^- (User: ".*"(?: \(message \d{1,15}\))?)$/gm)].map(
    ([, rule]) => rule!,
  )
}

function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function ownText(source: SummarySource): string {
  const text = textsOf(withReadableBlocks(source.shown)).join('')
  const length = memoryOf(source)?.textLength
  return length === undefined ? text : text.slice(0, length)
}

/** Share of the room that each end gets of a text that alone is too long for a summarizer. */
const END_SHARE = 0.4
/** Maximum number of times a row is halved before its parts are joined into one text. */
const MAX_HALVINGS = 8

/** A row that a summary replaces. */
export type SummarySource = {
  readonly kind: RowKind
  /** As the view shows it. */
  readonly shown: Message
  /** As stored: the digest uses the real outputs. */
  readonly original: Message
  readonly metadata: JsonObject | undefined
  /** Its position in the log; `undefined` for summaries, markers and messages of an array. */
  readonly position?: number | undefined
}

/** Measures the input of a summarizer in tokens of one provider. */
export class InputMeter {
  readonly #estimator: Estimator
  readonly #provider: string | undefined
  readonly #perMessage: number

  /** `perMessage`: tokens that the summarizer's request adds to each message. */
  constructor(estimator: Estimator, provider: string | undefined, perMessage: number) {
    this.#estimator = estimator
    this.#provider = provider
    this.#perMessage = perMessage
  }

  sizesOf({ shown }: SummarySource): Sizes {
    return measureMessage(shown, this.#estimator)
  }

  /** Returns the tokens of `count` messages in one request. */
  ofMessages(sizes: Sizes, count: number): number {
    return tokensOf(sizes, count, this.#estimator, this.#provider) + count * this.#perMessage
  }

  /** Returns the tokens of the summary so far, counted as a separate message; 0 for an empty one. */
  ofText(text: string): number {
    if (text === '') return 0
    const estimator = this.#estimator
    return tokensOfText(text, estimator, this.#provider) + estimator.tokensPerMessage
  }
}

/**
 * Returns the rows from `from` on that together take at most `room` tokens, at least one, and the start of the next chunk. Calls and their
 * results stay together if they fit; a row that alone doesn't fit is shortened in the middle, never left out.
 */
export function takeChunk(
  sources: readonly SummarySource[],
  from: number,
  room: number,
  meter: InputMeter,
): { readonly chunk: readonly SummarySource[]; readonly next: number } {
  if (room === Number.POSITIVE_INFINITY) return { chunk: sources.slice(from), next: sources.length }
  const chunk: SummarySource[] = []
  let sizes = NO_SIZES
  for (let at = from; at < sources.length; at++) {
    const fitted = fitSource(sources[at]!, room, meter)
    const own = meter.sizesOf(fitted)
    const sum = addSizes(sizes, own)
    if (chunk.length > 0 && meter.ofMessages(sum, chunk.length + 1) > room) {
      // A result stays with the call before it, so the call moves to the next chunk too if both fit.
      const start = startsWithResult(fitted) ? callBefore(chunk) : chunk.length
      const moved = chunk.slice(start).reduce((total, source) => addSizes(total, meter.sizesOf(source)), own)
      const moves = start > 0 && meter.ofMessages(moved, chunk.length - start + 1) <= room
      return moves ? { chunk: chunk.slice(0, start), next: from + start } : { chunk, next: at }
    }
    chunk.push(fitted)
    sizes = sum
  }
  return { chunk, next: sources.length }
}

/** Returns the index of the row whose calls the result after the chunk may belong to: the one before the results at the end. */
function callBefore(chunk: readonly SummarySource[]): number {
  let at = chunk.length - 1
  while (at > 0 && startsWithResult(chunk[at]!)) at--
  return at
}

function startsWithResult({ shown }: SummarySource): boolean {
  return partsOf(shown)[0]?.type === 'tool-result'
}

/** Returns a row that takes at most `room` tokens. All its texts are shortened equally; a row with too many parts becomes one text. */
function fitSource(source: SummarySource, room: number, meter: InputMeter): SummarySource {
  const tokensOfSource = (some: SummarySource): number => meter.ofMessages(meter.sizesOf(some), 1)
  const tokens = tokensOfSource(source)
  if (tokens <= room) return source
  let share = (Math.max(0, room) / tokens) * 2 * END_SHARE
  for (let tries = 0; tries <= MAX_HALVINGS; tries++) {
    const shortened = withContent(source, shortenParts(source.shown, share))
    if (tokensOfSource(shortened) <= room) return shortened
    share /= 2
  }
  const whole = partsOf(source.shown).map(plainText).join('\n')
  return withContent(
    source,
    fitText(whole, (text) => tokensOfSource(withContent(source, text)) <= room),
  )
}

function withContent(source: SummarySource, content: Message['content']): SummarySource {
  return { ...source, shown: { ...source.shown, content } }
}

function shortenParts(message: Message, share: number): Part[] {
  const shorten = (text: string): string => shortenMiddle(text, Math.floor(text.length * share))
  return partsOf(message).map((part): Part => {
    if (part.type === 'text' || part.type === 'reasoning') return { ...part, text: shorten(part.text) }
    if (part.type === 'tool-result')
      return { ...part, output: withOutputText(part.output, shorten(outputOf(part))) }
    if (part.type === 'tool-call') {
      const json = stringifyJson(part.input)
      const short = shorten(json)
      return short.length < json.length ? { ...part, input: short } : part
    }
    return { type: 'text', text: `[${part.type}]` }
  })
}

function plainText(part: Part): string {
  if (part.type === 'text' || part.type === 'reasoning') return part.text
  if (part.type === 'tool-result') return outputOf(part)
  return part.type === 'tool-call' ? `${part.toolName} ${stringifyJson(part.input)}` : `[${part.type}]`
}

function outputOf(part: Extract<Part, { type: 'tool-result' }>): string {
  const { output } = part
  if (output.type === 'content')
    return output.value.map((item) => (item.type === 'text' ? item.text : `[${item.type}]`)).join('\n')
  return typeof output.value === 'string' ? output.value : stringifyJson(output.value)
}
