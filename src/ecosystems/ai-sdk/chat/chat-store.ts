import type { SessionInput } from '../../../config/store-options.ts'
import { invalid } from '../../../errors.ts'
import { check, nameSchema, taken } from '../../../messages/check.ts'
import { isObject } from '../../../messages/json.ts'
import { validateMessages } from '../load.ts'
import {
  type ChatStoreOptions,
  chatOptionsSchema,
  type LoadOptions,
  loadSchema,
  type TurnOptions,
} from '../options.ts'
import type { SdkUIMessage, UIMessageLike } from '../types.ts'
import {
  type ChatStorage,
  changeChat,
  type OnConflict,
  readChat,
  type SaveResult,
  targetOfSave,
} from './log.ts'
import type { ChatRequest } from './request.ts'
import { beginTurn, type ChatTurn, type TurnSetting } from './turn.ts'
import { type GivenMessage, readGiven } from './versions.ts'

/** The argument of `save`. */
export type SaveInput = {
  readonly chatId: string
  /** The whole chat, as `onFinish` receives it. */
  readonly messages: readonly UIMessageLike[]
  /** Default: that of the chat store. */
  readonly onConflict?: OnConflict | undefined
  /** The field of the request's body: the message that was edited or regenerated. It and all later messages are rewound. */
  readonly messageId?: string | undefined
}

/** Chats of `useChat`, kept in a store. */
export type ChatStore<UI_MESSAGE extends UIMessageLike = SdkUIMessage> = {
  /** Creates a chat and returns its id. Throws `SESSION_EXISTS`. */
  create(session?: SessionInput): Promise<string>
  /**
   * The chat as people see it, validated by the AI SDK: all messages, also those compacted for models, except rewound ones (regenerated
   * answers, edited messages). Throws `SESSION_NOT_FOUND`, `AI_SDK_UNAVAILABLE`, and `INVALID_INPUT` for what the AI SDK refuses.
   */
  load(chatId: string, options?: LoadOptions): Promise<UI_MESSAGE[]>
  /**
   * Stores a chat as it is now: appends new messages, and rewinds those it no longer has, in one transaction. Saving the same chat again
   * does nothing. A list that does not continue the stored chat is a conflict (see `OnConflict`). Throws `INVALID_INPUT`, `HISTORY_DIVERGED`.
   */
  save(input: SaveInput): Promise<SaveResult>
  /**
   * Begins a turn. `request` is a `ChatRequest` from a browser, checked here: a message, an edit, results of tools, or the regeneration of
   * an answer. Stores it, and returns what to send to the model, compacted when that is due, and the function that stores the answer. The
   * body `useChat` posts can be passed as it is; the application decides who may write to the chat.
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
    throw invalid('chatStore: store: must be a store, as `await openStore(…)` returns it')
  const { onConflict, generateMessageId, actor, ...defaults } = check(chatOptionsSchema, options, 'chatStore')
  const setting: TurnSetting = { store, defaults, generateMessageId, actor }
  return {
    async create(session = {}) {
      return (await store.createSession(session)).id
    },
    async load(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'load: chatId')
      const validation = { ...defaults, ...check(loadSchema, given, 'load') }
      const { stored } = await readChat(store, id, validation.tools)
      const messages = stored.map(({ message }) => message)
      await validateMessages(messages, validation, 'load')
      return messages as unknown as UI_MESSAGE[]
    },
    async save(input) {
      if (!isObject(input)) throw invalid('save: must be given an object')
      const chatId = check(nameSchema, input.chatId, 'save: chatId')
      const how = { onConflict: conflictMode(input.onConflict ?? onConflict), messageId: input.messageId }
      const given = givenMessages(taken(input.messages))
      return changeChat(store, chatId, ({ stored }) => targetOfSave(chatId, stored, given, how), actor)
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

/** Throws `INVALID_INPUT`, also for two messages with the same id. */
function givenMessages(messages: unknown): GivenMessage[] {
  if (!Array.isArray(messages)) throw invalid('save: messages: must be an array')
  const given = messages.map((message, index) => readGiven(message as UIMessageLike, `messages[${index}]`))
  const seen = new Set<string>()
  for (const [index, { message }] of given.entries()) {
    if (seen.has(message.id)) throw invalid(`save: messages[${index}].id: another message has it`)
    seen.add(message.id)
  }
  return given
}
