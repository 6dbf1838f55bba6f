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

/** What the table has wrong for today's models, or takes for another (`gpt-4.5` begins with `gpt-4`), by the providers' own pages. */
const CORRECTIONS: typeof MODEL_CONTEXT_WINDOWS = {
  openai: { 'gpt-5': 400_000, 'gpt-4.5': 128_000 },
  mistral: { 'mistral-medium-latest': 128_000 },
}

/** The table for models that the maintained package has no window for. */
export const CORRECTED_CONTEXT_WINDOWS: typeof MODEL_CONTEXT_WINDOWS = Object.fromEntries(
  Object.entries(MODEL_CONTEXT_WINDOWS).map(([provider, models]) => [
    provider,
    { ...models, ...CORRECTIONS[provider] },
  ]),
)
