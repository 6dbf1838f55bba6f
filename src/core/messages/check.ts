import { z } from 'zod'
import { invalid, UndertextError } from '../errors.ts'
import { isJsonObject, type JsonObject } from './json.ts'

/** The longest delay of a Node timer, in milliseconds; a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Parses a value. Throws `INVALID_INPUT` with paths and reasons, without the values. */
export function check<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  return readable(what, () => {
    const result = schema.safeParse(value)
    if (result.success) return result.data
    throw invalid(`${what}: ${describeIssues(result.error)}`)
  })
}

/**
 * Calls `read` and returns its result. If the value throws while it is read (a getter, a proxy), or is nested too deeply, it is rejected
 * with `INVALID_INPUT`. For code that reads an argument before it is checked, and for checks that are not schemas. `problem` finds the
 * reason after a failure.
 */
export function readable<T>(
  what: string,
  read: () => T,
  problem: () => string | undefined = () => undefined,
): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof UndertextError || isRethrown(error)) throw error
    throw invalid(`${what}: ${readable(what, problem, () => UNREADABLE) ?? UNREADABLE}`)
  }
}

/** Errors thrown by functions of the application, as opposed to errors of reading an argument. */
const rethrown = new WeakSet<object>()

function isRethrown(error: unknown): boolean {
  return typeof error === 'object' && error !== null && rethrown.has(error)
}

/** Calls a function of the application while an argument is read: `readable` rethrows its error. */
export function callApplication<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (typeof error === 'object' && error !== null) rethrown.add(error)
    throw error
  }
}

/** Parses a value with a schema; returns `undefined` if the value doesn't match or cannot be read. */
export function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> | undefined {
  try {
    return schema.safeParse(value).data
  } catch {
    return undefined
  }
}

/** Returns why a value from a file doesn't match a schema, or `undefined`. Unknown keys are not quoted: they may be any text. */
export function problemOf(schema: z.ZodType, value: unknown): string | undefined {
  try {
    const result = schema.safeParse(value)
    return result.success ? undefined : describeIssues(result.error, false)
  } catch {
    return UNREADABLE
  }
}

const UNREADABLE = "it can't be read: a property throws, has an unexpected type, or is nested too deeply"

/** The most characters of one issue: enough to list all stages. */
const MAX_ISSUE_LENGTH = 300

/** The most names that an error about unknown keys quotes. */
const MAX_QUOTED_KEYS = 5

/**
 * Quotes a key for messages. A key that isn't a name may be any text, such as an address with a password or a sentence, and is not
 * quoted.
 */
export function quotedKey(key: string): string {
  return /^[\w$-][\w$.-]{0,63}$/.test(key) ? JSON.stringify(key) : '(not a name)'
}

