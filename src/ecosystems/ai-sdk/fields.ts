import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { isObject, type Json, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { base64At, type Conversion } from '../conversion.ts'
import { stringAt, withoutUndefined } from '../wire.ts'
import type { SdkPart } from './types.ts'

/*
 * Fields of the AI SDK's messages and parts: how they are checked, and how what the neutral form has no place for is kept. The
 * middleware's conversion (prompt.ts) does not check what a model is about to be sent; the checks are for messages that come from an
 * application, a browser or a file.
 */

/** The name under which this conversion keeps what the neutral form has no place for. Never sent. */
export const AI_SDK = 'ai-sdk'

/** Marks of a request, not of a conversation: where a provider may cache. */
const CACHE_MARKS: ReadonlySet<string> = new Set(['cacheControl', 'cache_control', 'cachePoint'])

/** A value as JSON: bytes as base64, addresses and dates as texts, `undefined` fields left out, no value as null. */
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

/** A part's options for providers, with our `own` fields; empty without any. */
export function keptOptions(given: unknown, own: JsonObject = {}): KeptOptions {
  const kept: [string, JsonObject][] = []
  if (isObject(given)) {
    for (const [name, fields] of Object.entries(given)) {
      if (name !== AI_SDK && isObject(fields)) kept.push([name, jsonOf(fields) as JsonObject])
    }
  }
  if (Object.keys(own).length > 0) kept.push([AI_SDK, own])
  return kept.length === 0 ? {} : { providerOptions: Object.fromEntries(kept) }
}

/** `keptOptions` with fields that this conversion does not know, and a mark for an object without fields. */
export function keptWith(given: unknown, own: JsonObject, fields: JsonObject = {}): KeptOptions {
  const isBare = isObject(given) && Object.keys(given).length === 0
  return keptOptions(given, { ...own, ...nonEmpty({ fields }), ...(isBare && { bare: true }) })
}

/** Restores what `keptWith` kept besides the options. */
export function withKeptFields<T extends object>(part: T, own: JsonObject): T {
  const { fields, bare } = own
  return {
    ...part,
    ...(isObject(fields) && fields),
    ...(bare === true && !('providerOptions' in part) && { providerOptions: {} }),
  }
}

/** The objects among some fields that have fields themselves. */
export function nonEmpty<T extends { readonly [name: string]: object | undefined }>(fields: T): Partial<T> {
  const entries = Object.entries(fields).filter(
    ([, inner]) => inner !== undefined && Object.keys(inner).length > 0,
  )
  return Object.fromEntries(entries) as Partial<T>
}

/** The options of a part as they are sent: without our own. */
export function sentOptions(options: ProviderOptions | undefined): KeptOptions {
  if (options === undefined) return {}
  const sent = Object.entries(options).filter(([name]) => name !== AI_SDK)
  return sent.length === 0 ? {} : { providerOptions: Object.fromEntries(sent) }
}

/** Our own fields of a part. */
export function ownOf(part: { readonly providerOptions?: ProviderOptions }): JsonObject {
  return part.providerOptions?.[AI_SDK] ?? {}
}

/** Our own fields of a message. */
export function ownOfMessage(metadata: JsonObject | undefined): JsonObject {
  const own = metadata?.[AI_SDK]
  return isObject(own) ? (own as JsonObject) : {}
}

/** The options of a message that are kept in its metadata. */
export function messageOptions(metadata: JsonObject | undefined): ProviderOptions | undefined {
  const { options } = ownOfMessage(metadata)
  return isObject(options) ? (options as ProviderOptions) : undefined
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

/** What a field must hold; `?` marks one that may be absent. */
export type Rule = 'string' | 'string?' | 'boolean' | 'boolean?' | 'base64' | 'options?' | 'object' | 'any'
export type Rules = { readonly [field: string]: Rule }

/** Throws `INVALID_INPUT` for the first field that breaks its rule. */
export function checkFields(value: { readonly [field: string]: unknown }, rules: Rules, place: string): void {
  for (const [field, rule] of Object.entries(rules)) checkField(value[field], rule, `${place}.${field}`)
}

function checkField(value: unknown, rule: Rule, place: string): void {
  if (rule === 'any' || (value === undefined && rule.endsWith('?'))) return
  switch (rule) {
    case 'string':
    case 'string?':
      stringAt(value, place)
      return
    case 'base64':
      base64At(value, place)
      return
    case 'boolean':
    case 'boolean?':
      if (typeof value !== 'boolean') throw invalid(`${place}: must be true or false`)
      return
    case 'object':
    case 'options?':
      if (!isObject(value)) throw invalid(`${place}: must be an object`)
  }
  if (rule === 'options?' && Object.values(value).some((fields) => fields !== undefined && !isObject(fields)))
    throw invalid(`${place}: must hold objects`)
}

/** A part of another origin: an object with a type. Throws `INVALID_INPUT`. */
export function partAt(value: unknown, place: string): SdkPart {
  if (!isObject(value)) throw invalid(`${place}: must be an object`)
  stringAt(value.type, `${place}.type`)
  return value as SdkPart
}

/** Throws `INVALID_INPUT` for a value that is not one of some words. */
export function checkOneOf(value: unknown, words: readonly string[], place: string): void {
  if (!words.includes(value as string)) throw invalid(`${place}: must be one of ${words.join(', ')}`)
}

/**
 * A value as JSON, as it would be sent to a browser: dates as texts, bytes as base64, `undefined` left out. A note reports where JSON
 * changes it. Throws `INVALID_INPUT` for what refers to itself.
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
    conversion.note('changed', place, 'it is not JSON; its JSON form is kept')
  return json
}

/** An address or base64. Throws `INVALID_INPUT` for a text that is neither, and for a data URL with invalid base64. */
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

/** The fields of an object besides known ones, as JSON; fields that are `undefined` count as absent. */
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
