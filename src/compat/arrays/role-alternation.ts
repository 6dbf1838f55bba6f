import { z } from 'zod'
import { check, readable } from '../../core/messages/check.ts'
import { fieldOf } from '../../core/messages/json.ts'
import {
  type ChatMessage,
  isSummary,
  type PlainMessage,
  requireMessages,
  roleOf,
} from '../../core/model/message-parts.ts'
import { CONTINUATION_TEXT } from '../../core/rendering/contents.ts'
import { readVisible, synthesized } from './tool-slots.ts'

const validationSchema = z.strictObject({
  /** Whether the first turn must be the user's. Default false. */
  firstMustBeUser: z.boolean().optional(),
})
/** Options of `validateRoleAlternation`. */
export type RoleAlternationOptions = z.input<typeof validationSchema>

const repairSchema = z.strictObject({
  /**
   * How to treat two consecutive turns of one role. `merge` (default): they become one message. `drop`: one of them is removed: of two user
   * turns the earlier, of two assistant turns the later.
   */
  how: z.enum(['merge', 'drop']).optional(),
  /** Whether the first turn must be the user's. Default false. */
  firstMustBeUser: z.boolean().optional(),
})
/** Options of `repairRoleAlternation`. */
export type RoleRepairOptions = z.input<typeof repairSchema>

/** A problem with the turns of a list. Contains no text of the conversation. */
export type RoleProblem = {
  readonly code: 'SAME_ROLE_TWICE' | 'FIRST_NOT_USER'
  /** The index of the message. */
  readonly index: number
  /** The role of that message, unchanged. */
  readonly role: string
  /** The message of the previous turn, for `SAME_ROLE_TWICE`. */
  readonly previousIndex?: number
}

/** The list with alternating roles, and the repairs. */
export type RoleRepairResult<M extends PlainMessage = ChatMessage> = {
  /** Whether anything was repaired. */
  readonly repaired: boolean
  /** All messages with alternating user and assistant, in a new list. Unchanged messages are the same objects. */
  readonly messages: M[]
  /** The number of messages that were merged into the previous one. */
  readonly merged: number
  /** The number of removed messages. */
  readonly dropped: number
}

/**
 * Finds violations of user/assistant alternation, for providers that require it: two consecutive user turns or assistant turns, and with
 * `firstMustBeUser` a first turn that isn't the user's. Returns the problems in the order of the messages; an empty list if there are none.
 *
 * System messages and hidden ones (tags) are ignored. Tool messages separate turns: results in any format, and calls in the flat format. A
 * user message with results and text is a user turn after results. Changes nothing. Throws `INVALID_INPUT`.
 */
export function validateRoleAlternation(
  messages: readonly PlainMessage[],
  options: RoleAlternationOptions = {},
): RoleProblem[] {
  return readable('validateRoleAlternation', () => {
    requireMessages(messages, 'validateRoleAlternation')
    const { firstMustBeUser = false } = check(validationSchema, options, 'validateRoleAlternation')
    const turns = turnsOf(messages, 'validateRoleAlternation')
    return turns.flatMap((turn, at): RoleProblem[] => {
      const { index } = turn
      const { role } = messages[index]!
      const before = turns[at - 1]
      if (before === undefined)
        return firstMustBeUser && turn.first !== 'user' ? [{ code: 'FIRST_NOT_USER', index, role }] : []
      if (!clash(before, turn)) return []
      return [{ code: 'SAME_ROLE_TWICE', index, role, previousIndex: before.index }]
    })
  })
}

/**
 * Makes user and assistant alternate: `validateRoleAlternation` with the same `firstMustBeUser` finds nothing in the result. Use it before
 * sending: neither the given list nor its messages are changed, and repairing twice changes nothing more.
 *
 * - `merge` joins the later turn to the earlier one: texts are separated by a blank line; lists of parts and `tool_calls` are concatenated.
 *   Other fields are those of the first; `metadata.mergedMessages` is the number of merged messages. Text moves before system messages in
 *   between; nothing else moves.
 * - `drop` removes turns. A turn with calls or results, a summary or a pinned message is never removed but merged, so no pair is separated.
 * - A first turn that isn't the user's gets a short user message before it, or is dropped likewise.
 *
 * Throws `INVALID_INPUT`.
 */
