import { invalid, isUndertextError, type UndertextError } from '../core/errors.ts'
import { callApplication, readable } from '../core/messages/check.ts'
import { type Json, type JsonObject, jsonProblem } from '../core/messages/json.ts'
import {
  type Message,
  type ProviderPart,
  type ToolResultContent,
  type ToolResultOutput,
  UNREAD,
} from '../core/messages/message.ts'
import { wellFormedMessages } from '../core/messages/well-formed.ts'
import { hasScheme, isTextBlock, joinBlocks, jsonMessageAt, listAt, messageRead, objectAt } from './wire.ts'

/*
 * The common part of all conversions between the neutral form and another format: how content that doesn't fit is rejected, kept or
 * reported.
 */

/**
 * What a conversion did with content that does not fit.
 *
 * - `kept`: read from a format; the neutral form has no part for it. It is stored whole and written again in
 *   the same format, for the same provider; other formats do not send it.
 * - `unread`: read with `lenient`; the format does not allow it. It is stored as given and never sent.
 * - `changed`: written to a format in another form (a text for an image).
 * - `not-sent`: the target format has no place for it. It is still in the message that was converted.
 */
export type ConversionNoteKind = 'kept' | 'unread' | 'changed' | 'not-sent'

/** One note of a conversion. Holds places and rules, never text of the conversation. */
export type ConversionNote = {
  readonly kind: ConversionNoteKind
  /** Index of the message in the converted list; -1 for content beside the list (a system prompt). */
  readonly messageIndex: number
  /** The place in the input, for example `[3].content[1].source`. */
  readonly place: string
  /** The rule or the reason: one sentence without a full stop. */
  readonly why: string
}

/** How a conversion handles content that does not fit. */
export type ConversionOptions = {
  /**
   * Keeps content that the format doesn't allow as an unread part, instead of rejecting the whole conversion. Default: false. A value that
   * isn't a list is always rejected.
   */
  readonly lenient?: boolean | undefined
  /** Receives a note for everything that was kept whole, not read, changed or not sent, in the order of the messages. */
  readonly onNote?: ((note: ConversionNote) => void) | undefined
}

export { UNREAD }

/** Whether providers reject a message that holds only this part: reasoning, or a blank text. */
export function isSilent({ type, text }: { readonly type: string; readonly text?: unknown }): boolean {
  return type === 'reasoning' || (type === 'text' && typeof text === 'string' && text.trim() === '')
}

/** Returns why a part that was kept whole is not sent, in the same words for every format. `own` is the provider of the format. */
export function omissionReason(provider: string, own: string): string {
  if (provider === UNREAD) return "it couldn't be read, so it is never sent"
  return provider === own ? 'this format has no part for it' : 'only another provider can read it'
}

/** The error for a part of an unknown type. */
export function unknownPart(place: string): UndertextError<'INVALID_INPUT'> {
  return invalid(`${place}.type: isn't a part type`)
}

/** One conversion: its format, its current message, and the handling of content that does not fit. */
export class Conversion {
  /** The name of the format in notes and unread parts. */
  readonly format: string
  /** The tool names of the calls read or written so far, by call id. */
  readonly toolNames = new Map<string, string>()
  readonly #lenient: boolean
  readonly #onNote: ((note: ConversionNote) => void) | undefined
  #messageIndex = -1

  constructor(format: string, options: ConversionOptions = {}) {
    if (typeof options !== 'object' || options === null) throw invalid(`${format}: options must be an object`)
    const { lenient, onNote } = options
    if (lenient !== undefined && typeof lenient !== 'boolean')
      throw invalid(`${format}: options.lenient must be true or false`)
    if (onNote !== undefined && typeof onNote !== 'function')
      throw invalid(`${format}: options.onNote must be a function`)
    this.format = format
    this.#lenient = lenient ?? false
    this.#onNote = onNote
  }

  /** Sets the message that the next notes name. */
  at(messageIndex: number): void {
    this.#messageIndex = messageIndex
  }

