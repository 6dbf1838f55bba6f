/*
 * Pairs calls with results, for messages in any form; nothing else decides this. It determines which rows must stay together
 * (`model/tool-groups.ts`). `core/validity` pairs the bodies of requests independently, in order to check the result.
 */

import { fieldOf } from './json.ts'
import type { Part, ToolCallPart, ToolResultPart } from './message.ts'

/** A call or a result of a row: its id, and the index of its part in the row. */
export type ToolEntry = { readonly part: number; readonly id: string }

/** A tool call or result in a list: its entry, and the index of its row. */
export type CallRef<E extends ToolEntry = ToolEntry> = ToolEntry & { readonly row: number; readonly entry: E }

/** The calls and the results of one row, each list in the order of the parts. */
export type ToolUse<C extends ToolEntry = ToolEntry, R extends ToolEntry = ToolEntry> = {
  readonly calls: readonly C[]
  readonly results: readonly R[]
}

/** The pairs of calls and results. */
export type Pairing<C extends ToolEntry = ToolEntry, R extends ToolEntry = ToolEntry> = {
  /** Every call with a result, in the order of the results. */
  readonly pairs: readonly { readonly call: CallRef<C>; readonly result: CallRef<R> }[]
  /** Calls without a result, in their order. */
  readonly unanswered: readonly CallRef<C>[]
  /** Results without an earlier call, and second results of a call, in their order. */
  readonly orphans: readonly {
    readonly result: CallRef<R>
    /** The most recent call with that id, which already has a result. */
    readonly duplicateOf?: CallRef<C>
  }[]
}

/**
 * Pairs calls and results by place first and by id second, because ids repeat within a session.
 *
 * A result belongs to the nearest row with an open call of its id: an earlier row or its own. Among several such calls it belongs to the
 * first of an earlier row, but to the last of its own row: parallel results come in the order of their calls, whereas a result in the row
 * of its call follows the call. Rows without tool use may be `undefined`. Appending rows changes no earlier pair, but may give open calls
 * their results. Takes linear time.
 */
export function pairToolUse<C extends ToolEntry, R extends ToolEntry>(
  rows: readonly (ToolUse<C, R> | undefined)[],
): Pairing<C, R> {
  const pairs: { call: CallRef<C>; result: CallRef<R> }[] = []
  const orphans: { result: CallRef<R>; duplicateOf?: CallRef<C> }[] = []
  const calls: CallRef<C>[] = []
  const callsById = new Map<string, CallsOfId<C>>()

  const makeCall = (row: number, entry: C): void => {
    const call = { row, part: entry.part, id: entry.id, entry }
    calls.push(call)
    const sameId = callsById.get(call.id)
    if (sameId === undefined) callsById.set(call.id, { last: call, only: call, open: undefined })
    else addCall(sameId, call)
  }
  const answer = (row: number, entry: R): void => {
    const result = { row, part: entry.part, id: entry.id, entry }
    const sameId = callsById.get(result.id)
    const call = sameId === undefined ? undefined : takeOpenCall(sameId, row)
    if (call !== undefined) pairs.push({ call, result })
    else if (sameId !== undefined) orphans.push({ result, duplicateOf: sameId.last })
    else orphans.push({ result })
  }

  for (let row = 0; row < rows.length; row++) {
    const use = rows[row]
    if (use === undefined) continue
    let next = 0
    for (const result of use.results) {
      for (
        let call = use.calls[next];
        call !== undefined && call.part < result.part;
        call = use.calls[++next]
      )
        makeCall(row, call)
      answer(row, result)
    }
    for (; next < use.calls.length; next++) makeCall(row, use.calls[next]!)
  }

  const answered = new Set(pairs.map((pair) => pair.call))
  return { pairs, unanswered: calls.filter((call) => !answered.has(call)), orphans }
}

/** The form of a call or result within a list: a neutral part or an Anthropic block. */
type ToolPartForm = 'parts' | 'blocks'

type ToolPartShape = {
  readonly kind: 'call' | 'result'
  readonly form: ToolPartForm
  /** The fields that hold the id of the call and the name of the tool. */
  readonly id: string
  readonly tool: string
}

/** The types of parts that are calls and results, in every supported form. */
const TOOL_PARTS: ReadonlyMap<unknown, ToolPartShape> = new Map<unknown, ToolPartShape>([
  ['tool-call', { kind: 'call', form: 'parts', id: 'toolCallId', tool: 'toolName' }],
  ['tool-result', { kind: 'result', form: 'parts', id: 'toolCallId', tool: 'toolName' }],
  ['tool_use', { kind: 'call', form: 'blocks', id: 'id', tool: 'name' }],
  ['tool_result', { kind: 'result', form: 'blocks', id: 'tool_use_id', tool: 'name' }],
])

/** Reads a value as a call or result, with its id and tool unchanged; `undefined` for any other value. */
export function toolPartOf(
  part: unknown,
): (Pick<ToolPartShape, 'kind' | 'form'> & { readonly id: unknown; readonly tool: unknown }) | undefined {
  const shape = TOOL_PARTS.get(fieldOf(part, 'type'))
  if (shape === undefined) return undefined
  const { kind, form, id, tool } = shape
  return { kind, form, id: fieldOf(part, id), tool: fieldOf(part, tool) }
}

