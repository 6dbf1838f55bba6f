import { errorName, invalid, isUndertextError } from '../../errors.ts'
import { check, nameSchema, taken } from '../../messages/check.ts'
import { defined } from '../../messages/defined.ts'
import { isObject } from '../../messages/json.ts'
import type { NewMessage } from '../../messages/message.ts'
import { isContextOverflowError } from '../../overflow/overflow.ts'
import type { PrepareRequestOptions } from '../../requests/options.ts'
import type { PreparedRequest } from '../../requests/prepared.ts'
import type { RecordedResponse } from '../../requests/record.ts'
import type { Store } from '../../store/store.ts'
import { recordCall, withMethods } from '../recovering.ts'
import {
  type Answer,
  callModel,
  isFailedFinish,
  type ModelWork,
  messageOfAnswer,
  type SentRequest,
  stopReasonIn,
  usageIn,
} from './answers.ts'
import type { ChatStorage } from './chat/log.ts'
import {
  type CheckedOptions,
  callOptions,
  checkOptions,
  type SessionChoice,
  type UndertextOptions,
} from './options.ts'
import { fromSdkPrompt, storedMessage, toSdkPrompt } from './prompt.ts'
import { readSession, setAside } from './session-reading.ts'
import {
  namesOf,
  type SdkMessage,
  type SdkMiddleware,
  type SdkModel,
  type SdkParams,
  versionOf,
} from './types.ts'

/** How often an answer is recorded again when another writer appended meanwhile; after that it is appended wherever the log ends. */
const MOST_TRIES = 5

/** What the middleware needs of a store. */
export type UndertextStore = Pick<
  Store,
  | 'append'
  | 'getMessages'
  | 'hideMessages'
  | 'listCompactions'
  | 'recordResponse'
  | 'undoCompaction'
  | 'withOverflowRecovery'
>

/** One call of a model, and the new messages of its prompt. */
type Call = {
  readonly store: UndertextStore
  readonly options: CheckedOptions
  readonly id: string
  readonly params: SdkParams
  readonly model: SdkModel
  readonly provider: string
  readonly modelName: string
  readonly system: readonly SdkMessage[]
  /** The prompt without system messages. */
  readonly prompt: readonly NewMessage[]
  readonly fresh: readonly NewMessage[]
  /** The log's last position when the prompt was compared with it. */
  readonly position: number
  /** The compaction that hid the messages after the point that the application continues. */
  readonly aside: string | undefined
}

/**
 * A middleware for the AI SDK's `wrapLanguageModel` (ai 5, 6 and 7): `generateText`, `streamText` and what is built on them keep
 * their conversation in a session of the store, and are sent the session's view, compacted when it is due.
 *
 * - The log decides what is new in a prompt: an application may pass its new message alone or its whole history.
 * - New messages and the answer are stored together, once the answer is whole. A call that fails, a stream that breaks or
 *   is cancelled stores nothing (`keepPromptOnFailure` keeps the prompt).
 * - System messages of the prompt are sent and counted, and not stored.
 * - A request that overflows is compacted and sent again, before anything of the stream was passed on.
 *
 * `sessionId` may be left out when every call names its session: `providerOptions: { undertext: { sessionId } }`, which
 * takes precedence. Throws `INVALID_INPUT`; calls reject with that, with `CONTEXT_BUDGET_EXCEEDED`, with `HISTORY_DIVERGED`, with the
 * store's errors and with the model's own.
 */
export function undertext(
  store: UndertextStore,
  sessionId?: SessionChoice,
  options: UndertextOptions = {},
): SdkMiddleware {
  if (!isObject(store) || !('withOverflowRecovery' in store) || !('recordResponse' in store))
    throw invalid('undertext: store: must be a store, as `await openStore(…)` returns it')
  const checked = checkOptions(options)
  if (sessionId !== undefined && typeof sessionId !== 'function')
    check(nameSchema, sessionId, 'undertext: sessionId')

  const wrap = async <R>(
    method: 'doGenerate' | 'doStream',
    proceed: () => PromiseLike<R>,
    given: object,
    model: SdkModel,
  ): Promise<R> => {
    if (callOptions(given as SdkParams).skip === true) return proceed()
    const call = await beginCall(store, sessionId, checked, taken(given as SdkParams), model)
    const result = await callModel(model, method, {
      send: (work) => unlessFailed(call, () => send(call, work)),
      whole: (answer, request) => unlessFailed(call, () => recordAnswer(call, request, answer)),
      broken: () => endFailedCall(call),
    })
    return result as R
  }
  const middleware: Omit<SdkMiddleware, 'specificationVersion'> = {
    wrapGenerate: ({ doGenerate, params, model }) => wrap('doGenerate', doGenerate, params, model),
    wrapStream: ({ doStream, params, model }) => wrap('doStream', doStream, params, model),
  }
  return { specificationVersion: 'v3', ...middleware } as unknown as SdkMiddleware
}

