import type { FileSummaryPromptParams } from './summary-plan.ts'

/** What the caller's function is asked for. */
export interface FileSummaryRequest extends FileSummaryPromptParams {
  /** The whole prompt, for a function that only passes it on to a model. */
  readonly prompt: string
  /** Tokens of the file. */
  readonly tokens: number
}

/** The caller's way to a model. */
export type SummarizeFile = (
  request: FileSummaryRequest,
  options: { readonly signal: AbortSignal },
) => Promise<string | { readonly text: string }>

/** Why there is no summary: the call failed, took too long, or answered no text. */
export type AskFailure = 'FAILED' | 'TIMEOUT' | 'EMPTY'

type Answer = { readonly text: string } | { readonly failure: AskFailure | 'ABORTED' }

/**
 * Asks once, for at most `timeoutMs` milliseconds and as long as `signal` allows. A function that does not heed
 * its own signal is left behind. Never rejects.
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
    // Whatever it threw may quote the file; that it failed is all that is told.
    return { failure: 'FAILED' }
  }
}
