import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { invalid, UndertextError } from '../../../core/errors.ts'
import { check, nameSchema, ownerOption, taken } from '../../../core/messages/check.ts'
import { defined, isObject } from '../../../core/messages/json.ts'
import { type Message, partsOf, type StoredMessage } from '../../../core/messages/message.ts'
import { withStopReason } from '../../../core/messages/stop-reason.ts'
import type { Redaction } from '../../../storage/redaction.ts'
import type { Compaction } from '../../../storage/storage.ts'
import type { ContextStats } from '../../../store/compaction/stats.ts'
import type { SessionInput } from '../../../store/config/store-options.ts'
import type { PrepareRequestOptions } from '../../../store/requests/options.ts'
import type { PreparedRequest } from '../../../store/requests/prepared.ts'
import { redactionOf } from '../../../store/store.ts'
import { forkBeside } from '../../forks.ts'
import { ownedStore } from '../../owned-store.ts'
import { recordAnswers, recordNames } from '../../recovering.ts'
import { withRetries } from '../../retry.ts'
import { AI_SDK, keptPartTo } from '../fields.ts'
import { toolDefinitions, validateMessages } from '../load.ts'
import { toModelMessages } from '../model-messages.ts'
import {
  type ChatForkOptions,
  type ChatStatsOptions,
  type ChatStoreOptions,
  chatForkSchema,
  chatOptionsSchema,
  chatStatsSchema,
  type LoadOptions,
  loadSchema,
  type TurnOptions,
  turnSchema,
  type WithdrawOptions,
  withdrawSchema,
} from '../options.ts'
import { hideRows, whyOf } from '../session-reading.ts'
import {
  namesOf,
  type SdkModel,
  type SdkModelMessage,
  type SdkPart,
  type SdkUIMessage,
  type SdkVersion,
  type UIMessageLike,
  versionOf,
} from '../types.ts'
import { isToolPart } from '../ui-rows.ts'
import {
  type Chat,
  type ChatStorage,
  changeChat,
  type GivenMessage,
  isSameOrOlder,
  type OnConflict,
  readChat,
  readGiven,
  type SaveResult,
  type StoredUIMessage,
  type TargetMessage,
  targetOfSave,
} from './log.ts'
import { type LastCall, recoveringModel, type TurnAnswers, turnAnswers } from './recovering-model.ts'
import { type ChatRequest, lastMessageOf, readRequest, targetOfRequest } from './request.ts'

/** The argument of `save`. */
export type SaveInput = {
  readonly chatId: string
  /** The whole chat, as `onFinish` receives it. */
  readonly messages: readonly UIMessageLike[]
  /** How to save a list that doesn't continue the stored chat. Default: the option of the chat store. */
  readonly onConflict?: OnConflict | undefined
  /** `messageId` of the request's body: the edited or regenerated message. It and all later messages are rewound. */
  readonly messageId?: string | undefined
  /** The owner. Another owner's chat counts as not found; a chat without an owner is assigned this one. */
  readonly owner?: string
}

