import { errorName } from '../../errors.ts'

/*
 * What went wrong with a call of a model, told by the fields that the AI SDK, the providers' own clients and fetch give their errors.
 * Nothing of an error is kept but its kind: its words, headers and bodies hold keys and conversations.
 */

/** Longest wait that a server's retry-after is heeded for, milliseconds. Source: the AI SDK does the same. */
const MOST_WAIT_MS = 60_000
/** Waits grow by this factor. Source: the AI SDK does the same. */
const BACKOFF = 2
/** Errors within errors are looked at this deep. */
const MOST_DEPTH = 5

/** Names of the AI SDK's errors, without their `AI_`. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['APICallError', 'CONNECTION_FAILED'],
  ['JSONParseError', 'INVALID_RESPONSE'],
  ['TypeValidationError', 'INVALID_RESPONSE'],
  ['InvalidResponseDataError', 'INVALID_RESPONSE'],
  ['EmptyResponseBodyError', 'INVALID_RESPONSE'],
  ['NoContentGeneratedError', 'INVALID_RESPONSE'],
  ['NoSuchModelError', 'MODEL_UNKNOWN'],
  ['NoSuchProviderError', 'MODEL_UNKNOWN'],
  ['LoadAPIKeyError', 'NO_API_KEY'],
  // A model's id without a provider goes to Vercel's gateway; the AI SDK tells of a missing key in these words.
  ['GatewayAuthenticationError', 'NO_API_KEY'],
  ['GatewayError', 'NO_API_KEY'],
  ['UnsupportedModelVersionError', 'MODEL_UNSUPPORTED'],
  ['AbortError', 'ABORTED'],
])

type Fields = { readonly [field: string]: unknown }

/**
 * What a failed call is called: `HTTP_429` and the like, `CONNECTION_FAILED`, `INVALID_RESPONSE` (the server said yes, and something
 * nobody can read), `MODEL_UNKNOWN`, `NO_API_KEY`, `MODEL_UNSUPPORTED` (a model of another version of the AI SDK), `ABORTED`, else the error's name.
 */
export function callFailure(error: unknown): string {
  try {
    return nameOf(innermost(error))
  } catch {
    // Even asking can throw.
    return 'Error'
  }
}

function nameOf(error: unknown): string {
  const status = statusOf(error)
  if (status !== undefined) return status < 300 ? 'INVALID_RESPONSE' : `HTTP_${status}`
  if (isConnectionLost(error)) return 'CONNECTION_FAILED'
  const { name } = fieldsOf(error)
  return (typeof name === 'string' && NAMES.get(name.replace(/^AI_/, ''))) || errorName(error)
}

/** Whether a call may be made again: what the error says of itself, else its status, else a connection that was lost. */
export function mayRetry(error: unknown): boolean {
  const { isRetryable } = fieldsOf(error)
  if (typeof isRetryable === 'boolean') return isRetryable
  const status = statusOf(error)
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500
  return isConnectionLost(error)
}

/** How long to wait before the next call, milliseconds: what the server asks for, else longer each time. */
export function waitBefore(error: unknown, attempt: number, firstWaitMs: number): number {
  const asked = retryAfter(error)
  if (asked !== undefined && asked >= 0 && asked <= MOST_WAIT_MS) return asked
  return Math.min(MOST_WAIT_MS, firstWaitMs * BACKOFF ** attempt)
}

function retryAfter(error: unknown): number | undefined {
  const { responseHeaders, headers } = fieldsOf(error)
  const header = (name: string): string | undefined => {
    for (const some of [responseHeaders, headers]) {
      if (some instanceof Headers) return some.get(name) ?? undefined
      const value = fieldsOf(some)[name]
      if (typeof value === 'string') return value
    }
    return undefined
  }
  const ms = numberIn(header('retry-after-ms'))
  if (ms !== undefined) return ms
  const after = header('retry-after')
  const seconds = numberIn(after)
  if (seconds !== undefined) return seconds * 1_000
  const date = after === undefined ? Number.NaN : Date.parse(after)
  return Number.isNaN(date) ? undefined : date - Date.now()
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : undefined
}

/** The error that a give-up after retries tells of. */
function innermost(error: unknown): unknown {
  let inner = error
  for (let depth = 0; depth < MOST_DEPTH; depth++) {
    const { lastError } = fieldsOf(inner)
    if (lastError === undefined || lastError === null) break
    inner = lastError
  }
  return inner
}

function statusOf(error: unknown): number | undefined {
  const { statusCode, status } = fieldsOf(error)
  return [statusCode, status].find(
    (some): some is number => Number.isInteger(some) && (some as number) >= 100 && (some as number) < 1_000,
  )
}

/** Codes of Node's sockets and of undici, on the error or on what caused it. */
function isConnectionLost(error: unknown): boolean {
  let some = error
  for (let depth = 0; depth < MOST_DEPTH && typeof some === 'object' && some !== null; depth++) {
    const { code, cause } = fieldsOf(some)
    if (typeof code === 'string' && /^(?:E[A-Z]{3,20}|UND_ERR_[A-Z_]{1,40})$/.test(code)) return true
    some = cause
  }
  return error instanceof TypeError && (error.message === 'fetch failed' || error.message === 'terminated')
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
