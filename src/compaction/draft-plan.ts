import { jsonProblem } from '../messages/json.ts'
import { outputText, type Part } from '../messages/message.ts'
import { mayShow } from '../messages/overlay.ts'
import {
  type Plan,
  type PlannedInsert,
  type PlannedReplacement,
  type RequiredPart,
  savedBy,
} from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import {
  type InsertDraft,
  isOurs,
  type PlanDraft,
  type ReplacementDraft,
  type Stage,
  type SummaryTask,
  type SummaryTaskDraft,
} from '../stages/stage.ts'
import { measureMessage, measurePart } from '../tokens/tokens.ts'

/** A row as it is stored and as it is shown. */
export type RowContents = { readonly original: readonly Part[]; readonly shown: readonly Part[] }

/** Whether a stage of ours worked everything out itself: then contents need not be read. Nobody else's figures are taken. */
export function isWholePlan(draft: PlanDraft, stage: Stage): draft is Plan {
  return isOurs(stage) && 'kind' in draft && draft.hide !== undefined && draft.replace !== undefined
}

/** Why what a stage answered is no plan, or `undefined`. A stage of the application's own may answer anything. */
export function draftProblem(draft: unknown): string | undefined {
  if (typeof draft !== 'object' || draft === null) return 'the plan is no object'
  const { hide = [], replace = [], requires = [], insert, params = {} } = draft as Record<string, unknown>
  if (!isListOf(hide, isRow)) return 'hide is no list of rows of the view'
  if (!isListOf(replace, isReplacement)) return 'replace is no list of { row, part, text }'
  const places = replace.map(({ row, part }) => `${row.key}:${part}`)
  if (new Set(places).size < places.length) return 'replace names a part twice'
  if (!isListOf(requires, isRequired)) return 'requires is no list of { row, part, by }'
  if (!isObject(params) || jsonProblem(params) !== undefined) return 'params is no JSON object'
  if (insert === undefined) return undefined
  if (!isInsert(insert)) return 'insert is no { kind, text, role, metadata }'
  return hide.length === 0 ? 'insert stands for the rows hidden, and none are' : undefined
}

/** Why what a stage answered is no list of tasks for summaries, or `undefined`. */
export function tasksProblem(tasks: unknown): string | undefined {
  return isListOf(tasks, isTask) ? undefined : 'summaries is no list of { rows }'
}

/** Why what a stage wants to read is no list of rows, or `undefined`. */
export function readsProblem(rows: unknown): string | undefined {
  return isListOf(rows, isRow) ? undefined : 'reads is no list of rows of the view'
}

function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isOne)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isRow(value: unknown): value is ViewRow {
  return isObject(value) && typeof value.key === 'number'
}

function isPart(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}

function isReplacement(value: unknown): value is ReplacementDraft {
  return isObject(value) && isRow(value.row) && isPart(value.part) && typeof value.text === 'string'
}

function isRequired(value: unknown): value is RequiredPart {
  if (!isObject(value) || !isRow(value.row) || !isPart(value.part)) return false
  return Array.isArray(value.by) && value.by.every((key) => typeof key === 'number')
}

const INSERTED_ROLES: ReadonlySet<unknown> = new Set([undefined, 'system', 'user', 'assistant'])

function isInsert(value: unknown): value is InsertDraft {
  if (!isObject(value) || typeof value.text !== 'string' || !INSERTED_ROLES.has(value.role)) return false
  const { kind, metadata = {} } = value
  return (
    (kind === 'summary' || kind === 'marker') && isObject(metadata) && jsonProblem(metadata) === undefined
  )
}

function isTask(value: unknown): value is SummaryTaskDraft {
  if (!isObject(value) || !isListOf(value.rows, isRow) || value.rows.length === 0) return false
  const { maxTokens, level, params = {} } = value
  const isCount = (one: unknown): boolean => one === undefined || isPart(one)
  return isCount(maxTokens) && isCount(level) && isObject(params) && jsonProblem(params) === undefined
}

/** The rows whose contents `completePlan` needs. */
export function rowsToMeasure(view: View, { replace = [] }: PlanDraft): ViewRow[] {
  return [...new Set(replace.map(({ row }) => rowOf(view, row)))]
}

/**
 * Works out what a stage left out of its plan: order, sizes, kind. What shows that very text already is left alone. Answers the
 * part that cannot be shown differently instead, when there is one. The laws are checked by whoever applies the plan.
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
    if (textOf(contents.shown[part]!) !== text) replace.push({ row, part, text, ...figures })
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

/** Works out what a stage left out of a task: what it stands for, and how long a text may be. */
export function completeTask(view: View, draft: SummaryTaskDraft, summaryMaxTokens: number): SummaryTask {
  const rows = inViewOrder(view, draft.rows)
  const tokens = view.tokensOfRows(rows)
  const most = Math.max(1, Math.min(summaryMaxTokens, Math.floor(tokens / 2)))
  return { ...draft, rows, tokens, maxTokens: Math.max(1, draft.maxTokens ?? most) }
}

/** The view's own row: a stage may hand back a copy. A row that is not there is told by the laws. */
export function rowOf(view: View, row: ViewRow): ViewRow {
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
  if (from === undefined || now === undefined || !mayShow(from, text)) return undefined
  const sizes = measurePart(from, estimator)
  // Shown as nothing, all of it is saved.
  if (from.type === 'reasoning' || from.type === 'provider') return { saved: sizes }
  const isResult = from.type === 'tool-result'
  const shownAs = isResult ? 'toolResults' : 'text'
  const measure = (some: string): number => estimator.measureText(some, isResult ? 'toolResult' : undefined)
  const saved = savedBy(sizes, shownAs, measure(text))
  if (row.shown.every((entry) => entry.part !== part)) return { saved }
  return { saved, instead: savedBy(sizes, shownAs, measure(textOf(now))) }
}

function textOf(part: Part): string {
  if (part.type === 'text') return part.text
  return part.type === 'tool-result' ? outputText(part.output) : ''
}