/** Chats of `useChat` in a store. */
export type ChatStore<UI_MESSAGE extends UIMessageLike = SdkUIMessage> = {
  /** Creates a chat and returns its id. Throws `SESSION_EXISTS`. */
  create(session?: SessionInput): Promise<string>
  /**
   * Returns the chat as people see it, validated by the AI SDK: all messages, including those compacted for models, except rewound ones
   * (regenerated answers, edited messages). Throws `SESSION_NOT_FOUND`, `AI_SDK_UNAVAILABLE`, and `INVALID_INPUT` for messages that the AI
   * SDK rejects.
   */
  load(chatId: string, options?: LoadOptions): Promise<UI_MESSAGE[]>
  /**
   * Stores a chat: appends new messages and rewinds removed ones, in one transaction. Saving the same chat again does nothing. If the list
   * doesn't continue the stored chat, that is a conflict (see `OnConflict`). Throws `INVALID_INPUT`, `HISTORY_DIVERGED`.
   */
  save(input: SaveInput): Promise<SaveResult>
  /**
   * Begins a turn. `request` is the body that `useChat` posts (a `ChatRequest`; it is checked): a message, an edit, tool results, or the
   * regeneration of an answer. Stores it, and returns the request for the model, compacted when necessary, and the function that stores the
   * answer. The application decides who may write to the chat.
   *
   * If the turn fails before the model answers, or this method itself throws, the request's message stays stored, so that it can be sent
   * again. If the message can never succeed (a file that the model rejects), `withdraw` removes it from the chat.
   *
   * Throws `INVALID_INPUT` (also for a user message without content), `MESSAGE_NOT_FOUND`, `APPROVAL_STORED` if another request stored the
   * approval of a call that has no result yet (see the option `repeatApproved`), and the errors of `prepareRequest`.
   */
  resume<const MODEL extends TurnOptions['model'] = undefined>(
    request: unknown,
    options?: Omit<TurnOptions, 'model'> & { readonly model?: MODEL },
  ): Promise<ChatTurn<UI_MESSAGE, MODEL>>
  /**
   * Hides a user message that has no answer, by default the last message of the chat. What an edit or a regeneration had replaced is shown
   * again. Returns whether there was such a message.
   */
  withdraw(chatId: string, options?: WithdrawOptions): Promise<boolean>
  /**
   * Copies a chat, as it is or as it was after or before a message, and returns the id of the new chat (`sessions.fork` of the store).
   * Messages keep their ids; messages that no chat stored get new ones. An edit or a regeneration in the new chat keeps the old branch.
   *
   * Throws `SESSION_NOT_FOUND`, `SESSION_EXISTS`, `MESSAGE_NOT_FOUND` for a message that the chat does not show, `INVALID_INPUT`.
   */
  fork(chatId: string, options?: ChatForkOptions): Promise<string>
  /**
   * Returns how full the context of a chat is, for a meter: `getContextStats` of the store, for the chat's own provider and model, with the
   * system prompt and tools of its last turn. `null` for a chat without messages. Throws `SESSION_NOT_FOUND`.
   */
  stats(chatId: string, options?: ChatStatsOptions): Promise<ContextStats | null>
}

/**
 * Creates a store for chats of the AI SDK's UI (`useChat`), with the functions that its guide to message persistence requires. The id of a
 * chat is the id of its session. `UI_MESSAGE` is the application's own type of messages. Throws `INVALID_INPUT`.
 */
