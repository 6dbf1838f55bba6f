import { listIn } from '../../core/messages/json.ts'
import type {
  Message,
  NewMessage,
  Part,
  PositionRange,
  ToolResultContent,
  ToolResultOutput,
} from '../../core/messages/message.ts'
import type { PlacedMedia } from '../verbs.ts'

/* The messages of a request as texts, and the rows of the log that each represents. */

/** A part of a message that was sent: its text is what the model received, not rendered. */
export type Piece = {
  readonly kind: 'text' | 'reasoning' | 'call' | 'result' | 'media' | 'provider'
  readonly label?: string
  readonly text?: string
  readonly isError?: boolean
  readonly media?: readonly PlacedMedia[]
  /** A provider's own fields, as JSON. */
  readonly options?: string
}

const json = (value: unknown): string => JSON.stringify(value, null, 2) ?? ''

/** Returns the parts of a message as they were sent. Images and files arrive as descriptions. */
export function piecesOf({ content }: Pick<Message, 'content'>): Piece[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return content.map((part) => ({
    ...pieceOf(part),
    ...('providerOptions' in part && part.providerOptions && { options: json(part.providerOptions) }),
  }))
}

function pieceOf(part: Part): Piece {
  switch (part.type) {
    case 'text':
      return { kind: 'text', text: part.text }
    case 'reasoning':
      return { kind: 'reasoning', label: 'Reasoning', text: part.text }
    case 'tool-call':
      return {
        kind: 'call',
        label: part.toolName,
        text: typeof part.input === 'string' ? part.input : json(part.input),
      }
    case 'tool-result':
      return { kind: 'result', label: part.toolName ?? part.toolCallId, ...outputOf(part.output) }
    case 'provider':
      return { kind: 'provider', label: part.provider, text: json(part.data) }
    default:
      return { kind: 'media', media: [placed(part)] }
  }
}

function outputOf(output: ToolResultOutput): Pick<Piece, 'text' | 'isError' | 'media'> {
  switch (output.type) {
    case 'text':
      return { text: output.value }
    case 'error-text':
      return { text: output.value, isError: true }
    case 'json':
      return { text: json(output.value) }
    case 'error-json':
      return { text: json(output.value), isError: true }
    case 'content': {
      const texts = output.value.flatMap((item) =>
        item.type === 'text' ? [item.text] : item.type === 'provider' ? [json(item.data)] : [],
      )
      const media = output.value.flatMap((item) =>
        item.type === 'image' || item.type === 'file' ? [placed(item)] : [],
      )
      return {
        text: texts.join('\n'),
        ...(output.isError && { isError: true }),
        ...(media.length > 0 && { media }),
      }
    }
  }
}

/** The server replaces the bytes of images and files with descriptions. */
export const placed = (part: Part | ToolResultContent): PlacedMedia => part as unknown as PlacedMedia

/** The characters of a message, for its header. */
export function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text = '' }) => sum + text.length, 0)
}

/** Returns the name of a tool in any provider's form. */
export function toolName(tool: unknown, index: number): string {
  if (typeof tool !== 'object' || tool === null) return `tool ${index + 1}`
  const { name, function: inner, toolSpec } = tool as { readonly [name: string]: unknown }
  for (const named of [{ name }, inner, toolSpec])
    if (typeof named === 'object' && named !== null && 'name' in named && typeof named.name === 'string')
      return named.name
  const { type } = tool as { readonly type?: unknown }
  return typeof type === 'string' ? type : `tool ${index + 1}`
}

/** A row of the view, as far as it is recognized in what was sent. */
export type Source = Pick<Message, 'role' | 'content'> & {
  readonly id?: string
  readonly position?: number
  readonly positions?: readonly PositionRange[]
}

/** What a sent message consists of: indexes of rows of the view, and whether it contains the prompt. */
export type Origin = { readonly rows: readonly number[]; readonly isPrompt: boolean }

/**
 * Returns, for each message that was sent, the rows of the view that it represents. Rendering merges, moves and adds messages, so a row
 * belongs to the message that contains most of its texts and calls, and each text of a message is used once.
 */
