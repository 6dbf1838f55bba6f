import { isNotFound, standingFor, UndertextError } from '../../errors.ts'
import type { LanguageModelLike } from './types.ts'

/** What is used of the AI SDK, in the form that versions 5 to 7 have in common. */
export type AiSdk = {
  generateText(options: {
    readonly model: LanguageModelLike
    readonly system: string
    readonly prompt: string
    readonly maxOutputTokens: number
    readonly temperature?: number
    readonly maxRetries: number
    readonly abortSignal: AbortSignal
    readonly providerOptions?: { readonly [provider: string]: unknown }
  }): Promise<GeneratedText>
  validateUIMessages(options: {
    readonly messages: unknown
    readonly metadataSchema?: unknown
    readonly dataSchemas?: unknown
    readonly tools?: unknown
  }): Promise<readonly unknown[]>
}

/** What `generateText` answers, as far as it is read here. */
export type GeneratedText = {
  readonly text: string
  readonly reasoningText?: string | undefined
  readonly finishReason?: string
  readonly usage?: {
    readonly inputTokens?: number | undefined
    readonly outputTokens?: number | undefined
    readonly cachedInputTokens?: number | undefined
    readonly inputTokenDetails?: {
      readonly cacheReadTokens?: number | undefined
      readonly cacheWriteTokens?: number | undefined
    }
  }
  readonly providerMetadata?: { readonly [provider: string]: unknown } | undefined
  readonly response?: { readonly modelId?: string }
}

let loaded: Promise<AiSdk> | undefined

/** The AI SDK, loaded when it is first needed. Rejects with `AI_SDK_UNAVAILABLE` when it is missing, older than 5 or broken; `originalErrorOf` has why. */
export function loadAiSdk(): Promise<AiSdk> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<AiSdk> {
  let module: Record<string, unknown>
  try {
    // By its name and inside this `try`: a bundler then brings it along where it is installed, and builds where it is not.
    module = (await import('ai')) as Record<string, unknown>
  } catch (error) {
    const isMissing = isNotFound(error)
    const detail = isMissing ? 'it is not installed.' : 'it cannot be loaded.'
    throw standingFor(new UndertextError('AI_SDK_UNAVAILABLE', { detail }), error)
  }
  // Version 4 has `generateText` too, with other options and models; this one came with 5.
  if (typeof module.generateText !== 'function' || typeof module.convertToModelMessages !== 'function')
    throw new UndertextError('AI_SDK_UNAVAILABLE', { detail: 'the version that is installed is too old.' })
  return module as unknown as AiSdk
}
