import { isUnreadable } from '../messages/compaction-block.ts'
import { type Json, type JsonObject, listIn } from '../messages/json.ts'
import { type Part, type ProviderPart, partsOf, type Role, type TextPart } from '../messages/message.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { addSizes, measurePart, NO_SIZES, type Sizes, subtractSizes } from '../tokens/measure.ts'
import { openLoopBefore } from './tool-groups.ts'
import type { View } from './view.ts'
import type { ResultEntry, ViewRow } from './view-row.ts'

/** The stage of a plan: its name from the parameters, else by kind one of the four, `cut`, `manual`, `provider` or `repair`. */
export function stageOf({ kind, params }: Pick<Plan, 'kind' | 'params'>): string {
  if (typeof params.stage === 'string') return params.stage
  return kind === 'condense' ? 'summarize' : kind
}

/** The four default stages, in their order. */
export const COMPACTION_STAGES = ['prune', 'deduplicate', 'summarize', 'truncate'] as const
/** The name of a stage: one of these four, or of a further one. */
export type CompactionStage = (typeof COMPACTION_STAGES)[number] | (string & {})

/**
 * The kinds of compactions. `cut` is the emergency cut, `manual` hides messages on request, `provider` records what a provider did,
 * `preview` shortens large tool outputs of an append, `repair` shows parts differently that a provider refused.
 */
export const COMPACTION_KINDS = [
  'prune',
  'deduplicate',
  'condense',
  'truncate',
  'cut',
  'manual',
  'provider',
  'preview',
  'repair',
] as const
/** The kind of a compaction. */
export type CompactionKind = (typeof COMPACTION_KINDS)[number]

/** Whether a summary replaces the hidden rows: then their tag is `condenseParent`. */
export function isCondensing(kind: CompactionKind): boolean {
  return kind === 'condense' || kind === 'provider'
}

/** A text in place of a part, or `''` in place of reasoning or a provider's part (`overlaid`). */
export type PlannedReplacement = {
  readonly row: ViewRow
  readonly part: number
  readonly text: string
  /** The part shows its original again; `text` is empty and nothing is saved. */
  readonly original?: true
  /** The saved sizes: those of the original part less those of the text (`savedOf`). A replaced tool call saves nothing. */
  readonly saved: Sizes
  /**
   * The savings of the replacement that the part shows until now, which end with it. `saved` refers to the original, because only the
   * newest active replacement is shown. When the savings of several parts of a row are only known together, the first may have them all.
   */
  readonly instead?: Sizes
  /** The part moves into the inserted row, or its provider ignores it: no law keeps it in its place. */
  readonly moved?: true
}

/** A part that a plan points to: the copy that survives a deduplication. */
export type RequiredPart = {
  readonly row: ViewRow
  readonly part: number
  /** Keys of the rows that point to it. */
  readonly by: readonly number[]
}

/** A row that a plan inserts. Its anchor is the last row that the plan hides. */
export type PlannedInsert = {
  readonly kind: 'summary' | 'marker'
  readonly role: Role
  readonly text: string
  /** The content when it is not a plain text: a summary that only its provider can read. */
  readonly content?: readonly (TextPart | ProviderPart)[]
  readonly metadata: JsonObject
  readonly sizes: Sizes
}

/** The change that a stage proposes: rows to hide, parts to show differently, a row to insert, and the reason. Pure data. */
export type Plan = {
  readonly kind: CompactionKind
  /** Rows to hide, in order. Hidden rows are not covered again. */
  readonly hide: readonly ViewRow[]
  readonly replace: readonly PlannedReplacement[]
  readonly insert?: PlannedInsert
  /** Parts that the plan points to; they must be visible and show their original. */
  readonly requires: readonly RequiredPart[]
  /** Whether it is a rewind (`planRewind`), which has other laws. */
  readonly rewinds?: true
  /** The settings of the stage, for the audit. */
  readonly params: { readonly [name: string]: Json }
}

/** The plan of a condensation without its text. */
export function bareCondensePlan(rows: readonly ViewRow[]): Plan {
  return { kind: 'condense', hide: rows, replace: [], requires: [], params: {} }
}

/** A plan with the views before and after it: one step of a run. */
export type PlannedStep = {
  readonly plan: Plan
  readonly before: View
  readonly after: View
  /** The row of `plan.insert` in `after`. */
  readonly inserted?: ViewRow
  /** The provisional number of the compaction: negative, and the key of the inserted row. */
  readonly provisional: number
}

