import type { ChatMessage } from 'undertext'
import { estimateMessagesTokens } from 'undertext/tokens'
import { partsOf } from './parts.ts'

/**
 * The newest messages that take at most `budget` tokens: a window that begins before no result whose call it
 * leaves out. It holds the newest group even when that alone is larger.
 */
export function newestWindow(messages: readonly ChatMessage[], budget: number): readonly ChatMessage[] {
  const starts = [...messages.keys()].filter((at) => !startsWithResult(messages[at]!))
  // The later it starts, the fewer tokens it takes: the first start that fits is found by halving.
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (tokensOf(messages.slice(starts[middle])) <= budget) high = middle
    else low = middle + 1
  }
  return messages.slice(starts[low] ?? 0)
}

/** Tokens of messages as the compactor counts them: every contestant by the same estimator. */
export function tokensOf(messages: readonly ChatMessage[]): number {
  return estimateMessagesTokens(messages as never, 'google-ai')
}

function startsWithResult(message: ChatMessage): boolean {
  return partsOf(message).some(({ type }) => type === 'tool-result')
}
