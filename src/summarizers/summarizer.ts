import { z } from 'zod'
import type { Message, RowKind } from '../messages/message.ts'

/** What a caller may hand in as a summarizer. */
export const summarizerSchema = z.custom<Summarizer>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Summarizer).name === 'string' &&
    typeof (value as Summarizer).summarize === 'function' &&
    typeof (value as Summarizer).usesModel === 'boolean',
  'must be a summarizer: { name, usesModel, summarize }; aiSdkSummarizer and modelSummarizer make one of a model',
)

/** Titles of the ten sections of a summary. Source: checklist C-01, the default there. */
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

/** The ten without the last: those of seed 003. Source: checklist C-01, the preset `nine`. */
export const NINE_SECTIONS: readonly string[] = SUMMARY_SECTIONS.slice(0, 9)

/** The titles of seed 002. Source: checklist S2-057 to S2-066, conflict C-01: the preset `blog`. */
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

/** Why the text of an answer is not taken for a summary. */
export const ANSWER_PROBLEMS = [
  /** There is no text. */
  'EMPTY_SUMMARY',
  /** The model, or a filter of its provider, refused. */
  'SUMMARY_REFUSED',
  /** The model thought, and then said nothing. */
  'SUMMARY_REASONING_ONLY',
  /** The answer ran into its limit: what stands last, the rules, would be missing. */
  'SUMMARY_CUT',
  /** It is no smaller than what it stands for. */
  'SUMMARY_NOT_SMALLER',
] as const
/** One of `ANSWER_PROBLEMS`. */
export type AnswerProblem = (typeof ANSWER_PROBLEMS)[number]

/** What a summarizer is asked for. */
export interface SummaryRequest {
  readonly sessionId: string
  /** What to summarize, oldest first, as the view shows it. Calls and results are whole pairs. */
  readonly messages: readonly (Message & { readonly kind: RowKind })[]
  /** The text of the summary these messages follow, to be merged in; without its digest. */
  readonly previousSummary?: string
  /**
   * How many summaries deep: absent for a summary of messages, 1 for one of such summaries, and so on. The higher, the
   * less of single actions is wanted and the more of what was decided and still holds. Then `messages` are summaries.
   */
  readonly level?: number
  /** Titles of the sections wanted, in order. */
  readonly sections: readonly string[]
  /** Most tokens the text should take. */
  readonly maxTokens: number
  /** Files that tools read and changed in these messages, by path, each once, in order of first use. */
  readonly files: { readonly read: readonly string[]; readonly modified: readonly string[] }
  /** Provider and model asked for by the caller's config, for summarizers that can choose. */
  readonly provider?: string
  readonly model?: string
  /** Why the answer before this one was not taken; absent at the first attempt. See `Summarizer.asksAgain`. */
  readonly retryOf?: AnswerProblem
  readonly signal?: AbortSignal
  /** See `Summarizer.announcesCalls`. */
  readonly calling?: () => Promise<void>
}

/** Tokens a summary cost. `inputTokens` counts those read from and written to a provider's cache too. */
export type SummaryUsage = {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
}

/** What it answers. */
export interface SummaryAnswer {
  readonly text: string
  /** Who wrote it, for the audit. */
  readonly model?: string
  readonly promptVersion?: string
  readonly usage?: SummaryUsage
  /** Money, in US dollars. */
  readonly cost?: number
  /** Why the model stopped: `length` and `content-filter` are heeded, in any spelling of theirs that is known. */
  readonly finishReason?: string
  /** What it thought aloud; never part of the summary. */
  readonly reasoning?: string
}

/**
 * The port to whatever writes summaries. It is called with no transaction open, may take its time, and is given
 * no more than `maxInputTokens` at once: longer ranges come in chunks, each with the summary so far.
 */
export interface Summarizer {
  readonly name: string
  /** Whether a model is called: such a run takes a lease, and a preview does not call it unasked. */
  readonly usesModel: boolean
  /** Most tokens of messages in one request. Default: no limit. */
  readonly maxInputTokens?: number
  /** The same where it depends on what is asked for; counts instead of `maxInputTokens`. */
  inputTokensFor?(request: Omit<SummaryRequest, 'messages' | 'previousSummary' | 'files'>): number | undefined
  /** Tokens a request takes for each message besides what the message says, such as a line above it. Default 0. */
  readonly tokensPerMessage?: number
  /**
   * Whether it asks differently when `retryOf` says what was wrong with the answer before. Then an answer that was not
   * taken is asked for once more, with half the length. Default false: the same question would get the same answer.
   */
  readonly asksAgain?: boolean
  /**
   * Whether it calls and awaits `calling` of its request before it asks its model. What fails before that is no attempt: it is in no record
   * and opens no circuit. Default false: its model counts as asked when `summarize` is called.
   */
  readonly announcesCalls?: boolean
  /**
   * Whether it can write with this provider and model, as a caller's config names them. Where it says no, the extractive
   * summarizer writes. Default: it can.
   */
  canUse?(asked: { readonly provider?: string; readonly model?: string }): boolean
  summarize(request: SummaryRequest): SummaryAnswer | Promise<SummaryAnswer>
}
