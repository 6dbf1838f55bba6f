import type { NewMessage } from '../core/messages/message.ts'
import type { Awaitable, Lease } from './jobs.ts'

/* The part of the storage interface for turns: who holds a session, the draft of an answer, and the tool calls that were begun. */

/** The draft of an answer: what a turn had received when it last flushed it. It isn't part of the log. */
export type TurnDraft = {
  /** The turn that flushed it. */
  readonly turnId: string
  readonly messages: readonly NewMessage[]
  /** The last position of the log when it was flushed. */
  readonly position: number
  /** Milliseconds since 1970. */
  readonly flushedAt: number
}

/**
 * How an append or a rewind belongs to a turn, whose draft it removes. `step`: the turn goes on. `end`: the turn is over. `draft`: the
 * draft itself is appended, if it is still there.
 */
export type TurnUse = { readonly id: string; readonly as: 'step' | 'end' | 'draft' }

/** The result of a claim: a session with the draft that was left in it, or the turn that holds it. */
export type TakenTurn =
  | { readonly draft: TurnDraft | undefined; readonly other?: never }
  | { readonly other: Lease; readonly draft?: never }

/** Each method throws `SESSION_NOT_FOUND`; those that write for a turn throw `TURN_LOST` if it no longer holds the session. */
export interface Turns {
  /** Claims a session for a turn, whose id is the run of the lease. With `takeOver`, also from a turn that is alive. */
  take(id: string, lease: Lease, takeOver: boolean): Awaitable<TakenTurn>
  /** Returns the claim of the turn that holds a session, if it is alive. */
  active(id: string): Awaitable<Lease | undefined>
  /** Extends the claim; returns `false` if the turn no longer holds the session. */
  renew(id: string, lease: Lease): Awaitable<boolean>
  /** Replaces the draft. */
  flush(id: string, turnId: string, messages: readonly NewMessage[]): Awaitable<void>
  /** Removes the draft. */
  drop(id: string, turnId: string): Awaitable<void>
  /**
   * Records that a tool call is run; returns `false` if it has a result, or, unless `again`, if a turn recorded it before. Throws
   * `TOOL_CALL_NOT_FOUND`.
   */
  claim(id: string, turnId: string, callId: string, again: boolean): Awaitable<boolean>
  /** Releases the session; a draft stays. Does nothing if the turn no longer holds it. */
  end(id: string, turnId: string): Awaitable<void>
}
