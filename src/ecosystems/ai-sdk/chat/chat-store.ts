import type { SessionInput } from '../../../config/store-options.ts'
import { invalid } from '../../../errors.ts'
import { check, nameSchema, taken } from '../../../messages/check.ts'
import { isObject } from '../../../messages/json.ts'
import { validated } from '../load.ts'
import {
  type ChatStoreOptions,
  chatOptionsSchema,
  type LoadOptions,
  loadSchema,
  type TurnOptions,
} from '../options.ts'
import type { SdkUIMessage, UIMessageLike } from '../types.ts'
import { type ChatStorage, changeChat, type OnConflict, readChat, type SaveResult, targetOf } from './log.ts'
import type { ChatRequest } from './request.ts'
import { beginTurn, type ChatTurn, type TurnSetting } from './turn.ts'
import { type Given, givenAt } from './versions.ts'

/** What is saved. */
export type SaveInput = {
  readonly chatId: string
  /** The whole chat, as `onFinish` tells it. */
  readonly messages: readonly UIMessageLike[]
  /** Default: that of the chat store. */
  readonly onConflict?: OnConflict | undefined
  /** What the body of the request names so: the message that was edited or said anew. What stands from it on is taken back. */
  readonly messageId?: string | undefined
}

/** Chats of `useChat`, kept in a store. */
export type ChatStore<UI_MESSAGE extends UIMessageLike = SdkUIMessage> = {
  /** Makes a chat and answers its id. Throws `SESSION_EXISTS`. */
  create(session?: SessionInput): Promise<string>
  /**
   * The chat as people see it, validated by the AI SDK: everything that was said, also where it was compacted for models; without what was
   * taken back (answers made anew, edited messages). Throws `SESSION_NOT_FOUND`, `AI_SDK_UNAVAILABLE`, and `INVALID_INPUT`
   * for what the AI SDK refuses.
   */
  load(chatId: string, options?: LoadOptions): Promise<UI_MESSAGE[]>
  /**
   * Stores a chat as it is now: appends what is new, and takes back what it no longer says, in one transaction. The same again does nothing.
   * What does not go on from what stands is a conflict (see `OnConflict`). Throws `INVALID_INPUT`, `HISTORY_DIVERGED`.
   */
  save(input: SaveInput): Promise<SaveResult>
  /**
   * Begins a turn. `request` is a `ChatRequest`, checked here, for it comes from a browser: stores what a browser sent (a message, an edit, the results of its tools, that an answer is to be made anew), and
   * answers what the model is to be sent, compacted when that is due, and what stores the answer. The body `useChat` posts can be passed as
   * it is; who may write to the chat is the application's business.
   *
   * Throws `INVALID_INPUT`, `MESSAGE_NOT_FOUND`, what `prepareRequest` throws.
   */
  resume<const MODEL extends TurnOptions['model'] = undefined>(
    request: unknown,
    options?: Omit<TurnOptions, 'model'> & { readonly model?: MODEL },
  ): Promise<ChatTurn<UI_MESSAGE, MODEL>>
}

/**
 * Keeps chats of the AI SDK's UI (`useChat`) in a store: the functions its guide to message persistence asks for. The id of a chat is that
 * of a session. `UI_MESSAGE` is the application's own type of messages. Throws `INVALID_INPUT`.
 */
export function chatStore<UI_MESSAGE extends UIMessageLike = SdkUIMessage>(
  store: ChatStorage,
  options: ChatStoreOptions = {},
): ChatStore<UI_MESSAGE> {
  if (!isObject(store) || !('prepareRequest' in store))
    throw invalid('chatStore: store: must be a store, as `await openStore(…)` answers it')
  const { onConflict, generateMessageId, actor, ...defaults } = check(chatOptionsSchema, options, 'chatStore')
  const setting: TurnSetting = { store, defaults, generateMessageId, actor }
  return {
    async create(session = {}) {
      return (await store.createSession(session)).id
    },
    async load(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'load: chatId')
      const validation = { ...defaults, ...check(loadSchema, given, 'load') }
      const { standing } = await readChat(store, id, validation.tools)
      const messages = standing.map(({ message }) => message)
      await validated(messages, validation, 'load')
      return messages as unknown as UI_MESSAGE[]
    },
    async save(input) {
      if (!isObject(input)) throw invalid('save: must be given an object')
      const chatId = check(nameSchema, input.chatId, 'save: chatId')
      const how = { onConflict: conflictMode(input.onConflict ?? onConflict), messageId: input.messageId }
      const given = givenMessages(taken(input.messages))
      return changeChat(store, chatId, ({ standing }) => targetOf(chatId, standing, given, how), actor)
    },
    async resume<MODEL>(request: unknown, given: object = {}) {
      if (!isObject(request)) throw invalid('resume: must be given the body of a request')
      const chatId = check(nameSchema, request.id, 'resume: request.id')
      const turn = await beginTurn<UI_MESSAGE>(setting, chatId, taken(request as ChatRequest), given)
      return turn as ChatTurn<UI_MESSAGE, MODEL>
    },
  }
}

function conflictMode(mode: OnConflict = 'merge'): OnConflict {
  if (mode !== 'merge' && mode !== 'replace' && mode !== 'error')
    throw invalid('save: onConflict: must be merge, replace or error')
  return mode
}

/** Throws `INVALID_INPUT`, also for two messages with one id: which is meant could not be told. */
function givenMessages(messages: unknown): Given[] {
  if (!Array.isArray(messages)) throw invalid('save: messages: must be an array')
  const given = messages.map((message, index) => givenAt(message as UIMessageLike, `messages[${index}]`))
  const seen = new Set<string>()
  for (const [index, { message }] of given.entries()) {
    if (seen.has(message.id)) throw invalid(`save: messages[${index}].id: another message has it`)
    seen.add(message.id)
  }
  return given
}
