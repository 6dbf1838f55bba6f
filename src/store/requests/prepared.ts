import { ContextBudgetExceededError, withOriginal } from '../../core/errors.ts'
import { defined, type Json, type JsonObject } from '../../core/messages/json.ts'
import type { Message, NewMessage } from '../../core/messages/message.ts'
import type { RefusalKind } from '../../core/overflow/wordings.ts'
import type { BoundPrefix } from '../../core/rendering/bound-reasoning.ts'
import type { Mend, RenderOptions } from '../../core/rendering/render.ts'
import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import type { ContextWarningEvent } from '../events.ts'
import type { PreparedNotes } from '../notes.ts'
import type { ProcessedFile } from './file-summarization-service.ts'
import type { ChangedFrame } from './reasoning.ts'

/** A message ready to be sent. */
export type RenderedMessage = Message

/** The files of a request. Sizes are in tokens of the session's estimator. */
export type PreparedFiles = {
  /** The files in the request, in the given order, each with its treatment. */
  readonly included: readonly ProcessedFile[]
  /** The files for which there was no room. */
  readonly dropped: readonly ProcessedFile[]
  /** A line for each file that isn't included in full; these lines are in the request too. */
  readonly notices: readonly string[]
  readonly budgetTokens: number
  /** Tokens of the included files, without the lines around them. */
  readonly tokens: number
}

/** A repair that was made because a provider rejected a request for its content. */
export type RequestRepair = {
  /** The compaction of kind `repair`, or the compaction of the provider that was undone because it rejected its block. */
  readonly compactionId: string
  /** What the provider rejected. */
  readonly kind: RefusalKind
  /** The place as named in the provider's error. */
  readonly path?: string
  /** The messages with parts that are shown differently. */
  readonly messageIds: readonly string[]
}

/** A message with parts of which the model receives only the beginnings. */
export type CutMessage = {
  readonly messageId: string
  /** Indexes of the parts. */
  readonly parts: readonly number[]
}

/** How full the context is. */
export type TurnUsage = {
  /** Tokens of the request. */
  readonly tokens: number
  /** The available input, or the `contextWindowTarget` if that is lower. */
  readonly availableTokens: number
  readonly ratio: number
  /** Whole percent, at most 100. */
  readonly percent: number
}

/** A request that fits, ready to be sent. */
export type PreparedRequest = {
  readonly sessionId: string
  readonly provider: string
  readonly model?: string
  /** The system prompt for this request; absent if it is empty. */
  readonly system?: string
  /** The injector's texts in the system prompt. */
  readonly injected: readonly string[]
  /** The tool definitions, as given. */
  readonly tools?: readonly unknown[]
  /** The view and the prompt, valid for the provider by `validateHistory`. */
  readonly messages: readonly RenderedMessage[]
  /** The changes made for the provider. */
  readonly mends: readonly Mend[]
  /**
   * The messages that the stage `cut` shortened for this or an earlier request, because it didn't fit otherwise; absent if there are none.
   */
  readonly cut?: readonly CutMessage[]
  /**
   * The messages of the request that aren't stored, including files and, for a model that binds its reasoning, added texts.
   * `recordResponse` appends them.
   */
  readonly prompt: readonly NewMessage[]
  /** The files; absent if there were none. */
  readonly files?: PreparedFiles
  /** The notes in the system prompt; absent if none were requested. */
  readonly notes?: PreparedNotes
  /** How full the context is with this request. */
  readonly stats: ContextStats
  readonly usage: TurnUsage
  readonly warning: ContextWarningEvent | null
  /** Whether the history was compacted for it. */
  readonly compacted: boolean
  /** The result of the last run; `null` if there was none. */
  readonly run: CompactionResult | null
  /** All runs, in order. */
  readonly runs: readonly CompactionResult[]
  /** Tokens of the request before and after compaction. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The last position of the log that is in the request, 0 for none. */
  readonly position: number
  /**
   * The number of the last audit entry when the view was read, 0 for none. Together with `position` it identifies the moment of the
   * request.
   */
  readonly audit: number
  /** How view and prompt were rendered. */
  readonly rendering: RenderOptions
  /** For a model that binds its reasoning to what precedes it: the prefix that the answer is bound to. `recordResponse` records it. */
  readonly bound?: BoundPrefix
  /**
   * What differs from the system prompt and the tools of the last recorded request, and the reasoning that this invalidates. Absent if
   * nothing differs, and for models that don't check the prefix.
   */
  readonly changed?: ChangedFrame
  /** The epoch of the view in the request, as in `sessions.get`. */
  readonly viewEpoch: number
  /** Whether automatic runs are allowed for this request, including those in the background. */
  readonly auto: boolean
  /** Tokens of the unstored messages, by the estimator; for `requests.recordUsage`. */
  readonly pendingTokens: number
  /** What was repaired in the request after a refusal, in order; absent if nothing was. */
  readonly repairs?: readonly RequestRepair[]
  /** The setting of that name: what the provider itself should compact. */
  readonly contextManagement?: JsonObject | readonly Json[]
}

/** Returns the error for a request that doesn't fit. */
export function exceeded(
  stats: ContextStats,
  stagesUsed: readonly string[],
  { cause, reportedTokens = 0 }: { readonly cause?: unknown; readonly reportedTokens?: number } = {},
): ContextBudgetExceededError {
  const { estimatedInputTokens, availableInputTokens, breakdown, provider, model } = stats
  const error = new ContextBudgetExceededError(
    defined({
      estimatedTokens: Math.max(estimatedInputTokens, reportedTokens),
      availableTokens: availableInputTokens,
      stagesUsed: [...new Set(stagesUsed)],
      breakdown,
      provider,
      model,
    }),
  )
  // A provider's error may contain the whole request (`requestBodyValues` of the AI SDK), so it isn't the `cause`.
  return cause === undefined ? error : withOriginal(error, cause)
}
