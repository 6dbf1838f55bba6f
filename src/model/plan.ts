import { isUnreadable } from '../messages/compaction-block.ts'
import type { Json, JsonObject } from '../messages/json.ts'
import { listIn } from '../messages/lists.ts'
import { type ProviderPart, partsOf, type Role, type TextPart } from '../messages/message.ts'
import { addSizes, NO_SIZES, type Sizes, subtractSizes } from '../tokens/tokens.ts'
import { openLoopBefore } from './turns.ts'
import { compareRows, type View } from './view.ts'
import type { ResultEntry, ViewRow } from './view-row.ts'

/** Which stage made a plan: its name where the parameters tell it, else one of the four and `cut`, `manual`, `provider` by kind. */
export function stageOf({ kind, params }: Pick<Plan, 'kind' | 'params'>): string {
  if (typeof params.stage === 'string') return params.stage
  return kind === 'condense' ? 'summarize' : kind
}

/** The four stages of the founding documents, in their order. */
export const COMPACTION_STAGES = ['prune', 'deduplicate', 'summarize', 'truncate'] as const
/** The name of a stage: one of these four, or of a further one. */
export type CompactionStage = (typeof COMPACTION_STAGES)[number] | (string & {})

/**
 * What kind of compaction a plan becomes. `cut` is the emergency cut, `manual` what people hide by hand, `provider` what a
 * provider did by itself, `preview` what an append shows of large tool outputs.
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
] as const
export type CompactionKind = (typeof COMPACTION_KINDS)[number]

/** Whether what a compaction hides is stood for by a summary: then rows carry it as `condenseParent`. */
export function isCondensing(kind: CompactionKind): boolean {
  return kind === 'condense' || kind === 'provider'
}

/** Another text in place of one text part or one tool result, or nothing (`''`) in place of reasoning or a provider's part. */
export type PlannedReplacement = {
  readonly row: ViewRow
  readonly part: number
  readonly text: string
  /** The original itself in place of what is shown instead of it; `text` is empty and nothing is saved. */
  readonly original?: true
  /** What showing it saves: the sizes of the original part less those of the text. Tool calls are never replaced. */
  readonly saved: Sizes
  /**
   * When the part shows another replacement until now: what that one saves of the original, and what is taken
   * back with it. `saved` is of the original all the same, for the newest replacement in force stands alone. Of
   * several parts of a row that are only known together, the first may carry it for all.
   */
  readonly instead?: Sizes
  /** The part was moved into the row the plan inserts, or its provider ignores it: no law keeps it in its place. */
  readonly moved?: true
}

/** A part a plan leans on: the copy that survives a deduplication. */
export type RequiredPart = {
  readonly row: ViewRow
  readonly part: number
  /** Keys of the rows that point at it. */
  readonly by: readonly number[]
}

/** A row a plan inserts. Its anchor is the last row the plan hides. */
export type PlannedInsert = {
  readonly kind: 'summary' | 'marker'
  readonly role: Role
  readonly text: string
  /** What the row holds instead of a plain text: a summary that only its provider reads. */
  readonly content?: readonly (TextPart | ProviderPart)[]
  readonly metadata: JsonObject
  readonly sizes: Sizes
}

/** What a stage wants done: rows to hide, parts to show differently, a row to insert, and why. Pure data. */
export type Plan = {
  readonly kind: CompactionKind
  /** Rows to hide, in order. Exactly these: what is hidden already is not covered again. */
  readonly hide: readonly ViewRow[]
  readonly replace: readonly PlannedReplacement[]
  readonly insert?: PlannedInsert
  /** Parts the plan leans on; they must be visible and show their original. */
  readonly requires: readonly RequiredPart[]
  /** It takes back the end of the view as a whole (`planRewind`): other laws hold for it. */
  readonly rewinds?: true
  /** The settings that led to it, for the audit. */
  readonly params: { readonly [name: string]: Json }
}

/** A plan together with the views around it: one step of a run. */
export type PlannedStep = {
  readonly plan: Plan
  readonly before: View
  readonly after: View
  /** The row that stands for `plan.insert` in `after`. */
  readonly inserted?: ViewRow
  /** What the compaction is called until it has a number: negative, and the key of the inserted row. */
  readonly provisional: number
}

/** The rows of a plan's span, from its first to its last covered row, and those of them it leaves alone. */
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
 * The view as it would be with a plan in force. `provisional` is a negative number nothing else in the view is
 * called by, `ordinal` the ordinal of an inserted row: the session's next one.
 */
export function applyPlan(view: View, plan: Plan, provisional: number, ordinal: number): PlannedStep {
  const changed = changedRows(plan.replace, provisional)
  const inserted = plan.insert && insertedRow(plan, plan.insert, provisional, ordinal)
  const after = view.changed(plan.hide, changed, inserted === undefined ? [] : [inserted], plan.requires)
  return { plan, before: view, after, provisional, ...(inserted !== undefined && { inserted }) }
}

