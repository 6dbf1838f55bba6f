import { invalid } from '../../core/check.ts'
import { isObject } from '../../core/json.ts'
import { UndertextError } from '../../errors.ts'
import type { UIMessageLike } from '../ui-types.ts'
import type { Target } from './target.ts'
import { type Given, givenAt, isKnown, type Standing } from './versions.ts'

/**
 * What a browser sends: the body `useChat` posts (`DefaultChatTransport`), or the one message `prepareSendMessagesRequest` leaves of it. Of a
 * whole list the last message alone is read: what came before it stands in the log.
 */
export type ChatRequest = {
  /** The chat. */
  readonly id: string
  readonly message?: UIMessageLike | undefined
  readonly messages?: readonly UIMessageLike[] | undefined
  readonly trigger?: 'submit-message' | 'regenerate-message' | undefined
  /** Of an edit the message it replaces, of an answer made anew that answer. */
  readonly messageId?: string | undefined
}

/** A request as it is understood. */
export type Asked = {
  readonly message: Given | undefined
  readonly isAnew: boolean
  readonly messageId: string | undefined
}

/** The message of a request; `undefined` where there is none. Throws `INVALID_INPUT`. */
export function messageIn(request: unknown): unknown {
  if (!isObject(request)) throw invalid('request: must be an object')
  const { message, messages, trigger, messageId } = request
  if (trigger !== undefined && trigger !== 'submit-message' && trigger !== 'regenerate-message')
    throw invalid('request.trigger: must be submit-message or regenerate-message')
  if (messageId !== undefined && messageId !== null && typeof messageId !== 'string')
    throw invalid('request.messageId: must be a string')
  if (message !== undefined) return message
  if (messages !== undefined && !Array.isArray(messages)) throw invalid('request.messages: must be an array')
  const last: unknown = messages?.at(-1)
  if (last === undefined && trigger !== 'regenerate-message')
    throw invalid('request.message: must be there, or request.messages with one')
  return last
}

/** Reads a request. Throws `INVALID_INPUT`. */
export function askedIn(request: ChatRequest): Asked {
  const given = messageIn(request)
  return {
    message: given === undefined ? undefined : givenAt(given as UIMessageLike, 'request.message'),
    isAnew: request.trigger === 'regenerate-message',
    messageId: request.messageId ?? undefined,
  }
}

/**
 * What a chat is to be before it is answered. Throws `MESSAGE_NOT_FOUND` for a message that does not stand, and `INVALID_INPUT` for words
 * put into an assistant's mouth: a browser may only bring what came of the last message's calls.
 */
export function targetOfRequest(chatId: string, asked: Asked, standing: readonly Standing[]): Target {
  return {
    messages: asked.isAnew ? anew(chatId, asked, standing) : said(chatId, asked, standing),
    isConflict: false,
  }
}

function anew(
  chatId: string,
  { message, messageId }: Asked,
  standing: readonly Standing[],
): Target['messages'] {
  const index =
    messageId === undefined
      ? standing.findLastIndex((one) => one.message.role === 'assistant')
      : indexOf(chatId, standing, messageId)
  // Of a user's message the answers to it are made anew.
  const end = index === -1 || standing[index]!.message.role !== 'assistant' ? index + 1 : index
  const kept = messageId === undefined && index === -1 ? standing : standing.slice(0, end)
  const isThere = message === undefined || standing.some((one) => one.message.id === message.message.id)
  return isThere || message.message.role !== 'user' ? kept : [...kept, message]
}

function said(
  chatId: string,
  { message, messageId }: Asked,
  standing: readonly Standing[],
): Target['messages'] {
  if (message === undefined) return standing
  const { id, role } = message.message
  const at = standing.findIndex((one) => one.message.id === id)
  if (role === 'user') {
    const edited = messageId === undefined ? at : indexOf(chatId, standing, messageId)
    if (edited === -1) return [...standing, message]
    const there = standing[edited]!
    const isSame = there.message.id === id && isKnown(message, there)
    // Sent once more, as after an answer that failed.
    if (isSame && messageId === undefined) return standing
    return [...standing.slice(0, edited), isSame ? there : message]
  }
  if (role !== 'assistant' || at === -1 || at !== standing.length - 1)
    throw invalid('request.message: must be a user’s, or the assistant’s that the chat ends with')
  const there = standing[at]!
  if (!isKnown(message, there) && !hasGrown(message, there))
    throw invalid('request.message: must say what the assistant said, and what came of its calls')
  return isKnown(message, there) ? standing : [...standing.slice(0, at), message]
}

function indexOf(chatId: string, standing: readonly Standing[], messageId: string): number {
  const index = standing.findIndex((one) => one.message.id === messageId)
  if (index === -1) throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: chatId, messageId })
  return index
}

/** Whether a version says what was said, and differs by what came of its calls alone. */
function hasGrown({ message }: Given, { message: there }: Standing): boolean {
  return (
    message.parts.length >= there.parts.length &&
    there.parts.every((part, index) => {
      const now = message.parts[index]!
      if (part.type !== now.type) return false
      if (part.type === 'text' || part.type === 'reasoning')
        return part.text === (now as { readonly text?: unknown }).text
      if (!('toolCallId' in part)) return true
      return part.toolCallId === (now as { readonly toolCallId?: unknown }).toolCallId
    })
  )
}
