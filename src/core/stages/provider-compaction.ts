import { compactionBlock } from '../messages/compaction-block.ts'
import type { JsonObject } from '../messages/json.ts'
import type { Part, ProviderPart } from '../messages/message.ts'
import { type Plan, type PlannedReplacement, replaceResult, savedBy } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { measureMessage, measurePart } from '../tokens/measure.ts'
import { PRUNE_PLACEHOLDER } from './clear-tool-outputs.ts'
import { emptiedReasoning, reasoningRows } from './drop-reasoning.ts'

/*
 * A provider's own changes of a conversation, as plans of kind `provider`. The provider decides what it ignores; the plans only ensure
 * that no pinned message, no system message and no half of a call is hidden.
 */

/** The place of a compaction block. */
export type BlockPlace = {
  readonly row: ViewRow
  /** The original parts of the message. */
  readonly parts: readonly Part[]
  readonly part: number
}

/**
 * Plans a block in place of everything before it. The block moves into its own row, which replaces the hidden rows; in its message the
 * block and the parts before it are shown as empty, because the provider ignores them. Returns `undefined` if no row before it may be
 * hidden.
 */
export function planBlock(view: View, { row, parts, part }: BlockPlace): Plan | undefined {
  const hide = coveredBy(view, view.indexOf(row.key)!)
  if (hide.length === 0) return undefined
  const block = parts[part] as ProviderPart
  return blockPlan(view, hide, movedParts(view, { row, parts, part }), block, { messageId: row.id, part })
}

/**
 * Plans a block that is not in a message, because the provider wrote it on request, in place of the rows before an index. Returns
 * `undefined` if none of them may be hidden.
 */
export function planRequestedBlock(
  view: View,
  end: number,
  block: ProviderPart,
  params: JsonObject,
  metadata: JsonObject,
): Plan | undefined {
  const hide = coveredBy(view, end)
  return hide.length === 0 ? undefined : blockPlan(view, hide, [], block, params, metadata)
}

function blockPlan(
  view: View,
  hide: readonly ViewRow[],
  replace: readonly PlannedReplacement[],
  block: ProviderPart,
  params: JsonObject,
  metadata: JsonObject = {},
): Plan {
  const isReadable = compactionBlock(block)?.text !== undefined
  return {
    kind: 'provider',
    hide,
    replace,
    insert: {
      kind: 'summary',
      role: 'assistant',
      text: '',
      content: [block],
      metadata,
      sizes: measureMessage({ content: [block] }, view.estimator),
    },
    requires: [],
    params: { ...params, provider: block.provider, readable: isReadable },
  }
}

/** Returns the rows before an index that may be hidden: no pinned message, no system message, no half of a call. */
function coveredBy(view: View, end: number): ViewRow[] {
  const { rows, turns } = view
  const stays = new Set(turns.waiting)
  for (let index = 0; index < end; index++) {
    const row = rows[index]!
    if (row.pinned || (row.kind === 'message' && row.role === 'system')) stays.add(index)
  }
  for (let index = end; index < rows.length; index++) stays.add(index)
  turns.withPartners(stays)
  const covered: ViewRow[] = []
  for (let index = 0; index < end; index++) if (!stays.has(index)) covered.push(rows[index]!)
  return covered
}

/** Returns empty replacements for the block, which moved, and for the parts before it in its message. */
function movedParts(view: View, { row, parts, part }: BlockPlace): PlannedReplacement[] {
  const shown = new Set(row.shown.map((entry) => entry.part))
  return parts.slice(0, part + 1).flatMap((original, index): PlannedReplacement[] => {
    const mayGo = original.type === 'text' || original.type === 'reasoning' || original.type === 'provider'
    if (!mayGo || shown.has(index) || (row.pinned && index < part)) return []
    const saved = savedBy(measurePart(original, view.estimator), 'text', 0)
    return [{ row, part: index, text: '', saved, moved: true }]
  })
}

/** A provider's report of a change, as the unchanged object. */
export type AppliedEdit = JsonObject & { readonly type: string }

