import { invalid, isNotFound, standingFor, UndertextError } from '../../errors.ts'
import { isObject } from '../../messages/json.ts'
import type { LoadOptions } from './options.ts'
import type { LanguageModelLike } from './types.ts'

/**
 * Holds messages to the AI SDK's own `validateUIMessages`. What it returns is not used, for it leaves out fields it does not know
 * (`title` in ai 6), and saving that would look like a change. Its error carries the whole message, so it is not passed on:
 * `originalErrorOf` returns it.
 *
 * Throws `INVALID_INPUT`, `AI_SDK_UNAVAILABLE`.
 */
export async function validateMessages(
  messages: readonly unknown[],
  options: LoadOptions,
  what: string,
): Promise<void> {
  const { tools, metadataSchema, dataSchemas, validate = true } = options
  // The AI SDK refuses an empty list; a new chat is one.
  if (!validate || messages.length === 0) return
  const { validateUIMessages } = await loadAiSdk()
  try {
    await validateUIMessages({
      messages: structuredClone(messages),
      ...(metadataSchema !== undefined && { metadataSchema }),
      ...(dataSchemas !== undefined && { dataSchemas }),
      ...(tools !== undefined && { tools }),
    })
  } catch (error) {
    throw refusedMessage(error, what)
  }
}

function refusedMessage(error: unknown, what: string): UndertextError {
  const place = placeOf(error)
  const sentence = `${what}: ${place === '' ? 'a message' : `messages${place}`} is refused by validateUIMessages of the AI SDK; originalErrorOf returns its error, which quotes the message`
  return standingFor(invalid(sentence), error)
}

/** Fields of a UI message; any other name in a path may be somebody's text. */
const FIELDS: ReadonlySet<unknown> = new Set([
  'id',
  'role',
  'parts',
  'metadata',
  'type',
  'text',
  'state',
  'input',
  'output',
  'data',
  'toolCallId',
])

/** Where the first fault is, as far as numbers and fields of a message say it. */
function placeOf(error: unknown): string {
  const cause = isObject(error) ? error.cause : undefined
  const issue = isObject(cause) && Array.isArray(cause.issues) ? cause.issues[0] : undefined
  const path: unknown[] = isObject(issue) && Array.isArray(issue.path) ? issue.path : []
  let place = ''
  for (const step of path) {
    if (typeof step !== 'number' && !FIELDS.has(step)) break
    place += typeof step === 'number' ? `[${step}]` : `.${step}`
  }
  return place
}

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
