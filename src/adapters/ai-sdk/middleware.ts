import { errorName, invalid, isUndertextError } from '../../core/errors.ts'
import { check, nameSchema, taken } from '../../core/messages/check.ts'
import { defined, isObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { wellFormed } from '../../core/messages/well-formed.ts'
import type { PreparedRequest } from '../../store/requests/prepared.ts'
import type { RecordedResponse } from '../../store/requests/record.ts'
import type { Store } from '../../store/store.ts'
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

/** The maximum number of attempts to record an answer. All but the last require an unchanged log; the last one appends at its end. */
const MAX_TRIES = 5

/** The store methods that the middleware needs. */
export type UndertextStore = Pick<
  Store,
  | 'append'
  | 'getMessages'
  | 'compactions'
  | 'listCompactions'
  | 'recordResponse'
  | 'undoCompaction'
  | 'withOverflowRecovery'
>

/** A call of a model, and the new messages of its prompt. */
type Call = Awaited<ReturnType<typeof beginCall>>

/**
 * Returns a middleware for the AI SDK's `wrapLanguageModel` (ai 5, 6 and 7). Each call of the model stores its conversation in a session
 * and sends the session's view, compacted when necessary.
 *
 * - The log decides which messages of a prompt are new: an application may pass only its new message, or its whole history.
 * - New messages and the answer are stored together when the answer is complete. A failed call and a broken or cancelled stream store
 *   nothing (`keepPromptOnFailure` stores the prompt).
 * - System messages of the prompt are sent and counted, but not stored.
 * - A request that overflows is compacted, and a request that is rejected for its content is repaired. Either is sent again before any part
 *   of the stream is passed on.
 *
 * A call can name its session with `providerOptions: { undertext: { sessionId } }`, which takes precedence over `sessionId`. Throws
 * `INVALID_INPUT`. Calls reject with `INVALID_INPUT`, `CONTEXT_BUDGET_EXCEEDED`, `HISTORY_DIVERGED`, or errors of the store or the model.
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
    // The AI SDK recognizes an abort by the reason of the caller's signal.
    throw abortSignal?.aborted && isUndertextError(error, 'ABORTED') ? abortSignal.reason : error
  }
}

/** Compares the prompt of a call with its session. Throws `INVALID_INPUT`, `HISTORY_DIVERGED` and the store's errors. */
async function beginCall(
  store: UndertextStore,
  sessionId: SessionChoice | undefined,
  options: CheckedOptions,
  params: SdkParams,
  model: SdkModel,
) {
  const { provider = namesOf(model).provider, model: modelName = namesOf(model).model } = options
  const chosen =
    callOptions(params).sessionId ??
    (typeof sessionId === 'function' ? sessionId({ params, provider, model: modelName }) : sessionId)
  if (chosen === undefined)
    throw invalid('undertext: no session: pass a sessionId, or providerOptions: { undertext: { sessionId } }')
  const id = check(nameSchema, chosen, 'undertext: sessionId')
  const system = params.prompt
    .filter(({ role }) => role === 'system')
    .map((message) => ({ ...message, content: wellFormed(message.content) }))
  const others = params.prompt.filter(({ role }) => role !== 'system')
  const prompt = fromSdkPrompt(others, provider)
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
  const promptOf = (request: PreparedRequest) => [
    ...systemMessages(call.system, system, request.system),
    ...toSdkPrompt(request.messages, { version: versionOf(sdkModel), provider }),
  ]
  return call.store.withOverflowRecovery(
    id,
    async (request) => {
      options.onPrepared?.(request)
      const sent = {
        ...params,
        prompt: promptOf(request),
        ...(own !== undefined && { providerOptions: others }),
      }
      return { request, result: await work(sent, { ...more?.overflow, provider: request.provider }) }
    },
    {
      ...defined({ auto: options.auto }),
      ...more,
      provider,
      model,
      prompt,
      ...(system !== '' && { system }),
      ...defined({ tools, maxOutputTokens, signal }),
      ...(options.validate === true && {
        validate: (request: PreparedRequest) => ({ prompt: promptOf(request), ...defined({ tools }) }),
      }),
    },
  )
}

/** The given system messages with their options, followed by the request's additions. */
function systemMessages(
  given: readonly SdkMessage[],
  text: string,
  prepared: string | undefined,
): readonly SdkMessage[] {
  if (prepared === undefined || prepared === text) return given
  if (!prepared.startsWith(text)) return [{ role: 'system', content: prepared }]
  return [...given, { role: 'system', content: prepared.slice(text.length).replace(/^\n\n/, '') }]
}

/** Stores the new messages of the prompt and the answer in one transaction. */
async function recordAnswer(call: Call, request: PreparedRequest, answer: Answer): Promise<void> {
  const { store, options, id, provider } = call
  if (isFailedFinish(answer.finishReason)) return endFailedCall(call)
  const message = messageOfAnswer(answer, provider)
  const messages = message === undefined ? [] : [message]
  const figures = defined({ usage: usageIn(answer, provider), stopReason: stopReasonIn(answer.finishReason) })
  let { fresh, position } = call
  for (let tries = 1; fresh.length > 0 || messages.length > 0; tries++) {
    // The request's additions stay in place, because reasoning may be bound to them.
    const sent = request.bound !== undefined && fresh === call.fresh ? request.prompt : fresh
    const prompt = sent.map(storedMessage)
    const expected = tries < MAX_TRIES && { expectedPosition: position }
    try {
      const result = await store.recordResponse(id, { messages, prompt, request, ...figures, ...expected })
      notifyRecorded(options, result)
      return
    } catch (error) {
      if (isUndertextError(error, 'POSITION_CONFLICT') && tries < MAX_TRIES) {
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

/** Whether the log ends with the prompt and the answer, at this position or later. */
async function isStored(
  { store, id, prompt }: Call,
  answer: readonly NewMessage[],
  position: number,
): Promise<boolean> {
  try {
    const read = await readSession(store, id, [...prompt, ...answer], 'whole')
    return read.position >= position && read.fresh.length === 0 && read.beyond.length === 0
  } catch {
    // Unknown: the caller gets the first error.
    return false
  }
}

/** Calls `onRecorded`. Its errors become warnings, because the answer is stored. */
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

/** Restores the session after a call without a complete answer, or stores the prompt if the options say so. */
async function endFailedCall({ store, options, id, fresh, position, aside }: Call): Promise<void> {
  const prompt = fresh.map(storedMessage)
  try {
    if (!options.keepPromptOnFailure) {
      if (aside !== undefined) await store.undoCompaction(id, aside)
    } else if (prompt.length > 0) await store.append(id, prompt, { expectedPosition: position })
  } catch (error) {
    // The caller gets the error of the call.
    options.onRecordError?.(error, { sessionId: id, prompt, messages: [] })
  }
}
