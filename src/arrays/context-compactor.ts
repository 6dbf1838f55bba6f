import { z } from 'zod'
import { type CompactionOutline, type IdleReason, idleReason, outlineOf } from '../compaction/result.ts'
import type { PlannedRun } from '../compaction/run-draft.ts'
import { compactionConfigSchema } from '../config/settings.ts'
import { check } from '../messages/check.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import type { CompactionStage } from '../model/plan.ts'
import { applySteps } from './applied.ts'
import { runPipeline } from './run-pipeline.ts'

/** Without what only a store can do something with: places in a log, triggers, authorship, waiting. */
const arrayConfigSchema = z.strictObject(compactionConfigSchema.shape).omit({
  range: true,
  summary: true,
  trigger: true,
  reportedTokens: true,
  actor: true,
  minimumSavings: true,
  reason: true,
  waitMs: true,
})

/** The part of a store's `CompactionConfig` that has a meaning without a store: seed 003's fields and more. */
export type ArrayCompactionConfig = z.input<typeof arrayConfigSchema>

const targetSchema = z.int().nonnegative().optional()

/** What `ContextCompactor.compact` did: seed 003's `CompactionResult`, over plain messages. */
export type ArrayCompactionResult = {
  /** Whether anything was applied. */
  readonly compacted: boolean
  /** Which stages were used, in order. The emergency cut counts as truncation. */
  readonly stagesUsed: CompactionStage[]
  /** Estimated tokens of the visible messages before and after, and the difference. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly tokensSaved: number
  /** The compacted array: the effective history of `tagged`. */
  readonly messages: ChatMessage[]
  /**
   * The array given with tags on what was hidden, summaries and markers in their places. The ids in `compactions`
   * take them away again. Replaced texts of visible messages stand only in the array given.
   */
  readonly tagged: ChatMessage[]
  /** What was done, step by step. */
  readonly compactions: CompactionOutline[]
  /** Summaries that were asked for and not used: a code or an error's name. */
  readonly failed: { readonly status: PlannedRun['failed'][number]['status']; readonly error: string }[]
  readonly targetTokens: number
  /** Whether the messages are within the target. */
  readonly reachedTarget: boolean
  /** Whether the whole request fits the model's window. */
  readonly fits: boolean
  /** Why nothing was applied. */
  readonly reason?: IdleReason
}

/**
 * Compacts plain arrays by the four stages of seed 003, by the store's own pipeline: prune, deduplicate, summarize,
 * truncate, each only while the messages are over the target. What a store would lay over its rows is told in the
 * result instead.
 */
export class ContextCompactor {
  readonly #config: z.output<typeof arrayConfigSchema>

  /** The config of `compactSession`, save what needs a store. Throws `INVALID_INPUT`. */
  constructor(config: ArrayCompactionConfig = {}) {
    this.#config = check(arrayConfigSchema, config, 'ContextCompactor')
  }

  /**
   * Compacts messages down to `targetTokens` of history. Default: the config's `targetTokens`, else its `target`
   * (0.4) of what the model of its `provider` and `model` takes, less what else the config says will be sent.
   *
   * Resolves whatever the summarizer does: when it fails, truncation takes over and `failed` says so. The array
   * given and its objects are not changed. Rejects with `INVALID_INPUT`, and with `ABORTED` after `signal`.
   */
  async compact(messages: readonly ChatMessage[], targetTokens?: number): Promise<ArrayCompactionResult> {
    const target = check(targetSchema, targetTokens, 'compact: targetTokens') ?? this.#config.targetTokens
    const run = await runPipeline(messages, { ...this.#config, targetTokens: target }, 'compact')
    const { steps, failed, stagesUsed, after, settings, snapshot } = run
    const tokensBefore = snapshot.view.tokens
    const tokensAfter = after.tokens
    const reason = idleReason(run)
    return {
      compacted: steps.length > 0,
      stagesUsed: [...stagesUsed],
      tokensBefore,
      tokensAfter,
      tokensSaved: tokensBefore - tokensAfter,
      ...applySteps(run.given, steps),
      compactions: steps.map(outlineOf),
      failed: failed.map(({ status, error }) => ({ status, error })),
      targetTokens: settings.targetTokens,
      reachedTarget: tokensAfter <= settings.targetTokens,
      fits: tokensAfter <= settings.limitTokens,
      ...(reason !== undefined && { reason }),
    }
  }
}
