import { invalid } from '../core/check.ts'
import type { Part } from '../core/message.ts'
import { type Plan, type PlannedInsert, type PlannedReplacement, savedBy } from '../core/plan.ts'
import type { PlanDraft, ReplacementDraft } from '../core/stages/stage.ts'
import { measureMessage, measurePart } from '../core/tokens.ts'
import type { View, ViewRow } from '../core/view.ts'

/**
 * A stage's draft over an array as a plan: sizes, order and kind filled in. Throws `INVALID_INPUT` for a replacement of
 * a part that is no text and no tool result, and for a row inserted in place of nothing.
 */
export function completeDraft(
  view: View,
  draft: PlanDraft,
  contentOf: (row: ViewRow) => readonly Part[],
  what: string,
): Plan {
  const hidden = new Set(draft.hide)
  const hide = view.rows.filter((row) => hidden.has(row))
  const insert = draft.insert && completeInsert(view, draft.insert)
  if (insert !== undefined && hide.length === 0)
    throw invalid(`${what}: a row is inserted only in place of rows that are hidden`)
  const hiding = insert?.kind === 'summary' ? 'condense' : 'truncate'
  return {
    kind: draft.kind ?? (hide.length > 0 ? hiding : 'prune'),
    hide,
    replace: (draft.replace ?? []).map((one) => completeReplacement(view, one, contentOf(one.row), what)),
    requires: draft.requires ?? [],
    params: draft.params ?? {},
    ...(insert !== undefined && { insert }),
  }
}

function completeInsert(view: View, insert: NonNullable<PlanDraft['insert']>): PlannedInsert {
  const sizes = measureMessage({ content: insert.text }, view.estimator)
  return { role: 'system', metadata: {}, sizes, ...insert }
}

function completeReplacement(
  { estimator }: View,
  replacement: ReplacementDraft,
  parts: readonly Part[],
  what: string,
): PlannedReplacement {
  const part = parts[replacement.part]
  if (part?.type !== 'text' && part?.type !== 'tool-result')
    throw invalid(`${what}: only a text or a tool result can show another text`)
  const isText = part.type === 'text'
  const units = estimator.measureText(replacement.text, isText ? 'text' : 'toolResult')
  const saved = savedBy(measurePart(part, estimator), isText ? 'text' : 'toolResults', units)
  return { ...replacement, saved: replacement.saved ?? saved }
}
