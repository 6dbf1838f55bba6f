import { canonicalProvider } from '../providers.ts'

/**
 * How many tokens a provider's tokenizer makes of a text where o200k makes one. `anthropic` (and `bedrock`, which is
 * asked for the same models most): fitted so that the median error of `calibrated` against the input tokens the provider
 * reported in a real coding session (Claude Opus 4.5, 471 answers) is within 1 %; by kind of content it was 1.2 for prose,
 * 1.26 for tool results, 1.0 for the JSON of tool calls, 1.4 for reasoning. All others: the multipliers of seed 003,
 * which are relative to openai too; no better sourced figures were found.
 */
const FACTORS: ReadonlyMap<string, number> = new Map([
  ['anthropic', 1.21],
  ['bedrock', 1.21],
  ['google-ai', 1.18],
  ['vertex', 1.18],
  ['mistral', 1.26],
])

/** Tokens of a provider, by any of its names, for one of o200k, without a margin; 1 for an unknown provider or none. */
export function providerFactor(provider?: string): number {
  return provider === undefined ? 1 : (FACTORS.get(canonicalProvider(provider)) ?? 1)
}

/** Tokens of framing per message in OpenAI's chat form: three, and the role's one. Source: OpenAI's cookbook on counting tokens. */
export const CHAT_TOKENS_PER_MESSAGE = 4
/** Tokens that prime the answer. Source: the same. */
export const CHAT_TOKENS_PER_CONVERSATION = 3
/** Tokens around one tool call besides name and input: with the factor above it fits the session named there best. */
export const CHAT_TOKENS_PER_CALL = 12
