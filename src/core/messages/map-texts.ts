import { isObject, type Json, type JsonObject } from './json.ts'
import { mapList, mapStrings } from './map-strings.ts'
import {
  type FilePart,
  type ImagePart,
  isReasoning,
  isUnsent,
  type Message,
  type Part,
  type ProviderOptions,
  type ProviderPart,
  type ReasoningPart,
  type ToolResultContent,
  type ToolResultOutput,
} from './message.ts'
import { OWN } from './stop-reason.ts'

/*
 * Every text of a message, through a function: what a redactor or a removal of text changes. Texts are those of text and reasoning, the
 * strings in inputs, outputs, metadata and provider's fields at any depth, with the names of JSON fields; file names; files of a text
 * type, decoded; URLs. Not texts: roles, types, ids, names of tools and providers, idempotency keys, media, and signatures.
 */

/** Where a text is. */
export type TextPlace = {
  /** The index of the part; `undefined`: the metadata. */
  readonly part: number | undefined
  /** The name of the JSON field with the text, also for texts of a list in the field; `undefined` outside of JSON. */
  readonly field: string | undefined
}

/** Returns the text to store in place of another one. */
export type MapText = (text: string, place: TextPlace) => string

/** A message with changed texts. */
export type MappedTexts<M extends Message> = {
  /** The same object if no text changed. */
  readonly message: M
  /** The indexes of the changed parts, in order. */
  readonly changed: readonly number[]
  readonly metadataChanged: boolean
  /** The indexes of parts with a text that should change, but that a signature or an encrypted field binds: they are unchanged. */
  readonly sealed: readonly number[]
  /** The indexes of parts with content that only its provider can read. */
  readonly opaque: readonly number[]
}

/** Changes every text of a message. The same object comes back if nothing changed. Takes linear time, apart from the function. */
export function mapTexts<M extends Message>(message: M, map: MapText): MappedTexts<M> {
  const metadata = message.metadata && mapMetadata(message.metadata, map)
  const metadataChanged = metadata !== message.metadata
  const { content } = message
  const mapped = typeof content === 'string' ? mapBareText(content, map) : mapParts(content, map)
  if (!metadataChanged && mapped.content === content) return { ...mapped, message, metadataChanged }
  const made = { ...message, content: mapped.content, ...(metadataChanged && { metadata }) }
  return {
    message: made,
    changed: mapped.changed,
    metadataChanged,
    sealed: mapped.sealed,
    opaque: mapped.opaque,
  }
}

type MappedContent = { readonly content: Message['content'] } & Pick<
  MappedTexts<Message>,
  'changed' | 'sealed' | 'opaque'
>

const NONE: readonly number[] = []

function mapBareText(content: string, map: MapText): MappedContent {
  const text = map(content, { part: 0, field: undefined })
  return { content: text, changed: text === content ? NONE : [0], sealed: NONE, opaque: NONE }
}

function mapParts(content: readonly Part[], map: MapText): MappedContent {
  const changed: number[] = []
  const sealed: number[] = []
  const opaque: number[] = []
  const mapped = mapList(content, (part, index) => {
    const mapper = new PartMapper(index, map)
    const made = mapper.part(part)
    if (mapper.isSealed) sealed.push(index)
    if (mapper.isOpaque) opaque.push(index)
    if (made !== part) changed.push(index)
    return made
  })
  return { content: mapped, changed, sealed, opaque }
}

/** The texts of one part. */
class PartMapper {
  /** Whether a bound text should change. */
  isSealed = false
  /** Whether there is content that only its provider can read. */
  isOpaque = false
  readonly #part: number
  readonly #map: MapText

  constructor(part: number, map: MapText) {
    this.#part = part
    this.#map = map
  }

