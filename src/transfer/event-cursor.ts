import type { SourceEvent } from './source.ts'

/** The events of a file, conversation by conversation. */
export class EventCursor {
  readonly #events: AsyncIterator<SourceEvent>
  /** The event that was read ahead: the beginning of the next conversation. */
  #ahead: SourceEvent | undefined
  #isOver = false

  constructor(events: AsyncIterable<SourceEvent>) {
    this.#events = inConversations(events)[Symbol.asyncIterator]()
  }

  /** Goes to the next conversation, past what is left of the one at hand; false when there is none. */
  async next(): Promise<boolean> {
    while (this.#ahead === undefined && !this.#isOver) await this.#read()
    const isThere = this.#ahead !== undefined
    this.#ahead = undefined
    return isThere
  }

  /** What is left of the conversation at hand. */
  async *rest(): AsyncGenerator<SourceEvent, void, undefined> {
    for (;;) {
      const event = await this.#read()
      if (event === undefined) return
      yield event
    }
  }

  /** Gives up the reading. */
  async close(): Promise<void> {
    await this.#events.return?.()
  }

  /** The next event of the conversation at hand. */
  async #read(): Promise<SourceEvent | undefined> {
    if (this.#ahead !== undefined || this.#isOver) return undefined
    const { done, value } = await this.#events.next()
    if (done === true) this.#isOver = true
    else if (value.type === 'conversation') this.#ahead = value
    else return value
    return undefined
  }
}

/** Events that begin with a conversation: what is told before the first one belongs to it. */
export async function* inConversations(
  events: AsyncIterable<SourceEvent>,
): AsyncGenerator<SourceEvent, void, undefined> {
  let before: SourceEvent[] | undefined = []
  for await (const event of events) {
    if (before !== undefined) {
      const isBegun = event.type === 'conversation'
      if (!isBegun && event.type !== 'message') {
        before.push(event)
        continue
      }
      yield isBegun ? event : { type: 'conversation', at: {} }
      yield* before
      before = undefined
      if (isBegun) continue
    }
    yield event
  }
  if (before === undefined || before.length === 0) return
  yield { type: 'conversation', at: {} }
  yield* before
}
