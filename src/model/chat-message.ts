import { invalid } from '../errors.ts'
import type { Part } from '../messages/message.ts'

/*
 * Messages as plain objects in a plain array, for callers that keep their history themselves: the `ChatMessage`
 * of seed 003. Nothing here knows a store; what the store keeps in columns stands on the objects.
 */

/**
 * A message of a plain array. Fields that are not named here are kept as they are.
 *
 * Two forms may stand side by side: the seed's flat one (role `tool_call` or `tool_result`, a text, the tool's
 * name in `tool`), and the neutral one of this package (role `assistant`, `tool` …, a list of parts). Rows that a
 * store gives (`getMessages`, `getEffectiveHistory`) are such messages too.
 */
export type ChatMessage = {
  readonly id?: string | undefined
  /** `system`, `user`, `assistant`, `tool_call`, `tool_result`, or `tool`. */
  readonly role: string
  /** A text, or neutral parts. */
  readonly content: string | readonly Part[]
  /** Name of the tool, on the seed's flat calls and results. */
  readonly tool?: string | undefined
  /** Joins a flat call and its result. Without it they are joined by neighbourhood. */
  readonly toolCallId?: string | undefined
  /** Arguments of a flat call; `input` is another name for the same. */
  readonly args?: unknown
  readonly input?: unknown
  /** `isSummary: true` marks a summary. */
  readonly metadata?: { readonly [name: string]: unknown } | undefined
  /** On a summary: the condensation that made it. */
  readonly condenseId?: string | undefined
  /** On a message a summary stands for: that summary's `condenseId`. The message is hidden. */
  readonly condenseParent?: string | undefined
  /** On a marker: the truncation that made it. */
  readonly truncationId?: string | undefined
  /** On a message a truncation hid: that truncation's id. */
  readonly truncationParent?: string | undefined
  /** True on the message inserted where a truncation hid others, and on nothing else. */
  readonly isTruncationMarker?: boolean | undefined
  /** On rows of a store: never part of a summary, never hidden. */
  readonly pinned?: boolean | undefined
  /** On rows of a store: inserted by a compaction that is not in force, so not visible. */
  readonly retiredBy?: string | undefined
}

/** Fields that only some sources of messages have. They are looked at, never asked for. */
type ForeignFields = {
  readonly kind?: unknown
  readonly isSummary?: unknown
}

/** Whether a message is a summary: by the seed's `metadata.isSummary`, or as Roo Code or a store marks it. */
export function isSummary(message: ChatMessage): boolean {
  const { kind, isSummary: flag } = message as ForeignFields
  return message.metadata?.isSummary === true || flag === true || kind === 'summary'
}

/** Whether a message is the marker of a truncation. */
export function isMarker(message: ChatMessage): boolean {
  return message.isTruncationMarker === true
}

/** Whether a message carries the tag of a condensation or truncation that hides it. An empty tag is none. */
export function hasParent(message: ChatMessage): boolean {
  return Boolean(message.condenseParent) || Boolean(message.truncationParent)
}

/** Refuses what is not a list of objects. Throws `INVALID_INPUT`; `what` names the function that was called. */
export function requireMessages(messages: unknown, what: string): void {
  if (!Array.isArray(messages)) throw invalid(`${what}: messages must be a list`)
  const wrong = messages.findIndex((message) => typeof message !== 'object' || message === null)
  if (wrong >= 0) throw invalid(`${what}: messages[${wrong}] must be an object`)
}

/** A strategy of the caller's own, over messages of any form. Ours are such strategies too. Source: seed 000, checklist S0-09 to S0-13. */
export interface ContextStrategy<M = ChatMessage> {
  /** What results and the audit call it. Default "custom". */
  readonly name?: string
  /** Tokens of the messages, a whole number. */
  tokenEstimate(messages: readonly M[]): number
  shouldCompact(messages: readonly M[], tokenCount: number): boolean
  /** The shorter list. May fail; its error reaches the caller (conflict C-32). */
  compact(messages: readonly M[]): readonly M[] | Promise<readonly M[]>
}
