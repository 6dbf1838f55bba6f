import { invalid, UndertextError } from '../../../errors.ts'
import { isObject } from '../../../messages/json.ts'
import type { SdkPart, SdkUIMessage, UIMessageLike } from '../types.ts'
import type { Target, TargetMessage } from './log.ts'
import { type GivenMessage, isSameOrOlder, readGiven, type StoredUIMessage } from './log.ts'

/** States in which a browser may send the outcome of a call. */
const OPEN = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded']

/**
 * A stored message with the outcomes of its calls in a browser's version: outputs (`addToolOutput`) and answers to requests for approval.
 * Everything else is as stored: a browser may not change arguments, known outputs, texts and metadata, and further parts (an answer that
 * was never stored) are not read. `undefined` where it is not a version of the message.
 */
function withOutcomes(given: UIMessageLike, { message: former }: StoredUIMessage): GivenMessage | undefined {
  const shown: readonly unknown[] = Array.isArray(given.parts) ? given.parts : []
  if (given.role !== former.role || shown.length < former.parts.length) return undefined
  const parts: SdkPart[] = []
  for (const [index, part] of (former.parts as readonly SdkPart[]).entries()) {
    const now = shown[index]
    if (!isObject(now) || !isVersionOf(now as SdkPart, part)) return undefined
    parts.push(typeof part.toolCallId === 'string' ? withOutcome(part, now as SdkPart) : part)
  }
  return readGiven({ ...former, parts } as unknown as SdkUIMessage, 'request.message')
}

function isVersionOf(now: SdkPart, part: SdkPart): boolean {
  if (now.type !== part.type || now.toolCallId !== part.toolCallId) return false
  return (part.type !== 'text' && part.type !== 'reasoning') || now.text === part.text
}

function withOutcome(part: SdkPart, now: SdkPart): SdkPart {
  const isOpen = OPEN.includes(part.state as string) || part.preliminary === true
  if (!isOpen || now.state === part.state || now.state === 'input-streaming') return part
  const { approval: read, preliminary, output, errorText, ...call } = part
  const approval = isObject(read) ? { approval: answered(read, now.approval) } : {}
  const needsAnswer = now.state === 'approval-responded' || now.state === 'output-denied'
  if (needsAnswer && typeof (approval.approval as { approved?: unknown })?.approved !== 'boolean') return part
  switch (now.state) {
    case 'approval-responded':
    case 'output-denied':
      return { ...call, ...approval, state: now.state }
    case 'output-available':
      return { ...call, ...approval, state: now.state, output: now.output }
    case 'output-error':
      return { ...call, ...approval, state: now.state, errorText: now.errorText }
    default:
      return part
  }
}

/** A request for approval, with the browser's answer to this very request. */
function answered(read: object, now: unknown): object {
  if (!isObject(now) || now.id !== (read as { readonly id?: unknown }).id) return read
  const { approved, reason } = now
  if (typeof approved !== 'boolean') return read
  return { ...read, approved, ...(reason !== undefined && { reason }) }
}

/**
 * What a browser sends: the body `useChat` posts (`DefaultChatTransport`), or the one message `prepareSendMessagesRequest` leaves of it. Of a
 * whole list only the end is read: the user's last messages, and the assistant's message before them. The rest is in the log.
 */
export type ChatRequest = {
  /** The chat. */
  readonly id: string
  readonly message?: UIMessageLike | undefined
  readonly messages?: readonly UIMessageLike[] | undefined
  readonly trigger?: 'submit-message' | 'regenerate-message' | undefined
  /** The message that is edited, or the answer that is regenerated. */
  readonly messageId?: string | undefined
}

/** A request, read. */
type ReadRequest = {
  /** The browser's last message. */
  readonly message: GivenMessage | undefined
  /** Of a list, the user's messages directly before it: requests that never arrived. */
  readonly earlier: readonly GivenMessage[]
  /** Of a list, the assistant's message before those: outputs of its tools may have come without a request. */
  readonly before: UIMessageLike | undefined
  readonly isRegeneration: boolean
  readonly messageId: string | undefined
}

