import { defined } from '../../../messages/defined.ts'
import { isContextOverflowError } from '../../../overflow/overflow.ts'
import type { PrepareRequestOptions } from '../../../requests/options.ts'
import type { PreparedRequest } from '../../../requests/prepared.ts'
import { recordCall, withMethods } from '../../recovering.ts'
import { type Answer, unlessOverflow, usageIn, watchStream } from '../answers.ts'
import { toSdkPrompt } from '../prompt.ts'
import { namesOf, type SdkModel, type SdkParams, type SdkStreamAnswer, versionOf } from '../types.ts'
import type { ChatStorage } from './log.ts'

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
  const record = (
    request: PreparedRequest,
    { tools }: SdkParams,
    answer: Pick<Answer, 'usage' | 'providerMetadata'>,
  ): Promise<void> => recordCall(store, { ...request, ...defined({ tools }) }, usageIn(answer, provider))

  /** Sends a call as it came; after an overflow, with the shorter history in place of the messages that the turn returned. */
  const send = <R>(
    params: SdkParams,
    work: (params: SdkParams, isOverflow: (error: unknown) => boolean) => PromiseLike<R>,
  ): Promise<{ readonly request: PreparedRequest; readonly result: R }> =>
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
    )

  const doGenerate = async (params: SdkParams): Promise<unknown> => {
    const { request, result } = await send(params, (sent) => model.doGenerate(sent as never))
    await record(request, params, result as unknown as Answer)
    return result
  }
  const doStream = async (params: SdkParams): Promise<unknown> => {
    const { request, result } = await send(params, async (sent, isOverflow) =>
      unlessOverflow((await model.doStream(sent as never)) as SdkStreamAnswer, isOverflow),
    )
    const stream = watchStream(result.stream, {
      whole: (answer) => record(request, params, answer),
      broken: async () => {},
    })
    return { ...result, stream }
  }
  return withMethods(model, { doGenerate, doStream })
}
