/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json | undefined }

/** The deepest accepted nesting, so that no recursion overflows the stack. */
export const MAX_JSON_DEPTH = 1_000

/**
 * Returns why a value is not a JSON value, or `undefined` if it is one. Values that `JSON.stringify` would change silently (NaN,
 * undefined, dates, class instances, holes) are rejected. The result contains places and kinds, never values.
 */
export function jsonProblem(value: unknown, depth = 0): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : "a number that isn't finite"
    case 'object':
      break
    default:
      return `a value of type ${typeof value}`
  }
  if (value === null) return undefined
  if (depth >= MAX_JSON_DEPTH) return `nesting deeper than ${MAX_JSON_DEPTH}`
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const problem = jsonProblem(value[i], depth + 1)
      if (problem !== undefined) return within(problem, `at [${i}]`)
    }
    return undefined
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return "an object that isn't plain"
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return 'an object with a toJSON method'
  for (const key in value) {
    const problem = jsonProblem((value as Record<string, unknown>)[key], depth + 1)
    if (problem !== undefined) return within(problem, 'in an object')
  }
  return undefined
}

/** The longest path in a problem, in characters. */
const MAX_PATH_LENGTH = 120

function within(problem: string, place: string): string {
  return problem.length < MAX_PATH_LENGTH ? `${problem} ${place}` : problem
}

/** Returns whether a value is an object, not an array and not null. */
export function isObject(value: Json | undefined): value is JsonObject
export function isObject(value: unknown): value is { readonly [name: string]: unknown }
export function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns an own field of a foreign object; `undefined` for any other value. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined
}

/** Returns a value that is a non-empty text; `undefined` for any other value. */
export function filledText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns whether a value is a JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value) && jsonProblem(value) === undefined
}

/** The deepest nesting of a text that is read as JSON: a request may contain parts of the deepest accepted nesting. */
const MAX_READ_DEPTH = 2 * MAX_JSON_DEPTH

/** Returns the value of a JSON text; `undefined` for any other text, and for a text that is nested too deeply to be written again. */
export function parsedJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json
    return text.length > 2 * MAX_READ_DEPTH && isDeeper(value, MAX_READ_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}

/** Returns whether a value is nested deeper than `levels`. `JSON.parse` reads any depth, but recursive functions cannot. */
function isDeeper(value: Json, levels: number): boolean {
  const isNested = (inner: unknown): inner is object => typeof inner === 'object' && inner !== null
  let level: object[] = isNested(value) ? [value] : []
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= levels) return true
    level = level.flatMap((one) => Object.values(one).filter(isNested))
  }
  return false
}

/** `JSON.stringify`, but `undefined` for a cycle, a BigInt, a `toJSON` that throws, or a value that is too deep for the stack. */
export function jsonTextOrNone(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined
  } catch {
    return undefined
  }
}

/**
 * `JSON.stringify` that preserves −0, which JSON can represent. Only a value that contains −0 takes the slow path.
 */
export function stringifyJson(value: unknown): string {
  return holdsNegativeZero(value) ? stringifySlowly(value) : JSON.stringify(value)
}

function holdsNegativeZero(value: unknown): boolean {
  if (typeof value === 'number') return value === 0 && Object.is(value, -0)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(holdsNegativeZero)
  for (const key in value) if (holdsNegativeZero((value as Record<string, unknown>)[key])) return true
  return false
}

function stringifySlowly(value: unknown): string {
  if (Object.is(value, -0)) return '-0'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(stringifySlowly).join(',')}]`
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${stringifySlowly(inner)}`).join(',')}}`
}

/** Returns JSON with sorted keys, so that equal values have equal texts. Used to compare bodies. */
export function canonicalJson(value: unknown): string {
  if (Object.is(value, -0)) return '-0'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (value instanceof Uint8Array) return `bytes:${Buffer.from(value).toString('base64')}`
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const record = value as Record<string, unknown>
  const keys = Object.keys(record)
    .filter((key) => record[key] !== undefined)
    .sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key])}`).join(',')}}`
}

/** The keys of a type whose values may be `undefined`. */
type Optional<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T]

/** Returns the fields of an object whose values are not `undefined`, in their order. */
export function defined<T extends object>(
  fields: T,
): { [K in Exclude<keyof T, Optional<T>>]: T[K] } & { [K in Optional<T>]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as ReturnType<typeof defined<T>>
}

/** Returns the list under a key, so that entries can be added; inserts a new list for an unknown key. */
export function listIn<K, T>(lists: Map<K, T[]>, key: K): T[] {
  const known = lists.get(key)
  if (known !== undefined) return known
  const list: T[] = []
  lists.set(key, list)
  return list
}

/**
 * Returns the input of a call as an object, which every provider accepts. A text that is the JSON of an object becomes that object;
 * `null`, an empty text and an empty list become an empty object; anything else, such as arguments cut by a token limit, becomes the
 * field `arguments`.
 */
export function objectInput(input: Json): JsonObject {
  if (isObject(input)) return input
  const value = typeof input === 'string' ? parsedJson(input) : input
  if (isObject(value)) return value
  const isNothing =
    value === null ||
    (typeof value === 'string' && value.trim() === '') ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof input === 'string' && input.trim() === '')
  return isNothing ? {} : { arguments: input }
}

/** Returns the number of leading entries of a sorted list that are before a place, by binary search. */
export function countBefore<T>(list: readonly T[], isBefore: (entry: T) => boolean): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(list[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}
