import { isObject, type JsonObject } from '../../core/json.ts'

/** A node of a conversation: a message, or none (the root). */
export type ChatgptNode = { readonly id: string; readonly message: unknown }

/** The messages of a conversation as a tree: who answers whom. */
export type ChatgptTree = {
  /** The node the conversation stands on; `undefined` for one without nodes. */
  readonly current: string | undefined
  /** The ends of the other branches, in the order of the file. */
  readonly otherBranches: readonly string[]
  /** From the root to a node. Parents that are not there, or stand beneath their own children, end the way. */
  pathTo(id: string): readonly ChatgptNode[]
  /** Whether the way to a node ends like that. */
  isCut(id: string): boolean
}

/** Reads the `mapping` of a conversation; `undefined` when there is none. What its messages hold is not looked at. */
export function treeOf({
  mapping,
  current_node,
}: {
  readonly [field: string]: unknown
}): ChatgptTree | undefined {
  if (!isObject(mapping)) return undefined
  const nodes = new Map(Object.entries(mapping).filter(([, node]) => isObject(node))) as Map<
    string,
    JsonObject
  >
  for (const [id, node] of nodes) for (const child of childrenOf(node)) adopt(nodes, child, id)
  const parents = new Set([...nodes.values()].map(({ parent }) => parent))
  const leaves = [...nodes.keys()].filter((id) => !parents.has(id))
  const isNamed = typeof current_node === 'string' && nodes.has(current_node)
  const current = isNamed ? current_node : newest(leaves, nodes)
  const pathTo = (id: string): readonly ChatgptNode[] => path(id, nodes)
  const isCut = (id: string): boolean => typeof nodes.get(path(id, nodes)[0]?.id ?? '')?.parent === 'string'
  const onCurrent = new Set(current === undefined ? [] : pathTo(current).map((node) => node.id))
  const otherBranches = leaves.filter(saysMore(nodes, onCurrent))
  return { current, otherBranches, pathTo, isCut }
}

function childrenOf({ children }: JsonObject): readonly unknown[] {
  return Array.isArray(children) ? children : []
}

/** A node that names no parent belongs to the one that names it as its child. */
function adopt(nodes: Map<string, JsonObject>, child: unknown, parent: string): void {
  const node = typeof child === 'string' ? nodes.get(child) : undefined
  if (node !== undefined && typeof node.parent !== 'string') nodes.set(child as string, { ...node, parent })
}

/**
 * Whether a message stands on the way to a node that does not stand on another way. What was found is kept for the nodes passed: many branches
 * share most of their way.
 */
function saysMore(
  nodes: ReadonlyMap<string, JsonObject>,
  other: ReadonlySet<string>,
): (from: string) => boolean {
  const known = new Map<unknown, boolean>([...other].map((id) => [id, false]))
  return (from) => {
    const passed: string[] = []
    let id: unknown = from
    let isMore = false
    while (typeof id === 'string' && nodes.has(id) && !known.has(id) && !isMore) {
      const node: JsonObject = nodes.get(id)!
      passed.push(id)
      known.set(id, false)
      isMore = isObject(node.message)
      id = node.parent
    }
    isMore ||= known.get(id) === true
    for (const each of passed) known.set(each, isMore)
    return isMore
  }
}

function path(from: string, nodes: ReadonlyMap<string, JsonObject>): ChatgptNode[] {
  const way: ChatgptNode[] = []
  const seen = new Set<string>()
  let id: unknown = from
  while (typeof id === 'string' && !seen.has(id)) {
    const node = nodes.get(id)
    if (node === undefined) break
    seen.add(id)
    way.push({ id, message: node.message ?? null })
    id = node.parent
  }
  return way.reverse()
}

/** The leaf that was said last. */
function newest(leaves: readonly string[], nodes: ReadonlyMap<string, JsonObject>): string | undefined {
  let best: string | undefined
  let bestTime = Number.NEGATIVE_INFINITY
  for (const leaf of leaves) {
    const message = nodes.get(leaf)?.message
    const time = isObject(message) && typeof message.create_time === 'number' ? message.create_time : 0
    if (time >= bestTime) {
      best = leaf
      bestTime = time
    }
  }
  return best
}
