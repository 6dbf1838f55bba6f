import { partsOf, type ViewMessage } from '../messages/message.ts'

/**
 * Where a summary is shown. `inline`: where it stands in the view. `after-system`: behind the system messages at the
 * head. `first`: before those; behind them in a role that would part them from the head. `in-system`: within the text
 * of the last of them, as the system's whatever role is asked for. Source: checklist C-08.
 */
export const SUMMARY_PLACES = ['inline', 'after-system', 'first', 'in-system'] as const
export type SummaryPlace = (typeof SUMMARY_PLACES)[number]

/** A view without the summaries that are to stand at its head. */
export type PartedView = {
  /** The system messages the view begins with. */
  readonly leading: readonly ViewMessage[]
  /** Oldest first. */
  readonly summaries: readonly ViewMessage[]
  readonly rest: readonly ViewMessage[]
}

/**
 * Takes the summaries out of a view; `undefined` when it has none to be moved. One that shows more than text stays
 * where it is: a picture or what only a provider reads does not belong to the head.
 *
 * What counts as leading ends at the first row that is something else, so messages appended later change nothing here.
 */
export function partSummaries(view: readonly ViewMessage[]): PartedView | undefined {
  const summaries = view.filter(isMovable)
  if (summaries.length === 0) return undefined
  const end = view.findIndex(({ kind, role }) => kind !== 'message' || role !== 'system')
  return {
    leading: view.slice(0, end),
    summaries,
    rest: view.slice(end).filter((row) => !isMovable(row)),
  }
}

function isMovable(row: ViewMessage): boolean {
  if (row.kind !== 'summary') return false
  const parts = partsOf(row)
  return (
    parts.every(({ type }) => type === 'text') &&
    parts.some((part) => part.type === 'text' && part.text.trim() !== '')
  )
}
