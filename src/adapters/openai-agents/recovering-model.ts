import { isDeepStrictEqual } from 'node:util'
import { defined } from '../../core/messages/json.ts'
import { isBlankMessage } from '../../core/messages/message.ts'
import { readUsage } from '../../core/tokens/provider-usage.ts'
import type { PreparedRequest } from '../../store/requests/prepared.ts'
import {
  type AnswerPlace,
  begunIterable,
  recordSessionCall,
  type SessionNames,
  withMethods,
} from '../recovering.ts'
import { fromAgentItems } from './from-items.ts'
import type { AgentItem } from './item-shapes.ts'
import type { SessionStore } from './session-options.ts'

/** The fields of a model request that are read here. Source: `ModelRequest` of `@openai/agents-core`. */
type AgentRequest = {
  readonly input: string | readonly object[]
  readonly systemInstructions?: string | undefined
  readonly previousResponseId?: string | undefined
  readonly conversationId?: string | undefined
  readonly modelSettings?: { readonly maxTokens?: number | undefined }
  readonly tools?: readonly unknown[]
  readonly signal?: AbortSignal | undefined
}

/** A model of the SDK. */
export type AgentModel = {
  /** Calls the model once. */
  getResponse(request: never): Promise<object>
  /** Calls the model once and streams its answer. */
  getStreamedResponse(request: never): AsyncIterable<object>
}
/** A provider of models of the SDK. */
export type AgentModelProvider = {
  /** Returns the model of a name, or the default model. */
  getModel(name?: string): AgentModel | Promise<AgentModel>
}

/** The history as `getItems` returned it, and what was stored since. */
export type ReturnedHistory = {
  readonly shown: readonly AgentItem[]
  /** The number of messages stored after it. */
  readonly countStoredSince: () => Promise<number>
  /** Returns the same history as it is now, without messages stored after it. */
  readonly again: () => Promise<AgentItem[]>
}

/** The session a model is called in. */
type RecoveringSession = SessionNames & {
  readonly store: SessionStore
  readonly sessionId: string
  /** The history that was last returned; `undefined` if there is none. */
  readonly returned: () => ReturnedHistory | undefined
  /** Begins a call whose input ends with this item. The returned function takes the model's answer, which is stored later. */
  readonly beginCall: (last: object | undefined) => RecordAnswer
}

type RecordAnswer = (requestId: string, output: readonly object[]) => void
/** A request that is recorded after its answer. */
type SentCall = { readonly request: PreparedRequest; readonly recordAnswer: RecordAnswer }

/** Events of a stream before any content of the model. */
const PRELUDE: ReadonlySet<unknown> = new Set(['response_started', 'model'])

/** A model or model provider that replaces the given one; see `recovering` of `UndertextSession`. */
export function recovering<T extends AgentModel | AgentModelProvider>(
  target: T,
  session: RecoveringSession,
): T {
  if ('getResponse' in target) return recoveringModel(target as AgentModel, session) as T
  const provider = target as AgentModelProvider
  const getModel = async (name?: string): Promise<AgentModel> =>
    recoveringModel(await provider.getModel(name), { ...session, model: session.model ?? name })
  return withMethods(provider, { getModel }) as T
}

function recoveringModel(model: AgentModel, session: RecoveringSession): AgentModel {
  const getResponse = async (sent: AgentRequest): Promise<object> => {
    const { call, result } = await send(session, sent, (one) => model.getResponse(one as never))
    await record(session, call, result)
    return result
  }
  const getStreamedResponse = async function* (sent: AgentRequest): AsyncIterable<object> {
    const { call, result } = await send(session, sent, (one) =>
      begunIterable(model.getStreamedResponse(one as never), (event) => PRELUDE.has(typeOf(event))),
    )
    for await (const event of result) {
      if (typeOf(event) === 'response_done') await record(session, call, event)
      yield event
    }
  }
  return withMethods(model, { getResponse, getStreamedResponse })
}

function typeOf(event: object): unknown {
  return (event as { readonly type?: unknown }).type
}