export function repairRoleAlternation<M extends PlainMessage = ChatMessage>(
  messages: readonly M[],
  options: RoleRepairOptions = {},
): RoleRepairResult<M> {
  return readable('repairRoleAlternation', () => {
    requireMessages(messages, 'repairRoleAlternation')
    const { how = 'merge', firstMustBeUser = false } = check(repairSchema, options, 'repairRoleAlternation')
    const turns = turnsOf(messages, 'repairRoleAlternation')
    const dropped = new Set<number>()
    const groups = groupTurns(turns, how === 'drop' ? (index) => dropped.add(index) : undefined)
    /** The messages shown in place of a message, by its index. */
    const shown = new Map<number, readonly M[]>()
    for (const group of groups.filter(({ length }) => length > 1)) {
      const [head, ...rest] = group
      for (const { index } of rest) shown.set(index, [])
      shown.set(head!.index, [mergeTurns(group.map(({ index }) => messages[index]!)) as M])
    }
    for (const group of firstMustBeUser ? groups : []) {
      const { first, index } = group[0]!
      if (first === 'user') break
      if (how === 'merge' || !group.every((turn) => turn.isDroppable)) {
        const opening = synthesized({ role: 'user', content: CONTINUATION_TEXT }) as M
        shown.set(index, [opening, ...(shown.get(index) ?? [messages[index]!])])
        break
      }
      for (const turn of group) dropped.add(turn.index)
    }
    for (const index of dropped) shown.set(index, [])
    return {
      repaired: shown.size > 0,
      messages: messages.flatMap((message, index) => shown.get(index) ?? [message]),
      merged: [...shown.values()].filter(({ length }) => length === 0).length - dropped.size,
      dropped: dropped.size,
    }
  })
}

type Side = 'user' | 'assistant' | 'aside'

/** A message that is a turn or lies between turns. */
type Turn = {
  readonly index: number
  readonly first: Side
  readonly last: Side
  readonly isDroppable: boolean
}

function clash(before: Turn, turn: Turn): boolean {
  return before.last !== 'aside' && before.last === turn.first
}

function turnsOf(messages: readonly PlainMessage[], what: string): Turn[] {
  return readVisible(messages, what).flatMap(({ index, slots, isResults }): Turn[] => {
    const message = messages[index]!
    const side = roleOf(message.role)
    if (side === 'system') return []
    const isAside =
      side === 'tool' || isResults || slots.some(({ form }) => form === 'flat' || form === 'function')
    const last = isAside ? 'aside' : side === 'assistant' ? 'assistant' : 'user'
    const first = last === 'user' && slots.some(({ kind }) => kind === 'result') ? 'aside' : last
    const isDroppable =
      slots.length === 0 && !isSummary(message as ChatMessage) && fieldOf(message, 'pinned') !== true
    return [{ index, first, last, isDroppable }]
  })
}

/** Groups turns into lists that become one message each, without the dropped ones. */
function groupTurns(turns: readonly Turn[], drop: ((index: number) => void) | undefined): Turn[][] {
  const groups: Turn[][] = []
  for (const turn of turns) {
    const group = groups.at(-1)
    const before = group?.at(-1)
    if (group === undefined || before === undefined || !clash(before, turn)) {
      groups.push([turn])
      continue
    }
    const orphan = turn.first === 'user' ? before : turn
    if (drop === undefined || !orphan.isDroppable) {
      group.push(turn)
    } else {
      drop(orphan.index)
      if (orphan === before) group[group.length - 1] = turn
    }
  }
  return groups
}

/** The fields of merged messages that are used. */
type Mergeable = PlainMessage & {
  readonly tool_calls?: unknown
  readonly metadata?: unknown
  readonly pinned?: unknown
}

function mergeTurns(messages: readonly PlainMessage[]): PlainMessage {
  const all: readonly Mergeable[] = messages
  const [first] = all
  const calls = all.flatMap(({ tool_calls: some }) => (Array.isArray(some) ? (some as unknown[]) : []))
  const mergedMessages = all.reduce((sum, { metadata }) => {
    const count = fieldOf(metadata, 'mergedMessages')
    return sum + (typeof count === 'number' ? count : 1)
  }, 0)
  return {
    ...first!,
    content: mergeContents(all.map(({ content }) => content)),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(all.some(({ pinned }) => pinned === true) && { pinned: true }),
    metadata: { ...(first?.metadata as object | undefined), mergedMessages },
  } as PlainMessage
}

function mergeContents(contents: readonly unknown[]): unknown {
  if (contents.some((content) => Array.isArray(content))) {
    return contents.flatMap((content): unknown[] => {
      if (Array.isArray(content)) return content
      return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
    })
  }
  const texts = contents.filter((content) => typeof content === 'string')
  const spoken = texts.filter((text) => text !== '')
  return spoken.length > 0 ? spoken.join('\n\n') : (texts[0] ?? null)
}
