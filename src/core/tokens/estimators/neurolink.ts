import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check, readable } from '../../messages/check.ts'
import { jsonTextOrNone } from '../../messages/json.ts'
import { canonicalProvider } from '../providers.ts'
import type { Estimator } from './estimator-schema.ts'

/**
 * Tokens of a provider's tokenizer per token of o200k. `anthropic` (and `bedrock`, which mostly serves the same models): fitted so that the
 * median error of `calibrated` against the reported input tokens of a real coding session (Claude Opus 4.5, 471 answers) is within 1 %;
 * by kind of content the factor was 1.2 for prose, 1.26 for tool results, 1.0 for the JSON of tool calls, 1.4 for reasoning. All other
 * providers have NeuroLink's multipliers, which are relative to openai too; no better sourced figures were found.
 */
const FACTORS: ReadonlyMap<string, number> = new Map([
  ['anthropic', 1.21],
  ['bedrock', 1.21],
  ['google-ai', 1.18],
  ['vertex', 1.18],
  ['mistral', 1.26],
])

/** Returns the tokens of a provider, by any of its names, per token of o200k, without a margin; 1 for an unknown provider or none. */
export function providerFactor(provider?: string): number {
  return provider === undefined ? 1 : (FACTORS.get(canonicalProvider(provider)) ?? 1)
}

/** Tokens of framing per message in OpenAI's chat format: three, and one for the role (OpenAI's cookbook on counting tokens). */
export const CHAT_TOKENS_PER_MESSAGE = 4
/** Tokens that prime the answer (from the same source). */
export const CHAT_TOKENS_PER_CONVERSATION = 3
/** Tokens of a tool call apart from name and input: with the factor above, the best fit for the same session. */
export const CHAT_TOKENS_PER_CALL = 12

/** Characters that are read in each of three places: the beginning, the middle, the end. */
const WINDOW = 1_024
/**
 * The minimum share of code signs in code. Of 100 windows, it recognizes 82 to 98 as code in source files, and 0 to 9 in translated
 * manuals and messages.
 */
const MIN_CODE_SHARE = 0.04

/** Signs that are rare in prose. */
const signs = new Uint8Array(128)
for (const sign of '{}[]<>=_\\|&*$#+@') signs[sign.charCodeAt(0)] = 1

/**
 * Returns whether a text looks like source code, JSON or markup. Reads at most 3,072 characters, so the cost doesn't depend on the
 * length. The result is a guess: prose full of links or tables may pass for code, and sparse code for prose.
 */
export function looksLikeCode(text: string): boolean {
  return readable('looksLikeCode', () => {
    const { length } = text
    const starts = length <= 3 * WINDOW ? [0] : [0, (length - WINDOW) >> 1, length - WINDOW]
    const size = length <= 3 * WINDOW ? length : WINDOW
    let found = 0
    let seen = 0
    for (const start of starts) {
      let before = 0x20
      for (let at = start; at < start + size; at++) {
        const unit = text.charCodeAt(at)
        if (unit > 0x20) {
          seen++
          if (unit < 128 && (signs[unit] === 1 || isCodeSign(text, at, unit, before))) found++
        }
        before = unit
      }
    }
    return seen > 0 && found / seen >= MIN_CODE_SHARE
  })
}

/**
 * Returns whether a sign that also occurs in prose is in a place typical of code: a bracket right after a word, a semicolon at the end of
 * a line, quotes around a key.
 */
function isCodeSign(text: string, at: number, unit: number, before: number): boolean {
  if (unit === 0x28) return before > 0x20
  if (unit === 0x3b) return !(text.charCodeAt(at + 1) > 0x0d)
  return unit === 0x22 && (before === 0x3a || before === 0x2c || text.charCodeAt(at + 1) === 0x3a)
}

/** Characters (UTF-16 units) per token of ordinary text. */
export const CHARS_PER_TOKEN = 4
/** Characters per token of code. */
export const CODE_CHARS_PER_TOKEN = 3
/** The margin against underestimating. */
export const TOKEN_SAFETY_MARGIN = 1.15
/** The margin in later versions, added as a share of the base. */
export const ADDITIVE_SAFETY_MARGIN = 0.05
/** Tokens of framing per message. */
export const TOKENS_PER_MESSAGE = 4
/** Tokens of framing per conversation. */
export const TOKENS_PER_CONVERSATION = 24
/** Tokens of an image; binary files count the same. */
export const IMAGE_TOKEN_ESTIMATE = 1024

