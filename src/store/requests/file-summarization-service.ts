import { z } from 'zod'
import { UndertextError } from '../../core/errors.ts'
import { fitFiles, noticeOf } from '../../core/files/aggregate-budget.ts'
import type { AttachedFile } from '../../core/files/attached-file.ts'
import { fileBudgetSchema } from '../../core/files/file-budget.ts'
import {
  buildFileSummarizationPrompt,
  type FileSummaryPromptParams,
  measureFiles,
  planFileSummarization,
} from '../../core/files/summary-plan.ts'
import { check, MAX_TIMER_MS } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/json.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { tokensOfText } from '../../core/tokens/measure.ts'
import { truncateToTokenBudget } from '../../core/tokens/truncate-text.ts'

/** Milliseconds for one summary, as for summaries of messages. */
const FILE_SUMMARY_TIMEOUT_MS = 120_000
const FILE_SUMMARY_CONCURRENCY = 4

const serviceSchema = z.strictObject({
  /** Called once per file to summarize; it may pass `request.prompt` to a model unchanged. */
  summarize: z.custom<SummarizeFile>((value) => typeof value === 'function', 'must be a function'),
  /** Maximum number of concurrent calls, 1 to 64. Default 4. */
  concurrency: z.int().min(1).max(64).optional(),
  /** Milliseconds for one call. Default 120,000. */
  timeoutMs: z.int().positive().max(MAX_TIMER_MS).optional(),
  /** Maximum tokens of a file in one call; only the beginning of a longer file is sent. Default: no limit. */
  maxInputTokens: z.int().positive().optional(),
})
/** Options of `FileSummarizationService`. */
export type FileSummarizationOptions = z.input<typeof serviceSchema>

const checkSchema = z
  .strictObject({
    ...fileBudgetSchema.shape,
    /** The user's question. */
    question: z.string().optional(),
    signal: z.instanceof(AbortSignal).optional(),
  })
  .optional()
/** Options for checking whether files need summaries. */
export type FileCheckOptions = z.input<typeof checkSchema>

/** Why a file was cut instead of summarized. `INFLATED`: the summary wasn't shorter than the file. */
export type FileSummaryFailure = AskFailure | 'INFLATED'

/** The result for one file. Sizes in tokens. */
export type ProcessedFile = {
  /** Its index in the given list. */
  readonly index: number
  readonly path?: string
  /** The content to send; empty for a dropped file. */
  readonly content: string
  readonly how: 'kept' | 'summarized' | 'truncated' | 'dropped'
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** Why the attempted summary failed. */
  readonly error?: FileSummaryFailure
}

