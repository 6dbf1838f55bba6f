import type { Pairing } from '../messages/pairing.ts'
import type { ToolMessage } from './tool-slots.ts'

/*
 * A batch: calls that were made together, and the messages of results that directly follow them. The calls stand in
 * one message, or in the flat form in a run of messages.
 */

/**
 * Rows whose calls may still be answered: those of the last batch, when nothing but results stands behind it.
 * Results that have no call (`orphanRows`) count as words, since what they answered is over.
 */
export function waitingRows(
  rows: readonly ToolMessage[],
  orphanRows: ReadonlySet<number>,
): ReadonlySet<number> {
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
export function batchEnds(
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
export function openBatchBefore(
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
