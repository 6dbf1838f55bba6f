import { z } from 'zod'

/** The unit of a length: UTF-16 units (default), or UTF-8 bytes as in the Rust originals. */
const LENGTH_UNITS = ['utf16', 'utf8'] as const
/** The unit in which an estimator measures text. */
export type LengthUnit = (typeof LENGTH_UNITS)[number]

export const lengthUnitSchema = z.enum(LENGTH_UNITS)

/** Returns the length of a text in UTF-16 units or UTF-8 bytes. A lone surrogate counts as three bytes, like its replacement. */
export function lengthIn(text: string, unit: LengthUnit): number {
  return unit === 'utf16' ? text.length : Buffer.byteLength(text, 'utf8')
}

/** The fields of every estimator that are numbers of tokens, not negative. */
const FIGURES = ['mediaTokens', 'tokensPerMessage', 'tokensPerConversation'] as const

/** An estimator as an argument. */
export const estimatorSchema = z.custom<Estimator>(
  isEstimator,
  `must be an estimator: { name, measureText, toTokens, ${FIGURES.join(', ')} }`,
)

/** Returns whether a value has all fields of an estimator. A missing figure would turn all sums into NaN. */
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

/** The kind of a measured text: some estimators have different rules for different kinds. */
export type TextKind = 'text' | 'reasoning' | 'toolCall' | 'toolResult'

/**
 * A named way of counting. It measures text once, when a message is appended, in its own units; tokens for a provider are computed from
 * sums of units. A session stores the name of its estimator. Sizes are additive over the parts of a message: the size of a part depends
 * only on the part.
 */
export interface Estimator {
  readonly name: string
  /** Returns the units of a text: a whole number, not negative, 0 for the empty text. Default `kind`: 'text'. */
  measureText(text: string, kind?: TextKind): number
  /** Tokens of an image, for all providers. */
  readonly mediaTokens: number
  /** Tokens of a binary file or a document, for all providers. Default: `mediaTokens`. */
  readonly fileTokens?: number
  /** Units for the framing of one tool call, apart from its name and input. Default 0. */
  readonly unitsPerCall?: number
  /** The approximate number of units per token. Default 1. */
  readonly unitsPerToken?: number
  /** Returns the tokens of a text measured as `units`, for a provider: a whole number, monotonic in `units`. */
  toTokens(units: number, provider?: string): number
  readonly tokensPerMessage: number
  readonly tokensPerConversation: number
}