export function chatStore<UI_MESSAGE extends UIMessageLike = SdkUIMessage>(
  store: ChatStorage,
  options: ChatStoreOptions = {},
): ChatStore<UI_MESSAGE> {
  if (!isObject(store) || !('prepareRequest' in store))
    throw invalid('chatStore: store: must be a store, as `await openStore(…)` returns it')
  const { onConflict, generateMessageId, actor, ...defaults } = check(chatOptionsSchema, options, 'chatStore')
  const redaction = redactionOf(store)
  return {
    async create(session = {}) {
      return (await store.sessions.create(session)).id
    },
    async load(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'load: chatId')
      const { owner, ...rest } = check(loadSchema, given, 'load')
      const validation = { ...defaults, ...rest }
      const { stored } = await readChat({ store: ownedStore(store, owner), chatId: id }, validation.tools)
      const messages = stored.map(({ message }) => message)
      await validateMessages(messages, validation, 'load')
      return messages as unknown as UI_MESSAGE[]
    },
    async save(input) {
      if (!isObject(input)) throw invalid('save: the argument must be an object')
      const chatId = check(nameSchema, input.chatId, 'save: chatId')
      const mode = check(chatOptionsSchema.shape.onConflict, input.onConflict, 'save: onConflict')
      const how = { onConflict: mode ?? onConflict ?? 'merge', messageId: input.messageId }
      const { owner } = check(z.object({ owner: ownerOption }), input, 'save')
      const given = givenMessages(taken(input.messages), redaction)
      const chat = { store: ownedStore(store, owner), chatId, actor, owner, redaction }
      const { appended: _, ...saved } = await changeChat(chat, ({ stored }) =>
        targetOfSave(chatId, stored, given, how),
      )
      return saved
    },
    async resume<MODEL>(request: unknown, given: object = {}) {
      if (!isObject(request)) throw invalid('resume: request must be an object')
      const chatId = check(nameSchema, request.id, 'resume: request.id')
      const options = check(turnSchema, given, 'resume')
      const { owner } = options
      const chat = { store: ownedStore(store, owner), chatId, actor, owner, redaction }
      const turn = await beginTurn(chat, taken(request as ChatRequest), options, defaults)
      const ids = { generateMessageId: generateMessageId ?? uuidv7 }
      return { ...turn, ...ids } as unknown as ChatTurn<UI_MESSAGE, MODEL>
    },
    async withdraw(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'withdraw: chatId')
      const { messageId, owner } = check(withdrawSchema, given, 'withdraw')
      return withdraw({ store: ownedStore(store, owner), chatId: id, actor, owner, redaction }, messageId)
    },
    async fork(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'fork: chatId')
      const { at, owner, ...named } = check(chatForkSchema, given, 'fork')
      const own = ownedStore(store, owner)
      return forkBeside(own, id, owner, named, at, async (name) => {
        const { stored } = await readChat({ store: own, chatId: id })
        return stored.find(({ message }) => message.id === name)?.rows
      })
    },
    async stats(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'stats: chatId')
      const { owner, tools, system, maxOutputTokens, ...chosen } = check(chatStatsSchema, given, 'stats')
      const own = ownedStore(store, owner)
      await own.sessions.get(id)
      const { provider, model } = namesIn(chosen)
      const definitions = await toolDefinitions(tools)
      const request = defined({ system, tools: definitions && [...definitions], maxOutputTokens })
      return own.getContextStats(id, provider, model, request)
    },
  }
}

async function withdraw(chat: Chat, messageId: string | undefined): Promise<boolean> {
  const { store, chatId, actor } = chat
  const { stored, added } = await readChat(chat)
  const at =
    messageId === undefined ? stored.length - 1 : stored.findIndex(({ message }) => message.id === messageId)
  const named = stored[at]
  if (named?.message.role !== 'user') return false
  if (stored.slice(at).some(({ message }) => message.role === 'assistant')) return false
  const [first, last] = [named.rows[0]!.position ?? 0, named.rows.at(-1)!.position ?? 0]
  const before = stored[at - 1]?.rows.at(-1)?.position ?? 0
  const rewinds = (await store.listCompactions(chatId)).filter(
    (compaction) => compaction.status === 'active' && whyOf(compaction) === 'rewound',
  )
  const hides = ({ coverage }: Compaction, from: number, to: number): boolean =>
    coverage.hidden.positions.some(([begin, end]) => from < begin && end < to)
  const regenerated = rewinds.findLast((one) => hides(one, last, Number.POSITIVE_INFINITY))
  // A regeneration stored nothing but the rewind of the former answer.
  const from = regenerated?.coverage.hidden.positions.at(-1)?.[1] ?? last
  const to = stored[at + 1]?.rows[0]?.position ?? Number.POSITIVE_INFINITY
  const beside = added.filter(({ position = 0 }) => from < position && position < to)
  const withdrawn = regenerated === undefined ? [...named.rows, ...beside] : beside
  if (withdrawn.length > 0) await hideRows(store, chatId, withdrawn, 'withdrawn', actor)
  const replaced = regenerated ?? rewinds.findLast((one) => hides(one, before, first))
  if (replaced !== undefined)
    await store.undoCompaction(chatId, replaced.id, { both: true, ...defined({ actor }) })
  return true
}

/** Checks the messages of a chat. Throws `INVALID_INPUT`, also for two messages with the same id. */
function givenMessages(messages: unknown, redaction: Redaction | undefined): GivenMessage[] {
  if (!Array.isArray(messages)) throw invalid('save: messages: must be an array')
  const given = messages.map((message, index) =>
    readGiven(message as UIMessageLike, `messages[${index}]`, redaction),
  )
  const seen = new Set<string>()
  for (const [index, { message }] of given.entries()) {
    if (seen.has(message.id)) throw invalid(`save: messages[${index}].id: is used by another message`)
    seen.add(message.id)
  }
  return given
}