  note(kind: ConversionNoteKind, place: string, why: string): void {
    callApplication(() => this.#onNote?.({ kind, messageIndex: this.#messageIndex, place, why }))
  }

  /** Returns the messages without unpaired surrogates, which providers reject, and reports each change. */
  sendable<M extends Message>(messages: readonly M[]): readonly M[] {
    return wellFormedMessages(messages, (index) => {
      this.at(index)
      this.note('changed', `[${index}]`, 'a lone surrogate is sent as U+FFFD')
    })
  }

  /** Reports that a place is not sent. */
  omit(place: string, why: string): undefined {
    this.note('not-sent', place, why)
  }

  /** Returns a provider part that keeps a value whole, for its provider only, and reports it. */
  keep(
    provider: string,
    data: JsonObject,
    place: string,
    why = 'the neutral form has no part for it',
  ): ProviderPart {
    this.note('kept', place, why)
    return { type: 'provider', provider, data }
  }

  /**
   * Reads the messages of a list with one function. With `lenient`, a message that is rejected becomes a user message with an unread part.
   * `first` is the index of the first message in the caller's list.
   */
  messages(
    list: unknown,
    what: string,
    read: (message: unknown, place: string) => Message,
    first = 0,
  ): Message[] {
    return listAt(list, what).map((message, i) => {
      const place = `[${first + i}]`
      this.at(first + i)
      return messageRead(this.reading(message, place, () => read(message, place)))
    })
  }

  /** Reads one message out of its fields. With `lenient`, a message that is rejected becomes a user message with an unread part. */
  message(value: unknown, index: number, place: string, read: (fields: JsonObject) => Message): Message {
    this.at(index)
    return messageRead(this.reading(value, place, () => read(jsonMessageAt(value, place))))
  }

  /** Reads the parts of a list with one function. With `lenient`, a part that is rejected becomes an unread part. */
  parts<P>(list: unknown, place: string, read: (part: JsonObject, place: string) => P): (P | ProviderPart)[] {
    return listAt(list, place).map((part, i) => {
      const at = `${place}[${i}]`
      return this.reading(part, at, () => read(objectAt(part, at), at))
    })
  }

  /**
   * Reads the content of a tool result: a text, texts as one text with their layout, or parts read with one
   * function. `textType` is the format's name for a text.
   */
  result(
    content: unknown,
    place: string,
    read: (part: JsonObject, place: string) => ToolResultContent,
    { textType = 'text', failed = false } = {},
  ): { output: ToolResultOutput; layout?: Json } {
    const type = failed ? 'error-text' : 'text'
    if (typeof content === 'string') return { output: { type, value: content } }
    const blocks = listAt(content, place)
    if (blocks.every((block) => isTextBlock(block, textType))) {
      const { text, layout } = joinBlocks(blocks, place)
      return { output: { type, value: text }, layout }
    }
    const value = this.parts(blocks, place, read)
    return { output: { type: 'content', value, ...(failed && { isError: true }) } }
  }

  /**
   * Returns the result of `read`. A value that `read` rejects (`INVALID_INPUT`) is rejected, or with `lenient` kept as an unread part and
   * reported. Other errors are rethrown.
   */
  reading<T>(value: unknown, place: string, read: () => T): T | ProviderPart {
    if (!this.#lenient) return readable(place, read)
    try {
      return readable(place, read)
    } catch (error) {
      if (!isUndertextError(error, 'INVALID_INPUT')) throw error
      const [refused, why] = splitProblem(error.facts.problems, place)
      this.note('unread', refused, why)
      return { type: 'provider', provider: UNREAD, data: { format: this.format, value: asJson(value) } }
    }
  }
}

/** Refusals begin with the place: `[3].content[1].id: must be a string`. */
function splitProblem(problem: string, place: string): readonly [place: string, why: string] {
  const end = problem.indexOf(': ')
  return end === -1 ? [place, problem] : [problem.slice(0, end), problem.slice(end + 2)]
}

/** Deepest nesting of an unread value that is kept. */
const UNREAD_DEPTH = 100

/** A value as JSON: bytes as base64, dates as JSON writes them, anything else that JSON cannot express as null. */
export function asJson(value: unknown, depth = 0): Json {
  if (jsonProblem(value) === undefined) return value as Json
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') }
  if (typeof value !== 'object' || value === null || depth > UNREAD_DEPTH) return null
  if (Array.isArray(value)) return value.map((item) => asJson(item, depth + 1))
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toJSON()
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries.map(([key, inner]) => [key, asJson(inner, depth + 1)]))
}

/** Both alphabets, padded or not, as SDKs write them; no white space. */
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** Returns a value that is base64. Throws `INVALID_INPUT` otherwise. Source: RFC 4648, sections 4 and 5. */
export function base64At(value: unknown, place: string): string {
  if (typeof value !== 'string') throw invalid(`${place}: must be base64`)
  const isWhole = value.length % 4 !== 1 && (!value.endsWith('=') || value.length % 4 === 0)
  if (!isWhole || !BASE64.test(value)) throw invalid(`${place}: must be base64`)
  return value
}

/**
 * Returns a value that is an address. A data URL marked as base64 must hold base64; percent-encoded data URLs
 * and other addresses are not checked. Throws `INVALID_INPUT`. Source: RFC 2397.
 */
export function addressAt(value: unknown, place: string): string {
  if (typeof value !== 'string') throw invalid(`${place}: must be a string`)
  const head = /^data:[^,]*;base64,/i.exec(value)
  if (head !== null) base64At(value.slice(head[0].length), place)
  return value
}

/** Returns a value that is the data of a file: base64, a data URL or an address. Throws `INVALID_INPUT`. */
export function fileDataAt(value: unknown, place: string): string {
  return typeof value === 'string' && hasScheme(value) ? addressAt(value, place) : base64At(value, place)
}
