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
 * store know which messages may be hidden together, and a store also refuses to undo a compaction that others build on.
 */

/** The fields of one kind of compaction: `id` is on the message that it inserts, `parent` on those that it hides. */
type Tags = {
  readonly id: 'condenseId' | 'truncationId'
  readonly parent: 'condenseParent' | 'truncationParent'
  readonly isInserted: (message: ChatMessage) => boolean
}
const CONDENSATION: Tags = { id: 'condenseId', parent: 'condenseParent', isInserted: isSummary }
const TRUNCATION: Tags = { id: 'truncationId', parent: 'truncationParent', isInserted: isMarker }

const idSchema = z.string().min(1, 'must not be empty')

/**
 * Tags messages [fromIndex, toIndex) with `condenseId` as their `condenseParent`, which hides them. The summary isn't inserted. Returns a
 * new list; untouched messages are the same objects.
 *
 * Indexes count from 0 and are clamped to the list. A message that a condensation or truncation already hides keeps its parent, so that
 * nested condensations are undone one level at a time: the outer one hides the inner summary, not the messages that it replaces. A summary
 * never becomes its own parent. Throws `INVALID_INPUT`.
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
 * Tags messages [fromIndex, toIndex) with a `truncationParent`. The marker isn't inserted. Otherwise like `tagForCondensation`. Throws
 * `INVALID_INPUT`.
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
   * Whether a message is `hidden` (default) or `visible` (as in Roo Code) if the summary or marker of its `condenseParent` or
   * `truncationParent` isn't in the list.
   */
  danglingParents: z.enum(['hidden', 'visible']).optional(),
})
/** Options of `getEffectiveHistory`. */
export type EffectiveHistoryFilter = z.input<typeof optionsSchema>

/**
 * Returns the messages that a model would be sent, in order: those that no condensation or truncation hides. Returns a new list of the same
 * objects; the given list isn't changed. Retired rows of a store are omitted too.
 *
 * A parent hides a message even if its summary or marker isn't in the list: tags are set before a summary exists, a truncation may have no
 * marker, and a part of a longer list must not show messages that were hidden in it. Callers that delete summaries from the list need the
 * other rule, under which deleting a summary never loses a message: `{ danglingParents: 'visible' }`, or one call of `removeDanglingTags`.
 * In a store the status of a compaction decides. Throws `INVALID_INPUT`.
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
 * Removes tags whose summary or marker is no longer in the list, so that the hidden messages are visible again. Roo Code undoes a
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

/** Whether a message is in the effective history, judging by its own tags alone. */
export function isVisible(message: ChatMessage): boolean {
  return !hasParent(message) && !message.retiredBy
}
