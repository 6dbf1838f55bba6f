import { isInsidePair } from '../messages/characters.ts'
import { type Message, partsOf } from '../messages/message.ts'

/*
 * Where two requests differ. A provider reads its prompt cache from the beginning of a request up to the first difference, so a request is
 * compared as one text: tools, system prompt, messages.
 */

type Sent = Pick<Message, 'role' | 'content'>

/**
 * A request as it is compared: tools and system prompt as a line of JSON each, empty if there are none, then one line for each message.
 * Anthropic caches in this order ("Prompt caching": `tools`, `system`, then `messages`). OpenAI ("Prompt caching") and Google ("Context
 * caching") document only that the beginnings of two requests must be the same, tools included.
 */
export type SentRequest = {
  readonly tools: string
  readonly system: string
  readonly messages: readonly Sent[]
}

/** The first change of a request that isn't an addition at its end. */
export type FirstRequestChange = {
  readonly part: 'tools' | 'system' | 'messages'
  /** The index of the changed message; absent for tools and the system prompt. */
  readonly message?: number
  /** Where the change begins in the line of JSON of that part, or of that message, in UTF-16 units. */
  readonly offset: number
  /** Up to 200 units of both lines around the change, never half a surrogate pair. Empty if the later request has no such message. */
  readonly before: string
  readonly after: string
}

export type RequestDifference = {
  /**
   * The length of both requests, and of what they share at their beginning, in UTF-16 units of the lines with their ends. If the earlier
   * request is a prefix of the later one, all of it is shared.
   */
  readonly length: { readonly before: number; readonly after: number; readonly shared: number }
  readonly firstChanged?: FirstRequestChange
  /** The number of equal messages at the beginning, and of all messages. */
  readonly messages: { readonly same: number; readonly before: number; readonly after: number }
  /** The parts that differ by more than an addition at the end. */
  readonly changed: { readonly tools: boolean; readonly system: boolean; readonly messages: boolean }
}

/** How much of a line is shown before and after a change, in UTF-16 units. */
const SHOWN_BEFORE = 60
const SHOWN_AFTER = 140

/**
 * Compares two requests. `lineOf` returns a message as a line of JSON. Messages of the same role are merged for some providers, so the last
 * message of the earlier request may continue in the later one: further parts are an addition, not a change. Takes linear time, and keeps
 * only two lines at once.
 */
export function requestDifference(
  before: SentRequest,
  after: SentRequest,
  lineOf: (message: Sent) => string,
): RequestDifference {
  const walk = new Walk()
  walk.compare(before.tools, after.tools, { part: 'tools' })
  walk.compare(before.system, after.system, { part: 'system' })
  const count = Math.max(before.messages.length, after.messages.length)
  let same = 0
  let isChanged = false
  for (let index = 0; index < count; index++) {
    const [one, other] = [before.messages[index], after.messages[index]]
    const lines = [one && lineOf(one), other && lineOf(other)] as const
    if (lines[0] === lines[1] && same === index) same++
    const isAdded =
      one === undefined || (index === before.messages.length - 1 && isContinued(one, other, lineOf))
    isChanged ||= !isAdded && lines[0] !== lines[1]
    walk.compare(...lines, { part: 'messages', message: index }, isAdded)
  }
  return {
    ...walk.result,
    messages: { same, before: before.messages.length, after: after.messages.length },
    changed: {
      tools: before.tools !== after.tools,
      system: before.system !== after.system,
      messages: isChanged,
    },
  }
}

/** Returns whether a message begins with all parts of another one. */
function isContinued(one: Sent, other: Sent | undefined, lineOf: (message: Sent) => string): boolean {
  if (other === undefined || one.role !== other.role) return false
  const [parts, all] = [partsOf(one), partsOf(other)]
  if (parts.length > all.length) return false
  const { role } = one
  return parts.every(
    (part, at) => lineOf({ role, content: [part] }) === lineOf({ role, content: [all[at]!] }),
  )
}

type Place = Pick<FirstRequestChange, 'part' | 'message'>

/** Adds up the lengths of lines, and finds the first change. */
class Walk {
  #before = 0
  #after = 0
  /** The length of what is shared; fixed from the first difference on. */
  #shared: number | undefined
  #firstChanged: FirstRequestChange | undefined

  compare(before: string | undefined, after: string | undefined, place: Place, isAdded = false): void {
    if (this.#shared === undefined && before !== after) {
      const offset = isAdded ? (before?.length ?? -1) + 1 : sharedLength(before ?? '', after ?? '')
      this.#shared = this.#before + offset
      if (!isAdded)
        this.#firstChanged = {
          ...place,
          offset,
          before: around(before ?? '', offset),
          after: around(after ?? '', offset),
        }
    }
    this.#before += before === undefined ? 0 : before.length + 1
    this.#after += after === undefined ? 0 : after.length + 1
  }

  get result(): Pick<RequestDifference, 'length' | 'firstChanged'> {
    const [before, after] = [this.#before, this.#after]
    const length = { before, after, shared: this.#shared ?? before }
    return this.#firstChanged === undefined ? { length } : { length, firstChanged: this.#firstChanged }
  }
}

/** Returns the length of the common prefix of two texts, without half a surrogate pair. */
function sharedLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++
  return isInsidePair(one, length) || isInsidePair(other, length) ? length - 1 : length
}

function around(line: string, offset: number): string {
  const inside = (at: number): number => (isInsidePair(line, at) ? at + 1 : at)
  const from = inside(Math.max(0, offset - SHOWN_BEFORE))
  const to = Math.min(line.length, offset + SHOWN_AFTER)
  return line.slice(from, isInsidePair(line, to) ? to - 1 : to)
}