/** The rows of a plan's span, from its first to its last covered row, and those that it does not cover. */
export function spanOf(
  view: View,
  hide: readonly ViewRow[],
): { rows: readonly ViewRow[]; beside: ViewRow[] } {
  if (hide.length === 0) return { rows: [], beside: [] }
  const covered = new Set(hide)
  const first = view.indexOf(hide[0]!.key) ?? 0
  const last = view.indexOf(hide[hide.length - 1]!.key) ?? -1
  const rows = view.rows.slice(first, last + 1)
  return { rows, beside: rows.filter((row) => !covered.has(row)) }
}

/**
 * The view with a plan in force. `provisional` is a negative number that is unique in the view, `ordinal` the session's next ordinal,
 * for an inserted row.
 */
export function applyPlan(view: View, plan: Plan, provisional: number, ordinal: number): PlannedStep {
  const changed = changedRows(plan.replace, provisional)
  const inserted = plan.insert && insertedRow(plan, plan.insert, provisional, ordinal)
  const after = view.changed(plan.hide, changed, inserted === undefined ? [] : [inserted], plan.requires)
  return { plan, before: view, after, provisional, ...(inserted !== undefined && { inserted }) }
}

/** The rows with replaced parts, each with its new form. Replacements of one row need not be adjacent. */
function changedRows(
  replace: readonly PlannedReplacement[],
  provisional: number,
): (readonly [before: ViewRow, after: ViewRow])[] {
  const byRow = new Map<ViewRow, PlannedReplacement[]>()
  for (const replacement of replace) listIn(byRow, replacement.row).push(replacement)
  return [...byRow].map(([row, own]) => [row, withReplacements(row, own, provisional)])
}

/** A row with further replacements, in addition to its own or instead of some of them. */
function withReplacements(row: ViewRow, own: readonly PlannedReplacement[], compaction: number): ViewRow {
  let { sizes } = row
  for (const { instead, saved } of own)
    sizes = subtractSizes(instead === undefined ? sizes : addSizes(sizes, instead), saved)
  return new ReplacedRow(row, sizes, shownWith(row, own, compaction))
}

function shownWith(row: ViewRow, own: readonly PlannedReplacement[], compaction: number): ViewRow['shown'] {
  const entries = own.flatMap(({ part, original }) => (original === true ? [] : [{ part, compaction }]))
  const parts = new Set(own.map(({ part }) => part))
  return [...row.shown.filter(({ part }) => !parts.has(part)), ...entries]
}

/** A row with other figures and otherwise unchanged. */
class ReplacedRow implements ViewRow {
  readonly key: number
  readonly sizes: Sizes
  readonly shown: ViewRow['shown']
  readonly #row: ViewRow

  constructor(row: ViewRow, sizes: Sizes, shown: ViewRow['shown']) {
    this.key = row.key
    this.sizes = sizes
    this.shown = shown
    this.#row = row instanceof ReplacedRow ? row.#row : row
  }

  get id(): string {
    return this.#row.id
  }

  get kind(): ViewRow['kind'] {
    return this.#row.kind
  }

  get role(): ViewRow['role'] {
    return this.#row.role
  }

  get position(): number | undefined {
    return this.#row.position
  }

  get anchor(): number {
    return this.#row.anchor
  }

  get ordinal(): number {
    return this.#row.ordinal
  }

  get pinned(): boolean {
    return this.#row.pinned
  }

  get hasReasoning(): boolean {
    return this.#row.hasReasoning
  }

  get speaks(): boolean {
    return this.#row.speaks
  }

  get silent(): boolean {
    return this.#row.silent
  }

  get calls(): ViewRow['calls'] {
    return this.#row.calls
  }

  get results(): ViewRow['results'] {
    return this.#row.results
  }
}

function insertedRow(plan: Plan, insert: PlannedInsert, key: number, ordinal: number): ViewRow {
  const last = plan.hide[plan.hide.length - 1]
  if (last === undefined) throw new Error('a plan that inserts a row hides the rows it replaces')
  return {
    key,
    id: `planned-${-key}`,
    kind: insert.kind,
    role: insert.role,
    position: undefined,
    anchor: last.anchor,
    ordinal,
    sizes: insert.sizes,
    pinned: false,
    hasReasoning: false,
    speaks: insertSpeaks(insert),
    silent: false,
    calls: [],
    results: [],
    shown: [],
  }
}

