import { defined } from '../core/messages/json.ts'
import { readError } from '../core/overflow/error-texts.ts'
import { type OverflowOptions, readOverflow, textOf } from '../core/overflow/read-overflow.ts'

/** The figures in an overflow error, in tokens, and its provider. Only figures that the error contains are present. */
export type ProviderOverflowDetails = {
  readonly provider: string | null
  /** The size that was sent, including the requested answer if the provider counts it. */
  readonly actualTokens?: number
  /** The limit. */
  readonly budgetTokens?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly excessTokens?: number
  readonly limitKind?: 'window' | 'input'
}

/**
 * Returns whether an error means that the request was too long, that is, whether `readOverflow` returns a reading. Throws `INVALID_INPUT`
 * for invalid options.
 */
export function isContextOverflowError(error: unknown, options?: OverflowOptions): boolean {
  return readOverflow(error, options) !== undefined
}

/**
 * Returns the provider of an overflow error; `null` for other errors, and for wordings that don't identify a provider. Throws the same
 * errors as `readOverflow`.
 */
export function getContextOverflowProvider(error: unknown, options?: OverflowOptions): string | null {
  return readOverflow(error, options)?.provider ?? null
}

/** Returns the figures of an overflow error; `null` if it has none, and for other errors. Throws the same errors as `readOverflow`. */
export function parseProviderOverflowDetails(
  error: unknown,
  options?: OverflowOptions,
): ProviderOverflowDetails | null {
  const reading = readOverflow(error, options)
  if (reading === undefined) return null
  const { kind: _kind, message: _message, provider, tokens, limit, ...figures } = reading
  const details = { ...defined({ actualTokens: tokens, budgetTokens: limit }), ...figures }
  return Object.keys(details).length === 0 ? null : { provider, ...details }
}

/**
 * Returns the outermost human-readable text of any error; `null` if there is none. A text is returned unchanged; objects are searched in
 * the order `message`, `error` and its fields, bodies, lists, causes. Never throws.
 */
export function extractErrorMessage(error: unknown): string | null {
  if (typeof error === 'string') return error.trim() === '' ? null : error
  return textOf(readError(error))
}
