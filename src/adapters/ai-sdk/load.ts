import { invalid, isNotFound, UndertextError, withOriginal } from '../../core/errors.ts'
import { check } from '../../core/messages/check.ts'
import { defined, isObject } from '../../core/messages/json.ts'
import { type ToolSet, toolsSchema } from '../../core/tokens/tool-definitions.ts'
import type { LoadOptions } from './options.ts'

/**
 * Validates messages with `validateUIMessages` of the AI SDK. Its result is ignored, because it lacks unknown fields (`title` in ai 6), and
 * saving it would look like a change. Its error quotes the message, so only `originalErrorOf` returns it.
 *
 * Throws `INVALID_INPUT`, `AI_SDK_UNAVAILABLE`.
 */
export async function validateMessages(
  messages: readonly unknown[],
  options: LoadOptions,
  what: string,
): Promise<void> {
  const { tools, metadataSchema, dataSchemas, validate = true } = options
  // The AI SDK rejects an empty list, but a new chat is empty.
  if (!validate || messages.length === 0) return
  const { validateUIMessages } = await loadAiSdk()
  try {
    await validateUIMessages({
      messages: structuredClone(messages),
      ...defined({ metadataSchema, dataSchemas, tools }),
    })
  } catch (error) {
    throw refusedMessage(error, what)
  }
}

function refusedMessage(error: unknown, what: string): UndertextError {
  const place = placeOf(error)
  const refused = place === '' ? 'a message' : `messages${place}`
  const sentence = `${what}: validateUIMessages of the AI SDK rejected ${refused}; originalErrorOf returns its error, which quotes the message`
  return withOriginal(invalid(sentence), error)
}

/** Fields of a UI message; other names in a path may be private text. */
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

/** The place of the first problem, up to the first step that is not an index or a field of a message. */
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

/**
 * Returns the definitions of a chat's tools, as the AI SDK passes them to a model. Schemas that only the AI SDK can convert (zod 3, lazy
 * schemas) are converted by it. Throws `INVALID_INPUT`, `AI_SDK_UNAVAILABLE`.
 */
export async function toolDefinitions(tools: object | undefined): Promise<readonly unknown[] | undefined> {
  if (tools === undefined) return undefined
  const read = toolsSchema.safeParse(tools)
  if (read.success) return read.data
  const { asSchema } = await loadAiSdk()
  const converted: { [name: string]: object } = {}
  for (const [name, tool] of Object.entries(tools as ToolSet)) {
    const { inputSchema } = tool as { readonly inputSchema?: unknown }
    converted[name] = { ...tool, inputSchema: await asSchema(inputSchema).jsonSchema }
  }
  return check(toolsSchema, converted, 'tools')
}

/** The functions of the AI SDK that are called here, as versions 5 to 7 have them. */
export type AiSdk = {
  asSchema(schema: unknown): { readonly jsonSchema: unknown }
  generateText(options: object): Promise<GeneratedText>
  validateUIMessages(options: object): Promise<readonly unknown[]>
}

/** The fields of the result of `generateText` that are read here. */
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

/**
 * Loads the AI SDK at its first use. Rejects with `AI_SDK_UNAVAILABLE` if it is missing, older than 5 or broken; `originalErrorOf` returns
 * the cause.
 */
export function loadAiSdk(): Promise<AiSdk> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<AiSdk> {
  let module: Record<string, unknown>
  try {
    // A literal name inside `try`: a bundler includes the package if it is installed, and builds without it otherwise.
    module = (await import('ai')) as Record<string, unknown>
  } catch (error) {
    const isMissing = isNotFound(error)
    const detail = isMissing ? 'it is not installed.' : 'it cannot be loaded.'
    throw withOriginal(new UndertextError('AI_SDK_UNAVAILABLE', { detail }), error)
  }
  // Version 4 also has `generateText`, with other options and models; `convertToModelMessages` is new in 5.
  if (typeof module.generateText !== 'function' || typeof module.convertToModelMessages !== 'function')
    throw new UndertextError('AI_SDK_UNAVAILABLE', { detail: 'the installed version is too old.' })
  return module as unknown as AiSdk
}
