import type { Json } from '../messages/json.ts'
import type { ToolResultOutput } from '../messages/message.ts'
import { type CallRef, pairToolUse } from '../messages/pairing.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import type { CallEntry, ResultEntry, ShownReplacement } from './view-row.ts'

/** Whether a call was answered, and how. */
export type ToolCallStatus = 'ok' | 'error' | 'pending'

/** What the view shows of an output: all of it, another text in its place, or nothing. */
export type ToolOutputShown = 'full' | 'replaced' | 'hidden'

/** Where a call or a result stands. */
export type ToolPlace = {
  readonly messageId: string
  readonly position: number
  /** Index of the part in the message's content. */
  readonly part: number
}

/** A call of a tool, as it stands in the log. */
export type ToolCall = {
  readonly callId: string
  readonly toolName: string
  /** The files its arguments name; read from the index of calls, which knows calls that name one. */
  readonly paths: readonly string[]
  readonly status: ToolCallStatus
  /** Tokens of the output as it is stored, by the session's estimator for its provider; 0 while there is none. */
  readonly tokens: number
  /** What the view shows of the output now; of a call without one, of the call. */
  readonly shown: ToolOutputShown
  readonly call: ToolPlace
  /** Absent while the call is pending. */
  readonly result?: ToolPlace
}

/** A call with what it was given and what came out. */
export type ToolOutput = Omit<ToolCall, 'toolName' | 'call'> & {
  /** Absent for a result without a call that does not name its tool. */
  readonly toolName?: string
  /** Absent for a result without a call, as imports have them; so is `input`. */
  readonly call?: ToolPlace
  readonly input?: Json
  /** The output as it was appended, whatever has been done to it since. Absent while the call is pending. */
  readonly output?: ToolResultOutput
}

/** A message of the log with calls or results, as the index of the storage has it. */
export type ToolRow = {
  readonly key: number
  readonly messageId: string
  readonly position: number
  readonly hidden: boolean
  readonly shown: readonly ShownReplacement[]
  readonly calls: readonly CallEntry[]
  readonly results: readonly ResultEntry[]
}

/** A call with the result that answers it, or a result alone. */
type ToolPair = {
  readonly call?: { readonly row: ToolRow; readonly entry: CallEntry }
  readonly result?: { readonly row: ToolRow; readonly entry: ResultEntry }
}
/** One that has its call. */
export type CalledPair = ToolPair & { readonly call: NonNullable<ToolPair['call']> }

/** All calls of some rows in order, with their results; and the results that answer none of them. */
export function pairCalls(rows: readonly ToolRow[]): {
  readonly calls: readonly CalledPair[]
  /** Each with the call it repeats the answer of, if there is one. */
  readonly strays: readonly ToolPair[]
} {
  const { pairs, unanswered, orphans } = pairToolUse(rows)
  const callEntry = entriesByPart(rows, ({ calls }) => calls)
  const resultEntry = entriesByPart(rows, ({ results }) => results)
  const callAt = (call: CallRef): CalledPair['call'] => ({ row: rows[call.row]!, entry: callEntry(call) })
  const resultAt = (result: CallRef): NonNullable<ToolPair['result']> => ({
    row: rows[result.row]!,
    entry: resultEntry(result),
  })
  const calls: CalledPair[] = unanswered.map((call) => ({ call: callAt(call) }))
  for (const { call, result } of pairs) calls.push({ call: callAt(call), result: resultAt(result) })
  calls.sort(({ call: a }, { call: b }) => a.row.position - b.row.position || a.entry.part - b.entry.part)
  const strays = orphans.map(({ result, duplicateOf }) => ({
    ...(duplicateOf !== undefined && { call: callAt(duplicateOf) }),
    result: resultAt(result),
  }))
  return { calls, strays }
}

/** A function that finds entries by place. A row may hold thousands, so each is gone through once. */
function entriesByPart<T extends { readonly part: number }>(
  rows: readonly ToolRow[],
  entriesOf: (row: ToolRow) => readonly T[],
): (place: CallRef) => T {
  const known = new Map<number, ReadonlyMap<number, T>>()
  return ({ row, part }) => {
    let entries = known.get(row)
    if (entries === undefined) {
      entries = new Map(entriesOf(rows[row]!).map((entry) => [entry.part, entry] as const))
      known.set(row, entries)
    }
    return entries.get(part)!
  }
}

/** A row with what concerns some ids alone; `undefined` when nothing does. */
export function withoutOtherIds(row: ToolRow, isWanted: (id: string) => boolean): ToolRow | undefined {
  const calls = row.calls.filter(({ id }) => isWanted(id))
  const results = row.results.filter(({ id }) => isWanted(id))
  return calls.length === 0 && results.length === 0 ? undefined : { ...row, calls, results }
}

/**
 * The call meant by an id, among all rows that use it: the newest, or the one whose call or result stands at `position`
 * (of several in one message the last). A result without a call is found when there is nothing else.
 */
export function findCall(rows: readonly ToolRow[], position: number | undefined): ToolPair | undefined {
  const { calls, strays } = pairCalls(rows)
  if (position === undefined) return calls.at(-1) ?? strays.at(-1)
  return (
    calls.findLast(
      ({ call, result }) => call.row.position === position || result?.row.position === position,
    ) ?? strays.findLast(({ result }) => result?.row.position === position)
  )
}

/** A call as it is told. */
export function describeCall(pair: CalledPair, estimator: Estimator, provider: string): ToolCall {
  const { row, entry } = pair.call
  return { ...describePair(pair, estimator, provider), toolName: entry.name, call: placeOf(row, entry) }
}

/** A call or a lone result as it is told, without input and output. */
export function describePair(
  { call, result }: ToolPair,
  estimator: Estimator,
  provider: string,
): Omit<ToolOutput, 'input' | 'output'> {
  const either = (result ?? call)!
  const toolName = call?.entry.name ?? result?.entry.name
  return {
    callId: either.entry.id,
    ...(toolName !== undefined && { toolName }),
    paths: call?.entry.path === undefined ? [] : [call.entry.path],
    status: result === undefined ? 'pending' : result.entry.failed ? 'error' : 'ok',
    tokens: result === undefined ? 0 : estimator.toTokens(result.entry.units, provider) + result.entry.media,
    shown: shownOf(either.row, either.entry.part),
    ...(call !== undefined && { call: placeOf(call.row, call.entry) }),
    ...(result !== undefined && { result: placeOf(result.row, result.entry) }),
  }
}

function placeOf({ messageId, position }: ToolRow, { part }: { readonly part: number }): ToolPlace {
  return { messageId, position, part }
}

function shownOf({ hidden, shown }: ToolRow, part: number): ToolOutputShown {
  if (hidden) return 'hidden'
  return shown.some((replacement) => replacement.part === part) ? 'replaced' : 'full'
}
