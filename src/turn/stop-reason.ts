/** What comes after an answer: the same request again, the results of tools, or nothing, it was final. */
export type NextStep = 'continue' | 'tools' | 'final'

/** The provider paused, to compact or to go on later. Source: seed 000 (`compaction`), Anthropic (`pause_turn`). */
const PAUSES: ReadonlySet<string> = new Set(['compaction', 'pause', 'pause_turn'])
/** The answer calls tools, in the words of Anthropic, OpenAI and the AI SDK. */
const CALLS: ReadonlySet<string> = new Set(['tool_use', 'tool_calls', 'tool-calls', 'function_call'])

/** What a stop reason means for the loop. An unknown one, and none, is final. Source: checklist S0-81, S0-82, S0-84. */
export function nextStep(stopReason: string | undefined): NextStep {
  if (stopReason === undefined) return 'final'
  if (PAUSES.has(stopReason)) return 'continue'
  return CALLS.has(stopReason) ? 'tools' : 'final'
}