/** Whether other providers than its own can read an inserted row. */
export function insertSpeaks(insert: PlannedInsert): boolean {
  return partsOf({ content: contentOf(insert) }).some((part) => !isUnreadable(part))
}

/** The content of an inserted row. */
export function contentOf({ text, content }: PlannedInsert): string | readonly (TextPart | ProviderPart)[] {
  return content ?? text
}

/**
 * What a text saves that is shown in place of a part; without a text the original is shown, which saves nothing. A tool call counts as
 * before: its sizes are those of the call in every index.
 */
export function savedOf(original: Part | undefined, text: string | null, estimator: Estimator): Sizes {
  if (text === null || original?.type === 'tool-call') return NO_SIZES
  const sizes = original === undefined ? NO_SIZES : measurePart(original, estimator)
  const isResult = original?.type === 'tool-result'
  const units = estimator.measureText(text, isResult ? 'toolResult' : 'text')
  return savedBy(sizes, isResult ? 'toolResults' : 'text', units)
}

/** The sizes that a text saves in place of a part with the sizes `original`; 0 units save all of it. */
export function savedBy(original: Sizes, shownAs: 'text' | 'toolResults', units: number): Sizes {
  return subtractSizes(original, { ...NO_SIZES, [shownAs]: units })
}

/**
 * A text in place of a tool result that shows its original, or a preview that saves `instead`. `units` is the size of the text by the
 * view's estimator.
 */
export function replaceResult(
  row: ViewRow,
  { part, units: originalUnits, media, attached }: ResultEntry,
  text: string,
  units: number,
  instead?: Sizes,
): PlannedReplacement {
  const original = { ...NO_SIZES, toolResults: originalUnits, media, ...attached }
  const saved = savedBy(original, 'toolResults', units)
  return instead === undefined ? { row, part, text, saved } : { row, part, text, saved, instead }
}

/** A row with parts that point to copies which a rewind hides: these parts must show themselves again. */
type Pointing = { readonly row: ViewRow; readonly copies: readonly number[] }

/**
 * A part as it was before the replacement that saves `instead`: its preview if it has one, else the original. Undoing the rewind shows
 * the replacement again.
 */
export function restoredPart(
  row: ViewRow,
  part: number,
  instead: Sizes,
  preview: { readonly text: string; readonly saved: Sizes } | undefined,
): PlannedReplacement {
  if (preview === undefined) return { row, part, text: '', original: true, saved: NO_SIZES, instead }
  return { row, part, ...preview, instead }
}

/**
 * The plan of a rewind: hides every row of a view from `from` on. `restored` are the parts before it that would point to hidden rows,
 * and the reasoning that a reopened tool loop needs.
 */
export function planRewind(
  view: View,
  from: number,
  restored: readonly PlannedReplacement[],
  keepsCompactions: boolean,
  params: JsonObject = {},
): Plan {
  return {
    kind: 'manual',
    hide: view.rows.slice(from),
    replace: restored,
    requires: [],
    rewinds: true,
    params: { ...params, rewind: true, ...(keepsCompactions && { keepCompactions: true }) },
  }
}

/** The rows before `from` with deduplicated parts that point to copies after it, and the keys of these copies. */
export function pointingAfter(view: View, from: number): Pointing[] {
  const copies = new Map<number, number[]>()
  for (const { key, by } of view.pointerTargets) {
    if ((view.indexOf(key) ?? -1) < from) continue
    for (const pointing of by) {
      const index = view.indexOf(pointing)
      if (index !== undefined && index < from) listIn(copies, index).push(key)
    }
  }
  return [...copies]
    .sort(([a], [b]) => a - b)
    .map(([index, keys]) => ({ row: view.rows[index]!, copies: keys }))
}

/**
 * The rows before `from` in a tool loop that a rewind reopens, whose reasoning is replaced: providers refuse such calls when thinking
 * is on.
 */
export function thinkingAgain(view: View, from: number): ViewRow[] {
  const loop = view.rows.slice(openLoopBefore(view.rows, from), from)
  if (loop.every(({ calls }) => calls.length === 0)) return []
  return loop.filter(({ hasReasoning, shown }) => hasReasoning && shown.length > 0)
}