/** The argument of a stream's `onFinish`. Source: `UIMessageStreamOnFinishCallback` of ai 6, `…OnEndCallback` of ai 7. */
export type AnswerEnd = {
  readonly responseMessage: UIMessageLike
  readonly isAborted?: boolean | undefined
  readonly finishReason?: string | undefined
  readonly outcome?: { readonly status: string } | undefined
}

/** A turn of a chat: the arguments for `streamText` and `toUIMessageStreamResponse`. */
export type ChatTurn<UI_MESSAGE, MODEL = TurnOptions['model']> = {
  readonly chatId: string
  /** For `streamText`: the view, prepared for the provider. */
  readonly messages: SdkModelMessage[]
  /**
   * For `streamText`: the given model, which now also sends a shorter request after an overflow, and records the usage of each call. A name
   * is returned unchanged.
   */
  readonly model: MODEL
  /** For `streamText`: the system prompt with its additions; absent when it is empty. */
  readonly system?: string
  /** For `streamText`: the middleware `undertext` must not store the turn again. */
  readonly providerOptions: { undertext: { skip: true } }
  /** The chat as people see it, with the request's message. */
  readonly originalMessages: UI_MESSAGE[]
  /** Returns the id of the answer. */
  readonly generateMessageId: () => string
  /**
   * Stores the answer; an empty answer is ignored. An answer that broke off (stopped, failed, or not finished by the model) ends with a
   * text in the state `streaming`, or with a call without a result.
   */
  readonly onFinish: (end: AnswerEnd) => Promise<void>
  /** The name of `onFinish` in ai 7. */
  readonly onEnd: (end: AnswerEnd) => Promise<void>
  /** The prepared request, with its token counts and compaction runs. */
  readonly request: PreparedRequest
  /** The change of the chat before the model is called. */
  readonly saved: SaveResult
}

/** Begins a turn; see `resume` of `chatStore`. */
async function beginTurn(
  chat: Chat,
  request: ChatRequest,
  options: TurnOptions,
  defaults: LoadOptions,
): Promise<Omit<ChatTurn<SdkUIMessage>, 'generateMessageId'>> {
  const { store, chatId } = chat
  const { tools, metadataSchema, dataSchemas, validate, system, maxOutputTokens, signal, repeatApproved } =
    options
  const validation = { ...defaults, ...defined({ tools, metadataSchema, dataSchemas, validate }) }
  const message = lastMessageOf(request)
  if (message !== undefined) await validateMessages([message], validation, 'resume')
  const read = readRequest(request, chat.redaction)
  if (read.message?.message.role === 'user' && !hasContent(read.message.message, isBlank))
    throw invalid("resume: request.message.parts: must have a text that isn't blank, or another part")
  const { appended: _, ...saved } = await changeChat(chat, async ({ stored, isRewound }) => {
    const target = targetOfRequest(chatId, read, stored, isRewound, runsOf(validation.tools))
    const toolCallIds = repeatApproved === true ? [] : approvedBefore(stored, target.messages)
    if (toolCallIds.length > 0)
      throw new UndertextError('APPROVAL_STORED', { sessionId: chatId, toolCallIds })
    const checked = new Set<TargetMessage | undefined>([...stored, read.message])
    const brought = target.messages.filter((one) => !checked.has(one)).map((one) => one.message)
    await validateMessages(brought, validation, 'resume')
    return target
  })
  const { stored } = await readChat(chat, validation.tools)
  const { version, ...names } = namesIn(options)
  const definitions = await toolDefinitions(validation.tools)
  const preparation = {
    // Without `tools` here, the turn may still have tools, so calls stay parts. If it has none, the AI SDK leaves out calls that the
    // provider rejects.
    ...(definitions === undefined && { toolUse: 'parts' as const }),
    ...defined({ tools: definitions }),
    ...options.request,
    ...defined({ ...names, system, maxOutputTokens, signal }),
    alsoReads: [AI_SDK],
    // A call that was just approved has no result yet: the AI SDK runs it next.
    ...(isAnsweredRequest(stored.at(-1)?.rows ?? []) && { pendingCalls: 'keep' as const }),
  }
  await recordNames(store, chatId, names)
  const prepared = await prepareTurn(store, chatId, preparation)
  const answers = turnAnswers()
  const lastCall: LastCall = { isWhole: true }
  const end = endOf(chat, saved, read.isRegeneration, { answers, lastCall })
  const prompt = promptOf(prepared, version)
  const originalMessages = stored.map((one) => one.message)
  const progress = { messages: prompt.messages, answers, lastCall }
  const turn = {
    ...{ store, chatId, request: prepared, ...progress },
    options: prepared.bound === undefined ? preparation : withoutAdditions(preparation),
  }
  return {
    chatId,
    messages: await withModelOutputs(prompt.messages, originalMessages, validation.tools),
    model: isModel(options.model) ? recoveringModel(options.model, turn) : options.model,
    ...defined({ system: prompt.system }),
    providerOptions: { undertext: { skip: true } },
    originalMessages,
    onFinish: end,
    onEnd: end,
    request: prepared,
    saved,
  }
}

