import { isObject, type JsonObject } from './json.ts'
import type { Message, NewMessage } from './message.ts'
import { stopReasonOf } from './stop-reason.ts'

/** Why an answer has no end: the limit of output was reached, or it was stopped, by the user or an error. */
export type BrokenOff = 'length' | 'stopped'

/** The name of this package in the metadata of a message. */
export const OWN = 'undertext'

/** Why an answer ended before its end, in words. */
export const BROKEN_OFF: { readonly [why in BrokenOff]: string } = {
  length: 'broken off at the limit of output',
  stopped: 'broken off before its end',
}

/** The reasons of providers for an answer that was stopped. */
const STOPPED: ReadonlySet<unknown> = new Set(['aborted', 'abort', 'cancelled', 'error'])

/** Why an answer with this stop reason has no end; `undefined` for one that has. */
function brokenOffBy(stopReason: unknown): BrokenOff | undefined {
  if (typeof stopReason !== 'string') return undefined
  if (stopReasonOf(stopReason) === 'length') return 'length'
  return STOPPED.has(stopReason.toLowerCase()) ? 'stopped' : undefined
}

/** The messages of an answer, with the mark on the last one of the assistant when its stop reason says that it has no end. */
export function withStopReason(
  messages: readonly NewMessage[],
  stopReason: string | null | undefined,
): readonly NewMessage[] {
  const why = brokenOffBy(stopReason)
  const at = why === undefined ? -1 : messages.findLastIndex(({ role }) => role === 'assistant')
  const last = messages[at]
  if (last === undefined || brokenOff(last) !== undefined) return messages
  const own = last.metadata?.[OWN]
  const metadata = { ...last.metadata, [OWN]: { ...(isObject(own) && own), brokenOff: why } } as JsonObject
  return messages.with(at, { ...last, metadata })
}

/**
 * Why an answer has no end, from what was stored with it: a stop reason, or a part of a chat that was still `streaming`. `undefined` for a
 * complete one, and where nothing is known.
 */
export function brokenOff({ role, metadata }: Pick<Message, 'role' | 'metadata'>): BrokenOff | undefined {
  if (role !== 'assistant' || metadata === undefined) return undefined
  for (const [name, kept] of Object.entries(metadata)) {
    if (!isObject(kept)) continue
    if (name === OWN && (kept.brokenOff === 'length' || kept.brokenOff === 'stopped')) return kept.brokenOff
    if (name === 'ai-sdk' && isStreaming(kept.ui)) return 'stopped'
    const entry = isObject(kept.entry) ? kept.entry : {}
    for (const fields of [kept, kept.message, kept.response_metadata, entry.message]) {
      const why = isObject(fields) ? whyIn(fields) : undefined
      if (why !== undefined) return why
    }
  }
  return undefined
}

/** Why a response has no end, by its fields in the forms of providers, agents and SDKs. */
function whyIn(fields: JsonObject): BrokenOff | undefined {
  const { stop_reason, stopReason, finish_reason, finishReason, status, incomplete_details: details } = fields
  const named = brokenOffBy(stop_reason ?? stopReason ?? finish_reason ?? finishReason)
  if (named !== undefined || status !== 'incomplete') return named
  // Of the Responses API.
  return (isObject(details) ? brokenOffBy(details.reason) : undefined) ?? 'stopped'
}

/** Whether a row of a chat has a part that had not arrived in full. */
function isStreaming(ui: unknown): boolean {
  const parts: unknown = isObject(ui) ? ui.parts : undefined
  return (
    Array.isArray(parts) &&
    parts.some((part: unknown) => {
      if (!isObject(part)) return false
      const state = part.state ?? (isObject(part.fields) ? part.fields.state : undefined)
      return state === 'streaming' || state === 'input-streaming'
    })
  )
}