/** The fitted files, with the result for each. Sizes are in tokens. */
export type FileSummarizationResult = {
  /** Whether the files were over the budget. */
  readonly needed: boolean
  /** The files to send, in the given order, together within the budget. */
  readonly files: readonly ProcessedFile[]
  /** The files for which there was no room, in the given order. */
  readonly dropped: readonly ProcessedFile[]
  /** One line per file that isn't included in full, with its name. */
  readonly notices: readonly string[]
  readonly budgetTokens: number
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** A file after summarizing and before fitting. */
export type FileDraft = AttachedFile & {
  readonly how: 'kept' | 'summarized' | 'truncated'
  readonly error?: FileSummaryFailure | undefined
}

type Room = { readonly provider: string; readonly estimator: Estimator }

/**
 * Makes the files of a request fit, with summaries of the largest ones if necessary.
 */
export class FileSummarizationService {
  readonly #summarize: SummarizeFile
  readonly #concurrency: number
  readonly #timeoutMs: number
  readonly #maxInputTokens: number

  /** Throws `INVALID_INPUT`. */
  constructor(options: FileSummarizationOptions) {
    const checked = check(serviceSchema, options, 'FileSummarizationService')
    this.#summarize = checked.summarize
    this.#concurrency = checked.concurrency ?? FILE_SUMMARY_CONCURRENCY
    this.#timeoutMs = checked.timeoutMs ?? FILE_SUMMARY_TIMEOUT_MS
    this.#maxInputTokens = checked.maxInputTokens ?? Number.POSITIVE_INFINITY
  }

  /**
   * Returns the files within the budget of `planFileSummarization`. Files that fit are returned unchanged, without calls.
   *
   * A file whose summary fails, takes too long, is empty or isn't shorter is cut to the length of the planned summary; a summary that is
   * too long is cut to that length. If that is still too much, the smallest files take precedence, one file is cut to the remaining room,
   * and the others are dropped without calls.
   *
   * Rejects with `INVALID_INPUT`, and with `FILES_ABORTED` if the signal fires before all files are done.
   */
  async checkAndSummarize(
    files: readonly AttachedFile[],
    options?: FileCheckOptions,
  ): Promise<FileSummarizationResult> {
    const { question, signal, ...budget } = check(checkSchema, options, 'checkAndSummarize') ?? {}
    const { sizes, budgetTokens, ...room } = measureFiles(files, budget, 'checkAndSummarize')
    const aborted = (): UndertextError => new UndertextError('FILES_ABORTED', { files: files.length })
    if (signal?.aborted) throw aborted()

    const drafts = files.map(({ path, content }): FileDraft => ({ path, content, how: 'kept' }))
    const tasks = affordable(planFileSummarization(files, budget), budgetTokens)
    await inParallel(tasks, this.#concurrency, async (task) => {
      const { index } = task
      const draft = await this.#draftOf(drafts[index]!, task, room, question, signal)
      if (draft === undefined) throw aborted()
      drafts[index] = draft
    })
    return fitDrafts(drafts, sizes, budgetTokens, room)
  }

  /** Returns the summary of one file, or its beginning; `undefined` after the signal. */
  async #draftOf(
    { path, content }: FileDraft,
    { tokens, targetTokens }: Task,
    { provider, estimator }: Room,
    question: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<FileDraft | undefined> {
    const cut = (text: string, most: number): string =>
      truncateToTokenBudget(text, most, provider, { estimator }).text
    const given = tokens > this.#maxInputTokens ? cut(content, this.#maxInputTokens) : content
    const isBeginning = given.length < content.length || undefined
    const request = { content: given, targetTokens, ...defined({ path, question, isBeginning }) }
    const prompt = buildFileSummarizationPrompt(request)
    const answer = await ask(this.#summarize, { ...request, prompt, tokens }, this.#timeoutMs, signal)
    if ('text' in answer && tokensOfText(answer.text, estimator, provider) < tokens)
      return { path, content: cut(answer.text, targetTokens), how: 'summarized' }
    const error = 'failure' in answer ? answer.failure : 'INFLATED'
    if (error === 'ABORTED') return undefined
    return { path, content: cut(content, targetTokens), how: 'truncated', error }
  }
}

type Task = { readonly index: number; readonly tokens: number; readonly targetTokens: number }

/** Returns the summaries to request: those that will have room, smallest files first. */
function affordable(plan: ReturnType<typeof planFileSummarization>, budgetTokens: number): Task[] {
  const lengthOf = (file: (typeof plan)[number]): number =>
    file.action === 'keep' ? file.tokens : file.targetTokens
  let room = budgetTokens
  const tasks: Task[] = []
  for (const file of plan.toSorted((a, b) => lengthOf(a) - lengthOf(b) || a.tokens - b.tokens)) {
    room -= lengthOf(file)
    if (room < 0) break
    if (file.action === 'summarize') tasks.push(file)
  }
  return tasks
}

/** Runs a task for each item, at most `width` at a time. Rejects with the first failure, after which no task starts. */
async function inParallel<T>(
  items: readonly T[],
  width: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  let failed = false
  const work = async (): Promise<void> => {
    for (const item of rest) {
      if (failed) return
      try {
        await run(item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, work))
}

/** Fits files, some of which may be summarized already. `sizes` are the tokens of the whole files. */
export function fitDrafts(
  drafts: readonly FileDraft[],
  sizes: readonly number[],
  budgetTokens: number,
  { provider, estimator }: Room,
): FileSummarizationResult {
  const fitted = fitFiles(drafts, budgetTokens, provider, estimator, ({ how }) => how === 'summarized')
  const processed = fitted.map(({ file, how, ...fit }, index): ProcessedFile => {
    const content = how === 'dropped' ? '' : file.content
    return {
      index,
      ...defined({ path: file.path }),
      content,
      how: how === 'kept' ? file.how : how,
      tokensBefore: sizes[index] ?? 0,
      tokensAfter: fit.tokensAfter,
      ...defined({ error: file.error }),
    }
  })
  const tokensBefore = sizes.reduce((sum, tokens) => sum + tokens, 0)
  return {
    needed: tokensBefore > budgetTokens,
    files: processed.filter(({ how }) => how !== 'dropped'),
    dropped: processed.filter(({ how }) => how === 'dropped'),
    notices: processed.flatMap((file) => noticeOf(file) ?? []),
    budgetTokens,
    tokensBefore,
    tokensAfter: processed.reduce((sum, { tokensAfter }) => sum + tokensAfter, 0),
  }
}

/** The request passed to the caller's function. */
export interface FileSummaryRequest extends FileSummaryPromptParams {
  /** The complete prompt, for a function that passes it to a model. */
  readonly prompt: string
  /** Tokens of the file. */
  readonly tokens: number
}

/** The caller's function that summarizes a file. */
export type SummarizeFile = (
  request: FileSummaryRequest,
  options: { readonly signal: AbortSignal },
) => Promise<string | { readonly text: string }>

/** Why there isn't a summary: the call failed, timed out, or returned no text. */
export type AskFailure = 'FAILED' | 'TIMEOUT' | 'EMPTY'

type Answer = { readonly text: string } | { readonly failure: AskFailure | 'ABORTED' }

/**
 * Calls the function once, for at most `timeoutMs` milliseconds or until `signal` fires. A function that ignores its own signal is
 * abandoned. Never rejects.
 */
export async function ask(
  summarize: SummarizeFile,
  request: FileSummaryRequest,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Answer> {
  if (signal?.aborted) return { failure: 'ABORTED' }
  const call = new AbortController()
  let stop: (failure: 'ABORTED' | 'TIMEOUT') => void = () => {}
  const stopped = new Promise<Answer>((resolve) => {
    stop = (failure) => {
      resolve({ failure })
      call.abort()
    }
  })
  const onAbort = (): void => stop('ABORTED')
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(stop, timeoutMs, 'TIMEOUT')
  try {
    return await Promise.race([stopped, answerOf(summarize, request, call.signal)])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

async function answerOf(
  summarize: SummarizeFile,
  request: FileSummaryRequest,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    const answer: unknown = await summarize(request, { signal })
    const text: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'text') : answer
    return typeof text === 'string' && text.trim() !== '' ? { text: text.trim() } : { failure: 'EMPTY' }
  } catch {
    // The error may quote the file, so only the failure is reported.
    return { failure: 'FAILED' }
  }
}
