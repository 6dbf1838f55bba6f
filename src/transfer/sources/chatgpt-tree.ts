import { isObject, type JsonObject } from '../../messages/json.ts'
import { type MessageTree, messageTree } from './message-tree.ts'

/** Reads the `mapping` of a conversation; `undefined` when there is none. What its messages hold is not looked at. */
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

/** A node that names no parent belongs to the one that names it as its child. */
function adopt(nodes: Map<string, JsonObject>, child: unknown, parent: string): void {
  const node = typeof child === 'string' ? nodes.get(child) : undefined
  if (node !== undefined && typeof node.parent !== 'string') nodes.set(child as string, { ...node, parent })
}