  part(part: Part): Part {
    switch (part.type) {
      case 'text':
        return this.#withOptions(part, { text: this.#text(part.text) })
      case 'reasoning':
        return this.#reasoning(part)
      case 'image':
        return this.#image(part)
      case 'file':
        return this.#file(part)
      case 'tool-call':
        return this.#withOptions(part, { input: this.#json(part.input) })
      case 'tool-result':
        return this.#withOptions(part, { output: this.#output(part.output) })
      case 'provider':
        return this.#provider(part)
    }
  }

  #text(text: string, field?: string): string {
    return this.#map(text, { part: this.#part, field })
  }

  /** A signature or an encrypted form is no text. */
  #json<T extends Json>(value: T, from?: string): T {
    return mapStrings(
      value,
      (text, field = from) => (isSeal(field) ? text : this.#text(text, field)),
      (name) => this.#text(name),
    )
  }

  #options(options: ProviderOptions): ProviderOptions {
    if (hasOpaque(options)) this.isOpaque = true
    return mapFields(options, (fields) => this.#json(fields))
  }

  /** Returns a part with changed fields, and changed fields of its provider. */
  #withOptions<P extends Part | ToolResultContent>(part: P, fields: Partial<P>): P {
    const { providerOptions } = part as { readonly providerOptions?: ProviderOptions }
    const all =
      providerOptions === undefined ? fields : { ...fields, providerOptions: this.#options(providerOptions) }
    return withChanged(part, all as Partial<P>)
  }

  /** A signature is of the text: both are stored unchanged or not at all. */
  #reasoning(part: ReasoningPart): ReasoningPart {
    const mapped = this.#withOptions(part, { text: this.#text(part.text) })
    return hasSeal(part.providerOptions) ? this.#bound(part, mapped) : mapped
  }

  #provider(part: ProviderPart): ProviderPart {
    const isThinking = isReasoning(part)
    if (hasOpaque(part.data) || (isThinking && !isObject(part.data))) this.isOpaque = true
    const data = isThinking ? this.#redactedThinking(part.data) : this.#json(part.data)
    const mapped = withChanged(part, { data })
    return !isUnsent(part.provider) && hasSeal(part.data) ? this.#bound(part, mapped) : mapped
  }

  #bound<P>(part: P, mapped: P): P {
    if (mapped !== part) this.isSealed = true
    return part
  }

  #output(output: ToolResultOutput): ToolResultOutput {
    switch (output.type) {
      case 'text':
      case 'error-text':
        return withChanged(output, { value: this.#text(output.value) })
      case 'json':
      case 'error-json':
        return withChanged(output, { value: this.#json(output.value) })
      case 'content':
        return withChanged(output, {
          value: mapList(output.value, (item) => this.part(item) as ToolResultContent),
        })
    }
  }

  #image(part: ImagePart): ImagePart {
    return this.#withOptions(part, { image: this.#data(part.image, part.mediaType) })
  }

  #file(part: FilePart): FilePart {
    const { data, mediaType, filename } = part
    const name = filename === undefined ? {} : { filename: this.#text(filename) }
    return this.#withOptions(part, { data: this.#data(data, mediaType), ...name })
  }

  #data(data: string | Uint8Array, mediaType: string | undefined): string | Uint8Array {
    const isText = mediaType !== undefined && isTextType(mediaType)
    if (typeof data !== 'string') return isText ? this.#bytes(data) : data
    if (/^data:/i.test(data)) return this.#dataUrl(data)
    if (/^[a-z][a-z\d+.-]{0,30}:/i.test(data)) return this.#text(data)
    return isText ? this.#fileText(data) : data
  }

  #bytes(bytes: Uint8Array): Uint8Array {
    const text = utf8Of(bytes)
    if (text === undefined) return bytes
    const mapped = this.#text(text)
    return mapped === text ? bytes : new TextEncoder().encode(mapped)
  }

  /** The data of a file: base64 if it is canonical and decodes to a text, else the text itself. */
  #fileText(data: string): string {
    const bytes = Buffer.from(data, 'base64')
    const text = bytes.length > 0 && bytes.toString('base64') === data ? utf8Of(bytes) : undefined
    if (text === undefined) return this.#text(data)
    const mapped = this.#text(text)
    return mapped === text ? data : Buffer.from(mapped).toString('base64')
  }

  #dataUrl(url: string): string {
    const comma = url.indexOf(',')
    const head = url.slice(0, comma + 1)
    if (comma === -1 || !isTextType(head.slice('data:'.length, -1))) return url
    const body = url.slice(comma + 1)
    const isBase64 = /;\s*base64\s*,$/i.test(head)
    const text = isBase64 ? utf8Of(Buffer.from(body, 'base64')) : decodedUri(body)
    if (text === undefined) return isBase64 ? url : head + this.#text(body)
    const mapped = this.#text(text)
    if (mapped === text) return url
    return (
      head + (isBase64 ? Buffer.from(mapped).toString('base64') : encodeURIComponent(mapped.toWellFormed()))
    )
  }

  /** The readable fields of Anthropic's reasoning; the data of a redacted one is encrypted. */
  #redactedThinking(data: Json): Json {
    if (!isObject(data) || data.type !== 'redacted_thinking') return this.#json(data)
    this.isOpaque = true
    return data
  }
}

