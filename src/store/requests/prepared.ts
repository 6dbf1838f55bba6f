import { ContextBudgetExceededError, standingFor } from '../../core/errors.ts'
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

/** A message as it is to be sent. */
export type RenderedMessage = Message

/** The files of a request. Sizes in the session estimator's tokens. */
export type PreparedFiles = {
  /** In the request, in the order given, each with its treatment. */
  readonly included: readonly ProcessedFile[]
  /** Left out: there was no room. */
  readonly dropped: readonly ProcessedFile[]
  /** A line for each file that is not whole; they are in the request too. */
  readonly notices: readonly string[]
  readonly budgetTokens: number
  /** Tokens of the included files, without the lines around them. */
  readonly tokens: number
}

/** A repair that was made because a provider refused a request for its content. */
export type RequestRepair = {
  /** The compaction of kind `repair`, or the compaction of the provider that was undone because it refused its block. */
  readonly compactionId: string
  /** What the provider refused. */
  readonly kind: RefusalKind
  /** The place as its error names it. */
  readonly path?: string
  /** The messages of which parts are shown differently. */
  readonly messageIds: readonly string[]
}

/** A message of which the model receives some parts shortened: only their beginnings. */
export type CutMessage = {
  readonly messageId: string
  /** Indexes of the parts. */
  readonly parts: readonly number[]
}

/** How full the context is. */
export type TurnUsage = {
  /** Tokens of the request. */
  readonly tokens: number
  /** The available input, or the `contextWindowTarget`, when that is less. */
  readonly availableTokens: number
  readonly ratio: number
  /** Whole, at most 100. */
  readonly percent: number
}

/** A request that fits, ready to be sent. */
export type PreparedRequest = {
  readonly sessionId: string
  readonly provider: string
  readonly model?: string
  /** The system prompt of this one request; absent when it is empty. */
  readonly system?: string
  /** The injector's texts in it. */
  readonly injected: readonly string[]
  /** The definitions of tools, as they were given. */
  readonly tools?: readonly unknown[]
  /** The view and the prompt, valid for the provider by `validateHistory`. */
  readonly messages: readonly RenderedMessage[]
  /** The changes made for the provider. */
  readonly mends: readonly Mend[]
  /** The messages that the stage `cut` shortened for this or an earlier request, because it did not fit otherwise; absent for none. */
  readonly cut?: readonly CutMessage[]
  /** Its messages that are not stored, with files and, for a model that binds its reasoning, what was added: `recordResponse` appends them. */
  readonly prompt: readonly NewMessage[]
  /** The files; absent when there were none. */
  readonly files?: PreparedFiles
  /** The notes in its system prompt; absent when none were asked for. */
  readonly notes?: PreparedNotes
  /** How full the context is with this request. */
  readonly stats: ContextStats
  readonly usage: TurnUsage
  readonly warning: ContextWarningEvent | null
  /** Whether the history was compacted for it. */
  readonly compacted: boolean
  /** The result of the last run; `null` when there was none. */
  readonly run: CompactionResult | null
  /** All runs, in order. */
  readonly runs: readonly CompactionResult[]
  /** Tokens of the request before and after compaction. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The last position of the log that is in the request, 0 for none. */
  readonly position: number
  /** The number of the last entry of the audit when the view was read, 0 for none. With `position` it is the moment of the request. */
  readonly audit: number
  /** How view and prompt were rendered. */
  readonly rendering: RenderOptions
  /** For a model that binds its reasoning to what precedes it: what the answer is bound to. `recordResponse` records it. */
  readonly bound?: BoundPrefix
  /**
   * What differs from the system prompt and the tools of the last recorded request, and the reasoning that this invalidates. Absent when nothing
   * differs, and for models that do not check it.
   */
  readonly changed?: ChangedFrame
  /** The epoch of the view in the request, as in `sessions.get`. */
  readonly viewEpoch: number
  /** Whether automatic runs are allowed for this request, in the background too. */
  readonly auto: boolean
  /** Tokens of the messages that are not stored, by the estimator; for `requests.recordUsage`. */
  readonly pendingTokens: number
  /** What was repaired for it after a refusal, in order; absent when nothing was. */
  readonly repairs?: readonly RequestRepair[]
  /** The setting of that name: what the provider is to compact itself. */
  readonly contextManagement?: JsonObject | readonly Json[]
}

/** The error of a request that does not fit. */
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
  // A provider's error may have the whole request (`requestBodyValues` of the AI SDK), so it is not the `cause`.
  return cause === undefined ? error : standingFor(error, cause)
}