/** Formats the first issues. Only names of unknown keys are quoted, because an error must not contain text of a conversation. */
function describeIssues(error: z.ZodError, quotesKeys = true): string {
  const lines = error.issues.slice(0, 5).map((issue) => {
    const path = issue.path
      .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, 40)}`))
      .join('')
    const message =
      issue.code === 'unrecognized_keys'
        ? `Unrecognized key${quotesKeys ? `: ${issue.keys.slice(0, MAX_QUOTED_KEYS).map(quotedKey).join(', ')}` : ''}`
        : issue.message.slice(0, MAX_ISSUE_LENGTH)
    return `${path === '' ? '' : `${path.replace(/^\./, '')}: `}${message}`
  })
  const more = error.issues.length > 5 ? [`and ${error.issues.length - 5} more`] : []
  return [...lines, ...more].join('; ')
}

/** Returns whether a value is an iterable object. A text is not. */
export function isIterable<T>(value: unknown): value is AsyncIterable<T> | Iterable<T> {
  if (typeof value !== 'object' || value === null) return false
  try {
    return Symbol.asyncIterator in value || Symbol.iterator in value
  } catch {
    return false
  }
}

/** The longest id, owner, title or key, in UTF-16 units, so that indexes stay small and errors can quote it. */
export const MAX_NAME_LENGTH = 1_000

/**
 * The longest new name, in UTF-8 bytes. PostgreSQL indexes up to 2,704 bytes, and the largest index with a name (an owner with three
 * integers) needs 44 of them.
 */
export const MAX_NAME_BYTES = 2_600

/** Returns whether a new name fits an index of PostgreSQL. A UTF-16 unit takes at most three bytes. */
export function fitsIndex(name: string): boolean {
  return name.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(name) <= MAX_NAME_BYTES
}

/** The rule for new names, for error messages. */
export const NAME_BYTES_RULE = `must not be longer than ${MAX_NAME_BYTES} bytes in UTF-8`

/** Returns whether every database can store a text: no NUL, no lone surrogates. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

function named(text: z.ZodString) {
  return text
    .min(1, 'must not be empty')
    .max(MAX_NAME_LENGTH, `must not be longer than ${MAX_NAME_LENGTH} characters`)
    .refine(isStorableText, 'must not contain NUL or lone surrogates')
}

/** A name or an id: 1 to 1,000 characters that every database can store. */
export const nameSchema = named(z.string())

/** A function. Its parameters aren't checked. */
export const functionSchema = <F>(): z.ZodType<F, F> =>
  z.custom<F>((value) => typeof value === 'function', 'must be a function')

/** The model that a call concerns. */
export const modelShape = {
  /** Default: the provider of the session, else "openai". */
  provider: nameSchema.optional(),
  /** Default: the model of the session. */
  model: nameSchema.optional(),
}

/** The name of something new: it must fit an index. Names to look up are checked with `nameSchema`. */
export const newNameSchema = nameSchema.refine(fitsIndex, NAME_BYTES_RULE)

/** A label: 0 to 1,000 characters that every database can store. */
export const labelSchema = z
  .string()
  .max(MAX_NAME_LENGTH, `must not be longer than ${MAX_NAME_LENGTH} characters`)
  .refine(isStorableText, 'must not contain NUL or lone surrogates')

/** Why `owner: undefined` is rejected. */
export const UNDEFINED_OWNER =
  'must not be undefined: omit the key to select all owners, and check first that the user was found'
const ownerText = z.string({
  error: ({ input }) => (input === undefined ? UNDEFINED_OWNER : undefined),
})

/*
 * The option `owner`. Every option with this name is one of these three. A key with `undefined` is rejected: it results from a failed
 * look-up of a user, and would select the sessions of all users, or create one that is open to all.
 */

/** The owner whose sessions are selected. */
export const ownerOption = named(ownerText).exactOptional()
/** The owner to store. */
export const newOwnerOption = named(ownerText).refine(fitsIndex, NAME_BYTES_RULE).exactOptional()
/** The owner of imported or restored data, which may be empty. */
export const importOwnerOption = ownerText
  .max(MAX_NAME_LENGTH, `must not be longer than ${MAX_NAME_LENGTH} characters`)
  .refine(isStorableText, 'must not contain NUL or lone surrogates')
  .refine(fitsIndex, NAME_BYTES_RULE)
  .exactOptional()

/** A share, from 0 to 1. */
export const shareSchema = z.number().min(0).max(1)

/** Returns an incarnation from 96 bits. Ids of messages and requests begin with it, so it never begins with `-`, as options do. */
export function incarnationOf(bytes: Buffer): string {
  return bytes.toString('base64url').replace(/^-/, 'A')
}

export const jsonObjectSchema = z.custom<JsonObject>(isJsonObject, 'must be a JSON object')

/**
 * Copies an argument, so that the caller can no longer change it. Plain arrays, plain objects and bytes are copied deeply; anything else
 * (functions, signals, class instances) is shared.
 */
export function taken<T>(value: T): T {
  const copies = new Map<object, object>()
  const copy = copyOf(value, copies)
  // The loop reaches entries that are added to the map while it runs, so no recursion limits the depth.
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