/** Metadata of this package holds marks of parts, not texts. */
function mapMetadata(metadata: JsonObject, map: MapText): JsonObject {
  return mapFields(metadata, (value, name) =>
    name === OWN
      ? value
      : mapStrings(
          value,
          (text, field = name) => (isSeal(field) ? text : map(text, { part: undefined, field })),
          (inner) => map(inner, { part: undefined, field: undefined }),
        ),
  )
}

/** Names of fields with a signature, or with content that only its provider can read, of all providers. */
const SIGNATURE = /^(?:thought_?)?signature$/i
const OPAQUE = /^redacted_?data$|encrypted/i

function isSeal(name: string | undefined): boolean {
  return name !== undefined && (SIGNATURE.test(name) || OPAQUE.test(name))
}

function hasSeal(value: unknown): boolean {
  return hasField(value, isSeal) || (isObject(value) && value.type === 'redacted_thinking')
}

function hasOpaque(value: unknown): boolean {
  return hasField(value, (name) => OPAQUE.test(name))
}

/** Returns whether an object has such a field with a text in it, at any depth. */
function hasField(value: unknown, isOne: (name: string) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some((inner) => hasField(inner, isOne))
  for (const name in value) {
    const inner = (value as { readonly [name: string]: unknown })[name]
    if ((isOne(name) && typeof inner === 'string' && inner !== '') || hasField(inner, isOne)) return true
  }
  return false
}

/** Returns whether a media type, with or without parameters, is one of texts. */
export function isTextType(mediaType: string): boolean {
  const [type = ''] = mediaType.split(';', 1)
  return /^\s*(?:$|text\/|application\/(?:[\w.+-]{0,100}[-+.])?(?:json|jsonl|ndjson|xml|yaml|toml|javascript|typescript|sql|sh|x-sh|x-www-form-urlencoded)\s*$|image\/svg\+xml)/i.test(
    type,
  )
}

function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function decodedUri(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Returns an object with changed fields; the same object if they are the same. */
function withChanged<T extends object>(object: T, fields: Partial<T>): T {
  for (const name in fields) if (fields[name] !== object[name]) return { ...object, ...fields }
  return object
}

function mapFields<T extends { readonly [name: string]: Json | undefined }>(
  fields: T,
  change: <V extends Json>(value: V, name: string) => V,
): T {
  let made: [string, Json | undefined][] | undefined
  for (const [at, [name, value]] of Object.entries(fields).entries()) {
    const inner = value === undefined ? value : change(value, name)
    if (inner === value) continue
    made ??= Object.entries(fields)
    made[at] = [name, inner]
  }
  return made === undefined ? fields : (Object.fromEntries(made) as T)
}
