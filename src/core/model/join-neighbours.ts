import type { Part, ToolCallPart, ToolResultPart } from '../messages/message.ts'

/** A call or result as pairing needs it. The id is empty when it has none. */
type Joinable = {
  readonly kind: 'call' | 'result'
  readonly id: string
  readonly tool: string | undefined
}

/** The calls and results of one message, in their order. */
type JoinableRow = {
  readonly slots: readonly Joinable[]
  /** Whether it has other content besides. */
  readonly says: boolean
}

/** The ids of a call or result. */
type Joined = {
  /** Its own id, that of the call that it belongs to, or a generated one. */
  readonly id: string
  /** For pairing: like `id`, but unique where a result was joined to a call by its neighbourhood. */
  readonly key: string
}

/**
 * Gives ids to calls and results without one, so that they can be paired. Returns the ids of each slot, row by row. Takes linear
 * time.
 *
 * A result with the id of an open call before it belongs to that call. Any other belongs to an open call before it from which only
 * calls and results separate it: the first of the same tool, else the first where one of the two has no tool name. So parallel
 * calls and the results after them become pairs. `first` is the index of the first row in the conversation: generated ids contain
 * the index of their row.
 */
export function joinNeighbours(rows: readonly JoinableRow[], first = 0): Joined[][] {
  const known = new Set(rows.flatMap(({ slots }) => slots.map(({ id }) => id)))
  if (!known.has('')) return rows.map(({ slots }) => slots.map(({ id }) => ({ id, key: id })))

  const joined: Joined[][] = []
  /** The number of open calls per id, however far back. */
  const waiting = new Map<string, number>()
  /** The number of results per id that are still to come. */
  const coming = new Map<string, number>()
  for (const { slots } of rows) for (const { kind, id } of slots) if (kind === 'result') add(coming, id, 1)
  let near = nothingNear()

  const fresh = (what: string, row: number, at: number): string => {
    let id = `${what} ${first + row}.${at}`
    while (known.has(id)) id = `${id}'`
    return id
  }
  const joinCall = (slot: Joinable, row: number, at: number): Joined => {
    const id = slot.id || fresh('call', row, at)
    add(waiting, id, 1)
    const call: OpenCall = { id, row, at, tool: slot.tool, taken: false }
    if (slot.id === '') near.nameless.add(call)
    if (slot.id === '' || (coming.get(id) ?? 0) === 0) near.free.add(call)
    else near.named.add(call)
    addTo(near.ofId, id, call)
    return { id, key: id }
  }
  const joinResult = ({ id: own, tool }: Joinable, row: number, at: number): Joined => {
    add(coming, own, -1)
    if (own !== '' && (waiting.get(own) ?? 0) > 0) {
      add(waiting, own, -1)
      const call = firstOf(near.ofId.get(own))
      if (call !== undefined) call.taken = true
      return { id: own, key: own }
    }
    const call = own === '' ? (near.free.take(tool) ?? near.named.take(tool)) : near.nameless.take(tool)
    if (call === undefined) {
      const id = own || fresh('result', row, at)
      return { id, key: id }
    }
    add(waiting, call.id, -1)
    const pair = { id: call.id, key: fresh('call', call.row, call.at) }
    joined[call.row]![call.at] = pair
    return pair
  }

  for (const [row, { slots, says }] of rows.entries()) {
    const hasCalls = slots.some(({ kind }) => kind === 'call')
    if (says && (hasCalls || slots.length === 0)) near = nothingNear()
    const own: Joined[] = []
    joined.push(own)
    for (const [at, slot] of slots.entries())
      own.push(slot.kind === 'call' ? joinCall(slot, row, at) : joinResult(slot, row, at))
    if (says && !hasCalls) near = nothingNear()
  }
  return joined
}

function add(counts: Map<string, number>, id: string, change: number): void {
  counts.set(id, (counts.get(id) ?? 0) + change)
}

type OpenCall = {
  readonly id: string
  readonly row: number
  readonly at: number
  readonly tool: string | undefined
  taken: boolean
}
type Queue = { readonly calls: OpenCall[]; next: number }

/** The open calls that no other content separates from here, by the results that may belong to them. */
type Near = {
  /** Calls without an id of their own: for any result. */
  readonly nameless: OpenCalls
  /** Those, and calls with an id that no result to come has: for results without an id. */
  readonly free: OpenCalls
  /** Calls with an id that a result to come has: for results without an id, when there is no other. */
  readonly named: OpenCalls
  readonly ofId: Map<string, Queue>
}
type OpenCalls = {
  readonly add: (call: OpenCall) => void
  readonly take: (tool: string | undefined) => OpenCall | undefined
}

function nothingNear(): Near {
  return { nameless: openCalls(), free: openCalls(), named: openCalls(), ofId: new Map() }
}

/** The first open call of a queue. */
function firstOf(queue: Queue | undefined): OpenCall | undefined {
  if (queue === undefined) return undefined
  while (queue.calls[queue.next]?.taken === true) queue.next++
  return queue.calls[queue.next]
}

function addTo<K>(queues: Map<K, Queue>, key: K, call: OpenCall): void {
  const queue = queues.get(key)
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 })
  else queue.calls.push(call)
}

function openCalls(): OpenCalls {
  const all: Queue = { calls: [], next: 0 }
  const byTool = new Map<string | undefined, Queue>()
  return {
    add(call) {
      all.calls.push(call)
      addTo(byTool, call.tool, call)
    },
    take(tool) {
      const found =
        tool === undefined ? firstOf(all) : (firstOf(byTool.get(tool)) ?? firstOf(byTool.get(undefined)))
      if (found !== undefined) found.taken = true
      return found
    },
  }
}

/** Gives ids to calls and results without one, so that they can be paired. `first` is the index of the first message. */
export function joinByNeighbourhood(contents: readonly (readonly Part[])[], first = 0): (readonly Part[])[] {
  const joined = joinNeighbours(
    contents.map((parts) => ({
      slots: parts.flatMap((part): Joinable[] => {
        if (part.type === 'tool-call')
          return [{ kind: 'call', id: part.toolCallId, tool: knownTool(part.toolName) }]
        if (part.type !== 'tool-result') return []
        return [{ kind: 'result', id: part.toolCallId, tool: knownTool(part.toolName) }]
      }),
      says: parts.some(isSpoken),
    })),
    first,
  )
  return contents.map((parts, row) => {
    let next = 0
    return parts.map((part) =>
      part.type === 'tool-call' || part.type === 'tool-result'
        ? withId(part, joined[row]![next++]!.id)
        : part,
    )
  })
}

/** The tool name of a flat call without one. */
function knownTool(name: string | undefined): string | undefined {
  return name === 'unknown' ? undefined : name
}

function isSpoken(part: Part): boolean {
  if (part.type === 'text') return part.text.trim() !== ''
  return part.type === 'image' || part.type === 'file'
}

function withId<P extends ToolCallPart | ToolResultPart>(part: P, id: string): P {
  return part.toolCallId === id ? part : { ...part, toolCallId: id }
}
