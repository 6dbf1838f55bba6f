import { isStorableText, MAX_NAME_LENGTH } from '../../messages/check.ts'
import { isObject, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { PositionRange } from '../../messages/message.ts'

/** Fields in which transcripts keep when something was said. */
const FIELDS = ['createdAt', 'created_at', 'timestamp', 'create_time', 'created', 'ts'] as const

/** From here on a number is milliseconds, below it seconds: the year 1973 as the one, 5138 as the other. */
const MILLISECONDS_FROM = 1e11

/** When something was made, in milliseconds since 1970, where one of its fields says so. */
export function momentOf(value: unknown): number | undefined {
  if (!isObject(value)) return undefined
  for (const name of FIELDS) {
    const found = moment(value[name])
    if (found !== undefined) return found
  }
  return undefined
}

/** A time as files have it: seconds or milliseconds since 1970, or a date in ISO 8601. */
export function moment(value: unknown): number | undefined {
  if (typeof value === 'number' && value > 0) {
    const time = Math.round(value < MILLISECONDS_FROM ? value * 1000 : value)
    return time < 8.64e15 ? time : undefined
  }
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return undefined
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time
}

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

/** Ordinals as ranges, inclusive, ascending; each counts once, in whatever order it is given. */
export function rangesOf(ordinals: Iterable<number>): PositionRange[] {
  const ranges: [number, number][] = []
  for (const ordinal of [...new Set(ordinals)].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === ordinal - 1) last[1] = ordinal
    else ranges.push([ordinal, ordinal])
  }
  return ranges
}
