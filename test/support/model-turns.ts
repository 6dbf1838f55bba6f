import { UndertextError } from '../../src/core/errors.ts'
import type { NewMessage } from '../../src/core/messages/message.ts'
import type { ToolOutput } from '../../src/core/model/tool-calls.ts'
import { liveRuns } from '../../src/storage/process.ts'
import type { Lease, TakenTurn, TurnDraft, Turns, TurnUse } from '../../src/storage/storage.ts'

type Held = { lease: Lease | undefined; draft: TurnDraft | undefined; readonly claims: Set<string> }

/** The turns of a store: all of them belong to this thread. */
export class ModelTurns implements Turns {
  readonly #held = new Map<string, Held>()
  readonly #positionOf: (id: string) => number
  readonly #callOf: (id: string, callId: string) => ToolOutput | undefined

  constructor(
    positionOf: (id: string) => number,
    callOf: (id: string, callId: string) => ToolOutput | undefined,
  ) {
    this.#positionOf = positionOf
    this.#callOf = callOf
  }

  take(id: string, lease: Lease, takeOver: boolean): TakenTurn {
    this.#positionOf(id)
    const held = this.#held.get(id) ?? { lease: undefined, draft: undefined, claims: new Set() }
    if (!takeOver && held.lease !== undefined && liveRuns.has(held.lease.runId)) return { other: held.lease }
    held.lease = lease
    this.#held.set(id, held)
    return { draft: held.draft }
  }

  active(id: string): Lease | undefined {
    this.#positionOf(id)
    const lease = this.#held.get(id)?.lease
    return lease !== undefined && liveRuns.has(lease.runId) ? lease : undefined
  }

  renew(id: string, { runId }: Lease): boolean {
    return this.#held.get(id)?.lease?.runId === runId
  }

  flush(id: string, turnId: string, messages: readonly NewMessage[]): void {
    const position = this.#positionOf(id)
    this.#own(id, turnId).draft = {
      turnId,
      messages: structuredClone(messages),
      position,
      flushedAt: Date.now(),
    }
  }

  drop(id: string, turnId: string): void {
    this.#own(id, turnId).draft = undefined
  }

  claim(id: string, turnId: string, callId: string, again: boolean): boolean {
    const { claims } = this.#own(id, turnId)
    const found = this.#callOf(id, callId)
    if (found?.call === undefined) throw new UndertextError('TOOL_CALL_NOT_FOUND', { sessionId: id, callId })
    const place = `${found.call.position} ${callId}`
    if (found.result !== undefined || (claims.has(place) && !again)) return false
    claims.add(place)
    return true
  }

  end(id: string, turnId: string): void {
    const held = this.#held.get(id)
    if (held?.lease?.runId === turnId) held.lease = undefined
  }

  /** Returns what an append or a rewind does once it succeeds; `undefined` if there is no draft to append. */
  use(id: string, turn: TurnUse): (() => void) | undefined {
    const held = this.#own(id, turn.id)
    if (turn.as === 'draft' && held.draft === undefined) return undefined
    return () => {
      held.draft = undefined
      if (turn.as === 'end') held.lease = undefined
    }
  }

  purgeSession(id: string): void {
    this.#held.delete(id)
  }

  #own(id: string, turnId: string): Held {
    this.#positionOf(id)
    const held = this.#held.get(id)
    if (held?.lease?.runId !== turnId) throw new UndertextError('TURN_LOST', { sessionId: id, turnId })
    return held
  }
}
