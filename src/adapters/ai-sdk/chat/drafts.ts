import { interruptedAnswer } from '../../../core/messages/added.ts'
import { isObject, type JsonObject } from '../../../core/messages/json.ts'
import type { NewMessage } from '../../../core/messages/message.ts'
import type { Turn } from '../../../store/turns.ts'
import { Conversion } from '../../conversion.ts'
import { AI_SDK } from '../fields.ts'
import { type UIMessageOptions, uiMessagesOf } from '../to-ui-messages.ts'
import type { UIMessageLike } from '../types.ts'
import { groupsOf, uiRowOf } from '../ui-rows.ts'
import { type GivenMessage, readGiven, type StoredUIMessage } from './log.ts'

/* The draft of an answer: what the model has said so far, kept beside the log until the answer is stored. */

/** Milliseconds between two flushes of a draft. */
const FLUSH_MS = 1_000

/** Keeps the draft of a turn while its answer streams. */
export class Drafting {
  readonly #turn: Turn
  readonly #answerId: () => string | undefined
  #newest: (() => readonly NewMessage[]) | undefined
  #timer: NodeJS.Timeout | undefined
  #flushed = Number.NEGATIVE_INFINITY
  #flushing: Promise<void> | undefined
  #isOver = false

  /** `answerId` returns the id of the answer's message once it is known. */
  constructor(turn: Turn, answerId: () => string | undefined) {
    this.#turn = turn
    this.#answerId = answerId
  }

  /** Flushes the answer so far within a second. `newest` is called then. */
  offer(newest: () => readonly NewMessage[]): void {
    this.#newest = newest
    if (this.#timer !== undefined || this.#isOver) return
    const delayMs = Math.max(0, this.#flushed + FLUSH_MS - performance.now())
    this.#timer = setTimeout(() => void this.flush(this.#newest!()).catch(() => undefined), delayMs).unref()
  }

  /** Flushes the answer so far. A draft that can't be stored doesn't disturb the answer; a lost turn shows at its end. */
  async flush(messages: readonly NewMessage[]): Promise<void> {
    this.#stopTimer()
    await this.#flushing
    if (this.#isOver || messages.length === 0) return
    this.#flushed = performance.now()
    const rows = messages.map((message) => ofAnswer(message, this.#answerId()))
    this.#flushing = this.#turn.flush(rows).catch(() => undefined)
    await this.#flushing
  }

  /** Ends the flushes before the answer is stored. */
  async stop(): Promise<void> {
    this.#isOver = true
    this.#stopTimer()
    await this.#flushing
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

function ofAnswer(message: NewMessage, id: string | undefined): NewMessage {
  if (id === undefined) return message
  const own = message.metadata?.[AI_SDK]
  const metadata = { ...message.metadata, [AI_SDK]: { ...(isObject(own) && own), ui: { id } } } as JsonObject
  return { ...message, metadata }
}

/**
 * Returns the answer that the rows of a draft make, as one that broke off; `undefined` if another answer follows the question by now. An
 * answer that continues the last message of the chat, such as after an approval, becomes a newer version of it.
 */
export function answerOfDraft(
  stored: readonly StoredUIMessage[],
  draft: readonly NewMessage[],
  tools: object | undefined,
  asBroken: (message: UIMessageLike) => UIMessageLike,
): GivenMessage | undefined {
  const last = stored.at(-1)
  const id = uiRowOf(draft[0]?.metadata)?.id
  const isContinued = last?.message.role === 'assistant' && last.message.id === id
  if (last?.message.role !== 'user' && !isContinued) return undefined
  const rows = isContinued ? [...last.rows, ...draft] : draft
  const options = tools === undefined ? {} : { tools: tools as UIMessageOptions['tools'] }
  const [message] = uiMessagesOf(groupsOf(rows), options, new Conversion('ai-sdk UIMessage'))
  if (message === undefined) return undefined
  const read = readGiven(asBroken(message), 'draft')
  return { ...read, rows: interruptedAnswer(read.rows) }
}
