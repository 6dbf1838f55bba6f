import { invalid } from '../errors.ts'

/**
 * Why a model stopped, whoever it was:
 *
 * - `end`: it is done; `stop-sequence`: it came to a text that was to stop it.
 * - `tools`: it waits for the results of its calls.
 * - `compaction`: its provider paused to compact the conversation, and is to be asked to go on.
 * - `pause`: its provider paused a long turn, and is to be asked to go on.
 * - `length`: an answer's or the window's limit was reached; `refusal`: it would not, or was not let.
 * - `other`: anything else, an error included.
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
export type StopReason = (typeof STOP_REASONS)[number]

/** What a loop around a model does next: send the results of its calls, ask again as it is, or be done. */
export type NextStep = 'tools' | 'continue' | 'final'

/**
 * Spellings, without case, `_` and `-`. Sources: Anthropic's `stop_reason`, OpenAI's `finish_reason`, the AI SDK's
 * `finishReason`, Gemini's `finishReason`, Bedrock's `stopReason`, and seed 000.
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

/** Reads a provider's stop reason; one that is unknown, or none (`null`), is `other`. Throws `INVALID_INPUT` for what is no text. */
export function stopReasonOf(reason: string | null | undefined): StopReason {
  if (reason === null || reason === undefined) return 'other'
  if (typeof reason !== 'string') throw invalid('stopReasonOf: the reason must be a text')
  return SPELLINGS.get(reason.slice(0, 100).toLowerCase().replace(/[_-]/g, '')) ?? 'other'
}

/**
 * What to do after an answer that stopped for this reason. After a compaction or a pause the answer is appended and the
 * model asked again: it is not the final one. Throws `INVALID_INPUT` for what is no text.
 */
export function nextStep(reason: string | null | undefined): NextStep {
  return NEXT.get(stopReasonOf(reason)) ?? 'final'
}
