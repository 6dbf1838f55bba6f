import { isStorableText, MAX_NAME_LENGTH } from '../../messages/check.ts'
import { isObject, type JsonObject, jsonProblem } from '../../messages/json.ts'

/* Fields that entries of several systems have, read as sessions and messages can hold them. */

/** How deep an entry lies in the metadata it is kept in. */
export const DEPTH_KEPT = 2

/** A value of a file as an entry of an agent's session; or why it is none. */
export function entryOf(value: unknown): { readonly entry: JsonObject } | { readonly problem: string } {
  if (!isObject(value) || typeof value.type !== 'string')
    return { problem: 'an entry must be an object with a type' }
  const problem = jsonProblem(value, DEPTH_KEPT)
  return problem === undefined ? { entry: value as JsonObject } : { problem: `it holds ${problem}` }
}

/** A text that says something; `undefined` for an empty one, and for what is none. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A time, in milliseconds since 1970, of a number of such or a date as text; `undefined` for what is neither. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? time : undefined
}

/** A text as the title of a session, cut to what one can hold; `undefined` for what cannot be one. */
export function titleOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const title = value.trim().slice(0, MAX_NAME_LENGTH).toWellFormed()
  return title === '' || !isStorableText(title) ? undefined : title
}

/** A name (of a model, a provider) that a session can hold; `undefined` for what is none. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME_LENGTH) return undefined
  return isStorableText(value) ? value : undefined
}

/** How deep a field of a conversation lies in the metadata it is kept in. */
const FIELD_DEPTH = 2

/**
 * The fields of a conversation that stand beside its messages, as far as a session can hold them, each by itself: what is wrong with one says
 * nothing of the others. `without` are the fields that hold the messages. `problems` says why others are left out.
 */
export function fieldsBeside(
  given: { readonly [field: string]: unknown },
  without: readonly string[],
): { readonly fields: JsonObject; readonly problems: readonly string[] } {
  const beside = Object.entries(given).filter(([name]) => !without.includes(name))
  const read = beside.map(([name, value]) => ({ name, value, problem: jsonProblem(value, FIELD_DEPTH) }))
  const fields = read.filter(({ problem }) => problem === undefined).map(({ name, value }) => [name, value])
  const problems = read.flatMap(({ problem }) => (problem === undefined ? [] : [`a field holds ${problem}`]))
  return { fields: Object.fromEntries(fields) as JsonObject, problems }
}
