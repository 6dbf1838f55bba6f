import type { Part } from '../message.ts'
import type { CompactionKind, Plan } from '../plan.ts'
import type { View, ViewRow } from '../view.ts'

/** The knobs of the stages, resolved: plain values, defaults filled in and scaled to the window. */
export type StageSettings = {
  readonly pruneProtectTokens: number
  readonly pruneMinimumSavings: number
  readonly pruneProtectedTools: readonly string[]
  readonly prunePlaceholder: string
  readonly readTools: readonly string[]
  readonly pathArguments: readonly string[]
  readonly deduplicateMinimumSavings: number
  readonly deduplicateByText: boolean
  readonly keepRecentTokens: number
  /** Counts as seed 003 says when given; then it takes the place of `keepRecentTokens`. */
  readonly keepRecentRatio: number | undefined
  readonly summaryMaxTokens: number
  readonly summarySections: readonly string[]
  /** Counts as seed 003 says when given; else stage 4 works by tokens. */
  readonly truncationFraction: number | undefined
  /** The marker's text, or `undefined` for none. */
  readonly truncationMarker: string | undefined
}

/** What a stage may look at besides the view. */
export type StageContext = {
  readonly settings: StageSettings
  /** What the history is to come down to, tokens. */
  readonly targetTokens: number
  /** Most tokens of history with which the whole request still fits the window. */
  readonly limitTokens: number
  /** The parts of a row, originals. Only of the rows the stage asked for with `reads`. */
  readonly contentOf: (row: ViewRow) => readonly Part[]
}

/** One way of making room: a pure function from a view to a plan. It answers `undefined` when it has nothing to do. */
export interface Stage {
  readonly kind: CompactionKind
  /** The rows whose content planning needs. Default: none, and that is what makes planning fast. */
  reads?(view: View, context: Omit<StageContext, 'contentOf'>): readonly ViewRow[]
  plan(view: View, context: StageContext): Plan | undefined
}
