import { detectFormat, type MessageFormat } from '../../adapters/detect.ts'
import { isObject } from '../../core/messages/json.ts'
import type { Head } from '../source.ts'

/* Detects the layout of a file of messages, and the forms of its messages, from its head. */

/** The fields with a list of messages. */
export const MESSAGE_LISTS = ['messages', 'input'] as const
/** The field with a list of conversations. */
export const CONVERSATION_LIST = 'conversations'

/**
 * `messages`: one message per line or element. `conversations`: one conversation per line or element. `object`: one object with the
 * messages of one conversation. `collection`: one object with a list of conversations.
 */
type Layout = 'messages' | 'conversations' | 'object' | 'collection'

type TranscriptShape = {
  readonly layout: Layout
  /** The forms that are recognized by more than plain text. */
  readonly forms: ReadonlySet<MessageFormat>
  /** Whether there is a system prompt beside the messages, as in Anthropic's API. */
  readonly hasSystem: boolean
}

/** The maximum number of messages that are examined per conversation. */
const SAMPLE = 50

/** Returns the shape of a file of messages from its head; `undefined` if fewer than half of the values are messages. */
export function transcriptShape(head: Head): TranscriptShape | undefined {
  const layout = layoutOf(head)
  if (layout === undefined) return undefined
  const conversations = conversationsIn(head, layout)
  const sample = conversations.flatMap((each) => messagesOf(each)?.slice(0, SAMPLE) ?? [each])
  const known = sample.filter((message) => detectFormat([message]) !== undefined && !lacksContent(message))
  const isEmpty = layout === 'object' && (sample.length === 0 || hasTextInput(head.values[0]))
  if (!isEmpty && (known.length === 0 || known.length * 2 < sample.length)) return undefined
  const forms = known.flatMap((message) => (isPlain(message) ? [] : [detectFormat([message])!]))
  const hasSystem = conversations.some((each) => isObject(each) && each.system !== undefined)
  return { layout, forms: new Set(forms), hasSystem }
}

function layoutOf({ shape, values }: Head): Layout | undefined {
  const [first] = values
  if (shape === 'object') {
    if (!isObject(first)) return undefined
    if (messagesOf(first) !== undefined || hasTextInput(first)) return 'object'
    return Array.isArray(first[CONVERSATION_LIST]) ? 'collection' : undefined
  }
  const isMany = values.filter((value) => messagesOf(value) !== undefined).length * 2 > values.length
  return isMany ? 'conversations' : 'messages'
}

/** Returns whether a value is a request of the Responses API whose input is one text. */
function hasTextInput(value: unknown): boolean {
  return isObject(value) && typeof value.input === 'string' && typeof value.model === 'string'
}

/** Returns the conversations of the head; single messages if the file is one conversation. */
function conversationsIn({ values }: Head, layout: Layout): readonly unknown[] {
  if (layout !== 'collection') return values
  const [collection] = values
  const list = isObject(collection) ? collection[CONVERSATION_LIST] : []
  return Array.isArray(list) ? (list as readonly unknown[]) : []
}

/** Returns the messages of a conversation, which is a list or an object with one; `undefined` for any other value. */
export function messagesOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value as readonly unknown[]
  if (!isObject(value) || value.role !== undefined) return undefined
  for (const name of MESSAGE_LISTS) {
    const list = value[name]
    if (Array.isArray(list)) return list as readonly unknown[]
  }
  return undefined
}

/** The fields that a message with one of these roles can have beside a content, or instead of it. */
const CONTENT_FIELDS = [
  'tool_calls',
  'function_call',
  'refusal',
  'audio',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'encrypted_content',
]
const SPEAKERS = new Set<unknown>(['system', 'developer', 'user', 'assistant'])

/** Returns whether a message has a role but no content in any known field. Its form is then unknown, such as the AI SDK's `parts`. */
export function lacksContent(message: unknown): boolean {
  if (!isObject(message) || !SPEAKERS.has(message.role) || message.content !== undefined) return false
  // Items of the Responses API that aren't messages can have a role and no content.
  if (typeof message.type === 'string' && message.type !== 'message') return false
  return !CONTENT_FIELDS.some((name) => message[name] !== undefined)
}

const PLAIN_ROLES = new Set<unknown>(['system', 'user', 'assistant'])

/** Returns whether a message is a role and texts, which have the same form everywhere. */
function isPlain(message: unknown): boolean {
  return (
    isObject(message) &&
    PLAIN_ROLES.has(message.role) &&
    (typeof message.content === 'string' || Array.isArray(message.content)) &&
    detectFormat([message]) === 'openai' &&
    !TELLING_FIELDS.some((name) => message[name] !== undefined && message[name] !== null) &&
    (typeof message.content === 'string' || message.content.every(isTextPart))
  )
}

const TELLING_FIELDS = ['tool_calls', 'function_call', 'refusal', 'reasoning_content'] as const

function isTextPart(part: unknown): boolean {
  return isObject(part) && part.type === 'text'
}
