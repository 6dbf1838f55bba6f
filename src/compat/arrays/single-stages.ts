import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { check, shareSchema } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/json.ts'
import { PATH_ARGUMENTS, READ_TOOLS, USER_TOOLS } from '../../core/messages/tool-names.ts'
import type { ChatMessage } from '../../core/model/message-parts.ts'
import type { Plan, PlannedReplacement } from '../../core/model/plan.ts'
import type { View } from '../../core/model/view.ts'
import { DEDUP_THRESHOLD, deduplicate } from '../../core/stages/deduplicate.ts'
import { KEEP_RECENT_MEDIA } from '../../core/stages/media.ts'
import { PRUNE_PLACEHOLDER, PRUNE_PROTECTED_TOOLS, prune } from '../../core/stages/prune.ts'
import type { PlanningStage, StageSettings } from '../../core/stages/stage.ts'
import { KEEP_RECENT_RATIO } from '../../core/stages/summarize.ts'
import { TRUNCATION_FRACTION, TRUNCATION_MARKER, truncate } from '../../core/stages/truncate.ts'
import { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from '../../core/tokens/budget.ts'
import { tokensOfText } from '../../core/tokens/measure.ts'
import { type ArrayRows, type ArrayStep, applySteps, replaceParts, rowsOf, stepOf } from './rows.ts'

const truncationConfigSchema = z.strictObject({
  /** The share, 0 to 1, of the messages after the first pair that are removed. Default 0.5. */
  fraction: shareSchema.optional(),
  /** The text of the marker. Default: `TRUNCATION_MARKER`. */
  marker: z.string().min(1).optional(),
})
/** Options of `truncateWithSlidingWindow`. */
export type TruncationConfig = z.input<typeof truncationConfigSchema>

/** The result of `truncateWithSlidingWindow`. */
export type TruncationResult = {
  readonly truncated: boolean
  /** The remaining messages: [first pair…, marker, …kept messages]. */
  readonly messages: ChatMessage[]
  /** The number of removed messages, always even; without the marker of an earlier truncation. */
  readonly messagesRemoved: number
  /** The given array with `truncationParent` on the removed messages and the marker in their place; nothing is lost. */
  readonly tagged: ChatMessage[]
  /** The id for the undo: `removeTruncationTags(tagged, truncationId)`. Absent when nothing was done. */
  readonly truncationId?: string
}

/**
 * Removes the oldest messages after the first two from a plain array, like the last stage of the pipeline.
 *
 * The first two messages stay, with the results of their calls. Of the messages after them `fraction` is removed, oldest first: an
 * even number, and the largest one that separates no call from its result. System and pinned messages and summaries stay and are not
 * counted, nor are hidden messages. Four or fewer visible messages are not truncated.
 *
 * The given array and its objects are not changed. Throws `INVALID_INPUT`.
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
  return {
    truncated: step !== undefined,
    ...applySteps(messages, step === undefined ? [] : [step]),
    messagesRemoved: step?.plan.hide.filter(({ kind }) => kind === 'message').length ?? 0,
    ...defined({ truncationId: step?.id }),
  }
}

const deduplicationConfigSchema = z.strictObject({
  /** Minimum saving as a share, 0 to 1, of the size of the files that were read again. Default 0.3, `DEDUP_THRESHOLD`. */
  minimumSavings: shareSchema.optional(),
  /** Tools whose results are file contents. Default: the common names. */
  readTools: z.array(z.string()).optional(),
  /** Arguments with the path of the file. Default: the common names. */
  pathArguments: z.array(z.string()).optional(),
  /** Whether a result that begins with text like "Read file x" counts as a read. Default true. */
  byText: z.boolean().optional(),
})
/** Options of `deduplicateFileReads`. */
export type DeduplicationConfig = z.input<typeof deduplicationConfigSchema>

/** The result of `deduplicateFileReads`. */
export type DeduplicationResult<M extends ChatMessage = ChatMessage> = {
  /** Whether anything was replaced: the saving reached `minimumSavings`. */
  readonly deduplicated: boolean
  /** All messages, with references to the latest read in superseded ones; hidden messages are unchanged. */
  readonly messages: M[]
  /** The number of different files with replaced reads. */
  readonly filesDeduped: number
}