/** The rows of which parts are replaced, each with what it becomes. Parts of one row may stand apart. */
function changedRows(
  replace: readonly PlannedReplacement[],
  provisional: number,
): (readonly [before: ViewRow, after: ViewRow])[] {
  // Most rows are replaced in one part: those are not looked up.
  if (isAscending(replace))
    return replace.map((one) => [one.row, withReplacements(one.row, [one], provisional)])
  const byRow = new Map<ViewRow, PlannedReplacement[]>()
  for (const replacement of replace) listIn(byRow, replacement.row).push(replacement)
  return [...byRow].map(([row, own]) => [row, withReplacements(row, own, provisional)])
}

/** Whether each row comes once, in the order of the view. */
function isAscending(replace: readonly PlannedReplacement[]): boolean {
  for (let at = 1; at < replace.length; at++) {
    if (compareRows(replace[at - 1]!.row, replace[at]!.row) >= 0) return false
  }
  return true
}

/** A row that shows further replacements, in addition to those it shows or instead of some of them. */
function withReplacements(row: ViewRow, own: readonly PlannedReplacement[], compaction: number): ViewRow {
  let { sizes } = row
  for (const { instead, saved } of own)
    sizes = subtractSizes(instead === undefined ? sizes : addSizes(sizes, instead), saved)
  return new ReplacedRow(row, sizes, shownWith(row, own, compaction))
}

function shownWith(row: ViewRow, own: readonly PlannedReplacement[], compaction: number): ViewRow['shown'] {
  const [first] = own
  // Most rows: a list of its own length, which a filtered one is not.
  if (first !== undefined && own.length === 1 && row.shown.length === 0 && first.original !== true)
    return [{ part: first.part, compaction }]
  const entries = own.flatMap(({ part, original }) => (original === true ? [] : [{ part, compaction }]))
  const parts = new Set(own.map(({ part }) => part))
  return [...row.shown.filter(({ part }) => !parts.has(part)), ...entries]
}

/** A row with other figures; everything else is as in the row it was made of. */
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

  get calls(): ViewRow['calls'] {
    return this.#row.calls
  }

  get results(): ViewRow['results'] {
    return this.#row.results
  }
}

function insertedRow(plan: Plan, insert: PlannedInsert, key: number, ordinal: number): ViewRow {
  const last = plan.hide[plan.hide.length - 1]
  if (last === undefined) throw new Error('a plan that inserts a row hides the rows it stands for')
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
    calls: [],
    results: [],
    shown: [],
  }
}

/** Whether an inserted row says something to others than the provider that wrote it. */
export function insertSpeaks(insert: PlannedInsert): boolean {
  return partsOf({ content: contentOf(insert) }).some((part) => !isUnreadable(part))
}

/** What an inserted row holds. */
export function contentOf({ text, content }: PlannedInsert): string | readonly (TextPart | ProviderPart)[] {
  return content ?? text
}

/** What a text saves in place of a part that was counted as `original`. Nothing (0 units) saves all of it. */
export function savedBy(original: Sizes, shownAs: 'text' | 'toolResults', units: number): Sizes {
  return subtractSizes(original, { ...NO_SIZES, [shownAs]: units })
}

/**
 * A text in place of a tool result that shows its original, or a preview that saves `instead` of it. `units` are the
 * text's, by the view's estimator.
 */
export function replaceResult(
  row: ViewRow,
  { part, units: originalUnits, media }: ResultEntry,
  text: string,
  units: number,
  instead?: Sizes,
): PlannedReplacement {
  const original = { ...NO_SIZES, toolResults: originalUnits, media }
  const saved = savedBy(original, 'toolResults', units)
  return instead === undefined ? { row, part, text, saved } : { row, part, text, saved, instead }
}

/** A row with parts that point at copies which a rewind hides: they must show themselves again. */
type Pointing = { readonly row: ViewRow; readonly copies: readonly number[] }

/**
 * A part as it was before it showed what saves `instead` of it: its preview if it has one, else the original. Undoing the rewind shows
 * that other thing again.
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
 * The plan that takes back the end of a view, from the row at `from` on: all that stands there, whatever it is. `restored` are parts
 * before it that would point at something hidden, and reasoning that a tool loop needs which is open again.
 */
export function planRewind(
  view: View,
  from: number,
  restored: readonly PlannedReplacement[],
  keepsCompactions: boolean,
): Plan {
  return {
    kind: 'manual',
    hide: view.rows.slice(from),
    replace: restored,
    requires: [],
    rewinds: true,
    params: keepsCompactions ? { rewind: true, keepCompactions: true } : { rewind: true },
  }
}

/** The rows before `from` with parts that a deduplication made point at copies behind it, and the keys of these copies. */
export function pointingBehind(view: View, from: number): Pointing[] {
  const copies = new Map<number, number[]>()
  for (const { key, by } of view.leans) {
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
 * The rows before `from` that stand in a tool loop which a rewind opens again, and show something else than their reasoning: with
 * thinking on, providers refuse calls without it.
 */
export function thinkingAgain(view: View, from: number): ViewRow[] {
  const loop = view.rows.slice(openLoopBefore(view.rows, from), from)
  if (loop.every(({ calls }) => calls.length === 0)) return []
  return loop.filter(({ hasReasoning, shown }) => hasReasoning && shown.length > 0)
}
