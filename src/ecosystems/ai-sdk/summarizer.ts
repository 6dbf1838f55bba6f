import { z } from 'zod'
import { UndertextError } from '../../errors.ts'
import { check } from '../../messages/check.ts'
import { defined } from '../../messages/defined.ts'
import {
  type GenerateAnswer,
  type GenerateRequest,
  modelSummarizer,
  modelSummarizerSchema,
} from '../../summarizers/model/model-summarizer.ts'
import type { Summarizer, SummaryUsage } from '../../summarizers/summarizer.ts'
import { type AiSdk, type GeneratedText, loadAiSdk } from './load.ts'
import type { UndertextCallOptions } from './options.ts'
import type { LanguageModelLike, ModelRegistry } from './types.ts'

/** Times the AI SDK repeats a call. Source: its own default. */
const MAX_RETRIES = 2

/**
 * With a model that our middleware wraps, the summary's request must not become a part of the conversation, nor wait for the run that
 * makes it. Other models ignore options that are not theirs.
 */
const NO_CONVERSATION = { undertext: { skip: true } satisfies UndertextCallOptions }

const modelSchema = z.custom<LanguageModelLike>(
  (value) =>
    (typeof value === 'string' && value !== '') ||
    (typeof value === 'object' &&
      value !== null &&
      typeof (value as { doGenerate?: unknown }).doGenerate === 'function' &&
      typeof (value as { modelId?: unknown }).modelId === 'string'),
  'must be a language model of the AI SDK, version 5 or later, or its id',
)
const registrySchema = z.custom<ModelRegistry>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { languageModel?: unknown }).languageModel === 'function',
  'must be a provider registry: { languageModel(id) }',
)

const { name, maxInputTokens, thinkingTokens, temperature, maxRetries, timeoutMs, price, maxOutputChars } =
  modelSummarizerSchema.shape
