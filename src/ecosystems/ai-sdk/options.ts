import { isObject, type Json, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'

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
