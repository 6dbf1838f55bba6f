import { z } from 'zod'
import type { Message, RowKind } from '../messages/message.ts'

/** A summarizer of the caller. */
export const summarizerSchema = z.custom<Summarizer>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Summarizer).name === 'string' &&
    typeof (value as Summarizer).summarize === 'function' &&
    typeof (value as Summarizer).usesModel === 'boolean',
  'must be a summarizer: { name, usesModel, summarize }; aiSdkSummarizer and modelSummarizer create one from a model',
)

/** The titles of the ten default sections of a summary. */
export const SUMMARY_SECTIONS: readonly string[] = [
  'Primary Request and Intent',
  'Key Technical Concepts',
  'Files and Code Sections',
  'Problem Solving',
  'Pending Tasks',
  'Task Evolution',
  'Current Work',
  'Next Step',
  'Required Files',
  'Constraints and Established Rules',
]

/** The ten without the last, as in NeuroLink's documentation: the preset `nine`. */
export const NINE_SECTIONS: readonly string[] = SUMMARY_SECTIONS.slice(0, 9)

/** The titles of NeuroLink's article: the preset `blog`. */
export const BLOG_SECTIONS: readonly string[] = [
  'Key decisions made',
  'Main topics discussed',
  "User's primary goal",
  'Key files or data mentioned',
  'Action items for the assistant',
  'Action items for the user',
  'Unresolved questions',
  'User preferences or constraints',
  'Technical discoveries',
  'Summary of the last few turns',
]

/** Why the text of an answer is not a summary. */
export const ANSWER_PROBLEMS = [
  /** There is no text. */
  'EMPTY_SUMMARY',
  /** The model, or a filter of its provider, refused. */
  'SUMMARY_REFUSED',
  /** The answer is the call of a tool or an instruction, and not a record of the conversation. */
  'SUMMARY_NOT_A_RECORD',
  /** The answer contains reasoning only. */
  'SUMMARY_REASONING_ONLY',
  /** The answer reached its limit: the rules, which come last, would be missing. */
  'SUMMARY_CUT',
  /** It is not smaller than the messages that it replaces. */
  'SUMMARY_NOT_SMALLER',
  /** It contradicts the log: numbers of edits, outcomes, withdrawn rules. Only with `retriesContradictions`. */
  'SUMMARY_CONTRADICTS_LOG',
] as const
/** One of `ANSWER_PROBLEMS`. */
export type AnswerProblem = (typeof ANSWER_PROBLEMS)[number]

/** A request to a summarizer. */
export interface SummaryRequest {
  readonly sessionId: string
  /** The messages to summarize, oldest first, as the view shows them. Calls and results are complete pairs. */
  readonly messages: readonly (Message & { readonly kind: RowKind })[]
  /** The text of the summary before these messages, to be merged in; without its digest. */
  readonly previousSummary?: string
  /**
   * The depth: absent for a summary of messages, 1 for a summary of such summaries (`messages` are then summaries), and so on. A deeper
   * summary should contain fewer single actions and more decisions that still apply.
   */
  readonly level?: number
  /** The titles of the requested sections, in order. */
  readonly sections: readonly string[]
  /** The maximum tokens of the text. */
  readonly maxTokens: number
  /** The paths of the files that tools read and changed in these messages, each once, in order of first use. */
  readonly files: { readonly read: readonly string[]; readonly modified: readonly string[] }
  /** The user's rules in force, word for word, oldest first, each with the position of its message. */
  readonly rules?: readonly string[]
  /** The tools with which a person answers (setting `userTools`): their results are words of the user. Default: the usual names. */
  readonly userTools?: readonly string[]
  /** The provider and model of the caller's config, for summarizers that can choose. */
  readonly provider?: string
  readonly model?: string
  /** Why the previous answer was rejected; absent at the first attempt. See `Summarizer.asksAgain`. */
  readonly retryOf?: AnswerProblem
  readonly signal?: AbortSignal
  /** See `Summarizer.announcesCalls`. */
  readonly calling?: () => Promise<void>
}

/** The token usage of a summary. `inputTokens` includes tokens read from and written to a provider's cache. */
export type SummaryUsage = {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
}

/** The result of a summarizer. */
export interface SummaryAnswer {
  readonly text: string
  /** The writer's name, for the audit. */
  readonly model?: string
  readonly promptVersion?: string
  readonly usage?: SummaryUsage
  /** The cost, US dollars. */
  readonly cost?: number
  /** Why the model stopped. `length` and `content-filter` reject the answer, in any known spelling. */
  readonly finishReason?: string
  /** The model's reasoning; never part of the summary. */
  readonly reasoning?: string
  /** The number of requests and rules that were shortened, because they alone were too long. Absent when none was. */
  readonly shortened?: number
}

/**
 * Writes summaries. It is called outside transactions, may be slow, and receives at most `maxInputTokens` at once: longer ranges come in
 * chunks, each with the summary so far.
 */
export interface Summarizer {
  readonly name: string
  /** Whether it calls a model: such a run takes a lease, and a preview does not call it by default. */
  readonly usesModel: boolean
  /** The maximum tokens of messages in one request. Default: no limit. */
  readonly maxInputTokens?: number
  /** The same when it depends on the request; replaces `maxInputTokens`. */
  inputTokensFor?(request: Omit<SummaryRequest, 'messages' | 'previousSummary' | 'files'>): number | undefined
  /** The tokens per message besides its content, such as a line above it. Default 0. */
  readonly tokensPerMessage?: number
  /**
   * Whether it changes its prompt when `retryOf` names the problem of the previous answer. If so, a rejected answer is requested once
   * more, with half the length. Default false: the same prompt would return the same answer.
   */
  readonly asksAgain?: boolean
  /**
   * Whether an answer that contradicts the log is rejected and requested once more (it needs `asksAgain`). Default false: the run notes
   * what the log says in the text.
   */
  readonly retriesContradictions?: boolean
  /**
   * Whether it calls and awaits `calling` of its request before it calls its model. A failure before that is not recorded as an attempt
   * and opens no circuit. Default false: a call of `summarize` counts as a call of the model.
   */
  readonly announcesCalls?: boolean
  /**
   * Whether it can use the provider and model of the caller's config. If not, the extractive summarizer writes. Default: true.
   */
  canUse?(asked: { readonly provider?: string; readonly model?: string }): boolean
  /** Writes a summary. A rejection counts as a failed attempt of its model. */
  summarize(request: SummaryRequest): SummaryAnswer | Promise<SummaryAnswer>
}
