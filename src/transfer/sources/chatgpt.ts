import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import type { Source } from '../source.ts'
import { ChatgptMessages } from './chatgpt-messages.ts'
import { moment } from './claude-code-fields.ts'
import { type MessageTree, messageTree } from './message-tree.ts'
import { readTrees, type TreeForm } from './tree-conversations.ts'

const FORM: TreeForm = {
  idFields: ['conversation_id', 'id'],
  messages: 'mapping',
  missing: 'it is no conversation: it has no mapping of messages',
  treeOf: (given) => {
    const tree = treeOf(given)
    return tree && { tree }
  },
  fieldsOf: fieldsEvent,
  readerAt: (at) => new ChatgptMessages(at),
}

/** The export of ChatGPT, `conversations.json`. Fields without a place in the neutral form are in metadata. */
export const chatgpt: Source = {
  name: 'chatgpt',
  title: 'an export of ChatGPT',
  recognizes: ({ values }) => {
    const trees = values.filter((value) => isObject(value) && isObject(value.mapping)).length
    return trees > 0 && trees * 2 >= values.length
  },
  read: (input, options) => readTrees(input, options, FORM),
}

function fieldsEvent({ title, create_time, default_model_slug, ...rest }: JsonObject): FieldsEvent {
  const createdAt = moment(create_time)
  const model = default_model_slug
  return {
    type: 'fields',
    provider: 'openai',
    ...(typeof title === 'string' && title !== '' && { title }),
    ...(typeof model === 'string' && model !== '' && { model }),
    ...(createdAt !== undefined && { createdAt }),
    metadata: { ...rest, ...(create_time !== undefined && { create_time }) },
  }
}

/** Reads the `mapping` of a conversation, without the contents of its messages; `undefined` when there is none. */
export function treeOf({
  mapping,
  current_node,
}: {
  readonly [field: string]: unknown
}): MessageTree | undefined {
  if (!isObject(mapping)) return undefined
  const nodes = new Map(Object.entries(mapping).filter(([, node]) => isObject(node))) as Map<
    string,
    JsonObject
  >
  for (const [id, node] of nodes) for (const child of childrenOf(node)) adopt(nodes, child, id)
  return messageTree(nodes, current_node, ({ create_time }) =>
    typeof create_time === 'number' ? create_time : undefined,
  )
}

function childrenOf({ children }: JsonObject): readonly unknown[] {
  return Array.isArray(children) ? children : []
}

/** A node without a parent belongs to the node that lists it as a child. */
function adopt(nodes: Map<string, JsonObject>, child: unknown, parent: string): void {
  const node = typeof child === 'string' ? nodes.get(child) : undefined
  if (node !== undefined && typeof node.parent !== 'string') nodes.set(child as string, { ...node, parent })
}
