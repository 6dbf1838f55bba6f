import { invalid } from '../errors.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import { readGemini } from './read-gemini.ts'
import { readConverse, readMessagesApi } from './read-messages.ts'
import { readChat, readResponses } from './read-openai.ts'
import { readSdk } from './read-sdk.ts'
import { isInScope, type Rule } from './rule.ts'
import { CALL_RULES } from './rules-calls.ts'
import { MEDIA_RULES } from './rules-media.ts'
import { REASONING_RULES } from './rules-reasoning.ts'
import { ROLE_RULES } from './rules-roles.ts'
import { TEXT_RULES } from './rules-text.ts'
import { isList, isObject, type PlainObject, snapshotOf } from './snapshot.ts'
import type { Form, Reading, Request } from './wire.ts'

/** One rule that a request breaks. Holds no text of the conversation. */
export type RequestFinding = {
  /** The id of the rule in docs/validity.md. */
  readonly rule: string
  /** The place in the body, such as `messages.3.content.1`; empty for the body as a whole. */
  readonly path: string
  /** What is wrong there, for people. */
  readonly detail: string
}

/** Options of `validateRequest`. */
export type ValidateRequestOptions = {
  /** The model, for the rules that not all models of a provider have. Default: the `model` of the body. */
  readonly model?: string | undefined
}

/** All rules, in the order in which they are checked. */
export const RULES: readonly Rule[] = [
  ...TEXT_RULES,
  ...ROLE_RULES,
  ...CALL_RULES,
  ...REASONING_RULES,
  ...MEDIA_RULES,
]

const READERS: { readonly [F in Form]: (body: PlainObject) => Reading } = {
  messages: readMessagesApi,
  converse: readConverse,
  chat: readChat,
  responses: readResponses,
  gemini: readGemini,
  sdk: readSdk,
}

/**
 * Returns what a provider would refuse in the body of a request, in the order of the rules; an empty list when the body keeps them all.
 *
 * Reads the body as it is sent: of Anthropic's Messages API (`{ system, messages, tools }`), of Converse on Bedrock, of Chat Completions, of
 * the Responses API (`{ input, instructions, tools }`), of Gemini's generateContent (`{ contents, systemInstruction, tools }`), and the
 * prompt of a model of the AI SDK (`{ prompt, tools }`). The fields decide which one it is, and the provider where they leave it open.
 * Shares no code with `renderView`. Takes linear time, and does not throw for a body that no API knows, except `INVALID_INPUT` for a body
 * that is not an object.
 */
export function validateRequest(
  body: object,
  provider: string,
  options: ValidateRequestOptions = {},
): RequestFinding[] {
  if (typeof body !== 'object' || body === null || isArray(body))
    throw invalid('validateRequest: the body must be an object')
  if (typeof provider !== 'string' || provider.trim() === '')
    throw invalid('validateRequest: the provider must be a text')
  if (typeof options !== 'object' || options === null)
    throw invalid('validateRequest: options must be an object')
  const { model } = options
  if (model !== undefined && typeof model !== 'string')
    throw invalid('validateRequest: options.model must be a text')
  const request = readRequest(body, provider, model)
  const found: RequestFinding[] = []
  for (const rule of RULES) {
    if (!isInScope(rule, request.form, request.provider)) continue
    rule.check(request, (path, detail) => found.push({ rule: rule.id, path, detail }))
  }
  return found
}

function isArray(value: object): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false // a proxy that was revoked
  }
}

function readRequest(given: object, givenProvider: string, stated: string | undefined): Request {
  const snapshot = snapshotOf(given)
  const { body } = snapshot
  const provider = canonicalProvider(givenProvider)
  const form = formOf(body, provider)
  const { tools, toolConfig } = body
  const hasTools =
    (isList(tools) && tools.length > 0) ||
    (isObject(toolConfig) && isList(toolConfig.tools) && toolConfig.tools.length > 0)
  const named = typeof body.model === 'string' ? body.model : body.modelId
  const model = stated ?? (typeof named === 'string' ? named : undefined)
  return {
    ...snapshot,
    form,
    provider,
    givenProvider: givenProvider.toLowerCase(),
    model,
    hasTools,
    ...READERS[form](body),
  }
}

function formOf(body: PlainObject, provider: string): Form {
  if (body.contents !== undefined) return 'gemini'
  if (body.messages === undefined) {
    // `prompt` is also a field of the Responses API, with an id.
    if (isList(body.prompt)) return 'sdk'
    if (body.input !== undefined || body.previous_response_id !== undefined) return 'responses'
  }
  switch (provider) {
    case 'anthropic':
      return 'messages'
    case 'bedrock':
      return isMessagesApi(body) ? 'messages' : 'converse'
    case 'vertex':
      return body.messages === undefined ? 'gemini' : 'messages'
    case 'google-ai':
      return body.messages === undefined ? 'gemini' : 'chat'
    default:
      return body.system === undefined ? 'chat' : 'messages'
  }
}

/** Bedrock takes Claude's own form, too: its blocks have types, and its contents may be texts. */
function isMessagesApi({ anthropic_version, messages, system }: PlainObject): boolean {
  if (anthropic_version !== undefined || typeof system === 'string') return true
  for (const message of isList(messages) ? messages : []) {
    if (!isObject(message)) continue
    if (typeof message.content === 'string') return true
    const block = isList(message.content) ? message.content[0] : undefined
    if (isObject(block)) return typeof block.type === 'string'
  }
  return false
}
