import { invalid } from '../core/errors.ts'
import type { ContextStrategy } from '../core/model/message-parts.ts'

/** The messages to send, and whether they were compacted. */
export type TurnMessages<M> = {
  readonly messages: readonly M[]
  readonly compacted: boolean
  readonly tokensBefore: number
  /** Estimated at the first access; equal to the tokens before if there was no compaction. */
  readonly tokensAfter: number
}

/**
 * Compacts a plain array between two turns if necessary: asks the strategy for the tokens, then whether to compact, and compacts only then.
 * Nothing is changed in place.
 *
 * Throws `INVALID_INPUT` for an invalid strategy or an invalid result of it, and the strategy's own errors.
 */
export async function compactBeforeTurn<M>(
  strategy: ContextStrategy<M>,
  messages: readonly M[],
): Promise<TurnMessages<M>> {
  checkStrategy(strategy)
  if (!Array.isArray(messages)) throw invalid('compactBeforeTurn: messages must be an array')
  const tokensBefore = tokensOf(strategy, messages)
  if (!strategy.shouldCompact(messages, tokensBefore))
    return { messages, compacted: false, tokensBefore, tokensAfter: tokensBefore }
  const shorter = await strategy.compact(messages)
  if (!Array.isArray(shorter)) throw invalid('compactBeforeTurn: compact must return a list')
  let tokensAfter: number | undefined
  return {
    messages: shorter,
    compacted: true,
    tokensBefore,
    get tokensAfter() {
      tokensAfter ??= tokensOf(strategy, shorter)
      return tokensAfter
    },
  }
}

function checkStrategy(strategy: unknown): void {
  const given = strategy as { readonly [name: string]: unknown } | null | undefined
  for (const name of ['tokenEstimate', 'shouldCompact', 'compact']) {
    if (typeof given?.[name] !== 'function')
      throw invalid(`compactBeforeTurn: the strategy must have the method ${name}`)
  }
}

function tokensOf<M>(strategy: ContextStrategy<M>, messages: readonly M[]): number {
  const tokens = strategy.tokenEstimate(messages)
  if (typeof tokens !== 'number' || !(tokens >= 0))
    throw invalid('compactBeforeTurn: tokenEstimate must return a number, 0 or more')
  return tokens
}

/** A message that is one text. */
export type TextMessage<R extends 'system' | 'user' | 'assistant'> = {
  readonly role: R
  readonly content: string
}

/** Returns a system message with this text. Throws `INVALID_INPUT`. */
export function systemMessage(text: string): TextMessage<'system'> {
  return messageOf('system', text)
}

/** Returns a user message with this text. Throws `INVALID_INPUT`. */
export function userMessage(text: string): TextMessage<'user'> {
  return messageOf('user', text)
}

/** Returns an assistant message with this text. Throws `INVALID_INPUT`. */
export function assistantMessage(text: string): TextMessage<'assistant'> {
  return messageOf('assistant', text)
}

function messageOf<R extends 'system' | 'user' | 'assistant'>(role: R, text: unknown): TextMessage<R> {
  if (typeof text !== 'string') throw invalid(`${role}Message: text must be a string`)
  return { role, content: text }
}
