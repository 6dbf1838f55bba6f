import type { JsonObject } from '../messages/json.ts'
import { isObject } from './wire.ts'

export type MessageFormat = 'anthropic' | 'flat' | 'gemini' | 'openai' | 'openai-responses' | 'neutral'

const ROLES_ANYWHERE = new Set([
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function',
  'tool_call',
  'tool_result',
])
/** Roles that only one format has. */
const TELLING_ROLES: ReadonlyMap<string, MessageFormat> = new Map([
  ['function', 'openai'],
  ['tool_call', 'flat'],
  ['tool_result', 'flat'],
])

/** Names under which neutral messages keep what a format alone knows. */
const METADATA_NAMES = [
  'ai-sdk',
  'anthropic',
  'claude-agent-sdk',
  'flat',
  'google',
  'langchain',
  'openai',
  'openai-agents',
  'openai-responses',
] as const

/** Fields of a message that only one format has. */
const TELLING_FIELDS: readonly (readonly [field: string, format: MessageFormat])[] = [
  ['tool_calls', 'openai'],
  ['tool_call_id', 'openai'],
  ['function_call', 'openai'],
  ['reasoning_content', 'openai'],
  ['refusal', 'openai'],
  ['stop_reason', 'anthropic'],
  ['idempotencyKey', 'neutral'],
]

/** Types of a part that only one format has. */
const TELLING_TYPES: ReadonlyMap<string, MessageFormat> = new Map([
  ['tool_use', 'anthropic'],
  ['tool_result', 'anthropic'],
  ['thinking', 'anthropic'],
  ['redacted_thinking', 'anthropic'],
  ['server_tool_use', 'anthropic'],
  ['mcp_tool_use', 'anthropic'],
  ['document', 'anthropic'],
  ['search_result', 'anthropic'],
  ['container_upload', 'anthropic'],
  ['compaction', 'anthropic'],
  ['image_url', 'openai'],
  ['input_audio', 'openai'],
  ['input_text', 'openai-responses'],
  ['input_image', 'openai-responses'],
  ['input_file', 'openai-responses'],
  ['output_text', 'openai-responses'],
  ['tool-call', 'neutral'],
  ['tool-result', 'neutral'],
  ['reasoning', 'neutral'],
  ['provider', 'neutral'],
])

/** Items of the Responses API that nobody speaks, besides all that are called calls and their outputs. */
const ITEM_TYPES = new Set([
  'reasoning',
  'compaction',
  'compaction_trigger',
  'item_reference',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'tool_search_output',
  'program',
  'program_output',
])

function isItem({ type }: JsonObject): boolean {
  return typeof type === 'string' && (ITEM_TYPES.has(type) || /_call(_output)?$/.test(type))
}

/**
 * Tells the format of a list of messages from its shapes, whatever the texts say. Messages of plain text are
 * the same in every format and count as `openai`, which also has system messages within the list. Contents of
 * Gemini's are told by their `parts`.
 *
 * `undefined` for an empty list, for something that is no message, for parts nobody here knows, and when the
 * messages contradict each other. Never throws.
 */
export function detectFormat(messages: readonly unknown[]): MessageFormat | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return undefined
  if (Array.from(messages).every(isGeminiContent)) return 'gemini'
  const seen = new Set<MessageFormat>()
  let strange = false
  let isOpenAI = false
  let isTyped = false

  for (const message of messages as readonly unknown[]) {
    if (!isObject(message)) return undefined
    if (message.role === undefined && isItem(message)) {
      seen.add('openai-responses')
      continue
    }
    if (typeof message.role !== 'string' || !ROLES_ANYWHERE.has(message.role)) return undefined
    const telling = TELLING_ROLES.get(message.role)
    if (telling !== undefined) seen.add(telling)
    if (message.role === 'developer') isOpenAI = true
    if (message.type === 'additional_tools') seen.add('openai-responses')
    // Anthropic's answers have that type too, but no text for a content.
    if (message.type === 'message' && typeof message.content === 'string') isTyped = true
    for (const [field, format] of TELLING_FIELDS) if (message[field] !== undefined) seen.add(format)
    const { metadata } = message
    if (isObject(metadata) && METADATA_NAMES.some((name) => name in metadata)) {
      seen.add('neutral')
    }
    const { content } = message
    for (const part of Array.isArray(content) ? (content as readonly unknown[]) : []) {
      const format = formatOfPart(part)
      if (isObject(part) && part.type === 'refusal') isOpenAI = true
      else if (format !== undefined) seen.add(format)
      else if (!isObject(part) || part.type !== 'text') strange = true
    }
  }
  if (isTyped && seen.size === 0) seen.add('openai-responses')
  // Both of OpenAI's forms have developers and refusals.
  if (isOpenAI && !seen.has('openai-responses')) seen.add('openai')
  const [format = 'openai'] = seen
  return seen.size > 1 || (seen.size === 0 && strange) ? undefined : format
}

const GEMINI_ROLES: ReadonlySet<unknown> = new Set([undefined, 'user', 'model', 'function'])

/** A list of parts in place of a content. Parts of Gemini's have no type; those of the AI SDK's `UIMessage` have one. */
function isGeminiContent(message: unknown): boolean {
  if (!isObject(message) || !GEMINI_ROLES.has(message.role) || message.content !== undefined) return false
  const { role, parts } = message
  if (!Array.isArray(parts)) return role === 'model' && parts === undefined
  return (parts as readonly unknown[]).every((part) => isObject(part) && typeof part.type !== 'string')
}

function formatOfPart(part: unknown): MessageFormat | undefined {
  if (!isObject(part) || typeof part.type !== 'string') return undefined
  if ('toolCallId' in part || 'providerOptions' in part) return 'neutral'
  if (part.type === 'image') return 'source' in part ? 'anthropic' : 'image' in part ? 'neutral' : undefined
  if (part.type === 'file') return 'file' in part ? 'openai' : 'data' in part ? 'neutral' : undefined
  if (part.type === 'text') return 'cache_control' in part || 'citations' in part ? 'anthropic' : undefined
  return TELLING_TYPES.get(part.type) ?? (part.type.endsWith('_tool_result') ? 'anthropic' : undefined)
}
