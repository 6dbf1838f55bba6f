import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import { type ChatMessage, hasParent, isMarker, isSummary, requireMessages } from '../model/message-parts.ts'

/*
 * The tags themselves, laid and taken away by hand. These functions do what they are told and check no law: which
 * messages may be hidden together is known to the stages (`summarizeMessages`, `truncateWithSlidingWindow`) and to
 * a store, which also refuses to undo what others build on.
 */

const idSchema = z.string().min(1, 'must not be empty')

/**
 * Tags messages [fromIndex, toIndex) with a `condenseParent`: they are hidden, and `condenseId` says by what. The
 * summary that stands for them is not inserted. A new list; untouched messages are the same objects.
 *
 * Indexes count from 0 and are brought within the list. A message that some condensation or truncation hides
 * already keeps its one parent, so that nested condensations come apart one level at a time: the outer one hides
 * the inner summary, not what that stands for. A summary never becomes its own parent. Throws `INVALID_INPUT`.
 */
export function tagForCondensation<M extends ChatMessage>(
  messages: readonly M[],
  fromIndex: number,
  toIndex: number,
  condenseId: string,
): (M & ChatMessage)[] {
  const { from, to, id } = place('tagForCondensation', messages, fromIndex, toIndex, condenseId)
  return messages.map((message, index) =>
    index < from || index >= to || hasParent(message) || message.condenseId === id
      ? message
      : { ...message, condenseParent: id },
  )
}

/**
 * Tags messages [fromIndex, toIndex) with a `truncationParent`. Otherwise as `tagForCondensation`; the marker is
 * not inserted. Throws `INVALID_INPUT`.
 */
export function tagForTruncation<M extends ChatMessage>(
  messages: readonly M[],
  fromIndex: number,
  toIndex: number,
  truncationId: string,
): (M & ChatMessage)[] {
  const { from, to, id } = place('tagForTruncation', messages, fromIndex, toIndex, truncationId)
  return messages.map((message, index) =>
    index < from || index >= to || hasParent(message) || message.truncationId === id
      ? message
      : { ...message, truncationParent: id },
  )
}

/**
 * Undoes a condensation: takes away the `condenseParent` that names it and removes its summary (the message with
 * that `condenseId` and `metadata.isSummary`). Other tags stay. A new list. Throws `INVALID_INPUT`.
 */
export function removeCondensationTags<M extends ChatMessage>(
  messages: readonly M[],
  condenseId: string,
): (M & ChatMessage)[] {
  requireMessages(messages, 'removeCondensationTags')
  const id = check(idSchema, condenseId, 'removeCondensationTags: condenseId')
  return messages
    .filter((message) => !(message.condenseId === id && isSummary(message)))
    .map((message) => {
      if (message.condenseParent !== id) return message
      const { condenseParent: _, ...rest } = message
      return rest as M & ChatMessage
    })
}

/**
 * Undoes a truncation: takes away the `truncationParent` that names it and removes its marker (the message with
 * that `truncationId` and `isTruncationMarker`). Other tags stay. A new list. Throws `INVALID_INPUT`.
 */
export function removeTruncationTags<M extends ChatMessage>(
  messages: readonly M[],
  truncationId: string,
): (M & ChatMessage)[] {
  requireMessages(messages, 'removeTruncationTags')
  const id = check(idSchema, truncationId, 'removeTruncationTags: truncationId')
  return messages
    .filter((message) => !(message.truncationId === id && isMarker(message)))
    .map((message) => {
      if (message.truncationParent !== id) return message
      const { truncationParent: _, ...rest } = message
      return rest as M & ChatMessage
    })
}

function place(
  what: string,
  messages: readonly ChatMessage[],
  fromIndex: number,
  toIndex: number,
  id: string,
): { from: number; to: number; id: string } {
  requireMessages(messages, what)
  const within = (index: number, name: string): number => {
    if (typeof index !== 'number' || Number.isNaN(index)) throw invalid(`${what}: ${name} must be a number`)
    return Math.min(Math.max(0, Math.trunc(index)), messages.length)
  }
  return {
    from: within(fromIndex, 'fromIndex'),
    to: within(toIndex, 'toIndex'),
    id: check(idSchema, id, `${what}: id`),
  }
}