async function unlessFailed<R>(call: Call, work: () => Promise<R>): Promise<R> {
  try {
    return await work()
  } catch (error) {
    await endFailedCall(call)
    const { abortSignal } = call.params
    // The caller knows the reason of its signal, and the AI SDK recognizes aborts by it.
    throw abortSignal?.aborted && isUndertextError(error, 'ABORTED') ? abortSignal.reason : error
  }
}

/** Reads a call's prompt against its session. Throws `INVALID_INPUT`, `HISTORY_DIVERGED` and the store's errors. */
async function beginCall(
  store: UndertextStore,
  sessionId: SessionChoice | undefined,
  options: CheckedOptions,
  params: SdkParams,
  model: SdkModel,
): Promise<Call> {
  const { provider = namesOf(model).provider, model: modelName = namesOf(model).model } = options
  const chosen =
    callOptions(params).sessionId ??
    (typeof sessionId === 'function' ? sessionId({ params, provider, model: modelName }) : sessionId)
  if (chosen === undefined)
    throw invalid('undertext: no session: pass a sessionId, or providerOptions: { undertext: { sessionId } }')
  const id = check(nameSchema, chosen, 'undertext: sessionId')
  const system = params.prompt.filter(({ role }) => role === 'system')
  const prompt = fromSdkPrompt(
    params.prompt.filter(({ role }) => role !== 'system'),
    provider,
  )
  const { fresh, beyond, position } = await readSession(store, id, prompt, options.history)
  const aside = await setAside(store, id, beyond, options)
  return { store, options, id, params, model, provider, modelName, system, prompt, fresh, position, aside }
}

/** Sends the request, shorter after an overflow. */
async function send<R>(call: Call, work: ModelWork<R>): Promise<SentRequest<R>> {
  const { options, params, id, provider, modelName: model, model: sdkModel, fresh: prompt } = call
  const { tools, maxOutputTokens, abortSignal: signal, providerOptions } = params
  const { undertext: own, ...others } = providerOptions ?? {}
  const system = call.system.map(({ content }) => content as string).join('\n\n')
  const more =
    typeof options.request === 'function' ? options.request({ sessionId: id, params }) : options.request
  return call.store.withOverflowRecovery(
    id,
    async (request) => {
      options.onPrepared?.(request)
      const rules = { ...more?.overflow, provider: request.provider }
      const isOverflow = (error: unknown): boolean => isContextOverflowError(error, rules)
      const target = { version: versionOf(sdkModel), provider }
      const sent = {
        ...params,
        prompt: [
          ...systemMessages(call.system, system, request.system),
          ...toSdkPrompt(request.messages, target),
        ],
        ...(own !== undefined && { providerOptions: others }),
      }
      return { request, result: await work(sent, isOverflow) }
    },
    {
      ...defined({ auto: options.auto }),
      ...more,
      provider,
      model,
      prompt,
      ...(system !== '' && { system }),
      ...defined({ tools, maxOutputTokens, signal }),
    },
  )
}

/** The system messages as they came, with their options; additions come after them. */
function systemMessages(
  given: readonly SdkMessage[],
  text: string,
  prepared: string | undefined,
): readonly SdkMessage[] {
  if (prepared === undefined || prepared === text) return given
  if (!prepared.startsWith(text)) return [{ role: 'system', content: prepared }]
  return [...given, { role: 'system', content: prepared.slice(text.length).replace(/^\n\n/, '') }]
}

