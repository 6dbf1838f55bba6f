import { z } from 'zod'
import { type CallRef, joinNeighbors, type Pairing, pairToolUse } from '../../core/messages/call-results.ts'
import { check, readable } from '../../core/messages/check.ts'
import { defined, listIn } from '../../core/messages/json.ts'
import { type ChatMessage, type PlainMessage, requireMessages } from '../../core/model/message-parts.ts'
import {
  callOf,
  callsFor,
  isContent,
  isContentText,
  readVisible,
  resultOf,
  resultsFor,
  type ToolMessage,
  type ToolSlot,
} from './tool-slots.ts'

/** The changes at one message, collected before they are applied. Messages are inserted in the order of the fields. */
class Edit {
  readonly before: PlainMessage[] = []
  /** Calls or results that are removed from the message. */
  readonly removed: ToolSlot[] = []
  /** Calls or results whose other halves are added to the message. */
  readonly completed: ToolSlot[] = []
  readonly callsAfter: PlainMessage[] = []
  readonly resultsAfter: PlainMessage[] = []
}

/** Returns the message after an edit; an empty list if nothing is left of it. */
function edited(message: PlainMessage, { removed, completed }: Edit): readonly PlainMessage[] {
  if (removed.length === 0 && completed.length === 0) return [message]
  if (removed.some(({ place }) => place === 'message')) return []
  const gone = new Set(removed.map(({ place, at }) => `${place} ${at}`))
  const completedAt = new Map(completed.map((slot) => [slot.at, slot]))
  const { tool_calls: listed, function_call: _, ...rest } = message as PlainMessage & CallFields
  const content = Array.isArray(message.content)
    ? (message.content as readonly unknown[]).flatMap((part, at) => {
        const slot = completedAt.get(at)
        if (gone.has(`content ${at}`)) return []
        if (slot === undefined) return [part]
        return slot.kind === 'call' ? [part, resultOf(slot)] : [...callOf(slot), part]
      })
    : message.content
  const calls = Array.isArray(listed) ? listed.filter((_call, at) => !gone.has(`calls ${at}`)) : []
  const others = removed.some(({ place }) => place === 'calls') ? rest : message
  const left = { ...others, ...defined({ content }), ...(calls.length > 0 && { tool_calls: calls }) }
  if (removed.length === 0 || calls.length > 0) return [left]
  const isLeft = Array.isArray(content)
    ? content.some(isContent)
    : typeof content === 'string' && isContentText(content)
  return isLeft ? [left] : []
}

type CallFields = { readonly tool_calls?: unknown; readonly function_call?: unknown }

const optionsSchema = z.strictObject({
  /**
   * How to treat half a pair. `synthesize` (default): its other half is added. `drop`: it is removed, along with a message that is then
   * empty.
   */
  orphans: z.enum(['synthesize', 'drop']).optional(),
  /**
   * How to treat calls at the end, which may still get results. `answer` (default): like any other call without a result. `keep`: they stay
   * unchanged.
   */
  pendingCalls: z.enum(['answer', 'keep']).optional(),
})
/** Options of `repairToolPairs`. */
export type RepairOptions = z.input<typeof optionsSchema>

/** The list without half pairs, and the number of repairs. */
export type RepairResult<M extends PlainMessage = ChatMessage> = {
  /** Whether anything was repaired. */
  readonly repaired: boolean
  /** All messages with whole pairs, in a new list. Unchanged messages are the same objects. */
  readonly messages: M[]
  /** The number of calls without a result that got one or were dropped. */
  readonly orphanedCallsFixed: number
  /** The number of results without a call that got one or were dropped. */
  readonly orphanedResultsFixed: number
}

