/*
 * Errors as the libraries throw them, built by hand: their fields, without the libraries. `requestBodyValues`
 * always quotes an overflow, because a conversation may, and nobody must look there.
 */

const QUOTED = 'prompt is too long: 999999 tokens > 888888 maximum (context_length_exceeded)'

/** AI SDK's APICallError. */
export function apiCallError(
  url: string,
  statusCode: number,
  body: unknown,
  message = (body as { error?: { message?: string } })?.error?.message ?? 'Bad Request',
): Error {
  return Object.assign(new Error(message), {
    name: 'AI_APICallError',
    url,
    statusCode,
    requestBodyValues: { model: 'gpt-4-32k', messages: [{ role: 'user', content: QUOTED }] },
    responseHeaders: { 'x-request-id': 'req_8192000' },
    responseBody: typeof body === 'string' ? body : JSON.stringify(body),
    data: typeof body === 'string' ? undefined : body,
    isRetryable: statusCode === 429 || statusCode >= 500,
  })
}

/** AI SDK's RetryError. */
export function retryError(...errors: readonly Error[]): Error {
  const lastError = errors.at(-1)
  return Object.assign(
    new Error(`Failed after ${errors.length} attempts. Last error: ${lastError?.message}`),
    {
      name: 'AI_RetryError',
      reason: 'maxRetriesExceeded',
      errors,
      lastError,
    },
  )
}

/** openai-node's APIError: the status and the inner error are spread over it. */
export function openaiError(
  status: number,
  error: { message: string; type?: string | null; code?: string | null; param?: string | null },
): Error {
  return Object.assign(new Error(`${status} ${error.message}`), {
    status,
    headers: { 'x-ratelimit-limit-tokens': '30000' },
    request_id: 'req_123456789',
    error,
    code: error.code ?? null,
    param: error.param ?? null,
    type: error.type ?? null,
  })
}

/** Anthropic's SDK: the body stands in the message too. */
export function anthropicError(status: number, type: string, message: string): Error {
  const body = { type: 'error', error: { type, message }, request_id: 'req_011CVjxiYzEFcAQC4Fk87zw2' }
  return Object.assign(new Error(`${status} ${JSON.stringify(body)}`), {
    status,
    headers: {},
    requestID: body.request_id,
    error: body,
  })
}

/** @google/genai's ApiError: the message is JSON. */
export function googleError(code: number, status: string, message: string): Error {
  return Object.assign(new Error(JSON.stringify({ error: { code, message, status } })), {
    name: 'ApiError',
    status: code,
  })
}

/** An exception of the AWS SDK. */
export function awsError(name: string, httpStatusCode: number, message: string): Error {
  return Object.assign(new Error(message), {
    name,
    $fault: httpStatusCode < 500 ? 'client' : 'server',
    $metadata: {
      httpStatusCode,
      requestId: '16fb0962-139d-4c70-ba9c-602d9630e854',
      attempts: 1,
      totalRetryDelay: 0,
    },
  })
}

/** Axios. */
export function axiosError(status: number, data: unknown): Error {
  return Object.assign(new Error(`Request failed with status code ${status}`), {
    name: 'AxiosError',
    code: status < 500 ? 'ERR_BAD_REQUEST' : 'ERR_BAD_RESPONSE',
    config: { data: JSON.stringify({ messages: [{ role: 'user', content: QUOTED }] }) },
    request: { body: QUOTED },
    response: { status, statusText: 'Bad Request', data, headers: {}, config: { data: QUOTED } },
  })
}
