import { isObject, type JsonObject } from './json.ts'
import { type Message, type NewMessage, type Part, partsOf } from './message.ts'
import { OWN, withStopReason } from './stop-reason.ts'

/*
 * Parts that a request adds to its prompt, for a model that binds its reasoning to the preceding content: texts of an injector, a
 * persistent context, notes, files. They are stored with the prompt, because the model must receive them again. They are marked, because
 * the user didn't send them: the application's copy of the conversation doesn't contain them.
 */

/** Returns a message whose parts from an index on are marked. `turn`: the number of the turn, if known. */
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

/** Returns the indexes of a message's marked parts. */
export function addedParts({ metadata }: Pick<Message, 'metadata'>): ReadonlySet<number> {
  const own = metadata?.[OWN]
  if (!isObject(own) || !Array.isArray(own.added)) return NONE
  return new Set(own.added.filter((index): index is number => typeof index === 'number'))
}

/** Returns the turn whose request marked parts of a message. */
export function turnOfAdded({ metadata }: Pick<Message, 'metadata'>): number | undefined {
  const own = metadata?.[OWN]
  return isObject(own) && typeof own.turn === 'number' ? own.turn : undefined
}

/** Returns the parts of a message that are not marked. */
export function ownParts(message: Message): readonly Part[] {
  const added = addedParts(message)
  const parts = partsOf(message)
  return added.size === 0 ? parts : parts.filter((_, index) => !added.has(index))
}

/** The text that a model receives after an answer whose draft was kept. */
export const INTERRUPTED = '[This answer was interrupted before its end.]'

/**
 * Returns the messages of a draft as an answer that broke off: the last assistant message is marked, and a text that only models receive
 * says so. A call needs no such text: it has no result, and a rendering states that.
 */
export function interruptedAnswer(messages: readonly NewMessage[]): readonly NewMessage[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const last = messages[at]
  if (last === undefined) return messages
  const [marked] = withStopReason([last], 'aborted') as readonly [NewMessage]
  const parts = partsOf(last)
  const isCalling = parts.some(({ type }) => type === 'tool-call')
  const note = { type: 'text' as const, text: INTERRUPTED }
  return messages.with(at, isCalling ? marked : withAddedParts(marked, parts.length, [note]))
}
