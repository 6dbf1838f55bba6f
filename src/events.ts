import { errorName, invalid } from './errors.ts'
/*
 * What a store tells those who listen. Events carry ids and numbers, never text of a conversation. They are told when the
 * thing they speak of is done, from within the verb; a listener cannot change what the verb does or answers.
 */

/** Usage has reached a level. Sent once per crossing: again only after usage was seen below the level. Source: seed 004. */
export type ContextWarningEvent = {
  readonly sessionId: string
  /** The highest level reached, as a share: 0.8. */
  readonly level: number
  /** Usage in whole percent, at most 100. */
  readonly percent: number
  /** Tokens of the request, as `getContextStats` has them. */
  readonly tokens: number
  /** What they are held against: the available input, or the `contextWindowTarget`, when that is less. */
  readonly availableTokens: number
}

type OfRun = {
  readonly sessionId: string
  readonly runId: string
  /** Tokens of the history by the session's estimator, as in `CompactionResult`. */
  readonly tokensBefore: number
  /** The whole request in whole percent of the same, at most 100, with the history as it is planned by now. */
  readonly percent: number
}

/** A run has something to do: its first stage, or a summarizer that is asked. */
export type CompactionStartedEvent = OfRun & {
  readonly phase: 'started'
  readonly trigger: string
  /** What the history is to come down to. */
  readonly targetTokens: number
}

/** A stage of the run is planned; what the run planned comes into force all at once, at its end. */
export type CompactionStageEvent = OfRun & {
  readonly phase: 'stage'
  readonly stage: string
  readonly compactionId: string
  readonly tokensAfter: number
}

/** The run is in force. */
export type CompactionCompletedEvent = OfRun & {
  readonly phase: 'completed'
  readonly tokensAfter: number
  readonly compactionIds: readonly string[]
  readonly reachedTarget: boolean
  /** Summaries that were asked for and not accepted. */
  readonly failedSummaries: number
  /** What stood in for a summary that failed: a stage, or another summarizer. */
  readonly fallback?: string
}

/** The run ended without anything in force. The history is as it was. */
export type CompactionFailedEvent = OfRun & {
  readonly phase: 'failed'
  readonly tokensAfter: number
  /** `VETOED`, `SUMMARY_FAILED`, or the code of the error the verb threw. */
  readonly code: string
}

/** Compactions were taken out of force, or put back; or what a provider compacted itself was recorded. */
export type CompactionTurnedEvent = {
  readonly phase: 'undone' | 'redone' | 'recorded'
  readonly sessionId: string
  /** The id the verb was given: a compaction's or a run's; `undoIfFits` for that verb; of a provider's compaction the run's. */
  readonly targetId: string
  readonly compactionIds: readonly string[]
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly percent: number
}

/** What becomes of a run of `compactSession`. After each `started` comes exactly one `completed` or `failed`. */
export type CompactionEvent =
  | CompactionStartedEvent
  | CompactionStageEvent
  | CompactionCompletedEvent
  | CompactionFailedEvent
  | CompactionTurnedEvent

/** `afterTurn` saw the end of a turn: the answer was final. */
export type TurnCompleteEvent = {
  readonly sessionId: string
  /** The last position of the log. */
  readonly position: number
  readonly stopReason?: string
}

type OfJob = {
  readonly sessionId: string
  readonly jobId: string
  /** The try it is about: 1, 2, 3 …; 0 before the first. */
  readonly attempt: number
}

/** A job waits: it was made, or a try of it is to be made again later, and `code` says why. */
export type JobQueuedEvent = OfJob & {
  readonly phase: 'queued'
  /** Not to be taken up before, milliseconds since 1970. */
  readonly notBefore: number
  readonly code?: string
}

/** A try begins. */
export type JobStartedEvent = OfJob & { readonly phase: 'started'; readonly runId: string }

