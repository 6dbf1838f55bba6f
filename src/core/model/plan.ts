import { isUnreadable } from '../messages/compaction-block.ts'
import { type Json, type JsonObject, listIn } from '../messages/json.ts'
import { type Part, type ProviderPart, partsOf, type Role, type TextPart } from '../messages/message.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { addSizes, measurePart, NO_SIZES, type Sizes, subtractSizes } from '../tokens/measure.ts'
import { openLoopBefore } from './tool-groups.ts'
import type { View } from './view.ts'
import type { ResultEntry, ViewRow } from './view-row.ts'

/**
 * Returns the stage of a plan: its name from the parameters, or else, by kind, one of the four default stages, `cut`, `manual`,
 * `provider` or `repair`.
 */
export function stageOf({ kind, params }: Pick<Plan, 'kind' | 'params'>): string {
  if (typeof params.stage === 'string') return params.stage
  return kind === 'condense' ? 'summarize' : kind
}

/** The four default stages, in their order. */
export const COMPACTION_STAGES = ['prune', 'deduplicate', 'summarize', 'truncate'] as const
/** The name of a stage: one of the four default stages, or of a custom stage. */
export type CompactionStage = (typeof COMPACTION_STAGES)[number] | (string & {})

/**
 * The kinds of compactions. `cut` is the emergency cut, `manual` hides messages on request, `provider` records a provider's own
 * compaction, `preview` shortens large tool outputs when they are appended, `repair` replaces parts that a provider refused.
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

/** Returns whether a summary replaces the hidden rows, so that their tag is `condenseParent`. */
export function isCondensing(kind: CompactionKind): boolean {
  return kind === 'condense' || kind === 'provider'
}

/** A text in place of a part, or `''` in place of reasoning or a provider's part (`overlaid`). */
export type PlannedReplacement = {
  readonly row: ViewRow
  readonly part: number
  readonly text: string
  /** Whether the part shows its original again; `text` is then empty and nothing is saved. */
  readonly original?: true
  /** The saved sizes: those of the original part minus those of the text (`savedOf`). A replaced tool call saves nothing. */
  readonly saved: Sizes
  /**
   * The savings of the part's current replacement, which this one ends. `saved` refers to the original, because only the newest active
   * replacement is shown. If the savings of several parts of a row are only known together, the first part may carry all of them.
   */
  readonly instead?: Sizes
  /** Whether the part moves into the inserted row, or its provider ignores it: no law keeps it in its place. */
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
  /** The content if it is not plain text: a summary that only its provider can read. */
  readonly content?: readonly (TextPart | ProviderPart)[]
  readonly metadata: JsonObject
  readonly sizes: Sizes
}

/** The change that a stage proposes: rows to hide, parts to show differently, a row to insert, and the reason. Pure data. */
export type Plan = {
  readonly kind: CompactionKind
  /** Rows to hide, in order. Rows that are already hidden are not covered again. */
  readonly hide: readonly ViewRow[]
  readonly replace: readonly PlannedReplacement[]
  readonly insert?: PlannedInsert
  /** Parts to which the plan points; they must be visible and show their original. */
  readonly requires: readonly RequiredPart[]
  /** Whether this is a rewind (`planRewind`), to which other laws apply. */
  readonly rewinds?: true
  /** The settings of the stage, for the audit. */
  readonly params: { readonly [name: string]: Json }
}

/** Returns the plan of a condensation without its text. */
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

/** Returns the rows of a plan's span, from its first to its last covered row, and the rows within it that the plan doesn't cover. */
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
 * Returns the view with a plan in force. `provisional` is a negative number that is unique in the view; `ordinal` is the session's next
 * ordinal, for an inserted row.
 */
export function applyPlan(view: View, plan: Plan, provisional: number, ordinal: number): PlannedStep {
  const changed = changedRows(plan.replace, provisional)
  const inserted = plan.insert && insertedRow(plan, plan.insert, provisional, ordinal)
  const after = view.changed(plan.hide, changed, inserted === undefined ? [] : [inserted], plan.requires)
  return { plan, before: view, after, provisional, ...(inserted !== undefined && { inserted }) }
}

/** Returns the rows with replaced parts, each with its new form. Replacements in one row need not be adjacent. */
function changedRows(
  replace: readonly PlannedReplacement[],
  provisional: number,
): (readonly [before: ViewRow, after: ViewRow])[] {
  const byRow = new Map<ViewRow, PlannedReplacement[]>()
  for (const replacement of replace) listIn(byRow, replacement.row).push(replacement)
  return [...byRow].map(([row, own]) => [row, withReplacements(row, own, provisional)])
}

/** Returns a row with further replacements, which are added to its own or supersede some of them. */
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

/** A row with other figures, otherwise unchanged. */
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

/** Returns whether providers other than its own can read an inserted row. */
export function insertSpeaks(insert: PlannedInsert): boolean {
  return partsOf({ content: contentOf(insert) }).some((part) => !isUnreadable(part))
}

/** Returns the content of an inserted row. */
export function contentOf({ text, content }: PlannedInsert): string | readonly (TextPart | ProviderPart)[] {
  return content ?? text
}

/**
 * Returns the sizes that a text saves in place of a part; if the text is null, the original is shown, which saves nothing. A tool call
 * counts as before: every index stores the sizes of the original call.
 */
export function savedOf(original: Part | undefined, text: string | null, estimator: Estimator): Sizes {
  if (text === null || original?.type === 'tool-call') return NO_SIZES
  const sizes = original === undefined ? NO_SIZES : measurePart(original, estimator)
  const isResult = original?.type === 'tool-result'
  const units = estimator.measureText(text, isResult ? 'toolResult' : 'text')
  return savedBy(sizes, isResult ? 'toolResults' : 'text', units)
}

/** Returns the sizes that a text saves in place of a part with the sizes `original`; 0 units save all of it. */
export function savedBy(original: Sizes, shownAs: 'text' | 'toolResults', units: number): Sizes {
  return subtractSizes(original, { ...NO_SIZES, [shownAs]: units })
}

/**
 * Returns the replacement of a tool result that shows its original, or a preview that saves `instead`. `units` is the size of the text by
 * the view's estimator.
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

/** A row with parts that point to copies which a rewind hides: these parts must show their own content again. */
type Pointing = { readonly row: ViewRow; readonly copies: readonly number[] }

/**
 * Returns a part as it was before the replacement that saves `instead`: its preview if it has one, or else the original. Undoing the
 * rewind shows the replacement again.
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
 * Returns the plan of a rewind, which hides every row of a view from `from` on. `restored` are the earlier parts that would point to
 * hidden rows, and the reasoning that a reopened tool loop needs.
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

/** Returns the rows before `from` with deduplicated parts that point to later copies, and the keys of these copies. */
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
 * Returns the rows before `from` in a tool loop that a rewind reopens, whose reasoning is replaced: with thinking on, providers refuse
 * such calls.
 */
export function reopenedReasoning(view: View, from: number): ViewRow[] {
  const loop = view.rows.slice(openLoopBefore(view.rows, from), from)
  if (loop.every(({ calls }) => calls.length === 0)) return []
  return loop.filter(({ hasReasoning, shown }) => hasReasoning && shown.length > 0)
}
