import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { check, readable } from '../../core/messages/check.ts'
import {
  type ChatMessage,
  hasParent,
  isMarker,
  isSummary,
  requireMessages,
} from '../../core/model/message-parts.ts'

/*
 * Setting and removing tags directly. These functions check no laws: the stages (`summarizeMessages`, `truncateWithSlidingWindow`) and a
 * store know which messages may be hidden together, and a store also refuses to undo what others build on.
 */

/** The fields of one kind of compaction: `id` on the message that it inserts, `parent` on those that it hides. */
type Tags = {
  readonly id: 'condenseId' | 'truncationId'
  readonly parent: 'condenseParent' | 'truncationParent'
  readonly isInserted: (message: ChatMessage) => boolean
}
const CONDENSATION: Tags = { id: 'condenseId', parent: 'condenseParent', isInserted: isSummary }
const TRUNCATION: Tags = { id: 'truncationId', parent: 'truncationParent', isInserted: isMarker }

const idSchema = z.string().min(1, 'must not be empty')

/**
 * Tags messages [fromIndex, toIndex) with the `condenseParent` `condenseId`, which hides them. The summary is not inserted. Returns a new
 * list; untouched messages are the same objects.
 *
 * Indexes count from 0 and are limited to the list. A message that a condensation or truncation hides already keeps its parent, so that
 * nested condensations are undone one level at a time: the outer one hides the inner summary, not the messages that it replaces. A
 * summary never becomes its own parent. Throws `INVALID_INPUT`.
 */
export function tagForCondensation<M extends ChatMessage>(
  messages: readonly M[],
  fromIndex: number,
  toIndex: number,
  condenseId: string,
): (M & ChatMessage)[] {
  return addTags('tagForCondensation', CONDENSATION, messages, fromIndex, toIndex, condenseId)
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
  return addTags('tagForTruncation', TRUNCATION, messages, fromIndex, toIndex, truncationId)
}

/**
 * Undoes a condensation: removes its `condenseParent` tags and its summary (the message with
 * that `condenseId` and `metadata.isSummary`). Other tags stay. Returns a new list. Throws `INVALID_INPUT`.
 */
export function removeCondensationTags<M extends ChatMessage>(
  messages: readonly M[],
  condenseId: string,
): (M & ChatMessage)[] {
  return removeTags('removeCondensationTags', CONDENSATION, messages, condenseId)
}

/**
 * Undoes a truncation: removes its `truncationParent` tags and its marker (the message with
 * that `truncationId` and `isTruncationMarker`). Other tags stay. Returns a new list. Throws `INVALID_INPUT`.
 */
export function removeTruncationTags<M extends ChatMessage>(
  messages: readonly M[],
  truncationId: string,
): (M & ChatMessage)[] {
  return removeTags('removeTruncationTags', TRUNCATION, messages, truncationId)
}

function addTags<M extends ChatMessage>(
  what: string,
  { id: idField, parent }: Tags,
  messages: readonly M[],
  fromIndex: number,
  toIndex: number,
  givenId: string,
): M[] {
  return readable(what, () => {
    requireMessages(messages, what)
    const limited = (index: number, name: string): number => {
      if (typeof index !== 'number' || Number.isNaN(index)) throw invalid(`${what}: ${name} must be a number`)
      return Math.min(Math.max(0, Math.trunc(index)), messages.length)
    }
    const [from, to] = [limited(fromIndex, 'fromIndex'), limited(toIndex, 'toIndex')]
    const id = check(idSchema, givenId, `${what}: id`)
    return messages.map((message, index) =>
      index < from || index >= to || hasParent(message) || message[idField] === id
        ? message
        : { ...message, [parent]: id },
    )
  })
}

function removeTags<M extends ChatMessage>(
  what: string,
  { id: idField, parent, isInserted }: Tags,
  messages: readonly M[],
  givenId: string,
): M[] {
  return readable(what, () => {
    requireMessages(messages, what)
    const id = check(idSchema, givenId, `${what}: ${idField}`)
    return messages
      .filter((message) => !(message[idField] === id && isInserted(message)))
      .map((message) => (message[parent] === id ? without(message, parent) : message))
  })
}

function without<M extends ChatMessage>(message: M, field: Tags['parent']): M {
  const { [field]: _, ...rest } = message
  return rest as unknown as M
}

const optionsSchema = z.strictObject({
  /**
   * Whether a message whose `condenseParent` or `truncationParent` belongs to a summary or marker that is not in the list is `hidden`
   * (default) or `visible` (as in Roo Code).
   */
  danglingParents: z.enum(['hidden', 'visible']).optional(),
})
/** Options of `getEffectiveHistory`. */
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
  return readable('getEffectiveHistory', () => {
    requireMessages(messages, 'getEffectiveHistory')
    const { danglingParents } = check(optionsSchema, options, 'getEffectiveHistory')
    if (danglingParents !== 'visible') return messages.filter(isVisible)
    const untagged = removeDanglingTags(messages)
    return messages.filter((_, index) => isVisible(untagged[index]!))
  })
}

/**
 * Removes the tags whose summary or marker is no longer in the list, so that the hidden messages are visible again. Roo Code undoes a
 * compaction this way, by deleting its summary. Returns a new list; unchanged messages are the same objects.
 */
export function removeDanglingTags<M extends ChatMessage>(messages: readonly M[]): M[] {
  return readable('removeDanglingTags', () => {
    requireMessages(messages, 'removeDanglingTags')
    return [CONDENSATION, TRUNCATION].reduce<M[]>(
      (list, { id, parent, isInserted }) => {
        // A hidden summary or marker counts too.
        const inserted = new Set(messages.filter(isInserted).map((message) => message[id]))
        return list.map((message) =>
          message[parent] && !inserted.has(message[parent]) ? without(message, parent) : message,
        )
      },
      [...messages],
    )
  })
}

/** Whether a message is in the effective history, by its own tags alone. */
export function isVisible(message: ChatMessage): boolean {
  return !hasParent(message) && !message.retiredBy
}
