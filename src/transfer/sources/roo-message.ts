/*
 * Elements of Roo Code's `api_conversation_history.json` as messages. Format: src/core/task-persistence/apiMessages.ts of
 * RooCodeInc/Roo-Code: messages of Anthropic's API, with a time, tags, and blocks and items for other providers among them.
 *
 * `metadata.roo` holds an element's other fields, but for its tags: they change, and are compactions here.
 */

import { fromAnthropic } from '../../ecosystems/anthropic/from-anthropic.ts'
import { fromOpenAIResponses } from '../../ecosystems/openai/from-responses.ts'
import { keptUnder } from '../../ecosystems/wire.ts'
import { isUndertextError } from '../../errors.ts'
import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import type { Message, Part } from '../../messages/message.ts'
import { textOf } from './block-facts.ts'

export const ROO = 'roo'

/** The names of tools by the ids of their calls, as they are met. */
export type ToolNames = Map<string, string>

/** Blocks of Anthropic's API. Other blocks in such a file are for other providers, and must not be sent to this one. */
const ANTHROPIC_BLOCKS = new Set([
  'text',
  'image',
  'document',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
])

/** An element as a message; `undefined` for one that is none of a conversation's. */
export function messageOfElement(element: JsonObject, names: ToolNames): Message | undefined {
  const { role, content, type } = element
  const metadata = metadataOf(element)
  if (type === 'reasoning' && content === undefined) return { ...ofReasoning(element), ...metadata }
  if (role === 'system') return { role, content: textOf(content), ...metadata }
  if (role !== 'user' && role !== 'assistant') return undefined
  if (typeof content === 'string') return { role, content, ...metadata }
  if (!Array.isArray(content)) return undefined
  const parts = content.map((block: Json) => partOf(block, role, names))
  const answers = parts.length > 0 && parts.every((part) => part.type === 'tool-result')
  return { role: answers ? 'tool' : role, content: parts, ...metadata }
}

function metadataOf(element: JsonObject): { readonly metadata?: JsonObject } {
  const { role: _, content: __, condenseParent: ___, truncationParent: ____, ...rest } = element
  return Object.keys(rest).length === 0 ? {} : { metadata: { [ROO]: rest } }
}

/** An item of reasoning, as OpenAI's Responses have it, or plain. */
function ofReasoning({ type, id, summary, encrypted_content, text }: JsonObject): Message {
  if (typeof text === 'string' && encrypted_content === undefined)
    return { role: 'assistant', content: [{ type: 'reasoning', text }] }
  const item = {
    type,
    ...(id !== undefined && { id }),
    summary: summary ?? [],
    ...(encrypted_content !== undefined && { encrypted_content }),
  } as JsonObject
  try {
    const [read] = fromOpenAIResponses([item])
    if (read !== undefined) return { role: 'assistant', content: read.content }
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
  }
  return { role: 'assistant', content: [{ type: 'provider', provider: ROO, data: item }] }
}

function partOf(block: Json, role: 'user' | 'assistant', names: ToolNames): Part {
  const unread: Part = { type: 'provider', provider: ROO, data: block }
  if (!isObject(block)) return unread
  const { type, ...fields } = block as JsonObject
  if (type === 'reasoning' && typeof fields.text === 'string') {
    const { text, ...extra } = fields
    return { type: 'reasoning', text: text as string, ...keptUnder(ROO, extra) }
  }
  if (!ANTHROPIC_BLOCKS.has(String(type))) return unread
  const [read] = fromAnthropic([{ role, content: [block] }], { lenient: true })
  const [part = unread] = typeof read?.content === 'string' ? [] : (read?.content ?? [])
  return named(part, names)
}

/** A result with the name of its tool, which the call before it knows. */
function named(part: Part, names: ToolNames): Part {
  if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
  if (part.type !== 'tool-result' || part.toolName !== undefined) return part
  const toolName = names.get(part.toolCallId)
  return toolName === undefined ? part : { ...part, toolName }
}
