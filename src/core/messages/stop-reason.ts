import { invalid } from '../errors.ts'

/**
 * Why a model stopped, for every provider:
 *
 * - `end`: the answer is complete; `stop-sequence`: it reached a stop sequence.
 * - `tools`: it waits for the results of its calls.
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
 * Spellings, without case, `_` and `-`, of Anthropic's `stop_reason`, OpenAI's `finish_reason`, `finishReason` of the AI SDK and
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

/** Normalizes a provider's stop reason. An unknown or missing one is `other`. Throws `INVALID_INPUT` for a value that is not a text. */
export function stopReasonOf(reason: string | null | undefined): StopReason {
  if (reason === null || reason === undefined) return 'other'
  if (typeof reason !== 'string') throw invalid('stopReasonOf: the reason must be a text')
  return SPELLINGS.get(reason.slice(0, 100).toLowerCase().replace(/[_-]/g, '')) ?? 'other'
}

/**
 * The next step after an answer with this stop reason. After a compaction or a pause the answer is appended and the request sent
 * again. Throws `INVALID_INPUT` for a value that is not a text.
 */
export function nextStep(reason: string | null | undefined): NextStep {
  return NEXT.get(stopReasonOf(reason)) ?? 'final'
}
