import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { BaseListChatMessageHistory } from '@langchain/core/chat_history'
import type { AIMessage, BaseMessage } from '@langchain/core/messages'
import { z } from 'zod'
import { invalid, isUndertextError } from '../../core/errors.ts'
import { check, functionSchema, nameSchema, ownerOption } from '../../core/messages/check.ts'
import { canonicalJson, defined, isObject } from '../../core/messages/json.ts'
import { type Message, type NewMessage, partsOf, type ToolCallPart } from '../../core/messages/message.ts'
import { storeSchema, unlessUnknown } from '../../store/arguments.ts'
import type { CompactOptions } from '../../store/config/store-options.ts'
import type { Store } from '../../store/store.ts'
import type { ConversionNote, ConversionOptions } from '../conversion.ts'
import { forkBeside, forkTitleSchema, messagePlaceSchema } from '../forks.ts'
import { ownedStore } from '../owned-store.ts'
import {
  type AnswerPlace,
  appendNamed,
  type RecoveringStore,
  recordAnswers,
  type SessionNames,
  Unanswered,
} from '../recovering.ts'
import { keptFor } from '../wire.ts'
import { fromLangChain } from './from-langchain.ts'
import { toLangChain } from './instances.ts'
import { LANGCHAIN } from './types.ts'

/** The store methods that a chat message history needs. */
export type HistoryStore = RecoveringStore &
  Pick<
    Store,
    'append' | 'compactSession' | 'sessions' | 'getMessages' | 'needsCompaction' | 'renderHistory' | 'rewind'
  >

const optionsSchema = z.strictObject({
  store: storeSchema<HistoryStore>(
    ...(['append', 'compactSession', 'getMessages', 'needsCompaction', 'renderHistory', 'rewind'] as const),
  ),
  /** The session. It is created with its first message. */
  sessionId: nameSchema,
  /**
   * `effective` (default): the messages to send to a model, with compactions, valid for the provider. `full`: every message of the log,
   * including messages that were compacted or cleared; for a page, not for a model.
   */
  view: z.enum(['effective', 'full']).default('effective'),
  /**
   * The provider whose rules the effective history must meet. Default: the session's own provider, else `openai`, which has the fewest
   * rules.
   */
  provider: nameSchema.optional(),
  /** The model that is called: recorded with the provider, and its context window decides when compaction is due. */
  model: nameSchema.optional(),
  /**
   * The owner. Only this owner's sessions are found, and new ones belong to the owner.
   */
  owner: ownerOption,
  /**
   * Whether `addMessages` compacts. Default: with the store's settings, once usage reaches the threshold. `true` or options of
   * `compactSession`: after every call, down to the target. `false`: never.
   */
  compact: z
    .union([z.boolean(), z.custom<CompactOptions>(isObject, 'must be options of compactSession')])
    .optional(),
  /** The actor in the audit for `clear`. Default: `langchain`. */
  actor: nameSchema.default('langchain'),
  /** Keeps content that LangChain doesn't allow as an unread part, instead of rejecting the messages. Default: false. */
  lenient: z.boolean().optional(),
  /** Receives a note for everything that was kept whole, not read, changed or not sent. */
  onNote: functionSchema<(note: ConversionNote) => void>().optional(),
})

/** Options of `UndertextChatMessageHistory`. `ConversionOptions` describes `lenient` and `onNote`. */
export type UndertextChatMessageHistoryOptions = z.input<typeof optionsSchema>

/**
 * A session as LangChain's chat message history: for `RunnableWithMessageHistory`, and for direct use of its methods. One session may
 * have any number of these, in any number of processes.
 *
 * Errors are the store's. Throws `INVALID_INPUT` for invalid options.
 */
