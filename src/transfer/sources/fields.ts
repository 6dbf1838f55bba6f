import { isStorableText, MAX_NAME_LENGTH } from '../../core/messages/check.ts'
import { defined, isObject, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import type { PositionRange } from '../../core/messages/message.ts'
import type { ImportedCompaction } from '../../store/history/import/import-types.ts'
import type { JsonLine, Unread } from '../lines.ts'
import type { NoteEvent, Place, PlacedCompaction } from '../source.ts'

/** Fields that contain the time of a message in transcripts. */
const FIELDS = ['createdAt', 'created_at', 'timestamp', 'create_time', 'created', 'ts'] as const

/** From this number on, a time is in milliseconds; below it, in seconds. It is the year 1973 in milliseconds, and 5138 in seconds. */
const MILLISECONDS_FROM = 1e11

/** Returns the time in one of the fields, in milliseconds since 1970, if any. */
export function momentOf(value: unknown): number | undefined {
  if (!isObject(value)) return undefined
  for (const name of FIELDS) {
    const found = moment(value[name])
    if (found !== undefined) return found
  }
  return undefined
}

/** Reads a time of a file: seconds or milliseconds since 1970, or a date in ISO 8601. */
export function moment(value: unknown): number | undefined {
  if (typeof value === 'number' && value > 0) {
    const time = Math.round(value < MILLISECONDS_FROM ? value * 1000 : value)
    return time < 8.64e15 ? time : undefined
  }
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return undefined
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time
}

/* Fields that entries of several systems have in common, checked for sessions and messages. */

/** The depth to which an entry is kept in its metadata. */
export const DEPTH_KEPT = 2

/** Returns the entry of an agent's session in a piece of a line, or the reason why there is none. */
export function entryOn(read: JsonLine): { readonly entry: JsonObject } | (JsonLine & Unread) {
  if ('problem' in read) return read
  const { value } = read
  const unread = (problem: string) => ({ ...read, problem, isTorn: false })
  if (!isObject(value) || typeof value.type !== 'string')
    return unread('an entry must be an object with a type')
  const problem = jsonProblem(value, DEPTH_KEPT)
  return problem === undefined ? { entry: value as JsonObject } : unread(`it contains ${problem}`)
}

/** Returns a time in milliseconds since 1970 from such a number or a date string; `undefined` for any other value. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? time : undefined
}

/** Returns a text as the title of a session, cut to the maximum length; `undefined` for any other value. */
export function titleOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const title = value.trim().slice(0, MAX_NAME_LENGTH).toWellFormed()
  return title === '' || !isStorableText(title) ? undefined : title
}

/** Returns the name of a model or a provider if it is valid for a session; `undefined` for any other value. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME_LENGTH) return undefined
  return isStorableText(value) ? value : undefined
}

/** The depth to which a conversation's field is kept in its metadata. */
const FIELD_DEPTH = 2

/**
 * Returns the fields of a conversation beside its messages, as far as a session can hold them. Each is checked separately. `without` names
 * the fields with the messages. `problems` contains the reasons for omitted fields.
 */
export function fieldsBeside(
  given: { readonly [field: string]: unknown },
  without: readonly string[],
): { readonly fields: JsonObject; readonly problems: readonly string[] } {
  const beside = Object.entries(given).filter(([name]) => !without.includes(name))
  const read = beside.map(([name, value]) => ({ name, value, problem: jsonProblem(value, FIELD_DEPTH) }))
  const fields = read.filter(({ problem }) => problem === undefined).map(({ name, value }) => [name, value])
  const problems = read.flatMap(({ problem }) =>
    problem === undefined ? [] : [`a field contains ${problem}`],
  )
  return { fields: Object.fromEntries(fields) as JsonObject, problems }
}

/** Returns the note about branches that aren't imported. */
export function branchNote(at: Place, count: number): NoteEvent {
  const what = count === 1 ? 'one other branch was' : `${count} other branches were`
  return { type: 'note', at, kind: 'branch', why: `${what} not imported` }
}

/** Returns the place of a message within a conversation. */
export function messageAt({ line }: Place, element: number): Place {
  return { ...(line !== undefined && { line }), element }
}

/** Returns ordinals, given in any order, as ascending inclusive ranges without repetition. */
export function rangesOf(ordinals: Iterable<number>): PositionRange[] {
  const ranges: [number, number][] = []
  for (const ordinal of [...new Set(ordinals)].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === ordinal - 1) last[1] = ordinal
    else ranges.push([ordinal, ordinal])
  }
  return ranges
}

/** Returns the texts of a content in Anthropic's form. */
export function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((block: unknown) =>
    isObject(block) && block.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  )
}

/** Returns the texts of a content in Anthropic's form as paragraphs. */
export function blockTexts(content: unknown): string {
  return textsOf(content).join('\n\n')
}

/** Returns a compaction of an agent. Without text there is no summary, but its messages are hidden nevertheless. */
export function compactionEvent(
  at: Place,
  {
    id,
    kind,
    covers,
    text = '',
    ...rest
  }: { [K in keyof ImportedCompaction]: ImportedCompaction[K] | undefined } & Pick<
    ImportedCompaction,
    'id' | 'kind' | 'covers'
  >,
): PlacedCompaction {
  const shownKind = kind === 'condense' && text === '' ? 'truncate' : kind
  const compaction = { id, kind: shownKind, covers, ...(text !== '' && { text }), ...defined(rest) }
  return { type: 'compaction', at, compaction }
}
