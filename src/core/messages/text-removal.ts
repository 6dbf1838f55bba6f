import { invalid } from '../errors.ts'
import { isObject, type JsonObject, parsedJson, stringifyJson } from './json.ts'
import { mapStrings } from './map-strings.ts'
import { mapTexts } from './map-texts.ts'
import {
  type Message,
  type Part,
  type ProviderPart,
  partsOf,
  type ReasoningPart,
  type ToolResultOutput,
  withOutputText,
} from './message.ts'
import { OWN } from './stop-reason.ts'

/* Removes a text, such as a secret, from messages and other stored values. */

/** Removals of one text until it is no longer found: what stands around a removed text may form it again. */
const MAX_ROUNDS = 20

/** Replaces every occurrence of a text or an expression, and counts them. */
export class TextRemover {
  /** The number of occurrences so far. */
  matches = 0
  readonly replacement: string
  readonly #expression: RegExp
  /** The text, if it isn't an expression. */
  readonly #text: string | undefined

  /**
   * A text is also found in the spellings that JSON allows, because texts may be JSON themselves. Throws `INVALID_INPUT` for a pattern that
   * matches nothing or the replacement.
   */
  constructor(pattern: string | RegExp, replacement: string) {
    this.replacement = replacement
    this.#text = typeof pattern === 'string' ? pattern : undefined
    this.#expression =
      typeof pattern === 'string'
        ? spellingsOf(pattern)
        : new RegExp(pattern.source, [...new Set(`${pattern.flags.replace('y', '')}g`)].join(''))
    if (pattern === '' || ''.search(this.#expression) !== -1) throw matchesNothing()
    if (this.isIn(replacement)) throw invalid('purgeText: the replacement must not match the pattern')
  }

  isIn(text: string): boolean {
    if (this.#isPlain(text)) return text.includes(this.#text!)
    return text.search(this.#expression) !== -1
  }

  /** Returns a text without the pattern; the same text if it isn't found. */
  replaced(text: string): string {
    let now = text
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const before = this.matches
      now = this.#once(now)
      if (this.matches === before) return now
    }
    throw invalid('purgeText: what is left of a text matches the pattern again; choose another replacement')
  }

  /** Returns a JSON value without the pattern, in strings, names of fields and numbers; the same value if it isn't found. */
  replacedIn<T>(value: T): T {
    const replace = (text: string): string => this.replaced(text)
    return this.#withoutNumbers(mapStrings(value, replace, replace)) as T
  }

  /** Like `replacedIn`, for stored JSON. Other text is treated as text. */
  replacedJson(json: string): string {
    const value = parsedJson(json)
    if (value === undefined) return this.replaced(json)
    const now = this.replacedIn(value)
    return now === value ? json : stringifyJson(now)
  }

  #isPlain(text: string): boolean {
    return this.#text !== undefined && !text.includes('\\')
  }

  #once(text: string): string {
    if (this.#isPlain(text)) {
      const pieces = text.split(this.#text!)
      this.matches += pieces.length - 1
      return pieces.length === 1 ? text : pieces.join(this.replacement)
    }
    return text.replace(this.#expression, (match) => {
      if (match === '') throw matchesNothing()
      this.matches++
      return this.replacement
    })
  }

  /** A number, such as that of a card, may be the text. */
  #withoutNumbers(value: unknown): unknown {
    if (typeof value === 'number') {
      const text = String(value)
      const now = this.replaced(text)
      return now === text ? value : now
    }
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#withoutNumbers(item))
      return items.every((item, at) => item === value[at]) ? value : items
    }
    const entries = Object.entries(value)
    const now = entries.map(([name, inner]) => [name, this.#withoutNumbers(inner)] as const)
    return now.every(([, inner], at) => inner === entries[at]![1]) ? value : Object.fromEntries(now)
  }
}

function matchesNothing(): Error {
  return invalid('purgeText: the pattern must not match an empty text')
}

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\n', 'n'],
  ['\r', 'r'],
  ['\t', 't'],
  ['\b', 'b'],
  ['\f', 'f'],
])

