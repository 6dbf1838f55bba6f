import type { Plain } from './snapshot.ts'
import type { BlockOf, Request, Turn } from './wire.ts'

/** Which calls and results of a request do not belong together. */
export type Pairs = {
  readonly unanswered: readonly BlockOf<'call'>[]
  readonly orphans: readonly BlockOf<'result'>[]
  readonly repeated: readonly BlockOf<'result'>[]
}

const KNOWN = new WeakMap<Request, Pairs>()

/** Pairs calls and results as the API of the request does, once per request. */
export function pairedCalls(request: Request): Pairs {
  let pairs = KNOWN.get(request)
  if (pairs === undefined) {
    pairs = request.form === 'responses' ? pairedAnywhere(request.turns) : pairedNext(request)
    KNOWN.set(request, pairs)
  }
  return pairs
}

type Side = { role: string; calls: BlockOf<'call'>[]; results: BlockOf<'result'>[]; own: Set<Plain> }

/** Turns that an API reads as one: of the same role in Anthropic's, the messages of tools elsewhere. */
function sidesOf({ form, turns }: Request): Side[] {
  const joinsAll = form === 'messages' || form === 'converse'
  const sides: Side[] = []
  for (const { role, blocks } of turns) {
    const side = role === 'function' && form === 'chat' ? 'tool' : role
    const last = sides.at(-1)
    const joins = last?.role === side && (joinsAll || side === 'tool')
    const into: Side = joins ? last : { role: side, calls: [], results: [], own: new Set() }
    if (!joins) sides.push(into)
    for (const block of blocks) {
      if (block.kind === 'call') into.calls.push(block)
      if (block.kind === 'result') into.results.push(block)
      // The AI SDK puts results of the provider's tools into the answer.
      if (block.kind === 'own-call' && block.id !== undefined) into.own.add(block.id)
    }
  }
  return sides
}

/** Each result directly after the message of its call. Gemini's need no ids: they are paired by their number. */
function pairedNext(request: Request): Pairs {
  const pairs = {
    unanswered: [] as BlockOf<'call'>[],
    orphans: [] as BlockOf<'result'>[],
    repeated: [] as BlockOf<'result'>[],
  }
  const sides = sidesOf(request)
  const isGemini = request.form === 'gemini'
  /** Ids of calls of the provider's own tools, whose results may come in the answer or after it. */
  const own = new Set<Plain>()
  for (const [i, side] of sides.entries()) {
    for (const id of side.own) own.add(id)
    const before = sides[i - 1]
    const calls = before?.calls ?? []
    if (isGemini && side.results.every(({ id }) => id === undefined)) {
      for (const orphan of side.results.slice(calls.length)) pairs.orphans.push(orphan)
      for (const call of calls.slice(side.results.length)) pairs.unanswered.push(call)
      continue
    }
    const open = new Map<Plain | undefined, number>()
    for (const { id } of calls) open.set(id, (open.get(id) ?? 0) + 1)
    for (const result of side.results) {
      const left = open.get(result.id)
      if (left === undefined) {
        if (!own.has(result.id ?? null)) pairs.orphans.push(result)
      } else if (left === 0) pairs.repeated.push(result)
      else open.set(result.id, left - 1)
    }
    for (const call of calls.toReversed()) {
      const left = open.get(call.id) ?? 0
      if (left === 0) continue
      open.set(call.id, left - 1)
      pairs.unanswered.push(call)
    }
  }
  for (const call of sides.at(-1)?.calls ?? []) pairs.unanswered.push(call)
  return pairs
}

/** Each result anywhere after its call. */
function pairedAnywhere(turns: readonly Turn[]): Pairs {
  const open = new Map<Plain | undefined, BlockOf<'call'>[]>()
  const orphans: BlockOf<'result'>[] = []
  const repeated: BlockOf<'result'>[] = []
  for (const { blocks } of turns)
    for (const block of blocks) {
      if (block.kind === 'call') {
        const calls = open.get(block.id)
        if (calls === undefined) open.set(block.id, [block])
        else calls.push(block)
      } else if (block.kind === 'result') {
        const calls = open.get(block.id)
        if (calls === undefined) orphans.push(block)
        else if (calls.pop() === undefined) repeated.push(block)
      }
    }
  return { unanswered: [...open.values()].flat(), orphans, repeated }
}
