import { isObject, type JsonObject } from './json.ts'
import { type Message, type NewMessage, type Part, partsOf } from './message.ts'
import { OWN } from './stop-reason.ts'

/*
 * Parts that a request adds to its prompt, for a model that binds its reasoning to what precedes it: texts of an injector, a persistent
 * context, notes, files. They are stored with the prompt, because the model must receive them again, and marked, because they are not what
 * the user sent: an application's copy of the conversation does not have them.
 */

/** A message with marked parts from an index on. `turn`: the number of the turn, where it is known. */
export function withAddedParts(
  message: NewMessage,
  at: number,
  parts: readonly Part[],
  turn?: number,
): NewMessage {
  const before = [...addedParts(message)].map((index) => (index >= at ? index + parts.length : index))
  const added = [...before, ...parts.map((_, index) => at + index)].sort((one, other) => one - other)
  const own = message.metadata?.[OWN]
  const kept = { ...(isObject(own) && own), added, ...(turn !== undefined && { turn }) }
  const given = partsOf(message)
  return {
    ...message,
    content: [...given.slice(0, at), ...parts, ...given.slice(at)],
    metadata: { ...message.metadata, [OWN]: kept } as JsonObject,
  } as NewMessage
}

const NONE: ReadonlySet<number> = new Set()

/** The indexes of a message's marked parts. */
export function addedParts({ metadata }: Pick<Message, 'metadata'>): ReadonlySet<number> {
  const own = metadata?.[OWN]
  if (!isObject(own) || !Array.isArray(own.added)) return NONE
  return new Set(own.added.filter((index): index is number => typeof index === 'number'))
}

/** The turn whose request marked parts of a message. */
export function turnOfAdded({ metadata }: Pick<Message, 'metadata'>): number | undefined {
  const own = metadata?.[OWN]
  return isObject(own) && typeof own.turn === 'number' ? own.turn : undefined
}

/** The parts of a message without marked ones. */
export function ownParts(message: Message): readonly Part[] {
  const added = addedParts(message)
  const parts = partsOf(message)
  return added.size === 0 ? parts : parts.filter((_, index) => !added.has(index))
}
