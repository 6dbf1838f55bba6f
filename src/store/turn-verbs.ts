import type { CompactionHook, StoreEventName, StoreListener } from '../events.ts'
import { check } from '../messages/check.ts'
import { type AfterTurnResult, type BeforeTurnResult, TurnHooks } from '../requests/turn-hooks.ts'
import {
  type AfterTurnOptions,
  afterTurnSchema,
  type BeforeTurnOptions,
  beforeTurnSchema,
} from '../requests/turn-options.ts'
import type { Storage } from '../storage/storage.ts'
import { BackgroundVerbs } from './background-verbs.ts'
import type { StoreSettings } from './base.ts'
import { checkId } from './check-arguments.ts'

/** The hooks around a turn, and those who listen. */
export class TurnVerbs<S extends Storage> extends BackgroundVerbs<S> {
  protected readonly turns: TurnHooks

  constructor(storage: S, options: StoreSettings) {
    super(storage, options)
    this.turns = new TurnHooks(
      {
        settings: async (id) =>
          this.configuration.ofSession((await this.storage.session(id))?.config).settings,
        stats: async (id, provider, model, request) => this.stats(id, provider, model, request),
        compact: (id, config) => this.compactSession(id, config),
        append: (id, messages) => this.append(id, messages),
        settle: async (id, waitMs, signal) => {
          this.refuseWithin(id)
          return this.settleBackground(id, waitMs, signal)
        },
        offer: (id, stats) => this.offerBackground(id, stats),
      },
      this.events,
    )
  }

  /**
   * Before a request to the model: how full the context is with what is about to be sent, a warning when usage has
   * crossed a level, a compaction when it is due (0.8) and `auto` is not off (a run in the background is waited for, and its result is
   * used), and the system prompt of this one request with
   * the texts of an injector and the sections of a persistent context. Nothing of that prompt is stored.
   *
   * Throws what `compactSession` throws. A session that is unknown or has no messages is no error.
   */
  async beforeTurn(sessionId: string, options: BeforeTurnOptions = {}): Promise<BeforeTurnResult> {
    return this.turns.before(checkId(sessionId), check(beforeTurnSchema, options, 'beforeTurn'))
  }

  /**
   * After an answer: appends it when it is handed in, says by the stop reason what comes next, and at the end of a turn tells
   * `turnComplete` and compacts when that is due (0.8) and `auto` is not off.
   *
   * Throws what `append` and `compactSession` throw; what was appended stays.
   */
  async afterTurn(sessionId: string, options: AfterTurnOptions = {}): Promise<AfterTurnResult> {
    return this.turns.after(checkId(sessionId), check(afterTurnSchema, options, 'afterTurn'))
  }

  /**
   * Calls a listener with every event of a kind (see `StoreEvents`) of this store object: what other processes do is not
   * told. Answers what takes it away again. A listener harms nothing: what it throws becomes a `listenerError`.
   */
  on<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.events.add(event, listener, false, 'on')
  }

  /** The same for the next event alone. */
  once<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.events.add(event, listener, true, 'once')
  }

  /** Takes a listener away, however often it was added. One that is not there is no error. */
  off<E extends StoreEventName>(event: E, listener: StoreListener<E>): void {
    this.events.off(event, listener)
  }

  /**
   * Asks a hook before any run of `compactSession` is committed, and waits for it. When it answers `false`, or throws, nothing
   * changes, and the result has the reason `VETOED`. Answers what takes the hook away again.
   */
  onBeforeCompaction(hook: CompactionHook): () => void {
    return this.events.addHook(hook)
  }
}
