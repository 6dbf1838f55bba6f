import { errorName, invalid } from '../core/errors.ts'

/*
 * The events of a store. They carry ids and numbers, never text of a conversation. An event is emitted from within the method, after the
 * work that it reports is done; a listener can't change what the method does or returns.
 */

/** Usage has reached a level. Emitted once per crossing, and again only after usage was below the level. */
export type ContextWarningEvent = {
  readonly sessionId: string
  /** The highest level reached, as a share of the available input, for example 0.8. */
  readonly level: number
  /** Usage in whole percent, at most 100. */
  readonly percent: number
  /** Tokens of the request, as in `getContextStats`. */
  readonly tokens: number
  /** The available input, or the `contextWindowTarget` if that is lower. */
  readonly availableTokens: number
}

/** Blocks of reasoning, and their tokens by the session's estimator. */
export type ReasoningSize = { readonly blocks: number; readonly tokens: number }

type OfRun = {
  readonly sessionId: string
  readonly runId: string
  /** Tokens of the history by the session's estimator, as in `CompactionResult`. */
  readonly tokensBefore: number
  /** The request in whole percent of the available input, at most 100, with the history as planned so far. */
  readonly percent: number
}

/** The number of images in the history, and the bytes of its images and files in base64, as in `CompactionResult`. */
export type MediaChange = {
  readonly imagesBefore: number
  readonly imagesAfter: number
  readonly mediaBytesBefore: number
  readonly mediaBytesAfter: number
}

/** A run has something to do: its first stage has a plan, or a summarizer is called. */
export type CompactionStartedEvent = OfRun & {
  readonly phase: 'started'
  readonly trigger: string
  /** The size in tokens to which the history is reduced. */
  readonly targetTokens: number
}

/** A stage of the run has been planned. All plans of the run take effect together, at its end. */
export type CompactionStageEvent = OfRun & {
  readonly phase: 'stage'
  readonly stage: string
  readonly compactionId: string
  readonly tokensAfter: number
}

/** The run was committed and is in force. */
export type CompactionCompletedEvent = OfRun &
  MediaChange & {
    readonly phase: 'completed'
    readonly tokensAfter: number
    readonly compactionIds: readonly string[]
    readonly reachedTarget: boolean
    /** Number of summaries that were requested and rejected. */
    readonly failedSummaries: number
    /** The stage or the summarizer that replaced a failed summary. */
    readonly fallback?: string
    /** As in `CompactionResult`. */
    readonly invalidatedReasoning?: ReasoningSize
  }

/** The run ended without effect. The history is unchanged. */
export type CompactionFailedEvent = OfRun & {
  readonly phase: 'failed'
  readonly tokensAfter: number
  /** `VETOED`, `SUMMARY_FAILED`, or the code of the error that the method threw. */
  readonly code: string
}

/** Compactions were undone or redone, or a provider's compaction was recorded. */
export type CompactionTurnedEvent = {
  readonly phase: 'undone' | 'redone' | 'recorded'
  readonly sessionId: string
  /**
   * The id passed to the method (of a compaction or a run); `ifFits` after `undoCompaction` with `{ ifFits }`; for a provider's compaction,
   * its run.
   */
  readonly targetId: string
  readonly compactionIds: readonly string[]
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly percent: number
  /** For models that check what precedes their reasoning: the reasoning that is no longer sent, and the reasoning that is sent again. */
  readonly invalidatedReasoning?: ReasoningSize
  readonly restoredReasoning?: ReasoningSize
}

/** The progress of a run of `compactSession`. Each `started` is followed by exactly one `completed` or `failed`. */
export type CompactionEvent =
  | CompactionStartedEvent
  | CompactionStageEvent
  | CompactionCompletedEvent
  | CompactionFailedEvent
  | CompactionTurnedEvent

/** A turn has ended: the answer was final. */
export type TurnCompleteEvent = {
  readonly sessionId: string
  /** The last position of the log. */
  readonly position: number
  readonly stopReason?: string
}

/** Rows were added to the search index, by a search or in the background after an append. */
export type IndexingEvent = {
  /** The session, if the search covers only one; absent for the whole store. */
  readonly sessionId?: string
  /** Messages and summaries that this work has added so far, and the number there were to add when it began. */
  readonly indexed: number
  readonly total: number
}

type OfJob = {
  readonly sessionId: string
  readonly jobId: string
  /** The number of the attempt: 1, 2, 3 …; 0 before the first. */
  readonly attempt: number
}

/** A job is waiting: it is new, or it will be tried again and `code` is the reason. */
export type JobQueuedEvent = OfJob & {
  readonly phase: 'queued'
  /** The earliest start, milliseconds since 1970. */
  readonly notBefore: number
  readonly code?: string
}

