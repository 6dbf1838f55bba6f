/*
 * Words used everywhere in this package, in code, tables and docs:
 *
 * - session: one conversation; has an id, optionally an owner, title, provider, model, metadata.
 * - message: one entry of a session's log. Its content, role and place are written once.
 * - position: where a message stands in its session's log: 1, 2, 3 … without gaps.
 * - tag: a mutable mark on a message: condenseId, condenseParent, truncationId, truncationParent,
 *   isTruncationMarker, retiredBy, and the replacement it currently shows.
 * - effective history, or view: what a model would be sent now.
 * - hidden: stored and tagged, not in the view.
 * - replacement: other text shown in place of one text part or one tool result.
 * - summary, marker: rows inserted by a condensation, by a truncation.
 * - stage: one way of making room: a pure function from a view to a plan.
 * - plan: what a stage wants done: rows to hide, parts to show differently, rows to insert, and why.
 * - compaction: a plan that was applied; a row with an id and a status; the unit of undo.
 * - run: one call of `compactSession`: any number of compactions under one run id.
 */
import { type Json, type JsonObject, stringifyJson } from './json.ts'

export const ROLES = ['system', 'user', 'assistant', 'tool'] as const

/** Who speaks. Results of tools have the role `tool`, or stand in a `user` message as Anthropic has them. */
export type Role = (typeof ROLES)[number]

/** What a provider wants to find again on a part: its own fields, kept under its own name, never read by us. */
export type ProviderOptions = { readonly [provider: string]: JsonObject }

/** Ordinary text. */
export type TextPart = {
  readonly type: 'text'
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

/** A model's reasoning. Signatures and encrypted forms go to `providerOptions`. */
export type ReasoningPart = {
  readonly type: 'reasoning'
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

/** An image: base64, a data URL, a URL, or bytes. */
export type ImagePart = {
  readonly type: 'image'
  readonly image: string | Uint8Array
  readonly mediaType?: string
  readonly providerOptions?: ProviderOptions
}

/** A file: base64, a data URL, a URL, or bytes. */
export type FilePart = {
  readonly type: 'file'
  readonly data: string | Uint8Array
  readonly mediaType: string
  readonly filename?: string
  readonly providerOptions?: ProviderOptions
}

/** A call of a tool, made by the model. `input` is any JSON value. */
export type ToolCallPart = {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  readonly providerExecuted?: boolean
  readonly providerOptions?: ProviderOptions
}

/** One piece of a tool result that is more than text. */
export type ToolResultContent = TextPart | ImagePart | FilePart | ProviderPart

/** What a tool answered. The two `error-` kinds say that the call failed. */
export type ToolResultOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'error-text'; readonly value: string }
  | { readonly type: 'error-json'; readonly value: Json }
  | { readonly type: 'content'; readonly value: readonly ToolResultContent[]; readonly isError?: boolean }

/** The answer to a call of a tool. */
export type ToolResultPart = {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName?: string
  readonly output: ToolResultOutput
  readonly providerOptions?: ProviderOptions
}

/**
 * A part only its provider understands (a compaction block, redacted reasoning, a citation …), kept as it is
 * and sent back to that provider only.
 */
export type ProviderPart = {
  readonly type: 'provider'
  readonly provider: string
  readonly data: Json
}

export type Part =
  | TextPart
  | ReasoningPart
  | ImagePart
  | FilePart
  | ToolCallPart
  | ToolResultPart
  | ProviderPart

/** The neutral form of a message, as it goes in and as it comes out. A string means one text part. */
export type Message = {
  readonly role: Role
  readonly content: string | readonly Part[]
  readonly metadata?: JsonObject
}

/** A message to be appended. */
export type NewMessage = Message & {
  /** The caller's own id, unique within the session. Default: one of ours. */
  readonly id?: string
  /** When the message was made, milliseconds since 1970. Kept as data; order is by position. */
  readonly createdAt?: number
  /** The same key and body again returns the first row and writes nothing. */
  readonly idempotencyKey?: string
}

/** The parts of a message; a string is one text part. */
export function partsOf(message: { readonly content: string | readonly Part[] }): readonly Part[] {
  return typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
}

/** Reasoning, readable or not. Source: Anthropic's blocks `thinking` and `redacted_thinking`. */
export function isReasoning(part: Part | undefined): boolean {
  if (part === undefined) return false
  if (part.type === 'reasoning') return true
  if (part.type !== 'provider' || typeof part.data !== 'object' || part.data === null) return false
  const { type } = part.data as { readonly type?: unknown }
  return type === 'thinking' || type === 'redacted_thinking'
}

/** Whether the result of a tool is the last a message says: reasoning, blank texts and what a provider reads may follow. */
export function endsInResult(parts: readonly Part[]): boolean {
  const last = parts.findLast(
    (part) =>
      part.type !== 'reasoning' &&
      part.type !== 'provider' &&
      (part.type !== 'text' || part.text.trim() !== ''),
  )
  return last?.type === 'tool-result'
}

/** Whether a tool result says that its call failed. */
export function isFailed(output: ToolResultOutput): boolean {
  return (
    output.type === 'error-text' ||
    output.type === 'error-json' ||
    (output.type === 'content' && output.isError === true)
  )
}

/** The text of a tool result: what a model reads of it, without images and files. */
export function outputText(output: ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return stringifyJson(output.value)
    case 'content':
      return output.value.map((item) => (item.type === 'text' ? item.text : '')).join('')
  }
}

