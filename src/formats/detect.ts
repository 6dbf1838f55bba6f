import { isObject } from './wire.ts'

export type MessageFormat = 'anthropic' | 'flat' | 'gemini' | 'openai' | 'neutral'

const ROLES_ANYWHERE = new Set(['system', 'user', 'assistant', 'tool'])
/** Roles that only one format has. */
const TELLING_ROLES: ReadonlyMap<string, MessageFormat> = new Map([
  ['developer', 'openai'],
  ['function', 'openai'],
  ['tool_call', 'flat'],
  ['tool_result', 'flat'],
])

/** Names under which formats keep their own things in a neutral message. */
const KEEPERS = ['anthropic', 'flat', 'openai']

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
  ['refusal', 'openai'],
  ['tool-call', 'neutral'],
  ['tool-result', 'neutral'],
  ['reasoning', 'neutral'],
  ['provider', 'neutral'],
])

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
  if (messages.every(isGeminiContent)) return 'gemini'
  const seen = new Set<MessageFormat>()
  let strange = false

  for (const message of messages as readonly unknown[]) {
    if (!isObject(message) || typeof message.role !== 'string') return undefined
    const telling = TELLING_ROLES.get(message.role)
    if (telling !== undefined) seen.add(telling)
    else if (!ROLES_ANYWHERE.has(message.role)) return undefined
    for (const [field, format] of TELLING_FIELDS) if (message[field] !== undefined) seen.add(format)
    if (
      isObject(message.metadata) &&
      KEEPERS.some((name) => Object.hasOwn(message.metadata as object, name))
    ) {
      seen.add('neutral')
    }
    const { content } = message
    for (const part of Array.isArray(content) ? (content as readonly unknown[]) : []) {
      const format = formatOfPart(part)
      if (format !== undefined) seen.add(format)
      else if (!isObject(part) || part.type !== 'text') strange = true
    }
  }
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