export class UndertextChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ['undertext', 'langchain']
  readonly #options: Checked
  /** The readings of messages returned since the last `clear`. */
  #shown = new WeakMap<BaseMessage, Reading>()
  /** Messages of the caller that are stored. */
  readonly #added = new WeakSet<BaseMessage>()
  readonly #unanswered = new Unanswered<BaseMessage, ModelAnswer>({ placeAt, isSame: isSameMessage })
  /** Whether the last reading was empty. */
  #isEmpty = false
  /** Ids of open calls, by the ids that the last reading had for its provider. */
  #ownIds: ReadonlyMap<string, string> = new Map()

  constructor(options: UndertextChatMessageHistoryOptions) {
    // The base class would keep its argument in a public field.
    super()
    this.#options = checked(options)
    turnsOf.set(this, {
      ...this.#options,
      find: (messages) => this.#find(messages),
      isAdded: (message) => this.#added.has(message),
      beginCall: (last) => this.#unanswered.beginCall(last),
    })
  }

  static override lc_name(): string {
    return 'UndertextChatMessageHistory'
  }

  /**
   * Returns the messages of the session, by default those to send to a model: summaries and markers in place of the messages they replace,
   * and calls and results paired, as `renderHistory` returns them. Calls at the very end stay open, because their results may be added
   * next. An unknown session has no messages.
   */
  async getMessages(): Promise<BaseMessage[]> {
    const read = await this.#read()
    const messages = toLangChain(read, this.#options.conversion)
    const reading = { read, shown: [...messages] }
    for (const message of messages) this.#shown.set(message, reading)
    this.#isEmpty = messages.length === 0
    return messages
  }

  /** Returns where a prompt has all messages of a reading, in one piece. */
  #find(messages: readonly BaseMessage[]): Place | undefined {
    if (this.#options.view === 'full') return undefined
    const from = messages.findIndex((message) => this.#shown.has(message))
    if (from === -1) return this.#isEmpty ? afterSystem(messages) : undefined
    const { shown } = this.#shown.get(messages[from]!)!
    const isWhole = shown.every((message, i) => messages[from + i] === message)
    return isWhole ? { from, to: from + shown.length } : undefined
  }

  async #read(): Promise<readonly Message[]> {
    const { store, sessionId, view, provider } = this.#options
    if (view === 'full') {
      const rows = (await unlessUnknown(store.getMessages(sessionId))) ?? []
      return rows.filter(({ kind }) => kind === 'message')
    }
    const kept = { pendingCalls: 'keep', alsoReads: [LANGCHAIN] } as const
    const shown = provider === undefined ? kept : { ...kept, provider }
    const rendering = await unlessUnknown(store.renderHistory(sessionId, shown))
    this.#ownIds = new Map()
    if (rendering === undefined) return []
    const { messages, mends } = rendering
    if (!mends.some(({ kind }) => kind === 'call-renamed')) return messages
    const asStored = await store.renderHistory(sessionId, { ...kept, provider: ANY_IDS })
    this.#ownIds = ownIdsOf(messages, asStored.messages)
    return messages
  }

  /** Adds one message; see `addMessages`. */
  async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message])
  }

  /**
   * Adds messages at the end, all or none, in one transaction. A result of an open call may name it by the id that `getMessages`
   * returned for the provider.
   *
   * A message with an `id` that was added before with the same body is a retry and isn't written again; with another body it is a new
   * message. A message without an id is always new, and so are the messages after it in the list, so that no answer of a model that repeats
   * ids is lost. If the list begins with the last messages that this object returned, unchanged, only the messages after them are written:
   * `RunnableWithMessageHistory` passes both if the history became shorter while the model worked.
   *
   * Throws `INVALID_INPUT` for invalid messages, and for a `RemoveMessage`, because nothing is removed here: `compactions.hide` and
   * `rewind` of the store hide messages, and can be undone.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    if (!Array.isArray(messages)) throw invalid('addMessages: messages must be an array')
    const given = this.#withoutShown(messages)
    const removal = given.findIndex((message) => isObject(message) && message.type === 'remove')
    if (removal !== -1)
      throw invalid(
        `[${removal}].type: must not be remove; use compactions.hide or rewind of the store to hide messages`,
      )
    const { store, sessionId, conversion } = this.#options
    const read = withOwnIds(fromLangChain(given, conversion), this.#ownIds)
    if (read.length === 0) return
    const added = [...given]
    const appended = await appendNamed(store, sessionId, keyed(read), this.#options)
    for (const message of added) this.#added.add(message)
    await recordAnswers(store, sessionId, this.#unanswered.take(added, appended.messages))
    await this.#makeRoom()
  }

  #withoutShown(messages: readonly BaseMessage[]): readonly BaseMessage[] {
    const [first] = messages
    const reading = isObject(first) ? this.#shown.get(first as BaseMessage) : undefined
    if (first === undefined || reading === undefined) return messages
    const from = reading.shown.indexOf(first)
    const end = reading.shown.slice(from)
    const isFollowed = messages.length > end.length && end.every((message, i) => message === messages[i])
    if (!isFollowed) return messages
    const asRead = toLangChain(reading.read).slice(from)
    return isDeepStrictEqual(end, asRead) ? messages.slice(end.length) : messages
  }

  /** A failure is not thrown, because the messages are stored: the store's `compaction` events report it, and the next call tries again. */
  async #makeRoom(): Promise<void> {
    const { store, sessionId, compact, provider, model } = this.#options
    if (compact === false) return
    try {
      if (compact !== undefined) await store.compactSession(sessionId, compact === true ? {} : compact)
      else if (await store.needsCompaction(sessionId, provider, model))
        await store.compactSession(sessionId, { trigger: 'auto', ...defined({ provider, model }) })
    } catch (error) {
      if (!isUndertextError(error) || error.code === 'INVALID_INPUT') throw error
    }
  }

  /**
   * Copies the session, as it is or as it was after or before the newest message with an `id`, and returns the history of the copy, with
   * the same options (`sessions.fork` of the store).
   *
   * Throws `SESSION_NOT_FOUND` before the first message was added, `SESSION_EXISTS`, `MESSAGE_NOT_FOUND` for an unknown id,
   * `INVALID_INPUT`.
   */
  async fork(options: HistoryForkOptions = {}): Promise<UndertextChatMessageHistory> {
    const { at, sessionId: id, title } = check(forkSchema, options, 'fork')
    const { conversion, store, ...kept } = this.#options
    const sessionId = await forkBeside(store, kept.sessionId, { id, title }, at, async (name) => {
      const row = (await store.getMessages(kept.sessionId)).findLast((one) => messageIdOf(one) === name)
      return row && [row]
    })
    return new UndertextChatMessageHistory({ ...kept, ...conversion, store, sessionId })
  }

  /**
   * Hides every message, as one compaction of kind `manual` that `undoCompaction` of the store undoes. Nothing is deleted. An unknown or
   * empty session stays as it is.
   */
  override async clear(): Promise<void> {
    const { store, sessionId, actor } = this.#options
    this.#shown = new WeakMap()
    this.#ownIds = new Map()
    await unlessUnknown(
      store.rewind(sessionId, {
        from: 'start',
        keepCompactions: true,
        actor,
        reason: 'clear',
        params: { by: 'langchain', why: 'clear' },
      }),
    )
  }
}

