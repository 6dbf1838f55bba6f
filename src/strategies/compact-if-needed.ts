import type { ChatMessage } from '../plain/chat-message.ts'
import type { ContextStrategy } from './user-strategy.ts'

/**
 * What a loop does between turns (seed 000, checklist S0-15, S0-16): estimate, decide, and compact only if the strategy
 * said so. Answers the messages to go on with: those given, or what is left of them. Takes a strategy of your own too, and
 * rejects with what it throws.
 */
export async function compactIfNeeded(
  strategy: ContextStrategy,
  messages: readonly ChatMessage[],
): Promise<readonly ChatMessage[]> {
  const tokens = strategy.tokenEstimate(messages)
  return strategy.shouldCompact(messages, tokens) ? await strategy.compact(messages) : messages
}