/** The most times that a request is prepared because other writers append to the chat meanwhile. */
const MAX_PREPARATIONS = 5

/**
 * Prepares a turn. If the model binds its reasoning, the request's additions are stored after the user's message, because the answer
 * follows them.
 */
async function prepareTurn(
  store: ChatStorage,
  chatId: string,
  options: PrepareRequestOptions,
): Promise<PreparedRequest> {
  return withRetries(MAX_PREPARATIONS, ['POSITION_CONFLICT'], async (isLast) => {
    const prepared = await store.prepareRequest(chatId, options)
    if (prepared.bound === undefined || prepared.prompt.length === 0) return prepared
    // A message after calls whose tools run next would separate them from their results.
    if (options.pendingCalls === 'keep') return store.prepareRequest(chatId, withoutAdditions(options))
    await store.append(chatId, prepared.prompt, isLast ? {} : { expectedPosition: prepared.position })
    return prepared
  })
}

/** The options of the calls in a turn whose additions are stored. */
function withoutAdditions(options: PrepareRequestOptions): PrepareRequestOptions {
  const {
    injector: _,
    turnNumber: _turn,
    persistentContext: _context,
    notes: _notes,
    files: _files,
    ...rest
  } = options
  return rest
}

/** Returns a predicate of tool names: whether the server runs the tool, which then has `execute`. */
function runsOf(tools: object | undefined): (name: string) => boolean {
  return (name) => {
    const tool: unknown =
      tools !== undefined && Object.hasOwn(tools, name) ? (tools as Record<string, unknown>)[name] : undefined
    return isObject(tool) && typeof tool.execute === 'function'
  }
}

/** Calls at the end of a chat whose approval was stored before the request, and that have no result: their tools may be running. */
function approvedBefore(stored: readonly StoredUIMessage[], wanted: readonly TargetMessage[]): string[] {
  const [former, last] = [stored.at(-1)?.message, wanted.at(-1)?.message]
  if (former === undefined || former.id !== last?.id) return []
  const approved = (message: SdkUIMessage): string[] =>
    (message.parts as readonly SdkPart[]).flatMap(({ state, approval, toolCallId }) =>
      state === 'approval-responded' && isObject(approval) && approval.approved === true
        ? [String(toolCallId)]
        : [],
    )
  const now = new Set(approved(last))
  return approved(former).filter((id) => now.has(id))
}

function namesIn({ model, provider, version }: Pick<TurnOptions, 'model' | 'provider' | 'version'>): {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly version: SdkVersion
} {
  if (typeof model !== 'object') return { provider, model, version: version ?? 'v3' }
  const names = namesOf(model)
  const { specificationVersion } = model as { readonly specificationVersion?: unknown }
  const own = typeof specificationVersion === 'string' ? versionOf({ specificationVersion }) : 'v3'
  return { provider: provider ?? names.provider, model: names.model, version: version ?? own }
}