/** The message of a request; `undefined` where there is none. Throws `INVALID_INPUT`. */
export function lastMessageOf(request: unknown): unknown {
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
export function readRequest(request: ChatRequest): ReadRequest {
  const given = lastMessageOf(request)
  const message = given === undefined ? undefined : readGiven(given as UIMessageLike, 'request.message')
  return {
    message,
    ...(message?.message.role === 'user' && request.message === undefined
      ? endOf(request.messages ?? [])
      : { earlier: [], before: undefined }),
    isRegeneration: request.trigger === 'regenerate-message',
    messageId: request.messageId ?? undefined,
  }
}

/** The messages before the last one of a list. */
function endOf(messages: readonly UIMessageLike[]): Pick<ReadRequest, 'earlier' | 'before'> {
  const index = messages.findLastIndex((one) => !isObject(one) || one.role !== 'user')
  const earlier = messages
    .slice(index + 1, -1)
    .map((one, at) => readGiven(one, `request.messages[${index + 1 + at}]`))
  const before = messages[index]
  return { earlier, before: isObject(before) ? (before as UIMessageLike) : undefined }
}

/**
 * A chat after a request, before the answer. `isRewound`: whether a message of that id was rewound. Throws `MESSAGE_NOT_FOUND` for an unknown
 * message, and `INVALID_INPUT` for changed texts of an assistant: a browser may only send outcomes of calls.
 */
export function targetOfRequest(
  chatId: string,
  read: ReadRequest,
  stored: readonly StoredUIMessage[],
  isRewound: (id: string) => boolean,
): Target {
  const messages = read.isRegeneration ? regenerated(chatId, read, stored) : submitted(chatId, read, stored)
  return { messages: withEarlier(read, messages, isRewound), isConflict: false }
}

function regenerated(
  chatId: string,
  { message, messageId }: ReadRequest,
  stored: readonly StoredUIMessage[],
): TargetMessage[] {
  const named = stored.findIndex((one) => one.message.id === messageId)
  const shown = stored.findIndex((one) => one.message.id === message?.message.id)
  if (named !== -1) {
    // A user's message: its answers are regenerated.
    const kept = stored.slice(0, stored[named]!.message.role === 'assistant' ? named : named + 1)
    return shown === -1 && message?.message.role === 'user' ? [...kept, message] : kept
  }
  // An answer that broke off may not be stored; its question is, or never arrived itself.
  if (shown !== -1) return stored.slice(0, shown + 1)
  if (message?.message.role === 'user') return [...stored, message]
  if (messageId !== undefined) throw notFound(chatId, messageId)
  return stored.slice(0, stored.at(-1)?.message.role === 'assistant' ? -1 : undefined)
}

function submitted(
  chatId: string,
  { message, messageId }: ReadRequest,
  stored: readonly StoredUIMessage[],
): readonly TargetMessage[] {
  if (message === undefined) return stored
  const { id, role } = message.message
  const at = stored.findIndex((one) => one.message.id === id)
  const former = stored[at]
  if (role !== 'user') {
    if (role !== 'assistant' || former === undefined || at !== stored.length - 1)
      throw invalid('request.message: must be a user’s, or the assistant’s that the chat ends with')
    if (isSameOrOlder(message, former)) return stored
    const grown = withOutcomes(message.message, former)
    if (grown === undefined)
      throw invalid('request.message: must have the assistant’s own text, and only outcomes of its calls')
    return isSameOrOlder(grown, former) ? stored : [...stored.slice(0, at), grown]
  }
  const named = stored.findIndex((one) => one.message.id === messageId)
  if (messageId !== undefined && messageId !== id && named === -1) throw notFound(chatId, messageId)
  // The id of an assistant's message names the subject of the request, and is no edit.
  const edited = stored[named]?.message.role === 'user' ? named : at
  const old = stored[edited]
  if (old === undefined) return [...stored, message]
  const isSame = old.message.id === id && isSameOrOlder(message, old)
  // Sent again, as after an answer that failed; later messages of others stay.
  const isRepeat = isSame && messageId === undefined
  if (isRepeat && stored.slice(edited + 1).some((one) => one.message.role !== 'assistant')) return stored
  return [...stored.slice(0, edited), isSame ? old : message]
}

/** Adds what a list has besides its last message: messages of requests that never arrived, and outputs for the message before. */
function withEarlier(
  { message, earlier, before }: ReadRequest,
  wanted: readonly TargetMessage[],
  isRewound: (id: string) => boolean,
): readonly TargetMessage[] {
  const isLast = wanted.at(-1)?.message.id === message?.message.id
  const [known, last] = isLast ? [wanted.slice(0, -1), wanted.slice(-1)] : [wanted, []]
  const index = known.findLastIndex((one) => one.message.role !== 'user')
  const former = known[index]
  const grown =
    former !== undefined && 'isOtherOrigin' in former && former.message.id === before?.id
      ? withOutcomes(before, former)
      : undefined
  const now =
    grown === undefined || isSameOrOlder(grown, former as StoredUIMessage) ? known : known.with(index, grown)
  const isNew = ({ message: { id } }: GivenMessage): boolean =>
    !isRewound(id) && wanted.every((one) => one.message.id !== id)
  return [...now, ...earlier.filter(isNew), ...last]
}

function notFound(chatId: string, messageId: string): UndertextError {
  return new UndertextError('MESSAGE_NOT_FOUND', { sessionId: chatId, messageId })
}
