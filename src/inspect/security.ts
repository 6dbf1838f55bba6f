import { isUndertextError } from '../core/errors.ts'

/* What keeps the page and its data from other sites: the headers of every response, and the check of where a request comes from. */

/** Only the page's own script, style, images and calls; nothing inline, nothing evaluated, no frame. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** For stored content, which must not run even if it is opened alone. */
export const STORED_POLICY = "default-src 'none'; sandbox"

const HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const

type Body = ConstructorParameters<typeof Response>[0]
type HeaderValues = { readonly [name: string]: string }

/** Makes a response with the headers of all responses. Given headers replace them. */
export function respond(body: Body, headers: HeaderValues, status = 200): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers } })
}

/** Makes a response of plain text. */
export function plain(text: string, status: number, headers: HeaderValues = {}): Response {
  return respond(`${text}\n`, { 'content-type': 'text/plain; charset=utf-8', ...headers }, status)
}

/** Makes a response of JSON. */
export function json(value: unknown, status = 200): Response {
  return respond(JSON.stringify(value), { 'content-type': 'application/json' }, status)
}

/** A refusal of the handler itself. Like the errors of the store, it has a code for programs and a sentence for people. */
export class Refusal extends Error {
  readonly code: string
  readonly status: number

  constructor(code: string, status: number, message: string) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** The statuses of the store's errors; all others are conflicts with the state of the session. */
const STATUSES: { readonly [code: string]: number } = {
  INVALID_INPUT: 400,
  OWNER_REQUIRED: 400,
  STORE_READONLY: 403,
  ABORTED: 499,
  STORE_BUSY: 503,
  STORE_CLOSED: 503,
  STORE_UNAVAILABLE: 503,
  STORE_FULL: 507,
  STORE_CORRUPT: 500,
  INTERNAL_ERROR: 500,
}

/** Returns the answer to a call that failed. Only errors of this package are described, because others may quote a conversation. */
export function failed(error: unknown): Response {
  if (error instanceof Refusal)
    return json({ error: { code: error.code, message: error.message, facts: {} } }, error.status)
  if (!isUndertextError(error)) {
    const message = 'The server failed. Reload the page to see what holds now.'
    return json({ error: { code: 'INTERNAL', message, facts: {} } }, 500)
  }
  const { code, message, facts } = error
  const known = Object.hasOwn(STATUSES, code) ? STATUSES[code] : undefined
  return json({ error: { code, message, facts } }, known ?? (code.endsWith('_NOT_FOUND') ? 404 : 409))
}

/**
 * Returns whether a request comes from the page, as far as the browser says. Browsers send `Sec-Fetch-Site` to addresses that they trust,
 * such as loopback and HTTPS, and `Origin` with a POST. Programs send neither.
 */
export function isFromPage(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = request.headers.get('origin')
  if (origin === null) return true
  const host = request.headers.get('host') ?? new URL(request.url).host
  return hostOf(origin) === host.toLowerCase()
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}
