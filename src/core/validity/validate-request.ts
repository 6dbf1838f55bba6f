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

/** One rule that a request breaks. Contains no text of the conversation. */
export type RequestFinding = {
  /** The id of the rule in docs/validity.md. */
  readonly rule: string
  /** The path in the body, such as `messages.3.content.1`; empty for the body as a whole. */
  readonly path: string
  /** The problem at that path, for people. */
  readonly detail: string
}

/** Options of `validateRequest`. */
export type ValidateRequestOptions = {
  /** The model, for rules that don't apply to all models of a provider. Default: the `model` of the body. */
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
 * Returns the rules for which a provider would refuse the body of a request, in the order of the rules; an empty list if the body breaks
 * none.
 *
 * Reads the body in the form in which it is sent: Anthropic's Messages API (`{ system, messages, tools }`), Converse on Bedrock, Chat
 * Completions, the Responses API (`{ input, instructions, tools }`), Gemini's generateContent (`{ contents, systemInstruction, tools }`),
 * and the prompt of an AI SDK model (`{ prompt, tools }`). The fields determine the form, or the provider if the fields are ambiguous.
 * Shares no code with `renderView`. Takes linear time. Throws `INVALID_INPUT` for a body that is not an object; doesn't throw for a body
 * of an unknown form.
 */
export function validateRequest(
  body: object,
  provider: string,
  options: ValidateRequestOptions = {},
): RequestFinding[] {
  if (typeof body !== 'object' || body === null || isArray(body))
    throw invalid('validateRequest: the body must be an object')
  if (typeof provider !== 'string' || provider.trim() === '')
    throw invalid('validateRequest: the provider must be a string')
  if (typeof options !== 'object' || options === null)
    throw invalid('validateRequest: options must be an object')
  const { model } = options
  if (model !== undefined && typeof model !== 'string')
    throw invalid('validateRequest: options.model must be a string')
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
    return false // A revoked proxy.
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
    // The Responses API also has a field `prompt`, with an id.
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

/**
 * Returns whether a body for Bedrock is in Claude's own form, which Bedrock also accepts: its blocks have types, and its contents may be
 * texts.
 */
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