/** An attempt begins. */
export type JobStartedEvent = OfJob & { readonly phase: 'started'; readonly runId: string }

/** The job is done. */
export type JobCompletedEvent = OfJob & {
  readonly phase: 'completed'
  readonly runId: string
  /** Whether a compaction is in force; if not, `code` is the reason. */
  readonly compacted: boolean
  readonly code?: string
  /** Tokens of the history, as in `CompactionResult`. */
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** The job had no effect: it failed permanently, the view changed before its commit, or it was canceled. */
export type JobEndedEvent = OfJob & {
  readonly phase: 'failed' | 'stale' | 'cancelled'
  readonly code: string
}

/** The progress of a job in the background. Each job ends with exactly one `completed`, `failed`, `stale` or `cancelled`. */
export type JobEvent = JobQueuedEvent | JobStartedEvent | JobCompletedEvent | JobEndedEvent

/** Automatic runs of a session stopped calling the model, or resumed. */
export type CircuitEvent = {
  readonly sessionId: string
  readonly state: 'opened' | 'closed'
  /** The number of consecutive failures of automatic runs, and the code of the last one. */
  readonly failures: number
  readonly code: string
  /** The time until which the model isn't called, milliseconds since 1970. */
  readonly openUntil: number
}

/** A limit of `spendLimits` is reached: automatic runs continue without the model. Emitted once, until a model is called again. */
export type SpendLimitEvent = {
  readonly sessionId: string
  readonly limit: 'calls' | 'tokens' | 'cost'
  readonly used: number
  readonly allowed: number
  readonly windowMs: number
  readonly per: 'session' | 'store'
  /** The earliest time at which spending may be below the limit again, milliseconds since 1970. */
  readonly retryAt: number
}

/** A listener threw or rejected, or a hook threw. `error` is the application's own error. */
export type ListenerErrorEvent = {
  /** The event of the listener, or `beforeCompaction` for a hook. */
  readonly event: string
  readonly error: unknown
}

/** A provider reported less than half of the expected size of a request. */
export type UsageWarningEvent = UsageWarning & {
  readonly sessionId: string
  readonly provider: string
  readonly model?: string
}

/** The window of a model isn't known, so one is assumed. Emitted once per model and store. */
export type WindowAssumedEvent = {
  readonly sessionId: string
  readonly provider: string
  readonly model: string
  /** The assumed context window, tokens. */
  readonly tokens: number
  readonly message: string
}

/**
 * A recorded request has a different system prompt or different tools than the previous one, and its model checks what precedes its
 * reasoning. Emitted once per change, when the answer is recorded.
 */
export type PrefixChangedEvent = {
  readonly sessionId: string
  readonly requestId: string
  readonly system: boolean
  readonly tools: boolean
  /** The reasoning that was left out because of the change. */
  readonly invalidatedReasoning: ReasoningSize
}

/** The events of a store, by name. */
export type StoreEvents = {
  readonly contextWarning: ContextWarningEvent
  readonly compaction: CompactionEvent
  readonly turnComplete: TurnCompleteEvent
  readonly usageWarning: UsageWarningEvent
  readonly windowAssumed: WindowAssumedEvent
  readonly prefixChanged: PrefixChangedEvent
  readonly indexing: IndexingEvent
  readonly job: JobEvent
  readonly circuit: CircuitEvent
  readonly spendLimit: SpendLimitEvent
  readonly listenerError: ListenerErrorEvent
}
/** The names of all events of a store. */
export const STORE_EVENTS = [
  'contextWarning',
  'compaction',
  'turnComplete',
  'usageWarning',
  'windowAssumed',
  'prefixChanged',
  'indexing',
  'job',
  'circuit',
  'spendLimit',
  'listenerError',
] as const
/** The name of an event of a store. */
export type StoreEventName = (typeof STORE_EVENTS)[number]

/** A listener. It may be asynchronous; the store doesn't wait for it. `owner` is that of the store of an owner that emitted the event. */
export type StoreListener<E extends StoreEventName> = (
  event: StoreEvents[E] & { readonly owner?: string },
) => unknown

/** The plan of a run before its commit. */
export type BeforeCompaction = MediaChange & {
  readonly sessionId: string
  /** The owner whose store makes the run; absent in a store of all owners. */
  readonly owner?: string
  readonly runId: string
  readonly trigger: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The compactions of the run: ids, stages and figures. */
  readonly compactions: readonly {
    readonly id: string
    readonly stage: string
    readonly rowsHidden: number
    readonly partsReplaced: number
    readonly tokensAfter: number
  }[]
}
/** Called, and awaited, before a run commits. It returns `false`, or throws, to veto the run. */
export type CompactionHook = (about: BeforeCompaction) => unknown

type Registration = { readonly listener: (event: never) => unknown; readonly once: boolean; active: boolean }

/** The listeners and the hooks of one store. Events of the store of an owner are also those of the store that it is part of. */
export class Events {
  readonly #whole: Events | undefined
  readonly #owner: string | undefined
  readonly #listeners = new Map<StoreEventName, Registration[]>()
  readonly #hooks: CompactionHook[] = []
  readonly #warned: Set<string>

  constructor(whole?: Events, owner?: string) {
    this.#whole = whole
    this.#warned = whole === undefined ? new Set() : whole.#warned
    this.#owner = owner
  }

  /** Adds a listener; returns a function that removes this registration. Throws `INVALID_INPUT`. */
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

  /** Removes a listener, however often it was added. Throws `INVALID_INPUT`. */
  off<E extends StoreEventName>(name: E, listener: StoreListener<E>): void {
    checkListener(name, listener, 'off')
    this.#remove(name, (one) => one.listener === listener)
  }

  /** Adds a hook; returns a function that removes it. Throws `INVALID_INPUT`. */
  addHook(hook: CompactionHook): () => void {
    if (typeof hook !== 'function') throw invalid('compactions.onBefore: the hook must be a function')
    // A wrapper, so that a hook that was added twice is removed once.
    const own: CompactionHook = (about) => hook(about)
    this.#hooks.push(own)
    return () => {
      const at = this.#hooks.indexOf(own)
      if (at >= 0) this.#hooks.splice(at, 1)
    }
  }

  hasListener(name: StoreEventName): boolean {
    return this.#listeners.has(name) || this.#whole?.hasListener(name) === true
  }

  /**
   * Calls the listeners in the order they were added. An error in a listener becomes a `listenerError` event; without a listener for that,
   * a process warning with the event and the error's name, but not its text.
   */
  emit<E extends StoreEventName>(name: E, event: StoreEvents[E]): void {
    const whole = this.#whole
    if (whole?.hasListener(name) === true) whole.emit(name, { ...event, owner: this.#owner! })
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) return
    Object.freeze(event)
    for (const registration of listeners) {
      if (!registration.active) continue
      if (registration.once) this.#remove(name, (one) => one === registration)
      this.#call(name, () => registration.listener(event as never))
    }
  }

  /** Calls the hooks in order. Returns whether all of them allow the run. */
  async allows(about: BeforeCompaction): Promise<boolean> {
    for (const hook of [...this.#hooks]) {
      try {
        if ((await hook(about)) === false) return false
      } catch (error) {
        this.#report('beforeCompaction', error)
        return false
      }
    }
    return this.#whole === undefined || this.#whole.allows({ ...about, owner: this.#owner! })
  }

  get hasHooks(): boolean {
    return this.#hooks.length > 0 || this.#whole?.hasHooks === true
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
    if (name !== 'listenerError' && this.hasListener('listenerError')) {
      this.emit('listenerError', { event: name, error })
      return
    }
    // Once per event: a listener that always throws would flood the log.
    if (this.#warned.has(name)) return
    this.#warned.add(name)
    process.emitWarning(`undertext: a listener to ${name} threw ${errorName(error)}`, {
      type: 'UndertextWarning',
      code: 'UNDERTEXT_LISTENER',
    })
  }

  #remove(name: StoreEventName, matches: (one: Registration) => boolean): void {
    const kept: Registration[] = []
    for (const one of this.#listeners.get(name) ?? []) {
      if (matches(one)) one.active = false
      else kept.push(one)
    }
    if (kept.length === 0) this.#listeners.delete(name)
    else this.#listeners.set(name, kept)
  }
}

/** Returns tokens in whole percent of the available tokens, rounded down, at most 100; 100 if none are available. */
export function percentOf(tokens: number, available: number): number {
  return available > 0 ? Math.min(100, Math.floor((tokens * 100) / available)) : 100
}

function checkListener(name: unknown, listener: unknown, verb: string): void {
  if (!STORE_EVENTS.includes(name as StoreEventName))
    throw invalid(`${verb}: the event must be one of ${STORE_EVENTS.join(', ')}`)
  if (typeof listener !== 'function') throw invalid(`${verb}: the listener must be a function`)
}

/** A usage report of less than half of the expected size of the request. */
export type UsageWarning = {
  readonly code: 'USAGE_FAR_BELOW_ESTIMATE'
  readonly reportedTokens: number
  /** The estimate, corrected by the model's ratio. */
  readonly expectedTokens: number
  readonly message: string
}
