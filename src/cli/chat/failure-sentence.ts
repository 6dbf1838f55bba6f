import { isContextOverflowError } from '../../overflow/overflow.ts'
import { callFailure } from '../../summarizers/model/call-failure.ts'
import { MOST_WORDS, ServerError, withoutKey } from './backends/server-error.ts'

/** What went wrong with a call of a model, as one sentence for the person at the terminal; nothing of it is stored. */
export function failureSentence(error: unknown, title: string): string {
  const code = callFailure(error)
  const words = wordsOf(error)
  if (isContextOverflowError(error)) return `${title} refused the request as too long: ${words}`
  if (code === 'CONNECTION_FAILED' && !(error instanceof ServerError))
    return `${title} cannot be reached${reasonOf(error)}.`
  if (code === 'NO_API_KEY') return `There is no API key for ${title}: ${words}`
  const status = /^HTTP_(\d+)$/.exec(code)?.[1]
  if (status === '401' || status === '403')
    return `${title} does not accept the API key (status ${status}): ${words}`
  if (status === '404') return `${title} does not know the model or the address (status 404): ${words}`
  if (status === '429') return `${title} asks to wait, or a limit is used up (status 429): ${words}`
  if (status !== undefined) return `${title} answered with status ${status}: ${words}`
  return `${title} failed: ${words}`
}

function wordsOf(error: unknown): string {
  // What a stream tells of an error comes from the AI SDK as the provider wrote it: a text, or an object with a message.
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly message?: unknown
  }
  const words = typeof message === 'string' ? message : typeof error === 'string' ? error : ''
  return withoutKey(words).trim().slice(0, MOST_WORDS) || 'no reason given'
}

/** The system's word for it: ECONNREFUSED, ENOTFOUND. */
function reasonOf(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: { readonly code?: unknown } }
  return typeof cause?.code === 'string' && /^[A-Z_]{2,40}$/.test(cause.code) ? ` (${cause.code})` : ''
}