/** The word that stands for an image or a file where none may be. */
export function mediaWord(part: ImagePart | FilePart): string {
  if (part.type === 'image' || part.mediaType.startsWith('image/')) return '[image]'
  return part.filename === undefined ? '[file]' : `[file ${part.filename}]`
}

/** A tool result that shows a text in place of its output. A failed result stays a failed one. */
export function withOutputText(output: ToolResultOutput, text: string): ToolResultOutput {
  return isFailed(output) ? { type: 'error-text', value: text } : { type: 'text', value: text }
}

/** What a row of a session is: a message of the log, or a row a compaction inserted. */
export const ROW_KINDS = ['message', 'summary', 'marker'] as const
export type RowKind = (typeof ROW_KINDS)[number]

/** Positions a row of the view stands for, as inclusive ranges in order. */
export type PositionRange = readonly [from: number, to: number]

/** One entry of the view: what a model would be sent now, replacements applied. */
export type ViewMessage = Message & {
  readonly id: string
  readonly kind: RowKind
  /** Place in the log; absent on summaries and markers, which stand behind the last position they cover. */
  readonly position?: number
  /** Milliseconds since 1970: the caller's time, else when it was stored. */
  readonly createdAt: number
  /** On a summary: the id of the compaction that made it. */
  readonly condenseId?: string
  /** On a marker: the id of the compaction that made it. */
  readonly truncationId?: string
  readonly isTruncationMarker?: boolean
  /** Indexes of the parts that show a replacement. */
  readonly replacedParts?: readonly number[]
  /** On request: the positions of the log this entry stands for. */
  readonly standsFor?: readonly PositionRange[]
}

/** One row as it is stored, hidden or not, with its tags. Its content is the original. */
export type StoredMessage = Message & {
  readonly id: string
  readonly kind: RowKind
  readonly position?: number
  /** Where the row stands in the view's order: its position, or the last position an inserted row covers. */
  readonly anchor: number
  readonly createdAt: number
  readonly idempotencyKey?: string
  readonly pinned: boolean
  readonly hidden: boolean
  readonly condenseId?: string
  readonly condenseParent?: string
  readonly truncationId?: string
  readonly truncationParent?: string
  readonly isTruncationMarker?: boolean
  readonly retiredBy?: string
  readonly replacedParts?: readonly number[]
  /** On request: the texts shown in place of parts, and the compactions that show them. */
  readonly shown?: readonly ShownText[]
}

/** A replacement in force: the text a part shows, and whose it is. */
export type ShownText = { readonly part: number; readonly text: string; readonly compactionId: string }
