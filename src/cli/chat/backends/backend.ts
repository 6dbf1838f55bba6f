import type { Message, NewMessage } from '../../../messages/message.ts'

/*
 * Who answers in a chat: one question in, one streamed answer out. A backend knows nothing of the store, so that the same ones write
 * summaries too.
 */

/** What a backend is asked. */
export type Question = {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly maxOutputTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly signal: AbortSignal
  /** Called with each piece of the answer as it comes. */
  onText(text: string): void
}

/** What `recordResponse` is told of tokens; those from a cache stand apart. */
export type ReplyUsage = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}

/** What it answers, when the answer is complete. */
export type Reply = {
  readonly text: string
  /** As it is stored. */
  readonly messages: readonly NewMessage[]
  /** In the provider's words. */
  readonly stopReason?: string | undefined
  readonly usage?: ReplyUsage | undefined
  /** The model that answered, as its provider names it. */
  readonly model?: string | undefined
  /** Tools the model wanted to call. A chat runs none. */
  readonly calledTools: readonly string[]
}

export type Backend = {
  readonly kind: 'echo' | 'url' | 'ai-sdk'
  /** For people: "the offline echo", "gpt-4o at http://localhost:11434/v1". */
  readonly title: string
  /** By which figures are counted and requests rendered. Absent: the session's own. */
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Rejects with whatever went wrong, in the server's own words, so that an overflow is known for one. */
  ask(question: Question): Promise<Reply>
}

/** An answer of nothing but text. */
export function textReply(text: string, rest: Omit<Partial<Reply>, 'text' | 'messages'> = {}): Reply {
  const messages = text === '' ? [] : [{ role: 'assistant' as const, content: text }]
  return { text, messages, calledTools: [], ...rest }
}
