/* Which result answers which call. The groups of rows that must stay together follow from it (`model/turns.ts`). */

import type { Part } from './message.ts'

/** The place of a tool call or result: the index of its row in the list, and of its part in the row. */
export type CallRef = { readonly row: number; readonly part: number; readonly id: string }

/** The calls and the results of one row, each list in the order of the parts. */
export type ToolUse = {
  readonly calls: readonly { readonly part: number; readonly id: string }[]
  readonly results: readonly { readonly part: number; readonly id: string }[]
}

/** The pairs of calls and results. */
export type Pairing = {
  /** Every call with a result, in the order of the results. */
  readonly pairs: readonly { readonly call: CallRef; readonly result: CallRef }[]
  /** Calls without a result, in their order. */
  readonly unanswered: readonly CallRef[]
  /** Results without a call before them, and second results of a call, in their order. */
  readonly orphans: readonly {
    readonly result: CallRef
    /** The most recent call with that id, which has a result already. */
    readonly duplicateOf?: CallRef
  }[]
}

/**
 * Pairs calls and results, by place first and by id second, because ids repeat within a session.
 *
 * A result belongs to the nearest row with an open call of its id, before it in the list or in its own row. Among several such
 * calls it belongs to the first of an earlier row, but to the last of its own row: parallel results come in the order of their
 * calls, while a result in the row of its call follows it. Rows without tool use may be `undefined`. Rows added at the end change
 * nothing before them, except that open calls may get their results. Takes linear time.
 */
export function pairToolUse(rows: readonly (ToolUse | undefined)[]): Pairing {
  const pairs: { call: CallRef; result: CallRef }[] = []
  const orphans: { result: CallRef; duplicateOf?: CallRef }[] = []
  const calls: CallRef[] = []
  const callsById = new Map<string, CallsOfId>()

  const makeCall = (call: CallRef): void => {
    calls.push(call)
    const sameId = callsById.get(call.id)
    if (sameId === undefined) callsById.set(call.id, { last: call, only: call, open: undefined })
    else addCall(sameId, call)
  }
  const answer = (result: CallRef): void => {
    const sameId = callsById.get(result.id)
    const call = sameId === undefined ? undefined : takeOpenCall(sameId, result.row)
    if (call !== undefined) pairs.push({ call, result })
    else if (sameId !== undefined) orphans.push({ result, duplicateOf: sameId.last })
    else orphans.push({ result })
  }

  for (let row = 0; row < rows.length; row++) {
    const use = rows[row]
    if (use === undefined) continue
    let next = 0
    for (const { part, id } of use.results) {
      for (let call = use.calls[next]; call !== undefined && call.part < part; call = use.calls[++next]) {
        makeCall({ row, part: call.part, id: call.id })
      }
      answer({ row, part, id })
    }
    for (; next < use.calls.length; next++) {
      const { part, id } = use.calls[next]!
      makeCall({ row, part, id })
    }
  }

  const answered = new Set(pairs.map((pair) => pair.call))
  return { pairs, unanswered: calls.filter((call) => !answered.has(call)), orphans }
}

/** The calls and results among parts, or `undefined` when there are none: a row for `pairToolUse`. */
export function toolUseOf(parts: readonly Part[]): ToolUse | undefined {
  const calls: { part: number; id: string }[] = []
  const results: { part: number; id: string }[] = []
  for (const [index, part] of parts.entries()) {
    if (part.type === 'tool-call') calls.push({ part: index, id: part.toolCallId })
    else if (part.type === 'tool-result') results.push({ part: index, id: part.toolCallId })
  }
  return calls.length === 0 && results.length === 0 ? undefined : { calls, results }
}

/**
 * All calls so far with one id: the last one, and the open ones by row, nearest row last. Most ids are used once: until a second
 * call comes, the open one is `only` and there is no list.
 */
type CallsOfId = { last: CallRef; only: CallRef | undefined; open: OpenRow[] | undefined }
/** The calls of one row; those before `next` have results. */
type OpenRow = { readonly row: number; readonly calls: CallRef[]; next: number }

function addCall(sameId: CallsOfId, call: CallRef): void {
  const { only } = sameId
  sameId.open ??= only === undefined ? [] : [{ row: only.row, calls: [only], next: 0 }]
  sameId.last = call
  const nearest = sameId.open.at(-1)
  if (nearest !== undefined && nearest.row === call.row) nearest.calls.push(call)
  else sameId.open.push({ row: call.row, calls: [call], next: 0 })
}

function takeOpenCall(sameId: CallsOfId, row: number): CallRef | undefined {
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
