import type { Message, NewMessage } from '../../../core/messages/message.ts'
import type { Summarizer } from '../../../core/summarizers/summarizer.ts'
import { modelSummarizer } from '../../../store/compaction/model-summarizer.ts'

/* What answers in a chat: a question in, a streamed answer out. A backend does not use the store, so it can write summaries too. */

export type Question = {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly maxOutputTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly signal: AbortSignal
  /** Called with each piece of the answer as it arrives. */
  onText(text: string): void
}

/** Tokens as `recordResponse` takes them; `inputTokens` excludes those from a cache. */
export type ReplyUsage = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}

/** A complete answer. */
export type Reply = {
  readonly text: string
  /** As they are stored. */
  readonly messages: readonly NewMessage[]
  /** In the provider's words. */
  readonly stopReason?: string | undefined
  readonly usage?: ReplyUsage | undefined
  /** The model that answered, as its provider names it. */
  readonly model?: string | undefined
  /** Tools that the model tried to call. A chat runs none. */
  readonly calledTools: readonly string[]
}

export type Backend = {
  readonly kind: 'echo' | 'url' | 'ai-sdk'
  /** For people: "the offline echo", "gpt-4o at http://localhost:11434/v1". */
  readonly title: string
  /** Whose figures and rules apply; by default the session's own. */
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

/** A summarizer that asks a backend. Prices are not known here, so no cost is recorded. */
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