/** Stores the new messages of the prompt and the answer, all or nothing. */
async function recordAnswer(call: Call, request: PreparedRequest, answer: Answer): Promise<void> {
  const { store, options, id, provider } = call
  if (isFailedFinish(answer.finishReason)) return endFailedCall(call)
  const message = messageOfAnswer(answer, provider)
  const messages = message === undefined ? [] : [message]
  const figures = defined({ usage: usageIn(answer, provider), stopReason: stopReasonIn(answer.finishReason) })
  let { fresh, position } = call
  for (let tries = 1; fresh.length > 0 || messages.length > 0; tries++) {
    const prompt = fresh.map(storedMessage)
    const expected = tries < MOST_TRIES && { expectedPosition: position }
    try {
      const result = await store.recordResponse(id, { messages, prompt, request, ...figures, ...expected })
      notifyRecorded(options, result)
      return
    } catch (error) {
      if (isUndertextError(error, 'POSITION_CONFLICT') && tries < MOST_TRIES) {
        // Another writer appended meanwhile, perhaps the same prompt.
        ;({ fresh, position } = await readSession(store, id, call.prompt, options.history))
        continue
      }
      // A failure after the append, such as in recording the usage, must not lead to a second append.
      if (await isStored(call, messages, position + fresh.length + messages.length)) return
      if (options.onRecordError === undefined) throw error
      options.onRecordError(error, { sessionId: id, prompt, messages })
      return
    }
  }
}

/** Whether prompt and answer end the log, at this position or after it. */
async function isStored(
  { store, id, prompt }: Call,
  answer: readonly NewMessage[],
  position: number,
): Promise<boolean> {
  try {
    const read = await readSession(store, id, [...prompt, ...answer], 'whole')
    return read.position >= position && read.fresh.length === 0 && read.beyond.length === 0
  } catch {
    // Unknown: the caller gets the first failure.
    return false
  }
}

/** The answer is stored: an error of the callback must not look as if it were not. */
function notifyRecorded({ onRecorded }: CheckedOptions, result: RecordedResponse): void {
  try {
    onRecorded?.(result)
  } catch (error) {
    process.emitWarning(`undertext: onRecorded threw ${errorName(error)}`, {
      type: 'UndertextWarning',
      code: 'UNDERTEXT_LISTENER',
    })
  }
}

/** After a call without a whole answer the session is as it was before, or has the prompt, when the options keep that. */
async function endFailedCall({ store, options, id, fresh, position, aside }: Call): Promise<void> {
  const prompt = fresh.map(storedMessage)
  try {
    if (!options.keepPromptOnFailure) {
      if (aside !== undefined) await store.undoCompaction(id, aside)
    } else if (prompt.length > 0) await store.append(id, prompt, { expectedPosition: position })
  } catch (error) {
    // The caller gets the failure of the call, which matters more.
    options.onRecordError?.(error, { sessionId: id, prompt, messages: [] })
  }
}

/** The turn that a model answers. */
type RecoveringTurn = {
  readonly store: ChatStorage
  readonly chatId: string
  /** The options of the turn's request. */
  readonly options: PrepareRequestOptions
  /** How many messages the turn returned; later ones in a call are the steps of its answer. */
  readonly messages: number
}

/**
 * A model for `streamText` that sends a request which overflows again, shorter, before anything of its stream was passed on, and records
 * the usage of each of its calls. The chat stores the messages.
 */
export function recoveringModel<M extends SdkModel>(model: M, turn: RecoveringTurn): M {
  const { store, chatId, options } = turn
  const { provider } = namesOf(model)
  const calling = (method: 'doGenerate' | 'doStream') => (params: SdkParams) =>
    callModel(model, method, {
      /** After an overflow the shorter history replaces the messages that the turn returned. */
      send: (work) =>
        store.withOverflowRecovery(
          chatId,
          async (request, attempt) => {
            const rules = { ...options.overflow, provider: request.provider }
            const isOverflow = (error: unknown): boolean => isContextOverflowError(error, rules)
            if (attempt === 1) return { request, result: await work(params, isOverflow) }
            const { system, messages } = request
            const steps = params.prompt.filter(({ role }) => role !== 'system').slice(turn.messages)
            const prompt = [
              ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
              ...toSdkPrompt(messages, { version: versionOf(model), provider }),
              ...steps,
            ]
            return { request, result: await work({ ...params, prompt }, isOverflow) }
          },
          { ...options, ...defined({ signal: params.abortSignal }) },
        ),
      whole: (answer, request) =>
        recordCall(store, { ...request, ...defined({ tools: params.tools }) }, usageIn(answer, provider)),
      broken: async () => {},
    })
  return withMethods(model, { doGenerate: calling('doGenerate'), doStream: calling('doStream') })
}
