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

const optionsSchema = z.strictObject({
  /**
   * What becomes of a message whose `condenseParent` or `truncationParent` names a summary or marker that is not
   * in the list: `hidden` (default, seed 003) or `visible` (Roo Code).
   */
  danglingParents: z.enum(['hidden', 'visible']).optional(),
})
export type EffectiveHistoryFilter = z.input<typeof optionsSchema>

/**
 * The messages a model would be sent: those that no condensation and no truncation hides, in order. A new list of
 * the same objects; the list given is not changed. Rows of a store that are retired are left out too.
 *
 * Any parent hides, as seed 003 says (checklist S3-152), whether or not its summary or marker is in the list. It
 * has to: tags are laid before a summary is there to be inserted, a truncation may leave no marker, and a list cut
 * out of a longer one must not bring back what was hidden in it. Whoever deletes summaries from the list by hand
 * wants the other rule, by which a deleted summary never loses a message (checklist S3-U11):
 * `{ danglingParents: 'visible' }`, or `removeDanglingTags` once. A store never needs it: there, the status of a
 * compaction decides. Throws `INVALID_INPUT`.
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
 * Takes away the tags whose summary or marker is not in the list any more: what it hid is visible again. This is
 * how Roo Code undoes a compaction, by deleting its summary. A new list; what needs no change is the same object.
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

/** Whether a message is in the effective history: the seed's rule, which needs no other message. */
export function isVisible(message: ChatMessage): boolean {
  return !hasParent(message) && !message.retiredBy
}

type Owners = {
  readonly summaries: ReadonlySet<string>
  readonly markers: ReadonlySet<string>
  hide(message: ChatMessage): boolean
}

/** The summaries and markers a list holds, by the ids that parents name. Hidden ones own what they hid as well. */
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
