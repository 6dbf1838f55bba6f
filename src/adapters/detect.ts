import { readable } from '../core/messages/check.ts'
import { isObject, type JsonObject } from '../core/messages/json.ts'

/** The name of a message format. */
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
const ROLE_FORMATS: ReadonlyMap<string, MessageFormat> = new Map([
  ['function', 'openai'],
  ['tool_call', 'flat'],
  ['tool_result', 'flat'],
])

/** Metadata names of neutral messages under which formats keep their own fields. */
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
const FIELD_FORMATS: readonly (readonly [field: string, format: MessageFormat])[] = [
  ['tool_calls', 'openai'],
  ['tool_call_id', 'openai'],
  ['function_call', 'openai'],
  ['reasoning_content', 'openai'],
  ['refusal', 'openai'],
  ['stop_reason', 'anthropic'],
  ['idempotencyKey', 'neutral'],
]

/** Types of a part that only one format has. */
const PART_FORMATS: ReadonlyMap<string, MessageFormat> = new Map([
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

/** Types of Responses items without a role whose names do not end in `_call` or `_call_output`. */
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
 * Detects the format of a list of messages from their shapes, never from their texts. Messages of plain text are the same in every format
 * and count as `openai`, which also has system messages within the list. Gemini contents are recognized by their `parts`.
 *
 * Returns `undefined` for an empty list, for a value that isn't a message, for unknown parts, and if messages contradict each other. Never
 * throws.
 */
export function detectFormat(messages: readonly unknown[]): MessageFormat | undefined {
  return readable('detectFormat', () => {
    if (!Array.isArray(messages) || messages.length === 0) return undefined
    if (Array.from(messages).every(isGeminiContent)) return 'gemini'
    const seen = new Set<MessageFormat>()
    let hasUnknown = false
    let isOpenAI = false
    let isTyped = false

    for (const message of messages as readonly unknown[]) {
      if (!isObject(message)) return undefined
      if (message.role === undefined && isItem(message as JsonObject)) {
        seen.add('openai-responses')
        continue
      }
      if (typeof message.role !== 'string' || !ROLES_ANYWHERE.has(message.role)) return undefined
      const roleFormat = ROLE_FORMATS.get(message.role)
      if (roleFormat !== undefined) seen.add(roleFormat)
      if (message.role === 'developer') isOpenAI = true
      if (message.type === 'additional_tools') seen.add('openai-responses')
      // Anthropic's responses have that type too, but their content is a list.
      if (message.type === 'message' && typeof message.content === 'string') isTyped = true
      for (const [field, format] of FIELD_FORMATS) if (message[field] !== undefined) seen.add(format)
      const { metadata } = message
      if (isObject(metadata) && METADATA_NAMES.some((name) => name in metadata)) {
        seen.add('neutral')
      }
      const { content } = message
      for (const part of Array.isArray(content) ? (content as readonly unknown[]) : []) {
        const format = formatOfPart(part)
        if (isObject(part) && part.type === 'refusal') isOpenAI = true
        else if (format !== undefined) seen.add(format)
        else if (!isObject(part) || part.type !== 'text') hasUnknown = true
      }
    }
    if (isTyped && seen.size === 0) seen.add('openai-responses')
    // Both of OpenAI's formats have developers and refusals.
    if (isOpenAI && !seen.has('openai-responses')) seen.add('openai')
    const [format = 'openai'] = seen
    return seen.size > 1 || (seen.size === 0 && hasUnknown) ? undefined : format
  })
}

const GEMINI_ROLES: ReadonlySet<unknown> = new Set([undefined, 'user', 'model', 'function'])

/** Whether a message has `parts` instead of `content`. Gemini parts have no type; those of the AI SDK's `UIMessage` have one. */
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
  return PART_FORMATS.get(part.type) ?? (part.type.endsWith('_tool_result') ? 'anthropic' : undefined)
}
