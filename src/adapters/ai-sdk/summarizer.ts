import { z } from 'zod'
import { UndertextError } from '../../core/errors.ts'
import { check, nameSchema } from '../../core/messages/check.ts'
import { defined, isObject } from '../../core/messages/json.ts'
import type { Summarizer, SummaryUsage } from '../../core/summarizers/summarizer.ts'
import { modelSummarizer, modelSummarizerSchema } from '../../store/compaction/model-summarizer.ts'
import { type GeneratedText, loadAiSdk } from './load.ts'
import type { UndertextCallOptions } from './options.ts'
import type { LanguageModelLike, ModelRegistry } from './types.ts'

/** How often the AI SDK repeats a call. Source: its default. */
const MAX_RETRIES = 2

/**
 * For a model that our middleware wraps: the summary's request must not become part of the conversation, nor wait for the run that needs
 * it. Other models ignore these options.
 */
const NO_CONVERSATION = { undertext: { skip: true } satisfies UndertextCallOptions }

const modelSchema = z.custom<LanguageModelLike>(
  (value) =>
    (typeof value === 'string' && value !== '') ||
    (isObject(value) && typeof value.doGenerate === 'function' && typeof value.modelId === 'string'),
  'must be a language model of the AI SDK, version 5 or later, or its id',
)
const registrySchema = z.custom<ModelRegistry>(
  (value) => isObject(value) && typeof value.languageModel === 'function',
  'must be a provider registry: { languageModel(id) }',
)

const optionsSchema = modelSummarizerSchema
  .omit({ generate: true, provider: true, retryWaitMs: true, canUse: true })
  .extend({
    /** The model, if the caller's config names none. */
    model: modelSchema.optional(),
    /** The registry for `summarizationProvider` and `summarizationModel`, looked up as `provider:model`. */
    registry: registrySchema.optional(),
    /** The separator between provider and model. Default ":", as in `createProviderRegistry`. */
    separator: z.string().min(1).max(20).optional(),
    /** The name in the audit. Default "ai-sdk". */
    name: nameSchema.optional(),
    /** Passed to `generateText`. */
    providerOptions: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(
    ({ model, registry }) => model !== undefined || registry !== undefined,
    'must have a model or a registry',
  )
/** Options of `aiSdkSummarizer`; a model or a registry is needed. */
export type AiSdkSummarizerOptions = z.input<typeof optionsSchema>

/**
 * Returns a summarizer that uses any language model of the AI SDK (`ai`, version 5 to 7), which is loaded at the first summary. The AI SDK
 * repeats calls that fail temporarily (`maxRetries` times, default 2), after growing waits or the wait that the server requests.
 *
 * Without a registry, `model` writes all summaries. With a registry, the provider and model of a config are looked up; the extractive
 * summarizer writes the summary if the registry does not know the model. `price` is in US dollars for a million tokens, `timeoutMs` in
 * milliseconds for one request. Throws `INVALID_INPUT`; `summarize` rejects with `MODEL_CALL_FAILED` or `AI_SDK_UNAVAILABLE`.
 */
export function aiSdkSummarizer(options: AiSdkSummarizerOptions): Summarizer {
  const checked = check(optionsSchema, options, 'aiSdkSummarizer')
  const { model: fallback, registry: _, separator: __, providerOptions, ...rest } = checked
  const { name = 'ai-sdk', maxRetries = MAX_RETRIES } = checked
  return modelSummarizer({
    ...rest,
    name,
    ...namesIn(fallback),
    // The AI SDK repeats calls itself.
    maxRetries: 0,
    canUse: (named) => modelFor(checked, named) !== undefined,
    generate: async ({ signal: abortSignal, provider, model: named, ...request }) => {
      const model = modelFor(checked, { provider, model: named })
      if (model === undefined)
        throw new UndertextError('MODEL_CALL_FAILED', { summarizer: name, error: 'MODEL_UNKNOWN' })
      // A model named by its id is not wrapped by the middleware.
      const options = typeof model === 'string' ? providerOptions : { ...providerOptions, ...NO_CONVERSATION }
      const { generateText } = await loadAiSdk()
      const generated = await generateText({
        ...request,
        model,
        maxRetries,
        abortSignal,
        ...defined({ providerOptions: options }),
      })
      const { text, reasoningText: reasoning, finishReason, response } = generated
      return { text, reasoning, finishReason, usage: usageOf(generated), model: response?.modelId }
    },
  })
}

/** The model to call: from the registry if a config names one, else `model`. */
function modelFor(
  { model, registry, separator = ':' }: z.output<typeof optionsSchema>,
  named: { readonly provider?: string | undefined; readonly model?: string | undefined },
): LanguageModelLike | undefined {
  if (registry === undefined || (named.provider === undefined && named.model === undefined)) return model
  // A provider alone is not enough; a model alone may be an id of the registry.
  if (named.model === undefined) return undefined
  const id = named.provider === undefined ? named.model : `${named.provider}${separator}${named.model}`
  try {
    return registry.languageModel(id as never)
  } catch {
    // The registry throws its own errors for unknown models.
    return undefined
  }
}

/** The model's names in our registry of context windows. `openai.chat` names an interface of the provider openai. */
function namesIn(model: LanguageModelLike | undefined): { provider?: string; model?: string } {
  if (model === undefined) return {}
  if (typeof model !== 'string') {
    const provider = model.provider?.split('.')[0]
    return { ...(provider && { provider }), ...(model.modelId && { model: model.modelId }) }
  }
  const slash = model.indexOf('/')
  return slash <= 0 ? { model } : { provider: model.slice(0, slash), model: model.slice(slash + 1) || model }
}

function usageOf({ usage, providerMetadata }: GeneratedText): SummaryUsage | undefined {
  if (usage === undefined) return undefined
  const { inputTokenDetails, outputTokens } = usage
  const cacheReadTokens = inputTokenDetails?.cacheReadTokens ?? usage.cachedInputTokens
  // Version 5 reports tokens written to a cache only in Anthropic's metadata, and does not include cached tokens in its sum.
  const ofAnthropic = inputTokenDetails === undefined ? anthropicWrites(providerMetadata) : undefined
  const cacheCreationTokens = inputTokenDetails?.cacheWriteTokens ?? ofAnthropic
  const left = ofAnthropic === undefined ? 0 : ofAnthropic + (cacheReadTokens ?? 0)
  const inputTokens = usage.inputTokens === undefined ? undefined : usage.inputTokens + left
  return defined({ inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens })
}

function anthropicWrites(metadata: GeneratedText['providerMetadata']): number | undefined {
  const anthropic = metadata?.anthropic
  if (!isObject(anthropic)) return undefined
  const { cacheCreationInputTokens: written } = anthropic
  return typeof written === 'number' ? written : 0
}
