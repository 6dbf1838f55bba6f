import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check } from '../../messages/check.ts'
import { type Estimator, type LengthUnit, lengthIn, lengthUnitSchema } from './estimator-schema.ts'

/** Usage, in percent of the target, at which a warning is due. Source: seed 004. */
export const NCA_ATTENTION_PERCENT = 80

const configSchema = z.strictObject({
  /** Tokens the context should not exceed; 0 counts as 1. */
  contextWindowTarget: z.int().nonnegative().default(32_000),
  /** Percent of the target at which summarizing is due. */
  autoSummarizeThreshold: z.int().min(0).max(100).default(75),
  enableAutoSummarize: z.boolean().default(true),
})
export type NcaStatsConfig = z.input<typeof configSchema>

/** How full a context is, in the manner of seed 004. */
export type NcaStats = {
  readonly contextWindow: number
  /** Tokens of `nca`. */
  readonly estimatedTokens: number
  readonly messageCount: number
  /** Of the target, whole, at most 100. */
  readonly usagePercent: number
  readonly needsAttention: boolean
  readonly shouldSummarize: boolean
  /** Either of them. */
  readonly needsCompaction: boolean
}

/** How full the context is. Throws `INVALID_INPUT`. Source: seed 004 (defaults 32,000 and 75), checklist S4-U01. */
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

/** Characters per token, of a tool's message and of any other. Source: seed 004. */
const TOOL_CHARS_PER_TOKEN = 3.5
const CHARS_PER_TOKEN = 4
/** Tokens of a message's framing and of one tool call, whatever it says. Source: seed 004. */
const TOKENS_PER_MESSAGE = 10
const TOKENS_PER_CALL = 50
/** Characters of an image besides its path. Source: checklist S4-U03. */
const IMAGE_CHARS = 512
/** Units in a token that make both divisors whole: 28 / 4 = 7 and 28 / 3.5 = 8 a character. */
const UNITS_PER_TOKEN = 28

/** A message in the form of seed 004; a part is a text or an image with its path. */
export type NcaMessage = {
  readonly role: string
  readonly content: string | readonly { readonly type: string; readonly [field: string]: unknown }[]
  readonly tool_calls?: readonly unknown[]
}

const optionsSchema = z.strictObject({
  /** What a character is: a UTF-16 unit (default) or a UTF-8 byte, as in the Rust original. */
  unit: lengthUnitSchema.default('utf16'),
})
export type NcaOptions = z.input<typeof optionsSchema>

/** Tokens of one message: floor(characters / divisor) + 50 a call + 10. Throws `INVALID_INPUT`. Source: seed 004. */
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

/** Tokens of a list: the sum over its messages. Source: seed 004. */
export function estimateNcaMessages(messages: readonly NcaMessage[], options: NcaOptions = {}): number {
  if (!Array.isArray(messages)) throw invalid('estimateNcaMessages: messages must be a list')
  return (messages as readonly NcaMessage[]).reduce(
    (sum, message) => sum + estimateNcaTokens(message, options),
    0,
  )
}

/**
 * The approximation of seed 004 for a store: `nca`, or `nca-bytes` with UTF-8 bytes. The fraction is dropped once per
 * list instead of once per message, so it is never below `estimateNcaMessages`, and above by less than a token a
 * message; paths of images are not counted. What calls say counts nothing. No provider makes a difference.
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

/** The estimator of seed 004 for a store: its rule, rounded down once a list. Lengths in UTF-16 units (conflict C-21). */
export const ncaEstimator: Estimator = estimatorOf('nca', 'utf16')
/** The same with lengths in bytes of UTF-8, as its real source has it. */
export const ncaBytesEstimator: Estimator = estimatorOf('nca-bytes', 'utf8')
