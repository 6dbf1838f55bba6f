import { z } from 'zod'
import { check } from '../messages/check.ts'
import { type Pairing, pairToolUse } from '../messages/pairing.ts'
import { joinNeighbours } from '../model/join-neighbours.ts'
import type { PlainMessage } from '../model/message-parts.ts'
import { type ChatMessage, requireMessages } from '../model/message-parts.ts'
import { isVisible } from './effective-history.ts'
import {
  callPart,
  callsFor,
  fieldOf,
  isSpoken,
  readToolMessage,
  resultPart,
  resultsFor,
  saysSomething,
  type ToolMessage,
  type ToolSlot,
  textPart,
  toolCallUnavailable,
} from './tool-slots.ts'

/** Planned changes, collected before they are applied. Neither the list nor its messages are changed. */
export class Mending<M extends PlainMessage> {
  readonly #messages: readonly M[]
  readonly #before = new Map<number, M[]>()
  readonly #callsBehind = new Map<number, M[]>()
  readonly #resultsBehind = new Map<number, M[]>()
  readonly #dropped = new Map<number, ToolSlot[]>()
  readonly #inside = new Map<number, ToolSlot[]>()

  constructor(messages: readonly M[]) {
    this.#messages = messages
  }

  /** Inserts calls for results before the message at `index`. */
  addCallsBefore(index: number, results: readonly ToolSlot[]): void {
    addTo(this.#before, index, callsFor(results) as M[])
  }

  /** Inserts calls for results after the message at `index`. */
  addCallsBehind(index: number, results: readonly ToolSlot[]): void {
    addTo(this.#callsBehind, index, callsFor(results) as M[])
  }

  /** Inserts results for calls after the message at `index`, and after calls inserted there. */
  addResultsBehind(index: number, calls: readonly ToolSlot[]): void {
    addTo(this.#resultsBehind, index, resultsFor(calls) as M[])
  }

  /** Adds the other halves of some slots to their own message. */
  addInside(index: number, slots: readonly ToolSlot[]): void {
    addTo(this.#inside, index, slots)
  }

  /** Removes calls or results from the message at `index`. */
  drop(index: number, slots: readonly ToolSlot[]): void {
    addTo(this.#dropped, index, slots)
  }

  /** Whether something is inserted before the message at `index`. */
  hasBefore(index: number): boolean {
    return this.#before.has(index)
  }

  /** The list with all changes. */
  done(): M[] {
    return this.#messages.flatMap((message, index) => {
      const own = this.#mended(message, index)
      return [
        ...(this.#before.get(index) ?? []),
        ...(own === undefined ? [] : [own]),
        ...(this.#callsBehind.get(index) ?? []),
        ...(this.#resultsBehind.get(index) ?? []),
      ]
    })
  }

  #mended(message: M, index: number): M | undefined {
    const dropped = this.#dropped.get(index) ?? []
    const inside = this.#inside.get(index) ?? []
    if (dropped.length === 0 && inside.length === 0) return message
    if (dropped.some(isMessage)) return undefined
    const mended = withCallsApart(withContent(message, dropped, inside), dropped)
    return dropped.length > 0 && isEmpty(mended) ? undefined : (mended as M)
  }
}

function addTo<T>(lists: Map<number, T[]>, index: number, added: readonly T[]): void {
  if (added.length === 0) return
  const list = lists.get(index) ?? []
  lists.set(index, list)
  for (const one of added) list.push(one)
}

/** Whether a call or result is its whole message. */
function isMessage({ kind, form }: ToolSlot): boolean {
  return form === 'flat' || (kind === 'result' && (form === 'openai' || form === 'function'))
}

function isInContent({ form }: ToolSlot): boolean {
  return form === 'parts' || form === 'blocks'
}

/** The message without some of its parts, and with partners of others: results after calls, calls before results. */
function withContent(
  message: PlainMessage,
  dropped: readonly ToolSlot[],
  alone: readonly ToolSlot[],
): PlainMessage {
  const gone = new Set(dropped.filter(isInContent).map(({ at }) => at))
  const aloneAt = new Map(alone.map((slot) => [slot.at, slot]))
  if (gone.size === 0 && aloneAt.size === 0) return message
  const content = listOf(message.content).flatMap((part, at) => {
    const slot = aloneAt.get(at)
    if (gone.has(at)) return []
    if (slot === undefined) return [part]
    if (slot.kind === 'call') return [part, resultPart(slot)]
    return [textPart(toolCallUnavailable(slot.tool)), callPart(slot), part]
  })
  return { ...message, content }
}

/** The message without some of the calls beside its content. */
function withCallsApart(message: PlainMessage, dropped: readonly ToolSlot[]): PlainMessage {
  const gone = new Set(dropped.filter((slot) => !isInContent(slot)).map(({ at }) => at))
  if (gone.size === 0) return message
  const { tool_calls: calls, function_call: _, ...rest } = message as PlainMessage & Apart
  const left = listOf(calls).filter((_call, at) => !gone.has(at))
  return left.length === 0 ? rest : ({ ...rest, tool_calls: left } as PlainMessage)
}

type Apart = { readonly tool_calls?: unknown; readonly function_call?: unknown }

/** Whether a message has no content left, calls and results included. */
function isEmpty(message: PlainMessage): boolean {
  const { content } = message
  if (listOf(fieldOf(message, 'tool_calls')).length > 0) return false
  if (Array.isArray(content)) return !content.some(saysSomething)
  return typeof content !== 'string' || !isSpoken(content)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

const optionsSchema = z.strictObject({
  /**
   * The treatment of half a pair. `synthesize` (default): its other half is added. `drop`: it is removed, and with it a message that is
   * then empty.
   */
  orphans: z.enum(['synthesize', 'drop']).optional(),
  /**
   * The treatment of calls at the end, which may still get results. `answer` (default): like any other call without a result. `keep`: they
   * stay unchanged.
   */
  pendingCalls: z.enum(['answer', 'keep']).optional(),
})
export type RepairOptions = z.input<typeof optionsSchema>

/** The list without half pairs, and their numbers. */
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
 * Completes the pairs of calls and results of a plain array. For arrays that were cut by other means: the stages of this package never
 * separate a pair, and `renderHistory` repairs what a store returns.
 *
 * Accepts any format, also mixed: flat (`tool_call`, `tool_result`), OpenAI's, Anthropic's blocks, neutral parts. A result belongs to the
 * nearest open call of its id before it, parallel calls in any order; without ids, to a call before it from which only calls and results
 * separate it. Hidden messages (tags) are kept and never paired.
 *
 * - A call without a result gets "[Tool result unavailable - conversation was compacted]", after the results of its
 *   batch that directly follow.
 * - A result without a call gets "[Tool call for <tool> - conversation was compacted]", directly before its
 *   message; or, where that would separate other calls from their results, after the call of those.
 * - A second result of a call is omitted, as in `renderHistory`.
 *
 * An added half has the format, call id and tool name of its partner and `metadata.truncated: true`. For a tool that a provider ran
 * itself, it is added to the same message. Nothing else moves or changes; repairing twice changes nothing more, and a complete history is
 * returned unchanged. Takes linear time. Throws `INVALID_INPUT`.
 */
export function repairToolPairs<M extends PlainMessage = ChatMessage>(
  messages: readonly M[],
  options: RepairOptions = {},
): RepairResult<M> {
  requireMessages(messages, 'repairToolPairs')
  const checked = check(optionsSchema, options, 'repairToolPairs')
  let result = repairOnce(messages, checked)
  for (let pass = 1, last = result; last.repaired && pass < MOST_PASSES; pass++) {
    last = repairOnce(result.messages, checked)
    result = {
      repaired: true,
      messages: last.messages,
      orphanedCallsFixed: result.orphanedCallsFixed + last.orphanedCallsFixed,
      orphanedResultsFixed: result.orphanedResultsFixed + last.orphanedResultsFixed,
    }
  }
  return result
}

/**
 * One pass is enough for lists with ids everywhere or nowhere. In mixed lists an added half may be nearer to another partner than to its
 * own; then the next pass resolves that.
 */
const MOST_PASSES = 8

function repairOnce<M extends PlainMessage>(messages: readonly M[], options: RepairOptions): RepairResult<M> {
  const { orphans = 'synthesize', pendingCalls = 'answer' } = options
  const places = messages.flatMap((message, index) => (isVisible(message as ChatMessage) ? [index] : []))
  const rows = places.map((index) => readToolMessage(messages[index]!, `repairToolPairs: messages[${index}]`))
  const pairing = pairRows(rows)
  const halves = halvesOf(rows, pairing, pendingCalls === 'keep')

  const mending = new Mending(messages)
  if (orphans === 'drop') {
    for (const { row, slots } of [...halves.calls, ...halves.results]) mending.drop(places[row]!, slots)
  } else {
    addCalls(mending, rows, places, pairing, halves.results)
    addResults(mending, rows, places, halves.calls)
  }
  for (const { row, slots } of halves.duplicates) mending.drop(places[row]!, slots)

  return {
    repaired: halves.calls.length + halves.results.length + halves.duplicates.length > 0,
    messages: mending.done(),
    orphanedCallsFixed: countSlots(halves.calls),
    orphanedResultsFixed: countSlots(halves.results) + countSlots(halves.duplicates),
  }
}

/** Pairs calls and results by the rule of `pairToolUse`. The part of a place is the index of a slot. */
function pairRows(rows: readonly ToolMessage[]): Pairing {
  const joined = joinNeighbours(rows)
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

/** The halves of pairs in one message, in its order. */
type Halves = { readonly row: number; readonly slots: readonly ToolSlot[] }

/** The slots without a partner, in order. */
type AllHalves = {
  readonly calls: readonly Halves[]
  readonly results: readonly Halves[]
  readonly duplicates: readonly Halves[]
}

function halvesOf(rows: readonly ToolMessage[], pairing: Pairing, keepWaiting: boolean): AllHalves {
  const results = pairing.orphans.filter(({ duplicateOf }) => duplicateOf === undefined)
  const duplicates = pairing.orphans.filter(({ duplicateOf }) => duplicateOf !== undefined)
  const waiting = keepWaiting
    ? waitingRows(rows, new Set(results.map(({ result }) => result.row)))
    : new Set<number>()
  const bySlots = (places: readonly { row: number; part: number }[]): Halves[] => {
    const byRow = new Map<number, ToolSlot[]>()
    for (const { row, part } of places) {
      const slots = byRow.get(row) ?? []
      byRow.set(row, slots)
      slots.push(rows[row]!.slots[part]!)
    }
    return [...byRow].map(([row, slots]) => ({ row, slots }))
  }
  return {
    calls: bySlots(pairing.unanswered.filter(({ row }) => !waiting.has(row))),
    results: bySlots(results.map(({ result }) => result)),
    duplicates: bySlots(duplicates.map(({ result }) => result)),
  }
}

function addCalls(
  mending: Mending<PlainMessage>,
  rows: readonly ToolMessage[],
  places: readonly number[],
  pairing: Pairing,
  results: readonly Halves[],
): void {
  const openBatch = openBatchBefore(rows, pairing)
  for (const { row, slots } of results) {
    const apart = slots.filter(({ inside }) => !inside)
    const batch = openBatch(row)
    if (batch === undefined) mending.addCallsBefore(places[row]!, apart)
    else mending.addCallsBehind(places[batch]!, apart)
    mending.addInside(
      places[row]!,
      slots.filter(({ inside }) => inside),
    )
  }
}

function addResults(
  mending: Mending<PlainMessage>,
  rows: readonly ToolMessage[],
  places: readonly number[],
  calls: readonly Halves[],
): void {
  const isBarred = (row: number): boolean => mending.hasBefore(places[row]!)
  const ends = batchEnds(rows, isBarred)
  for (const { row, slots } of calls) {
    mending.addResultsBehind(
      places[ends(row)]!,
      slots.filter(({ inside }) => !inside),
    )
    mending.addInside(
      places[row]!,
      slots.filter(({ inside }) => inside),
    )
  }
}

function countSlots(halves: readonly Halves[]): number {
  return halves.reduce((sum, { slots }) => sum + slots.length, 0)
}

/*
 * A batch: calls that were made together, and the messages of results that directly follow them. The calls are in one message, or in the
 * flat format in a run of messages.
 */

/**
 * Rows whose calls may still get results: those of the last batch, when only results follow it. Results without a call (`orphanRows`)
 * count as text, because their call is over.
 */
function waitingRows(rows: readonly ToolMessage[], orphanRows: ReadonlySet<number>): ReadonlySet<number> {
  const last = rows.findLastIndex(({ isResults }, row) => !isResults || orphanRows.has(row))
  const waiting = new Set<number>()
  if (!(rows[last]?.slots.some(({ kind }) => kind === 'call') ?? false)) return waiting
  waiting.add(last)
  for (let row = last; row > 0 && rows[row]!.isFlatCall && rows[row - 1]!.isFlatCall; row--)
    waiting.add(row - 1)
  return waiting
}

/**
 * The last row of the batch a row of calls is in: the last of its results that directly follow. A batch does not
 * reach over a row that is barred.
 */
function batchEnds(
  rows: readonly ToolMessage[],
  isBarred: (row: number) => boolean,
): (row: number) => number {
  /** For each row the last one of the run of calls, or of results, that it begins. */
  const ends = new Int32Array(rows.length)
  for (let row = rows.length - 1; row >= 0; row--) {
    const next = row + 1
    const goesOn =
      next < rows.length &&
      !isBarred(next) &&
      (rows[next]!.isResults || (rows[row]!.isFlatCall && rows[next]!.isFlatCall))
    ends[row] = goesOn ? ends[next]! : row
  }
  return (row) => ends[row]!
}

/**
 * For a row of results: the last row of calls of the batch it stands in, when results of that batch stand in it or
 * behind it; `undefined` when a message put before it would part nothing.
 */
function openBatchBefore(
  rows: readonly ToolMessage[],
  { pairs }: Pairing,
): (row: number) => number | undefined {
  /** The last row that answers each row of calls; of a flat run, any call of it so far. */
  const lastResult = new Int32Array(rows.length).fill(-1)
  for (const { call, result } of pairs) lastResult[call.row] = Math.max(lastResult[call.row]!, result.row)
  /** The row of calls that each row directly follows, over results only. */
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