function isModel(model: unknown): model is SdkModel {
  return isObject(model) && typeof model.doStream === 'function'
}

/** Whether a chat ends with approval responses whose calls have no results yet. */
function isAnsweredRequest(rows: readonly Message[]): boolean {
  const last = rows.at(-1)
  return (
    last?.role === 'tool' &&
    partsOf(last).some(
      (part) => part.type === 'provider' && keptPartTo(part)?.type === 'tool-approval-response',
    )
  )
}

function endOf(
  chat: Chat,
  began: SaveResult,
  isRegeneration: boolean,
  { answers, lastCall }: { readonly answers: TurnAnswers; readonly lastCall: LastCall },
): (end: AnswerEnd) => Promise<void> {
  const { store, chatId, actor } = chat
  return async (end) => {
    if (!isObject(end)) throw invalid('onFinish: the argument must be an object with responseMessage')
    const given = taken(end.responseMessage)
    const responseMessage = isBroken(end) || !lastCall.isWhole ? withoutEnd(given) : given
    if (!hasContent(responseMessage)) {
      // The regeneration produced nothing: the earlier answer is restored.
      const { compactionId, rowsAppended } = began
      if (isRegeneration && compactionId !== undefined && rowsAppended === 0)
        await store.undoCompaction(chatId, compactionId, { both: true, ...defined({ actor }) })
      return
    }
    const read = readGiven(responseMessage, 'responseMessage', chat.redaction)
    const answer = { ...read, rows: withStopReason(read.rows, lastCall.stopReason) }
    let isLate = false
    const { lastRowId, rowsAppended, appended } = await changeChat(chat, ({ stored }) => {
      const isLastRow = ({ id }: StoredMessage): boolean => id === began.lastRowId
      isLate = began.lastRowId !== undefined && !stored.some(({ rows }) => rows.some(isLastRow))
      return { messages: withAnswer(stored, answer), isConflict: false }
    })
    const stored = appended.map(({ position }) => ({ position, existing: false }))
    const rows = appended.map(({ row }) => row)
    await recordAnswers(store, chatId, answers.take(rows, stored))
    if (!isLate || rowsAppended === 0 || lastRowId === undefined) return
    // The question was rewound meanwhile, so the answer is stored without becoming part of the chat. Others may have appended after it.
    const log = (await store.getMessages(chatId)).filter(({ kind }) => kind === 'message')
    const last = log.findIndex(({ id }) => id === lastRowId) + 1
    const late = log.slice(Math.max(0, last - rowsAppended), last)
    const visible = late.filter(({ hidden }) => !hidden)
    await hideRows(store, chatId, visible, 'late', actor)
  }
}

function withAnswer(stored: readonly StoredUIMessage[], answer: GivenMessage): readonly TargetMessage[] {
  const last = stored.at(-1)
  // The middleware already stored it, with the id of its row.
  if (last?.isOtherOrigin === true && isSameOrOlder(answer, last)) return stored
  const at = stored.findIndex(({ message }) => message.id === answer.message.id && message.id !== '')
  if (at === -1) return [...stored, answer]
  return stored.map((there, index) => (index === at && !isSameOrOlder(answer, there) ? answer : there))
}

/** Whether the AI SDK reports that an answer did not reach its end. */
function isBroken({ isAborted, finishReason, outcome }: AnswerEnd): boolean {
  const status = isObject(outcome) ? outcome.status : undefined
  return isAborted === true || finishReason === 'error' || status === 'aborted' || status === 'failed'
}

/**
 * Returns a broken answer in the AI SDK's form for an unfinished one: its last text is `streaming`, even if the provider had closed it.
 * After a result, an empty text is added. An open call already shows that the answer is unfinished.
 */
