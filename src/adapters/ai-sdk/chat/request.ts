import { invalid, UndertextError } from '../../../core/errors.ts'
import { isObject } from '../../../core/messages/json.ts'
import { type NewMessage, partsOf } from '../../../core/messages/message.ts'
import { givenByUser } from '../../../core/messages/user-answers.ts'
import type { Redaction } from '../../../storage/redaction.ts'
import { fields, nullish, oneOf, optional, text } from '../../shapes.ts'
import { listAt } from '../../wire.ts'
import type { SdkPart, SdkUIMessage, UIMessageLike } from '../types.ts'
import type { Target, TargetMessage } from './log.ts'
import { type GivenMessage, isSameOrOlder, readGiven, type StoredUIMessage } from './log.ts'

/** States in which a browser may send the result of a call. */
const OPEN = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded']

/**
 * A stored message with the results of its calls from a browser: outputs (`addToolOutput`) and approval responses. Everything else stays as
 * stored: a browser cannot change arguments, known outputs, texts or metadata, and its further parts (an answer that was never stored) are
 * ignored. Outputs of tools that the server doesn't run count as words of the user. Returns `undefined` for a message that is not a version
 * of the stored one.
 */
function withOutcomes(
  given: UIMessageLike,
  { message: former }: StoredUIMessage,
  runs: RunsTool,
): GivenMessage | undefined {
  const shown: readonly unknown[] = Array.isArray(given.parts) ? given.parts : []
  if (given.role !== former.role || shown.length < former.parts.length) return undefined
  const parts: SdkPart[] = []
  const brought = new Set<unknown>()
  for (const [index, part] of (former.parts as readonly SdkPart[]).entries()) {
    const now = shown[index]
    if (!isObject(now) || !isVersionOf(now as SdkPart, part)) return undefined
    const outcome = typeof part.toolCallId === 'string' ? withOutcome(part, now as SdkPart) : part
    if (outcome !== part && outcome.state === 'output-available') brought.add(part.toolCallId)
    parts.push(outcome)
  }
  const read = readGiven({ ...former, parts } as unknown as SdkUIMessage, 'request.message')
  return { ...read, rows: read.rows.map((row) => withGivenMarks(row, brought, runs)) }
}

/** Whether the server runs the tool with this name. */
export type RunsTool = (toolName: string) => boolean

