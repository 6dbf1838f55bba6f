import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check } from '../../messages/check.ts'
import { type Estimator, type LengthUnit, lengthIn, lengthUnitSchema } from './estimator-schema.ts'

/** The usage, in percent of the target, at which a warning is due. */
export const NCA_ATTENTION_PERCENT = 80

const configSchema = z.strictObject({
  /** The target size of the context, in tokens; 0 counts as 1. */
  contextWindowTarget: z.int().nonnegative().default(32_000),
  /** The percentage of the target at which a summary is due. */
  autoSummarizeThreshold: z.int().min(0).max(100).default(75),
  enableAutoSummarize: z.boolean().default(true),
})
/** Limits of the statistics of nca. */
export type NcaStatsConfig = z.input<typeof configSchema>

/** The usage of a context, by the rules of `nca`. */
export type NcaStats = {
  readonly contextWindow: number
  /** The estimated tokens, by the rules of `nca`. */
  readonly estimatedTokens: number
  readonly messageCount: number
  /** The usage in percent of the target, a whole number, at most 100. */
  readonly usagePercent: number
  readonly needsAttention: boolean
  readonly shouldSummarize: boolean
  /** Whether a warning or a summary is due. */
  readonly needsCompaction: boolean
}

/** Returns the usage of the context (defaults: 32,000 tokens and 75 percent). Throws `INVALID_INPUT`. */
export function ncaContextStats(messages: readonly NcaMessage[], config: NcaStatsConfig = {}): NcaStats {
  const checked = check(configSchema, config, 'ncaContextStats')
  const contextWindow = Math.max(1, checked.contextWindowTarget)
  const estimatedTokens = estimateNcaMessages(messages)
  const usagePercent = Math.floor(Math.min(100, (estimatedTokens * 100) / contextWindow))
  const needsAttention = usagePercent >= NCA_ATTENTION_PERCENT
  const shouldSummarize = checked.enableAutoSummarize && usagePercent >= checked.autoSummarizeThreshold
  return {
    contextWindow,
    estimatedTokens,
    messageCount: messages.length,
    usagePercent,
    needsAttention,
    shouldSummarize,
    needsCompaction: needsAttention || shouldSummarize,
  }
}

/** Characters per token, for a tool's message and for any other message. */
const TOOL_CHARS_PER_TOKEN = 3.5
const CHARS_PER_TOKEN = 4
/** Tokens for a message's framing and for one tool call, whatever its content. */
const TOKENS_PER_MESSAGE = 10
const TOKENS_PER_CALL = 50
/** Characters that an image adds to its path. */
const IMAGE_CHARS = 512
/** Units per token that make both divisors whole: 28 / 4 = 7 and 28 / 3.5 = 8 per character. */
const UNITS_PER_TOKEN = 28

/** A message in the format of nca; a part is a text or an image with its path. */
export type NcaMessage = {
  readonly role: string
  readonly content: string | readonly { readonly type: string; readonly [field: string]: unknown }[]
  readonly tool_calls?: readonly unknown[]
}

const optionsSchema = z.strictObject({
  /** The unit of a character: a UTF-16 unit (default) or a UTF-8 byte, as in the Rust original. */
  unit: lengthUnitSchema.default('utf16'),
})
/** Options of the estimator of nca. */
export type NcaOptions = z.input<typeof optionsSchema>

/** Returns the tokens of one message: floor(characters / divisor) + 50 per call + 10. Throws `INVALID_INPUT`. */
export function estimateNcaTokens(message: NcaMessage, options: NcaOptions = {}): number {
  const { unit } = check(optionsSchema, options, 'estimateNcaTokens')
  if (typeof message !== 'object' || message === null)
    throw invalid('estimateNcaTokens: a message must be an object')
  const { role, content, tool_calls } = message
  let characters = 0
  if (typeof content === 'string') characters = lengthIn(content, unit)
  else if (Array.isArray(content))
    for (const part of content as Exclude<NcaMessage['content'], string>) {
      if (typeof part.text === 'string') characters += lengthIn(part.text, unit)
      if (part.type !== 'image') continue
      characters += IMAGE_CHARS + (typeof part.path === 'string' ? lengthIn(part.path, unit) : 0)
    }
  const divisor = role === 'tool' ? TOOL_CHARS_PER_TOKEN : CHARS_PER_TOKEN
  const calls = Array.isArray(tool_calls) ? tool_calls.length : 0
  return Math.floor(characters / divisor) + calls * TOKENS_PER_CALL + TOKENS_PER_MESSAGE
}

/** Returns the tokens of a list: the sum over its messages. */
export function estimateNcaMessages(messages: readonly NcaMessage[], options: NcaOptions = {}): number {
  if (!Array.isArray(messages)) throw invalid('estimateNcaMessages: messages must be an array')
  return (messages as readonly NcaMessage[]).reduce(
    (sum, message) => sum + estimateNcaTokens(message, options),
    0,
  )
}

/**
 * Returns nca's estimator for a store: `nca`, or `nca-bytes` with UTF-8 bytes. It rounds down once per list instead of once per message,
 * so it is never below `estimateNcaMessages`, and above it by less than a token per message. Paths of images and contents of calls don't
 * count. The provider is ignored.
 */
function estimatorOf(name: string, unit: LengthUnit): Estimator {
  return {
    name,
    measureText: (text, kind) =>
      kind === 'toolCall'
        ? 0
        : (lengthIn(text, unit) * UNITS_PER_TOKEN) /
          (kind === 'toolResult' ? TOOL_CHARS_PER_TOKEN : CHARS_PER_TOKEN),
    mediaTokens: IMAGE_CHARS / CHARS_PER_TOKEN,
    unitsPerCall: TOKENS_PER_CALL * UNITS_PER_TOKEN,
    unitsPerToken: UNITS_PER_TOKEN,
    toTokens: (units) => Math.floor(units / UNITS_PER_TOKEN),
    tokensPerMessage: TOKENS_PER_MESSAGE,
    tokensPerConversation: 0,
  }
}

/** nca's estimator for a store, rounded down once per list. Lengths are in UTF-16 units. */
export const ncaEstimator: Estimator = estimatorOf('nca', 'utf16')
/** nca's estimator with lengths in UTF-8 bytes, as in the Rust original. */
export const ncaBytesEstimator: Estimator = estimatorOf('nca-bytes', 'utf8')
