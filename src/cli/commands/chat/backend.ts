import type { Message, NewMessage } from '../../../core/messages/message.ts'
import type { Summarizer } from '../../../core/summarizers/summarizer.ts'
import { modelSummarizer } from '../../../store/compaction/model-summarizer.ts'

/* A backend takes a question and streams an answer. It doesn't use the store, so it can also write summaries. */

export type Question = {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly maxOutputTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly signal: AbortSignal
  /** Called with each piece of the answer as it arrives. */
  onText(text: string): void
}

/** Tokens in the form of `recordResponse`; `inputTokens` excludes tokens from a cache. */
export type ReplyUsage = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}

/** A complete answer. */
export type Reply = {
  readonly text: string
  /** The messages to store. */
  readonly messages: readonly NewMessage[]
  /** Why the model stopped, in the provider's words. */
  readonly stopReason?: string | undefined
  readonly usage?: ReplyUsage | undefined
  /** The model that answered, as its provider names it. */
  readonly model?: string | undefined
  /** The tools that the model tried to call. A chat doesn't run tools. */
  readonly calledTools: readonly string[]
}

export type Backend = {
  readonly kind: 'echo' | 'url' | 'ai-sdk'
  /** A name for people: "the offline echo", "gpt-4o at http://localhost:11434/v1". */
  readonly title: string
  /** The provider whose context window and rules apply. Default: the session's own. */
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Rejects with the server's own error, so that an overflow is recognized. */
  ask(question: Question): Promise<Reply>
}

/** An answer that is text alone. */
export function textReply(text: string, rest: Omit<Partial<Reply>, 'text' | 'messages'> = {}): Reply {
  const messages = text === '' ? [] : [{ role: 'assistant' as const, content: text }]
  return { text, messages, calledTools: [], ...rest }
}

/** Returns a summarizer that calls a backend. Prices are not known here, so no cost is recorded. */
export function summarizerBy(backend: Backend): Summarizer {
  const { provider, model, kind } = backend
  return modelSummarizer({
    name: kind,
    provider,
    model,
    async generate({ system, prompt, maxOutputTokens, temperature, signal }) {
      const reply = await backend.ask({
        system,
        messages: [{ role: 'user', content: prompt }],
        maxOutputTokens,
        temperature,
        signal,
        onText: () => {},
      })
      const { text, stopReason: finishReason, usage, model } = reply
      if (usage === undefined) return { text, finishReason, model }
      const { inputTokens, cacheReadTokens = 0, cacheCreationTokens = 0 } = usage
      // A summarizer counts tokens from a cache as input.
      const all = { ...usage, inputTokens: inputTokens + cacheReadTokens + cacheCreationTokens }
      return { text, finishReason, model, usage: all }
    },
  })
}