/** A chain may store another object than the one that the model returned. */
function placeAt(messages: readonly BaseMessage[], at: number, answer: ModelAnswer): AnswerPlace | undefined {
  const message = messages[at]!
  if (message.type !== 'ai' || message.text !== answer.text) return undefined
  const callIds = ((message as AIMessage).tool_calls ?? []).map(({ id }) => id ?? '')
  if (!isDeepStrictEqual(callIds, answer.callIds)) return undefined
  return { end: at + 1, isCertain: message === answer.message }
}

function isSameMessage(sent: BaseMessage, stored: BaseMessage): boolean {
  return sent === stored || (sent.type === stored.type && sent.text === stored.text)
}

/** The messages of one reading, and their LangChain form. */
type Reading = { readonly read: readonly Message[]; readonly shown: readonly BaseMessage[] }

/** A provider that accepts any id of a call. */
const ANY_IDS = 'litellm'

const forkSchema = z.strictObject({
  /** After or before the message with this id. Default: the session as it is now. */
  at: messagePlaceSchema.optional(),
  /** The id of the new session. Default: a UUID. */
  sessionId: nameSchema.optional(),
  /** The title of the new session. Default: the title of the original. */
  title: forkTitleSchema,
})
/** Options of `fork` of a history: where the copy ends, its id and its title. */
export type HistoryForkOptions = z.input<typeof forkSchema>

type Checked = Omit<z.output<typeof optionsSchema>, 'lenient' | 'onNote'> & {
  readonly conversion: ConversionOptions
}

function checked(given: UndertextChatMessageHistoryOptions): Checked {
  const { lenient, onNote, ...options } = check(optionsSchema, given, 'UndertextChatMessageHistory')
  return { ...options, store: ownedStore(options.store, options.owner), conversion: { lenient, onNote } }
}

/**
 * The same id with the same body is one message; the body is part of the key, so that another body is another message. After a message
 * without an id, which is always new, no message can be a retry.
 */
