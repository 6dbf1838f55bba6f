import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { isObject, type Json, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { base64At, type Conversion } from '../conversion.ts'
import { withoutUndefined } from '../wire.ts'
import type { SdkPart } from './types.ts'

/** The name under which this conversion keeps what the neutral form has no place for. Never sent. */
export const AI_SDK = 'ai-sdk'

/** Marks of a request, not of a conversation: where a provider may cache. */
const CACHE_MARKS: ReadonlySet<string> = new Set(['cacheControl', 'cache_control', 'cachePoint'])

/** A value as JSON can say it: bytes as base64, addresses and dates as texts, what is `undefined` left out, no value as null. */
export function jsonOf(value: unknown): Json {
  if (value === undefined) return null
  if (jsonProblem(value) === undefined) return value as Json
  const text = JSON.stringify(value, function (this: unknown, key: string, inner: unknown) {
    const own = (this as { readonly [name: string]: unknown })[key]
    if (own instanceof Uint8Array) return base64Of(own)
    return typeof inner === 'bigint' ? String(inner) : inner
  })
  return text === undefined ? null : (JSON.parse(text) as Json)
}

export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

type KeptOptions = { readonly providerOptions?: ProviderOptions }

/** What providers want to find again on a part, with what we keep ourselves; nothing where there is nothing. */
export function keptOptions(given: unknown, own?: JsonObject): KeptOptions {
  const kept: [string, JsonObject][] = []
  if (isObject(given)) {
    for (const [name, fields] of Object.entries(given)) {
      if (name !== AI_SDK && isObject(fields)) kept.push([name, jsonOf(fields) as JsonObject])
    }
  }
  if (own !== undefined && Object.keys(own).length > 0) kept.push([AI_SDK, own])
  return kept.length === 0 ? {} : { providerOptions: Object.fromEntries(kept) }
}

/** The options of a part as they are sent: without ours. */
export function sentOptions(options: ProviderOptions | undefined): KeptOptions {
  if (options === undefined) return {}
  const sent = Object.entries(options).filter(([name]) => name !== AI_SDK)
  return sent.length === 0 ? {} : { providerOptions: Object.fromEntries(sent) }
}

/** What we keep of a part ourselves. */
export function ownOf(part: { readonly providerOptions?: ProviderOptions }): JsonObject {
  const own = part.providerOptions?.[AI_SDK]
  return isObject(own) ? (own as JsonObject) : {}
}

/** Options without marks of caching: a mark that stayed with a message would be sent again with every request. */
export function withoutCacheMarks(options: ProviderOptions): ProviderOptions | undefined {
  const kept: [string, JsonObject][] = []
  for (const [name, fields] of Object.entries(options)) {
    const rest = Object.entries(fields).filter(([field]) => !CACHE_MARKS.has(field))
    if (rest.length === Object.keys(fields).length) kept.push([name, fields])
    else if (rest.length > 0) kept.push([name, Object.fromEntries(rest)])
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/*
 * What the conversions that check have in common. The middleware's own (prompt.ts) takes what a model is about to be sent as it is;
 * these are given what an application, a browser or a file says.
 */

/** A part of somebody else's: an object with a type. Throws `INVALID_INPUT`. */
export function partAt(value: unknown, place: string): SdkPart {
  if (!isObject(value)) throw invalid(`${place}: must be an object`)
  if (typeof value.type !== 'string') throw invalid(`${place}.type: must be a string`)
  return value as SdkPart
}

/** A text that may be left out. Throws `INVALID_INPUT` for what is there and no text. */
export function optionalStringAt(value: unknown, place: string): string | undefined {
  if (value !== undefined && typeof value !== 'string') throw invalid(`${place}: must be a string`)
  return value
}

/** True, false, or left out. Throws `INVALID_INPUT`. */
export function optionalBooleanAt(value: unknown, place: string): boolean | undefined {
  if (value !== undefined && typeof value !== 'boolean') throw invalid(`${place}: must be true or false`)
  return value
}

/** One of some words. Throws `INVALID_INPUT`. */
export function oneOfAt(value: unknown, words: readonly string[], place: string): void {
  if (!words.includes(value as string)) throw invalid(`${place}: must be one of ${words.join(', ')}`)
}

/** Fields of providers by their names, or nothing. Throws `INVALID_INPUT`. */
export function optionsAt(value: unknown, place: string): void {
  if (value === undefined) return
  if (!isObject(value)) throw invalid(`${place}: must be an object`)
  for (const fields of Object.values(value))
    if (fields !== undefined && !isObject(fields)) throw invalid(`${place}: must hold objects`)
}

/**
 * A value as JSON can say it, as it would be sent to a browser: dates as texts, bytes as base64, what is `undefined` left out. A note
 * tells where that made something else of it. Throws `INVALID_INPUT` for what refers to itself.
 */
export function jsonAt(value: unknown, place: string, conversion: Conversion): Json {
  if (jsonProblem(value) === undefined) return value as Json
  let json: Json
  try {
    json = jsonOf(value)
  } catch {
    throw invalid(`${place}: must be a JSON value`)
  }
  const problem = jsonProblem(json)
  if (problem !== undefined) throw invalid(`${place}: must be a JSON value: ${problem}`)
  if (value !== undefined && !isDeepStrictEqual(withoutUndefined(value), json))
    conversion.note('changed', place, 'JSON cannot say it; what JSON makes of it is kept')
  return json
}

/** An address or base64. Throws `INVALID_INPUT` for a text that is neither, and for a data URL whose base64 is none. */
export function addressOrBase64At(value: string, place: string): string {
  const data = /^data:[^,]*;base64,/i.exec(value.slice(0, 1_000))
  if (data !== null) base64At(value.slice(data[0].length), place)
  else if (!hasScheme(value)) base64At(value, place)
  return value
}

/** Whether a text is an address with a scheme: anything else is read as base64. */
export function hasScheme(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(text.slice(0, 100))
}

/**
 * The options of a part as they are kept, with what we keep ourselves: `own`, `fields` that nobody here knows, and that there was an
 * object with nothing in it.
 */
export function keptWith(
  given: unknown,
  own: JsonObject,
  fields: JsonObject = {},
): { readonly providerOptions?: ProviderOptions } {
  const isBare = isObject(given) && Object.keys(given).length === 0
  return keptOptions(given, {
    ...own,
    ...(Object.keys(fields).length > 0 && { fields }),
    ...(isBare && { bare: true }),
  })
}

/** The fields of an object besides some, as JSON can say them; fields that are `undefined` count as absent. */
export function otherFields(
  value: { readonly [field: string]: unknown },
  known: readonly string[],
  place: string,
  conversion: Conversion,
): JsonObject {
  const others = Object.entries(value).filter(([name, inner]) => inner !== undefined && !known.includes(name))
  return Object.fromEntries(
    others.map(([name, inner]) => [name, jsonAt(inner, `${place}.${name}`, conversion)]),
  )
}

/** Puts back what `keptWith` kept beside the options. */
export function withKeptFields<T extends object>(part: T, own: JsonObject): T {
  const { fields, bare } = own
  return {
    ...part,
    ...(isObject(fields) && fields),
    ...(bare === true && !('providerOptions' in part) && { providerOptions: {} }),
  }
}

/** What a message keeps under our name. */
export function ownOfMessage(metadata: JsonObject | undefined): JsonObject {
  const own = metadata?.[AI_SDK]
  return isObject(own) ? (own as JsonObject) : {}
}
