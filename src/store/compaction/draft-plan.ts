import { isJsonObject, isObject } from '../../core/messages/json.ts'
import { outputText, type Part } from '../../core/messages/message.ts'
import { mayShow } from '../../core/messages/overlay.ts'
import {
  type Plan,
  type PlannedInsert,
  type PlannedReplacement,
  type RequiredPart,
  savedOf,
} from '../../core/model/plan.ts'
import type { View } from '../../core/model/view.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import {
  type InsertDraft,
  isBuiltInStage,
  type PlanDraft,
  type ReplacementDraft,
  type Stage,
  type SummaryTask,
  type SummaryTaskDraft,
} from '../../core/stages/stage.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { measureMessage } from '../../core/tokens/measure.ts'
import type { Redaction } from '../../storage/redaction.ts'

/** The parts of a row as stored, and as shown in the view. */
export type RowContents = { readonly original: readonly Part[]; readonly shown: readonly Part[] }

/** Whether a built-in stage computed everything itself, so that no contents need to be read. */
export function isWholePlan(draft: PlanDraft, stage: Stage): draft is Plan {
  return isBuiltInStage(stage) && 'kind' in draft && draft.hide !== undefined && draft.replace !== undefined
}

/** Returns why a stage's result isn't a plan, or `undefined`. A stage of the application may return anything. */
export function draftProblem(draft: unknown): string | undefined {
  if (typeof draft !== 'object' || draft === null) return "the plan isn't an object"
  const { hide = [], replace = [], requires = [], insert, params = {} } = draft as Record<string, unknown>
  if (!isListOf(hide, isRow)) return "hide isn't a list of rows of the view"
  if (!isListOf(replace, isReplacement)) return "replace isn't a list of { row, part, text }"
  const places = replace.map(({ row, part }) => `${row.key}:${part}`)
  if (new Set(places).size < places.length) return 'replace contains a part twice'
  if (!isListOf(requires, isRequired)) return "requires isn't a list of { row, part, by }"
  if (!isJsonObject(params)) return "params isn't a JSON object"
  if (insert === undefined) return undefined
  if (!isInsert(insert)) return 'insert is not { kind, text, role, metadata }'
  return hide.length === 0 ? 'insert replaces hidden rows, and none are hidden' : undefined
}

/** Returns why a stage's result isn't a list of summary tasks, or `undefined`. */
export function tasksProblem(tasks: unknown): string | undefined {
  return isListOf(tasks, isTask) ? undefined : "summaries isn't a list of { rows }"
}

/** Returns why the rows that a stage wants to read aren't a list of rows, or `undefined`. */
export function readsProblem(rows: unknown): string | undefined {
  return isListOf(rows, isRow) ? undefined : "reads isn't a list of rows of the view"
}

function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isOne)
}

function isRow(value: unknown): value is ViewRow {
  return isObject(value) && typeof value.key === 'number'
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}

function isReplacement(value: unknown): value is ReplacementDraft {
  return isObject(value) && isRow(value.row) && isCount(value.part) && typeof value.text === 'string'
}

function isRequired(value: unknown): value is RequiredPart {
  if (!isObject(value) || !isRow(value.row) || !isCount(value.part)) return false
  return Array.isArray(value.by) && value.by.every((key) => typeof key === 'number')
}

const INSERTED_ROLES: ReadonlySet<unknown> = new Set([undefined, 'system', 'user', 'assistant'])

function isInsert(value: unknown): value is InsertDraft {
  if (!isObject(value) || typeof value.text !== 'string' || !INSERTED_ROLES.has(value.role)) return false
  const { kind, metadata = {} } = value
  return (kind === 'summary' || kind === 'marker') && isJsonObject(metadata)
}

function isTask(value: unknown): value is SummaryTaskDraft {
  if (!isObject(value) || !isListOf(value.rows, isRow) || value.rows.length === 0) return false
  const { maxTokens = 0, level = 0, params = {} } = value
  return isCount(maxTokens) && isCount(level) && isJsonObject(params)
}

/** Returns a draft whose texts may be stored; the same draft if they all may. */
export function redactedDraft<D extends PlanDraft>(redaction: Redaction | undefined, draft: D): D {
  if (redaction === undefined) return draft
  const { replace = [], insert } = draft
  const texts = replace.map(({ text }) => redaction.text(text))
  const inserted = insert && redaction.text(insert.text)
  if (inserted === insert?.text && texts.every((text, at) => text === replace[at]!.text)) return draft
  return {
    ...draft,
    replace: replace.map((one, at) => ({ ...one, text: texts[at]! })),
    ...(insert && { insert: { ...insert, text: inserted! } }),
  }
}