function keyed(messages: readonly Message[]): NewMessage[] {
  const ids = messages.map(messageIdOf)
  const isNewFrom = ids.indexOf(undefined)
  const count = isNewFrom === -1 ? ids.length : isNewFrom
  return messages.map((message, i) =>
    i < count ? { ...message, idempotencyKey: keyOf(ids[i], message) } : message,
  )
}

function keyOf(id: string | undefined, { role, content, metadata }: Message): string {
  const body = canonicalJson([id, role, content, metadata ?? null])
  return `langchain:${createHash('sha256').update(body).digest('base64')}`
}

/** The LangChain id of a message, if it had one. A tool message keeps it with its result. */
function messageIdOf(message: Message): string | undefined {
  const [first] = partsOf(message)
  const fields =
    first?.type === 'tool-result'
      ? keptFor(LANGCHAIN, first.providerOptions)
      : keptFor(LANGCHAIN, message.metadata)
  return typeof fields?.id === 'string' && fields.id !== '' ? fields.id : undefined
}

/**
 * The ids of open calls at the end of a history, by the ids that a provider's rendering gave them, where these differ. `shown` is that
 * rendering, `own` one with the calls' own ids.
 */
function ownIdsOf(shown: readonly Message[], own: readonly Message[]): ReadonlyMap<string, string> {
  const [renamed, calls] = [openCalls(shown), openCalls(own)]
  const isSame = ({ toolName, input }: ToolCallPart, i: number): boolean =>
    toolName === calls[i]?.toolName && isDeepStrictEqual(input, calls[i].input)
  if (renamed.length !== calls.length || !renamed.every(isSame)) return new Map()
  return new Map(renamed.map(({ toolCallId }, i) => [toolCallId, calls[i]!.toolCallId]))
}

/** The messages, with results of such calls naming the calls by their own ids. */
function withOwnIds(messages: readonly Message[], ownIds: ReadonlyMap<string, string>): Message[] {
  if (ownIds.size === 0) return [...messages]
  const calledIds = new Set<string>()
  return messages.map((message) => {
    const parts = partsOf(message)
    for (const part of parts) if (part.type === 'tool-call') calledIds.add(part.toolCallId)
    const content = parts.map((part) => {
      const own =
        part.type === 'tool-result' && !calledIds.has(part.toolCallId) && ownIds.get(part.toolCallId)
      return own ? { ...part, toolCallId: own } : part
    })
    return content.some((part, i) => part !== parts[i]) ? { ...message, content } : message
  })
}

/** The place of an empty history: after the system messages that begin a prompt. */
function afterSystem(messages: readonly BaseMessage[]): Place {
  const first = messages.findIndex(({ type }) => type !== 'system')
  const from = first === -1 ? messages.length : first
  return { from, to: from }
}

function openCalls(messages: readonly Message[]): ToolCallPart[] {
  const answered = new Set<string>()
  for (const message of messages.toReversed()) {
    const parts = partsOf(message)
    for (const part of parts) if (part.type === 'tool-result') answered.add(part.toolCallId)
    if (message.role !== 'tool')
      return parts
        .filter((part) => part.type === 'tool-call')
        .filter(({ toolCallId }) => !answered.has(toolCallId))
  }
  return []
}

/** The place of the history in a prompt: from its first message to before the first one after it. */
export type Place = { readonly from: number; readonly to: number }

/** A model's answer: its text, the ids of its calls, and the message unless it was streamed. */
export type ModelAnswer = {
  readonly text: string
  readonly callIds: readonly string[]
  readonly message?: BaseMessage
}

/** The parts of a history that a recovering model needs. */
export type HistoryTurns = SessionNames & {
  readonly store: RecoveringStore
  readonly sessionId: string
  readonly conversion: ConversionOptions
  /** Returns where a prompt has the history as it was returned, or `undefined`. */
  readonly find: (messages: readonly BaseMessage[]) => Place | undefined
  /** Whether a message of the caller is stored. */
  readonly isAdded: (message: BaseMessage) => boolean
  /** Begins a call whose prompt ends with this message. The returned function takes the model's answer, which is stored later. */
  readonly beginCall: (last: BaseMessage | undefined) => (requestId: string, answer: ModelAnswer) => void
}

/** The histories of this process, for the models that recover with them. */
export const turnsOf = new WeakMap<object, HistoryTurns>()