const optionsSchema = z
  .strictObject({
    /** The model, where the caller's config names none. */
    model: modelSchema.optional(),
    /** Where `summarizationProvider` and `summarizationModel` are looked up, as `provider:model`. */
    registry: registrySchema.optional(),
    /** The separator of the two. Default ":", as in `createProviderRegistry`. */
    separator: z.string().min(1).max(20).optional(),
    /** The name in the audit. Default "ai-sdk". */
    name: name.optional(),
    maxInputTokens,
    thinkingTokens,
    temperature,
    maxRetries,
    timeoutMs,
    price,
    maxOutputChars,
    /** Passed to `generateText`. */
    providerOptions: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(
    ({ model, registry }) => model !== undefined || registry !== undefined,
    'needs a model or a registry',
  )
/** Options of `aiSdkSummarizer`; a model or a registry is needed. */
export type AiSdkSummarizerOptions = z.input<typeof optionsSchema>
type Checked = z.output<typeof optionsSchema>

type Asked = Pick<GenerateRequest, 'provider' | 'model'>

/**
 * A summarizer with any language model of the AI SDK (`ai`, version 5 to 7), which is loaded at the first summary. The AI SDK repeats calls
 * that fail temporarily (`maxRetries` times, default 2), with growing waits or those the server requests.
 *
 * Without a registry `model` writes all summaries, whatever a config names. With one, the provider and model of a config are looked up; for a
 * model unknown to the registry the extractive summarizer writes the summary. `price` in US dollars for a million tokens, `timeoutMs` in
 * milliseconds for one request. Throws `INVALID_INPUT`; `summarize` rejects with `MODEL_CALL_FAILED` or `AI_SDK_UNAVAILABLE`.
 */
export function aiSdkSummarizer(options: AiSdkSummarizerOptions): Summarizer {
  const checked = check(optionsSchema, options, 'aiSdkSummarizer')
  const {
    model,
    registry: _,
    separator: __,
    name = 'ai-sdk',
    maxRetries = MAX_RETRIES,
    providerOptions,
    ...rest
  } = checked
  return modelSummarizer({
    ...rest,
    name,
    ...called(model),
    // The AI SDK repeats calls itself.
    maxRetries: 0,
    canUse: (asked) => modelFor(checked, asked) !== undefined,
    generate: async (request) => {
      const chosen = modelFor(checked, request)
      if (chosen === undefined)
        throw new UndertextError('MODEL_CALL_FAILED', { summarizer: name, error: 'MODEL_UNKNOWN' })
      const sdk = await loadAiSdk()
      return toAnswer(await sdk.generateText(callOptions(chosen, request, maxRetries, providerOptions)))
    },
  })
}

/** The model to call: the named one, where there is a registry, else the one given. */
function modelFor(
  { model, registry, separator = ':' }: Checked,
  asked: Asked,
): LanguageModelLike | undefined {
  const isNamed = asked.provider !== undefined || asked.model !== undefined
  if (registry === undefined || !isNamed) return model
  // A provider alone names no model; a model alone may be an id of the registry.
  if (asked.model === undefined) return undefined
  const id = [asked.provider, asked.model].filter((name) => name !== undefined).join(separator)
  try {
    return registry.languageModel(id as never)
  } catch {
    // It throws its own errors for unknown models.
    return undefined
  }
}

/** The model's names in the registry of windows. `openai.chat` and the like name an interface of a provider. */
function called(model: LanguageModelLike | undefined): { provider?: string; model?: string } {
  if (model === undefined) return {}
  if (typeof model !== 'string') {
    const provider = model.provider?.split('.')[0]
    return { ...(provider && { provider }), ...(model.modelId && { model: model.modelId }) }
  }
  const slash = model.indexOf('/')
  return slash <= 0 ? { model } : { provider: model.slice(0, slash), model: model.slice(slash + 1) || model }
}

function callOptions(
  model: LanguageModelLike,
  { system, prompt, maxOutputTokens, temperature, signal }: GenerateRequest,
  maxRetries: number,
  providerOptions: Checked['providerOptions'],
): Parameters<AiSdk['generateText']>[0] {
  return {
    model,
    system,
    prompt,
    maxOutputTokens,
    maxRetries,
    abortSignal: signal,
    ...defined({ temperature }),
    ...(typeof model === 'string'
      ? defined({ providerOptions })
      : { providerOptions: { ...providerOptions, ...NO_CONVERSATION } }),
  }
}

function toAnswer(generated: GeneratedText): GenerateAnswer {
  const { text, reasoningText, finishReason, response } = generated
  return { text, reasoning: reasoningText, finishReason, usage: usageOf(generated), model: response?.modelId }
}

function usageOf({ usage, providerMetadata }: GeneratedText): SummaryUsage | undefined {
  if (usage === undefined) return undefined
  const { inputTokenDetails, outputTokens } = usage
  const cacheReadTokens = inputTokenDetails?.cacheReadTokens ?? usage.cachedInputTokens
  // Version 5 reports tokens written to a cache only in Anthropic's metadata, and leaves cached tokens out of its sum.
  const ofAnthropic = inputTokenDetails === undefined ? anthropicWrites(providerMetadata) : undefined
  const cacheCreationTokens = inputTokenDetails?.cacheWriteTokens ?? ofAnthropic
  const left = ofAnthropic === undefined ? 0 : ofAnthropic + (cacheReadTokens ?? 0)
  const inputTokens = usage.inputTokens === undefined ? undefined : usage.inputTokens + left
  return defined({ inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens })
}

function anthropicWrites(metadata: GeneratedText['providerMetadata']): number | undefined {
  const anthropic = metadata?.anthropic
  if (typeof anthropic !== 'object' || anthropic === null) return undefined
  const { cacheCreationInputTokens } = anthropic as { readonly cacheCreationInputTokens?: unknown }
  return typeof cacheCreationInputTokens === 'number' ? cacheCreationInputTokens : 0
}
