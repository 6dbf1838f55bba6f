import { isContextOverflowError } from '../../../overflow/overflow.ts'
import type { PrepareRequestOptions } from '../../../requests/options.ts'
import type { PreparedRequest } from '../../../requests/prepared.ts'
import { recordCall, withMethods } from '../../recovering.ts'
import { type Answer, unlessOverflow, usageIn, watchStream } from '../answers.ts'
import { toSdkPrompt } from '../prompt.ts'
import {
  namesOf,
  type SdkAnswer,
  type SdkModel,
  type SdkParams,
  type SdkStreamAnswer,
  versionOf,
} from '../types.ts'
import type { ChatStorage } from './log.ts'

/** The turn a model is asked in. */
type RecoveringTurn = {
  readonly store: ChatStorage
  readonly chatId: string
  /** What the turn's request was prepared with. */
  readonly options: PrepareRequestOptions
  /** How many messages the turn handed out; what a call sends behind them are the steps of its answer. */
  readonly messages: number
}

/**
 * A model for `streamText` that sends a request which overflows again, shorter, before anything of its stream was passed on, and records
 * the usage of each of its calls. The chat stores the messages.
 */
export function recoveringModel<M extends SdkModel>(model: M, turn: RecoveringTurn): M {
  const doGenerate = async (params: SdkParams): Promise<unknown> => {
    const { request, result } = await ask(model, turn, params, (sent) => model.doGenerate(sent as never))
    await recordUsage(model, turn, request, params, result as unknown as Answer)
    return result
  }
  const doStream = async (params: SdkParams): Promise<unknown> => {
    const { request, result } = await ask(model, turn, params, async (sent, isOverflow) =>
      unlessOverflow((await model.doStream(sent as never)) as SdkStreamAnswer, isOverflow),
    )
    const stream = watchStream(result.stream, {
      whole: (answer) => recordUsage(model, turn, request, params, answer),
      broken: async () => {},
    })
    return { ...result, stream }
  }
  return withMethods(model, { doGenerate, doStream })
}

/** Sends a call as it came; when it overflows, with the shorter history in place of the messages the turn handed out. */
async function ask<R>(
  model: SdkModel,
  { store, chatId, options, messages }: RecoveringTurn,
  params: SdkParams,
  send: (params: SdkParams, isOverflow: (error: unknown) => boolean) => PromiseLike<R>,
): Promise<{ readonly request: PreparedRequest; readonly result: R }> {
  const target = { version: versionOf(model), provider: namesOf(model).provider }
  const spoken = params.prompt.filter(({ role }) => role !== 'system')
  const given = { ...options, ...(params.abortSignal !== undefined && { signal: params.abortSignal }) }
  return store.withOverflowRecovery(
    chatId,
    async (request, attempt) => {
      const rules = { ...options.overflow, provider: request.provider }
      const isOverflow = (error: unknown): boolean => isContextOverflowError(error, rules)
      if (attempt === 1) return { request, result: await send(params, isOverflow) }
      const shorter = toSdkPrompt(request.messages, target)
      const system =
        request.system === undefined ? [] : [{ role: 'system' as const, content: request.system }]
      const prompt = [...system, ...shorter, ...spoken.slice(messages)]
      return { request, result: await send({ ...params, prompt }, isOverflow) }
    },
    given,
  )
}

function recordUsage(
  model: SdkModel,
  { store }: RecoveringTurn,
  request: PreparedRequest,
  { tools }: SdkParams,
  answer: Pick<SdkAnswer, 'usage' | 'providerMetadata'>,
): Promise<void> {
  const usage = usageIn(answer as Answer, namesOf(model).provider)
  return recordCall(store, { ...request, ...(tools !== undefined && { tools }) }, usage)
}