/** A plan for an edit, and the number of results or turns that it covers. `plan` is absent if there is nothing to do. */
type EditPlan = { readonly plan: Plan | undefined; readonly applied: number }

/** Returns the number that a provider cleared, in its own spelling or the AI SDK's. */
export function clearedBy(edit: AppliedEdit, what: 'tool_uses' | 'thinking_turns'): number {
  const [wire, camel] =
    what === 'tool_uses'
      ? (['cleared_tool_uses', 'clearedToolUses'] as const)
      : (['cleared_thinking_turns', 'clearedThinkingTurns'] as const)
  const count = edit[wire] ?? edit[camel]
  return typeof count === 'number' && Number.isFinite(count) ? Math.max(0, Math.floor(count)) : 0
}

/**
 * Plans a placeholder in place of the `count` oldest results before row `end`, except those of some tools, like Anthropic's
 * `clear_tool_uses_20250919`. Results that already show a replacement count among them and stay: a provider that receives placeholders
 * counts them again.
 */
export function planClearedResults(
  view: View,
  end: number,
  count: number,
  edit: AppliedEdit,
  excludeTools: readonly string[],
): EditPlan {
  const excluded = new Set(excludeTools)
  const units = view.estimator.measureText(PRUNE_PLACEHOLDER, 'toolResult')
  const replace: PlannedReplacement[] = []
  let seen = 0
  for (let index = 0; index < end && seen < count; index++) {
    const row = view.rows[index]!
    const stays = row.pinned || view.turns.waiting.has(index)
    for (const result of row.results) {
      if (seen === count) break
      const tool = view.toolOf(index, result)
      if (tool !== undefined && excluded.has(tool)) continue
      seen += 1
      const preview = view.previewOf(row, result.part)
      if (stays || preview === false || view.isPointerTarget(row.key, result.part)) continue
      replace.push(replaceResult(row, result, PRUNE_PLACEHOLDER, units, preview))
    }
  }
  return editPlan(replace, edit, count, seen)
}

/** Returns the rows whose content `planClearedReasoning` reads: those of the `count` oldest turns with reasoning before row `end`. */
export function rowsOfOldestReasoning(view: View, end: number, count: number): readonly ViewRow[] {
  return oldestReasoning(view, end, count).flat()
}

/** Returns the same rows, by turn, without turns whose reasoning may not be changed. */
function oldestReasoning(view: View, end: number, count: number): ViewRow[][] {
  const starts = view.turns.turnStarts()
  const turns: ViewRow[][] = []
  let seen = 0
  for (let at = -1; at < starts.length && seen < count; at++) {
    const from = at === -1 ? 0 : starts[at]!
    const to = Math.min(end, starts[at + 1] ?? view.rows.length)
    if (from >= to) continue
    if (!view.rows.slice(from, to).some(({ hasReasoning }) => hasReasoning)) continue
    seen += 1
    turns.push(reasoningRows(view, from, to))
  }
  return turns.filter(({ length }) => length > 0)
}

/**
 * Plans empty replacements for the reasoning of the `count` oldest turns with reasoning, like Anthropic's `clear_thinking_20251015`.
 * Turns whose reasoning is already cleared count among them.
 */
export function planClearedReasoning(
  view: View,
  end: number,
  count: number,
  edit: AppliedEdit,
  contentOf: (row: ViewRow) => readonly Part[],
): EditPlan {
  const turns = oldestReasoning(view, end, count)
  const replace = emptiedReasoning(turns.flat(), contentOf, view.estimator)
  return editPlan(replace, edit, count, turns.length)
}

function editPlan(
  replace: readonly PlannedReplacement[],
  edit: AppliedEdit,
  reported: number,
  applied: number,
): EditPlan {
  if (replace.length === 0) return { plan: undefined, applied }
  const params = { edit: edit.type, reported, applied }
  return { plan: { kind: 'provider', hide: [], replace, requires: [], params }, applied }
}
