import { z } from 'zod'
import { check } from '../messages/check.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import type { PlannedReplacement } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import { prune } from '../stages/prune.ts'
import { tokensOfText } from '../tokens/tokens.ts'
import { replaceParts } from './applied.ts'
import { rowsOf } from './rows.ts'
import { runStage } from './run-stage.ts'

const pruneConfigSchema = z.strictObject({
  /** Tokens of the newest tool outputs that are left alone. Default 40,000 (seed 003). */
  protectTokens: z.int().nonnegative().optional(),
  /** Least saving, in tokens, for pruning to be applied. Default 20,000 (seed 003). */
  minimumSavings: z.int().nonnegative().optional(),
  /** Tools whose outputs are never pruned and use up no protection. Default ["skill"] (seed 003). */
  protectedTools: z.array(z.string()).optional(),
  /** What a pruned output shows. Default "[Tool result cleared]" (seed 003). */
  placeholder: z.string().min(1).optional(),
  /** Provider the tokens are counted for. Default: none, multiplier 1. */
  provider: z.string().optional(),
})
export type PruneConfig = z.input<typeof pruneConfigSchema>

export type PruneResult<M extends ChatMessage = ChatMessage> = {
  /** Whether anything was pruned: the saving reached `minimumSavings`. */
  readonly pruned: boolean
  /** All messages, pruned outputs showing the placeholder; hidden messages are passed through. */
  readonly messages: M[]
  /** Estimated tokens of the outputs that were pruned less those of their placeholders; 0 when not pruned. */
  readonly tokensSaved: number
}

/**
 * Shows a placeholder in place of old tool outputs: stage 1 of seed 003, over a plain array.
 *
 * From the newest backwards, an output is protected while those behind it make less than `protectTokens`; older
 * ones are cleared, all of them or, when that would save less than `minimumSavings`, none. Failed results, results
 * shorter than the placeholder and results of protected tools stay. Only contents of tool results change; the
 * array given and its objects do not. Throws `INVALID_INPUT`.
 */
export function pruneToolOutputs<M extends ChatMessage>(
  messages: readonly M[],
  config: PruneConfig = {},
): PruneResult<M> {
  const checked = check(pruneConfigSchema, config, 'pruneToolOutputs')
  const rows = rowsOf(messages, checked.provider ?? '', 'pruneToolOutputs')
  const plan = runStage(prune, rows, {
    pruneProtectTokens: checked.protectTokens,
    pruneMinimumSavings: checked.minimumSavings,
    pruneProtectedTools: checked.protectedTools,
    prunePlaceholder: checked.placeholder,
  })?.plan
  if (plan === undefined) return { pruned: false, messages: [...messages], tokensSaved: 0 }
  return {
    pruned: true,
    messages: replaceParts(messages, plan.replace),
    tokensSaved: plan.replace.reduce((sum, replacement) => sum + savedTokens(rows.view, replacement), 0),
  }
}

/** What one replacement saves, counted as the stage counts it, result by result. */
function savedTokens({ estimator, provider }: View, { row, part, text }: PlannedReplacement): number {
  const result = row.results.find((entry) => entry.part === part)
  if (result === undefined) return 0
  const shown = tokensOfText(text, estimator, provider)
  return estimator.toTokens(result.units, provider) + result.media - shown
}
