import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { isUndertextError, UndertextError } from '../core/errors.ts'
import { interruptedAnswer } from '../core/messages/added.ts'
import { check, MAX_TIMER_MS, readable, taken } from '../core/messages/check.ts'
import type { NewMessage } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import { LEASE_HOLDER, LEASE_MS, liveRuns, RENEW_MS } from '../storage/process.ts'
import type { Awaitable, Lease, TurnDraft } from '../storage/storage.ts'
import type { AppendResult } from './append.ts'
import { checkId } from './arguments.ts'
import { orAborted, POLL_MS, pause, TURN_WAIT_MS } from './compaction/waiting.ts'
import type { AppendOptions } from './config/store-options.ts'
import type { ReasoningChange } from './requests/reasoning.ts'
import { type RecordedResponse, type ResponseInput, recordResponse } from './requests/record.ts'
import { type RewindOptions, type RewindResult, rewind } from './rewind.ts'
import type { Services } from './services.ts'

/** Milliseconds without a call on a turn after which it counts as abandoned. A tool may run for minutes. */
const IDLE_MS = 15 * 60_000

export const turnWaitShape = {
  /** Milliseconds to wait while another turn holds the session; 0 refuses at once. Default: 5,000. */
  waitMs: z.int().nonnegative().default(TURN_WAIT_MS),
  /** Whether to end a turn that is still alive: its next write throws `TURN_LOST`. Default: false. */
  takeOver: z.boolean().default(false),
  /** Milliseconds without a call on the turn after which another may take over. Default: 900,000. */
  idleMs: z.int().positive().max(MAX_TIMER_MS).default(IDLE_MS),
}
const beginSchema = z.strictObject({ ...turnWaitShape, signal: z.instanceof(AbortSignal).optional() })
/** Options of `beginTurn`. */
export type BeginTurnOptions = z.input<typeof beginSchema>

const claimSchema = z.strictObject({
  /** Whether a call may be run that another turn began to run and left without a result. Default: false. */
  again: z.boolean().default(false),
})
/** Options of `claimCall` of a turn. */
export type ClaimCallOptions = z.input<typeof claimSchema>

/** `Store.beginTurn`, for a checked id. */
export async function beginTurn(
  services: Services,
  sessionId: string,
  options: BeginTurnOptions,
): Promise<Turn> {
  const { waitMs, takeOver, idleMs, signal } = check(beginSchema, options, 'beginTurn')
  const { turns } = services.context.storage
  const deadline = performance.now() + waitMs
  const id = uuidv7()
  // Before the claim: another store may see it before this one receives the result.
  liveRuns.add(id)
  try {
    for (;;) {
      const { draft, other } = await turns.take(sessionId, leaseOf(id), takeOver)
      if (other === undefined) return new Turn(services, sessionId, id, draft, idleMs)
      if (performance.now() >= deadline) {
        const { runId: turnId, expiresAt } = other
        throw new UndertextError('TURN_IN_PROGRESS', { sessionId, turnId, expiresAt })
      }
      await orAborted(sessionId, pause(POLL_MS), signal)
    }
  } catch (error) {
    liveRuns.delete(id)
    throw error
  }
}

/** Ends the turns of a store that closes, so that other processes needn't wait for them. A claim that can't be released runs out. */
export async function endTurns({ turns }: Services): Promise<void> {
  for (const turn of [...turns]) {
    try {
      await turn.end()
    } catch (error) {
      if (!isUndertextError(error)) throw error
    }
  }
}

function leaseOf(id: string): Lease {
  return { runId: id, holder: LEASE_HOLDER, expiresAt: Date.now() + LEASE_MS }
}

/**
 * A turn of a session: from a user's message to the end of the answer, returned by `beginTurn`. No other turn of the session runs
 * meanwhile, in any process. The claim is renewed every 3 seconds; it ends with `finish` or `end`, with the process, or 15 minutes after
 * the last call.
 *
 * Each method throws `TURN_LOST`, and writes nothing, if the turn is over or another one took over.
 */
export class Turn {
  readonly id: string
  readonly sessionId: string
  /**
   * The draft that an earlier turn left, because its process died or it ended without an answer. It stays, and is offered to the next turn
   * too, until `keepDraft`, `dropDraft`, `flush`, `append` or `finish`.
   */
  readonly draft: TurnDraft | undefined
  /** The option `idleMs`. It may be changed while the turn runs. */
  idleMs: number
  readonly #services: Services
  #messages: readonly NewMessage[]
  #usedAt = 0
  #heartbeat: NodeJS.Timeout | undefined

  /** @internal */
  constructor(
    services: Services,
    sessionId: string,
    id: string,
    draft: TurnDraft | undefined,
    idleMs: number,
  ) {
    this.#services = services
    this.sessionId = sessionId
    this.id = id
    this.draft = draft
    this.#messages = draft?.messages ?? []
    this.idleMs = idleMs
    this.#noteUse()
  }

