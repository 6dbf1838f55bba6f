import { errorName, invalid, isUndertextError } from '../../errors.ts'
import { check, nameSchema, taken } from '../../messages/check.ts'
import type { NewMessage } from '../../messages/message.ts'
import { isContextOverflowError } from '../../overflow/overflow.ts'
import type { PreparedRequest } from '../../requests/prepared.ts'
import type { RecordedResponse } from '../../requests/record.ts'
import type { Store } from '../../store/store.ts'
import {
  type Answer,
  isFailedFinish,
  messageOfAnswer,
  stopReasonIn,
  unlessOverflow,
  usageIn,
  watchStream,
} from './answers.ts'
import {
  type CheckedOptions,
  callOptions,
  checkOptions,
  othersOptions,
  type SessionChoice,
  type UndertextOptions,
} from './options.ts'
import { fromSdkPrompt, storedMessage, toSdkPrompt } from './prompt.ts'
import { readSession, setAside } from './session-reading.ts'
import {
  namesOf,
  type SdkAnswer,
  type SdkMessage,
  type SdkMiddleware,
  type SdkModel,
  type SdkParams,
  type SdkStreamAnswer,
  versionOf,
} from './types.ts'

/** How often an answer is recorded anew when somebody else appended meanwhile; after that it goes behind whatever is there. */
const MOST_TRIES = 5

/** Stores what was new of the prompt and the answer, all or nothing. */
async function recordAnswer(call: Call, request: PreparedRequest, answer: Answer): Promise<void> {
  const { store, options, id, provider } = call
  const said = messageOfAnswer(answer, provider)
  const messages = said === undefined ? [] : [said]
  const usage = usageIn(answer, provider)
  const stopReason = stopReasonIn(answer.finishReason)
  let { fresh, position } = call
  for (let tries = 1; ; tries++) {
    if (fresh.length === 0 && messages.length === 0) return
    let result: RecordedResponse
    try {
      result = await store.recordResponse(id, {
        messages,
        prompt: fresh.map(storedMessage),
        request,
        ...(usage !== undefined && { usage }),
        ...(stopReason !== undefined && { stopReason }),
        ...(tries < MOST_TRIES && { expectedPosition: position }),
      })
    } catch (error) {
      if (isUndertextError(error, 'POSITION_CONFLICT') && tries < MOST_TRIES) {
        // Somebody appended meanwhile, perhaps the very prompt.
        ;({ fresh, position } = await readSession(store, id, call.prompt, options.history))
        continue
      }
      // What failed behind the append, noting the usage say, must not have it all told, and stored, once more.
      if (await isStored(call, messages, position + fresh.length + messages.length)) return
      if (options.onRecordError === undefined) throw error
      options.onRecordError(error, { sessionId: id, prompt: fresh.map(storedMessage), messages })
      return
    }
    tellRecorded(options, result)
    return
  }
}

/** Whether prompt and answer stand at the end of the log, up to this position at least. */
async function isStored(
  { store, id, prompt }: Call,
  said: readonly NewMessage[],
  position: number,
): Promise<boolean> {
  try {
    const read = await readSession(store, id, [...prompt, ...said], 'whole')
    return read.position >= position && read.fresh.length === 0 && read.beyond.length === 0
  } catch {
    // It cannot be told: the caller learns what failed first.
    return false
  }
}

/** The answer is stored: what a callback throws must not look as if it were not. */
function tellRecorded({ onRecorded }: CheckedOptions, result: RecordedResponse): void {
  try {
    onRecorded?.(result)
  } catch (error) {
    process.emitWarning(`undertext: onRecorded threw ${errorName(error)}`, {
      type: 'UndertextWarning',
      code: 'UNDERTEXT_LISTENER',
    })
  }
}

/** After a call without a whole answer the session is as it was before, or has the prompt where that is wanted. */
async function giveUp({ store, options, id, fresh, position, aside }: Call): Promise<void> {
  const prompt = fresh.map(storedMessage)
  try {
    if (!options.keepPromptOnFailure) {
      if (aside !== undefined) await store.undoCompaction(id, aside)
    } else if (prompt.length > 0) await store.append(id, prompt, { expectedPosition: position })
  } catch (error) {
    // The caller learns why the call failed, which weighs more.
    options.onRecordError?.(error, { sessionId: id, prompt, messages: [] })
  }
}