/** Returns an expression for a text in which each unit may be escaped as in JSON, also as in JSON within JSON. */
function spellingsOf(text: string): RegExp {
  const source = text.split('').map((unit) => {
    const code = unit.charCodeAt(0).toString(16).padStart(4, '0')
    const hex = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
    const short = SHORT_ESCAPES.get(unit)
    // Bounded, so that a text of many backslashes takes linear time.
    if (unit === '\\') return '\\\\{1,8}(?:u005[cC])?'
    const own = `\\u${code}`
    const escaped = `\\\\{1,8}(?:u${hex}${short === undefined ? '' : `|${short}`})`
    return unit === '"' || unit === '/' ? `(?:\\\\{0,8}${own}|${escaped})` : `(?:${own}|${escaped})`
  })
  return new RegExp(source.join(''), 'g')
}

/** Returns whether a text was removed from a stored message. */
export function isEdited({ metadata }: Pick<Message, 'metadata'>): boolean {
  const own = metadata?.[OWN]
  return isObject(own) && own.edited === true
}

/** Marks the metadata of a message from which a text was removed. */
export function markEdited(metadata: JsonObject | undefined): JsonObject {
  const own = metadata?.[OWN]
  return { ...metadata, [OWN]: { ...(isObject(own) && own), edited: true } }
}

/**
 * Returns a message without a text, marked as edited; `undefined` if it doesn't contain the text. Ids and names of tools stay. A part whose
 * signature would no longer hold, or that only its provider can read, becomes a text; the number of parts stays.
 */
export function withoutText<M extends Message>(message: M, remover: TextRemover): M | undefined {
  const before = remover.matches
  const { message: mapped, sealed } = mapTexts(message, (text) => remover.replaced(text))
  const isSealed = new Set(sealed)
  const parts = partsOf(mapped)
  const content =
    typeof mapped.content === 'string'
      ? mapped.content
      : parts.map((part, at) =>
          isSealed.has(at)
            ? ({ type: 'text', text: remover.replacement } as const)
            : withoutRest(part, remover),
        )
  const { [OWN]: own, ...fields } = mapped.metadata ?? {}
  const metadata = { ...remover.replacedIn(fields), ...(own !== undefined && { [OWN]: own }) }
  if (remover.matches === before) return undefined
  const length =
    typeof message.content === 'string' ? ownLength(message.content, metadata, remover) : undefined
  return {
    ...mapped,
    content,
    metadata: markEdited({ ...metadata, ...(length !== undefined && { textLength: length }) }),
  }
}

/** The metadata of a summary states the length of its own text, which a list of calls may follow. */
function ownLength(
  text: string,
  { isSummary, textLength }: JsonObject,
  remover: TextRemover,
): number | undefined {
  if (isSummary !== true || typeof textLength !== 'number') return undefined
  const { matches } = remover
  const { length } = remover.replaced(text.slice(0, textLength))
  remover.matches = matches
  return length
}

/** Removes what is left in a part after its texts were changed: numbers, and texts in fields with signatures. */
function withoutRest(part: Part, remover: TextRemover): Part {
  switch (part.type) {
    case 'tool-call':
      return withoutBound({ ...part, input: remover.replacedIn(part.input) }, remover)
    case 'tool-result':
      return withoutBound({ ...part, output: withoutOutput(part.output, remover) }, remover)
    case 'reasoning':
    case 'provider':
      return isBound(part, remover) ? { type: 'text', text: remover.replacement } : part
    default:
      return withoutBound(part, remover)
  }
}

function withoutOutput(output: ToolResultOutput, remover: TextRemover): ToolResultOutput {
  if (output.type === 'json' || output.type === 'error-json')
    return { ...output, value: remover.replacedIn(output.value) }
  const isIn = output.type === 'content' && output.value.some((item) => isBound(item, remover))
  return isIn ? withOutputText(output, remover.replacement) : output
}

/** Drops the provider's fields of a part if they still contain the text, since a signature in them no longer holds. */
function withoutBound<P extends Exclude<Part, ProviderPart | ReasoningPart>>(
  part: P,
  remover: TextRemover,
): P {
  if (!isBound(part, remover)) return part
  const { providerOptions: _, ...rest } = part
  return rest as P
}

/** Returns whether the fields that a provider reads still contain the text. */
function isBound(part: Part, remover: TextRemover): boolean {
  const fields = part.type === 'provider' ? part.data : part.providerOptions
  return remover.replacedIn(fields) !== fields
}
