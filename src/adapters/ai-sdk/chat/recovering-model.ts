import { defined } from '../../../core/messages/json.ts'
import { type Message, type NewMessage, partsOf, textsOf } from '../../../core/messages/message.ts'
import type { PrepareRequestOptions } from '../../../store/requests/options.ts'
import type { PreparedRequest } from '../../../store/requests/prepared.ts'
import { type AnswerPlace, recordCall, Unanswered, withMethods } from '../../recovering.ts'
import {
  type CallHandling,
  callModel,
  messageOfAnswer,
  type PartialAnswer,
  stopReasonIn,
  usageIn,
} from '../answers.ts'
import { fromSdkPrompt, toSdkPrompt } from '../prompt.ts'
import {
  namesOf,
  type SdkMessage,
  type SdkMessageLike,
  type SdkModel,
  type SdkModelMessage,
  type SdkParams,
  type SdkPart,
  versionOf,
} from '../types.ts'
import type { Drafting } from './drafts.ts'
import type { ChatStorage } from './log.ts'

/** The last call of a turn. */
export type LastCall = {
  /** Whether its answer is complete. */
  isWhole: boolean
  /** Why the model stopped, in the provider's words. */
  stopReason?: string | undefined
}

type RecoveringTurn = {
  readonly store: ChatStorage
  readonly chatId: string
  /** The options of the turn's request. */
  readonly options: PrepareRequestOptions
  readonly request: PreparedRequest
  /** The messages that the turn returned; later ones in a call are steps of its answer. */
  readonly messages: readonly SdkModelMessage[]
  readonly answers: TurnAnswers
  readonly lastCall: LastCall
  readonly drafting: Drafting
  /** Called when a call of the model begins. */
  readonly onCall: () => void
}

/**
 * A model for `streamText` that sends a shorter request after an overflow, before any part of the stream is passed on, and records the
 * usage of each call. The chat stores the messages. A prompt that does not begin with the messages of the turn, because `prepareStep`
 * changed them, is sent unchanged, and only its usage is recorded.
 */
export function recoveringModel<M extends SdkModel>(model: M, turn: RecoveringTurn): M {
  const { store, chatId, options, answers, lastCall, drafting } = turn
  const { provider } = namesOf(model)
  const calling = (method: 'doGenerate' | 'doStream') => (params: SdkParams) => {
    turn.onCall()
    lastCall.isWhole = false
    lastCall.stopReason = undefined
    const others = params.prompt.filter(({ role }) => role !== 'system')
    const steps = stepsAfter(turn.messages, others)
    if (steps === undefined) return callModel(model, method, unrecorded(turn, params, provider))
    const answered = answers.beginCall()
    const before = fromSdkPrompt(steps, provider)
    const draftOf = (answer: PartialAnswer): readonly NewMessage[] => {
      const message = messageOfAnswer(answer, provider)
      return message === undefined ? before : [...before, message]
    }
    drafting.offer(() => before)
    return callModel(model, method, {
      send: (work) =>
        store.withOverflowRecovery(
          chatId,
          async (request, attempt) => {
            const rules = { ...options.overflow, provider: request.provider }
            const isAsReturned = attempt === 1 && !request.compacted && request.bound === undefined
            if (isAsReturned) return { request, result: await work(params, rules) }
            // The request prepared with the tools of this call replaces the messages that the turn returned.
            const { system, messages } = request
            const prompt = [
              ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
              ...toSdkPrompt(messages, { version: versionOf(model), provider }),
            ]
            return { request, result: await work({ ...params, prompt }, rules) }
          },
          {
            ...options,
            ...(before.length > 0 && { prompt: before }),
            // The tools of this call: a step may have others, and a turn that was not given its tools has none.
            ...defined({ tools: params.tools, signal: params.abortSignal }),
          },
        ),
      whole: async (answer, request) => {
        lastCall.isWhole = true
        lastCall.stopReason = stopReasonIn(answer.finishReason)
        const requestId = await recordCall(store, request, usageIn(answer, provider))
        const message = messageOfAnswer(answer, provider)
        if (requestId !== undefined && message !== undefined) answered(requestId, message)
        // Its tools run next.
        if (answer.content.some(({ type }) => type === 'tool-call')) await drafting.flush(draftOf(answer))
      },
      broken: async () => {},
      grown: (sofar) => drafting.offer(() => draftOf(sofar())),
    })
  }
  return withMethods(model, { doGenerate: calling('doGenerate'), doStream: calling('doStream') })
}

/** An epoch that no view has. */
const NO_VIEW = Number.MAX_SAFE_INTEGER

/** Records a call whose prompt isn't the turn's: its usage counts in the totals, but doesn't measure a view. */
function unrecorded(
  { store, request, lastCall }: RecoveringTurn,
  params: SdkParams,
  provider: string,
): CallHandling {
  const rules = { provider: request.provider }
  return {
    send: async (work) => ({ request, result: await work(params, rules) }),
    whole: async (answer) => {
      lastCall.isWhole = true
      await recordCall(store, request, usageIn(answer, provider), { viewEpoch: NO_VIEW })
    },
    broken: async () => {},
  }
}

/** The answers of a turn that are not stored yet. Each step of an answer becomes one assistant row. */
export type TurnAnswers = Unanswered<NewMessage, Message>

/** Creates an empty list of answers. */
export function turnAnswers(): TurnAnswers {
  return new Unanswered({ placeAt, isSame: () => false })
}

function placeAt(rows: readonly NewMessage[], at: number, answer: Message): AnswerPlace | undefined {
  const row = rows[at]!
  if (row.role !== 'assistant' || textAndCalls(row) !== textAndCalls(answer)) return undefined
  return { end: at + 1, isCertain: false }
}

/** The texts and calls of a message. */
function textAndCalls(message: Message): string {
  const calls = partsOf(message).flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
  return JSON.stringify([textsOf(message).join(''), calls])
}

/**
 * The messages of a prompt after those of the turn, which the AI SDK may join; `undefined` when the prompt does not begin with all of
 * them. Outputs and files are not compared: tools and the AI SDK convert them.
 */
function stepsAfter(
  turn: readonly SdkMessageLike[],
  prompt: readonly SdkMessage[],
): readonly SdkMessage[] | undefined {
  const marks = turn.flatMap(({ role, content }) => partsIn(content).flatMap((part) => markOf(role, part)))
  let at = 0
  const steps: SdkMessage[] = []
  for (const message of prompt) {
    const later: SdkPart[] = []
    let isStep = false
    for (const part of partsIn(message.content)) {
      const [mark] = markOf(message.role, part)
      if (at === marks.length) {
        later.push(part)
        isStep ||= mark !== undefined
      } else if (mark !== undefined && mark !== marks[at++]) return undefined
    }
    if (isStep) steps.push({ ...message, content: later })
  }
  return at === marks.length ? steps : undefined
}

function partsIn(content: SdkMessageLike['content']): readonly SdkPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly SdkPart[])
}

/** The values by which a part is compared; none for empty texts and approvals, which aren't in every prompt. */
function markOf(role: string, { type, text, toolCallId }: SdkPart): readonly string[] {
  if (type === 'text' || type === 'reasoning') return text === '' ? [] : [`${role} ${type} ${text}`]
  if (type === 'tool-call' || type === 'tool-result') return [`${type} ${toolCallId}`]
  return type.startsWith('tool-approval') ? [] : [`${role} file`]
}
