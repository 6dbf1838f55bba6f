import { listIn } from '../messages/lists.ts'

/*
 * Reasoning that is bound to its prefix. Newer Claude models accept a block of reasoning only after exactly the request that it answered:
 * system prompt, tools, and every message before it (platform.claude.com, "Prefix checks on thinking blocks", November 2026). Whether a
 * block is valid follows from the compactions that were in force when it was made, and from the record of its request.
 */

/** A compaction came into force, or ceased to be. */
export type Turning = {
  readonly compaction: number
  readonly inForce: boolean
  /** The last position of the log at that time. */
  readonly position: number
}

/** The compactions of a session that turned, in the order of the audit. */
export type Turnings = {
  readonly turnings: readonly Turning[]
  /** The first place that each of them touches: a row at a later position has it in its prefix. */
  readonly touches: ReadonlyMap<number, number>
  /** Those that only leave out the reasoning of finished turns. Earlier reasoning is not part of a prefix. */
  readonly onlyReasoning: ReadonlySet<number>
  /** Messages up to this position came from elsewhere: what preceded them in their requests is unknown. */
  readonly unknownTo: number
}

/** The place of an answer in the log. `since`: the last position before the append that stored it. */
export type AnswerPlace = { readonly position: number; readonly since: number }

/**
 * Returns the law for blocks without a recorded request: whether the compactions that touch rows before a block are the same as when it
 * was made. A compaction that turned between the message before the answer and the answer may have been there before the request or
 * not, so its state before and after must be that of now.
 */
export function prefixLaw({
  turnings,
  touches,
  onlyReasoning,
  unknownTo,
}: Turnings): (answer: AnswerPlace) => boolean {
  const histories = new Map<number, Turning[]>()
  for (const turning of turnings) listIn(histories, turning.compaction).push(turning)
  return ({ position, since }) => {
    if (position <= unknownTo) return false
    for (const [compaction, history] of histories) {
      if ((touches.get(compaction) ?? 0) >= position) continue
      // Undone, it would bring back blocks before one that was made without them.
      if (onlyReasoning.has(compaction) && history.at(-1)!.inForce) continue
      if (!wasAsNow(history, since, position)) return false
    }
    return true
  }
}

/** Whether a compaction was in the state of now in all moments from the position `since` until a message was appended at `position`. */
function wasAsNow(history: readonly Turning[], since: number, position: number): boolean {
  const now = history.at(-1)!.inForce
  // Before its first turning it was in the opposite state.
  let state = !history[0]!.inForce
  for (const turning of history) {
    if (turning.position >= position) break
    if (turning.position >= since && state !== now) return false
    state = turning.inForce
  }
  return state === now
}
