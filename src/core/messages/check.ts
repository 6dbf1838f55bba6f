import { z } from 'zod'
import { invalid, UndertextError } from '../errors.ts'
import { isJsonObject, type JsonObject } from './json.ts'

/** The longest delay of a Node timer, milliseconds; a longer one fires at once. */
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
 * Returns what `read` returns. A value that throws while it is read (a getter, a proxy), or is nested too deeply, is refused with
 * `INVALID_INPUT`. For everything that reads an argument before it is checked, and for checks that are not schemas. `problem` looks for
 * what is wrong, when something is.
 */
export function readable<T>(
  what: string,
  read: () => T,
  problem: () => string | undefined = () => undefined,
): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof UndertextError || isPassedOn(error)) throw error
    throw invalid(`${what}: ${readable(what, problem, () => UNREADABLE) ?? UNREADABLE}`)
  }
}

/** Errors of functions of the application, which are not those of an argument. */
const passedOn = new WeakSet<object>()

function isPassedOn(error: unknown): boolean {
  return typeof error === 'object' && error !== null && passedOn.has(error)
}

/** Calls a function of the application while an argument is read: `readable` passes its error on. */
export function callOut<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (typeof error === 'object' && error !== null) passedOn.add(error)
    throw error
  }
}

/** What a schema makes of a value, or `undefined` when the value does not match it or cannot be read. */
export function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> | undefined {
  try {
    return schema.safeParse(value).data
  } catch {
    return undefined
  }
}

/** Returns why a value of a file does not match a schema, or `undefined`. Unknown keys are not quoted: they may be any text. */
export function problemOf(schema: z.ZodType, value: unknown): string | undefined {
  try {
    const result = schema.safeParse(value)
    return result.success ? undefined : describeIssues(result.error, false)
  } catch {
    return UNREADABLE
  }
}

const UNREADABLE = 'it cannot be read: a property throws, has another type, or is nested too deeply'

/** The most characters of one issue: enough for a list of all stages. */
const MOST_CHARACTERS = 300

/** The names that an error of unknown keys quotes. */
const QUOTED_KEYS = 5

/** A key as messages quote it. One that is no name may be any text, such as an address with a password or a sentence, and is not quoted. */
export function quotedKey(key: string): string {
  return /^[\w$-][\w$.-]{0,63}$/.test(key) ? JSON.stringify(key) : '(not a name)'
}

/** Formats the first issues. Of a value only names of unknown keys are quoted, because an error must not contain text of a conversation. */
function describeIssues(error: z.ZodError, quotesKeys = true): string {
  const lines = error.issues.slice(0, 5).map((issue) => {
    const path = issue.path
      .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, 40)}`))
      .join('')
    const message =
      issue.code === 'unrecognized_keys'
        ? `Unrecognized key${quotesKeys ? `: ${issue.keys.slice(0, QUOTED_KEYS).map(quotedKey).join(', ')}` : ''}`
        : issue.message.slice(0, MOST_CHARACTERS)
    return `${path === '' ? '' : `${path.replace(/^\./, '')}: `}${message}`
  })
  const more = error.issues.length > 5 ? [`and ${error.issues.length - 5} more`] : []
  return [...lines, ...more].join('; ')
}

/** Whether a value is an iterable object. A text is not. */
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
 * The longest name in UTF-8 bytes, for new ones. PostgreSQL indexes up to 2,704 bytes, of which the largest index of a name (an owner
 * with three integers) needs 44 besides it.
 */
export const MAX_NAME_BYTES = 2_600

/** Whether a new name is not too long for an index of PostgreSQL. A UTF-16 unit is at most three bytes. */
export function fitsIndex(name: string): boolean {
  return name.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(name) <= MAX_NAME_BYTES
}

/** The rule of new names, for messages. */
export const NAME_BYTES_RULE = `must not be longer than ${MAX_NAME_BYTES} bytes in UTF-8`

/** Whether every database can store a text: no NUL, no lone surrogates. */
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

/** The model that a call is about. */
export const modelShape = {
  /** Default: the provider of the session, else "openai". */
  provider: nameSchema.optional(),
  /** Default: the model of the session. */
  model: nameSchema.optional(),
}

/** The name of something new: it must fit an index. Names that are looked up are checked with `nameSchema`. */
export const newNameSchema = nameSchema.refine(fitsIndex, NAME_BYTES_RULE)

/** A label: 0 to 1,000 characters that every database can store. */
export const labelSchema = z
  .string()
  .max(MAX_NAME_LENGTH, `must not be longer than ${MAX_NAME_LENGTH} characters`)
  .refine(isStorableText, 'must not contain NUL or lone surrogates')

/** Why `owner: undefined` is refused. */
export const UNDEFINED_OWNER =
  'must not be undefined: leave the key out for all owners, and check first that the user was found'
const ownerText = z.string({
  error: ({ input }) => (input === undefined ? UNDEFINED_OWNER : undefined),
})

/*
 * The option `owner`. Every option of this name is one of these three. A key with `undefined` is refused: it is the result of a failed
 * look-up of a user, and would select the sessions of all users, or create one that is open to all.
 */

/** The owner whose sessions are meant. */
export const ownerOption = named(ownerText).exactOptional()
/** The owner that is stored. */
export const newOwnerOption = named(ownerText).refine(fitsIndex, NAME_BYTES_RULE).exactOptional()
/** The owner of what is imported or restored, which may be empty. */
export const importOwnerOption = ownerText
  .max(MAX_NAME_LENGTH, `must not be longer than ${MAX_NAME_LENGTH} characters`)
  .refine(isStorableText, 'must not contain NUL or lone surrogates')
  .refine(fitsIndex, NAME_BYTES_RULE)
  .exactOptional()

/** A share, 0 to 1. */
export const shareSchema = z.number().min(0).max(1)

/** An incarnation from 96 bits. Ids of messages and requests begin with it, so it never begins with `-`, as options do. */
export function incarnationOf(bytes: Buffer): string {
  return bytes.toString('base64url').replace(/^-/, 'A')
}

export const jsonObjectSchema = z.custom<JsonObject>(isJsonObject, 'must be a JSON object')

/**
 * Copies an argument, so that the caller can no longer change it: plain arrays, plain objects and bytes deeply; anything else
 * (functions, signals, instances of classes) is shared.
 */
export function taken<T>(value: T): T {
  const copies = new Map<object, object>()
  const copy = copyOf(value, copies)
  // The loop reaches entries that are added to the map during it, so no recursion limits the depth.
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
