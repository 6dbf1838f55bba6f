import type { CheckedConfig } from '../../config/compaction.ts'
import type { Configuration } from '../../config/resolve.ts'
import { DEFAULT_SPEND_WINDOW_MS, type SpendLimits } from '../../config/settings.ts'
import { errorName, isUndertextError } from '../../errors.ts'
import type { Events, SpendLimitEvent } from '../../events.ts'
import type { Circuit, Session, Spending, Storage } from '../../storage/storage.ts'
import type { IdleReason } from '../result.ts'
import { isUnasked, type RunEnd, type RunGuard } from '../run-guard.ts'

/** Unasked runs in a row that fail before the circuit opens. Source: field.md 21. */
const MOST_FAILURES = 3

/** Errors that say nothing of the model: somebody else was at it, or nobody wanted it any more. */
const HARMLESS: ReadonlySet<string> = new Set([
  'ABORTED',
  'STALE_PLAN',
  'COMPACTION_IN_PROGRESS',
  'SESSION_NOT_FOUND',
  'IN_TRANSACTION',
])

/** Ends without a change that say nothing of the model either: with a longer history the same run is worth it. */
const IDLE: ReadonlySet<IdleReason> = new Set(['VETOED', 'NOTHING_TO_COMPACT', 'SAVES_TOO_LITTLE'])

/** Why a model is not to be asked now, and until when, milliseconds since 1970. */
type Refusal = {
  readonly code: 'CIRCUIT_OPEN' | 'SPEND_LIMIT'
  readonly until: number
  readonly circuit?: Circuit
}

/**
 * Two brakes on what nobody asked for. The circuit: unasked runs of a session that fail again and again, on the same view and by
 * the same model, would fail once more. The limits: what unasked runs may spend in a window of time.
 */
export class Guard implements RunGuard {
  readonly #storage: Storage
  readonly #configuration: Configuration
  readonly #events: Events
  /** Sessions whose limit was told of. */
  readonly #told = new Set<string>()

  constructor(storage: Storage, configuration: Configuration, events: Events) {
    this.#storage = storage
    this.#configuration = configuration
    this.#events = events
  }

  /** Whether an unasked run may ask its model now. Through an open circuit whose time is over one try is let. */
  admits = async (session: Session, config: CheckedConfig): Promise<boolean> =>
    (await this.refusal(session, config, true)) === undefined

  /** Why an unasked run may not ask its model now. `isTry`: it is about to, so that of a circuit on trial the one try is taken. */
  async refusal(session: Session, config: CheckedConfig, isTry: boolean): Promise<Refusal | undefined> {
    const circuit = await this.openCircuit(session, config)
    const now = Date.now()
    if (circuit?.openUntil !== undefined) {
      const { openUntil } = circuit
      if (openUntil > now) return { code: 'CIRCUIT_OPEN', until: openUntil, circuit }
    }
    const spent = await this.#spendRefusal(session, config)
    if (spent !== undefined) return spent
    if (!isTry || circuit?.openUntil === undefined) return undefined
    const next = now + this.#settings(session).circuitResetMs
    if (await this.#storage.circuits.tryOnce(session.id, circuit.openUntil, next)) return undefined
    return { code: 'CIRCUIT_OPEN', until: next, circuit: { ...circuit, openUntil: next } }
  }

  /** The circuit of a session, where it is open or its time has just run out. One of another view or model is closed. */
  async openCircuit(session: Session, config: CheckedConfig): Promise<Circuit | undefined> {
    const circuit = await this.#storage.circuits.circuit(session.id)
    if (circuit === undefined) return undefined
    if (circuit.viewEpoch === session.viewEpoch && circuit.model === modelKey(config)) return circuit
    await this.#close(session.id)
    return undefined
  }

  /** Counts what failed, and closes the circuit after what did not. Best effort: the run is over, whatever becomes of this. */
  ended = async (session: Session, config: CheckedConfig, end: RunEnd): Promise<void> => {
    try {
      if (end.hasAsked) this.#told.delete(session.id)
      if (end.result?.compacted === true) return await this.#close(session.id)
      const error = failureOf(end)
      if (error === undefined || !isUnasked(config)) return
      await this.#fail(session, config, error)
    } catch (error) {
      if (!isUndertextError(error)) throw error
    }
  }

  async #fail(session: Session, config: CheckedConfig, error: string): Promise<void> {
    const openUntil = Date.now() + this.#settings(session).circuitResetMs
    const failure = { viewEpoch: session.viewEpoch, model: modelKey(config), error }
    const circuit = await this.#storage.circuits.fail(session.id, failure, { most: MOST_FAILURES, openUntil })
    if (circuit?.openUntil !== undefined) this.#tell(session.id, 'opened', circuit)
  }

