import { z } from 'zod'
import { invalid } from '../errors.ts'
import { isJsonObject, type JsonObject } from './json.ts'

/** Parses with zod. What does not fit becomes `INVALID_INPUT`, with paths and reasons but without the values. */
export function check<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalid(`${what}: ${describeIssues(result.error)}`)
}

/** What of a file does not fit a schema; `undefined` when all does. Names of unknown keys are not quoted: they may be anything. */
export function problemOf(schema: z.ZodType, value: unknown): string | undefined {
  const result = schema.safeParse(value)
  return result.success ? undefined : describeIssues(result.error, false)
}

/** Most characters of one issue: room for a list of all stages, and little for the names of keys. */
const MOST_CHARACTERS = 300

/**
 * zod's issues as a few lines. Paths are cut, and only the names of unknown keys are quoted (shortened): an
 * error must not carry what somebody said.
 */
function describeIssues(error: z.ZodError, quotesKeys = true): string {
  const lines = error.issues.slice(0, 5).map((issue) => {
    const path = issue.path
      .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, 40)}`))
      .join('')
    const isUnquoted = !quotesKeys && issue.code === 'unrecognized_keys'
    const message = isUnquoted ? 'Unrecognized key' : issue.message.slice(0, MOST_CHARACTERS)
    return `${path === '' ? '' : `${path.replace(/^\./, '')}: `}${message}`
  })
  const more = error.issues.length > 5 ? [`and ${error.issues.length - 5} more`] : []
  return [...lines, ...more].join('; ')
}

/** Whether something gives values, one after the other: a text is none. */
export function isIterable<T>(value: unknown): value is AsyncIterable<T> | Iterable<T> {
  if (typeof value !== 'object' || value === null) return false
  return Symbol.asyncIterator in value || Symbol.iterator in value
}

/** Longest id, owner, title or key, in UTF-16 units. Indexes stay small, and errors can name it. */
export const MAX_NAME_LENGTH = 1_000

/** Whether a text can stand in a column of any database: no NUL, no lone surrogate. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** A text that identifies something: not empty, not endless, nothing a database cannot hold. */
export const nameSchema = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_NAME_LENGTH, `must not be longer than ${MAX_NAME_LENGTH} characters`)
  .refine(isStorableText, 'must not contain NUL or lone surrogates')

/** A text a database column holds, possibly empty. */
export const labelSchema = z
  .string()
  .max(MAX_NAME_LENGTH, `must not be longer than ${MAX_NAME_LENGTH} characters`)
  .refine(isStorableText, 'must not contain NUL or lone surrogates')

/** A part of a whole, 0 to 1. */
export const shareSchema = z.number().min(0).max(1)

export const jsonObjectSchema = z.custom<JsonObject>(isJsonObject, 'must be a JSON object')

/**
 * A copy of an argument that the caller can no longer change: plain lists, plain objects and bytes are copied all the way down; anything else
 * (functions, signals, instances of classes) is the same.
 */
export function taken<T>(value: T): T {
  const copies = new Map<object, object>()
  const copy = copyOf(value, copies)
  // A map goes on to what is added to it meanwhile: no depth is too deep.
  for (const [original, own] of copies) {
    for (const [key, entry] of Object.entries(original)) {
      const part = { value: copyOf(entry, copies), writable: true, enumerable: true, configurable: true }
      Object.defineProperty(own, key, part)
    }
  }
  return copy
}

function copyOf<T>(value: T, copies: Map<object, object>): T {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return value.slice() as T
  if (!isPlain(value)) return value
  const known = copies.get(value)
  if (known !== undefined) return known as T
  const copy = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value))
  copies.set(value, copy)
  return copy
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
