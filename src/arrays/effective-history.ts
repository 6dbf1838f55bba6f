import { z } from 'zod'
import { check } from '../messages/check.ts'
import { type ChatMessage, hasParent, isMarker, isSummary, requireMessages } from '../model/message-parts.ts'

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