/** Returns the rows whose contents `completePlan` needs. */
export function rowsToMeasure(view: View, { replace = [] }: PlanDraft): ViewRow[] {
  return [...new Set(replace.map(({ row }) => rowOf(view, row)))]
}

/**
 * Completes the plan of a stage: order, sizes, kind. Parts that already show the same text are left out. If a part can't be replaced,
 * returns its row instead. The caller checks the laws.
 */
export function completePlan(
  view: View,
  draft: PlanDraft,
  stage: string,
  contentsOf: (row: ViewRow) => RowContents,
): Plan | { readonly unfit: ViewRow } {
  const replace: PlannedReplacement[] = []
  for (const { row: given, part, text } of draft.replace ?? []) {
    const row = rowOf(view, given)
    const contents = contentsOf(row)
    const figures = replacementSizes(view, row, { row, part, text }, contents)
    if (figures === undefined) return { unfit: row }
    if (replaceableText(contents.shown[part]!) !== text) replace.push({ row, part, text, ...figures })
  }
  const hide = inViewOrder(view, draft.hide ?? [])
  const insert = draft.insert && completeInsert(view, draft.insert)
  return {
    kind: insert?.kind === 'summary' ? 'condense' : hide.length > 0 ? 'truncate' : 'prune',
    hide,
    replace,
    requires: (draft.requires ?? []).map((required) => ({ ...required, row: rowOf(view, required.row) })),
    params: { stage, ...draft.params },
    ...(insert !== undefined && { insert }),
  }
}

function completeInsert({ estimator }: View, { kind, text, role, metadata }: InsertDraft): PlannedInsert {
  return {
    kind,
    text,
    role: role ?? 'system',
    metadata: metadata ?? {},
    sizes: measureMessage({ content: text }, estimator),
  }
}

/** Completes the summary task of a stage: the tokens that the summary replaces, and its maximum length. */
export function completeTask(view: View, draft: SummaryTaskDraft, summaryMaxTokens: number): SummaryTask {
  const rows = inViewOrder(view, draft.rows)
  const tokens = view.tokensOfRows(rows)
  const most = Math.max(1, Math.min(summaryMaxTokens, Math.floor(tokens / 2)))
  return { ...draft, rows, tokens, maxTokens: Math.max(1, draft.maxTokens ?? most) }
}

/** Returns the row of the view for a possible copy. A row that isn't in the view fails the check of the laws. */
export function rowOf(view: View, row: ViewRow): ViewRow {
  const index = view.indexOf(row.key)
  return index === undefined ? row : view.rows[index]!
}

function inViewOrder(view: View, rows: readonly ViewRow[]): ViewRow[] {
  const own = [...new Set(rows.map((row) => rowOf(view, row)))]
  const placeOf = (row: ViewRow): number => view.indexOf(row.key) ?? view.rows.length
  return own.sort((a, b) => placeOf(a) - placeOf(b))
}

/** Returns the saving if a text is shown in place of a part; `undefined` for a part that no text may replace. */
function replacementSizes(
  { estimator }: View,
  row: ViewRow,
  { part, text }: ReplacementDraft,
  { original, shown }: RowContents,
): Pick<PlannedReplacement, 'saved' | 'instead'> | undefined {
  const [from, now] = [original[part], shown[part]]
  if (from === undefined || now === undefined || !mayShow(from, text)) return undefined
  // Only a repair replaces a call.
  if (from.type === 'tool-call') return undefined
  return savingsOf(row, part, { original: from, shown: now, text }, estimator)
}

/** Returns the saving of a text in place of a part, and the saving of its replacement so far. */
export function savingsOf(
  row: ViewRow,
  part: number,
  { original, shown, text }: { readonly original: Part; readonly shown: Part; readonly text: string },
  estimator: Estimator,
): Pick<PlannedReplacement, 'saved' | 'instead'> {
  const saved = savedOf(original, text, estimator)
  if (row.shown.every((entry) => entry.part !== part)) return { saved }
  return { saved, instead: savedOf(original, replaceableText(shown), estimator) }
}

function replaceableText(part: Part): string {
  if (part.type === 'text') return part.text
  return part.type === 'tool-result' ? outputText(part.output) : ''
}
