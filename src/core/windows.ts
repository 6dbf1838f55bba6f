/** Window of a model nobody told us of, tokens. Source: seed 003. */
export const DEFAULT_CONTEXT_WINDOW = 128_000
/** Most tokens kept free for the answer when the caller does not say. Source: seed 003. */
export const MAX_DEFAULT_OUTPUT_RESERVE = 64_000
/** Share of the window kept free for the answer when the caller does not say. Source: seed 003. */
export const DEFAULT_OUTPUT_RESERVE_RATIO = 0.35

/** Context windows in tokens, by provider and model; `_default` is the provider's own fallback. Source: seed 003. */
export const MODEL_CONTEXT_WINDOWS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  anthropic: {
    _default: 200_000,
    'claude-opus-4-20250514': 200_000,
    'claude-sonnet-4-20250514': 200_000,
    'claude-3-7-sonnet-20250219': 200_000,
    'claude-3-5-sonnet-20241022': 200_000,
    'claude-3-5-haiku-20241022': 200_000,
    'claude-3-opus-20240229': 200_000,
    'claude-3-sonnet-20240229': 200_000,
    'claude-3-haiku-20240307': 200_000,
  },
  openai: {
    _default: 128_000,
    'gpt-4o': 128_000,
    'gpt-4o-mini': 128_000,
    'gpt-4-turbo': 128_000,
    'gpt-4': 8_192,
    'gpt-3.5-turbo': 16_385,
    o1: 200_000,
    'o1-mini': 128_000,
    'o1-pro': 200_000,
    o3: 200_000,
    'o3-mini': 200_000,
    'o4-mini': 200_000,
    'gpt-4.1': 1_047_576,
    'gpt-4.1-mini': 1_047_576,
    'gpt-4.1-nano': 1_047_576,
    'gpt-5': 1_047_576,
  },
  'google-ai': {
    _default: 1_048_576,
    'gemini-2.5-pro': 1_048_576,
    'gemini-2.5-flash': 1_048_576,
    'gemini-2.0-flash': 1_048_576,
    'gemini-1.5-pro': 2_097_152,
    'gemini-1.5-flash': 1_048_576,
    'gemini-3-flash-preview': 1_048_576,
    'gemini-3-pro-preview': 1_048_576,
  },
  vertex: {
    _default: 1_048_576,
    'gemini-2.5-pro': 1_048_576,
    'gemini-2.5-flash': 1_048_576,
    'gemini-2.0-flash': 1_048_576,
    'gemini-1.5-pro': 2_097_152,
    'gemini-1.5-flash': 1_048_576,
  },
  bedrock: {
    _default: 200_000,
    'anthropic.claude-3-5-sonnet-20241022-v2:0': 200_000,
    'anthropic.claude-3-5-haiku-20241022-v1:0': 200_000,
    'anthropic.claude-3-opus-20240229-v1:0': 200_000,
    'anthropic.claude-3-sonnet-20240229-v1:0': 200_000,
    'anthropic.claude-3-haiku-20240307-v1:0': 200_000,
    'amazon.nova-pro-v1:0': 300_000,
    'amazon.nova-lite-v1:0': 300_000,
  },
  azure: {
    _default: 128_000,
    'gpt-4o': 128_000,
    'gpt-4o-mini': 128_000,
    'gpt-4-turbo': 128_000,
    'gpt-4': 8_192,
  },
  mistral: {
    _default: 128_000,
    'mistral-large-latest': 128_000,
    'mistral-medium-latest': 32_000,
    'mistral-small-latest': 128_000,
    'codestral-latest': 256_000,
  },
  ollama: { _default: 128_000 },
  litellm: { _default: 128_000 },
  huggingface: { _default: 32_000 },
  sagemaker: { _default: 128_000 },
}

/**
 * The context window of a model, tokens: its own entry, else the longest registered name it starts with (so
 * that `o1-mini-2024-09-12` is not taken for `o1`), else the provider's default, else 128,000.
 */
export function getContextWindowSize(provider: string, model?: string): number {
  if (!Object.hasOwn(MODEL_CONTEXT_WINDOWS, provider)) return DEFAULT_CONTEXT_WINDOW
  const models = MODEL_CONTEXT_WINDOWS[provider]!
  const fallback = models._default ?? DEFAULT_CONTEXT_WINDOW
  if (model === undefined || model === '_default') return fallback
  if (Object.hasOwn(models, model)) return models[model]!
  let longest = ''
  for (const name of Object.keys(models)) {
    if (name !== '_default' && name.length > longest.length && model.startsWith(name)) longest = name
  }
  return longest === '' ? fallback : models[longest]!
}

/** Tokens kept free for the answer: `maxTokens` when given, else 35 % of the window, at most 64,000. */
export function getOutputReserve(contextWindow: number, maxTokens?: number): number {
  return (
    maxTokens ??
    Math.min(MAX_DEFAULT_OUTPUT_RESERVE, Math.floor(contextWindow * DEFAULT_OUTPUT_RESERVE_RATIO))
  )
}

/** Tokens a request may take: the window less the output reserve. */
export function getAvailableInputTokens(provider: string, model?: string, maxTokens?: number): number {
  const window = getContextWindowSize(provider, model)
  return window - getOutputReserve(window, maxTokens)
}
