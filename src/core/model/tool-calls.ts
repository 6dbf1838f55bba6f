import { pairToolUse } from '../messages/call-results.ts'
import { type Json, listIn } from '../messages/json.ts'
import type { ToolCallPart, ToolResultOutput, ToolResultPart } from '../messages/message.ts'
import { type Outcome, outcomeOf } from '../messages/outcome.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import type { CallEntry, ResultEntry, ShownReplacement } from './view-row.ts'

/**
 * The outcome of a call: by its error flag, or else derived from the result. `unknown`: the result doesn't show it. `pending`: the call
 * is open, that is, it has no result, whatever follows it.
 */
export type ToolCallStatus = Outcome | 'pending'

/** What the view shows of an output: the full output, a replacement, or nothing. */
export type ToolOutputShown = 'full' | 'replaced' | 'hidden'

/** The place of a call or a result. */
export type ToolPlace = {
  readonly messageId: string
  readonly position: number
  /** Index of the part in the message's content. */
  readonly part: number
}

/** A tool call of the log. */
export type ToolCall = {
  readonly callId: string
  readonly toolName: string
  /** The files in its arguments, from the index of calls, which contains only calls with a single file. */
  readonly paths: readonly string[]
  readonly status: ToolCallStatus
  /** Tokens of the stored output, by the session's estimator for its provider; 0 if there is no output yet. */
  readonly tokens: number
  /** What the view shows of the output, or of the call if there is no output yet. */
  readonly shown: ToolOutputShown
  readonly call: ToolPlace
  /** Absent while the call is pending. */
  readonly result?: ToolPlace
}

/** A call with its input and output. */
export type ToolOutput = Omit<ToolCall, 'toolName' | 'call'> & {
  /** Absent for a result without a call and without a tool name. */
  readonly toolName?: string
  /** Absent, like `input`, for a result without a call, which imports may have. */
  readonly call?: ToolPlace
  readonly input?: Json
  /** The output as it was appended. Absent while the call is pending. */
  readonly output?: ToolResultOutput
}

/** A message of the log with calls or results, from the storage's index. */
export type ToolRow = {
  readonly key: number
  readonly messageId: string
  readonly position: number
  readonly hidden: boolean
  /** The manual compaction that hides the message (a rewind), as a name or a number; `undefined` for any other message. */
  readonly rewoundBy: string | number | undefined
  readonly shown: readonly ShownReplacement[]
  readonly calls: readonly CallEntry[]
  readonly results: readonly ResultEntry[]
}

/** A call with its result, or a result alone. */
export type ToolPair = {
  readonly call?: { readonly row: ToolRow; readonly entry: CallEntry }
  readonly result?: { readonly row: ToolRow; readonly entry: ResultEntry }
}
/** An entry with a call. */
export type CalledPair = ToolPair & { readonly call: NonNullable<ToolPair['call']> }

type PairedCalls = {
  readonly calls: readonly CalledPair[]
  /** Results without one of these calls, each with the call of its id that already has another result or was rewound, if there is one. */
  readonly strays: readonly ToolPair[]
}

/**
 * Pairs all calls of some rows with their results, in order, and returns the results without one of these calls. Rows hidden by a rewind
 * are paired separately, as in the view: a call takes no result from another branch of the conversation that repeats its id, and is open
 * again if its result was rewound.
 */
export function pairCalls(rows: readonly ToolRow[]): PairedCalls {
  const branches = new Map<string | number | undefined, ToolRow[]>()
  for (const row of rows) listIn(branches, row.rewoundBy).push(row)
  const paired = [...branches.values()].map(pairBranch)
  if (paired.length === 1) return paired[0]!
  const calls = paired.flatMap((branch) => branch.calls).sort(byCall)
  const strays = paired.flatMap((branch) => branch.strays)
  strays.sort(({ result: a }, { result: b }) => a!.row.position - b!.row.position)
  return { calls, strays: withCalls(strays, calls) }
}

/** Returns results without a call in their own branch, each with the newest earlier call of its id. */
function withCalls(strays: readonly ToolPair[], calls: readonly CalledPair[]): ToolPair[] {
  const newest = new Map<string, CalledPair['call']>()
  let next = 0
  return strays.map((stray) => {
    const { row, entry } = stray.result!
    for (; next < calls.length && calls[next]!.call.row.position <= row.position; next++)
      newest.set(calls[next]!.call.entry.id, calls[next]!.call)
    const call = stray.call ?? newest.get(entry.id)
    return call === undefined ? stray : { ...stray, call }
  })
}

function byCall({ call: a }: CalledPair, { call: b }: CalledPair): number {
  return a.row.position - b.row.position || a.entry.part - b.entry.part
}

function pairBranch(rows: readonly ToolRow[]): PairedCalls {
  const { pairs, unanswered, orphans } = pairToolUse(rows)
  const at = <E>({ row, entry }: { readonly row: number; readonly entry: E }) => ({ row: rows[row]!, entry })
  const calls: CalledPair[] = unanswered.map((call) => ({ call: at(call) }))
  for (const { call, result } of pairs) calls.push({ call: at(call), result: at(result) })
  const strays = orphans.map(({ result, duplicateOf }) => ({
    ...(duplicateOf !== undefined && { call: at(duplicateOf) }),
    result: at(result),
  }))
  return { calls: calls.sort(byCall), strays }
}

/** Returns a row with only the calls and results of some ids; `undefined` if it has none of them. */
export function withoutOtherIds(row: ToolRow, isWanted: (id: string) => boolean): ToolRow | undefined {
  const calls = row.calls.filter(({ id }) => isWanted(id))
  const results = row.results.filter(({ id }) => isWanted(id))
  return calls.length === 0 && results.length === 0 ? undefined : { ...row, calls, results }
}

/**
 * Returns the call of an id among all rows that use it: the newest, or the one whose call or result is at `position` (the last, if a
 * message has several). If there is no call, a result without a call is returned.
 */
export function findCall(rows: readonly ToolRow[], position: number | undefined): ToolPair | undefined {
  const { calls, strays } = pairCalls(rows)
  if (position === undefined) {
    const newest = calls.at(-1)
    if (newest?.result !== undefined) return newest
    // The result of a rewound call may have come later.
    return strays.findLast(({ call }) => call?.row === newest?.call.row) ?? newest
  }
  return (
    calls.findLast(
      ({ call, result }) => call.row.position === position || result?.row.position === position,
    ) ?? strays.findLast(({ result }) => result?.row.position === position)
  )
}

/** Returns the status of a call from its two parts. A result without a call has at most its own tool name. */
export function statusOf(call: ToolCallPart | undefined, result: ToolResultPart | undefined): ToolCallStatus {
  return result === undefined ? 'pending' : outcomeOf(call ?? result, result.output)
}

/** Returns the public form of a call. */
export function describeCall(
  pair: CalledPair,
  status: ToolCallStatus,
  estimator: Estimator,
  provider: string,
): ToolCall {
  const { row, entry } = pair.call
  return {
    ...describePair(pair, status, estimator, provider),
    toolName: entry.name,
    call: placeOf(row, entry),
  }
}

/** Returns the public form of a call or a lone result, without input and output. */
export function describePair(
  { call, result }: ToolPair,
  status: ToolCallStatus,
  estimator: Estimator,
  provider: string,
): Omit<ToolOutput, 'input' | 'output'> {
  const either = (result ?? call)!
  const toolName = call?.entry.name ?? result?.entry.name
  return {
    callId: either.entry.id,
    ...(toolName !== undefined && { toolName }),
    paths: call?.entry.path === undefined ? [] : [call.entry.path],
    status,
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
