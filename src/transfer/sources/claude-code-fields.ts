import { titleFrom } from '../../core/messages/characters.ts'
import { isStorableText, MAX_NAME_LENGTH } from '../../core/messages/check.ts'
import { typedText } from '../../core/messages/client-markup.ts'
import { isObject, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import type { PositionRange } from '../../core/messages/message.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'

/** Fields with the time of a message in transcripts. */
const FIELDS = ['createdAt', 'created_at', 'timestamp', 'create_time', 'created', 'ts'] as const

/** From this number on a time is in milliseconds, below it in seconds: the year 1973 as milliseconds, 5138 as seconds. */
const MILLISECONDS_FROM = 1e11

/** The time in one of the fields, milliseconds since 1970, if any. */
export function momentOf(value: unknown): number | undefined {
  if (!isObject(value)) return undefined
  for (const name of FIELDS) {
    const found = moment(value[name])
    if (found !== undefined) return found
  }
  return undefined
}

/** A time of a file: seconds or milliseconds since 1970, or a date in ISO 8601. */
export function moment(value: unknown): number | undefined {
  if (typeof value === 'number' && value > 0) {
    const time = Math.round(value < MILLISECONDS_FROM ? value * 1000 : value)
    return time < 8.64e15 ? time : undefined
  }
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return undefined
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time
}

/* Common fields of entries of several systems, checked for sessions and messages. */

/** The depth of an entry in its metadata. */
export const DEPTH_KEPT = 2

/** A value of a file as an entry of an agent's session; or why it is not one. */
export function entryOf(value: unknown): { readonly entry: JsonObject } | { readonly problem: string } {
  if (!isObject(value) || typeof value.type !== 'string')
    return { problem: 'an entry must be an object with a type' }
  const problem = jsonProblem(value, DEPTH_KEPT)
  return problem === undefined ? { entry: value as JsonObject } : { problem: `it holds ${problem}` }
}

/** A time, milliseconds since 1970, from such a number or a date string; `undefined` for any other value. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? time : undefined
}

/** A text as the title of a session, cut to its maximum length; `undefined` for any other value. */
export function titleOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const title = value.trim().slice(0, MAX_NAME_LENGTH).toWellFormed()
  return title === '' || !isStorableText(title) ? undefined : title
}

/** A name (of a model, a provider) that is valid for a session; `undefined` for any other value. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME_LENGTH) return undefined
  return isStorableText(value) ? value : undefined
}

/** The depth of a conversation's field in its metadata. */
const FIELD_DEPTH = 2

/**
 * The fields of a conversation beside its messages, as far as a session can hold them. Each is checked separately. `without` are the fields with
 * the messages. `problems` has the reasons for omitted fields.
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

/** Ordinals in any order as inclusive ascending ranges without repetition. */
export function rangesOf(ordinals: Iterable<number>): PositionRange[] {
  const ranges: [number, number][] = []
  for (const ordinal of [...new Set(ordinals)].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === ordinal - 1) last[1] = ordinal
    else ranges.push([ordinal, ordinal])
  }
  return ranges
}

/** A title for a session that begins with this entry; `undefined` if it was not typed. */
function titleOfPrompt(entry: JsonObject): string | undefined {
  const { type, message, isMeta, isCompactSummary, isVisibleInTranscriptOnly } = entry
  if (type !== 'user' || !isObject(message) || message.role !== 'user') return undefined
  if (isMeta === true || isCompactSummary === true || isVisibleInTranscriptOnly === true) return undefined
  const typed = textsOf(message.content)
    .map(typedText)
    .find((text) => text !== '')
  return typed === undefined ? undefined : titleOf(titleFrom(typed))
}

function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((block: unknown) =>
    isObject(block) && block.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  )
}

/** The entries with a title and their field, most important first. */
const TITLES = { 'custom-title': 'customTitle', 'ai-title': 'aiTitle' } as const

/** Fields of entries that describe the session: the last value counts. */
const KEPT = ['cwd', 'gitBranch', 'version', 'sessionId', 'agentId'] as const

/** The maximum number of titles in memory. */
const MOST_TITLES = 1_000

/** Collects the fields of a Claude Code session from its entries. */
export class SessionFields {
  readonly #titles = new Map<string, string>()
  /** Titles by the uuid of their entry. Claude Code used to write those of other sessions too. */
  readonly #summaries = new Map<string, string>()
  readonly #metadata = new Map<string, string>()
  /** Custom and generated titles, the last ones. */
  readonly #seenTitles = new Set<string>()
  #createdAt: number | undefined
  /** From the first typed prompt. */
  #prompted: string | undefined
  #model: string | undefined

  /** `isOwn`: belongs to this conversation, not to another one in the same file. */
  see(entry: JsonObject, isOwn: boolean): void {
    const { type, message, timestamp, summary, leafUuid } = entry
    this.#createdAt ??= timeOf(timestamp)
    for (const [name, field] of Object.entries(TITLES)) {
      const title = type === name ? titleOf(entry[field]) : undefined
      if (title !== undefined) this.#titles.set(name, this.#seen(title))
    }
    const title = type === 'summary' ? titleOf(summary) : undefined
    if (title !== undefined && typeof leafUuid === 'string') this.#summaries.set(leafUuid, title)
    if (isOwn) this.#prompted ??= titleOfPrompt(entry)
    if (!this.#metadata.has('project')) {
      const project = nameOf(entry.cwd)
      if (project !== undefined) this.#metadata.set('project', project)
    }
    for (const field of KEPT) {
      const value = nameOf(entry[field])
      if (value !== undefined) this.#metadata.set(field, value)
    }
    const model = type === 'assistant' && isObject(message) ? nameOf(message.model) : undefined
    // Claude Code's name for the author of a synthetic answer.
    if (model !== undefined && model !== '<synthetic>') this.#model = model
  }

  #seen(title: string): string {
    this.#seenTitles.add(title)
    if (this.#seenTitles.size > MOST_TITLES) this.#seenTitles.delete(this.#seenTitles.values().next().value!)
    return title
  }

  /** The time of the first entry that has one. */
  get createdAt(): number | undefined {
    return this.#createdAt
  }

  /** The last value of a field. */
  of(field: (typeof KEPT)[number]): string | undefined {
    return this.#metadata.get(field)
  }

  /** The fields so far. `isKnown` returns whether an entry is in the file. */
  event(isKnown: (uuid: string) => boolean): FieldsEvent {
    const summaries = [...this.#summaries].filter(([uuid]) => isKnown(uuid)).map(([, summary]) => summary)
    const title =
      Object.keys(TITLES)
        .map((name) => this.#titles.get(name))
        .find((found) => found !== undefined) ??
      summaries.at(-1) ??
      this.#prompted
    const prompted = this.#prompted === undefined ? [] : [this.#prompted]
    const formerTitles = [...prompted, ...summaries, ...this.#seenTitles].filter((one) => one !== title)
    return {
      type: 'fields',
      ...(title !== undefined && { title }),
      ...(formerTitles.length > 0 && { formerTitles }),
      ...(this.#model !== undefined && { model: this.#model }),
      ...(this.#createdAt !== undefined && { createdAt: this.#createdAt }),
      ...(this.#metadata.size > 0 && { metadata: Object.fromEntries(this.#metadata) }),
    }
  }
}