  async #close(sessionId: string): Promise<void> {
    const before = await this.#storage.circuits.reset(sessionId)
    if (before?.openUntil !== undefined) this.#tell(sessionId, 'closed', before)
  }

  #tell(sessionId: string, state: 'opened' | 'closed', { failures, error, openUntil }: Circuit): void {
    this.#events.emit('circuit', { sessionId, state, failures, code: error, openUntil: openUntil! })
  }

  async #spendRefusal(session: Session, config: CheckedConfig): Promise<Refusal | undefined> {
    const { spendLimits } = this.#settings(session)
    const { windowMs = DEFAULT_SPEND_WINDOW_MS, per = 'session' } = spendLimits
    if (LIMITS.every((limit) => spendLimits[limit] === undefined)) return undefined
    const of = per === 'session' ? session.id : undefined
    const now = Date.now()
    const spent = await this.#storage.circuits.spending(of, now - windowMs, config.summarizer!.name)
    const limit = LIMITS.find((name) => spent[name] >= (spendLimits[name] ?? Number.POSITIVE_INFINITY))
    if (limit === undefined) return undefined
    const until = retryAt(spent, now, windowMs)
    const about = { limit, used: spent[limit], allowed: spendLimits[limit]!, windowMs, per, retryAt: until }
    this.#tellSpent({ sessionId: session.id, ...about })
    return { code: 'SPEND_LIMIT', until }
  }

  #tellSpent(event: SpendLimitEvent): void {
    if (this.#told.has(event.sessionId)) return
    this.#told.add(event.sessionId)
    this.#events.emit('spendLimit', event)
  }

  /** A session that was removed has nothing to tell. */
  forget(sessionId: string): void {
    this.#told.delete(sessionId)
  }

  #settings({ config }: Session): { readonly circuitResetMs: number; readonly spendLimits: SpendLimits } {
    return this.#configuration.ofSession(config).settings
  }
}

const LIMITS = ['calls', 'tokens', 'cost'] as const

/** When the oldest of what was spent leaves the window; at a limit of 0 nothing has to leave, and nothing changes. */
function retryAt({ oldest }: Spending, now: number, windowMs: number): number {
  return Math.max(now + 1, (oldest ?? now) + windowMs)
}

/** The summarizer, and the model its settings name: with another one it may go better. */
function modelKey({ summarizer, summarizationProvider, summarizationModel }: CheckedConfig): string {
  return JSON.stringify([summarizer!.name, summarizationProvider ?? null, summarizationModel ?? null])
}

/** The code of a failure after a model was asked; `undefined` for an end that is no failure. */
function failureOf({ result, error, hasAsked }: RunEnd): string | undefined {
  if (!hasAsked) return undefined
  if (result !== undefined) {
    const { reason } = result
    if (reason === 'SUMMARY_FAILED') return result.failed[0]?.error ?? reason
    return reason !== undefined && !IDLE.has(reason) ? reason : undefined
  }
  const code = errorName(error)
  return HARMLESS.has(code) || code.startsWith('STORE_') ? undefined : code
}
