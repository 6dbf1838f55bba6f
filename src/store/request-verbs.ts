import { resolveModel } from '../config/model.ts'
import { saidOf } from '../config/resolve.ts'
import { RENDERING_KEYS } from '../config/settings.ts'
import { invalid, isUndertextError, UndertextError } from '../errors.ts'
import type { CompactionHook, StoreEventName, StoreListener } from '../events.ts'
import { check } from '../messages/check.ts'
import type { NewMessage } from '../messages/message.ts'
import { checkMessages } from '../messages/message-check.ts'
import { nextStep } from '../messages/stop-reason.ts'
import type { RenderOptions } from '../rendering/render.ts'
import type { SessionSnapshot } from '../requests/draft.ts'
import { promptMessages } from '../requests/draft.ts'
import {
  type AfterTurnOptions,
  afterTurnSchema,
  type BeforeTurnOptions,
  beforeTurnSchema,
  type PrepareRequestOptions,
  type Prompt,
  prepareSchema,
} from '../requests/options.ts'
import { RequestPreparer } from '../requests/prepare.ts'
import type { PreparedRequest } from '../requests/prepared.ts'
import {
  figuresOf,
  modelOfResponse,
  type RecordedResponse,
  type ResponseInput,
  recordSchema,
  standingOf,
  usageOfResponse,
} from '../requests/record.ts'
import { withRecovery } from '../requests/recovery.ts'
import { type AfterTurnResult, type BeforeTurnResult, TurnHooks } from '../requests/turn-hooks.ts'
import type { Session, SessionFigures, Storage } from '../storage/storage.ts'
import { NO_SIZES } from '../tokens/tokens.ts'
import { BackgroundVerbs } from './background-verbs.ts'
import type { StoreSettings } from './base.ts'
import { checkId } from './check-arguments.ts'

/** The hooks around a turn, and those who listen. */
class TurnVerbs<S extends Storage> extends BackgroundVerbs<S> {
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

/** How often a session is read anew when somebody writes to it between two readings. */
const MOST_READS = 100

/** One call before a model is asked, and one after. */
export class RequestVerbs<S extends Storage> extends TurnVerbs<S> {
  readonly #preparer: RequestPreparer

