import { invalid } from '../errors.ts'
import { isObject, type JsonObject } from './json.ts'
import type { Message, NewMessage } from './message.ts'

/**
 * Why a model stopped, for every provider:
 *
 * - `end`: the answer is complete; `stop-sequence`: it reached a stop sequence.
 * - `tools`: the model waits for the results of its calls.
 * - `compaction`: the provider paused to compact the conversation; send the request again to continue.
 * - `pause`: the provider paused a long turn; send the request again to continue.
 * - `length`: the limit of the answer or of the window was reached; `refusal`: the model or a filter refused.
 * - `other`: anything else, errors included.
 */
export const STOP_REASONS = [
  'end',
  'stop-sequence',
  'tools',
  'compaction',
  'pause',
  'length',
  'refusal',
  'other',
] as const
/** Why a model stopped, in a neutral spelling. */
export type StopReason = (typeof STOP_REASONS)[number]

/** The next step of a loop around a model: send tool results, send the request again, or stop. */
export type NextStep = 'tools' | 'continue' | 'final'

/**
 * Spellings, without case, `_` and `-`, of Anthropic's `stop_reason`, OpenAI's `finish_reason`, `finishReason` of the AI SDK and of
 * Gemini, and Bedrock's `stopReason`.
 */
const SPELLINGS: ReadonlyMap<string, StopReason> = new Map<string, StopReason>([
  ['end', 'end'],
  ['endturn', 'end'],
  ['stop', 'end'],
  ['completed', 'end'],
  ['stopsequence', 'stop-sequence'],
  ['tools', 'tools'],
  ['tooluse', 'tools'],
  ['toolcall', 'tools'],
  ['toolcalls', 'tools'],
  ['functioncall', 'tools'],
  ['compaction', 'compaction'],
  ['pause', 'pause'],
  ['pauseturn', 'pause'],
  ['length', 'length'],
  ['maxtokens', 'length'],
  ['maxoutputtokens', 'length'],
  ['modelcontextwindowexceeded', 'length'],
  ['modellength', 'length'],
  ['refusal', 'refusal'],
  ['contentfilter', 'refusal'],
  ['contentfiltered', 'refusal'],
  ['guardrailintervened', 'refusal'],
  ['safety', 'refusal'],
])

const NEXT: ReadonlyMap<StopReason, NextStep> = new Map<StopReason, NextStep>([
  ['tools', 'tools'],
  ['compaction', 'continue'],
  ['pause', 'continue'],
])

/**
 * Normalizes a provider's stop reason. An unknown or missing reason becomes `other`. Throws `INVALID_INPUT` for a value that is not a
 * text.
 */
export function stopReasonOf(reason: string | null | undefined): StopReason {
  if (reason === null || reason === undefined) return 'other'
  if (typeof reason !== 'string') throw invalid('stopReasonOf: the reason must be a string')
  return SPELLINGS.get(reason.slice(0, 100).toLowerCase().replace(/[_-]/g, '')) ?? 'other'
}

/**
 * Returns the next step after an answer with this stop reason. After a compaction or a pause, append the answer and send the request
 * again. Throws `INVALID_INPUT` for a value that is not a text.
 */
export function nextStep(reason: string | null | undefined): NextStep {
  return NEXT.get(stopReasonOf(reason)) ?? 'final'
}

/** Why an answer is incomplete: the output limit was reached, or the user or an error stopped it. */
export type BrokenOff = 'length' | 'stopped'

/** The key of this package in the metadata of a message. */
export const OWN = 'undertext'

/** Why an answer is incomplete, in words. */
export const BROKEN_OFF: { readonly [why in BrokenOff]: string } = {
  length: 'broken off at the limit of output',
  stopped: 'broken off before its end',
}

/** Providers' reasons for a stopped answer. */
const STOPPED: ReadonlySet<unknown> = new Set(['aborted', 'abort', 'cancelled', 'error'])

/** Returns why an answer with this stop reason is incomplete; `undefined` for a complete one. */
function brokenOffBy(stopReason: unknown): BrokenOff | undefined {
  if (typeof stopReason !== 'string') return undefined
  if (stopReasonOf(stopReason) === 'length') return 'length'
  return STOPPED.has(stopReason.toLowerCase()) ? 'stopped' : undefined
}

/** Returns the messages of an answer. If the stop reason means that the answer is incomplete, the last assistant message is marked. */
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
 * Returns why an answer is incomplete, from data stored with it: a stop reason, or a part of a chat that was still `streaming`. Returns
 * `undefined` for a complete answer, and if nothing is known.
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

/** Returns why a response is incomplete, by its fields in the forms of providers, agents and SDKs. */
function whyIn(fields: JsonObject): BrokenOff | undefined {
  const { stop_reason, stopReason, finish_reason, finishReason, status, incomplete_details: details } = fields
  const named = brokenOffBy(stop_reason ?? stopReason ?? finish_reason ?? finishReason)
  if (named !== undefined || status !== 'incomplete') return named
  // The Responses API.
  return (isObject(details) ? brokenOffBy(details.reason) : undefined) ?? 'stopped'
}

/** Returns whether a chat message has a part that was still being received. */
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