  /**
   * Replaces the draft with the answer as received so far. Call it while an answer streams, about once per second, not for each token. The
   * draft isn't part of the log, of a view, of searches, exports or forks. Throws `INVALID_INPUT`, also for a draft of more than 16 MB.
   */
  async flush(messages: readonly NewMessage[]): Promise<void> {
    checkMessages(messages, 'turn.flush')
    const given = readable('messages', () => taken(messages))
    await this.#using(() => this.#services.context.storage.turns.flush(this.sessionId, this.id, given))
    this.#messages = given
  }

  /** Appends messages in this turn, such as a step of a tool loop, and removes the draft. Throws the errors of `append`. */
  async append(messages: readonly NewMessage[], options: AppendOptions = {}): Promise<AppendResult> {
    const use = { id: this.id, as: 'step' } as const
    return this.#using(() => this.#services.append(this.sessionId, messages, options, use))
  }

  /** Rewinds in this turn, and removes the draft. Throws the errors of `rewind`. */
  async rewind(options: RewindOptions): Promise<RewindResult & ReasoningChange> {
    const { context, previewing } = this.#services
    const use = { id: this.id, as: 'step' } as const
    return this.#using(() => rewind(context, this.sessionId, options, previewing, use))
  }

  /**
   * Ends the turn with its answer: `recordResponse` in one transaction with the end of the turn and the removal of the draft. Messages
   * without an idempotency key get one, so it can be repeated, such as after a lost connection: the answer is appended once. Throws the
   * errors of `recordResponse`; the turn then goes on.
   */
  async finish(response: ResponseInput): Promise<RecordedResponse> {
    const use = { id: this.id, as: 'end' } as const
    const recorded = await this.#using(() => recordResponse(this.#services, this.sessionId, response, use))
    this.#stop()
    return recorded
  }

  /**
   * Returns whether this turn may run a tool call: `true` for the first turn that asks, while the call has no result. Call it before each
   * tool with effects, so that an approval that arrives twice runs its tool once, also after a crash. With `again`, a call that an earlier
   * turn began to run and left without a result may be run again. Throws `TOOL_CALL_NOT_FOUND`.
   */
  async claimCall(callId: string, options: ClaimCallOptions = {}): Promise<boolean> {
    const id = checkId(callId, 'callId')
    const { again } = check(claimSchema, options, 'turn.claimCall')
    const { turns } = this.#services.context.storage
    return this.#using(() => turns.claim(this.sessionId, this.id, id, again))
  }

  /**
   * Appends the draft, whether this turn or an earlier one flushed it, as an answer that broke off: documents and the command line show
   * that it did, and models receive a text that says so. Returns `undefined` if there is no draft.
   */
  async keepDraft(): Promise<AppendResult | undefined> {
    if (this.#messages.length === 0) return undefined
    const use = { id: this.id, as: 'draft' } as const
    const messages = interruptedAnswer(this.#messages)
    const appended = await this.#using(() => this.#services.append(this.sessionId, messages, {}, use))
    this.#messages = []
    return appended.messages.length === 0 ? undefined : appended
  }

  /** Removes the draft. */
  async dropDraft(): Promise<void> {
    await this.#using(() => this.#services.context.storage.turns.drop(this.sessionId, this.id))
    this.#messages = []
  }

  /** Ends the turn without an answer. A draft stays and is offered to the next turn. Ending a turn twice has no effect. */
  async end(): Promise<void> {
    this.#stop()
    try {
      await this.#services.context.storage.turns.end(this.sessionId, this.id)
    } catch (error) {
      // The session was purged, or the store was closed: the turn is no longer live in either case.
      if (!isUndertextError(error, 'SESSION_NOT_FOUND') && !isUndertextError(error, 'STORE_CLOSED'))
        throw error
    }
  }

  /** Ends the turn, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  async #using<T>(work: () => Awaitable<T>): Promise<T> {
    this.#noteUse()
    try {
      return await work()
    } catch (error) {
      if (isUndertextError(error, 'TURN_LOST')) this.#stop()
      throw error
    } finally {
      this.#usedAt = performance.now()
    }
  }

  #noteUse(): void {
    this.#usedAt = performance.now()
    liveRuns.add(this.id)
    this.#services.turns.add(this)
    this.#heartbeat ??= setInterval(() => {
      // After another error, the next renewal tries again.
      void this.#renew().catch((error: unknown) => {
        if (isUndertextError(error, 'STORE_CLOSED')) this.#stop()
      })
    }, RENEW_MS).unref()
  }

  async #renew(): Promise<void> {
    if (performance.now() - this.#usedAt > this.idleMs) return this.#stop()
    const isHeld = await this.#services.context.storage.turns.renew(this.sessionId, leaseOf(this.id))
    if (!isHeld) this.#stop()
  }

  #stop(): void {
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
    this.#services.turns.delete(this)
    liveRuns.delete(this.id)
  }
}
