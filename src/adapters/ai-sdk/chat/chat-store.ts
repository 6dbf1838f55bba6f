import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { invalid, isUndertextError, UndertextError } from '../../../core/errors.ts'
import { check, nameSchema, ownerOption, taken } from '../../../core/messages/check.ts'
import { defined, isObject } from '../../../core/messages/json.ts'
import { type Message, partsOf, type StoredMessage } from '../../../core/messages/message.ts'
import { withStopReason } from '../../../core/messages/stop-reason.ts'
import type { Redaction } from '../../../storage/redaction.ts'
import type { Compaction } from '../../../storage/storage.ts'
import { unlessUnknown } from '../../../store/arguments.ts'
import type { ContextStats } from '../../../store/compaction/stats.ts'
import type { SessionInput } from '../../../store/config/store-options.ts'
import type { PrepareRequestOptions } from '../../../store/requests/options.ts'
import type { PreparedRequest } from '../../../store/requests/prepared.ts'
import { redactionOf } from '../../../store/store.ts'
import type { Turn } from '../../../store/turns.ts'
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
import { answerOfDraft, Drafting } from './drafts.ts'
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
  /** The owner. Only this owner's chats are found, and new ones belong to the owner. */
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
   * The turn holds the chat until `onFinish` or `end` (`beginTurn` of the store): a second request waits up to 5 seconds, then throws
   * `TURN_IN_PROGRESS`. While the answer streams, `turn.model` keeps it in a draft, at most once per second; if the process dies, the next
   * turn stores the draft as an answer that broke off.
   *
   * If the turn fails before the model answers, or this method itself throws, the request's message stays stored, so that it can be sent
   * again. If the message can never succeed (a file that the model rejects), `withdraw` removes it from the chat.
   *
   * Throws `INVALID_INPUT` (also for a user message without content), `MESSAGE_NOT_FOUND`, `TURN_IN_PROGRESS`, `APPROVAL_STORED` if another
   * request stored the approval (see the option `repeatApproved`), and the errors of `prepareRequest`.
   */
  resume<const MODEL extends TurnOptions['model'] = undefined>(
    request: unknown,
    options?: Omit<TurnOptions, 'model'> & { readonly model?: MODEL },
  ): Promise<ChatTurn<UI_MESSAGE, MODEL>>
  /**
   * Hides a user message that has no answer, by default the last message of the chat, and ends a turn that would answer it. What an edit
   * or a regeneration had replaced is shown again. Returns whether there was such a message.
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
      const chat = { store: ownedStore(store, owner), chatId, actor, redaction }
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
      const chat = { store: ownedStore(store, owner), chatId, actor, redaction }
      const posted = taken(request as ChatRequest)
      const turn = await beginTurn(chat, posted, options, defaults, generateMessageId ?? uuidv7)
      return turn as unknown as ChatTurn<UI_MESSAGE, MODEL>
    },
    async withdraw(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'withdraw: chatId')
      const { messageId, owner } = check(withdrawSchema, given, 'withdraw')
      return withdraw({ store: ownedStore(store, owner), chatId: id, actor, redaction }, messageId)
    },
    async fork(chatId, given = {}) {
      const id = check(nameSchema, chatId, 'fork: chatId')
      const { at, owner, ...named } = check(chatForkSchema, given, 'fork')
      const own = ownedStore(store, owner)
      return forkBeside(own, id, named, at, async (name) => {
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
  const { store, chatId } = chat
  const { stored, added } = await readChat(chat)
  const at =
    messageId === undefined ? stored.length - 1 : stored.findIndex(({ message }) => message.id === messageId)
  const named = stored[at]
  if (named?.message.role !== 'user') return false
  if (stored.slice(at).some(({ message }) => message.role === 'assistant')) return false
  // The request failed, so its turn is over, and there is nothing to keep of its answer.
  const turn = await store.beginTurn(chatId, { takeOver: true })
  try {
    await turn.dropDraft()
    await withdrawFrom(chat, stored, added, at)
  } finally {
    await turn.end()
  }
  return true
}

/** Hides the user message at an index, which has no answer. */
async function withdrawFrom(
  { store, chatId, actor }: Chat,
  stored: readonly StoredUIMessage[],
  added: readonly StoredMessage[],
  at: number,
): Promise<void> {
  const named = stored[at]!
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
  /** The id of the turn (`sessions.activeTurn` of the store returns it while the turn is under way), such as for a resumable stream. */
  readonly id: string
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
   * text in the state `streaming`, or with a call without a result. Throws `TURN_LOST`, and stores nothing, if another turn took over.
   */
  readonly onFinish: (end: AnswerEnd) => Promise<void>
  /** The name of `onFinish` in ai 7. */
  readonly onEnd: (end: AnswerEnd) => Promise<void>
  /** Ends the turn without an answer, if the application fails before it streams one. Calling it after `onFinish` has no effect. */
  readonly end: () => Promise<void>
  /** The prepared request, with its token counts and compaction runs. */
  readonly request: PreparedRequest
  /** The change of the chat before the model is called. */
  readonly saved: SaveResult
}