/**
 * Completes the pairs of calls and results of a plain array. Use it for arrays that were cut by other means: the stages of this package
 * never separate a pair, and `renderHistory` repairs what a store returns.
 *
 * Accepts all formats, also mixed: flat (`tool_call`, `tool_result`), OpenAI's, Anthropic's blocks, neutral parts. A result belongs to the
 * nearest preceding open call with its id, parallel calls in any order; without ids, to a preceding call from which only calls and results
 * separate it. Hidden messages (tags) are kept and never paired.
 *
 * - A call without a result gets "[Tool result unavailable - conversation was compacted]", after the results of its batch that directly
 *   follow it.
 * - A result without a call gets "[Tool call for <tool> - conversation was compacted]", directly before its message; or, if that would
 *   separate other calls from their results, after those calls.
 * - A second result of a call is omitted, as in `renderHistory`.
 *
 * An added half has the format, call id and tool name of its partner and `metadata.truncated: true`. For a tool that a provider ran itself,
 * it is added to the same message. Nothing else moves or changes; repairing twice changes nothing more, and a complete history is returned
 * unchanged. Takes linear time. Throws `INVALID_INPUT`.
 */
export function repairToolPairs<M extends PlainMessage = ChatMessage>(
  messages: readonly M[],
  options: RepairOptions = {},
): RepairResult<M> {
  return readable('repairToolPairs', () => {
    requireMessages(messages, 'repairToolPairs')
    const checked = check(optionsSchema, options, 'repairToolPairs')
    let list = [...messages]
    let orphanedCallsFixed = 0
    let orphanedResultsFixed = 0
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      const { repaired, calls, results } = repairOnce(list, checked)
      if (calls + results === 0) break
      list = repaired
      orphanedCallsFixed += calls
      orphanedResultsFixed += results
    }
    const repaired = orphanedCallsFixed + orphanedResultsFixed > 0
    return { repaired, messages: list, orphanedCallsFixed, orphanedResultsFixed }
  })
}

/**
 * One pass is enough for lists with ids everywhere or nowhere. In mixed lists an added half may be nearer to another partner than to its
 * own; the next pass resolves that.
 */
const MAX_PASSES = 8

function repairOnce<M extends PlainMessage>(
  messages: readonly M[],
  { orphans, pendingCalls }: RepairOptions,
): { readonly repaired: M[]; readonly calls: number; readonly results: number } {
  const rows = readVisible(messages, 'repairToolPairs')
  const edits = rows.map(() => new Edit())
  const pairing = pairRows(rows)
  const duplicates = pairing.orphans.filter(({ duplicateOf }) => duplicateOf !== undefined)
  const uncalled = pairing.orphans
    .filter(({ duplicateOf }) => duplicateOf === undefined)
    .map(({ result }) => result)
  const kept = pendingCalls === 'keep' ? pendingRows(rows, uncalled) : new Set<number>()
  const calls = pairing.unanswered.filter(({ row }) => !kept.has(row))

  const remove = ({ row, part }: CallRef): unknown => edits[row]!.removed.push(rows[row]!.slots[part]!)
  for (const { result } of duplicates) remove(result)
  if (orphans === 'drop') {
    for (const ref of [...calls, ...uncalled]) remove(ref)
  } else {
    /** Adds the other halves: inside their message, or as separate messages. */
    const complete = (
      refs: readonly CallRef[],
      halvesOf: (slots: readonly ToolSlot[]) => PlainMessage[],
      placeFor: (row: number) => PlainMessage[],
    ): void => {
      const slotsOf = new Map<number, ToolSlot[]>()
      for (const { row, part } of refs) listIn(slotsOf, row).push(rows[row]!.slots[part]!)
      for (const [row, slots] of slotsOf) {
        const place = placeFor(row)
        for (const message of halvesOf(slots.filter(({ inside }) => !inside))) place.push(message)
        for (const slot of slots) if (slot.inside) edits[row]!.completed.push(slot)
      }
    }
    const openBatch = openBatches(rows, pairing)
    complete(uncalled, callsFor, (row) => {
      const batch = openBatch(row)
      return batch === undefined ? edits[row]!.before : edits[batch]!.callsAfter
    })
    const ends = batchEnds(rows, (row) => edits[row]!.before.length > 0)
    complete(calls, resultsFor, (row) => edits[ends[row]!]!.resultsAfter)
  }
  const editAt = new Map(rows.map(({ index }, row) => [index, edits[row]!]))
  const repaired = messages.flatMap((message, index) => {
    const edit = editAt.get(index)
    if (edit === undefined) return [message]
    return [...edit.before, ...edited(message, edit), ...edit.callsAfter, ...edit.resultsAfter] as M[]
  })
  return { repaired, calls: calls.length, results: pairing.orphans.length }
}

