import { invalid } from '../../errors.ts'
import { check, nameSchema } from '../../messages/check.ts'
import type { NewMessage } from '../../messages/message.ts'
import { isContextOverflowError } from '../../overflow/overflow.ts'
import type { PreparedRequest } from '../../requests/prepared.ts'
import type { Store } from '../../store/store.ts'
import { fromSdkPrompt, toSdkPrompt } from './prompt.ts'
import { namesOf } from './provider-names.ts'
import { type SdkMessage, type SdkModel, type SdkParams, versionOf } from './sdk-types.ts'
import { readSession, setAside } from './session-reading.ts'
import { type CheckedOptions, callOptions, othersOptions, type SessionChoice } from './undertext-options.ts'

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
