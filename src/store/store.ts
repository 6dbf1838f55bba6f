import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { check, nameSchema, readable } from '../core/messages/check.ts'
import type { NewMessage, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import { type Moment, type MomentPoint, publicPoint } from '../core/model/moment.ts'
import { type Rendering, type RenderOptions, renderView } from '../core/rendering/render.ts'
import type { Awaitable } from '../storage/jobs.ts'
import type { Compaction, Storage, UndoOutcome } from '../storage/storage.ts'
import type { AppendResult } from './append.ts'
import { checkId, checkStats } from './arguments.ts'
import type { CompactionPreview, CompactionResult } from './compaction/result.ts'
import type { ContextStats } from './compaction/stats.ts'
import { nonDefaults } from './config/resolve.ts'
import { RENDERING_KEYS } from './config/settings.ts'
import {
  type AppendOptions,
  atShape,
  authorshipSchema,
  type CompactOptions,
  type PreviewOptions,
  renderSchema,
  type StatsOptions,
} from './config/store-options.ts'
import { type StoreContext, type StoreSettings, when } from './context.ts'
import type { StoreEventName, StoreListener } from './events.ts'
import { type PrepareRequestOptions, prepareSchema } from './requests/options.ts'
import { checkPrompt, prepareRequest } from './requests/prepare.ts'
import type { PreparedRequest } from './requests/prepared.ts'
import type { ReasoningChange } from './requests/reasoning.ts'
import { type RecordedResponse, type ResponseInput, recordResponse } from './requests/record.ts'
import { withRecovery } from './requests/recovery.ts'
import { bindsIn, renderBoundHistory } from './requests.ts'
import { type RewindOptions, type RewindResult, rewind } from './rewind.ts'
import { type SearchOptions, type SearchResult, searchedTextSchema, searchSchema } from './search.ts'
import { Services } from './services.ts'
import { Compactions } from './topics/compactions.ts'
import { Jobs } from './topics/jobs.ts'
import { Limits } from './topics/limits.ts'
import { Messages } from './topics/messages.ts'
import { Notes } from './topics/notes.ts'
import { Requests } from './topics/requests.ts'
import { Sessions } from './topics/sessions.ts'
import { type UndoIfFitsOptions, type UndoIfFitsResult, undoIfFits } from './undo-if-fits.ts'

const messagesSchema = z.strictObject({
  after: z.int().nonnegative().optional(),
  before: z.int().positive().optional(),
  limit: z.int().positive().optional(),
  order: z.enum(['forward', 'backward']).default('forward'),
  /** Whether rows include the texts that replace their parts (`shown`). */
  shown: z.boolean().default(false),
  /** Whether to return only the rows of the view; `limit` counts hidden messages too. */
  visible: z.boolean().default(false),
  ...atShape,
})
/** Options of `getMessages`. Without options, all messages are returned in order. */
export type GetMessagesOptions = z.input<typeof messagesSchema>
const historySchema = z.strictObject({ provenance: z.boolean().default(false), ...atShape })
/** Options of `getEffectiveHistory`. */
export type EffectiveHistoryOptions = z.input<typeof historySchema>
const compactionsSchema = z.strictObject({ runId: nameSchema.optional() })
/** Options of `listCompactions`. */
export type ListCompactionsOptions = z.input<typeof compactionsSchema>
/** Milliseconds to wait for background runs. Default 0. */
const closeSchema = z.strictObject({ timeoutMs: z.int().nonnegative().default(0) })
/** Options of `close`. */
export type CloseOptions = z.input<typeof closeSchema>
const redoSchema = z.strictObject({ cascade: z.boolean().default(false), ...authorshipSchema.shape })
/** Options of `redo`. */
export type RedoOptions = z.input<typeof redoSchema>
const undoSchema = z.strictObject({
  ...redoSchema.shape,
  /** Whether to undo a rewind although messages were appended after it: the former ones are shown before them. */
  both: z.boolean().default(false),
})
/** Options of `undo`. */
export type UndoOptions = z.input<typeof undoSchema>

/** Returns what a store is made of. Internal: for the other parts of this package, and tests that damage rows. */
export let servicesOf: <S extends Storage>(store: Store<S>) => Services<S>
/** Returns the storage of a store. */
export const storageOf = (store: Store): Storage => servicesOf(store).context.storage
/** Returns the estimators and settings of a store, for the parts of this package that count tokens for it. */
export const contextOf = (store: Store): StoreContext => servicesOf(store).context

/**
 * A store of conversations, made by `openStore`.
 *
 * Methods that need an existing session throw `SESSION_NOT_FOUND` for an unknown one, unless their own comment says otherwise. All methods throw `INVALID_INPUT` for invalid arguments, `STORE_CLOSED`, `STORE_BUSY`, `STORE_CORRUPT`,
 * `STORE_UNAVAILABLE` and `IN_TRANSACTION` (for a connection of the application); methods that write throw `STORE_READONLY` and
 * `STORE_FULL`. After an error nothing is written and the store remains usable, with one exception: `compactSession` and
 * `compactions.hide` read their result after the commit; when only that read fails, the work is done.
 */
export class Store<S extends Storage = Storage> {
  readonly #services: Services<S>
  /** Whole sessions: create, find, change, fork, copy and remove them. */
  readonly sessions: Sessions
  /** Single messages and tool calls, pins, and the views of other moments. */
  readonly messages: Messages
  /** Single compactions, and those that no planner makes. */
  readonly compactions: Compactions
  /** Requests that were sent, and what providers billed for them. */
  readonly requests: Requests
  /** Short texts stored alongside the log, of a session or an owner. */
  readonly notes: Notes
  /** Compactions in the background. */
  readonly jobs: Jobs
  /** Limits of models that were learned from errors, or set. */
  readonly limits: Limits

  static {
    servicesOf = (store) => store.#services
  }

  /** @internal */
  constructor(storage: S, settings: StoreSettings) {
    const services = new Services(storage, settings)
    this.#services = services
    this.sessions = new Sessions(services)
    this.messages = new Messages(services)
    this.compactions = new Compactions(services)
    this.requests = new Requests(services)
    this.notes = new Notes(services)
    this.jobs = new Jobs(services)
    this.limits = new Limits(services)
  }

  /**
   * Adds messages at the end of a session's log, all or none, in order. Creates the session when it does not exist.
   *
   * `expectedPosition` is the position that the caller believes is last (0 for an empty log); when it is not, `POSITION_CONFLICT` is
   * thrown. A message with an `idempotencyKey` that was used with the same body is not written again; with another body
   * `IDEMPOTENCY_CONFLICT` is thrown. An `id` that is in use: `MESSAGE_ID_TAKEN`. A tool result without its call is accepted, because
   * it may be an import; `validateHistory` reports it.
   *
   * Tool outputs larger than `maxToolOutputBytes` or `maxToolOutputLines` are stored whole; the view shows their head and tail. One
   * compaction of kind `preview` does this, in the same transaction; the field `preview` of the result holds its id, for undo and redo.
   * Messages that were known are not shortened again. The option `previewToolOutputs` turns the shortening on or off for this call;
   * when it is omitted, the settings decide, and `auto: false` turns it off.
   *
   * When an answer holds a block with which its provider compacted the conversation, the block is recorded after the append (see
   * `compactions.recordProvider`). `providerCompaction` is the outcome; it is absent when the block could not be recorded now.
   */
  async append(
    sessionId: string,
    messages: readonly NewMessage[],
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    return this.#services.append(checkId(sessionId), messages, options)
  }

  /**
   * Returns the rows as they are stored, hidden rows included, with their tags. `limit` counts messages of the log; summaries and
   * markers follow the message that they are stored after. For the next page pass the last position as `after` (or, backward, the
   * first as `before`). With `shown`, each row lists the texts that it shows in place of its parts. With `visible` hidden rows are
   * omitted and not read; a page may then be empty although others follow: the next one is `after` plus `limit`. With `at`, the rows
   * that were stored at that moment, with their tags, texts and pins then (docs/moments.md).
   */
  async getMessages(sessionId: string, options: GetMessagesOptions = {}): Promise<StoredMessage[]> {
    const { at, ...checked } = check(messagesSchema, options, 'getMessages')
    const { after, before, limit, order, shown, visible } = checked
    const query = { after, before, limit, order, shown, visible }
    const { storage } = this.#services.context
    const id = checkId(sessionId)
    return at === undefined ? storage.messages(id, query) : storage.past.messages(id, query, at)
  }

  /**
   * Returns the effective history: what a model would be sent now, replacements applied, in order. With `provenance` each entry
   * lists the positions of the log that it represents.
   *
   * With `at` it returns the view at a moment of the past: exactly the list that was returned then. A moment is `{ afterMessage }` or `{ beforeMessage }` (an id or a position), `{ audit }`, `{ time }`,
   * `{ beforeCompaction }` or `{ afterCompaction }` (the id of a compaction or of a run), or `{ request }`. Throws what `messages.moment` throws.
   */
  async getEffectiveHistory(
    sessionId: string,
    options: EffectiveHistoryOptions = {},
  ): Promise<ViewMessage[]> {
    const { provenance, at } = check(historySchema, options, 'getEffectiveHistory')
    const { storage } = this.#services.context
    const id = checkId(sessionId)
    if (at === undefined) return storage.view(id, provenance)
    return (await storage.past.view(id, at, provenance)).messages
  }

  /**
   * Returns the effective history in a form that is valid for a provider, and the list of repairs that this took. Default provider:
   * the session's own, else "openai". Changes no row. For a model that binds its reasoning to what precedes it, reasoning that it would
   * refuse is left out; system prompt and tools are taken to be those of the last recorded request. With `at`, the view at a moment of the past, and `moment` in the result.
   */
  async renderHistory(
    sessionId: string,
    options: Partial<RenderOptions> & { readonly at?: Moment | undefined } = {},
  ): Promise<Rendering & { readonly moment?: MomentPoint }> {
    const id = checkId(sessionId)
    const { provider, at, ...rest } = check(renderSchema, options, 'renderHistory')
    const session = await this.#services.context.requireSession(id)
    const config = this.#services.context.configuration.ofSession(session.config)
    const ofSession = { preset: config.settings.preset, ...nonDefaults(config, RENDERING_KEYS) }
    const chosen = this.#services.context.modelFor(session, provider)
    const rendering = { ...ofSession, ...rest, provider: chosen.provider } as RenderOptions
    const { storage } = this.#services.context
    if (at === undefined && bindsIn(this.#services.context, session, provider, undefined))
      return renderBoundHistory(this.#services.context, id, provider, rendering)
    const render = async (view: readonly ViewMessage[]): Promise<Rendering> => {
      const named = await this.#services.context.namedView(id, view)
      return this.#services.context.rendered((resizeImage) =>
        renderView(named, { ...rendering, resizeImage }),
      )
    }
    if (at === undefined) return render(await storage.view(id, false))
    const { point, messages } = await storage.past.view(id, at, false)
    return { ...(await render(messages)), moment: publicPoint(point) }
  }

  /**
   * Finds messages by what they say: a question, a name, a path, an error message, or any other text; a text in quotes is a phrase. It
   * searches everything stored, hidden rows and summaries included, and returns the best hits first (docs/search.md). `cursor` of the
   * result is for the next page, which stays the same when messages are appended meanwhile.
   *
   * The first search of a store makes an index, which takes about a second for each 10,000 messages; later ones, and the background after an append,
   * add what is new. A read-only store searches what is in the index, and says so with `complete: false`.
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    const checked = check(searchSchema, options, 'search')
    return this.#services.searcher.search(check(searchedTextSchema, query, 'search: query'), checked)
  }

  /**
   * Returns how full the context is, from the counters of one row: the cost does not depend on the length of the session. `null` for a
   * session without messages and for an unknown one. Provider and model default to the session's own, else "openai". `options` describes
   * what the next request holds besides the history. With `at`, the figures at a moment of the past: estimates, with today's settings
   * and ratios, from the rows without their contents.
   */
  async getContextStats(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): Promise<ContextStats | null> {
    const request = checkStats(sessionId, provider, model, options)
    return this.#services.context.stats(sessionId, provider, model, request)
  }

  /** Whether compaction is due: usage is at or above the threshold (0.8). `false` for a session without messages. */
  needsCompaction(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): Awaitable<boolean> {
    const request = checkStats(sessionId, provider, model, options)
    const stats = this.#services.context.stats(sessionId, provider, model, request)
    return when(stats, (found) => found?.shouldCompact ?? false)
  }

  /**
   * Returns what `compactSession` would do with this config: the same planner without the write. A summarizer that calls a model is not
   * called, unless `summarize: true`; then its cost is recorded, and applying the preview uses that same text. `null` for a session
   * without messages and for an unknown one. Throws `STALE_PLAN` when the session is purged while it is planned, `ABORTED`, and with
   * `summarize` `COMPACTION_IN_PROGRESS`.
   */
  async previewCompaction(sessionId: string, config: PreviewOptions = {}): Promise<CompactionPreview | null> {
    return this.#services.preview(checkId(sessionId), config)
  }

  /**
   * Runs the stages (by default media, prune, deduplicate, summarize, truncate and cut) in order, each only while the history is over the
   * target, and commits all changes in one transaction at the end. Given a preview, applies it instead. Returns `null` for a session
   * without messages and for an unknown one; a run with nothing to do returns a result with a `reason`.
   *
   * Throws `STALE_PLAN` when the view changed while the plan was made (appends do not count), `COMPACTION_IN_PROGRESS`, `ABORTED`, and
   * for a `range` `ILLEGAL_BOUNDARY` and `PENDING_TOOL_CALLS`.
   */
  async compactSession(
    sessionId: string,
    config: CompactOptions | CompactionPreview = {},
  ): Promise<CompactionResult | null> {
    return this.#services.compact(checkId(sessionId), config)
  }

  /** Lists all compactions of a session, or of one run, oldest first, failed ones included. */
  async listCompactions(sessionId: string, options: ListCompactionsOptions = {}): Promise<Compaction[]> {
    const { runId } = check(compactionsSchema, options, 'listCompactions')
    return this.#services.context.storage.compactions(checkId(sessionId), { run: runId })
  }

  /**
   * Undoes a compaction, or all of a run; the view is what it was before, byte for byte. A second call returns `changed: false` and
   * writes nothing. Undoing a rewind redoes the compactions that the rewind undid. After a user undoes an automatic compaction, the
   * threshold alone does not repeat it: only a request that does not fit, or the user, compacts again.
   *
   * With `{ ifFits }` it undoes compactions, newest first, as long as the whole request stays within the target (0.4 of the available
   * input) of a model: for the change to a model with a larger window. It undoes whole compactions, in one transaction; manual
   * compactions and those of a provider stay, unless `kinds` lists them. Nothing is undone that would make compaction due again. Pass what
   * the request holds besides the history, so that it counts. Redoing the compactions, last first, restores the view.
   *
   * Throws `COMPACTION_NOT_FOUND`; `HAS_ACTIVE_DEPENDENTS` when other compactions in force build on it, unless `cascade: true`; for
   * a rewind `BRANCH_MOVED` when messages were appended after it, unless `both: true`: then the former messages show before them; and
   * with `ifFits` `ESTIMATOR_UNKNOWN`.
   */
  async undoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options?: UndoOptions,
  ): Promise<UndoOutcome & ReasoningChange>
  async undoCompaction(
    sessionId: string,
    as: { readonly ifFits: UndoIfFitsOptions },
  ): Promise<UndoIfFitsResult & ReasoningChange>
  async undoCompaction(
    sessionId: string,
    target: string | { readonly ifFits: UndoIfFitsOptions },
    options: UndoOptions = {},
  ): Promise<(UndoOutcome | UndoIfFitsResult) & ReasoningChange> {
    const ifFits = readable('undoCompaction', () =>
      typeof target === 'object' && target !== null ? target.ifFits : undefined,
    )
    if (ifFits !== undefined) return undoIfFits(this.#services, checkId(sessionId), ifFits)
    const { cascade, both, actor, reason } = check(undoSchema, options, 'undoCompaction')
    const targetId = checkId(target, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#services.undo(id, targetId, { cascade, both, actor, reason })
  }

  /**
   * Redoes a compaction, or exactly what the last undo of a run undid, members of other runs that `cascade` included: the same rows,
   * the same ids, no model. `unchanged` lists the members of the run that are not redone.
   *
   * Throws `COMPACTION_NOT_FOUND`, and `INPUT_NOT_VISIBLE` when the messages that it covers are not visible; `cascade: true` first
   * redoes the compactions that it builds on.
   */
  async redoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options: RedoOptions = {},
  ): Promise<UndoOutcome & ReasoningChange> {
    const { cascade, actor, reason } = check(redoSchema, options, 'redoCompaction')
    const target = checkId(compactionOrRunId, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#services.redo(id, target, { cascade, both: false, actor, reason })
  }

  /**
   * Rewinds the end of a conversation, and optionally continues it differently: restores the view as it was just before a message was
   * appended, as one compaction of kind `manual`, and appends messages, in one transaction. Other libraries call this clear, pop,
   * regenerate, edit or replace. Compactions made since then are undone, those undone since then are redone. Nothing is destroyed:
   * `undoCompaction` restores the view, and the compactions, as they were before the rewind.
   *
   * System messages, pinned rows, summaries and open calls are hidden too, because a rewind is not a compaction. A call may lose its
   * result this way; it is then pending again. Hidden rows keep their ids and release their idempotency keys. Creates the session
   * when there is something to append.
   *
   * Throws `INVALID_INPUT`, `SESSION_NOT_FOUND` when nothing is appended or a row is named, `MESSAGE_NOT_FOUND`, `STALE_PLAN` when a
   * function names a row that is not visible or other writers keep changing the session, `POSITION_CONFLICT`, `OPERATION_CONFLICT`
   * for an operation id that was used for another rewind, and what `append` throws.
   */
  async rewind(sessionId: string, options: RewindOptions): Promise<RewindResult & ReasoningChange> {
    return rewind(this.#services.context, checkId(sessionId), options, this.#services.previewing)
  }

  /**
   * Prepares a request: checks the budget (history, system prompt, prompt, tools and files), warns, compacts when usage has reached
   * the threshold (0.8) and `auto` is not off, and renders view and prompt for the provider, valid by `validateHistory`. Stores nothing
   * but compactions. An unknown or empty session is not an error.
   *
   * The returned request fits: its `stats`, counted over what was rendered, are within the available tokens. When nothing makes it fit,
   * `CONTEXT_BUDGET_EXCEEDED` (`ContextBudgetExceededError`) is thrown, also with `auto: false`.
   *
   * Models and other runs may take `waitMs` milliseconds in total (by default the runs of others 10 seconds of them); after that the
   * request is made to fit without them, and one that fits beside another's run is sent as it is. Throws
   * `INVALID_INPUT`, `ABORTED`, and what `compactSession` throws; `COMPACTION_IN_PROGRESS` only from within a compaction of the same
   * session, because a summarizer that prepares a request of it would wait for itself.
   */
  async prepareRequest(sessionId: string, options: PrepareRequestOptions = {}): Promise<PreparedRequest> {
    const id = checkId(sessionId)
    const checked = check(prepareSchema, options, 'prepareRequest')
    this.#services.compactor.refuseReentry(id)
    return prepareRequest(this.#services, id, checked, checkPrompt(checked))
  }

  /**
   * Appends the prompt, when it is not stored yet, and the answer, all or nothing; records the usage that the provider reported; derives
   * the next step from the stop reason; and emits `turnComplete` at the end of a turn. Never compacts before it returns.
   *
   * `usage` may be a provider's response as it came. A usage that cannot be read is reported (`usageProblem`) and never thrown, because
   * the answer was paid for.
   *
   * `request` is the result of `prepareRequest`: the usage then counts for exactly that request, whatever was appended since. After a
   * compaction it no longer describes the view, and `usage.recorded` is false. What was sent is recorded with it, for `requests.get`.
   * With idempotency keys on all messages the call can be repeated: then nothing is written, counted or emitted twice.
   *
   * Throws what `append` and `requests.recordUsage` throw; appended messages stay.
   */
  async recordResponse(sessionId: string, response: ResponseInput): Promise<RecordedResponse> {
    const id = checkId(sessionId)
    return recordResponse(this.#services, id, response)
  }

  /**
   * Prepares a request, calls `call` with it, and returns its result. When the provider refuses the request as too long
   * (`readOverflow`), the limit in its error is learned, the history is brought down to 70 percent of the room, and `call` is
   * called again with the shorter request; then once more without a model and lower, and once with the emergency cut, each only when
   * the step made the request smaller.
   *
   * When the provider refuses the request for its content (docs/validity.md), the part that it refuses is shown differently by a
   * compaction of kind `repair`, and `call` is called again: at most three times, each with another request. A repair after which the
   * provider refuses the same is undone. When none helps, `REQUEST_REFUSED` is thrown; `originalErrorOf` returns the provider's error.
   *
   * Every other error is rethrown: rate limits, aborts, and overflows without a remedy (`auto: false`, a history that cannot get
   * shorter). When the history got shorter and the provider still refuses, `CONTEXT_BUDGET_EXCEEDED` is thrown; `originalErrorOf`
   * returns the provider's error. Throws what `prepareRequest` throws. `call` must be safe to repeat.
   */
  async withOverflowRecovery<T>(
    sessionId: string,
    call: (request: PreparedRequest, attempt: number) => T | Promise<T>,
    options: PrepareRequestOptions = {},
  ): Promise<T> {
    const id = checkId(sessionId)
    if (typeof call !== 'function') throw invalid('withOverflowRecovery: call must be a function')
    const checked = check(prepareSchema, options, 'withOverflowRecovery')
    this.#services.compactor.refuseReentry(id)
    return withRecovery(this.#services, id, call, checked, checkPrompt(checked))
  }

  /**
   * Adds a listener for an event (see `StoreEvents`) of this store object; the work of other processes emits no events here. Returns a
   * function that removes it. An error of a listener does no harm: it becomes a `listenerError` event.
   */
  on<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#services.context.events.add(event, listener, false, 'on')
  }

  /** Adds a listener for the next event only. Returns a function that removes it. */
  once<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#services.context.events.add(event, listener, true, 'once')
  }

  /** Removes a listener, however often it was added. An unknown listener is not an error. */
  off<E extends StoreEventName>(event: E, listener: StoreListener<E>): void {
    this.#services.context.events.off(event, listener)
  }

  /**
   * Closes the store; a connection of the application stays open. Closing twice has no effect. Waits up to `timeoutMs` (0) for runs in
   * the background; later ones are aborted, change nothing, and stay queued for the next process.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = check(closeSchema, options, 'close')
    const ending = this.#services.background.close(timeoutMs)
    if (ending !== undefined) await ending
    const indexing = this.#services.searcher.index.close()
    if (indexing !== undefined) await indexing
    await this.#services.context.storage.close()
  }

  /** Closes the store, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
