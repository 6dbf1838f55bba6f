import { errorName, isUndertextError } from '../../../core/errors.ts'
import type { Circuit, Session, Spending, Storage } from '../../../storage/storage.ts'
import type { Configuration } from '../../config/resolve.ts'
import type { RunConfig } from '../../config/run-config.ts'
import { SPEND_WINDOW_MS, type SpendLimits } from '../../config/settings.ts'
import type { Events } from '../../events.ts'
import type { CompactionResult, IdleReason } from '../result.ts'

/** Consecutive failures of automatic runs after which the circuit opens. */
const MAX_FAILURES = 3

/** Errors that aren't the model's fault: another run was active, or the result was no longer needed. */
const HARMLESS: ReadonlySet<string> = new Set([
  'ABORTED',
  'STALE_PLAN',
  'COMPACTION_IN_PROGRESS',
  'SESSION_NOT_FOUND',
  'IN_TRANSACTION',
])

/** Reasons for no change that aren't the model's fault either: with a longer history the same run may be worthwhile. */
const IDLE: ReadonlySet<IdleReason> = new Set(['VETOED', 'NOTHING_TO_COMPACT', 'SAVES_TOO_LITTLE'])

/** Why a model may not be called now, and until when, in milliseconds since 1970. */
type Refusal = {
  readonly code: 'CIRCUIT_OPEN' | 'SPEND_LIMIT'
  readonly until: number
  readonly circuit?: Circuit
}

/** How a run ended. */
export type RunEnd = {
  readonly hasCalledModel: boolean
  readonly result?: CompactionResult
  readonly error?: unknown
}

/** Whether a run was started without a request from the caller. */
export function isAutomatic({ trigger }: Pick<RunConfig, 'trigger'>): boolean {
  return trigger === 'auto' || trigger === 'overflow'
}

/**
 * Decides whether an automatic run may call a paid model, and is notified of the result. Its circuit breaker stops a session's runs that
 * keep failing on the same view with the same model; its limits stop runs that spend too much within a time window.
 */
export class Guard {
  readonly #storage: Storage
  readonly #configuration: Configuration
  readonly #events: Events
  readonly #reported = new Set<string>()

  constructor(storage: Storage, configuration: Configuration, events: Events) {
    this.#storage = storage
    this.#configuration = configuration
    this.#events = events
  }

  /** Returns why an automatic run may not call its model now. After the reset time of an open circuit, one trial call is allowed. */
  async refusal(session: Session, config: RunConfig): Promise<Refusal | undefined> {
    const circuit = await this.openCircuit(session, config)
    const now = Date.now()
    if (circuit?.openUntil !== undefined) {
      const { openUntil } = circuit
      if (openUntil > now) return { code: 'CIRCUIT_OPEN', until: openUntil, circuit }
    }
    const spent = await this.#spendRefusal(session, config)
    if (spent !== undefined) return spent
    if (circuit?.openUntil === undefined) return undefined
    const next = now + this.#settings(session).circuitResetMs
    if (await this.#storage.circuits.tryOnce(session.id, circuit.openUntil, next)) return undefined
    return { code: 'CIRCUIT_OPEN', until: next, circuit: { ...circuit, openUntil: next } }
  }

  /** Returns the circuit of a session. A circuit for another view or model is ignored. */
  async openCircuit(session: Session, config: RunConfig): Promise<Circuit | undefined> {
    const circuit = await this.#storage.circuits.circuit(session.id)
    if (circuit === undefined) return undefined
    if (circuit.viewEpoch === session.viewEpoch && circuit.model === modelKey(config)) return circuit
    await this.#close(session.id)
    return undefined
  }

  /** Counts a failure, or closes the circuit after a success. Ignores the storage's errors: the run is already over. */
  async ended(session: Session, config: RunConfig, end: RunEnd): Promise<void> {
    try {
      if (end.hasCalledModel) this.#reported.delete(session.id)
      if (end.result?.compacted === true) return await this.#close(session.id)
      const error = failureOf(end)
      if (error === undefined || !isAutomatic(config)) return
      await this.#fail(session, config, error)
    } catch (error) {
      if (!isUndertextError(error)) throw error
    }
  }

  async #fail(session: Session, config: RunConfig, error: string): Promise<void> {
    const openUntil = Date.now() + this.#settings(session).circuitResetMs
    const failure = { viewEpoch: session.viewEpoch, model: modelKey(config), error }
    const circuit = await this.#storage.circuits.fail(session.id, failure, { most: MAX_FAILURES, openUntil })
    if (circuit?.openUntil !== undefined) this.#emit(session.id, 'opened', circuit)
  }

  async #close(sessionId: string): Promise<void> {
    const before = await this.#storage.circuits.reset(sessionId)
    if (before?.openUntil !== undefined) this.#emit(sessionId, 'closed', before)
  }

  #emit(sessionId: string, state: 'opened' | 'closed', { failures, error, openUntil }: Circuit): void {
    this.#events.emit('circuit', { sessionId, state, failures, code: error, openUntil: openUntil! })
  }

  async #spendRefusal(session: Session, config: RunConfig): Promise<Refusal | undefined> {
    const { spendLimits } = this.#settings(session)
    const { windowMs = SPEND_WINDOW_MS, per = 'session' } = spendLimits
    if (LIMITS.every((limit) => spendLimits[limit] === undefined)) return undefined
    const of = per === 'session' ? session.id : undefined
    const now = Date.now()
    const spent = await this.#storage.circuits.spending(of, now - windowMs, config.summarizer!.name)
    const limit = LIMITS.find((name) => spent[name] >= (spendLimits[name] ?? Number.POSITIVE_INFINITY))
    if (limit === undefined) return undefined
    const until = retryAt(spent, now, windowMs)
    if (!this.#reported.has(session.id)) {
      this.#reported.add(session.id)
      const figures = { limit, used: spent[limit], allowed: spendLimits[limit]!, windowMs, per }
      this.#events.emit('spendLimit', { sessionId: session.id, ...figures, retryAt: until })
    }
    return { code: 'SPEND_LIMIT', until }
  }

  forget(sessionId: string): void {
    this.#reported.delete(sessionId)
  }

  #settings({ config }: Session): { readonly circuitResetMs: number; readonly spendLimits: SpendLimits } {
    return this.#configuration.ofSession(config).settings
  }
}

const LIMITS = ['calls', 'tokens', 'cost'] as const

/** Returns when the oldest spending leaves the window. At a limit of 0 nothing was spent, and waiting changes nothing. */
function retryAt({ oldest }: Spending, now: number, windowMs: number): number {
  return Math.max(now + 1, (oldest ?? now) + windowMs)
}

/** Identifies the summarizer and its model: another one may succeed. */
function modelKey({ summarizer, summarizationProvider, summarizationModel }: RunConfig): string {
  return JSON.stringify([summarizer!.name, summarizationProvider ?? null, summarizationModel ?? null])
}

/** Returns the code of a failure after a model was called; `undefined` if the run didn't fail. */
function failureOf({ result, error, hasCalledModel }: RunEnd): string | undefined {
  if (!hasCalledModel) return undefined
  if (result !== undefined) {
    const { reason } = result
    if (reason === 'SUMMARY_FAILED') return result.failed[0]?.error ?? reason
    return reason !== undefined && !IDLE.has(reason) ? reason : undefined
  }
  const code = errorName(error)
  return HARMLESS.has(code) || code.startsWith('STORE_') ? undefined : code
}
