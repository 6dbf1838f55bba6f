import type { Message, RowKind } from '../core/message.ts'

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
  readonly signal?: AbortSignal
}

/** What it answers. */
export interface SummaryAnswer {
  readonly text: string
  /** Who wrote it, for the audit. */
  readonly model?: string
  readonly promptVersion?: string
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number }
  /** Money, in US dollars. */
  readonly cost?: number
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
  summarize(request: SummaryRequest): SummaryAnswer | Promise<SummaryAnswer>
}
