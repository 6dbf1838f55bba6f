import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { check, readable } from '../../core/messages/check.ts'
import { defined, isJsonObject, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import { ANTHROPIC_EDITS, canonicalProvider, OPENAI_COMPACTION } from '../../core/tokens/providers.ts'

/*
 * Request fields that let the provider compact by itself. Sources: the pages "Compaction" and "Context editing"
 * of Anthropic, and the page "Compaction" of OpenAI.
 */

/** The beta headers that Anthropic requires: one for its compaction, one for its other edits. */
export const ANTHROPIC_BETAS = {
  compaction: 'compact-2026-01-12',
  contextManagement: 'context-management-2025-06-27',
} as const

/** The smallest trigger of a compaction by Anthropic, in input tokens. */
export const COMPACT_TRIGGER_MINIMUM = 50_000

const count = z.int().positive()

const compactEdit = z.strictObject({
  type: z.literal('compact'),
  /** The name of the edit at Anthropic. Default: `compact_20260112`. */
  strategy: z.string().min(1).optional(),
  /** Input tokens at which the provider compacts. */
  trigger: count.optional(),
  /** Anthropic only: stops after the summary, with the stop reason `compaction`. */
  pauseAfterCompaction: z.boolean().optional(),
  /** Anthropic only: replaces its own prompt for the summary. */
  instructions: z.string().optional(),
})
const clearToolUsesEdit = z.strictObject({
  type: z.literal('clear_tool_uses'),
  /** Input tokens at which results are cleared. */
  trigger: count.optional(),
  /** How many of the newest tool uses are kept. */
  keep: z.int().min(0).optional(),
  /** The smallest number of input tokens to clear; otherwise nothing is cleared. */
  clearAtLeast: count.optional(),
  excludeTools: z.array(z.string()).optional(),
  /** Whether the inputs of calls are cleared too. The store still shows them: it clears only results. */
  clearToolInputs: z.boolean().optional(),
})
const clearThinkingEdit = z.strictObject({
  type: z.literal('clear_thinking'),
  /** How many of the newest turns keep their thinking. */
  keep: z.union([count, z.literal('all')]).optional(),
})
const EDITS: ReadonlyMap<unknown, z.ZodType> = new Map<unknown, z.ZodType>([
  ['compact', compactEdit],
  ['clear_tool_uses', clearToolUsesEdit],
  ['clear_thinking', clearThinkingEdit],
])

/** Compacts the conversation on the provider's side. */
export type CompactEdit = z.input<typeof compactEdit>
/** Clears old tool results. */
export type ClearToolUsesEdit = z.input<typeof clearToolUsesEdit>
/** Clears old thinking. */
export type ClearThinkingEdit = z.input<typeof clearThinkingEdit>
/** An edit of the kinds above, or one in the provider's own form, which is passed on unchanged. */
export type ContextEdit =
  | CompactEdit
  | ClearToolUsesEdit
  | ClearThinkingEdit
  | (JsonObject & { readonly type: string })

/** Edits in order. Plain data, to be stored with a session or sent. */
export type ContextManagement = { readonly edits: readonly ContextEdit[] }

/**
 * Returns the value of `context_management` in the documented form of Anthropic (an object) or OpenAI (a list).
 *
 * `{ type: 'compact', strategy: 'compact_20260112' }` becomes `{ type: 'compact_20260112' }`. An edit of
 * another type is passed on unchanged. Throws `INVALID_INPUT` for another provider, for an option that the
 * provider does not have, and for a trigger below Anthropic's 50,000.
 */
export function contextManagement(
  given: ContextManagement,
  provider = 'anthropic',
): JsonObject | readonly Json[] {
  return readable('contextManagement', () => built(given, provider))
}

function built(given: ContextManagement, provider: string): JsonObject | readonly Json[] {
  const what = 'contextManagement'
  const edits = isObject(given) ? given.edits : undefined
  if (!Array.isArray(edits)) throw invalid(`${what}: edits must be an array`)
  const to = canonicalProvider(provider)
  if (to !== 'anthropic' && to !== 'openai')
    throw invalid(`${what}: the provider must be anthropic or openai`)
  const all = edits.map((edit: unknown, index): JsonObject => {
    const path = `${what}: edits[${index}]`
    if (!isJsonObject(edit) || typeof edit.type !== 'string')
      throw invalid(`${path} must be a JSON object with a type`)
    const schema = EDITS.get(edit.type)
    if (schema === undefined) return edit
    const checked = check(schema, edit, path) as CompactEdit | ClearToolUsesEdit | ClearThinkingEdit
    return to === 'anthropic' ? anthropicEdit(checked, path) : openaiEdit(checked, path)
  })
  return to === 'anthropic' ? { edits: all } : all
}

function anthropicEdit(edit: CompactEdit | ClearToolUsesEdit | ClearThinkingEdit, path: string): JsonObject {
  switch (edit.type) {
    case 'compact': {
      const { strategy = ANTHROPIC_EDITS.compact, trigger, pauseAfterCompaction, instructions } = edit
      if (trigger !== undefined && trigger < COMPACT_TRIGGER_MINIMUM)
        throw invalid(`${path}.trigger must be at least ${COMPACT_TRIGGER_MINIMUM}`)
      return defined({
        type: strategy,
        trigger: inputTokens(trigger),
        pause_after_compaction: pauseAfterCompaction,
        instructions,
      })
    }
    case 'clear_tool_uses': {
      const { trigger, keep, clearAtLeast, excludeTools, clearToolInputs } = edit
      return defined({
        type: ANTHROPIC_EDITS.clear_tool_uses,
        trigger: inputTokens(trigger),
        keep: amountOf('tool_uses', keep),
        clear_at_least: inputTokens(clearAtLeast),
        exclude_tools: excludeTools,
        clear_tool_inputs: clearToolInputs,
      })
    }
    case 'clear_thinking': {
      const keep = edit.keep === 'all' ? edit.keep : amountOf('thinking_turns', edit.keep)
      return defined({ type: ANTHROPIC_EDITS.clear_thinking, keep })
    }
  }
}

function amountOf(type: string, value: number | undefined): JsonObject | undefined {
  return value === undefined ? undefined : { type, value }
}

function inputTokens(value: number | undefined): JsonObject | undefined {
  return amountOf('input_tokens', value)
}

function openaiEdit(edit: CompactEdit | ClearToolUsesEdit | ClearThinkingEdit, path: string): JsonObject {
  if (edit.type !== 'compact') throw invalid(`${path}: OpenAI has no edit ${edit.type}`)
  if (edit.pauseAfterCompaction !== undefined || edit.instructions !== undefined)
    throw invalid(`${path}: OpenAI accepts only a trigger`)
  return defined({ type: OPENAI_COMPACTION, compact_threshold: edit.trigger })
}

/** Returns the beta headers that Anthropic requires for these edits, in either spelling; an empty list if there are no edits. */
export function contextManagementBetas(given: ContextManagement): string[] {
  const types = readable('contextManagementBetas', () => {
    const edits = isObject(given) && Array.isArray(given.edits) ? (given.edits as readonly unknown[]) : []
    return edits.map((edit) => (isObject(edit) && typeof edit.type === 'string' ? edit.type : ''))
  })
  return [
    ...(types.some((type) => type.startsWith('compact')) ? [ANTHROPIC_BETAS.compaction] : []),
    ...(types.some((type) => type.startsWith('clear_')) ? [ANTHROPIC_BETAS.contextManagement] : []),
  ]
}
