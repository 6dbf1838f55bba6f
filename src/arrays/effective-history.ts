import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import { type ChatMessage, hasParent, isMarker, isSummary, requireMessages } from '../model/message-parts.ts'

/*
 * Setting and removing tags directly. These functions check no laws: the stages (`summarizeMessages`, `truncateWithSlidingWindow`) and a
 * store know which messages may be hidden together, and a store also refuses to undo what others build on.
 */

const idSchema = z.string().min(1, 'must not be empty')

/**
 * Tags messages [fromIndex, toIndex) with the `condenseParent` `condenseId`, which hides them. The summary is not inserted. Returns a new
 * list; untouched messages are the same objects.
 *
 * Indexes count from 0 and are limited to the list. A message that a condensation or truncation hides already keeps its parent, so that
 * nested condensations are undone one level at a time: the outer one hides the inner summary, not the messages that it replaces. A summary never becomes its own parent. Throws `INVALID_INPUT`.
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
 * Tags messages [fromIndex, toIndex) with a `truncationParent`. Otherwise like `tagForCondensation`; the marker is not
 * inserted. Throws `INVALID_INPUT`.
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
 * Undoes a condensation: removes its `condenseParent` tags and its summary (the message with
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
 * Undoes a truncation: removes its `truncationParent` tags and its marker (the message with
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

const optionsSchema = z.strictObject({
  /**
   * Whether a message whose `condenseParent` or `truncationParent` belongs to a summary or marker that is not in the list is `hidden`
   * (default) or `visible` (as in Roo Code).
   */
  danglingParents: z.enum(['hidden', 'visible']).optional(),
})
export type EffectiveHistoryFilter = z.input<typeof optionsSchema>

/**
 * The messages that a model would be sent: those that no condensation or truncation hides, in order. Returns a new list of the same
 * objects; the given list is not changed. Retired rows of a store are omitted too.
 *
 * Any parent hides, whether or not its summary or marker is in the list: tags are set before a summary exists, a truncation may have no
 * marker, and a part of a longer list must not show what was hidden in it. Callers that delete summaries from the list need the other
 * rule, with which a deleted summary never loses a message: `{ danglingParents: 'visible' }`, or `removeDanglingTags` once. In a store the
 * status of a compaction decides. Throws `INVALID_INPUT`.
 */
export function getEffectiveHistory<M extends ChatMessage>(
  messages: readonly M[],
  options: EffectiveHistoryFilter = {},
): M[] {
  requireMessages(messages, 'getEffectiveHistory')
  const { danglingParents } = check(optionsSchema, options, 'getEffectiveHistory')
  if (danglingParents !== 'visible') return messages.filter(isVisible)
  const owners = ownersOf(messages)
  return messages.filter((message) => !message.retiredBy && !owners.hide(message))
}

/**
 * Removes the tags whose summary or marker is no longer in the list, so that the hidden messages are visible again. Roo Code undoes a
 * compaction this way, by deleting its summary. Returns a new list; unchanged messages are the same objects.
 */
export function removeDanglingTags<M extends ChatMessage>(messages: readonly M[]): M[] {
  requireMessages(messages, 'removeDanglingTags')
  const owners = ownersOf(messages)
  return messages.map((message) => {
    let kept = message
    if (kept.condenseParent && !owners.summaries.has(kept.condenseParent)) {
      const { condenseParent: _, ...rest } = kept
      kept = rest as M
    }
    if (kept.truncationParent && !owners.markers.has(kept.truncationParent)) {
      const { truncationParent: _, ...rest } = kept
      kept = rest as M
    }
    return kept
  })
}

/** Whether a message is in the effective history, by its own tags alone. */
export function isVisible(message: ChatMessage): boolean {
  return !hasParent(message) && !message.retiredBy
}

type Owners = {
  readonly summaries: ReadonlySet<string>
  readonly markers: ReadonlySet<string>
  hide(message: ChatMessage): boolean
}

/** The summaries and markers of a list, by the ids in parent tags. Hidden ones count too. */
function ownersOf(messages: readonly ChatMessage[]): Owners {
  const summaries = new Set<string>()
  const markers = new Set<string>()
  for (const message of messages) {
    if (message.condenseId && isSummary(message)) summaries.add(message.condenseId)
    if (message.truncationId && isMarker(message)) markers.add(message.truncationId)
  }
  return {
    summaries,
    markers,
    hide: ({ condenseParent, truncationParent }) =>
      (condenseParent !== undefined && summaries.has(condenseParent)) ||
      (truncationParent !== undefined && markers.has(truncationParent)),
  }
}
