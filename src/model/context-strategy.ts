import type { ChatMessage } from './chat-message.ts'

/** A strategy of the caller's own, over messages of any form. Ours are such strategies too. Source: seed 000, checklist S0-09 to S0-13. */
export interface ContextStrategy<M = ChatMessage> {
  /** What results and the audit call it. Default "custom". */
  readonly name?: string
  /** Tokens of the messages, a whole number. */
  tokenEstimate(messages: readonly M[]): number
  shouldCompact(messages: readonly M[], tokenCount: number): boolean
  /** The shorter list. May fail; its error reaches the caller (conflict C-32). */
  compact(messages: readonly M[]): readonly M[] | Promise<readonly M[]>
}