  constructor(storage: S, options: StoreSettings) {
    super(storage, options)
    this.#preparer = new RequestPreparer({
      turns: this.turns,
      read: (id, provider, model) => this.#read(id, provider, model),
      compact: (id, config) => this.compactSession(id, config),
      preview: (id, config) => this.previewCompaction(id, config),
      undisturbed: (id, waiting, work) => this.undisturbed(id, waiting, work),
      settle: (id, waitMs, signal) => this.settleBackground(id, waitMs, signal),
      offer: (id, stats) => this.offerBackground(id, stats),
    })
  }

  /**
   * Makes a request ready to be sent: checks the budget (history, system prompt, prompt, tools and files), warns, makes room when
   * usage has reached the threshold (0.8) and `auto` is not off, and renders view and prompt for the provider, valid by
   * `validateHistory`. Nothing is stored but compactions. A session that is unknown or empty is no error.
   *
   * What is answered fits: its `stats`, counted over what was rendered, are within the available tokens. When it does not fit after
   * all that may be done, `CONTEXT_BUDGET_EXCEEDED` (`ContextBudgetExceededError`), also with `auto: false`.
   *
   * Models and other runs are waited for `waitMs` milliseconds at most, all together; then room is made without them.
   * Throws `INVALID_INPUT`, `ABORTED`, and what `compactSession` throws; `COMPACTION_IN_PROGRESS` only from within a compaction of
   * that session: a summarizer that asks through it would wait for itself.
   */
  async prepareRequest(sessionId: string, options: PrepareRequestOptions = {}): Promise<PreparedRequest> {
    const id = checkId(sessionId)
    const checked = check(prepareSchema, options, 'prepareRequest')
    this.refuseWithin(id)
    return this.#preparer.prepare(id, checked, checkPrompt(checked.prompt))
  }

  /**
   * Appends what was asked, when it is not stored yet, and what was answered, all or nothing; notes what the provider reported; says by
   * the stop reason what comes next, and tells `turnComplete` at the end of a turn. Never compacts while you wait.
   *
   * `usage` may be a provider's response as it came; one that cannot be read is reported (`usageProblem`) and never thrown: the
   * answer was paid for.
   *
   * `request` is what `prepareRequest` answered: the usage then counts for exactly that request, whatever was appended or compacted
   * since. With idempotency keys on all messages it can be called again: then nothing is written, counted or told twice.
   *
   * Throws what `append` and `recordUsage` throw; what was appended stays.
   */
  async recordResponse(sessionId: string, response: ResponseInput): Promise<RecordedResponse> {
    const id = checkId(sessionId)
    const checked = check(recordSchema, response, 'recordResponse')
    const { request } = checked
    if (request !== undefined && request.sessionId !== id)
      throw invalid('recordResponse: the request is of another session')
    const { stopReason, expectedPosition } = checked
    const reading = checked.usage == null ? undefined : figuresOf(checked)
    const prompt = promptMessages(checked.prompt ?? request?.prompt)
    const messages = prompt.concat(checked.messages)
    const appended = await this.append(id, messages, {
      ...(expectedPosition !== undefined && { expectedPosition }),
    })
    const usage = await reading
    const isNew = appended.messages.some(({ existing }) => !existing)
    const reported =
      usage !== undefined && isNew ? await this.recordUsage(id, usageOfResponse(checked, usage)) : undefined
    const next = nextStep(stopReason)
    const { provider, model } = modelOfResponse(checked)
    const stats = await this.stats(id, provider, model, standingOf(checked))
    if (next === 'final' && isNew) {
      this.events.emit('turnComplete', {
        sessionId: id,
        position: appended.position,
        ...(stopReason != null && { stopReason }),
      })
    }
    const isAuto = checked.auto ?? request?.auto ?? true
    if (stats !== null && isAuto) this.offerBackground(id, stats)
    return {
      appended,
      ...(reported !== undefined && { usage: reported }),
      ...(reading !== undefined && usage === undefined && { usageProblem: 'unreadable' as const }),
      next,
      final: next === 'final',
      stats,
    }
  }

  /**
   * Prepares a request, makes `call` with it, and answers what that answers. When the provider refuses the request as too long
   * (`isContextOverflowError`), the limit it names is learnt, the history brought down to 70 percent of what there is room for, and
   * `call` made again with the shorter request; once more without a model and lower, and once with the emergency cut, each only when
   * it made the request smaller.
   *
   * Every other error comes back as it was thrown: rate limits, aborts, and overflows nothing can be done about (`auto: false`, a
   * history that cannot get shorter). When it did get shorter and the provider still refuses: `CONTEXT_BUDGET_EXCEEDED`; the
   * provider's error is returned by `originalErrorOf`. Throws what `prepareRequest` throws. `call` must not have effects that cannot be repeated.
   */
  async withOverflowRecovery<T>(
    sessionId: string,
    call: (request: PreparedRequest, attempt: number) => T | Promise<T>,
    options: PrepareRequestOptions = {},
  ): Promise<T> {
    const id = checkId(sessionId)
    if (typeof call !== 'function') throw invalid('withOverflowRecovery: call must be a function')
    const checked = check(prepareSchema, options, 'withOverflowRecovery')
    this.refuseWithin(id)
    return withRecovery(
      {
        settings: async (session) =>
          this.configuration.ofSession((await this.storage.session(session))?.config).settings,
        prepare: (...asked) => this.#preparer.prepare(...asked),
        recordOverflow: (...asked) => this.recordOverflow(...asked),
        compact: (...asked) => this.compactSession(...asked),
        stats: async (...asked) => this.stats(...asked),
      },
      id,
      call,
      checked,
      checkPrompt(checked.prompt),
    )
  }

  /** View, figures and position of one moment: read again when the session moved on meanwhile. */
  async #read(id: string, provider: string | undefined, model: string | undefined): Promise<SessionSnapshot> {
    const started = Date.now()
    for (let attempt = 0; attempt < MOST_READS; attempt++) {
      const session = await this.storage.session(id)
      const world = await this.#worldOf(id, session, provider, model)
      const now = await this.storage.session(id)
      const isSame = now?.incarnation === session?.incarnation && now?.version === session?.version
      if (world !== undefined && isSame) return world
    }
    throw new UndertextError('STORE_BUSY', { waitedMs: Date.now() - started })
  }

  /** `undefined` when the session was purged meanwhile. */
  async #worldOf(
    id: string,
    session: Session | undefined,
    provider: string | undefined,
    model: string | undefined,
  ): Promise<SessionSnapshot | undefined> {
    const figures = session ?? this.#nothing()
    const chosen = resolveModel(this.configuration.modelOf(figures), provider, model)
    const config = this.configuration.ofSession(figures.config)
    try {
      const view = session === undefined ? [] : await this.storage.view(id, false)
      const readings = await this.storage.readings(id, chosen.key, chosen.model ?? '')
      return {
        position: figures.messageCount,
        viewEpoch: figures.viewEpoch,
        view,
        rows: figures.visibleCount,
        sizes: figures.visibleSizes,
        estimator: this.estimatorNamed(figures.estimator, id),
        chosen,
        settings: config.settings,
        manner: {
          preset: config.settings.preset,
          ...saidOf(config, RENDERING_KEYS),
          provider: chosen.provider,
        } as RenderOptions,
        stats: (request) => this.statsOf(id, figures, readings, { provider, model, request }),
      }
    } catch (error) {
      if (isUndertextError(error, 'SESSION_NOT_FOUND')) return undefined
      throw error
    }
  }

  /** The figures of a session that is not there yet. */
  #nothing(): SessionFigures {
    return {
      provider: undefined,
      model: undefined,
      config: undefined,
      estimator: this.estimators.standard.name,
      messageCount: 0,
      visibleCount: 0,
      visibleSizes: NO_SIZES,
      hidden: { condensed: 0, truncated: 0, byHand: 0 },
      activeCompactions: 0,
      undoneAutomatic: 0,
      viewEpoch: 0,
    }
  }
}

/** The messages of a prompt, held to what `append` takes. */
function checkPrompt(prompt: Prompt | undefined): readonly NewMessage[] {
  const messages = promptMessages(prompt)
  if (messages.length > 0) checkMessages(messages, 'prompt')
  return messages
}