async function record(
  { store }: RecoveringSession,
  call: SentCall | undefined,
  given: object,
): Promise<void> {
  if (call === undefined) return
  const { request, recordAnswer } = call
  const requestId = await recordSessionCall(store, request, await readUsage(given, request.provider))
  const { response = given } = given as { readonly response?: object }
  const { output } = response as { readonly output?: unknown }
  if (requestId !== undefined && Array.isArray(output)) recordAnswer(requestId, output)
}

/** Sends a request unchanged; after an overflow, with the shorter history instead of the one that the session returned. */
async function send<R>(
  { store, sessionId, provider, model, returned, beginCall }: RecoveringSession,
  sent: AgentRequest,
  work: (sent: AgentRequest) => Promise<R>,
): Promise<{ readonly call?: SentCall; readonly result: R }> {
  const history = returned()
  const input =
    typeof sent.input === 'string' ? [{ type: 'message', role: 'user', content: sent.input }] : sent.input
  const isOnServer = sent.previousResponseId !== undefined || sent.conversationId !== undefined
  const rest = history === undefined || isOnServer ? undefined : afterHistory(input, history.shown)
  if (history === undefined || rest === undefined) return { result: await work(sent) }
  const unstored = rest.slice(await history.countStoredSince())
  const { systemInstructions: system, tools, modelSettings, signal } = sent
  const maxOutputTokens = modelSettings?.maxTokens
  const recordAnswer = beginCall(input.at(-1))
  return store.withOverflowRecovery(
    sessionId,
    async (request, attempt) => {
      const isUnchanged = attempt === 1 && !request.compacted
      const input = isUnchanged ? sent.input : [...(await history.again()), ...rest]
      return { call: { request, recordAnswer }, result: await work({ ...sent, input }) }
    },
    {
      prompt: fromAgentItems(unstored, { lenient: true }).filter((message) => !isBlankMessage(message)),
      pendingCalls: 'keep',
      ...(tools !== undefined && tools.length > 0 && { tools }),
      ...defined({ provider, model, system, maxOutputTokens, signal }),
    },
  )
}

/**
 * The items of an input after the history; `undefined` when the input does not begin with the whole history.
 * The SDK drops calls without a result, and may drop the ids of reasoning.
 */
function afterHistory(input: readonly object[], shown: readonly AgentItem[]): readonly object[] | undefined {
  let at = 0
  for (const item of shown) {
    if (at < input.length && isSame(input[at]!, item)) at += 1
    else if (!DROPPED.test(String(item.type))) return undefined
  }
  return input.slice(at)
}

const DROPPED = /^reasoning$|_call$/

/** Whether two items are the same, apart from their ids. */
export function isSame(given: object, shown: object): boolean {
  return isDeepStrictEqual(withoutId(given), withoutId(shown))
}

/**
 * Returns where an answer is in stored items. Its items are stored one after the other, with results and input between answers. Items with
 * other ids belong to another answer.
 */
export function placeAt(
  items: readonly object[],
  at: number,
  [head, ...rest]: readonly object[],
): AnswerPlace | undefined {
  const given = items[at]!
  if (head === undefined || !isSame(given, head)) return undefined
  const [id, other] = [idOf(given), idOf(head)]
  if (id !== undefined && other !== undefined && id !== other) return undefined
  let end = at + 1
  for (const item of rest) if (end < items.length && isSame(items[end]!, item)) end += 1
  if (isOutput(items[at - 1]) || isOutput(items[end])) return undefined
  return { end, isCertain: id !== undefined && id === other }
}

function isOutput(item: object | undefined): boolean {
  const { role, type } = (item ?? {}) as { readonly role?: unknown; readonly type?: unknown }
  return role === 'assistant' || DROPPED.test(String(type))
}

function idOf(item: object): unknown {
  return (item as { readonly id?: unknown }).id
}

function withoutId(item: object): object {
  const { id: _id, ...rest } = item as { readonly id?: unknown }
  return rest
}