/** Tokens of a provider's tokenizer relative to OpenAI's for the same text. */
const PROVIDER_MULTIPLIERS: ReadonlyMap<string, number> = new Map([
  ['anthropic', 1.23],
  ['google-ai', 1.18],
  ['vertex', 1.18],
  ['mistral', 1.26],
  ['openai', 1],
  ['azure', 1],
  ['bedrock', 1.23],
  ['ollama', 1],
  ['litellm', 1],
  ['huggingface', 1],
  ['sagemaker', 1],
])

/** Returns a provider's multiplier, by its exact name; 1 for an unknown provider or none. */
export function getProviderMultiplier(provider?: string): number {
  return provider === undefined ? 1 : (PROVIDER_MULTIPLIERS.get(provider) ?? 1)
}

/**
 * How the margin is applied: `multiplicative`, base × multiplier × 1.15, or `additive`, base × multiplier + base × 0.05 (later versions of
 * NeuroLink).
 */
export const MARGIN_MODES = ['multiplicative', 'additive'] as const
/** How a provider's safety margin is applied. */
export type MarginMode = (typeof MARGIN_MODES)[number]

function withMargin(base: number, provider: string | undefined, mode: MarginMode): number {
  const multiplier = getProviderMultiplier(provider)
  return mode === 'additive'
    ? Math.ceil(base * multiplier + base * ADDITIVE_SAFETY_MARGIN)
    : Math.ceil(base * multiplier * TOKEN_SAFETY_MARGIN)
}

function estimatorOf(name: string, mode: MarginMode): Estimator {
  return {
    name,
    measureText: (text) => Math.ceil(text.length / CHARS_PER_TOKEN),
    mediaTokens: IMAGE_TOKEN_ESTIMATE,
    toTokens: (units, provider) => withMargin(units, provider, mode),
    tokensPerMessage: TOKENS_PER_MESSAGE,
    tokensPerConversation: TOKENS_PER_CONVERSATION,
  }
}

/**
 * The default estimator of the functions for plain arrays (the default of stores is `calibrated`): NeuroLink's formula, ceil(ceil(length
 * / 4) × multiplier × 1.15), with multiplication and rounding once per list instead of once per message.
 */
export const neurolinkEstimator: Estimator = estimatorOf('neurolink', 'multiplicative')

/** NeuroLink's estimator with the margin of later versions. */
export const neurolinkAdditiveEstimator: Estimator = estimatorOf('neurolink-additive', 'additive')

const tokenOptionsSchema = z.strictObject({ marginMode: z.enum(MARGIN_MODES).default('multiplicative') })
const USUAL = {}
const SEED_MARGIN = { marginMode: 'multiplicative' } as const
const isCodeSchema = z.union([z.boolean(), z.literal('auto')])

/**
 * Returns the tokens of a text: ceil(ceil(length / c) × multiplier × 1.15), where c is 4, or 3 for code. `isCode: 'auto'` calls
 * `looksLikeCode`. Throws `INVALID_INPUT`.
 */
export function estimateTokens(
  text: string,
  provider?: string,
  isCode: boolean | 'auto' = false,
  options: z.input<typeof tokenOptionsSchema> = USUAL,
): number {
  if (typeof text !== 'string') throw invalid('estimateTokens: text must be a string')
  // The common call avoids zod.
  const { marginMode } =
    options === USUAL ? SEED_MARGIN : check(tokenOptionsSchema, options, 'estimateTokens')
  const code = isCode === false ? false : check(isCodeSchema, isCode, 'estimateTokens: isCode')
  const perToken =
    code === true || (code === 'auto' && looksLikeCode(text)) ? CODE_CHARS_PER_TOKEN : CHARS_PER_TOKEN
  return withMargin(Math.ceil(text.length / perToken), provider, marginMode)
}

/** Tokens of a tool that JSON cannot represent. */
const UNSERIALIZABLE_TOOL_TOKENS = 200

/**
 * Returns the tokens of one tool definition: `textTokens` of its JSON, or 200 if JSON cannot represent it. Default: ceil(length / 4) for
 * every provider.
 */
export function estimateToolDefinition(
  tool: unknown,
  textTokens: (json: string) => number = (json) => Math.ceil(json.length / CHARS_PER_TOKEN),
): number {
  const json = jsonTextOrNone(tool)
  return json === undefined ? UNSERIALIZABLE_TOOL_TOKENS : textTokens(json)
}
