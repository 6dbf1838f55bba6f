import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { ContextBudgetExceededError, standingFor } from '../errors.ts'
import type { ContextWarningEvent } from '../events.ts'
import type { ProcessedFile } from '../files/file-summarization-service.ts'
import { defined } from '../messages/defined.ts'
import type { Json, JsonObject } from '../messages/json.ts'
import type { Message, NewMessage } from '../messages/message.ts'
import type { Mend } from '../rendering/render.ts'
import { asStatsOptions } from './options.ts'
import type { TurnUsage } from './turn-hooks.ts'

/** A message as it is to be sent. */
export type RenderedMessage = Message

/** What became of the files of a request. Sizes in the session estimator's tokens. */
export type PreparedFiles = {
  /** In the request, in the order given, each with what was done to it. */
  readonly included: readonly ProcessedFile[]
  /** Left out: there was no room. */
  readonly dropped: readonly ProcessedFile[]
  /** A line for each file that is not whole; they are in the request too. */
  readonly notices: readonly string[]
  readonly budgetTokens: number
  /** What the included files take, without the lines around them. */
  readonly tokens: number
}

/** A request that fits, ready to be sent. */
export type PreparedRequest = {
  readonly sessionId: string
  readonly provider: string
  readonly model?: string
  /** The system prompt of this one request; absent when there is nothing to say. */
  readonly system?: string
  /** The injector's texts in it. */
  readonly injected: readonly string[]
  /** The definitions of tools, as they were given. */
  readonly tools?: readonly unknown[]
  /** The view and the prompt, valid for the provider by `validateHistory`. */
  readonly messages: readonly RenderedMessage[]
  /** What was changed for the provider. */
  readonly mends: readonly Mend[]
  /** What is new in it and not stored, files included: what `recordResponse` appends. */
  readonly prompt: readonly NewMessage[]
  /** What became of the files; absent when there were none. */
  readonly files?: PreparedFiles
  /** How full the context is with this very request. */
  readonly stats: ContextStats
  readonly usage: TurnUsage
  readonly warning: ContextWarningEvent | null
  /** Whether the history was compacted for it. */
  readonly compacted: boolean
  /** What the last run did; `null` when there was none. */
  readonly run: CompactionResult | null
  /** All runs, in order. */
  readonly runs: readonly CompactionResult[]
  /** Tokens of the request as it came, and as it goes. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The last position of the log that is in the request, 0 for none. */
  readonly position: number
  /** The view the request was made from, as `getSession` names it. */
  readonly viewEpoch: number
  /** Whether anything may run unasked for this request, in the background too. */
  readonly auto: boolean
  /** Tokens of what is not stored, by the estimator; what `recordUsage` wants to know of the prompt. */
  readonly pendingTokens: number
  /** The setting of that name: what the provider is to compact itself. */
  readonly contextManagement?: JsonObject | readonly Json[]
}

/** A request and its place in the session, for the verbs that record its usage or its overflow. */
export function describedBy({
  position,
  viewEpoch,
  pendingTokens,
  system,
  tools,
}: Pick<PreparedRequest, 'position' | 'viewEpoch' | 'pendingTokens'> & {
  readonly system?: string | undefined
  readonly tools?: readonly unknown[] | undefined
}) {
  const { systemPrompt, toolDefinitions } = asStatsOptions({ system, tools })
  return { position, viewEpoch, pendingTokens, ...defined({ systemPrompt, toolDefinitions }) }
}

/** The refusal of a request that does not fit. */
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
  // A provider's error may hold the whole request (`requestBodyValues` of the AI SDK), so it is no `cause`.
  return cause === undefined ? error : standingFor(error, cause)
}