/** The job is done. */
export type JobCompletedEvent = OfJob & {
  readonly phase: 'completed'
  readonly runId: string
  /** Whether anything was put in force; if not, `code` says why. */
  readonly compacted: boolean
  readonly code?: string
  /** Tokens of the history, as in `CompactionResult`. */
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** The job came to nothing: it failed for good, its plan was overtaken by a change of the view, or it was cancelled. */
export type JobEndedEvent = OfJob & {
  readonly phase: 'failed' | 'stale' | 'cancelled'
  readonly code: string
}

/** What becomes of a job in the background. Each ends with exactly one `completed`, `failed`, `stale` or `cancelled`. */
export type JobEvent = JobQueuedEvent | JobStartedEvent | JobCompletedEvent | JobEndedEvent

/** Unasked runs of a session do not ask the model any more, or again. */
export type CircuitEvent = {
  readonly sessionId: string
  readonly state: 'opened' | 'closed'
  /** Unasked runs that failed in a row, and the code of the last. */
  readonly failures: number
  readonly code: string
  /** Milliseconds since 1970. */
  readonly openUntil: number
}

/** A limit of `spendLimits` is reached: unasked runs go on without the model. Sent once, until it was asked again. */
export type SpendLimitEvent = {
  readonly sessionId: string
  readonly limit: 'calls' | 'tokens' | 'cost'
  readonly used: number
  readonly allowed: number
  readonly windowMs: number
  readonly per: 'session' | 'store'
  /** When it may be less again, milliseconds since 1970. */
  readonly retryAt: number
}

/** A listener threw or rejected, or a hook threw. The error is the application's own, as it was thrown. */
export type ListenerErrorEvent = {
  /** What it listened to, or `beforeCompaction` for a hook. */
  readonly event: string
  readonly error: unknown
}

/** A provider reported less than half of what a request must hold. */
export type UsageWarningEvent = UsageWarning & {
  readonly sessionId: string
  readonly provider: string
  readonly model?: string
}

/** Everything one can listen to. */
export type StoreEvents = {
  readonly contextWarning: ContextWarningEvent
  readonly compaction: CompactionEvent
  readonly turnComplete: TurnCompleteEvent
  readonly usageWarning: UsageWarningEvent
  readonly job: JobEvent
  readonly circuit: CircuitEvent
  readonly spendLimit: SpendLimitEvent
  readonly listenerError: ListenerErrorEvent
}
export const STORE_EVENTS = [
  'contextWarning',
  'compaction',
  'turnComplete',
  'usageWarning',
  'job',
  'circuit',
  'spendLimit',
  'listenerError',
] as const
export type StoreEventName = (typeof STORE_EVENTS)[number]

/** What is called with an event. It may be asynchronous; nobody waits for it. */
export type StoreListener<E extends StoreEventName> = (event: StoreEvents[E]) => unknown

/** What a run would do, before it is committed. */
export type BeforeCompaction = {
  readonly sessionId: string
  readonly runId: string
  readonly trigger: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The compactions it is made of: their ids, stages and figures. */
  readonly compactions: readonly {
    readonly id: string
    readonly stage: string
    readonly rowsHidden: number
    readonly partsReplaced: number
    readonly tokensAfter: number
  }[]
}
/** Asked before a run is committed, and waited for. Answers false, or throws, to veto it. */
export type CompactionHook = (about: BeforeCompaction) => unknown

type Registration = { readonly listener: (event: never) => unknown; readonly once: boolean; active: boolean }

/** Those who listen to one store, and those it asks. */
export class Events {
  readonly #listeners = new Map<StoreEventName, Registration[]>()
  readonly #hooks: CompactionHook[] = []
  readonly #warned = new Set<string>()

  /** Adds a listener; answers what takes exactly this registration away again. Throws `INVALID_INPUT`. */
  add<E extends StoreEventName>(
    name: E,
    listener: StoreListener<E>,
    once: boolean,
    verb: string,
  ): () => void {
    checkListener(name, listener, verb)
    const registration: Registration = { listener, once, active: true }
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), registration])
    return () => this.#remove(name, (one) => one === registration)
  }

  /** Takes a listener away, however often it was added. Throws `INVALID_INPUT`. */
  off<E extends StoreEventName>(name: E, listener: StoreListener<E>): void {
    checkListener(name, listener, 'off')
    this.#remove(name, (one) => one.listener === listener)
  }

  /** Adds a hook; answers what takes it away again. Throws `INVALID_INPUT`. */
  addHook(hook: CompactionHook): () => void {
    if (typeof hook !== 'function') throw invalid('onBeforeCompaction: the hook must be a function')
    // A function of its own, so that a hook that was added twice is taken away once.
    const own: CompactionHook = (about) => hook(about)
    this.#hooks.push(own)
    return () => {
      const at = this.#hooks.indexOf(own)
      if (at >= 0) this.#hooks.splice(at, 1)
    }
  }

  hears(name: StoreEventName): boolean {
    return this.#listeners.has(name)
  }

  /**
   * Calls the listeners, in the order they were added. What one of them throws or rejects with becomes a `listenerError`;
   * where nobody listens to that, a warning of the process that names the event and the error, without its text.
   */
  emit<E extends StoreEventName>(name: E, event: StoreEvents[E]): void {
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) return
    Object.freeze(event)
    for (const registration of listeners) {
      if (!registration.active) continue
      if (registration.once) this.#remove(name, (one) => one === registration)
      this.#call(name, () => registration.listener(event as never))
    }
  }

  /** Asks the hooks, one after another. Answers whether none of them vetoes. */
  async allows(about: BeforeCompaction): Promise<boolean> {
    for (const hook of [...this.#hooks]) {
      try {
        if ((await hook(about)) === false) return false
      } catch (error) {
        this.#report('beforeCompaction', error)
        return false
      }
    }
    return true
  }

  get hasHooks(): boolean {
    return this.#hooks.length > 0
  }

  #call(name: string, listener: () => unknown): void {
    try {
      const answer = listener()
      if (typeof answer !== 'object' || answer === null) return
      Promise.resolve(answer).catch((error: unknown) => this.#report(name, error))
    } catch (error) {
      this.#report(name, error)
    }
  }

  #report(name: string, error: unknown): void {
    if (name !== 'listenerError' && this.#listeners.has('listenerError')) {
      this.emit('listenerError', { event: name, error })
      return
    }
    // Once for each event: a listener that always throws would flood the log.
    if (this.#warned.has(name)) return
    this.#warned.add(name)
    process.emitWarning(`undertext: a listener to ${name} threw ${errorName(error)}`, {
      type: 'UndertextWarning',
      code: 'UNDERTEXT_LISTENER',
    })
  }

  #remove(name: StoreEventName, isMeant: (one: Registration) => boolean): void {
    const kept: Registration[] = []
    for (const one of this.#listeners.get(name) ?? []) {
      if (isMeant(one)) one.active = false
      else kept.push(one)
    }
    if (kept.length === 0) this.#listeners.delete(name)
    else this.#listeners.set(name, kept)
  }
}

/** Tokens in whole percent of what is available, at most 100; 100 where nothing is. Source: seed 004, golden NEV-06. */
export function percentOf(tokens: number, available: number): number {
  return available > 0 ? Math.min(100, Math.floor((tokens * 100) / available)) : 100
}

function checkListener(name: unknown, listener: unknown, verb: string): void {
  if (!STORE_EVENTS.includes(name as StoreEventName))
    throw invalid(`${verb}: the event must be one of ${STORE_EVENTS.join(', ')}`)
  if (typeof listener !== 'function') throw invalid(`${verb}: the listener must be a function`)
}

/** A report of less than half of what the request must hold. */
export type UsageWarning = {
  readonly code: 'USAGE_FAR_BELOW_ESTIMATE'
  readonly reportedTokens: number
  /** The estimate, by what was learnt of the model. */
  readonly expectedTokens: number
  readonly message: string
}
