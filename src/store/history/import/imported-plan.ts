import {
  applyPlan,
  type Plan,
  type PlannedInsert,
  type PlannedStep,
  planRewind,
} from '../../../core/model/plan.ts'
import type { View } from '../../../core/model/view.ts'
import type { ViewRow } from '../../../core/model/view-row.ts'
import { condensePlan } from '../../../core/stages/summarize.ts'
import { measureMessage } from '../../../core/tokens/measure.ts'
import type { ImportedCompaction } from './import-types.ts'

/*
 * Plans for a compaction of another system. That system may have hidden more than the laws allow: half of a tool call, a system message.
 * Such rows stay visible; nothing else changes.
 */

export type ImportedPlan = {
  readonly steps: readonly PlannedStep[]
  /** Rows that it hid there and that stay visible. */
  readonly rowsLeft: number
}

/** Why there is no plan: a sentence without a full stop. */
export type NoPlan = { readonly why: string }

/**
 * The plans for a compaction of these rows of a view. A summary represents consecutive rows, so where a row in between stays, the rows
 * before it are hidden by a truncation of the same run.
 */
export function planImported(
  view: View,
  rows: readonly ViewRow[],
  compaction: ImportedCompaction,
  params: Plan['params'],
  nextOrdinal: number,
): ImportedPlan | NoPlan {
  const { kind, text = '' } = compaction
  if (kind === 'condense' && text.trim() === '') return { why: 'it has no summary' }
  if (kind === 'manual' && isEndOf(view, rows)) return rewound(view, rows, params, nextOrdinal)
  const hide = legalAmong(view, rows, kind === 'condense')
  if (hide.length === 0) return { why: 'nothing that may be hidden is visible of what it covers' }
  const rowsLeft = rows.length - hide.length
  if (kind !== 'condense') {
    const insert = text === '' || kind === 'manual' ? {} : { insert: insertOf(view, 'marker', text) }
    const plan: Plan = { kind, hide, replace: [], requires: [], params, ...insert }
    return { steps: [applyPlan(view, plan, -1, nextOrdinal)], rowsLeft }
  }
  const runs = neighboursAmong(view, hide)
  const steps: PlannedStep[] = []
  let now = view
  for (const run of runs.slice(0, -1)) {
    const hidden = run.filter((row) => row.kind !== 'summary')
    if (hidden.length === 0) continue
    const plan: Plan = { kind: 'truncate', hide: hidden, replace: [], requires: [], params }
    steps.push(applyPlan(now, plan, -1 - steps.length, nextOrdinal))
    now = steps.at(-1)!.after
  }
  const plan = condensePlan(runs.at(-1)!, insertOf(view, 'summary', text), params)
  steps.push(applyPlan(now, plan, -1 - steps.length, nextOrdinal))
  return { steps, rowsLeft: rowsLeft + summariesIn(runs.slice(0, -1)) }
}

/** A rewind at the end of the conversation, which has other laws. */
function rewound(
  view: View,
  rows: readonly ViewRow[],
  params: Plan['params'],
  nextOrdinal: number,
): ImportedPlan {
  const plan = { ...planRewind(view, view.rows.length - rows.length, [], true), params }
  return { steps: [applyPlan(view, plan, -1, nextOrdinal)], rowsLeft: 0 }
}

function isEndOf(view: View, rows: readonly ViewRow[]): boolean {
  const start = view.rows.length - rows.length
  return rows.length > 0 && rows.every((row, at) => row === view.rows[start + at])
}

/** The rows that a plan may hide: no system message, no pinned row, no pending call, and groups as a whole. */
function legalAmong(view: View, rows: readonly ViewRow[], isCondensing: boolean): ViewRow[] {
  const { turns } = view
  const wanted = new Set(rows.map((row) => view.indexOf(row.key)!))
  const stays = (index: number): boolean => {
    const row = view.rows[index]!
    if (!wanted.has(index) || row.pinned || turns.pending.has(index)) return true
    return row.kind === 'message' ? row.role === 'system' : row.kind === 'summary' && !isCondensing
  }
  return rows.filter((row) => !turns.groupOf(view.indexOf(row.key)!).some(stays))
}

/** Rows as runs of neighbours in the view. */
function neighboursAmong(view: View, rows: readonly ViewRow[]): ViewRow[][] {
  const runs: ViewRow[][] = []
  let last = -2
  for (const row of rows) {
    const index = view.indexOf(row.key)!
    if (index === last + 1) runs.at(-1)!.push(row)
    else runs.push([row])
    last = index
  }
  return runs
}

function summariesIn(runs: readonly (readonly ViewRow[])[]): number {
  return runs.flat().filter(({ kind }) => kind === 'summary').length
}

function insertOf(view: View, kind: PlannedInsert['kind'], text: string): PlannedInsert {
  const sizes = measureMessage({ content: text }, view.estimator)
  return { kind, role: 'system', text, metadata: {}, sizes }
}
