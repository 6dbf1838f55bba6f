import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { check, nameSchema, newOwnerOption, readable } from '../core/messages/check.ts'
import type { NewMessage, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import { type Moment, type MomentPoint, publicPoint } from '../core/model/moment.ts'
import { type Rendering, type RenderOptions, renderView } from '../core/rendering/render.ts'
import type { Awaitable } from '../storage/jobs.ts'
import type { Redaction } from '../storage/redaction.ts'
import type { Backup, Compaction, Storage, UndoOutcome } from '../storage/storage.ts'
import type { AppendResult } from './append.ts'
import { checkId, checkStats } from './arguments.ts'
import { type BackupOptions, backup } from './backup.ts'
import type { Background } from './compaction/background/background.ts'
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
import { ownedStorageOnly, StoreContext, type StoreSettings, when } from './context.ts'
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
import { Privacy } from './topics/privacy.ts'
import { Requests } from './topics/requests.ts'
import { Sessions } from './topics/sessions.ts'
import { type BeginTurnOptions, beginTurn, endTurns, type Turn } from './turns.ts'
import { type UndoIfFitsOptions, type UndoIfFitsResult, undoIfFits } from './undo-if-fits.ts'

const messagesSchema = z.strictObject({
  after: z.int().nonnegative().optional(),
  before: z.int().positive().optional(),
  limit: z.int().positive().optional(),
  order: z.enum(['forward', 'backward']).default('forward'),
  /** Whether rows include the texts that replace their parts (`shown`). */
  shown: z.boolean().default(false),
  /** Whether to return only the rows of the view; `limit` still counts hidden messages. */
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
const newOwnerSchema = newOwnerOption.unwrap()
/** Milliseconds to wait for background runs. Default 0. */
const closeSchema = z.strictObject({ timeoutMs: z.int().nonnegative().default(0) })
/** Options of `close`. */
export type CloseOptions = z.input<typeof closeSchema>
const redoSchema = z.strictObject({
  cascade: z.boolean().default(false),
  /** Whether messages are shown even if retention removed something of them; what stayed is then shown (docs/retention.md). */
  showRetired: z.boolean().default(false),
  ...authorshipSchema.shape,
})
/** Options of `redoCompaction`. */
export type RedoOptions = z.input<typeof redoSchema>
const undoSchema = z.strictObject({
  ...redoSchema.shape,
  /** Whether to undo a rewind even if messages were appended after it; the restored messages are then shown before the appended ones. */
  both: z.boolean().default(false),
})
/** Options of `undoCompaction`. */
export type UndoOptions = z.input<typeof undoSchema>

/** Returns the services behind a store. Internal: for other parts of this package, and for tests that damage rows. */
export let servicesOf: <S extends Storage>(store: Store<S>) => Services<S>
/** Returns the storage of a store. */
export const storageOf = (store: Store): Storage => servicesOf(store).context.storage
/** Returns the context of a store (estimators, settings), for the parts of this package that count tokens for it. */
export const contextOf = (store: Store): StoreContext => servicesOf(store).context
/** Returns the redaction of a store; `undefined` without one, and for a wrapper around a store, or one of another copy of this package. */
export let redactionOf: (store: object) => Redaction | undefined

/** A store of all owners, and the stores of owners that are in use. */
type Family<S extends Storage> = {
  readonly storage: S
  readonly whole: Store<S>
  readonly owned: Map<string, WeakRef<Store<S>>>
}
/** Forgets stores of owners that nobody uses, so that the map doesn't grow with the users of an application. */
const forgotten = new FinalizationRegistry<{ owned: Map<string, WeakRef<object>>; name: string }>(
  ({ owned, name }) => {
    if (owned.get(name)?.deref() === undefined) owned.delete(name)
  },
)

/**
 * A store of conversations, returned by `openStore`.
 *
 * Methods that need an existing session throw `SESSION_NOT_FOUND` for an unknown one, unless their own description says otherwise. All
 * methods throw `INVALID_INPUT` for invalid arguments, `STORE_CLOSED`, `STORE_BUSY`, `STORE_CORRUPT`, `STORE_UNAVAILABLE`, and, within
 * `also` and for a connection of the application, `IN_TRANSACTION`; methods that write also throw `STORE_READONLY` and `STORE_FULL`. If a
 * method throws, nothing was written and the store remains usable. The exception: `compactSession` and `compactions.hide` read their result after the
 * commit; if only that read fails, the work is done.
 */
export class Store<S extends Storage = Storage> {
  readonly #services: Services<S>
  readonly #family: Family<S>
  /** Whole sessions: create, find, change, fork, copy and remove them. */
  readonly sessions: Sessions
  /** Single messages and tool calls, pins, and the views of other moments. */
  readonly messages: Messages
  /** Single compactions: read one, hide messages, record what a provider compacted, and veto runs. */
  readonly compactions: Compactions
  /** Requests that were sent, and what providers billed for them. */
  readonly requests: Requests
  /** Short texts stored alongside the log, for a session or an owner. */
  readonly notes: Notes
  /** Compactions that run in the background. */
  readonly jobs: Jobs
  /** What is removed or hidden for people: an owner's data, secrets, old contents. */
  readonly privacy: Privacy
  /** Limits of models, learned from errors or set by the application. */
  readonly limits: Limits

  static {
    servicesOf = (store) => store.#services
    redactionOf = (store) =>
      #services in store ? (store as Store).#services.context.storage.redaction : undefined
  }

  /** @internal */
  constructor(storage: S, settings: StoreSettings | { readonly family: Family<S>; readonly owner: string }) {
    const isOwners = 'family' in settings
    this.#family = isOwners ? settings.family : { storage, whole: this, owned: new Map() }
    const context = isOwners
      ? new StoreContext(storage, settings.family.whole.#services.context, settings.owner)
      : new StoreContext(settings.strict === true ? ownedStorageOnly(storage) : storage, settings)
    const services = new Services(context, (owner) => this.#backgroundOf(owner))
    this.#services = services
    this.sessions = new Sessions(services)
    this.messages = new Messages(services)
    this.compactions = new Compactions(services)
    this.requests = new Requests(services)
    this.notes = new Notes(services)
    this.jobs = new Jobs(services)
    this.limits = new Limits(services)
    this.privacy = new Privacy(services)
  }

  /**
   * Returns the same store for one owner: it sees only the sessions, notes, requests and jobs of this owner, and creates sessions for the
   * owner. Session ids are unique for an owner; another owner's id is unknown to it. Listeners of this store also receive the events of the
   * returned one, with `owner`. Closing the returned store ends its background work only. Throws `INVALID_INPUT`.
   */
  forOwner(owner: string): this {
    const name = check(newOwnerSchema, owner, 'forOwner: owner')
    const { context } = this.#services
    if (context.owner === name) return this
    if (context.owner !== undefined) throw invalid('forOwner: this is the store of another owner')
    const { storage, owned } = this.#family
    const kept = owned.get(name)?.deref()
    if (kept !== undefined) return kept as this
    const Kind = this.constructor as new (...given: ConstructorParameters<typeof Store<S>>) => this
    const made = new Kind(storage.seenBy(name) as S, { family: this.#family, owner: name })
    owned.set(name, new WeakRef(made))
    forgotten.register(made, { owned, name })
    return made
  }

  /** Returns the background work of an owner; for `undefined`, that of every owner in use. */
  #backgroundOf(owner: string | undefined): Background[] {
    if (this.#services.context.owner !== undefined) return []
    if (owner !== undefined) return [this.forOwner(owner).#services.background]
    return [...this.#family.owned.values()].flatMap((one) => {
      const store = one.deref()
      return store === undefined ? [] : [store.#services.background]
    })
  }

  /**
   * Appends messages to a session's log, all or none, in order. Creates the session if it doesn't exist.
   *
   * `expectedPosition` is the position that the caller believes is the last one (0 for an empty log); if it isn't, `POSITION_CONFLICT` is
   * thrown. A message whose `idempotencyKey` was already used with the same body isn't written again; with another body,
   * `IDEMPOTENCY_CONFLICT` is thrown. An `id` that is already in use throws `MESSAGE_ID_TAKEN`. A tool result without its call is accepted,
   * because it may come from an import; `validateHistory` reports it.
   *
   * Tool outputs larger than `maxToolOutputBytes` or `maxToolOutputLines` are stored whole; the view shows their head and tail. One
   * compaction of kind `preview` does this in the same transaction, and the result's `preview` field holds its id, for undo and redo.
   * Messages that were already stored aren't shortened again. The option `previewToolOutputs` turns the shortening on or off for this call;
   * if it is omitted, the settings decide, and `auto: false` turns it off.
   *
   * If an answer contains a block with which its provider compacted the conversation, the block is recorded after the append (see
   * `compactions.recordProvider`). `providerCompaction` is the outcome; it is absent if the block couldn't be recorded.
   *
   * `also` writes rows of the application in the same transaction (docs/beside.md). If it throws, nothing is written, and its error is
   * thrown.
   */
  async append(
    sessionId: string,
    messages: readonly NewMessage[],
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    return this.#services.append(checkId(sessionId), messages, options)
  }

  /**
   * Returns the stored rows with their tags, including hidden rows. `limit` counts messages of the log; summaries and markers follow the
   * message after which they are stored. For the next page, pass the last position as `after` (or, backward, the first position as
   * `before`).
   *
   * With `shown`, each row lists the texts that it shows in place of its parts. With `visible`, hidden rows are omitted and not read; a
   * page may then be empty even if more rows follow, so continue from `after` plus `limit`. With `at`, returns the rows that were stored at
   * that moment, with the tags, texts and pins that they had (docs/moments.md).
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
   * Returns the effective history: the messages that a model would be sent now, in order, with replacements applied. With `provenance`,
   * each entry lists the positions of the log that it represents.
   *
   * With `at`, returns the view at a past moment, identical to the list that was returned then. A moment is `{ afterMessage }` or `{
   * beforeMessage }` (an id or a position), `{ audit }`, `{ time }`, `{ beforeCompaction }` or `{ afterCompaction }` (the id of a
   * compaction or of a run), or `{ request }`. Throws the same errors as `messages.moment`.
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
   * Returns the effective history in a form that is valid for a provider, and the list of repairs that were needed. The provider defaults
   * to the session's own, else "openai". Changes no row. For a model that binds its reasoning to what precedes it, reasoning that the model
   * would reject is left out; the system prompt and tools are assumed to be those of the last recorded request. With `at`, renders the view
   * at a past moment, and the result has `moment`.
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
   * Searches messages for a question, a name, a path, an error message, or any other text; text in quotes is a phrase. Covers everything
   * stored, including hidden rows and summaries, and returns the best hits first (docs/search.md). Pass the result's `cursor` to get the
   * next page; messages appended in the meantime don't change it.
   *
   * The first search of a store builds an index, which takes about a second per 10,000 messages; later searches, and a background job after
   * each append, add new messages. A read-only store searches only what is in the index; if rows are missing from it, the result has
   * `complete: false`.
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    const checked = check(searchSchema, options, 'search')
    const { context, searcher } = this.#services
    const storage = context.storageOf(checked.owner)
    return searcher.search(check(searchedTextSchema, query, 'search: query'), checked, storage)
  }

  /**
   * Returns how full the context is. Reads the counters of one row, so the cost doesn't depend on the length of the session. Returns `null`
   * for an unknown session or one without messages. Provider and model default to the session's own, else "openai". `options` describes
   * what the next request contains besides the history. With `at`, returns estimates for a past moment: with today's settings and ratios,
   * from the rows without their contents.
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

  /** Returns whether compaction is due: usage is at or above the threshold (0.8). `false` for a session without messages. */
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
   * Returns what `compactSession` would do with this config: it runs the same planner, without the write. A summarizer that calls a model
   * isn't called unless `summarize: true`; then its cost is recorded, and applying the preview uses that same text. Returns `null` for an
   * unknown session or one without messages. Throws `STALE_PLAN` if the session is purged during planning, `ABORTED`, and with `summarize`
   * also `COMPACTION_IN_PROGRESS`.
   */
  async previewCompaction(sessionId: string, config: PreviewOptions = {}): Promise<CompactionPreview | null> {
    return this.#services.preview(checkId(sessionId), config)
  }

  /**
   * Runs the stages in order (by default media, prune, deduplicate, summarize, truncate and cut), each only while the history is over the
   * target, and commits all changes in one transaction at the end. If it is given a preview, it applies that instead. Returns `null` for an
   * unknown session or one without messages; if there is nothing to do, the result has a `reason`.
   *
   * Throws `STALE_PLAN` if the view changed during planning (appends don't count), `COMPACTION_IN_PROGRESS`, `ABORTED`, and for a `range`
   * `ILLEGAL_BOUNDARY` and `PENDING_TOOL_CALLS`.
   */
  async compactSession(
    sessionId: string,
    config: CompactOptions | CompactionPreview = {},
  ): Promise<CompactionResult | null> {
    return this.#services.compact(checkId(sessionId), config)
  }

  /** Lists all compactions of a session, or of one run, oldest first, including failed ones. */
  async listCompactions(sessionId: string, options: ListCompactionsOptions = {}): Promise<Compaction[]> {
    const { runId } = check(compactionsSchema, options, 'listCompactions')
    return this.#services.context.storage.compactions(checkId(sessionId), { run: runId })
  }

  /**
   * Undoes a compaction, or all compactions of a run; the view is then what it was before, byte for byte. A second call returns `changed:
   * false` and writes nothing. Undoing a rewind redoes the compactions that the rewind undid. After a user undoes an automatic compaction,
   * the threshold alone doesn't trigger it again: only a request that doesn't fit, or the user, does.
   *
   * With `{ ifFits }`, undoes compactions, newest first, as long as the whole request stays within the target (0.4 of the available input)
   * of a model. Use it when you switch to a model with a larger window. It undoes whole compactions in one transaction; manual compactions
   * and those of a provider stay, unless `kinds` lists them. It never undoes so much that compaction would be due again. Pass what the
   * request contains besides the history, so that it counts. To restore the view, redo the compactions, last first.
   *
   * Throws `COMPACTION_NOT_FOUND`; `HAS_ACTIVE_DEPENDENTS` if other compactions in force build on it, unless `cascade: true`; for a rewind
   * `BRANCH_MOVED` if messages were appended after it, unless `both: true` (the restored messages are then shown before the appended ones);
   * `CONTENT_RETIRED` if retention removed something that the view would show again, unless `showRetired: true`; and with `ifFits`
   * `ESTIMATOR_UNKNOWN`.
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
    const { cascade, both, showRetired, actor, reason } = check(undoSchema, options, 'undoCompaction')
    const targetId = checkId(target, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#services.undo(id, targetId, { cascade, both, showRetired, actor, reason })
  }

  /**
   * Redoes a compaction, or exactly what the last undo of a run undid, including members of other runs that `cascade` undid. Restores the
   * same rows with the same ids, without calling a model. `unchanged` lists the members of the run that aren't redone.
   *
   * Throws `COMPACTION_NOT_FOUND`, `CONTENT_RETIRED` if retention removed something that the view would show again, unless
   * `showRetired: true`, and `INPUT_NOT_VISIBLE` if the messages that it covers aren't visible; with `cascade: true`, the
   * compactions that it builds on are redone first.
   */
  async redoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options: RedoOptions = {},
  ): Promise<UndoOutcome & ReasoningChange> {
    const { cascade, showRetired, actor, reason } = check(redoSchema, options, 'redoCompaction')
    const target = checkId(compactionOrRunId, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#services.redo(id, target, { cascade, both: false, showRetired, actor, reason })
  }

  /**
   * Rewinds the end of a conversation and optionally continues it differently. In one transaction, restores the view as it was just before
   * a message was appended, as one compaction of kind `manual`, and appends the new messages. Other libraries call this clear, pop,
   * regenerate, edit or replace. Compactions made since then are undone; those undone since then are redone. Nothing is destroyed:
   * `undoCompaction` restores the view and the compactions as they were before the rewind.
   *
   * System messages, pinned rows, summaries and open calls are hidden too, because a rewind isn't a compaction. A call may lose its result;
   * it is then pending again. Hidden rows keep their ids and release their idempotency keys. The session is created if there are messages
   * to append.
   *
   * Throws `INVALID_INPUT`, `SESSION_NOT_FOUND` if nothing is appended or a row is named, `MESSAGE_NOT_FOUND`, `STALE_PLAN` if a function
   * names a row that isn't visible or other writers keep changing the session, `POSITION_CONFLICT`, `OPERATION_CONFLICT` for an operation
   * id that was used for another rewind, and the errors of `append`.
   */
  async rewind(sessionId: string, options: RewindOptions): Promise<RewindResult & ReasoningChange> {
    return rewind(this.#services.context, checkId(sessionId), options, this.#services.previewing)
  }

  /**
   * Begins a turn: claims the session until the answer is stored, so that two requests at once don't answer the same message or run the
   * same tool twice (docs/turns.md). While another turn is under way, waits up to `waitMs` (default 5 seconds) and then throws
   * `TURN_IN_PROGRESS`. A turn whose process is dead is taken over: at once on the same machine, and after at most 15 seconds otherwise.
   *
   * End the turn with `finish`, or use `await using`. The other methods of the store don't need a turn and aren't affected by one. Throws
   * `SESSION_NOT_FOUND`, `TURN_IN_PROGRESS`, and `ABORTED` if the signal fires.
   */
  async beginTurn(sessionId: string, options: BeginTurnOptions = {}): Promise<Turn> {
    return beginTurn(this.#services, checkId(sessionId), options)
  }

  /**
   * Prepares a request: checks the budget (history, system prompt, prompt, tools and files), warns, compacts if usage has reached the
   * threshold (0.8) and `auto` isn't off, and renders view and prompt for the provider, valid by `validateHistory`. Stores nothing but
   * compactions. An unknown or empty session isn't an error.
   *
   * The returned request fits: its `stats`, counted over the rendered messages, are within the available tokens. If nothing makes it fit,
   * `CONTEXT_BUDGET_EXCEEDED` (`ContextBudgetExceededError`) is thrown, even with `auto: false`.
   *
   * Models and other runs may take `waitMs` milliseconds in total (by default 30 seconds, other runs at most 10 of them). After that the
   * request is made to fit without them; if it fits even though another run is active, it is returned as it is. Throws `INVALID_INPUT`,
   * `ABORTED`, and the errors of `compactSession`; `COMPACTION_IN_PROGRESS` only from within a compaction of the same session, because a
   * summarizer that prepares a request of its own session would wait for itself.
   */
  async prepareRequest(sessionId: string, options: PrepareRequestOptions = {}): Promise<PreparedRequest> {
    const id = checkId(sessionId)
    const checked = check(prepareSchema, options, 'prepareRequest')
    this.#services.compactor.rejectReentry(id)
    return prepareRequest(this.#services, id, checked, checkPrompt(checked))
  }

  /**
   * Appends the prompt, if it isn't stored yet, and the answer, all or none; records the usage that the provider reported; derives the next
   * step from the stop reason; and emits `turnComplete` at the end of a turn. Never compacts before it returns.
   *
   * `usage` may be a provider's unchanged response. A usage that can't be read is reported (`usageProblem`) and never thrown, because the
   * answer has been paid for.
   *
   * `request` is the result of `prepareRequest`: the usage then counts for exactly that request, whatever was appended since. After a
   * compaction it no longer describes the view, and `usage.recorded` is false. The request is recorded as it was sent, for `requests.get`.
   * If all messages have idempotency keys, the call can be repeated: nothing is written, counted or emitted twice.
   *
   * Throws the errors of `append` and `requests.recordUsage`; appended messages stay.
   */
  async recordResponse(sessionId: string, response: ResponseInput): Promise<RecordedResponse> {
    const id = checkId(sessionId)
    return recordResponse(this.#services, id, response)
  }

  /**
   * Prepares a request, calls `call` with it, and returns its result.
   *
   * If the provider rejects the request as too long (`readOverflow`), the limit in its error is learned, the history is reduced to 70
   * percent of the available room, and `call` is called again with the shorter request. Two more attempts may follow: one without a model
   * and with a lower target, and one with the emergency cut, each only if that step made the request smaller.
   *
   * If the provider rejects the request for its content (docs/validity.md), a compaction of kind `repair` changes how the rejected part is
   * shown, and `call` is called again: at most three times, each with another request. A repair after which the provider rejects the same
   * content is undone. If none helps, `REQUEST_REFUSED` is thrown; `originalErrorOf` returns the provider's error.
   *
   * All other errors are rethrown: rate limits, aborts, and overflows without a remedy (`auto: false`, or a history that can't get
   * shorter). If the history got shorter and the provider still rejects, `CONTEXT_BUDGET_EXCEEDED` is thrown; `originalErrorOf` returns the
   * provider's error. Throws the errors of `prepareRequest`. `call` must be safe to repeat.
   */
  async withOverflowRecovery<T>(
    sessionId: string,
    call: (request: PreparedRequest, attempt: number) => T | Promise<T>,
    options: PrepareRequestOptions = {},
  ): Promise<T> {
    const id = checkId(sessionId)
    if (typeof call !== 'function') throw invalid('withOverflowRecovery: call must be a function')
    const checked = check(prepareSchema, options, 'withOverflowRecovery')
    this.#services.compactor.rejectReentry(id)
    return withRecovery(this.#services, id, call, checked, checkPrompt(checked))
  }

  /**
   * Adds a listener for an event of this store object (see `StoreEvents`); the work of other processes emits no events here. Returns a
   * function that removes the listener. An error in a listener is emitted as a `listenerError` event and affects nothing else.
   */
  on<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#services.context.events.add(event, listener, false, 'on')
  }

  /** Adds a listener for the next event only. Returns a function that removes the listener. */
  once<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#services.context.events.add(event, listener, true, 'once')
  }

  /** Removes a listener, even if it was added several times. An unknown listener isn't an error. */
  off<E extends StoreEventName>(event: E, listener: StoreListener<E>): void {
    this.#services.context.events.off(event, listener)
  }

  /**
   * Copies the whole store to a file, as of one moment, while this and other processes write to it (docs/backup.md). The file is a store
   * that only its owner can read; it appears under its name when it is complete, and `overwrite` replaces an existing one only then.
   * Removed sessions that are still in the files of the store aren't in the copy. `onProgress` receives the pages copied so far. A database
   * that the store shares with an application is copied with the application's tables.
   *
   * Throws `FILE_EXISTS`, `FILE_UNWRITABLE`, `STORE_FULL`, `BACKUP_ABORTED`, `INVALID_INPUT` if the path is the store itself, and
   * `NOT_SUPPORTED` on PostgreSQL, which has tools of its own. Then nothing is left of the copy.
   */
  async backup(path: string, options: BackupOptions = {}): Promise<Backup> {
    return backup(this.#services.context, path, options)
  }

  /**
   * Closes the store, and ends its turns; a connection of the application stays open. Closing twice has no effect. Waits up to `timeoutMs`
   * (default 0) for background runs; runs that take longer are aborted, change nothing, and stay queued for the next process.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = check(closeSchema, options, 'close')
    const isWhole = this.#services.context.owner === undefined
    const owned = isWhole ? [...this.#family.owned.values()].flatMap((one) => one.deref() ?? []) : []
    const works = [this.#services.background.close(timeoutMs), ...owned.map((one) => one.close(options))]
    if (works.some((work) => work !== undefined)) await Promise.all(works)
    const indexing = this.#services.searcher.index.close()
    if (indexing !== undefined) await indexing
    if (this.#services.turns.size > 0) await endTurns(this.#services)
    if (isWhole) await this.#family.storage.close()
  }

  /** Closes the store, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
