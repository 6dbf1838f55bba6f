import { errorName } from '../../errors.ts'

/*
 * Classifies a failed call of a model by the fields that the AI SDK, the providers' own clients and fetch give their errors. Only the
 * kind of an error is kept: its message, headers and body can contain keys and conversation text.
 */

/** A longer retry-after than this is ignored, milliseconds, as in the AI SDK. */
const MAX_WAIT_MS = 60_000
/** The factor between two waits, as in the AI SDK. */
const BACKOFF = 2
/** The maximum depth of nested errors. */
const MAX_DEPTH = 5

/** The names of the AI SDK's errors, without `AI_`. */
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
  // A model id without a provider goes to Vercel's gateway; the AI SDK reports its missing key in these words.
  ['GatewayAuthenticationError', 'NO_API_KEY'],
  ['GatewayError', 'NO_API_KEY'],
  ['UnsupportedModelVersionError', 'MODEL_UNSUPPORTED'],
  ['AbortError', 'ABORTED'],
])

type Fields = { readonly [field: string]: unknown }

/**
 * The kind of a failed call: `HTTP_429` and the like, `CONNECTION_FAILED`, `INVALID_RESPONSE` (a success with an unreadable body),
 * `MODEL_UNKNOWN`, `NO_API_KEY`, `MODEL_UNSUPPORTED` (a model of another version of the AI SDK), `ABORTED`, else the error's name.
 */
export function callFailure(error: unknown): string {
  try {
    return nameOf(innermost(error))
  } catch {
    // A getter or a proxy can throw.
    return 'Error'
  }
}

function nameOf(error: unknown): string {
  const status = statusOf(error)
  if (status !== undefined) return status < 300 ? 'INVALID_RESPONSE' : `HTTP_${status}`
  if (isConnectionLost(error)) return 'CONNECTION_FAILED'
  const { name } = errorFields(error)
  return (typeof name === 'string' && NAMES.get(name.replace(/^AI_/, ''))) || errorName(error)
}

/** Whether a call may be repeated: the error's own statement, else its status, else a lost connection. */
export function mayRetry(error: unknown): boolean {
  const { isRetryable } = errorFields(error)
  if (typeof isRetryable === 'boolean') return isRetryable
  const status = statusOf(error)
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500
  return isConnectionLost(error)
}

/** The wait before the next call, milliseconds: the server's request, else longer each time. `now`: milliseconds since 1970. */
export function waitBefore(error: unknown, attempt: number, firstWaitMs: number, now: number): number {
  const asked = retryAfter(error, now)
  if (asked !== undefined && asked >= 0 && asked <= MAX_WAIT_MS) return asked
  return Math.min(MAX_WAIT_MS, firstWaitMs * BACKOFF ** attempt)
}

function retryAfter(error: unknown, now: number): number | undefined {
  const { responseHeaders, headers } = errorFields(error)
  const header = (name: string): string | undefined => {
    for (const some of [responseHeaders, headers]) {
      if (some instanceof Headers) return some.get(name) ?? undefined
      const value = errorFields(some)[name]
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
  return Number.isNaN(date) ? undefined : date - now
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : undefined
}

/** The last error inside the error that a client throws after its retries. */
function innermost(error: unknown): unknown {
  let inner = error
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const { lastError } = errorFields(inner)
    if (lastError === undefined || lastError === null) break
    inner = lastError
  }
  return inner
}

function statusOf(error: unknown): number | undefined {
  const { statusCode, status } = errorFields(error)
  return [statusCode, status].find(
    (some): some is number => Number.isInteger(some) && (some as number) >= 100 && (some as number) < 1_000,
  )
}

/** Codes of Node's sockets and of undici, on the error or on its cause. */
function isConnectionLost(error: unknown): boolean {
  let some = error
  for (let depth = 0; depth < MAX_DEPTH && typeof some === 'object' && some !== null; depth++) {
    const { code, cause } = errorFields(some)
    if (typeof code === 'string' && /^(?:E[A-Z]{3,20}|UND_ERR_[A-Z_]{1,40})$/.test(code)) return true
    some = cause
  }
  return error instanceof TypeError && (error.message === 'fetch failed' || error.message === 'terminated')
}

function errorFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
