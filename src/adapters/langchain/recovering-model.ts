import type { BaseLanguageModelInput } from '@langchain/core/language_models/base'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  type BaseMessageChunk,
  coerceMessageLikeToMessage,
  HumanMessage,
} from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import { concat } from '@langchain/core/utils/stream'
import { invalid } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import { isBlankMessage } from '../../core/messages/message.ts'
import { readUsage } from '../../core/tokens/provider-usage.ts'
import type { PreparedRequest } from '../../store/requests/prepared.ts'
import { begunIterable, recordSessionCall } from '../recovering.ts'
import {
  type HistoryTurns,
  type ModelAnswer,
  type Place,
  turnsOf,
  type UndertextChatMessageHistory,
} from './chat-message-history.ts'
import { fromLangChain } from './from-langchain.ts'
import { toLangChain } from './instances.ts'
import { LANGCHAIN } from './types.ts'

/** The options of a call that are read here. */
type CallOptions = RunnableConfig & { readonly tools?: unknown }

/** A call whose prompt has the history of a session. */
type Call = Omit<HistoryTurns, 'beginCall'> & {
  readonly recordAnswer: ReturnType<HistoryTurns['beginCall']>
  readonly history: UndertextChatMessageHistory
  readonly messages: readonly BaseMessage[]
  readonly place: Place
  readonly options: CallOptions
}

/**
 * Returns a LangChain chat model that recovers from overflows and rejections, and records usage, provider and model in the session of a
 * history. Use it in place of the model: `invoke`, `stream`, `batch`, `bindTools`, `withStructuredOutput` and chains work as with the model
 * itself.
 *
 * A request that overflows is compacted, and a request that is rejected for its content is repaired. Either is sent again before any part
 * of a response is passed on, with only the history in the prompt replaced. The history is `history` if given, else the history of
 * `RunnableWithMessageHistory`. If a prompt doesn't contain all messages of `getMessages`, unchanged and in one piece, it is sent as it is.
 *
 * Throws `INVALID_INPUT`. Calls reject with the errors of the model and of `withOverflowRecovery`.
 */
export function recoveringModel<M extends BaseChatModel>(model: M, history?: UndertextChatMessageHistory): M {
  if (typeof model?.getLsParams !== 'function')
    throw invalid(
      'recoveringModel: model must be a chat model; bind tools and settings to the returned model',
    )
  if (history !== undefined && !turnsOf.has(history))
    throw invalid('recoveringModel: history must be an UndertextChatMessageHistory')
  const callOf = (input: BaseLanguageModelInput, options: CallOptions = {}): Call | undefined =>
    findCall(history ?? (options.configurable?.messageHistory as typeof history), messagesOf(input), options)

  const invoke = async (input: BaseLanguageModelInput, options?: CallOptions): Promise<BaseMessage> => {
    const call = callOf(input, options)
    if (call === undefined) return model.invoke(input, options)
    const { request, result } = await ask(model, call, (sent) => model.invoke(sent, options))
    const { tool_calls: calls = [] } = result as Partial<AIMessage>
    const callIds = calls.map(({ id }) => id ?? '')
    await record(call, request, result, { text: result.text, callIds, message: result })
    return result
  }
  const streamIterator = async function* (input: BaseLanguageModelInput, options?: CallOptions) {
    const call = callOf(input, options)
    if (call === undefined) return yield* model._streamIterator(input, options)
    const { request, result } = await ask(model, call, (sent) =>
      begunIterable<BaseMessageChunk>(model._streamIterator(sent, options)),
    )
    let reported: BaseMessageChunk | undefined
    const texts: string[] = []
    const callIds: string[] = []
    for await (const chunk of result) {
      if ('usage_metadata' in chunk && chunk.usage_metadata !== undefined)
        reported = reported === undefined ? chunk : concat(reported, chunk)
      texts.push(chunk.text)
      const { tool_call_chunks: calls = [] } = chunk as Partial<AIMessageChunk>
      for (const { id } of calls) if (id !== undefined) callIds.push(id)
      yield chunk
    }
    await record(call, request, reported, { text: texts.join(''), callIds })
  }
  // Methods that derive a model, such as `bindTools`, derive it from this one.
  return Object.create(model, {
    invoke: { value: invoke, writable: true, configurable: true },
    _streamIterator: { value: streamIterator, writable: true, configurable: true },
  }) as M
}

/** Records the usage of a call. `answer` is stored by the history later. */
async function record(
  { store, recordAnswer }: Call,
  request: PreparedRequest,
  reported: BaseMessage | undefined,
  answer: ModelAnswer,
): Promise<void> {
  const requestId = await recordSessionCall(store, request, await readUsage(reported, request.provider))
  if (requestId !== undefined) recordAnswer(requestId, answer)
}

function messagesOf(input: BaseLanguageModelInput): readonly BaseMessage[] {
  if (typeof input === 'string') return [new HumanMessage(input)]
  return Array.isArray(input) ? input.map(coerceMessageLikeToMessage) : input.toChatMessages()
}

function findCall(
  history: UndertextChatMessageHistory | undefined,
  messages: readonly BaseMessage[],
  options: CallOptions,
): Call | undefined {
  const turns = history === undefined ? undefined : turnsOf.get(history)
  const place = turns?.find(messages)
  if (history === undefined || turns === undefined || place === undefined) return undefined
  return { ...turns, recordAnswer: turns.beginCall(messages.at(-1)), history, messages, place, options }
}

/** Sends a prompt unchanged; after an overflow, with the shorter history instead of the messages that the history returned. */
async function ask<R>(
  model: BaseChatModel,
  call: Call,
  send: (messages: BaseMessage[]) => Promise<R>,
): Promise<{ readonly request: PreparedRequest; readonly result: R }> {
  const { store, sessionId, history, messages, place, options, isAdded } = call
  const before = messages.slice(0, place.from)
  const after = messages.slice(place.to)
  const unstored = after.filter((message) => !isAdded(message))
  const system = before.filter(({ type }) => type === 'system')
  const others = before.filter(({ type }) => type !== 'system')
  const text = system.map((message) => message.text).join('\n\n')
  return store.withOverflowRecovery(
    sessionId,
    async (request, attempt) => {
      // If reasoning is bound, exactly the prepared request is sent, because it is recorded.
      if (request.bound !== undefined && others.length === 0)
        return { request, result: await send([...system, ...toLangChain(request.messages, call.conversion)]) }
      if (attempt === 1 && !request.compacted) return { request, result: await send([...messages]) }
      return { request, result: await send([...before, ...(await history.getMessages()), ...unstored]) }
    },
    {
      ...namesOf(model, call),
      prompt: fromLangChain([...others, ...unstored], { lenient: true }).filter(
        (message) => !isBlankMessage(message),
      ),
      pendingCalls: 'keep',
      alsoReads: [LANGCHAIN],
      ...(text !== '' && { system: text }),
      ...(Array.isArray(options.tools) && { tools: options.tools }),
      ...defined({ signal: options.signal }),
    },
  )
}

/** Provider and model: those of the history, else those that the model reports for traces, if it has a name. */
function namesOf(
  model: BaseChatModel,
  { provider, model: name, options }: Call,
): { provider?: string; model?: string } {
  const { ls_provider, ls_model_name } = model.getLsParams(options as never)
  return defined({
    provider: provider ?? (ls_model_name === undefined ? undefined : ls_provider),
    model: name ?? ls_model_name,
  })
}