export function originsOf(
  sent: readonly Pick<Message, 'content'>[],
  view: readonly Source[],
  prompt: readonly Pick<NewMessage, 'content'>[],
): Origin[] {
  const places = new Map<string, number[]>()
  for (const [at, message] of sent.entries()) for (const key of keysOf(message)) listIn(places, key).push(at)
  const origins = sent.map(() => ({ rows: [] as number[], isPrompt: false }))
  let next = 0
  const find = (source: Pick<Message, 'content'>): number | undefined => {
    const keys = keysOf(source)
    const found = mostFrequent(keys.flatMap((key) => take(places.get(key), next)))
    const at = found ?? containing(sent, textsOf(source), next)
    if (at !== undefined && at > next) next = at
    return at
  }
  for (const [row, source] of view.entries()) {
    const at = find(source)
    if (at !== undefined) origins[at]!.rows.push(row)
  }
  for (const message of prompt) {
    const at = find(message)
    if (at !== undefined) origins[at]!.isPrompt = true
  }
  return origins
}

/** Removes and returns the first place at or after `next`, else the last before it. */
function take(places: number[] | undefined, next: number): number[] {
  if (places === undefined || places.length === 0) return []
  const at = places.findIndex((place) => place >= next)
  return places.splice(at === -1 ? places.length - 1 : at, 1)
}

function mostFrequent(values: readonly number[]): number | undefined {
  const counts = new Map<number, number>()
  let best: number | undefined
  for (const value of values) {
    const count = (counts.get(value) ?? 0) + 1
    counts.set(value, count)
    if (best === undefined || count > counts.get(best)!) best = value
  }
  return best
}

/** How many messages further a changed text is searched. */
const REACH = 3

/** Returns the next message of which a text contains one of these: a summary is sent with a header, merged texts are joined. */
function containing(
  sent: readonly Pick<Message, 'content'>[],
  texts: readonly string[],
  next: number,
): number | undefined {
  const wanted = texts.filter((text) => text !== '')
  for (let at = next; at < Math.min(sent.length, next + REACH); at++) {
    const all = textsOf(sent[at]!)
    if (wanted.some((text) => all.some((one) => one.includes(text)))) return at
  }
  return undefined
}

function textsOf(message: Pick<Message, 'content'>): string[] {
  return piecesOf(message).map(({ text = '' }) => text.trim())
}

/** What identifies the parts of a message in another form of it. */
function keysOf(message: Pick<Message, 'content'>): string[] {
  const { content } = message
  if (typeof content === 'string') return [`text ${content.trim()}`]
  return content.map((part) => {
    if (part.type === 'text') return `text ${part.text.trim()}`
    if (part.type === 'tool-call') return `call ${part.toolCallId}`
    if (part.type === 'tool-result') return `result ${part.toolCallId}`
    if (part.type === 'reasoning') return `reasoning ${part.text}`
    if (part.type === 'provider') return `provider ${json(part.data)}`
    const { mediaType, bytes, url, filename } = placed(part)
    return `media ${json([mediaType, bytes, url, filename])}`
  })
}

/** Whether a position is in one of the ranges. */
export function isIn(ranges: readonly PositionRange[], position: number): boolean {
  return ranges.some(([from, to]) => from <= position && position <= to)
}

/** The positions of rows, as ranges. */
export function rangesOf(rows: readonly Source[]): PositionRange[] {
  return rows.flatMap(({ position, positions }) =>
    positions !== undefined ? [...positions] : position !== undefined ? [[position, position] as const] : [],
  )
}

/** Ranges in words: `3, 5–9`. Neighbors are joined. */
export function rangeWords(ranges: readonly PositionRange[]): string {
  const joined: [number, number][] = []
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = joined.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else joined.push([from, to])
  }
  return joined.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ')
}

/** What a change replaces: the texts that stay before and after it, and those that were removed and added. */
export type Change = {
  readonly same: string
  readonly removed: string
  readonly added: string
  readonly end: string
}

/** Compares two texts around a change by their common beginning and end. Characters stay whole. */
export function changeOf(before: string, after: string): Change {
  const [old, current] = [[...before], [...after]]
  const most = Math.min(old.length, current.length)
  let start = 0
  while (start < most && old[start] === current[start]) start++
  let end = 0
  while (end < most - start && old[old.length - 1 - end] === current[current.length - 1 - end]) end++
  return {
    same: old.slice(0, start).join(''),
    removed: old.slice(start, old.length - end).join(''),
    added: current.slice(start, current.length - end).join(''),
    end: end === 0 ? '' : old.slice(-end).join(''),
  }
}

/** The parts of a long list that are shown: all, or its beginning and its end with a gap. */
export function shownOf(count: number, head: number, tail: number): readonly (readonly [number, number])[] {
  return count <= head + tail + 1
    ? [[0, count]]
    : [
        [0, head],
        [count - tail, count],
      ]
}
