import { invalid, UndertextError } from '../../../errors.ts'
import { isObject } from '../../../messages/json.ts'
import type { SdkPart, SdkUIMessage, UIMessageLike } from '../types.ts'
import type { Target, Wanted } from './log.ts'
import { type Given, givenAt, isKnown, type Standing } from './versions.ts'

/** States in which a browser may bring what came of a call. */
const OPEN = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded']

/**
 * A message that stands, with what a browser's version of it tells came of its calls: outputs (`addToolOutput`) and answers to requests for
 * approval. Everything else is what the log says: arguments, outputs that are there already, texts and metadata are not a browser's to
 * change, and what it shows behind them (an answer that was never stored) is not read. `undefined` where it is no version of the message.
 */
function grownFrom(given: UIMessageLike, { message: there }: Standing): Given | undefined {
  const shown: readonly unknown[] = Array.isArray(given.parts) ? given.parts : []
  if (given.role !== there.role || shown.length < there.parts.length) return undefined
  const parts: SdkPart[] = []
  for (const [index, part] of (there.parts as readonly SdkPart[]).entries()) {
    const now = shown[index]
    if (!isObject(now) || !isVersionOf(now as SdkPart, part)) return undefined
    parts.push(typeof part.toolCallId === 'string' ? withOutcome(part, now as SdkPart) : part)
  }
  return givenAt({ ...there, parts } as unknown as SdkUIMessage, 'request.message')
}

function isVersionOf(now: SdkPart, part: SdkPart): boolean {
  if (now.type !== part.type || now.toolCallId !== part.toolCallId) return false
  return (part.type !== 'text' && part.type !== 'reasoning') || now.text === part.text
}

function withOutcome(part: SdkPart, now: SdkPart): SdkPart {
  const isOpen = OPEN.includes(part.state as string) || part.preliminary === true
  if (!isOpen || now.state === part.state || now.state === 'input-streaming') return part
  const { approval: asked, preliminary, output, errorText, ...call } = part
  const approval = isObject(asked) ? { approval: answered(asked, now.approval) } : {}
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

/** A request for approval, with the answer to it where one was given to this one. */
function answered(asked: object, now: unknown): object {
  if (!isObject(now) || now.id !== (asked as { readonly id?: unknown }).id) return asked
  const { approved, reason } = now
  if (typeof approved !== 'boolean') return asked
  return { ...asked, approved, ...(reason !== undefined && { reason }) }
}

/**
 * What a browser sends: the body `useChat` posts (`DefaultChatTransport`), or the one message `prepareSendMessagesRequest` leaves of it. Of a
 * whole list its end is read: what a user said last, and the assistant's message before that. The rest stands in the log.
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
type Asked = {
  /** What the browser shows last. */
  readonly message: Given | undefined
  /** Of a list, the user's messages directly before it: requests that never arrived. */
  readonly earlier: readonly Given[]
  /** Of a list, the assistant's message before those: outputs of its tools may have come without a request. */
  readonly before: UIMessageLike | undefined
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
  const message = given === undefined ? undefined : givenAt(given as UIMessageLike, 'request.message')
  return {
    message,
    ...(message?.message.role === 'user' && request.message === undefined
      ? endOf(request.messages ?? [])
      : { earlier: [], before: undefined }),
    isAnew: request.trigger === 'regenerate-message',
    messageId: request.messageId ?? undefined,
  }
}

/** What stands before the last message of a list. */
function endOf(messages: readonly UIMessageLike[]): Pick<Asked, 'earlier' | 'before'> {
  const index = messages.findLastIndex((one) => !isObject(one) || one.role !== 'user')
  const earlier = messages
    .slice(index + 1, -1)
    .map((one, at) => givenAt(one, `request.messages[${index + 1 + at}]`))
  const before = messages[index]
  return { earlier, before: isObject(before) ? (before as UIMessageLike) : undefined }
}