/** Milliseconds in which an application calls the model after `resume`; a turn that fails before that doesn't block its chat for long. */
const STARTING_MS = 10_000

/** Begins a turn; see `resume` of `chatStore`. */
async function beginTurn(
  chat: Chat,
  request: ChatRequest,
  options: TurnOptions,
  defaults: LoadOptions,
  generateMessageId: () => string,
): Promise<ChatTurn<SdkUIMessage>> {
  const { tools, metadataSchema, dataSchemas, validate } = options
  const validation = { ...defaults, ...defined({ tools, metadataSchema, dataSchemas, validate }) }
  const message = lastMessageOf(request)
  if (message !== undefined) await validateMessages([message], validation, 'resume')
  const read = readRequest(request, chat.redaction)
  if (read.message?.message.role === 'user' && !hasContent(read.message.message, isBlank))
    throw invalid("resume: request.message.parts: must have a text that isn't blank, or another part")
  const begin = (): Promise<Turn> =>
    chat.store.beginTurn(chat.chatId, { ...options.turn, ...defined({ signal: options.signal }) })
  // A new chat is created with its first message, which nothing precedes.
  const known = await unlessUnknown(begin())
  let turn = known
  try {
    if (turn?.draft !== undefined) await settleDraft({ ...chat, turn }, options.draft, validation.tools)
    const saved = await storeRequest({ ...chat, turn }, read, options, validation)
    turn ??= await begin()
    return await startTurn({ ...chat, turn }, turn, { read, saved, options, validation, generateMessageId })
  } catch (error) {
    await turn?.end()
    throw error
  }
}

/** Stores the draft that an earlier turn left as an answer that broke off, or drops it. */
async function settleDraft(
  chat: Chat & { readonly turn: Turn },
  how: TurnOptions['draft'],
  tools: object | undefined,
): Promise<void> {
  const { turn } = chat
  if (how !== 'drop')
    await changeChat(chat, ({ stored }) => {
      const answer = answerOfDraft(stored, turn.draft!.messages, tools, withoutEnd)
      return { messages: answer === undefined ? stored : withAnswer(stored, answer), isConflict: false }
    })
  await turn.dropDraft()
}

/** Stores the message of a request. Throws `APPROVAL_STORED`. */
async function storeRequest(
  chat: Chat,
  read: ReturnType<typeof readRequest>,
  { repeatApproved }: TurnOptions,
  validation: LoadOptions,
): Promise<SaveResult> {
  const { chatId } = chat
  const { appended: _, ...saved } = await changeChat(chat, async ({ stored, isRewound }) => {
    const target = targetOfRequest(chatId, read, stored, isRewound, runsOf(validation.tools))
    const toolCallIds =
      repeatApproved === true ? [] : approvedBefore(stored, target.messages, read.message?.message)
    if (toolCallIds.length > 0)
      throw new UndertextError('APPROVAL_STORED', { sessionId: chatId, toolCallIds })
    const checked = new Set<TargetMessage | undefined>([...stored, read.message])
    const brought = target.messages.filter((one) => !checked.has(one)).map((one) => one.message)
    await validateMessages(brought, validation, 'resume')
    return target
  })
  return saved
}

/** A turn whose request is stored. */
type Started = {
  readonly read: ReturnType<typeof readRequest>
  readonly saved: SaveResult
  readonly options: TurnOptions
  readonly validation: LoadOptions
  readonly generateMessageId: () => string
}