/**
 * A middleware for the AI SDK's `wrapLanguageModel` (ai 5, 6 and 7): `generateText`, `streamText` and what is built on them keep
 * their conversation in a session of the store, and are sent the session's view, compacted when it is due.
 *
 * - What of a prompt is new is told from the log: an application may pass its new message alone or its whole history.
 * - New messages and the answer are stored together, once the answer is whole. A call that fails, a stream that breaks or
 *   is cancelled stores nothing (`keepPromptOnFailure` keeps the prompt).
 * - System messages of the prompt are sent and counted, and not stored.
 * - A request that overflows is compacted and sent again, before anything of the stream was passed on.
 *
 * `sessionId` may be left out when every call names its session: `providerOptions: { undertext: { sessionId } }`, which
 * also goes before what is given here. Throws `INVALID_INPUT`; calls reject with that, with `CONTEXT_BUDGET_EXCEEDED`,
 * with `HISTORY_DIVERGED`, with the store's errors and with the model's own.
 */
export function undertext(
  store: UndertextStore,
  sessionId?: SessionChoice,
  options: UndertextOptions = {},
): SdkMiddleware {
  checkStore(store)
  const checked = checkOptions(options)
  if (sessionId !== undefined && typeof sessionId !== 'function')
    check(nameSchema, sessionId, 'undertext: sessionId')
  const begin = (params: object, model: SdkModel): Promise<Call> | undefined =>
    callOptions(params as SdkParams).skip === true
      ? undefined
      : beginCall({ store, sessionId, options: checked }, taken(params as SdkParams), model)

  const middleware = {
    specificationVersion: 'v3',
    async wrapGenerate<R>({
      doGenerate,
      params,
      model,
    }: WrapCall<R> & { readonly doGenerate: () => PromiseLike<R> }) {
      const call = await begin(params, model)
      if (call === undefined) return doGenerate()
      return unlessFailed(call, async () => {
        const { request, result } = await ask(
          call,
          async (sent) => (await model.doGenerate(sent as never)) as R,
        )
        const answer = answerOf(result as SdkAnswer)
        if (isFailedFinish(answer.finishReason)) await giveUp(call)
        else await recordAnswer(call, request, answer)
        return result
      })
    },
    async wrapStream<R>({
      doStream,
      params,
      model,
    }: WrapCall<R> & { readonly doStream: () => PromiseLike<R> }) {
      const call = await begin(params, model)
      if (call === undefined) return doStream()
      return unlessFailed(call, async () => {
        const { request, result } = await ask(call, async (sent, isOverflow) =>
          unlessOverflow((await model.doStream(sent as never)) as SdkStreamAnswer, isOverflow),
        )
        const stream = watchStream(result.stream, {
          whole: (answer) => unlessFailed(call, () => recordAnswer(call, request, answer)),
          broken: () => giveUp(call),
        })
        return { ...result, stream } as R
      })
    },
  }
  return middleware as unknown as SdkMiddleware
}

type WrapCall<_R> = { readonly params: object; readonly model: SdkModel }

function answerOf({ content, finishReason, usage, providerMetadata, response }: SdkAnswer): Answer {
  const responseId = typeof response?.id === 'string' ? response.id : undefined
  return { content, finishReason, usage, providerMetadata, responseId }
}

function checkStore(store: unknown): void {
  const isStore =
    typeof store === 'object' &&
    store !== null &&
    'withOverflowRecovery' in store &&
    'recordResponse' in store
  if (!isStore) throw invalid('undertext: store: must be a store, as `await openStore(…)` answers it')
}

async function unlessFailed<R>(call: Call, work: () => Promise<R>): Promise<R> {
  try {
    return await work()
  } catch (error) {
    await giveUp(call)
    const { abortSignal } = call.params
    // Whoever gave the signal knows its reason, and the AI SDK knows aborts by it.
    throw abortSignal?.aborted && isUndertextError(error, 'ABORTED') ? abortSignal.reason : error
  }
}

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

