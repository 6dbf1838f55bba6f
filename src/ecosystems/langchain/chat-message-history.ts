import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { BaseListChatMessageHistory } from '@langchain/core/chat_history'
import type { BaseMessage } from '@langchain/core/messages'
import { z } from 'zod'
import type { CompactOptions } from '../../config/store-options.ts'
import { invalid, isUndertextError } from '../../errors.ts'
import { check, nameSchema } from '../../messages/check.ts'
import { canonicalJson, isObject } from '../../messages/json.ts'
import { type Message, type NewMessage, partsOf, type ToolCallPart } from '../../messages/message.ts'
import { storeSchema, unlessUnknown } from '../../store/arguments.ts'
import type { Store } from '../../store/store.ts'
import type { ConversionNote, ConversionOptions } from '../conversion.ts'
import { appendNamed, type RecoveringStore } from '../recovering.ts'
import { keptFor } from '../wire.ts'
import { fromLangChain } from './from-langchain.ts'
import { toLangChain } from './instances.ts'
import { type Place, turnsOf } from './turns-of.ts'
import { LANGCHAIN } from './types.ts'

/** What a chat message history needs of a store. */
export type HistoryStore = RecoveringStore &
  Pick<Store, 'append' | 'compactSession' | 'getMessages' | 'needsCompaction' | 'renderHistory' | 'rewind'>

/** Which conversation a history is of, how it is shown, and how messages are converted on both ways. */
export type UndertextChatMessageHistoryOptions = ConversionOptions & {
  readonly store: HistoryStore
  /** The session. It is made with its first message. */
  readonly sessionId: string
  /**
   * `effective` (default): what a model is to be sent, compactions honoured, made valid for the provider. `full`: every message
   * of the log as it was said, also those hidden by compactions and cleared; for a page, not for a model.
   */
  readonly view?: 'effective' | 'full' | undefined
  /**
   * Whose rules the effective history is to meet. Default: the session's own provider, else `openai`, which asks
   * for least.
   */
  readonly provider?: string | undefined
  /** The model that is called: recorded with the provider, and its context window says when compaction is due. */
  readonly model?: string | undefined
  /** Whose conversation it is, where the session has no owner yet. */
  readonly owner?: string | undefined
  /**
   * Makes room after `addMessages`. Default: with the store's settings, when usage has reached the threshold. `true` or options of
   * `compactSession`: after each, down to the target. `false`: it is left to others.
   */
  readonly compact?: boolean | CompactOptions | undefined
  /** Who is noted with what `clear` does. Default: `langchain`. */
  readonly actor?: string | undefined
}

/**
 * A session as LangChain's chat message history: for `RunnableWithMessageHistory`, and for whoever reads and adds messages
 * by its verbs. Any number of these, in any number of processes, may be of one session.
 *
 * Errors are the store's. Throws `INVALID_INPUT` for options that cannot be.
 */