/**
 * Replaces earlier reads of a file in a plain array by "[File <path> - refer to latest read below]".
 *
 * A read is recognized by its tool and path argument, or by the beginning of a tool result: `read`, `reading`, `read_file`,
 * `readFile`, `Read file` or `cat` and a path, with or without quotes or backticks. The rest of a text, and texts of the assistant,
 * are not searched, because there such words are prose. An earlier read is replaced only if a later one has all its lines.
 *
 * Only contents of tool results change; the given array and its objects do not. Throws `INVALID_INPUT`.
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
  return {
    deduplicated: plan !== undefined,
    messages: replaceParts(messages, plan?.replace ?? []),
    filesDeduped: Number(plan?.params.files ?? 0),
  }
}

const pruneConfigSchema = z.strictObject({
  /** Tokens of the newest tool outputs that are kept. Default 40,000. */
  protectTokens: z.int().nonnegative().optional(),
  /** Minimum saving, tokens. Default 20,000. */
  minimumSavings: z.int().nonnegative().optional(),
  /** Tools whose outputs are never pruned and do not count as kept ones. Default ["skill"]. */
  protectedTools: z.array(z.string()).optional(),
  /** The text in place of a pruned output. Default "[Tool result cleared]". */
  placeholder: z.string().min(1).optional(),
  /** Whether failed results are pruned too. Default false. */
  failedResults: z.boolean().optional(),
  /** The provider for which tokens are counted. Default: none, multiplier 1. */
  provider: z.string().optional(),
})
/** Options of `pruneToolOutputs`. */
export type PruneConfig = z.input<typeof pruneConfigSchema>

/** The result of `pruneToolOutputs`. */
export type PruneResult<M extends ChatMessage = ChatMessage> = {
  /** Whether anything was pruned: the saving reached `minimumSavings`. */
  readonly pruned: boolean
  /** All messages, with the placeholder in pruned outputs; hidden messages are unchanged. */
  readonly messages: M[]
  /** Estimated tokens of the pruned outputs less those of their placeholders. */
  readonly tokensSaved: number
}

/**
 * Replaces old tool outputs in a plain array by a placeholder.
 *
 * An output is kept while the outputs after it are less than `protectTokens`. All older ones are cleared, or none if that would save
 * less than `minimumSavings`. Failed results (unless `failedResults`), results shorter than the placeholder and results of protected
 * tools are kept. Only contents of tool results change; the given array and its objects do not. Throws `INVALID_INPUT`.
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
    pruneFailedResults: checked.failedResults,
  })?.plan
  const replace = plan?.replace ?? []
  return {
    pruned: plan !== undefined,
    messages: replaceParts(messages, replace),
    tokensSaved: replace.reduce((sum, replacement) => sum + savedTokens(rows.view, replacement), 0),
  }
}

/** The tokens that one replacement saves, counted as in the stage. */
function savedTokens({ estimator, provider }: View, { row, part, text }: PlannedReplacement): number {
  const result = row.results.find((entry) => entry.part === part)
  if (result === undefined) return 0
  const shown = tokensOfText(text, estimator, provider)
  return estimator.toTokens(result.units, provider) + result.media - shown
}

/** Default settings, not scaled: an array has no window. */
export const DEFAULT_SETTINGS: StageSettings = {
  keepRecentMedia: KEEP_RECENT_MEDIA,
  pruneProtectTokens: PRUNE_PROTECT_TOKENS,
  pruneMinimumSavings: PRUNE_MINIMUM_SAVINGS,
  pruneProtectedTools: PRUNE_PROTECTED_TOOLS,
  prunePlaceholder: PRUNE_PLACEHOLDER,
  pruneFailedResults: false,
  readTools: READ_TOOLS,
  userTools: USER_TOOLS,
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

/** Runs a stage without a model over an array of any size. Returns `undefined` when it changes nothing. */
function runStage(
  stage: PlanningStage<Plan | undefined>,
  { view, contentOf, metadataOf }: ArrayRows,
  settings: { readonly [K in keyof StageSettings]?: StageSettings[K] | undefined },
): ArrayStep | undefined {
  const plan = stage.plan(view, {
    contentOf,
    metadataOf,
    settings: { ...DEFAULT_SETTINGS, ...defined(settings) },
    targetTokens: 0,
    limitTokens: Number.MAX_SAFE_INTEGER,
  })
  return plan && { ...stepOf(view, plan), id: uuidv7() }
}