async function startTurn(
  chat: Chat,
  held: Turn,
  { read, saved, options, validation, generateMessageId }: Started,
): Promise<ChatTurn<SdkUIMessage>> {
  const { store, chatId } = chat
  const { system, maxOutputTokens, signal } = options
  const { stored } = await readChat(chat, validation.tools)
  const { version, ...names } = namesIn(options)
  const definitions = await toolDefinitions(validation.tools)
  const isApproved = isAnsweredRequest(stored.at(-1)?.rows ?? [])
  const preparation = {
    // Without `tools` here, the turn may still have tools, so calls stay parts. If it has none, the AI SDK leaves out calls that the
    // provider rejects.
    ...(definitions === undefined && { toolUse: 'parts' as const }),
    ...defined({ tools: definitions }),
    ...options.request,
    ...defined({ ...names, system, maxOutputTokens, signal }),
    alsoReads: [AI_SDK],
    // A call that was just approved has no result yet: the AI SDK runs it next.
    ...(isApproved && { pendingCalls: 'keep' as const }),
  }
  await recordNames(store, chatId, names)
  const prepared = await prepareTurn(store, held, preparation)
  const answers = turnAnswers()
  const lastCall: LastCall = { isWhole: true }
  const originalMessages = stored.map((one) => one.message)
  const last = originalMessages.at(-1)
  // An answer after an approval or an output continues the assistant's message.
  let answerId = last?.role === 'assistant' ? last.id : undefined
  const drafting = new Drafting(held, () => answerId)
  const end = endOf(chat, saved, read.isRegeneration, { answers, lastCall, drafting, turn: held })
  const prompt = promptOf(prepared, version)
  const { idleMs } = held
  const onCall = (): void => {
    held.idleMs = idleMs
  }
  const progress = { messages: prompt.messages, answers, lastCall, drafting, onCall }
  const recovering = {
    ...{ store, chatId, request: prepared, ...progress },
    options: prepared.bound === undefined ? preparation : withoutAdditions(preparation),
  }
  // An approved tool runs before the model is called.
  if (isModel(options.model) && !isApproved) held.idleMs = Math.min(idleMs, STARTING_MS)
  return {
    chatId,
    id: held.id,
    messages: await withModelOutputs(prompt.messages, originalMessages, validation.tools),
    model: isModel(options.model) ? recoveringModel(options.model, recovering) : options.model,
    ...defined({ system: prompt.system }),
    providerOptions: { undertext: { skip: true } },
    originalMessages,
    generateMessageId: () => {
      const id = generateMessageId()
      answerId ??= id
      return id
    },
    onFinish: end,
    onEnd: end,
    end: () => held.end(),
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
  turn: Turn,
  options: PrepareRequestOptions,
): Promise<PreparedRequest> {
  const chatId = turn.sessionId
  return withRetries(MAX_PREPARATIONS, ['POSITION_CONFLICT'], async (isLast) => {
    const prepared = await store.prepareRequest(chatId, options)
    if (prepared.bound === undefined || prepared.prompt.length === 0) return prepared
    // A message after calls whose tools run next would separate them from their results.
    if (options.pendingCalls === 'keep') return store.prepareRequest(chatId, withoutAdditions(options))
    await turn.append(prepared.prompt, isLast ? {} : { expectedPosition: prepared.position })
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

/**
 * Calls at the end of a chat whose approval was stored before the request: those without a result, because their tools may have run, and if
 * the request brings nothing else, those that it responds to again.
 */
function approvedBefore(
  stored: readonly StoredUIMessage[],
  wanted: readonly TargetMessage[],
  posted: SdkUIMessage | undefined,
): string[] {
  const [former, last] = [stored.at(-1)?.message, wanted.at(-1)?.message]
  if (former === undefined || former.id !== last?.id) return []
  if (former === last && posted?.id === former.id) {
    const done = new Set((former.parts as readonly SdkPart[]).flatMap(doneCall))
    const again = respondedIn(posted).filter(({ toolCallId }) => done.has(toolCallId))
    if (again.length > 0) return again.map(({ toolCallId }) => String(toolCallId))
  }
  const approved = (message: SdkUIMessage): string[] =>
    respondedIn(message).flatMap(({ approval, toolCallId }) =>
      isObject(approval) && approval.approved === true ? [String(toolCallId)] : [],
    )
  const now = new Set(approved(last))
  return approved(former).filter((id) => now.has(id))
}

/** The id of a call that has a result. */
function doneCall({ state, toolCallId }: SdkPart): readonly unknown[] {
  return typeof state === 'string' && state.startsWith('output-') ? [toolCallId] : []
}

function respondedIn(message: SdkUIMessage): readonly SdkPart[] {
  return (message.parts as readonly SdkPart[]).filter(({ state }) => state === 'approval-responded')
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
  {
    answers,
    lastCall,
    drafting,
    turn,
  }: {
    readonly answers: TurnAnswers
    readonly lastCall: LastCall
    readonly drafting: Drafting
    readonly turn: Turn
  },
): (end: AnswerEnd) => Promise<void> {
  const { store, chatId, actor } = chat
  return async (end) => {
    if (!isObject(end)) throw invalid('onFinish: the argument must be an object with responseMessage')
    const given = taken(end.responseMessage)
    await drafting.stop()
    const responseMessage = isBroken(end) || !lastCall.isWhole ? withoutEnd(given) : given
    if (!hasContent(responseMessage)) {
      // The regeneration produced nothing: the earlier answer is restored.
      const { compactionId, rowsAppended } = began
      const isHeld = await dropsDraft(turn)
      if (isHeld && isRegeneration && compactionId !== undefined && rowsAppended === 0)
        await store.undoCompaction(chatId, compactionId, { both: true, ...defined({ actor }) })
      await turn.end()
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
    // If nothing had to be appended, the draft is still there.
    if (rowsAppended === 0) await dropsDraft(turn)
    await turn.end()
    if (!isLate || rowsAppended === 0 || lastRowId === undefined) return
    // The question was rewound meanwhile, so the answer is stored without becoming part of the chat. Others may have appended after it.
    const log = (await store.getMessages(chatId)).filter(({ kind }) => kind === 'message')
    const last = log.findIndex(({ id }) => id === lastRowId) + 1
    const late = log.slice(Math.max(0, last - rowsAppended), last)
    const visible = late.filter(({ hidden }) => !hidden)
    await hideRows(store, chatId, visible, 'late', actor)
  }
}

/** Removes the draft of a turn; returns `false` if the turn no longer holds the chat. */
async function dropsDraft(turn: Turn): Promise<boolean> {
  try {
    await turn.dropDraft()
    return true
  } catch (error) {
    if (!isUndertextError(error, 'TURN_LOST')) throw error
    return false
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