/**
 * What a chat is to be before it is answered. `isOut`: whether a message of that id was taken back. Throws `MESSAGE_NOT_FOUND` for a message
 * that does not stand, and `INVALID_INPUT` for words put into an assistant's mouth: a browser may only bring what came of calls.
 */
export function targetOfRequest(
  chatId: string,
  asked: Asked,
  standing: readonly Standing[],
  isOut: (id: string) => boolean,
): Target {
  const messages = asked.isAnew ? anew(chatId, asked, standing) : said(chatId, asked, standing)
  return { messages: withEarlier(asked, messages, isOut), isConflict: false }
}

function anew(chatId: string, { message, messageId }: Asked, standing: readonly Standing[]): Wanted[] {
  const named = standing.findIndex((one) => one.message.id === messageId)
  const shown = standing.findIndex((one) => one.message.id === message?.message.id)
  if (named !== -1) {
    // Of a user's message the answers to it are made anew.
    const kept = standing.slice(0, standing[named]!.message.role === 'assistant' ? named : named + 1)
    return shown === -1 && message?.message.role === 'user' ? [...kept, message] : kept
  }
  // An answer that broke off may never have been stored; what it answers has been, or never arrived itself.
  if (shown !== -1) return standing.slice(0, shown + 1)
  if (message?.message.role === 'user') return [...standing, message]
  if (messageId !== undefined) throw notFound(chatId, messageId)
  return standing.slice(0, standing.at(-1)?.message.role === 'assistant' ? -1 : undefined)
}

function said(
  chatId: string,
  { message, messageId }: Asked,
  standing: readonly Standing[],
): readonly Wanted[] {
  if (message === undefined) return standing
  const { id, role } = message.message
  const at = standing.findIndex((one) => one.message.id === id)
  const there = standing[at]
  if (role !== 'user') {
    if (role !== 'assistant' || there === undefined || at !== standing.length - 1)
      throw invalid('request.message: must be a user’s, or the assistant’s that the chat ends with')
    if (isKnown(message, there)) return standing
    const grown = grownFrom(message.message, there)
    if (grown === undefined)
      throw invalid('request.message: must say what the assistant said, and what came of its calls')
    return isKnown(grown, there) ? standing : [...standing.slice(0, at), grown]
  }
  const named = standing.findIndex((one) => one.message.id === messageId)
  if (messageId !== undefined && messageId !== id && named === -1) throw notFound(chatId, messageId)
  // The name of an assistant's message says what its request is about, and is no edit.
  const edited = standing[named]?.message.role === 'user' ? named : at
  const old = standing[edited]
  if (old === undefined) return [...standing, message]
  const isSame = old.message.id === id && isKnown(message, old)
  // Sent once more, as after an answer that failed; what others said since stays.
  const isRepeat = isSame && messageId === undefined
  if (isRepeat && standing.slice(edited + 1).some((one) => one.message.role !== 'assistant')) return standing
  return [...standing.slice(0, edited), isSame ? old : message]
}

/** With what a list brings besides its last message: words of requests that never arrived, and outputs for the message before. */
function withEarlier(
  { message, earlier, before }: Asked,
  wanted: readonly Wanted[],
  isOut: (id: string) => boolean,
): readonly Wanted[] {
  const isLast = wanted.at(-1)?.message.id === message?.message.id
  const [known, last] = isLast ? [wanted.slice(0, -1), wanted.slice(-1)] : [wanted, []]
  const index = known.findLastIndex((one) => one.message.role !== 'user')
  const there = known[index]
  const grown =
    there !== undefined && 'isForeign' in there && there.message.id === before?.id
      ? grownFrom(before, there)
      : undefined
  const now = grown === undefined || isKnown(grown, there as Standing) ? known : known.with(index, grown)
  const isNew = ({ message: { id } }: Given): boolean =>
    !isOut(id) && wanted.every((one) => one.message.id !== id)
  return [...now, ...earlier.filter(isNew), ...last]
}

function notFound(chatId: string, messageId: string): UndertextError {
  return new UndertextError('MESSAGE_NOT_FOUND', { sessionId: chatId, messageId })
}
