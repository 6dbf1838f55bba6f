import { isObject, type JsonObject } from '../../core/messages/json.ts'

/** A node of a conversation: a message, or none (the root). */
type MessageNode = { readonly id: string; readonly message: unknown }

/** Nodes by their id, in the order of the file, with their parent and message. */
type NodesById = ReadonlyMap<string, JsonObject>

/** The messages of a conversation as a tree. */
export type MessageTree = {
  /** The end of the current branch; `undefined` for a conversation without nodes. */
  readonly current: string | undefined
  /** The ends of the other branches, in the order of the file. */
  readonly otherBranches: readonly string[]
  /** The path from the root to a node. It begins after a missing parent or a circle. */
  pathTo(id: string): readonly MessageNode[]
  /** Whether the path to a node begins like that. */
  isCut(id: string): boolean
}

/** A tree of its nodes. `current` is the end of the current branch if the file has one, else the newest leaf. */
export function messageTree(
  nodes: NodesById,
  current: unknown,
  timeOf: (message: JsonObject) => number | undefined,
): MessageTree {
  const parents = new Set([...nodes.values()].map(({ parent }) => parent))
  const leaves = [...nodes.keys()].filter((id) => !parents.has(id))
  const isNamed = typeof current === 'string' && nodes.has(current)
  // There are no leaves when all nodes are in circles.
  const ends = leaves.length > 0 ? leaves : [...nodes.keys()]
  const end = isNamed ? current : newest(ends, nodes, timeOf)
  const pathTo = (id: string): readonly MessageNode[] => path(id, nodes)
  const isCut = (id: string): boolean => typeof nodes.get(path(id, nodes)[0]?.id ?? '')?.parent === 'string'
  const onCurrent = new Set(end === undefined ? [] : pathTo(end).map((node) => node.id))
  const otherBranches = leaves.filter(saysMore(nodes, onCurrent))
  return { current: end, otherBranches, pathTo, isCut }
}

/**
 * Whether the path to a node has a message that is not on another path. Results are cached for the visited nodes, because branches share most of
 * their path.
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
  const path: MessageNode[] = []
  const seen = new Set<string>()
  let id: unknown = from
  while (typeof id === 'string' && !seen.has(id)) {
    const node = nodes.get(id)
    if (node === undefined) break
    seen.add(id)
    path.push({ id, message: node.message ?? null })
    id = node.parent
  }
  return path.reverse()
}

/** The newest leaf; the last one when there are no times. */
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