/**
 * Returns the calls and results of a content, by place, as a row for `pairToolUse`. Returns `undefined` if there are none, or if the
 * content is not a list. Calls and results without an id are left out.
 */
export function toolUseOf(content: unknown, form: ToolPartForm = 'parts'): ToolUse | undefined {
  if (!Array.isArray(content)) return undefined
  const calls: ToolEntry[] = []
  const results: ToolEntry[] = []
  for (const [part, value] of (content as readonly unknown[]).entries()) {
    const found = toolPartOf(value)
    if (found?.form !== form || typeof found.id !== 'string') continue
    const list = found.kind === 'call' ? calls : results
    list.push({ part, id: found.id })
  }
  return calls.length === 0 && results.length === 0 ? undefined : { calls, results }
}

/**
 * All calls so far with one id: the last one, and the open ones by row, nearest row last. Most ids are used once: until a second call
 * comes, `only` holds the open call and there is no list.
 */
type CallsOfId<C extends ToolEntry> = {
  last: CallRef<C>
  only: CallRef<C> | undefined
  open: OpenRow<C>[] | undefined
}
/** The calls of one row; calls before `next` already have results. */
type OpenRow<C extends ToolEntry> = { readonly row: number; readonly calls: CallRef<C>[]; next: number }

function addCall<C extends ToolEntry>(sameId: CallsOfId<C>, call: CallRef<C>): void {
  const { only } = sameId
  sameId.open ??= only === undefined ? [] : [{ row: only.row, calls: [only], next: 0 }]
  sameId.last = call
  const nearest = sameId.open.at(-1)
  if (nearest !== undefined && nearest.row === call.row) nearest.calls.push(call)
  else sameId.open.push({ row: call.row, calls: [call], next: 0 })
}

function takeOpenCall<C extends ToolEntry>(sameId: CallsOfId<C>, row: number): CallRef<C> | undefined {
  const { only, open } = sameId
  if (open === undefined) {
    sameId.only = undefined
    return only
  }
  const nearest = open.at(-1)
  if (nearest === undefined) return undefined
  const call = nearest.row === row ? nearest.calls.pop() : nearest.calls[nearest.next++]
  if (nearest.next === nearest.calls.length) open.pop()
  return call
}

/*
 * Calls and results without an id.
 */

/** A call or result in the form needed for pairing. An empty id means that it has none. */
type Joinable = {
  readonly kind: 'call' | 'result'
  readonly id: string
  readonly tool: string | undefined
}

/** The calls and results of one message, in their order. */
type JoinableRow = {
  readonly slots: readonly Joinable[]
  /** Whether the message has any other content. */
  readonly hasContent: boolean
}

/** The ids of a call or result. */
type Joined = {
  /** Its own id, the id of the call that it belongs to, or a generated id. */
  readonly id: string
  /** For pairing: like `id`, but unique if a result was joined to a call by its neighborhood. */
  readonly key: string
}

/**
 * Gives ids to calls and results that lack one, so that they can be paired. Returns the ids of each slot, row by row. Takes linear time.
 *
 * A result with the id of an earlier open call belongs to that call. Any other result belongs to an earlier open call from which only
 * calls and results separate it: the first of the same tool, or else the first where either has no tool name. Parallel calls and the
 * results after them thus become pairs. `first` is the index of the first row in the conversation: generated ids contain the index of
 * their row.
 */
export function joinNeighbors(rows: readonly JoinableRow[], first = 0): Joined[][] {
  const known = new Set(rows.flatMap(({ slots }) => slots.map(({ id }) => id)))
  if (!known.has('')) return rows.map(({ slots }) => slots.map(({ id }) => ({ id, key: id })))

  const joined: Joined[][] = []
  /** The number of open calls per id, at any distance. */
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

  for (const [row, { slots, hasContent }] of rows.entries()) {
    const hasCalls = slots.some(({ kind }) => kind === 'call')
    if (hasContent && (hasCalls || slots.length === 0)) near = nothingNear()
    const own: Joined[] = []
    joined.push(own)
    for (const [at, slot] of slots.entries())
      own.push(slot.kind === 'call' ? joinCall(slot, row, at) : joinResult(slot, row, at))
    if (hasContent && !hasCalls) near = nothingNear()
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

/** The open calls that no other content separates from this place, by the results that may belong to them. */
type Near = {
  /** Calls without an id of their own: for any result. */
  readonly nameless: OpenCalls
  /** The nameless calls, and calls whose id no later result has: for results without an id. */
  readonly free: OpenCalls
  /** Calls whose id a later result has: for results without an id, if there is no other call. */
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

/** Gives ids to calls and results that lack one, so that they can be paired. `first` is the index of the first message. */
export function joinByAdjacency(contents: readonly (readonly Part[])[], first = 0): (readonly Part[])[] {
  const joined = joinNeighbors(
    contents.map((parts) => ({
      slots: parts.flatMap((part): Joinable[] => {
        if (part.type === 'tool-call')
          return [{ kind: 'call', id: part.toolCallId, tool: knownTool(part.toolName) }]
        if (part.type !== 'tool-result') return []
        return [{ kind: 'result', id: part.toolCallId, tool: knownTool(part.toolName) }]
      }),
      hasContent: parts.some(isSpoken),
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

/** Returns `undefined` for `unknown`, the tool name of a flat call that has none. */
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
