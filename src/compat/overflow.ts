import { readError } from '../core/overflow/error-texts.ts'
import { type OverflowOptions, readOverflow, textOf } from '../core/overflow/read-overflow.ts'

/** The figures of an overflow error in tokens, and its provider. Only figures of the error are present. */
export type ProviderOverflowDetails = {
  readonly provider: string | null
  /** The sent size, including the requested answer when the provider counts it. */
  readonly actualTokens?: number
  /** The limit. */
  readonly budgetTokens?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly excessTokens?: number
  readonly limitKind?: 'window' | 'input'
}

/** Whether an error means that the request was too long: whether `readOverflow` returns a reading. Throws `INVALID_INPUT` for invalid options. */
export function isContextOverflowError(error: unknown, options?: OverflowOptions): boolean {
  return readOverflow(error, options) !== undefined
}

/** The provider of an overflow error; `null` for other errors and for wordings of no particular provider. Throws like `readOverflow`. */
export function getContextOverflowProvider(error: unknown, options?: OverflowOptions): string | null {
  return readOverflow(error, options)?.provider ?? null
}

/** The figures of an overflow error; `null` when it has none, and for other errors. Throws like `readOverflow`. */
export function parseProviderOverflowDetails(
  error: unknown,
  options?: OverflowOptions,
): ProviderOverflowDetails | null {
  const reading = readOverflow(error, options)
  if (reading === undefined) return null
  const { kind: _kind, message: _message, provider, tokens, limit, ...figures } = reading
  const details = {
    ...(tokens !== undefined && { actualTokens: tokens }),
    ...(limit !== undefined && { budgetTokens: limit }),
    ...figures,
  }
  return Object.keys(details).length === 0 ? null : { provider, ...details }
}

/**
 * Returns the outermost text of any error, for people. A text is returned unchanged; objects are searched in the order `message`,
 * `error` and its fields, bodies, lists, causes. `null` when there is none. Never throws.
 */
export function extractErrorMessage(error: unknown): string | null {
  if (typeof error === 'string') return error.trim() === '' ? null : error
  return textOf(readError(error))
}
