import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { check, shareSchema } from '../messages/check.ts'
import { defined } from '../messages/defined.ts'
import { PATH_ARGUMENTS, READ_TOOLS } from '../messages/tool-names.ts'
import { checkLaws } from '../model/laws.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { applyPlan, type Plan, type PlannedReplacement } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import { DEDUP_THRESHOLD, deduplicate } from '../stages/deduplicate.ts'
import { PRUNE_PLACEHOLDER, PRUNE_PROTECTED_TOOLS, prune } from '../stages/prune.ts'
import type { PlanningStage, StageSettings } from '../stages/stage.ts'
import { KEEP_RECENT_RATIO } from '../stages/summarize.ts'
import { TRUNCATION_FRACTION, TRUNCATION_MARKER, truncate } from '../stages/truncate.ts'
import { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from '../tokens/budget.ts'
import { tokensOfText } from '../tokens/tokens.ts'
import { getEffectiveHistory } from './effective-history.ts'
import { type ArrayRows, type ArrayStep, applySteps, replaceParts, rowsOf } from './rows.ts'

const truncationConfigSchema = z.strictObject({
  /** Share, 0 to 1, of the messages after the first pair that goes. Default 0.5 (seed 003). */
  fraction: shareSchema.optional(),
  /** The marker's text. Default: the seed's. */
  marker: z.string().min(1).optional(),
})
export type TruncationConfig = z.input<typeof truncationConfigSchema>

export type TruncationResult = {
  readonly truncated: boolean
  /** What is left: [first pair…, marker, …kept messages]. */
  readonly messages: ChatMessage[]
  /** How many messages were taken out; always even. An earlier truncation's marker is not counted. */
  readonly messagesRemoved: number
  /** The array given with `truncationParent` on what was taken out and the marker in its place; nothing is lost. */
  readonly tagged: ChatMessage[]
  /** Undoes it: `removeTruncationTags(tagged, truncationId)`. Absent when nothing was done. */
  readonly truncationId?: string
}

/**
 * Takes the oldest messages out of the middle of a plain array: stage 4 of seed 003.
 *
 * The first two messages stay, with the results of calls among them; of what follows them `fraction` goes, oldest
 * first, an even number. Where that would part a call from its result, the next smaller even number that parts
 * nothing goes. System and pinned messages and summaries stay and are not counted. Four visible messages or fewer
 * are left alone. What is hidden already stays hidden and is not counted.
 *
 * The array given and its objects are not changed. Throws `INVALID_INPUT`.
 */
export function truncateWithSlidingWindow(
  messages: readonly ChatMessage[],
  config: TruncationConfig = {},
): TruncationResult {
  const { fraction, marker } = check(truncationConfigSchema, config, 'truncateWithSlidingWindow')
  const step = runStage(truncate, rowsOf(messages, '', 'truncateWithSlidingWindow'), {
    truncationFraction: fraction,
    truncationMarker: marker,
  })
  if (step === undefined) {
    return {
      truncated: false,
      messages: getEffectiveHistory(messages),
      messagesRemoved: 0,
      tagged: [...messages],
    }
  }
  return {
    truncated: true,
    ...applySteps(messages, [step]),
    messagesRemoved: step.plan.hide.filter(({ kind }) => kind === 'message').length,
    truncationId: step.id,
  }
}

const deduplicationConfigSchema = z.strictObject({
  /** Share, 0 to 1, of the re-read files' size that must be saved. Default 0.3, `DEDUP_THRESHOLD` (seed 003). */
  minimumSavings: shareSchema.optional(),
  /** Tools whose results show files. Default: the usual names. */
  readTools: z.array(z.string()).optional(),
  /** Arguments that name the file. Default: the usual names. */
  pathArguments: z.array(z.string()).optional(),
  /** Whether a result that begins with words like "Read file x" is taken for a read. Default true. */
  byText: z.boolean().optional(),
})
export type DeduplicationConfig = z.input<typeof deduplicationConfigSchema>

export type DeduplicationResult<M extends ChatMessage = ChatMessage> = {
  /** Whether anything was replaced: the saving reached `minimumSavings`. */
  readonly deduplicated: boolean
  /** All messages, superseded reads showing a pointer to the latest; hidden messages are passed through. */
  readonly messages: M[]
  /** How many distinct files had reads replaced. */
  readonly filesDeduped: number
}

/**
 * Shows "[File <path> - refer to latest read below]" in place of earlier reads of a file: stage 2 of seed 003, over
 * a plain array.
 *
 * A read is known by its tool and path argument, or, as in the seed, by words at the head of a tool result: `read`,
 * `reading`, `read_file`, `readFile`, `Read file` or `cat` and a path, with or without quotes or backticks. Unlike
 * the seed's pattern it never looks into the middle of a text nor at what the assistant says, where it takes prose
 * for reads (checklist C-04). An earlier read is replaced only by a later one that shows all its lines.
 *
 * Only contents of tool results change; the array given and its objects do not. Throws `INVALID_INPUT`.
 */
export function deduplicateFileReads<M extends ChatMessage>(
  messages: readonly M[],
  config: DeduplicationConfig = {},
): DeduplicationResult<M> {
  const checked = check(deduplicationConfigSchema, config, 'deduplicateFileReads')
  const plan = runStage(deduplicate, rowsOf(messages, '', 'deduplicateFileReads'), {
    deduplicateMinimumSavings: checked.minimumSavings,
    readTools: checked.readTools,
    pathArguments: checked.pathArguments,
    deduplicateByText: checked.byText,
  })?.plan
  if (plan === undefined) return { deduplicated: false, messages: [...messages], filesDeduped: 0 }
  return {
    deduplicated: true,
    messages: replaceParts(messages, plan.replace),
    filesDeduped: Number(plan.params.files),
  }
}

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

/** The seed's settings, where the window and the target are not known and so nothing is scaled to them. */
export const SEED_SETTINGS: StageSettings = {
  pruneProtectTokens: PRUNE_PROTECT_TOKENS,
  pruneMinimumSavings: PRUNE_MINIMUM_SAVINGS,
  pruneProtectedTools: PRUNE_PROTECTED_TOOLS,
  prunePlaceholder: PRUNE_PLACEHOLDER,
  readTools: READ_TOOLS,
  pathArguments: PATH_ARGUMENTS,
  deduplicateMinimumSavings: DEDUP_THRESHOLD,
  deduplicateByText: true,
  keepRecentTokens: 0,
  keepRecentRatio: KEEP_RECENT_RATIO,
  summaryRoomTokens: 0,
  summaryMaxTokens: 0,
  summarySections: [],
  truncationFraction: TRUNCATION_FRACTION,
  truncationOrder: 'oldest',
  truncationMarker: TRUNCATION_MARKER,
}

/**
 * Runs one stage that needs no model over an array, whatever its size: who calls a stage by name wants it done.
 * Answers `undefined` when the stage finds nothing to do.
 */
export function runStage(
  stage: PlanningStage<Plan | undefined>,
  { view, parts }: ArrayRows,
  settings: { readonly [K in keyof StageSettings]?: StageSettings[K] | undefined },
): ArrayStep | undefined {
  const plan = stage.plan(view, {
    settings: { ...SEED_SETTINGS, ...defined(settings) },
    targetTokens: 0,
    limitTokens: Number.MAX_SAFE_INTEGER,
    contentOf: (row) => parts.get(row.key) ?? [],
    metadataOf: () => undefined,
  })
  if (plan === undefined) return undefined
  checkLaws('', view, plan)
  return { ...applyPlan(view, plan, -1, 1), id: uuidv7() }
}