export class UndertextChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ['undertext', 'langchain']
  readonly #options: Checked
  /** Where messages handed out since the last `clear` were read. */
  #shown = new WeakMap<BaseMessage, Reading>()
  /** Messages of the caller that are stored now. */
  readonly #added = new WeakSet<BaseMessage>()
  /** Whether the last reading showed nothing. */
  #isEmpty = false
  /** Ids of open calls, by the ids that the last reading showed for its provider. */
  #ownIds: ReadonlyMap<string, string> = new Map()

  constructor(options: UndertextChatMessageHistoryOptions) {
    // The base would keep what it is given where everybody can read it.
    super()
    this.#options = checked(options)
    turnsOf.set(this, {
      ...this.#options,
      find: (messages) => this.#find(messages),
      isAdded: (message) => this.#added.has(message),
    })
  }

  static override lc_name(): string {
    return 'UndertextChatMessageHistory'
  }

  /**
   * The messages of the session, by default what a model is to be sent: summaries and markers in place of what they stand
   * for, replacements shown, calls and results paired, as `renderHistory` makes it; save that calls at the very end stay
   * open, since their results may be what is added next. An unknown session has none.
   */
  async getMessages(): Promise<BaseMessage[]> {
    const read = await this.#read()
    const messages = toLangChain(read, this.#options.conversion)
    const reading = { read, shown: [...messages] }
    for (const message of messages) this.#shown.set(message, reading)
    this.#isEmpty = messages.length === 0
    return messages
  }

  /** Where a prompt holds what a reading showed, all of it and in one piece. */
  #find(messages: readonly BaseMessage[]): Place | undefined {
    if (this.#options.view === 'full') return undefined
    const from = messages.findIndex((message) => this.#shown.has(message))
    if (from === -1) return this.#isEmpty ? { from: 0, to: 0 } : undefined
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
   * Adds messages at the end, all or none, in one transaction. A result of an open call may name it by the id that was shown for
   * the provider.
   *
   * A message with an `id` that was added before with the same body is a retry and not written again; with another body it is a
   * message of its own. A message without an id is always new, and so is whatever stands behind it in the list: models that
   * repeat their ids lose no answer. The last messages of what this object handed out are not written again either when they stand,
   * unchanged, before new ones: `RunnableWithMessageHistory` passes them when the history became shorter while the model worked.
   *
   * Throws `INVALID_INPUT` for what no message of LangChain's can be, and for a `RemoveMessage`, since nothing is removed here:
   * `hideMessages` and `rewind` of the store hide messages so that it can be undone.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    if (!Array.isArray(messages)) throw invalid('addMessages: messages must be an array')
    const given = this.#withoutShown(messages)
    const removal = given.findIndex((message) => isObject(message) && message.type === 'remove')
    if (removal !== -1)
      throw invalid(
        `[${removal}].type: must not be remove: hideMessages and rewind of the store hide messages`,
      )
    const { store, sessionId, conversion } = this.#options
    const read = answeringOwn(fromLangChain(given, conversion), this.#ownIds)
    if (read.length === 0) return
    const added = [...given]
    await appendNamed(store, sessionId, keyed(read), this.#options)
    for (const message of added) this.#added.add(message)
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

  /**
   * The messages are stored, whatever becomes of this; the store's `compaction` events tell it, and the next call
   * tries again.
   */
  async #makeRoom(): Promise<void> {
    const { store, sessionId, compact, provider, model } = this.#options
    if (compact === false) return
    try {
      if (compact !== undefined) await store.compactSession(sessionId, compact === true ? {} : compact)
      else if (await store.needsCompaction(sessionId, provider, model))
        await store.compactSession(sessionId, {
          trigger: 'auto',
          ...(provider !== undefined && { provider }),
          ...(model !== undefined && { model }),
        })
    } catch (error) {
      if (!isUndertextError(error) || error.code === 'INVALID_INPUT') throw error
    }
  }

  /**
   * Hides every message, as one compaction of kind `manual` that `undoCompaction` of the store takes back. Nothing is
   * deleted. An unknown or empty session stays as it is.
   */
  override async clear(): Promise<void> {
    const { store, sessionId, actor } = this.#options
    this.#shown = new WeakMap()
    this.#ownIds = new Map()
    await unlessUnknown(
      store.rewind(sessionId, { from: 'start', keepCompactions: true, actor, reason: 'clear' }),
    )
  }
}

/** What was read at a time, and what it was handed out as. */
type Reading = { readonly read: readonly Message[]; readonly shown: readonly BaseMessage[] }

/** A provider that takes calls by any id. */
const ANY_IDS = 'litellm'

/** The options of a compaction are checked where it is done. */
const optionsSchema = z.strictObject({
  store: storeSchema<HistoryStore>(
    'append',
    'compactSession',
    'getMessages',
    'needsCompaction',
    'renderHistory',
    'rewind',
  ),
  sessionId: nameSchema,
  view: z.enum(['effective', 'full']).default('effective'),
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  owner: nameSchema.optional(),
  compact: z
    .union([z.boolean(), z.custom<CompactOptions>(isObject, 'must be options of compactSession')])
    .optional(),
  actor: nameSchema.default('langchain'),
  lenient: z.boolean().optional(),
  onNote: z
    .custom<(note: ConversionNote) => void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

type Checked = Omit<z.output<typeof optionsSchema>, 'lenient' | 'onNote'> & {
  readonly conversion: ConversionOptions
}

function checked(given: UndertextChatMessageHistoryOptions): Checked {
  const { lenient, onNote, ...options } = check(optionsSchema, given, 'UndertextChatMessageHistory')
  return { ...options, conversion: { lenient, onNote } }
}

/**
 * The same id with the same body is one message; the body is part of the key, so that another body is another message. Behind a
 * message without an id, which is always new, nothing can be a retry.
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

/** The id LangChain knows a message by, where it was read with one. A tool's message keeps it with its result. */
function messageIdOf(message: Message): string | undefined {
  const [first] = partsOf(message)
  const fields =
    first?.type === 'tool-result'
      ? keptFor(LANGCHAIN, first.providerOptions)
      : keptFor(LANGCHAIN, message.metadata)
  return typeof fields?.id === 'string' && fields.id !== '' ? fields.id : undefined
}

/**
 * The ids of open calls at the end of a history by the ids a provider's rendering gave them, where these are others. `shown` is
 * that rendering, `own` one with the calls' own ids.
 */
function ownIdsOf(shown: readonly Message[], own: readonly Message[]): ReadonlyMap<string, string> {
  const [renamed, calls] = [openCalls(shown), openCalls(own)]
  const isSame = ({ toolName, input }: ToolCallPart, i: number): boolean =>
    toolName === calls[i]?.toolName && isDeepStrictEqual(input, calls[i].input)
  if (renamed.length !== calls.length || !renamed.every(isSame)) return new Map()
  return new Map(renamed.map(({ toolCallId }, i) => [toolCallId, calls[i]!.toolCallId]))
}

/** Messages whose results of such calls name the calls by their own ids. */
function answeringOwn(messages: readonly Message[], ownIds: ReadonlyMap<string, string>): Message[] {
  if (ownIds.size === 0) return [...messages]
  const asked = new Set<string>()
  return messages.map((message) => {
    const parts = partsOf(message)
    for (const part of parts) if (part.type === 'tool-call') asked.add(part.toolCallId)
    const content = parts.map((part) => {
      const own = part.type === 'tool-result' && !asked.has(part.toolCallId) && ownIds.get(part.toolCallId)
      return own ? { ...part, toolCallId: own } : part
    })
    return content.some((part, i) => part !== parts[i]) ? { ...message, content } : message
  })
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
