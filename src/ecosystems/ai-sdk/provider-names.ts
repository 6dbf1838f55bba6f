import { canonicalProvider, isKnownProvider } from '../../tokens/providers.ts'

/** Providers that stand before others: the model's id says whose model it is. */
const GATEWAYS: ReadonlySet<string> = new Set(['gateway', 'vercel', 'openrouter'])

/**
 * Provider and model of an AI SDK model by our names: `openai.responses` is openai, `google.generative-ai` google-ai,
 * `google.vertex.chat` and `vertex.anthropic.messages` vertex, and a gateway's `anthropic/claude-…` is anthropic's.
 * An unknown name stays, without what follows its first dot.
 */
export function namesOf(model: { readonly provider: string; readonly modelId: string }): {
  readonly provider: string
  readonly model: string
} {
  const name = model.provider.trim().toLowerCase()
  const slash = model.modelId.indexOf('/')
  const first = name.split('.', 1)[0]!
  if (GATEWAYS.has(first) && slash > 0) {
    const provider = canonicalProvider(model.modelId.slice(0, slash))
    if (isKnownProvider(provider)) return { provider, model: model.modelId.slice(slash + 1) }
  }
  const provider = canonicalProvider(name)
  return {
    provider: (isKnownProvider(provider) ? provider : first) || 'openai',
    model: model.modelId || 'unknown',
  }
}