function withoutEnd(message: UIMessageLike): UIMessageLike {
  if (!hasContent(message) || !Array.isArray(message.parts)) return message
  const parts = message.parts as readonly SdkPart[]
  const at = parts.findLastIndex((part) => isObject(part) && (SPOKEN.has(part.type) || isToolPart(part)))
  const last = parts[at]
  if (last !== undefined && SPOKEN.has(last.type))
    return { ...message, parts: parts.with(at, { ...last, state: 'streaming' }) }
  if (last?.state === 'input-streaming' || last?.state === 'input-available') return message
  return { ...message, parts: [...parts, { type: 'text', text: '', state: 'streaming' }] }
}
const SPOKEN: ReadonlySet<unknown> = new Set(['text', 'reasoning'])

function isBlank(text: unknown): boolean {
  return typeof text === 'string' && text.trim() === ''
}

/** Whether a message has anything other than step marks and empty texts. */
function hasContent(message: unknown, isEmpty = (text: unknown): boolean => text === ''): boolean {
  if (!isObject(message) || !Array.isArray(message.parts)) return true
  return message.parts.some((part) => {
    if (!isObject(part)) return true
    if (part.type === 'text') return !isEmpty(part.text)
    // A signature may replace text that is not shown.
    if (part.type === 'reasoning') return part.text !== '' || part.providerMetadata !== undefined
    return part.type !== 'step-start'
  })
}

/**
 * A prepared request as input of `streamText`. Leading system messages (of the application, a summary) are added to the system prompt;
 * later ones become user messages, because ai 7 rejects system messages and ai 6 warns. Source: `standardizePrompt` of both.
 */
function promptOf(
  { system, messages }: PreparedRequest,
  version: SdkVersion,
): { readonly system?: string; readonly messages: SdkModelMessage[] } {
  const start = messages.findIndex(({ role }) => role !== 'system')
  const front = messages.slice(0, start === -1 ? messages.length : start)
  const texts = front
    .flatMap((message) => partsOf(message))
    .flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []))
  const whole = [...(system === undefined ? [] : [system]), ...texts]
  const rest = messages
    .slice(front.length)
    .map((message) => (message.role === 'system' ? { ...message, role: 'user' as const } : message))
  return {
    ...(whole.length > 0 && { system: whole.join('\n\n') }),
    messages: toModelMessages(rest, { version }),
  }
}

type ToModelOutput = (call: {
  readonly toolCallId: string
  readonly input: unknown
  readonly output: unknown
}) => unknown

/**
 * Converts results with `toModelOutput` of the application's tools, as `convertToModelMessages` of ai 6 and 7 does. The placeholder of a
 * compacted result is kept.
 */
async function withModelOutputs(
  messages: SdkModelMessage[],
  chat: readonly SdkUIMessage[],
  tools: object | undefined,
): Promise<SdkModelMessage[]> {
  const toModel = new Map(
    Object.entries(tools ?? {}).flatMap(([name, tool]) =>
      isObject(tool) && typeof tool.toModelOutput === 'function'
        ? [[name, tool.toModelOutput.bind(tool) as ToModelOutput] as const]
        : [],
    ),
  )
  if (toModel.size === 0) return messages
  const shownParts = new Map<unknown, SdkPart>()
  for (const part of chat.flatMap((message) => message.parts as readonly SdkPart[]))
    shownParts.set(part.toolCallId, part)

  const converted = async (part: SdkPart): Promise<SdkPart> => {
    const convert = part.type === 'tool-result' ? toModel.get(part.toolName as string) : undefined
    const shown = shownParts.get(part.toolCallId)
    if (convert === undefined || shown?.state !== 'output-available') return part
    const { input, output } = shown
    const stored = { type: typeof output === 'string' ? 'text' : 'json', value: output }
    if (!isDeepStrictEqual(part.output, stored)) return part
    return { ...part, output: await convert({ toolCallId: part.toolCallId as string, input, output }) }
  }
  return Promise.all(
    messages.map(async (message) => {
      if (typeof message.content === 'string') return message
      const content = await Promise.all((message.content as readonly SdkPart[]).map(converted))
      return { ...message, content } as SdkModelMessage
    }),
  )
}
