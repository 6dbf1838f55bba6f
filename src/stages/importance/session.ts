import { z } from 'zod'
import type { Part } from '../../messages/message.ts'
import type { View } from '../../model/view.ts'
import type { ViewRow } from '../../model/view-row.ts'
import { type MessageImportance, publicGroups } from './messages.ts'
import { DEFAULT_SCORER, scoreView } from './score.ts'
import { type ScorerWarning, scorerSchema, scoreViewWith } from './scorer.ts'
import { resolveWeights, weightsSchema } from './weights.ts'

export const importanceSchema = z.strictObject({
  /** Who scores. Default: the default scorer, which needs nobody. */
  scorer: scorerSchema.optional(),
  /** Points by role and signal where they differ from `DEFAULT_WEIGHTS`. */
  weights: weightsSchema.optional(),
})
export type ImportanceOptions = z.input<typeof importanceSchema>

/** Scores of what a session shows. `indexes` are places in the effective history. */
export type SessionImportance = {
  readonly scorer: { readonly name: string; readonly version: string }
  readonly groups: readonly (MessageImportance & { readonly messageIds: readonly string[] })[]
  /** Present when a scorer of the application's own failed and the default one stepped in. */
  readonly warning?: ScorerWarning
}

/** Scores the rows of a session's view by their originals. */
export async function scoreSession(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  { scorer, weights: given }: z.output<typeof importanceSchema>,
): Promise<SessionImportance> {
  const weights = resolveWeights(given)
  const scores =
    scorer === undefined
      ? { scorer: DEFAULT_SCORER, groups: scoreView(view, contentOf, weights, true) }
      : await scoreViewWith(scorer, view, contentOf, weights)
  const groups = publicGroups(scores.groups, view, weights).map((group) => ({
    messageIds: group.indexes.map((index) => view.rows[index]!.id),
    ...group,
  }))
  return { ...scores, groups }
}
