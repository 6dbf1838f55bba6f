/*
 * Terms of this package, in code, tables and docs:
 *
 * - session: one conversation; has an id, optionally an owner, title, provider, model, metadata.
 * - message: one entry of a session's log. Its content, role and place are written once.
 * - position: the number of a message in its session's log: 1, 2, 3 … without gaps.
 * - silent message: a message without any part that is sent to a provider; it is stored, but adds nothing to the counts of messages and
 *   tokens.
 * - tag: a mutable mark on a message: condenseId, condenseParent, truncationId, truncationParent, isTruncationMarker, retiredBy, and the
 *   replacement that it currently shows.
 * - effective history, or view: the messages that a model would be sent now.
 * - hidden: stored and tagged, not in the view.
 * - replacement: other text shown in place of one text part or one tool result.
 * - summary, marker: rows inserted by a condensation, by a truncation.
 * - stage: one way to compact: a pure function from a view to a plan.
 * - plan: the change that a stage proposes: rows to hide, parts to show differently, rows to insert, and the reason.
 * - compaction: a plan that was applied; a row with an id and a status; the unit of undo.
 * - run: one call of `compactSession`: any number of compactions under one run id.
 */
import { type Json, type JsonObject, stringifyJson } from './json.ts'

export const ROLES = ['system', 'user', 'assistant', 'tool'] as const

/** The speaker. Tool results have the role `tool`, or are parts of a `user` message as in Anthropic's format. */
export type Role = (typeof ROLES)[number]

/** A provider's own fields on a part, stored under the provider's name and returned to it; this package does not read them. */
export type ProviderOptions = { readonly [provider: string]: JsonObject }

/** Ordinary text. */
export type TextPart = {
  readonly type: 'text'
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

/** A model's reasoning. Signatures and encrypted forms are in `providerOptions`. */
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

/** A file, not an image: base64, a data URL, a URL, or bytes. */
export type FilePart = {
  readonly type: 'file'
  readonly data: string | Uint8Array
  readonly mediaType: string
  readonly filename?: string
  readonly providerOptions?: ProviderOptions
}

/** A tool call of the model. `input` is any JSON value. */
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

/** The output of a tool. The kinds that begin with `error-` mean that the call failed. */
export type ToolResultOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'error-text'; readonly value: string }
  | { readonly type: 'error-json'; readonly value: Json }
  | { readonly type: 'content'; readonly value: readonly ToolResultContent[]; readonly isError?: boolean }

/** The result of a tool call. */
export type ToolResultPart = {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName?: string
  readonly output: ToolResultOutput
  readonly providerOptions?: ProviderOptions
}

/**
 * A part that only its provider understands (a compaction block, redacted reasoning, a citation …). It is stored unchanged and
 * sent to that provider only.
 */
export type ProviderPart = {
  readonly type: 'provider'
  readonly provider: string
  readonly data: Json
}

/** One part of a message. */
export type Part =
  | TextPart
  | ReasoningPart
  | ImagePart
  | FilePart
  | ToolCallPart
  | ToolResultPart
  | ProviderPart

/** The neutral form of a message. A string is one text part. */
export type Message = {
  readonly role: Role
  readonly content: string | readonly Part[]
  readonly metadata?: JsonObject
}

/** A message to be appended. */
export type NewMessage = Message & {
  /** The caller's own id, unique within the session. Default: a generated id. */
  readonly id?: string
  /** The time at which the message was created, in milliseconds since 1970. Messages are ordered by position, not by this time. */
  readonly createdAt?: number
  /** Appending the same key and body again returns the first row and writes nothing. */
  readonly idempotencyKey?: string
}

/**
 * The provider name of a part that was not understood when it was read. Its data is `{ format, value }`; `value` is the original as far
 * as JSON can represent it.
 */
export const UNREAD = 'undertext-unread'

/** The provider names under which imports keep content that only an application shows. */
const UNSENT_SOURCES = ['chatgpt', 'claude', 'cline', 'pi', 'roo'] as const
export type UnsentSource = (typeof UNSENT_SOURCES)[number]

/** Provider names whose parts are stored and never sent. */
const UNSENT: ReadonlySet<string> = new Set([UNREAD, ...UNSENT_SOURCES])

/** Returns whether parts with this provider name are stored and never sent. */
export function isUnsent(provider: string): boolean {
  return UNSENT.has(provider)
}

/** Returns whether a part is stored and never sent. */
export function isUnsentPart(part: Part): boolean {
  return part.type === 'provider' && isUnsent(part.provider)
}

/**
 * Returns whether a message is silent: stored, but never sent to any provider, because it has no part that is sent, such as an agent's
 * bookkeeping. An empty text is a part: formats of OpenAI send it.
 */
export function isSilent({ content }: Pick<Message, 'content'>): boolean {
  return typeof content !== 'string' && content.every(isUnsentPart)
}

/** Returns the parts of a message; a string is one text part. */
export function partsOf(message: { readonly content: string | readonly Part[] }): readonly Part[] {
  return typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
}

