import { isObject, type JsonObject } from '../../messages/json.ts'

/** A node of a conversation: a message, or none (the root). */
type MessageNode = { readonly id: string; readonly message: unknown }

/** Nodes by their id, in the order of the file: `parent` names the node before, `message` holds what was said. */
type NodesById = ReadonlyMap<string, JsonObject>

/** The messages of a conversation as a tree: who answers whom. */
export type MessageTree = {
  /** The node the conversation stands on; `undefined` for one without nodes. */
  readonly current: string | undefined
  /** The ends of the other branches, in the order of the file. */
  readonly otherBranches: readonly string[]
  /** From the root to a node. Parents that are not there, or stand beneath their own children, end the way. */
  pathTo(id: string): readonly MessageNode[]
  /** Whether the way to a node ends like that. */
  isCut(id: string): boolean
}

/** A tree of its nodes. `current` is the node it stands on where the file says so, else it is the leaf that was said last. */
export function messageTree(
  nodes: NodesById,
  current: unknown,
  timeOf: (message: JsonObject) => number | undefined,
): MessageTree {
  const parents = new Set([...nodes.values()].map(({ parent }) => parent))
  const leaves = [...nodes.keys()].filter((id) => !parents.has(id))
  const isNamed = typeof current === 'string' && nodes.has(current)
  // Where all stand in circles there are no leaves.
  const ends = leaves.length > 0 ? leaves : [...nodes.keys()]
  const stands = isNamed ? current : newest(ends, nodes, timeOf)
  const pathTo = (id: string): readonly MessageNode[] => path(id, nodes)
  const isCut = (id: string): boolean => typeof nodes.get(path(id, nodes)[0]?.id ?? '')?.parent === 'string'
  const onCurrent = new Set(stands === undefined ? [] : pathTo(stands).map((node) => node.id))
  const otherBranches = leaves.filter(saysMore(nodes, onCurrent))
  return { current: stands, otherBranches, pathTo, isCut }
}

/**
 * Whether a message stands on the way to a node that does not stand on another way. What was found is kept for the nodes passed: many branches
 * share most of their way.
 */
function saysMore(nodes: NodesById, other: ReadonlySet<string>): (from: string) => boolean {
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

function path(from: string, nodes: NodesById): MessageNode[] {
  const way: MessageNode[] = []
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

/** The leaf that was said last; the last one where no time is told. */
function newest(
  leaves: readonly string[],
  nodes: NodesById,
  timeOf: (message: JsonObject) => number | undefined,
): string | undefined {
  let best: string | undefined
  let bestTime = Number.NEGATIVE_INFINITY
  for (const leaf of leaves) {
    const message = nodes.get(leaf)?.message
    const time = (isObject(message) ? timeOf(message as JsonObject) : undefined) ?? 0
    if (time >= bestTime) {
      best = leaf
      bestTime = time
    }
  }
  return best
}
