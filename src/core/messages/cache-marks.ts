import { isObject } from './json.ts'
import type { ProviderOptions } from './message.ts'

/** Fields that mark where a provider may cache. They belong to a request, not to the conversation. */
const CACHE_MARKS: ReadonlySet<string> = new Set(['cacheControl', 'cache_control', 'cachePoint'])

/** Returns whether a field is a cache mark, by its name. */
export function isCacheMark(name: string): boolean {
  return CACHE_MARKS.has(name)
}

/** Removes the cache marks from options: a stored mark would be sent again with every request. Returns `undefined` if nothing is left. */
export function withoutCacheMarks(options: ProviderOptions): ProviderOptions | undefined {
  const sent = withoutMarks(options)
  if (sent === options) return options
  const kept = Object.entries(sent).filter(
    ([name, fields]) => Object.keys(fields).length > 0 || Object.keys(options[name]!).length === 0,
  )
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** For `JSON.stringify`: leaves out cache marks, and options that only had marks. */
export function unmarkedField(name: string, value: unknown): unknown {
  if (isCacheMark(name)) return undefined
  return name === 'providerOptions' && isObject(value) ? withoutCacheMarks(value as ProviderOptions) : value
}

/** Returns a value without fields that are cache marks, at any depth; the same value if it has none. */
export function withoutMarks<T>(value: T): T {
  return holdsMark(value) ? (unmarked(value) as T) : value
}

function holdsMark(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  if (Array.isArray(value)) return value.some(holdsMark)
  for (const name in value) {
    if (CACHE_MARKS.has(name) || holdsMark((value as { readonly [field: string]: unknown })[name]))
      return true
  }
  return false
}

function unmarked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  if (Array.isArray(value)) return value.map(unmarked)
  const kept = Object.entries(value).filter(([name]) => !CACHE_MARKS.has(name))
  return Object.fromEntries(kept.map(([name, inner]) => [name, unmarked(inner)]))
}