/** Pairs calls and results by the rule of `pairToolUse`. The part of a place is the index of a slot. */
function pairRows(rows: readonly ToolMessage[]): Pairing {
  const joined = joinNeighbors(rows)
  return pairToolUse(
    rows.map(({ slots }, row) => {
      if (slots.length === 0) return undefined
      const placed = slots.map(({ kind }, part) => ({ kind, part, id: joined[row]![part]!.key }))
      return {
        calls: placed.filter(({ kind }) => kind === 'call'),
        results: placed.filter(({ kind }) => kind === 'result'),
      }
    }),
  )
}

/*
 * A batch: calls that were made together, and the messages with results that directly follow them. The calls are in one message or, in the
 * flat format, in a run of messages.
 */

/**
 * Returns the rows whose calls may still get results: those of the last batch, if only results follow it. Results without a call count as
 * text, because their call is over.
 */
function pendingRows(rows: readonly ToolMessage[], uncalled: readonly CallRef[]): ReadonlySet<number> {
  const orphanRows = new Set(uncalled.map(({ row }) => row))
  const last = rows.findLastIndex(({ isResults }, row) => !isResults || orphanRows.has(row))
  const pending = new Set<number>()
  if (!(rows[last]?.slots.some(({ kind }) => kind === 'call') ?? false)) return pending
  pending.add(last)
  for (let row = last; row > 0 && rows[row]!.isFlatCall && rows[row - 1]!.isFlatCall; row--)
    pending.add(row - 1)
  return pending
}

/**
 * Returns for each row the last row of the run of calls or results that continues from it; for calls, that is the end of their batch. A
 * batch ends before a barred row.
 */
function batchEnds(rows: readonly ToolMessage[], isBarred: (row: number) => boolean): Int32Array {
  const ends = new Int32Array(rows.length)
  for (const [row, { isFlatCall }] of [...rows.entries()].reverse()) {
    const next = rows[row + 1]
    const continues =
      next !== undefined && !isBarred(row + 1) && (next.isResults || (isFlatCall && next.isFlatCall))
    ends[row] = continues ? ends[row + 1]! : row
  }
  return ends
}

/**
 * Returns, for a row of results, the last row of calls of its batch if that row or a later one has results of the batch; `undefined` if a
 * message before the row would separate nothing.
 */
function openBatches(rows: readonly ToolMessage[], { pairs }: Pairing): (row: number) => number | undefined {
  /** The last row with a result for each row of calls; in a flat run, for any call of the run so far. */
  const lastResult = new Int32Array(rows.length).fill(-1)
  for (const { call, result } of pairs) lastResult[call.row] = Math.max(lastResult[call.row]!, result.row)
  /** The row of calls that each row follows, with only results between them. */
  const callsBefore = new Int32Array(rows.length).fill(-1)
  for (let row = 1; row < rows.length; row++) {
    const before = rows[row - 1]!
    const hasCalls = before.slots.some(({ kind }) => kind === 'call')
    if (hasCalls) callsBefore[row] = row - 1
    else if (before.isResults) callsBefore[row] = callsBefore[row - 1]!
    if (before.isFlatCall && rows[row]!.isFlatCall)
      lastResult[row] = Math.max(lastResult[row]!, lastResult[row - 1]!)
  }
  return (row) => {
    const calls = callsBefore[row]!
    return calls >= 0 && lastResult[calls]! >= row ? calls : undefined
  }
}
