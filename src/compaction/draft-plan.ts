import { outputText, type Part } from '../core/message.ts'
import { mayShow } from '../core/overlay.ts'
import { type Plan, type PlannedReplacement, savedBy } from '../core/plan.ts'
import type {
  InsertDraft,
  PlanDraft,
  ReplacementDraft,
  SummaryTask,
  SummaryTaskDraft,
} from '../core/stages/stage.ts'
import { measureMessage, measureOutput, measurePart, NO_SIZES, type Sizes } from '../core/tokens.ts'
import type { View, ViewRow } from '../core/view.ts'

/** A row as it is stored and as it is shown. */
export type RowContents = { readonly original: readonly Part[]; readonly shown: readonly Part[] }

/** Whether a stage worked everything out itself, as ours do: then contents need not be read. */
export function isWholePlan(draft: PlanDraft): draft is Plan {
  return (
    draft.kind !== undefined &&
    draft.hide !== undefined &&
    draft.replace !== undefined &&
    draft.requires !== undefined &&
    draft.params !== undefined &&
    draft.replace.every(isWholeReplacement) &&
    (draft.insert === undefined || draft.insert.sizes !== undefined)
  )
}

function isWholeReplacement(draft: ReplacementDraft): draft is PlannedReplacement {
  return draft.saved !== undefined
}

/** Why what a stage answered is no plan, or `undefined`. A stage of the application's own may answer anything. */
export function draftProblem(draft: unknown): string | undefined {
  if (typeof draft !== 'object' || draft === null) return 'the plan is no object'
  const { hide = [], replace = [], insert, params = {} } = draft as Record<string, unknown>
  if (!Array.isArray(hide) || !hide.every(isRow)) return 'hide is no list of rows of the view'
  if (!Array.isArray(replace) || !replace.every(isReplacement))
    return 'replace is no list of { row, part, text }'
  if (typeof params !== 'object' || params === null) return 'params is no object'
  if (insert === undefined) return undefined
  if (!isInsert(insert)) return 'insert is no { kind, text }'
  return hide.length === 0 ? 'insert stands for the rows hidden, and none are' : undefined
}

function isRow(value: unknown): value is ViewRow {
  return typeof value === 'object' && value !== null && typeof (value as ViewRow).key === 'number'
}

function isReplacement(value: unknown): value is ReplacementDraft {
  if (typeof value !== 'object' || value === null) return false
  const { row, part, text } = value as ReplacementDraft
  return isRow(row) && Number.isInteger(part) && part >= 0 && typeof text === 'string'
}

function isInsert(value: unknown): value is InsertDraft {
  if (typeof value !== 'object' || value === null) return false
  const { kind, text } = value as InsertDraft
  return (kind === 'summary' || kind === 'marker') && typeof text === 'string'
}

/** The rows whose contents `completePlan` needs. */
export function rowsToMeasure(view: View, { replace = [] }: PlanDraft): ViewRow[] {
  const rows = replace.filter((one) => !isWholeReplacement(one)).map(({ row }) => rowOf(view, row))
  return [...new Set(rows)]
}

/**
 * Works out what a stage left out of its plan: order, sizes, kind. Answers the part that cannot be shown differently
 * instead, when there is one. The laws are checked by whoever applies the plan.
 */
export function completePlan(
  view: View,
  draft: PlanDraft,
  stage: string,
  contentsOf: (row: ViewRow) => RowContents,
): Plan | { readonly unfit: ViewRow } {
  const { estimator } = view
  const replace: PlannedReplacement[] = []
  for (const one of draft.replace ?? []) {
    const row = rowOf(view, one.row)
    const figures = isWholeReplacement(one) ? one : replacementSizes(view, row, one, contentsOf(row))
    if (figures === undefined) return { unfit: row }
    replace.push({ ...one, ...figures, row })
  }
  const hide = inViewOrder(view, draft.hide ?? [])
  const insert = draft.insert && {
    role: 'system' as const,
    metadata: {},
    sizes: measureMessage({ content: draft.insert.text }, estimator),
    ...draft.insert,
  }
  return {
    kind: draft.kind ?? (insert?.kind === 'summary' ? 'condense' : hide.length > 0 ? 'truncate' : 'prune'),
    hide,
    replace,
    requires: draft.requires ?? [],
    params: { stage, ...draft.params },
    ...(insert !== undefined && { insert }),
  }
}

/** Works out what a stage left out of a task: what it stands for, and how long a text may be. */
export function completeTask(view: View, draft: SummaryTaskDraft, summaryMaxTokens: number): SummaryTask {
  const tokens = draft.tokens ?? view.tokensOfRows(draft.rows)
  const most = Math.max(1, Math.min(summaryMaxTokens, Math.floor(tokens / 2)))
  return { ...draft, tokens, maxTokens: draft.maxTokens ?? most }
}

/** The view's own row: a stage may hand back a copy. A row that is not there is told by the laws. */
function rowOf(view: View, row: ViewRow): ViewRow {
  const index = view.indexOf(row.key)
  return index === undefined ? row : view.rows[index]!
}

function inViewOrder(view: View, rows: readonly ViewRow[]): ViewRow[] {
  const own = [...new Set(rows.map((row) => rowOf(view, row)))]
  const placeOf = (row: ViewRow): number => view.indexOf(row.key) ?? view.rows.length
  return own.sort((a, b) => placeOf(a) - placeOf(b))
}

/** What showing a text in place of a part saves; `undefined` for a part no text may lie over. */
function replacementSizes(
  { estimator }: View,
  row: ViewRow,
  { part, text }: ReplacementDraft,
  { original, shown }: RowContents,
): Pick<PlannedReplacement, 'saved' | 'instead'> | undefined {
  const [from, now] = [original[part], shown[part]]
  const kind = from?.type
  if (from === undefined || now === undefined || !mayShow(from, text)) return undefined
  // Shown as nothing, all of it is saved.
  if (kind !== 'text' && kind !== 'tool-result') return { saved: measurePart(from, estimator) }
  const shownAs = kind === 'text' ? 'text' : 'toolResults'
  const measure = (some: string): number =>
    estimator.measureText(some, kind === 'text' ? undefined : 'toolResult')
  const sizes: Sizes =
    kind === 'text'
      ? { ...NO_SIZES, text: measure(from.text) }
      : measureOutput((from as Extract<Part, { type: 'tool-result' }>).output, estimator)
  const saved = savedBy(sizes, shownAs, measure(text))
  if (row.shown.every((entry) => entry.part !== part)) return { saved }
  return { saved, instead: savedBy(sizes, shownAs, measure(textOf(now))) }
}

function textOf(part: Part): string {
  if (part.type === 'text') return part.text
  return part.type === 'tool-result' ? outputText(part.output) : ''
}
