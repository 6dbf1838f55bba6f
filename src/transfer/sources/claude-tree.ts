import { isDeepStrictEqual } from 'node:util'
import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { Place, SourceEvent } from '../source.ts'
import { moment } from './claude-code-fields.ts'
import { messageTree } from './message-tree.ts'
import type { TreeRead } from './tree-conversations.ts'

/** The parent of a first message. */
const NO_PARENT = /^0{8}-0{4}-[04]000-[08]000-0{12}$/

/**
 * Reads the `chat_messages` of a conversation; `undefined` when there are none. Messages with parents are a tree, otherwise they are a sequence. An
 * export does not mark the current branch (the page does, in `current_leaf_message_uuid`): it is the one with the newest message.
 */
export function treeOf(given: { readonly [field: string]: unknown }, at: Place): TreeRead | undefined {
  const list = given.chat_messages
  if (!Array.isArray(list)) return undefined
  const isTree = list.some((each) => isObject(each) && typeof each.parent_message_uuid === 'string')
  const nodes = new Map<string, JsonObject>()
  const items: SourceEvent[] = []
  let before: string | undefined
  for (const [i, value] of (list as readonly unknown[]).entries()) {
    const place = messageAt(at, i + 1)
    if (!isObject(value)) {
      items.push({ type: 'problem', at: place, why: 'message: must be an object' })
      continue
    }
    const id = idOf(value.uuid, i + 1)
    const known = nodes.get(id)
    if (known !== undefined) {
      items.push(again(place, isDeepStrictEqual(placedOf(known.message).given, value)))
      continue
    }
    const parent = isTree ? parentOf(value) : before
    const message = { element: i + 1, given: value as JsonObject }
    nodes.set(id, { message, ...(parent !== undefined && { parent }) })
    before = id
  }
  return { tree: messageTree(nodes, given.current_leaf_message_uuid, timeOf), notes: items }
}

/** A message with its number in its conversation, from 1. */
type PlacedGiven = { readonly element: number; readonly given: JsonObject }

/** The value of a node. */
export function placedOf(message: unknown): PlacedGiven {
  return message as PlacedGiven
}

/** The place of a message of a conversation. */
export function messageAt({ line }: Place, element: number): Place {
  return { ...(line !== undefined && { line }), element }
}

function idOf(uuid: unknown, element: number): string {
  return typeof uuid === 'string' && uuid !== '' ? uuid : `#${element}`
}

function parentOf({
  parent_message_uuid: parent,
}: {
  readonly [field: string]: unknown
}): string | undefined {
  return typeof parent === 'string' && parent !== '' && !NO_PARENT.test(parent) ? parent : undefined
}

function again(at: Place, isSame: boolean): SourceEvent {
  if (isSame) return { type: 'note', at, kind: 'left-out', why: 'it repeats an earlier message' }
  return { type: 'problem', at, why: 'message.uuid: another message before it has this uuid' }
}

function timeOf(message: JsonObject): number | undefined {
  return moment(placedOf(message).given.created_at)
}