/** Returns the texts of a message, one for each text part. */
export function textsOf(message: { readonly content: string | readonly Part[] }): string[] {
  if (typeof message.content === 'string') return [message.content]
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
}

/** Returns whether a part is a tool call. */
export function isCall(part: Part | undefined): part is ToolCallPart {
  return part?.type === 'tool-call'
}

/** Returns whether a part is a tool call that the application executes, not the provider. */
export function isApplicationCall(part: Part | undefined): part is ToolCallPart {
  return isCall(part) && part.providerExecuted !== true
}

/** Returns whether a part is a tool result. */
export function isResult(part: Part | undefined): part is ToolResultPart {
  return part?.type === 'tool-result'
}

/** Returns whether a message has only blank texts: to most providers, nothing of it is sent. */
export function isBlankMessage(message: { readonly content: string | readonly Part[] }): boolean {
  return partsOf(message).every((part) => part.type === 'text' && part.text.trim() === '')
}

/** Returns whether a part is reasoning, readable or not. `thinking` and `redacted_thinking` are Anthropic's block types. */
export function isReasoning(part: Part | undefined): boolean {
  if (part === undefined) return false
  if (part.type === 'reasoning') return true
  if (part.type !== 'provider' || typeof part.data !== 'object' || part.data === null) return false
  const { type } = part.data as { readonly type?: unknown }
  return type === 'thinking' || type === 'redacted_thinking'
}

/** Returns whether a tool result is the last content of a message; reasoning, blank texts and provider parts may follow it. */
export function endsInResult(parts: readonly Part[]): boolean {
  const last = parts.findLast(
    (part) =>
      part.type !== 'reasoning' &&
      part.type !== 'provider' &&
      (part.type !== 'text' || part.text.trim() !== ''),
  )
  return last?.type === 'tool-result'
}

/** Returns whether a tool output belongs to a failed call. */
export function isFailed(output: ToolResultOutput): boolean {
  return (
    output.type === 'error-text' ||
    output.type === 'error-json' ||
    (output.type === 'content' && output.isError === true)
  )
}

/** Returns the text of a tool output, without images and files. */
export function outputText(output: ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return stringifyJson(output.value)
    case 'content':
      return joinedTexts(output.value.flatMap((item) => (item.type === 'text' ? [item.text] : [])))
  }
}

/** Joins the texts of several blocks: each begins on its own line, so that words of two blocks don't run together. */
export function joinedTexts(texts: readonly string[]): string {
  let joined = ''
  for (const text of texts) {
    if (text === '') continue
    joined += joined === '' || joined.endsWith('\n') ? text : `\n${text}`
  }
  return joined
}

/** Returns the word that replaces an image or a file in a text. */
export function mediaWord(part: ImagePart | FilePart): string {
  if (part.type === 'image' || part.mediaType.startsWith('image/')) return '[image]'
  return part.filename === undefined ? '[file]' : `[file ${part.filename}]`
}

/** Returns an output with the given text in place of another output. A failed output stays failed. */
export function withOutputText(output: ToolResultOutput, text: string): ToolResultOutput {
  return isFailed(output) ? { type: 'error-text', value: text } : { type: 'text', value: text }
}

/** The kinds of rows of a session: a message of the log, or a row that a compaction inserted. */
export const ROW_KINDS = ['message', 'summary', 'marker'] as const
/** The kind of a row: a message, or a summary or a marker that a compaction inserted. */
export type RowKind = (typeof ROW_KINDS)[number]

/** Positions of the log, as an inclusive range. */
export type PositionRange = readonly [from: number, to: number]

/** One entry of the view: a message that a model would be sent now, with replacements applied. */
export type ViewMessage = Message & {
  readonly id: string
  readonly kind: RowKind
  /** The position in the log; absent on summaries and markers, which follow the last position that they cover. */
  readonly position?: number
  /** Milliseconds since 1970: the caller's time, or else the time of the append. */
  readonly createdAt: number
  /** On a summary: the id of the compaction that inserted it. */
  readonly condenseId?: string
  /** On a marker: the id of the compaction that inserted it. */
  readonly truncationId?: string
  readonly isTruncationMarker?: boolean
  /** Indexes of the parts that show a replacement. */
  readonly replacedParts?: readonly number[]
  /** On request: the positions of the log that this entry represents, in order. */
  readonly positions?: readonly PositionRange[]
}

/** One row as it is stored, hidden or not, with its tags. Its content is the original. */
export type StoredMessage = Message & {
  readonly id: string
  readonly kind: RowKind
  readonly position?: number
  /** The place of the row in the view's order: its position, or the last position that an inserted row covers. */
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
  /** On request: the texts shown in place of parts, with their compactions. */
  readonly shown?: readonly ShownText[]
  /** In a fork: the original message of which this is a copy; absent in other sessions. */
  readonly copiedFrom?: { readonly sessionId: string; readonly messageId: string }
}

/** A replacement in force: the text that a part shows, and its compaction. */
export type ShownText = { readonly part: number; readonly text: string; readonly compactionId: string }
