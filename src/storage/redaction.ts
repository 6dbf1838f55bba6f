import { errorName, UndertextError, withOriginal } from '../core/errors.ts'
import { isStorableText } from '../core/messages/check.ts'
import { isObject } from '../core/messages/json.ts'
import { mapStrings } from '../core/messages/map-strings.ts'
import { type MappedTexts, mapTexts, type TextPlace } from '../core/messages/map-texts.ts'
import type { Message, NewMessage, Part } from '../core/messages/message.ts'
import { overlaid } from '../core/messages/overlay.ts'
import { placeholder, type RedactedText } from '../core/secrets/placeholder.ts'
import type { MessageToWrite, Redactions } from './sessions.ts'

/**
 * Returns the text to store in place of another one: synchronously, and the same for the same text, so that a repeated append is
 * recognized. With the number of replaced places by kind, they are counted as such; otherwise a changed text counts as one of kind
 * `custom`. A second time nothing must change.
 */
export type RedactFunction = (text: string, place: TextPlace) => string | RedactedText

/** What happens to the parts of a message that can't be redacted. */
export type SealedRules = {
  /** Parts with a text to redact that a signature or an encrypted field binds: `drop` stores them empty. */
  readonly sealed: 'drop' | 'refuse'
  /** Parts with content that only its provider can read, whatever is in it. */
  readonly opaque: 'keep' | 'drop' | 'refuse'
}

/** Kinds are stored in the audit, so they can't be texts of a conversation. */
const KIND = /^[a-z\d][a-z\d._-]{0,63}$/i

/** The redaction of a store: its functions, applied in turn. */
export class Redaction {
  readonly #functions: readonly RedactFunction[]
  readonly #rules: SealedRules

  constructor(functions: readonly RedactFunction[], rules: SealedRules) {
    this.#functions = functions
    this.#rules = rules
  }

  /**
   * Returns messages as they may be stored. Throws `REDACTION_FAILED`, and `REDACTION_REFUSED` for a part that can't be redacted.
   */
  messages(messages: readonly NewMessage[]): readonly MessageToWrite[] {
    return messages.map((message, at) => this.message(message, at))
  }

  message<M extends Message>(message: M, at = 0): M & { readonly redacted?: Redactions } {
    const counts = new Counts()
    const mapped = mapTexts(message, (text, place) => this.#text(text, place, counts))
    const made = this.#unsealed(mapped, at, counts)
    return counts.isEmpty ? made : { ...made, redacted: counts.found }
  }

  /** Returns what would be redacted in a message, by part; `undefined`: in its metadata. */
  find(message: Message): readonly { readonly part: number | undefined; readonly found: Redactions }[] {
    const byPart = new Map<number | undefined, Counts>()
    mapTexts(message, (text, place) => {
      const counts = new Counts()
      this.#text(text, place, counts)
      if (counts.isEmpty) return text
      const known = byPart.get(place.part) ?? new Counts()
      known.add(counts.found)
      byPart.set(place.part, known)
      return text
    })
    return [...byPart].map(([part, { found }]) => ({ part, found }))
  }

  /** Returns a text as it may be stored. */
  text(text: string, counts?: Counts): string {
    return this.#text(text, NOWHERE, counts)
  }

  /** Returns a JSON value as it may be stored, or `undefined` and `null` unchanged. */
  json<T>(value: T, counts?: Counts): T {
    return mapStrings(
      value,
      (text, field) => this.#text(text, { part: undefined, field }, counts),
      (name) => this.text(name, counts),
    )
  }

  #text(text: string, place: TextPlace, counts: Counts | undefined): string {
    let changed = text
    for (const redact of this.#functions) {
      const result = resultOf(redact, changed, place)
      if (result.text === changed) continue
      counts?.add(result.found)
      changed = result.text
    }
    return changed
  }

  #unsealed<M extends Message>({ message, sealed, opaque }: MappedTexts<M>, at: number, counts: Counts): M {
    const { content } = message
    if (typeof content === 'string' || sealed.length + opaque.length === 0) return message
    const refused = [
      ...(this.#rules.sealed === 'refuse' ? sealed : []),
      ...(this.#rules.opaque === 'refuse' ? opaque : []),
    ]
    if (refused.length > 0) throw new UndertextError('REDACTION_REFUSED', { message: at, part: refused[0]! })
    const dropped = new Set([...sealed, ...(this.#rules.opaque === 'drop' ? opaque : [])])
    if (dropped.size === 0) return message
    counts.add({ sealed: dropped.size })
    return { ...message, content: content.map((part, index) => (dropped.has(index) ? emptied(part) : part)) }
  }
}

const NOWHERE: TextPlace = { part: undefined, field: undefined }

/** The part stays in its place, so that indexes of parts stay valid. */
function emptied(part: Part): Part {
  return overlaid(part, part.type === 'tool-result' ? placeholder('sealed') : '')
}

function resultOf(redact: RedactFunction, text: string, place: TextPlace): RedactedText {
  let result: unknown
  try {
    result = redact(text, place)
  } catch (error) {
    throw withOriginal(new UndertextError('REDACTION_FAILED', { error: errorName(error) }), error)
  }
  const redacted = typeof result === 'string' ? { text: result, found: { custom: 1 } } : result
  if (isRedacted(redacted) && (isStorableText(redacted.text) || !isStorableText(text))) return redacted
  // A rejected promise of a function must not end the process.
  if (result instanceof Promise) result.catch(() => undefined)
  throw new UndertextError('REDACTION_FAILED', {
    error: result instanceof Promise ? 'PROMISE' : 'NOT_A_TEXT',
  })
}

function isRedacted(result: unknown): result is RedactedText {
  if (!isObject(result) || typeof result.text !== 'string' || !isObject(result.found)) return false
  return Object.entries(result.found).every(
    ([kind, count]) => KIND.test(kind) && Number.isSafeInteger(count) && (count as number) >= 0,
  )
}

/** How many places were redacted, by kind. */
export class Counts {
  readonly #found = new Map<string, number>()

  get isEmpty(): boolean {
    return this.#found.size === 0
  }

  get found(): Redactions {
    return Object.fromEntries([...this.#found].sort(([one], [other]) => (one < other ? -1 : 1)))
  }

  add(found: Redactions | undefined): void {
    for (const kind in found) this.#found.set(kind, (this.#found.get(kind) ?? 0) + found[kind]!)
  }
}
