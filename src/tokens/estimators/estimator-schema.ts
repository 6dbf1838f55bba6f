import { z } from 'zod'

/** What a length is counted in: UTF-16 units (default, checklist C-21), or the UTF-8 bytes the Rust originals count. */
const LENGTH_UNITS = ['utf16', 'utf8'] as const
export type LengthUnit = (typeof LENGTH_UNITS)[number]

export const lengthUnitSchema = z.enum(LENGTH_UNITS)

/** The length of a text in UTF-16 units or UTF-8 bytes. A lone surrogate is three bytes, as its replacement is. */
export function lengthIn(text: string, unit: LengthUnit): number {
  return unit === 'utf16' ? text.length : Buffer.byteLength(text, 'utf8')
}

/** Figures every estimator has: tokens, not negative. */
const FIGURES = ['mediaTokens', 'tokensPerMessage', 'tokensPerConversation'] as const

/** An estimator, wherever one can be handed in. */
export const estimatorSchema = z.custom<Estimator>(
  isEstimator,
  `must be an estimator: { name, measureText, toTokens, ${FIGURES.join(', ')} }`,
)

/** Whether a value has what every estimator has. A figure that is missing would make all others NaN. */
export function isEstimator(value: unknown): value is Estimator {
  if (typeof value !== 'object' || value === null) return false
  const { name, measureText, toTokens } = value as Partial<Estimator>
  return (
    typeof name === 'string' &&
    typeof measureText === 'function' &&
    typeof toTokens === 'function' &&
    FIGURES.every((figure) => isFigure((value as Partial<Estimator>)[figure]))
  )
}

function isFigure(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** What a measured text is: some estimators count them by different rules. */
export type TextKind = 'text' | 'reasoning' | 'toolCall' | 'toolResult'

/**
 * A way of counting, by name. It measures text once, when a message is appended, in its own units; figures
 * for a provider are made from sums of them. A session keeps the name of the one it was counted with.
 * Sizes add up over the parts of a message: what a part measures depends on nothing outside it.
 */
export interface Estimator {
  readonly name: string
  /** Units of a text; whole, not negative, 0 for the empty text. `kind` is 'text' when it is not given. */
  measureText(text: string, kind?: TextKind): number
  /** Tokens of an image, for all providers. */
  readonly mediaTokens: number
  /** Tokens of a binary file or a document, for all providers. Default: as an image. */
  readonly fileTokens?: number
  /** Units of the framing of one tool call, besides its name and input. Default 0. */
  readonly unitsPerCall?: number
  /** How many units make about one token. Default 1. */
  readonly unitsPerToken?: number
  /** Tokens of a text measured as `units`, for a provider. Whole, monotonic in `units`. */
  toTokens(units: number, provider?: string): number
  readonly tokensPerMessage: number
  readonly tokensPerConversation: number
}