/** What the middleware was made with. */
type Setting = {
  readonly store: UndertextStore
  readonly sessionId: SessionChoice | undefined
  readonly options: CheckedOptions
}

/** One call of a model, and what of its prompt is new. */
export type Call = Setting & {
  readonly id: string
  readonly params: SdkParams
  readonly model: SdkModel
  readonly provider: string
  readonly modelName: string
  readonly system: readonly SdkMessage[]
  /** The prompt without system messages. */
  readonly prompt: readonly NewMessage[]
  readonly fresh: readonly NewMessage[]
  /** The log's last position when the prompt was read against it. */
  readonly position: number
  /** The compaction that took out of the view what the application did not go on from. */
  readonly aside: string | undefined
}

/** Reads a call's prompt against its session. Throws `INVALID_INPUT`, `HISTORY_DIVERGED` and what the store throws. */
export async function beginCall(setting: Setting, params: SdkParams, model: SdkModel): Promise<Call> {
  const { store, options } = setting
  const names = namesOf(model)
  const provider = options.provider ?? names.provider
  const modelName = options.model ?? names.model
  const id = sessionOf(setting, params, { provider, model: modelName })
  const system = params.prompt.filter(({ role }) => role === 'system')
  const spoken = params.prompt.filter(({ role }) => role !== 'system')
  const prompt = fromSdkPrompt(spoken, provider)
  const { fresh, beyond, position } = await readSession(store, id, prompt, options.history)
  const aside = await setAside(store, id, beyond, options)
  return { ...setting, id, params, model, provider, modelName, system, prompt, fresh, position, aside }
}

function sessionOf(
  { sessionId }: Setting,
  params: SdkParams,
  names: { readonly provider: string; readonly model: string },
): string {
  const chosen =
    callOptions(params).sessionId ??
    (typeof sessionId === 'function' ? sessionId({ params, ...names }) : sessionId)
  if (chosen === undefined)
    throw invalid('undertext: no session: pass a sessionId, or providerOptions: { undertext: { sessionId } }')
  return check(nameSchema, chosen, 'undertext: sessionId')
}

/** Sends the request, shorter when it overflows; answers what came, and the request it came of. */
export async function ask<R>(
  call: Call,
  send: (params: SdkParams, isOverflow: (error: unknown) => boolean) => Promise<R>,
): Promise<{ readonly request: PreparedRequest; readonly result: R }> {
  const { options, params, id } = call
  const system = call.system.map(({ content }) => content as string).join('\n\n')
  const more =
    typeof options.request === 'function' ? options.request({ sessionId: id, params }) : options.request
  return call.store.withOverflowRecovery(
    id,
    async (request) => {
      options.onPrepared?.(request)
      const rules = { ...more?.overflow, provider: request.provider }
      const isOverflow = (error: unknown): boolean => isContextOverflowError(error, rules)
      return { request, result: await send(sentParams(call, system, request), isOverflow) }
    },
    {
      ...(options.auto !== undefined && { auto: options.auto }),
      ...more,
      provider: call.provider,
      model: call.modelName,
      prompt: call.fresh,
      ...(system !== '' && { system }),
      ...(params.tools !== undefined && { tools: params.tools }),
      ...(params.maxOutputTokens !== undefined && { maxOutputTokens: params.maxOutputTokens }),
      ...(params.abortSignal !== undefined && { signal: params.abortSignal }),
    },
  )
}

/** What the model is called with: everything as it came, but for the prompt. */
function sentParams(
  { params, model, provider, system }: Call,
  asked: string,
  request: PreparedRequest,
): SdkParams {
  const target = { version: versionOf(model), provider }
  const prompt = [...systemOf(system, asked, request.system), ...toSdkPrompt(request.messages, target)]
  return { ...params, prompt, ...othersOptions(params) }
}

/** The system messages as they came, with their options; what was added to them stands behind. */
function systemOf(
  given: readonly SdkMessage[],
  asked: string,
  prepared: string | undefined,
): readonly SdkMessage[] {
  if (prepared === undefined || prepared === asked) return given
  if (!prepared.startsWith(asked)) return [{ role: 'system', content: prepared }]
  return [...given, { role: 'system', content: prepared.slice(asked.length).replace(/^\n\n/, '') }]
}
