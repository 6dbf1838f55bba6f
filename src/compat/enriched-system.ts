import { z } from 'zod'
import { check } from '../messages/check.ts'
import { SUMMARY_SEPARATOR } from '../rendering/rows.ts'
import { estimatePromptfleetTokens } from '../tokens/estimators/promptfleet.ts'

/** How many memories are asked for, and the tokens that summaries and memories may take. Source: seed 001's crate, checklist S1-U10. */
export const RECALL_TOP_K = 5
export const MEMORY_TOKEN_BUDGET = 2_000

/** Fixed texts of the system message. Source: seed 001's crate, golden PHM-13 to PHM-20. */
const SUMMARIES_HEADING = 'Previously in this conversation:\n'
const LATEST_HEADING = 'Previously: '
const MEMORIES_HEADING = 'Relevant context from memory:\n'

/** Something remembered beyond the conversation. */
export type Memory = {
  /** `summary`, `fact`, `instruction`, `tool_result`, or a kind of the caller's own. */
  readonly type: string
  readonly content: string
}

export const historySettingsSchema = {
  /** Whether memories are looked up. Default false. */
  enableLongTermMemory: z.boolean().default(false),
  /** How many memories at most. Default 5. */
  recallTopK: z.int().nonnegative().default(RECALL_TOP_K),
  /** Tokens (of `promptfleet`) that memories may take; summaries half of it. Default 2,000. */
  memoryTokenBudget: z.int().nonnegative().default(MEMORY_TOKEN_BUDGET),
}
const enrichedSchema = z.strictObject({
  systemMessage: z.string().nullish(),
  /** Oldest first. */
  summaries: z.array(z.string()).default([]),
  /** Best first; they count only with `enableLongTermMemory`, and when the user says something in the current turn. */
  memories: z.array(z.looseObject({ type: z.string(), content: z.string() })).default([]),
  currentTurn: z.array(z.looseObject({ role: z.string() })).default([]),
  ...historySettingsSchema,
})
export type EnrichedSystemInput = z.input<typeof enrichedSchema>

/**
 * The system text of a request: the system message, the summaries so far, and memories, a blank line between them; `null`
 * when there is none of them. Over half the budget only the latest summary is used; memories stop at the budget.
 * Throws `INVALID_INPUT`. Source: seed 001's crate, golden PHM-10 to PHM-20, checklist S1-U11, S1-U16.
 */
export function buildEnrichedSystem(input: EnrichedSystemInput): string | null {
  const checked = check(enrichedSchema, input, 'buildEnrichedSystem')
  const { systemMessage, summaries, memoryTokenBudget } = checked
  const asks = checked.enableLongTermMemory && queryOf(checked.currentTurn) !== ''
  const parts = [
    systemMessage ?? '',
    summariesText(summaries, memoryTokenBudget),
    asks ? memoriesText(checked.memories.slice(0, checked.recallTopK), memoryTokenBudget) : '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? null : parts.join('\n\n')
}

/** What memories are looked up by: the last text of the user's in the current turn; empty when that is none. */
export function queryOf(currentTurn: readonly { readonly role: string }[]): string {
  const { content } = (currentTurn.findLast(({ role }) => role === 'user') ?? {}) as { content?: unknown }
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as readonly { readonly type?: unknown; readonly text?: unknown }[])
    .flatMap((part) => (part?.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
}

function summariesText(summaries: readonly string[], budget: number): string {
  if (summaries.length === 0) return ''
  const all = SUMMARIES_HEADING + summaries.join(SUMMARY_SEPARATOR)
  const most = Math.floor(budget / 2)
  return estimatePromptfleetTokens(all) <= most ? all : LATEST_HEADING + summaries.at(-1)!
}

function memoriesText(memories: readonly Memory[], budget: number): string {
  let text = MEMORIES_HEADING
  let tokens = estimatePromptfleetTokens(MEMORIES_HEADING)
  for (const { type, content } of memories) {
    const line = `- [${type}] ${content}\n`
    tokens += estimatePromptfleetTokens(line)
    if (tokens > budget) break
    text += line
  }
  return text === MEMORIES_HEADING ? '' : text
}