function withGivenMarks(row: NewMessage, brought: ReadonlySet<unknown>, runs: RunsTool): NewMessage {
  if (row.role !== 'tool') return row
  const content = partsOf(row).map((part) =>
    part.type === 'tool-result' && brought.has(part.toolCallId) && !runs(part.toolName ?? '')
      ? givenByUser(part)
      : part,
  )
  return { ...row, content }
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

/** An approval request, with the browser's response if it has the same id. */
function answered(read: object, now: unknown): object {
  if (!isObject(now) || now.id !== (read as { readonly id?: unknown }).id) return read
  const { approved, reason } = now
  if (typeof approved !== 'boolean') return read
  return { ...read, approved, ...(reason !== undefined && { reason }) }
}

/**
 * The request of a browser: the body that `useChat` posts (`DefaultChatTransport`), or only its last message
 * (`prepareSendMessagesRequest`). If it contains the whole list, only the end is read: the user's last messages and the assistant's message
 * before them.
 */
export type ChatRequest = {
  /** The chat. */
  readonly id: string
  readonly message?: UIMessageLike | undefined
  readonly messages?: readonly UIMessageLike[] | undefined
  readonly trigger?: 'submit-message' | 'regenerate-message' | undefined
  /** The edited message, or the regenerated answer. */
  readonly messageId?: string | undefined
}

type ReadRequest = {
  /** The browser's last message. */
  readonly message: GivenMessage | undefined
  /** The user's messages directly before it in a list: their requests never arrived. */
  readonly earlier: readonly GivenMessage[]
  /** The assistant's message before these: it may have tool outputs that were not sent yet. */
  readonly before: UIMessageLike | undefined
  readonly isRegeneration: boolean
  readonly messageId: string | undefined
}

const requestShape = fields({
  trigger: optional(oneOf('submit-message', 'regenerate-message')),
  messageId: nullish(text),
})

/** The message of a request, or `undefined`. Throws `INVALID_INPUT`. */
export function lastMessageOf(request: unknown): unknown {
  const { trigger } = requestShape(request, 'request')
  const { message, messages } = request as { readonly [field: string]: unknown }
  if (message !== undefined) return message
  const last = optional(listAt)(messages, 'request.messages')?.at(-1)
  if (last === undefined && trigger !== 'regenerate-message')
    throw invalid('request.message: is required, unless request.messages has a message')
  return last
}

/** Reads a request. Throws `INVALID_INPUT`. */
export function readRequest(request: ChatRequest, redaction?: Redaction): ReadRequest {
  const given = lastMessageOf(request)
  const message =
    given === undefined ? undefined : readGiven(given as UIMessageLike, 'request.message', redaction)
  return {
    message,
    ...(message?.message.role === 'user' && request.message === undefined
      ? endOf(request.messages ?? [], redaction)
      : { earlier: [], before: undefined }),
    isRegeneration: request.trigger === 'regenerate-message',
    messageId: request.messageId ?? undefined,
  }
}

/** The messages before the last one of a list. */
function endOf(
  messages: readonly UIMessageLike[],
  redaction: Redaction | undefined,
): Pick<ReadRequest, 'earlier' | 'before'> {
  const index = messages.findLastIndex((one) => !isObject(one) || one.role !== 'user')
  const earlier = messages
    .slice(index + 1, -1)
    .map((one, at) => readGiven(one, `request.messages[${index + 1 + at}]`, redaction))
  const before = messages[index]
  return { earlier, before: isObject(before) ? (before as UIMessageLike) : undefined }
}

/**
 * Returns a chat after a request, before the answer. `isRewound` returns whether a message with that id was rewound, `runs` whether the
 * server runs a tool. Throws `MESSAGE_NOT_FOUND` for an unknown message, and `INVALID_INPUT` for a changed text of an assistant.
 */
export function targetOfRequest(
  chatId: string,
  read: ReadRequest,
  stored: readonly StoredUIMessage[],
  isRewound: (id: string) => boolean,
  runs: RunsTool,
): Target {
  const messages = read.isRegeneration
    ? regenerated(chatId, read, stored)
    : submitted(chatId, read, stored, runs)
  return { messages: withEarlier(read, messages, isRewound, runs), isConflict: false }
}

function regenerated(
  chatId: string,
  { message, messageId }: ReadRequest,
  stored: readonly StoredUIMessage[],
): TargetMessage[] {
  const named = stored.findIndex((one) => one.message.id === messageId)
  const shown = stored.findIndex((one) => one.message.id === message?.message.id)
  if (named !== -1) {
    // The answers to a user's message are regenerated.
    const kept = stored.slice(0, stored[named]!.message.role === 'assistant' ? named : named + 1)
    return shown === -1 && message?.message.role === 'user' ? [...kept, message] : kept
  }
  // A broken answer may not be stored; its question is stored, or never arrived.
  if (shown !== -1) return stored.slice(0, shown + 1)
  if (message?.message.role === 'user') return [...stored, message]
  if (messageId !== undefined) throw notFound(chatId, messageId)
  return stored.slice(0, stored.at(-1)?.message.role === 'assistant' ? -1 : undefined)
}

function submitted(
  chatId: string,
  { message, messageId }: ReadRequest,
  stored: readonly StoredUIMessage[],
  runs: RunsTool,
): readonly TargetMessage[] {
  if (message === undefined) return stored
  const { id, role } = message.message
  const at = stored.findIndex((one) => one.message.id === id)
  const former = stored[at]
  if (role !== 'user') {
    if (role !== 'assistant' || former === undefined || at !== stored.length - 1)
      throw invalid(
        'request.message: must be a user message, or the assistant message at the end of the chat',
      )
    if (isSameOrOlder(message, former)) return stored
    const updated = withOutcomes(message.message, former, runs)
    if (updated === undefined)
      throw invalid(
        'request.message: must equal the stored assistant message, with only outcomes of its calls added',
      )
    return isSameOrOlder(updated, former) ? stored : [...stored.slice(0, at), updated]
  }
  const named = stored.findIndex((one) => one.message.id === messageId)
  if (messageId !== undefined && messageId !== id && named === -1) throw notFound(chatId, messageId)
  // An assistant message's id doesn't mark an edit.
  const edited = stored[named]?.message.role === 'user' ? named : at
  const old = stored[edited]
  if (old === undefined) return [...stored, message]
  const isSame = old.message.id === id && isSameOrOlder(message, old)
  // Sent again, such as after a failed answer; later messages by others stay.
  const isRepeat = isSame && messageId === undefined
  if (isRepeat && stored.slice(edited + 1).some((one) => one.message.role !== 'assistant')) return stored
  return [...stored.slice(0, edited), isSame ? old : message]
}

/** Adds the other messages of a list: those whose requests never arrived, and tool outputs for the message before them. */
function withEarlier(
  { message, earlier, before }: ReadRequest,
  wanted: readonly TargetMessage[],
  isRewound: (id: string) => boolean,
  runs: RunsTool,
): readonly TargetMessage[] {
  const isLast = wanted.at(-1)?.message.id === message?.message.id
  const [known, last] = isLast ? [wanted.slice(0, -1), wanted.slice(-1)] : [wanted, []]
  const index = known.findLastIndex((one) => one.message.role !== 'user')
  const former = known[index]
  const updated =
    former !== undefined && 'isOtherOrigin' in former && former.message.id === before?.id
      ? withOutcomes(before, former, runs)
      : undefined
  const now =
    updated === undefined || isSameOrOlder(updated, former as StoredUIMessage)
      ? known
      : known.with(index, updated)
  const isNew = ({ message: { id } }: GivenMessage): boolean =>
    !isRewound(id) && wanted.every((one) => one.message.id !== id)
  return [...now, ...earlier.filter(isNew), ...last]
}

function notFound(chatId: string, messageId: string): UndertextError {
  return new UndertextError('MESSAGE_NOT_FOUND', { sessionId: chatId, messageId })
}
