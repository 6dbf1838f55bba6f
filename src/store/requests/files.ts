import { previewed } from '../../core/files/aggregate-budget.ts'
import { type AttachedFile, buildFileContextSection } from '../../core/files/attached-file.ts'
import { NON_FILE_RESERVE } from '../../core/files/summary-plan.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { tokensOfText } from '../../core/tokens/measure.ts'
import type { ContextStats } from '../compaction/stats.ts'
import {
  type FileDraft,
  FileSummarizationService,
  fitDrafts,
  type SummarizeFile,
} from './file-summarization-service.ts'
import type { PreparedFiles } from './prepared.ts'
import type { Deadline } from './room.ts'

/** The estimator, and the provider for which it counts. */
type Counting = { readonly estimator: Estimator; readonly provider: string }

/**
 * Returns the tokens that files may take besides a request, by the estimator: floor((available − used − reserve) × percent). If files are
 * summarized, the reserve is 15 percent of the available input.
 */
export function fileRoom(stats: ContextStats, percent: number, isSummarizing: boolean): number {
  const { availableInputTokens: available, estimatedInputTokens: used, estimated } = stats
  const reserve = isSummarizing ? Math.ceil(Math.max(0, available) * NON_FILE_RESERVE) : 0
  // One token of the estimator may be more than one of the provider's.
  const scale = estimated > 0 ? Math.max(1, used / estimated) : 1
  return Math.max(0, Math.floor(((available - used - reserve) * percent) / scale))
}

/** The files of one request: summarized once, if there is a summarizer, then fitted again whenever there is less room. */
export class RequestFiles {
  readonly #files: readonly AttachedFile[]
  readonly #counting: Counting
  readonly #sizes: readonly number[]
  readonly #drafts: FileDraft[]

  constructor(files: readonly AttachedFile[], counting: Counting) {
    this.#files = files
    this.#drafts = files.map((file) => ({ ...file, how: 'kept' }))
    this.#counting = counting
    this.#sizes = files.map(({ content }) => tokensOfText(content, counting.estimator, counting.provider))
  }

  tokensIn(room: number): number {
    const { estimator, provider } = this.#counting
    const sizes = this.#files.map((file, at) => {
      const { content } = previewed(file)
      return content === file.content ? this.#sizes[at]! : tokensOfText(content, estimator, provider)
    })
    return Math.min(room, sumOf(sizes))
  }

  /** Summarizes files that are too large, until the deadline; the others are cut. */
  async summarize(
    summarize: SummarizeFile,
    room: number,
    question: string | undefined,
    deadline: Deadline,
  ): Promise<void> {
    if (sumOf(this.#sizes) <= room || deadline.leftMs === 0) return
    const service = new FileSummarizationService({ summarize, timeoutMs: Math.max(1, deadline.leftMs) })
    const answer = await deadline.within((signal) =>
      service.checkAndSummarize(this.#files, {
        ...this.#counting,
        budgetTokens: room,
        signal,
        ...(question !== undefined && question !== '' && { question }),
      }),
    )
    if (typeof answer === 'symbol') return
    for (const { index, content, how, error } of [...answer.files, ...answer.dropped]) {
      const file = this.#files[index]!
      // A file that was left out may still be included in part if there is more room later.
      this.#drafts[index] =
        how === 'dropped' ? { ...file, how: 'kept', error } : { ...file, content, how, error }
    }
  }

  /** Returns the files as they fit into a room, and their section of the prompt. */
  fit(room: number): { readonly section: string; readonly files: PreparedFiles } {
    const { files: included, ...fitted } = fitDrafts(this.#drafts, this.#sizes, room, this.#counting)
    const { dropped, notices, budgetTokens, tokensAfter: tokens } = fitted
    const section = buildFileContextSection(included, { notices })
    return { section, files: { included, dropped, notices, budgetTokens, tokens } }
  }
}

function sumOf(sizes: readonly number[]): number {
  return sizes.reduce((sum, tokens) => sum + tokens, 0)
}
