import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { invalid, UndertextError } from '../core/errors.ts'
import { headOf } from '../core/messages/characters.ts'
import { check, isIterable, nameSchema, readable, taken } from '../core/messages/check.ts'
import { defined } from '../core/messages/defined.ts'
import type { NewMessage, PositionRange, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import type { Finding } from '../core/model/coverage.ts'
import type { ExpandedSummary } from '../core/model/expansion.ts'
import { type Moment, type MomentPoint, publicPoint } from '../core/model/moment.ts'
import type { ToolCall, ToolOutput } from '../core/model/tool-calls.ts'
import { type Rendering, type RenderOptions, renderView } from '../core/rendering/render.ts'
import {
  type ImportanceOptions,
  importanceSchema,
  type SessionImportance,
  scoreSession,
} from '../core/stages/importance/scorer.ts'
import type { AppliedEdit } from '../core/stages/provider-compaction.ts'
import { withRequestNames } from '../core/tokens/budget.ts'
import { tokensOf } from '../core/tokens/measure.ts'
import { listPrices } from '../core/tokens/prices.ts'
import { canonicalProvider } from '../core/tokens/providers.ts'
import type { Awaitable } from '../storage/jobs.ts'
import type { HistoryRecord } from '../storage/records/records.ts'
import {
  type AuditEntry,
  type Compaction,
  type ForgottenNote,
  isOpenTo,
  type Job,
  type JobState,
  type LearnedLimit,
  type ListedSession,
  type MessageCounts,
  type Note,
  type PastFigures,
  type Previewing,
  type Purged,
  type Session,
  type Storage,
  type UndoOutcome,
  type ViewChange,
} from '../storage/storage.ts'
import {
  type AppendResult,
  appendMessages,
  previewingFor,
  recordAppended,
  recordProviderWork,
  requestedBlock,
} from './append.ts'
import { checkId, checkStats, isEmptyObject } from './arguments.ts'
import { type BringBackResult, bringBack } from './bring-back.ts'
import { Background } from './compaction/background/background.ts'
import { Guard } from './compaction/background/guard.ts'
import { Compactor } from './compaction/compactor.ts'
import { hideMessages, type ProviderCompactionResult, repairParts } from './compaction/direct-compactions.ts'
import { CompactionPreview, type CompactionResult } from './compaction/result.ts'
import { beforeCompaction } from './compaction/run-progress.ts'
import type { ContextStats } from './compaction/stats.ts'
import { type UndoIfFitsResult, undoIfFits } from './compaction/undo-if-fits.ts'
import { type OverflowResult, type SessionUsage, sessionUsage, type UsageResult } from './compaction/usage.ts'
import {
  type ForgetOptions,
  forgetSchema,
  type RecallOptions,
  type RememberOptions,
} from './config/note-options.ts'
import { readCall, readPreview } from './config/read-settings.ts'
import { nonDefaults, type ResolvedConfig, type ResolvedSettings } from './config/resolve.ts'
import { RENDERING_KEYS } from './config/settings.ts'
import {
  type AppendOptions,
  type AuditLogOptions,
  type AuthorshipOptions,
  answerPositionsSchema,
  appendSchema,
  auditSchema,
  authorshipSchema,
  type BringBackOptions,
  bringBackSchema,
  type CloseOptions,
  type CompactOptions,
  callIdSchema,
  closeSchema,
  compactionsSchema,
  createSchema,
  type EffectiveHistoryOptions,
  type ExpandOptions,
  expandSchema,
  type ForkOptions,
  type ForOwnerOptions,
  forkSchema,
  forOwnerSchema,
  type GetMessagesOptions,
  type GetSourcesOptions,
  type HideOptions,
  hideSchema,
  historySchema,
  type IdleOptions,
  idleSchema,
  idsSchema,
  type LimitInput,
  type ListCompactionsOptions,
  type ListJobsOptions,
  type ListRequestsOptions,
  type ListSessionsOptions,
  type ListToolCallsOptions,
  limitSchema,
  listJobsSchema,
  listSchema,
  messagesSchema,
  momentSchema,
  newestSchema,
  type OverflowInput,
  overflowSchema,
  type PreviewOptions,
  type ProviderCompactionInput,
  type PurgeOptions,
  providerCompactionSchema,
  purgeSchema,
  type RedoOptions,
  redoSchema,
  renderSchema,
  requestKeySchema,
  requestsSchema,
  type SearchOptions,
  type SessionChange,
  type SessionInput,
  type StatsOptions,
  searchedTextSchema,
  searchSchema,
  sourcesSchema,
  type ToolOutputOptions,
  toolCallsSchema,
  toolOutputSchema,
  type UndoIfFitsOptions,
  type UndoOptions,
  undoIfFitsSchema,
  undoSchema,
  updateSchema,
  usageSchema,
  type VerifyOptions,
  verifySchema,
} from './config/store-options.ts'
import { StoreContext, type StoreSettings, when } from './context.ts'
import type { CompactionHook, StoreEventName, StoreListener } from './events.ts'
import type { HistoryRecords } from './history/checked-records.ts'
import type { ImportEvents, ImportOptions, SessionImport } from './history/import/import-types.ts'
import type { RestoreOptions, SessionRestore } from './history/restore-session.ts'
import { notesForRequest, type RecalledNote, recallNotes, rememberNote } from './notes.ts'
import type { ReadSnapshot } from './requests/draft.ts'
import {
  type AfterTurnOptions,
  afterTurnSchema,
  type BeforeTurnOptions,
  beforeTurnSchema,
  type PrepareRequestOptions,
  prepareSchema,
} from './requests/options.ts'
import { RequestPreparer } from './requests/prepare.ts'
import type { PreparedRequest } from './requests/prepared.ts'
import {
  type RecordedResponse,
  type ResponseInput,
  requestSchema,
  type UsageReportInput,
} from './requests/record.ts'
import {
  newRequest,
  type RecordedRequest,
  type RenderedRequest,
  recordedRequest,
  renderedRequest,
} from './requests/recorded.ts'
import { withRecovery } from './requests/recovery.ts'
import type { RepairPort } from './requests/repairs.ts'
import type { ReasoningChange } from './requests/sent-reasoning.ts'
import { type AfterTurnResult, type BeforeTurnResult, TurnHooks } from './requests/turn-hooks.ts'
import { withUndoEvent } from './requests/undo-events.ts'
import {
  bindsIn,
  checkPrompt,
  prefixesBefore,
  readSnapshot,
  recordResponse,
  renderBoundHistory,
  reportChange,
  withAddedMessage,
  withReasoningChange,
} from './requests.ts'
import { type RewindOptions, type RewindResult, rewind } from './rewind.ts'
import { Searcher, type SearchResult } from './search.ts'
import { recordOverflow, recordUsage } from './usage.ts'

const NO_OPTIONS: AppendOptions = {}

/** What a moment names. */
export type ResolvedMoment = MomentPoint & {
  /** The time of the last message or entry, milliseconds since 1970; `undefined` in an empty session. */
  readonly time: number | undefined
}

/** The difference of two views of a session. */
export type ViewDiff = {
  readonly from: MomentPoint
  readonly to: MomentPoint
  /** Rows of the two views. */
  readonly rows: { readonly before: number; readonly after: number }
  /** Tokens of the two views, by the session's estimator, for its provider. */
  readonly tokens: { readonly before: number; readonly after: number }
  /** The rows that differ, in the order of the view. */
  readonly changes: readonly ViewChange[]
}

/** Returns the storage of a store. Internal: tests read and damage rows with it. */
export let storageOf: (store: Store) => Storage
/** Returns the estimators and settings of a store, for the parts of this package that count tokens for it. */
export let contextOf: (store: Store) => StoreContext

/**
 * A store of conversations, made by `openStore`.
 *
 * Methods that need an existing session throw `SESSION_NOT_FOUND` for an unknown one, unless their own comment says otherwise. All methods throw `INVALID_INPUT` for invalid arguments, `STORE_CLOSED`, `STORE_BUSY`, `STORE_CORRUPT`,
 * `STORE_UNAVAILABLE` and `IN_TRANSACTION` (for a connection of the application); methods that write throw `STORE_READONLY` and
 * `STORE_FULL`. After an error nothing is written and the store remains usable, with one exception: `compactSession` and
 * `hideMessages` read their result after the commit; when only that read fails, the work is done.
 */
export class Store<S extends Storage = Storage> {
  readonly #context: StoreContext<S>
  readonly #compactor: Compactor
  readonly #background: Background
  readonly #turns: TurnHooks
  readonly #preparer: RequestPreparer
  readonly #previewing: Previewing
  readonly #searcher: Searcher

  static {
    storageOf = (store) => store.#context.storage
    contextOf = (store) => store.#context
  }

  /** @internal */
  constructor(storage: S, settings: StoreSettings) {
    this.#context = new StoreContext(storage, settings)
    const { configuration, events } = this.#context
    const guard = new Guard(storage, configuration, events)
    this.#previewing = previewingFor(this.#context, undefined)
    this.#searcher = new Searcher(storage, events)
    const compactor = new Compactor(storage, configuration, events, guard)
    this.#compactor = compactor
    this.#background = new Background({ storage, configuration, events, guard, compactor })
    this.#turns = new TurnHooks(
      {
        settings: (id) => this.#settingsOf(id),
        stats: async (...args) => this.#context.stats(...args),
        compact: (id, config) => this.compactSession(id, config),
        append: (id, messages) => this.append(id, messages),
        settle: async (id, ...waits) => {
          this.#compactor.refuseReentry(id)
          return this.#background.settle(id, ...waits)
        },
        offer: (id, stats) => this.#background.offer(id, stats),
      },
      events,
    )
    this.#preparer = new RequestPreparer({
      turns: this.#turns,
      read: (...args) => readSnapshot(this.#context, ...args),
      compact: (id, config) => this.compactSession(id, config),
      preview: (id, config) => this.previewCompaction(id, config),
      undisturbed: (id, waiting, work) => this.#compactor.undisturbed(id, waiting, work),
      settle: (...args) => this.#background.settle(...args),
      offer: (id, stats) => this.#background.offer(id, stats),
    })
  }

  // ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Creates a session and returns it. Without an `id` it gets a uuid. Settings in its `config` override those of the store
   * (docs/configuration.md); its tokens are counted by the estimator they name. Throws `SESSION_EXISTS`.
   */
  async createSession(session: SessionInput = {}): Promise<Session> {
    const { id, ...fields } = check(createSchema, session, 'createSession')
    const estimator = this.#estimatorFor(fields.config ?? undefined)
    return publicSession(await this.#context.storage.createSession(id ?? uuidv7(), fields, estimator))
  }

  #estimatorFor(config: Session['config']): string {
    const { estimators, configuration } = this.#context
    // A copy: resolved settings are cached by object, and this object belongs to the caller.
    const { settings, sources } = configuration.ofSession(config && { ...config })
    const isTheStores = settings.estimator === configuration.ofStore.settings.estimator
    if (isTheStores || sources.estimator === 'default') return estimators.standard.name
    if (!estimators.byName.has(settings.estimator))
      throw invalid('createSession: config: the store does not know this estimator')
    return settings.estimator
  }

  /** Returns a session with its counters. With `owner`, a session of another owner is unknown; one without an owner is not. */
  async getSession(sessionId: string, options: ForOwnerOptions = {}): Promise<Session> {
    const id = checkId(sessionId)
    const { owner } = check(forOwnerSchema, options, 'getSession')
    const session = await this.#context.requireSession(id)
    if (!isOpenTo(session, owner)) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    return publicSession(session)
  }

  /**
   * Counts the messages of a session, the rows of its view that are sent, and the silent messages: those without a part that is sent, as
   * an agent's bookkeeping. Reads every row; `getSession` does not, and its `messageCount` is the length of the log.
   */
  async countMessages(sessionId: string): Promise<MessageCounts> {
    return this.#context.storage.countMessages(checkId(sessionId))
  }

  /**
   * Lists sessions by the time of their newest message, newest first; those without messages are last. Archived sessions are listed
   * separately. `after` is the last session of the page before, as it was listed: when it receives a message meanwhile, the following
   * pages repeat nothing. With its id alone they continue after the place that it has now. Throws `SESSION_NOT_FOUND` for an unknown
   * `after`, and for one of another owner than `owner`.
   */
  async listSessions(options: ListSessionsOptions = {}): Promise<ListedSession[]> {
    const { owner, archived, limit, after, search } = check(listSchema, options, 'listSessions')
    const sessions = await this.#context.storage.listSessions({ owner, archived, limit, after, search })
    return sessions.map(publicSession)
  }

  /**
   * Changes fields of a session. Omitted fields keep their values; `null` clears a field. With the option `owner`, a session of another
   * owner is unknown; one without an owner is not, so `updateSession(id, { owner }, { owner })` gives a session to the first who asks.
   */
  async updateSession(
    sessionId: string,
    changes: SessionChange,
    options: ForOwnerOptions = {},
  ): Promise<Session> {
    const fields = check(updateSchema, changes, 'updateSession')
    const { owner } = check(forOwnerSchema, options, 'updateSession')
    return publicSession(await this.#context.storage.updateSession(checkId(sessionId), fields, owner))
  }

  /** Returns the id of the first session that `listSessions` returns; `undefined` when there is none. */
  async newestSession(options: { readonly archived?: boolean } = {}): Promise<string | undefined> {
    const { archived } = check(newestSchema, options, 'newestSession')
    return this.#context.storage.newestSession(archived)
  }

  /**
   * Moves a session out of the ordinary list, or back into it. When the setting `autoCompactOnFinish` is on, the session is compacted
   * first; if that compaction throws, the session stays in the list. Nothing else changes.
   */
  async archiveSession(sessionId: string, archived = true): Promise<Session> {
    const id = checkId(sessionId)
    check(z.boolean(), archived, 'archived')
    if (archived) await this.#compactAtEnd(await this.#context.requireSession(id))
    return publicSession(await this.#context.storage.archiveSession(id, archived))
  }

  async #compactAtEnd({ id, config }: Session): Promise<void> {
    if (!this.#context.configuration.ofSession(config).settings.autoCompactOnFinish) return
    await this.compactSession(id, { trigger: 'auto', reason: 'the session was archived' })
  }

  /**
   * Copies a session as it is, or as it was at a moment, and returns the copy. Messages keep their positions, content and the caller's
   * ids; the fork shares the contents, so it is small. Its compactions have new ids and can be undone in the fork alone. Afterwards
   * neither session sees changes of the other. Usage, measurements and jobs are not copied. Throws `SESSION_NOT_FOUND`,
   * `SESSION_EXISTS`, and what `getMoment` throws.
   */
  async forkSession(sessionId: string, options: ForkOptions = {}): Promise<Session> {
    const { id, title, at, actor } = check(forkSchema, options, 'forkSession')
    const request = { id: id ?? uuidv7(), title, at, actor }
    return publicSession(await this.#context.storage.fork(checkId(sessionId), request))
  }

  /**
   * Appends the conclusion of a fork to the session that it is a fork of: a message of the role `user` that names the branch, with the
   * metadata `broughtBack`. Without a text the summarizer writes it from the messages after the fork point. It is recorded in the audit;
   * `hideMessages` with its id hides it again, by a compaction that can be undone. Throws `SESSION_NOT_FOUND`,
   * `SUMMARIZER_FAILED`, and `INVALID_INPUT` for a session that is no fork, or, without a text, has no messages of its own.
   */
  async bringBack(forkId: string, options: Partial<BringBackOptions> = {}): Promise<BringBackResult> {
    return bringBack(this.#context, checkId(forkId), check(bringBackSchema, options, 'bringBack'))
  }

  /** Lists the direct forks of a session, oldest first, archived ones included. */
  async listForks(sessionId: string): Promise<Session[]> {
    return (await this.#context.storage.forks(checkId(sessionId))).map(publicSession)
  }

  /**
   * Removes a session and everything it holds. This is the only method that destroys; it leaves a receipt with the session's id and
   * numbers in the audit of the store. Returns what was removed. Afterwards nothing of the session can be read from the files, unless
   * the result has `filesCleared: false`: then the files are cleared as soon as no other connection prevents it. Clearing rewrites
   * the file, so its time grows with the size of the file (docs/storage.md). Throws `HAS_FORKS` for a session with forks, unless `forks`
   * says what happens to them (docs/forks.md).
   */
  async purgeSession(sessionId: string, options: PurgeOptions = {}): Promise<Purged> {
    const { actor, reason, clearFiles, forks } = check(purgeSchema, options, 'purgeSession')
    const id = checkId(sessionId)
    const removed = await this.#context.storage.purgeSession(id, { actor, reason, clearFiles, forks })
    for (const purged of [id, ...(removed.forks ?? [])]) {
      this.#turns.forget(purged)
      this.#background.forget(purged)
    }
    return removed
  }

  /**
   * Returns the settings in force for the store, or for one session, and the layer that each comes from: `session`, `store`
   * (`openStore`), `environment`, `file`, `preset` or `default`. An absent setting scales with the window or does not apply.
   */
  async getConfig(sessionId?: string): Promise<ResolvedConfig> {
    const { configuration } = this.#context
    if (sessionId === undefined) return copyOf(configuration.ofStore)
    const session = await this.#context.requireSession(checkId(sessionId))
    const { settings, sources } = copyOf(configuration.ofSession(session.config))
    const { provider, model } = configuration.modelOf(session)
    if (provider !== undefined) Object.assign(settings, { provider })
    if (model !== undefined) Object.assign(settings, { model })
    if (session.provider !== undefined) Object.assign(sources, { provider: 'session' })
    if (session.model !== undefined) Object.assign(sources, { model: 'session' })
    return { settings, sources }
  }

  /**
   * Checks the invariants of a session and returns the violations. With `repair: true`, tags, sizes and counters are rebuilt from
   * coverage, states and contents, which are never changed.
   */
  async verifySession(
    sessionId: string,
    options: VerifyOptions = {},
  ): Promise<{ findings: Finding[]; repaired: boolean }> {
    const { repair } = check(verifySchema, options, 'verifySession')
    return this.#context.storage.verify(checkId(sessionId), repair)
  }

  /** Counts the tokens of a session again, with the store's estimator or another one it knows. Throws `ESTIMATOR_UNKNOWN`. */
  async reestimate(
    sessionId: string,
    estimator: string = this.#context.estimators.standard.name,
  ): Promise<Session> {
    const id = checkId(sessionId)
    const name = check(z.string(), estimator, 'reestimate: estimator')
    const found = this.#context.estimatorNamed(name, id)
    return publicSession(await this.#context.storage.reestimate(id, found))
  }

  // ── The log and its view ──────────────────────────────────────────────────────────────────────────────────────────────

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
   * `recordProviderCompaction`). `providerCompaction` is the outcome; it is absent when the block could not be recorded now.
   */
  async append(
    sessionId: string,
    messages: readonly NewMessage[],
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    const id = checkId(sessionId)
    const isBare = isEmptyObject(options) && options.expectedPosition === undefined
    const checked = isBare ? NO_OPTIONS : check(appendSchema, options, 'append')
    const { expectedPosition, previewToolOutputs } = checked
    checkMessages(messages)
    const previewing =
      previewToolOutputs === undefined ? this.#previewing : previewingFor(this.#context, previewToolOutputs)
    this.#searcher.index.offer()
    return appendMessages(this.#context, id, messages, expectedPosition, previewing)
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
    return this.#searcher.search(check(searchedTextSchema, query, 'search: query'), checked)
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
    const { storage } = this.#context
    const id = checkId(sessionId)
    return at === undefined ? storage.messages(id, query) : storage.past.messages(id, query, at)
  }

  /**
   * Returns the effective history: what a model would be sent now, replacements applied, in order. With `provenance` each entry
   * lists the positions of the log that it represents.
   *
   * With `at` it returns the view at a moment of the past: exactly the list that was returned then. A moment is `{ afterMessage }` or `{ beforeMessage }` (an id or a position), `{ audit }`, `{ time }`,
   * `{ beforeCompaction }` or `{ afterCompaction }` (the id of a compaction or of a run), or `{ request }`. Throws what `getMoment` throws.
   */
  async getEffectiveHistory(
    sessionId: string,
    options: EffectiveHistoryOptions = {},
  ): Promise<ViewMessage[]> {
    const { provenance, at } = check(historySchema, options, 'getEffectiveHistory')
    const { storage } = this.#context
    const id = checkId(sessionId)
    if (at === undefined) return storage.view(id, provenance)
    return (await storage.past.view(id, at, provenance)).messages
  }

  /**
   * Returns what a moment of a session names: the last position of its log, the number of the last entry of its audit, and the time of
   * the later one.
   *
   * Throws `MESSAGE_NOT_FOUND`, `COMPACTION_NOT_FOUND`, `REQUEST_NOT_FOUND`, and `INVALID_INPUT` for an entry of the audit that the
   * session does not have.
   */
  async getMoment(sessionId: string, at: Moment): Promise<ResolvedMoment> {
    const id = checkId(sessionId)
    const { time, ...point } = await this.#context.storage.past.point(
      id,
      check(momentSchema, at, 'getMoment: at'),
    )
    return { ...publicPoint(point), time }
  }

  /**
   * Compares the views at two moments; the second is now by default. Returns the rows that appeared, disappeared or changed, in the order
   * of the view, the compactions responsible, and the rows and tokens of both views, by the session's estimator. Contains no text of the
   * conversation. Throws what `getMoment` throws, and `ESTIMATOR_UNKNOWN`.
   */
  async diffViews(sessionId: string, from: Moment, to?: Moment): Promise<ViewDiff> {
    const id = checkId(sessionId)
    const first = check(momentSchema, from, 'diffViews: from')
    const second = to === undefined ? undefined : check(momentSchema, to, 'diffViews: to')
    const session = await this.#context.requireSession(id)
    const estimator = this.#context.estimatorNamed(session.estimator, id)
    const { key } = this.#context.modelFor(session)
    const diff = await this.#context.storage.past.diff(id, first, second)
    const tokens = ({ visibleSizes, visibleCount }: PastFigures): number =>
      tokensOf(visibleSizes, visibleCount, estimator, key)
    return {
      from: publicPoint(diff.from),
      to: publicPoint(diff.to),
      rows: { before: diff.before.visibleCount, after: diff.after.visibleCount },
      tokens: { before: tokens(diff.before), after: tokens(diff.after) },
      changes: diff.changes,
    }
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
    const session = await this.#context.requireSession(id)
    const config = this.#context.configuration.ofSession(session.config)
    const ofSession = { preset: config.settings.preset, ...nonDefaults(config, RENDERING_KEYS) }
    const chosen = this.#context.modelFor(session, provider)
    const rendering = { ...ofSession, ...rest, provider: chosen.provider } as RenderOptions
    const { storage } = this.#context
    if (at === undefined && bindsIn(this.#context, session, provider, undefined))
      return renderBoundHistory(this.#context, id, provider, rendering)
    const render = async (view: readonly ViewMessage[]): Promise<Rendering> => {
      const named = await this.#context.namedView(id, view)
      return this.#context.rendered((resizeImage) => renderView(named, { ...rendering, resizeImage }))
    }
    if (at === undefined) return render(await storage.view(id, false))
    const { point, messages } = await storage.past.view(id, at, false)
    return { ...(await render(messages)), moment: publicPoint(point) }
  }

  /**
   * Returns the input and the output of a tool call in full, whatever compactions did to them. Ids of calls may repeat within a
   * session: without `position` the newest call is used, else the one whose call or result is the message at that position.
   *
   * Throws `TOOL_CALL_NOT_FOUND`, `ESTIMATOR_UNKNOWN`.
   */
  async getToolOutput(
    sessionId: string,
    callId: string,
    options: ToolOutputOptions = {},
  ): Promise<ToolOutput> {
    const id = checkId(sessionId)
    const call = check(callIdSchema, callId, 'getToolOutput: callId')
    const { position } = check(toolOutputSchema, options, 'getToolOutput')
    const found = await this.#context.storage.toolOutput(id, call, position)
    if (found !== undefined) return found
    const facts = { sessionId: id, callId: headOf(call, 200), ...(position !== undefined && { position }) }
    throw new UndertextError('TOOL_CALL_NOT_FOUND', facts)
  }

  /**
   * Lists the tool calls in the order of the log, hidden ones included: how each ended, its size, and what the view shows of its
   * output. A page ends with the message in which `limit` (1,000) calls are reached, so it may hold a few more; for the next page
   * pass the position of the last call's message as `after`. Results without a call are not listed. What a rewind hides is paired
   * apart: a call is pending again when its result was rewound, and takes no result of another branch that repeats its id. Throws `ESTIMATOR_UNKNOWN`.
   */
  async listToolCalls(sessionId: string, options: ListToolCallsOptions = {}): Promise<ToolCall[]> {
    return this.#context.storage.toolCalls(
      checkId(sessionId),
      check(toolCallsSchema, options, 'listToolCalls'),
    )
  }

  /**
   * Opens a summary: returns the originals that its compaction covers, in order, and opens the summaries among them down to `depth`
   * levels (1). Each row has its positions, times and tokens, each summary its level and the number of messages it represents. Works
   * for summaries that are hidden or whose compaction was undone.
   *
   * Throws `MESSAGE_NOT_FOUND`, `INVALID_INPUT` for a message that is not a summary, `ESTIMATOR_UNKNOWN`, and `STORE_CORRUPT` when the
   * content of a row is missing.
   */
  async expand(sessionId: string, summaryId: string, options: ExpandOptions = {}): Promise<ExpandedSummary> {
    const { depth } = check(expandSchema, options, 'expand')
    return this.#context.storage.expand(checkId(sessionId), checkId(summaryId, 'summaryId'), depth)
  }

  /**
   * Returns the messages of the log that a summary represents, through all summaries below it: originals with their tags, in order.
   * For the next page pass the last position as `after`. Throws `MESSAGE_NOT_FOUND`, `INVALID_INPUT` for a message that is not a
   * summary.
   */
  async getSources(
    sessionId: string,
    summaryId: string,
    options: GetSourcesOptions = {},
  ): Promise<StoredMessage[]> {
    const { after, limit } = check(sourcesSchema, options, 'getSources')
    const id = checkId(sessionId)
    return this.#context.storage.sources(id, checkId(summaryId, 'summaryId'), { after, limit })
  }

  /** Pins messages: no compaction hides or changes them. Returns how many were not pinned before. Throws `MESSAGE_NOT_FOUND`. */
  async pin(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<number> {
    return this.#setPin('pin', sessionId, messageIds, true, options)
  }

  /** Removes pins, with effect from the next plan on. Returns how many messages were pinned. Throws `MESSAGE_NOT_FOUND`. */
  async unpin(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<number> {
    return this.#setPin('unpin', sessionId, messageIds, false, options)
  }

  async #setPin(
    verb: string,
    sessionId: string,
    messageIds: readonly string[],
    pinned: boolean,
    options: AuthorshipOptions,
  ): Promise<number> {
    const id = checkId(sessionId)
    const ids = check(idsSchema, messageIds, `${verb}: messageIds`)
    const { actor, reason } = check(authorshipSchema, options, verb)
    return this.#context.storage.pin(id, ids, pinned, { actor, reason })
  }

  /**
   * Scores each visible message or tool group from 0 to 1, with reasons. Hides and stores nothing: the same history gives the same
   * scores, also after a restart. `weights` override the default weights. A `scorer` of the application may call a model; when it
   * fails, the default scorer is used and `warning` is set. Reads every visible message.
   */
  async getImportance(sessionId: string, options: ImportanceOptions = {}): Promise<SessionImportance> {
    const id = checkId(sessionId)
    const checked = check(importanceSchema, options, 'getImportance')
    const { storage } = this.#context
    // A snapshot needs a provider, but scores do not depend on it.
    const snapshot = await storage.snapshot(id, this.#context.modelFor(undefined).key)
    if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    const contents = await storage.contents(
      id,
      snapshot.view.rows.map(({ key }) => key),
    )
    return scoreSession(snapshot.view, (row) => contents.get(row.key) ?? [], checked)
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
    return rewind(this.#context, checkId(sessionId), options, this.#previewing)
  }

  // ── Usage ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    return this.#context.stats(sessionId, provider, model, request)
  }

  /** Whether compaction is due: usage is at or above the threshold (0.8). `false` for a session without messages. */
  needsCompaction(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): Awaitable<boolean> {
    const request = checkStats(sessionId, provider, model, options)
    const stats = this.#context.stats(sessionId, provider, model, request)
    return when(stats, (found) => found?.shouldCompact ?? false)
  }

  /**
   * Records the usage that a provider reported for a request, so that figures become exact: call it after each answer, before or after
   * the answer is appended. The report is kept with the view it belongs to (`getContextStats` builds on it until the view changes by
   * anything but appends), and it adjusts the ratio of the model, which all sessions share. Billed tokens are added up (`getUsage`),
   * also when the view of the report no longer exists.
   *
   * A report of more than twice, or less than half, of the expected tokens counts only as that much until the next report confirms it.
   * A report of less than half of the estimate (after the model's ratio) cannot be of the whole request: the result and the event
   * `usageWarning` report this, and no figure is adjusted. A report above a limit that was learned from an overflow removes that limit.
   * Reports of 0 tokens are ignored.
   *
   * `request` is the result of `prepareRequest`, where the answer is stored by other calls than `recordResponse`: it is recorded for
   * `getRequest`. `recordAnswer` adds the positions of the answer when it is stored. Where the provider reported no usage, leave
   * `inputTokens` out: the request is recorded all the same, because reasoning may be bound to it.
   */
  async recordUsage(sessionId: string, usage: UsageReportInput): Promise<UsageResult> {
    const id = checkId(sessionId)
    const { request: given, ...report } = readable('recordUsage', () => ({ ...usage }))
    const request = check(requestSchema.optional(), given, 'recordUsage: request')
    if (request !== undefined && request.sessionId !== id)
      throw invalid('recordUsage: the request is of another session')
    const isUnreported = request !== undefined && report.inputTokens === undefined
    const figures = isUnreported ? { ...report, inputTokens: 0 } : report
    const checked = check(usageSchema, withRequestNames(figures), 'recordUsage')
    const result = await recordUsage(this.#context, id, checked, {
      isReported: !isUnreported,
      requestOf: (billed) => request && newRequest(request, billed),
    })
    reportChange(this.#context, id, request, result.requestId)
    return result
  }

  /**
   * Returns what a session was billed: the tokens that `recordUsage` received, in total and by provider and model, their cost by the
   * list prices of `@pydantic/genai-prices`, and the cost of its summaries by summarizer and model, failed calls included. Costs are
   * US dollars, `null` when no price is known.
   */
  async getUsage(sessionId: string): Promise<SessionUsage> {
    const recorded = await this.#context.storage.usage(checkId(sessionId))
    return sessionUsage(recorded, await listPrices())
  }

  /**
   * Records an error that may be an overflow, after a request that failed: the size in its text counts as a report (see
   * `recordUsage`), and the limit in its text is learned (see `learnLimit`). Any other error changes nothing. The error itself never
   * makes this method throw.
   */
  async recordOverflow(
    sessionId: string,
    error: unknown,
    request: OverflowInput = {},
  ): Promise<OverflowResult> {
    const id = checkId(sessionId)
    return recordOverflow(
      this.#context,
      id,
      error,
      check(overflowSchema, withRequestNames(request), 'recordOverflow'),
    )
  }

  /**
   * Records a limit that a provider enforces, in tokens, for all sessions and exactly this model name: of the context window (`kind:
   * 'window'`, the default), which applies when it is lower than the tables, or of the input alone (`'input'`). The lowest of each kind
   * is kept, and returned.
   */
  async learnLimit(limit: LimitInput): Promise<number> {
    const { provider, model = '', tokens, kind } = check(limitSchema, limit, 'learnLimit')
    return this.#context.storage.learnLimit(canonicalProvider(provider), model, { tokens, kind })
  }

  /** Lists the limits that were learned. */
  async listLimits(): Promise<LearnedLimit[]> {
    return this.#context.storage.limits()
  }

  /** Removes the limit that was learned for a model. Returns whether there was one. */
  async forgetLimit(provider: string, model?: string): Promise<boolean> {
    const name = check(nameSchema, provider, 'forgetLimit: provider')
    const modelName = check(nameSchema.optional(), model, 'forgetLimit: model') ?? ''
    return this.#context.storage.forgetLimit(canonicalProvider(name), modelName)
  }

  // ── Compaction ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Returns what `compactSession` would do with this config: the same planner without the write. A summarizer that calls a model is not
   * called, unless `summarize: true`; then its cost is recorded, and applying the preview uses that same text. `null` for a session
   * without messages and for an unknown one. Throws `STALE_PLAN` when the session is purged while it is planned, `ABORTED`, and with
   * `summarize` `COMPACTION_IN_PROGRESS`.
   */
  async previewCompaction(sessionId: string, config: PreviewOptions = {}): Promise<CompactionPreview | null> {
    const id = checkId(sessionId)
    const { call, summarize } = readPreview(config, 'previewCompaction')
    return this.#compactor.preview(id, call, summarize)
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
    const id = checkId(sessionId)
    const preview = readable('compactSession', () =>
      config instanceof CompactionPreview ? config : undefined,
    )
    if (preview !== undefined) {
      if (preview.sessionId !== id) throw invalid('compactSession: the preview is of another session')
      return this.#compactor.apply(id, preview)
    }
    return this.#compactor.compact(id, readCall(config, 'compactSession'))
  }

  /**
   * Hides messages: a compaction of kind `manual`, which can be undone like any other. Returns it; its `params` are those of the
   * options, `{ by, why }`.
   *
   * Throws `ILLEGAL_BOUNDARY` when this would separate messages that belong together, or hide a pinned row, a system message or a
   * summary; `PENDING_TOOL_CALLS`; `MESSAGE_NOT_FOUND`; and `STALE_PLAN` for messages that are hidden already.
   */
  async hideMessages(
    sessionId: string,
    messageIds: readonly string[],
    options: HideOptions = {},
  ): Promise<Compaction & ReasoningChange> {
    const id = checkId(sessionId)
    const ids = check(idsSchema, messageIds, 'hideMessages: messageIds')
    const { actor, reason, params } = check(hideSchema, options, 'hideMessages')
    const providerOf = (session: Session): string => this.#context.modelFor(session).key
    const hide = async (): Promise<Compaction> =>
      this.getCompaction(
        id,
        await hideMessages(this.#context.storage, id, ids, { actor, reason, params }, providerOf),
      )
    return withReasoningChange(this.#context, id, () => true, hide)
  }

  /**
   * Records what a provider did to the conversation itself, as compactions of kind `provider`, which can be undone like any other:
   *
   * - A compaction block in an answer replaces everything before it that may be hidden. The view shows it as a summary, and
   *   `renderHistory` returns it to its provider unchanged. After an undo everything is sent again and the block is not. `append`
   *   does this automatically.
   * - `answer` is a block that the provider wrote because it was asked to, of the messages before `keepFrom`. It replaces these.
   * - `appliedEdits` is the answer's `context_management.applied_edits`: the oldest tool results show a placeholder and the oldest
   *   turns no reasoning, as many as the provider cleared.
   *
   * Recording the same again does nothing, also when it was undone. Throws `MESSAGE_NOT_FOUND`, and `STALE_PLAN` when other writers
   * keep changing the view.
   */
  async recordProviderCompaction(
    sessionId: string,
    input: ProviderCompactionInput = {},
  ): Promise<ProviderCompactionResult> {
    const id = checkId(sessionId)
    const checked = check(providerCompactionSchema, input, 'recordProviderCompaction')
    const { messageId, provider, excludeTools, actor, reason } = checked
    const appliedEdits = taken(checked.appliedEdits) as readonly AppliedEdit[]
    const block = requestedBlock(checked)
    const requested = block && {
      ...block,
      ...defined({ replaced: await prefixesBefore(this.#context, id, provider, block.keepFrom) }),
    }
    const record = { messageId, provider, appliedEdits, excludeTools, actor, reason, requested }
    return recordProviderWork(this.#context, id, record)
  }

  /** Lists all compactions of a session, or of one run, oldest first, failed ones included. */
  async listCompactions(sessionId: string, options: ListCompactionsOptions = {}): Promise<Compaction[]> {
    const { runId } = check(compactionsSchema, options, 'listCompactions')
    return this.#context.storage.compactions(checkId(sessionId), { run: runId })
  }

  /** Returns one compaction. Throws `COMPACTION_NOT_FOUND`. */
  async getCompaction(sessionId: string, compactionId: string): Promise<Compaction> {
    const id = checkId(sessionId)
    const [compaction] = await this.#context.storage.compactions(id, {
      id: checkId(compactionId, 'compactionId'),
    })
    if (compaction === undefined)
      throw new UndertextError('COMPACTION_NOT_FOUND', { sessionId: id, compactionId })
    return compaction
  }

  /** Lists what happened to a session, oldest first: ids and numbers. For the next page pass the last `no` as `after`. */
  async getAuditLog(sessionId: string, options: AuditLogOptions = {}): Promise<AuditEntry[]> {
    return this.#context.storage.auditLog(checkId(sessionId), check(auditSchema, options, 'getAuditLog'))
  }

  /**
   * Undoes a compaction, or all of a run; the view is what it was before, byte for byte. A second call returns `changed: false` and
   * writes nothing. Undoing a rewind redoes the compactions that the rewind undid. After a user undoes an automatic compaction, the
   * threshold alone does not repeat it: only a request that does not fit, or the user, compacts again.
   *
   * Throws `COMPACTION_NOT_FOUND`; `HAS_ACTIVE_DEPENDENTS` when other compactions in force build on it, unless `cascade: true`; and for
   * a rewind `BRANCH_MOVED` when messages were appended after it, unless `both: true`: then the former messages show before them.
   */
  async undoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options: UndoOptions = {},
  ): Promise<UndoOutcome & ReasoningChange> {
    const { cascade, both, actor, reason } = check(undoSchema, options, 'undoCompaction')
    const target = checkId(compactionOrRunId, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#turned('undone', id, target, async () =>
      this.#context.storage.undo(id, target, { cascade, both, actor, reason }),
    )
  }

  /**
   * Redoes a compaction, or exactly what the last undo of a run undid, members of other runs that `cascade` included: the same rows,
   * the same ids, no model. `notTurned` lists the members of the run that are not redone.
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
    return this.#turned('redone', id, target, async () =>
      this.#context.storage.redo(id, target, { cascade, both: false, actor, reason }),
    )
  }

  /**
   * Undoes compactions, newest first, as long as the whole request stays within the target (0.4 of the available input) of a model: for
   * the change to a model with a larger window. Undoes whole compactions, in one transaction; manual compactions and those of a provider
   * stay, unless `kinds` lists them. Nothing is undone that would make compaction due again. Pass what the request holds besides the
   * history, so that it counts. Redoing the compactions, last first, restores the view. Throws `ESTIMATOR_UNKNOWN`.
   */
  async undoIfFits(
    sessionId: string,
    options: UndoIfFitsOptions = {},
  ): Promise<UndoIfFitsResult & ReasoningChange> {
    const id = checkId(sessionId)
    const checked = check(undoIfFitsSchema, withRequestNames(options), 'undoIfFits')
    const session = await this.#context.requireSession(id)
    const chosen = this.#context.modelFor(session, checked.provider, checked.model)
    const { provider, model } = chosen
    const { target, targetTokens } = this.#context.configuration.ofSession(session.config).settings
    const work = (): Promise<UndoIfFitsResult> =>
      undoIfFits(this.#context.storage, id, checked, {
        chosen,
        target,
        targetTokens,
        statsOf: (figures, readings, request) =>
          this.#context.statsOf(id, figures, readings, { provider, model, request }),
      })
    return this.#turned('undone', id, 'undoIfFits', work, provider, model)
  }

  #turned<T extends UndoOutcome>(
    phase: 'undone' | 'redone',
    sessionId: string,
    targetId: string,
    work: () => Promise<T>,
    provider?: string,
    model?: string,
  ): Promise<T & ReasoningChange> {
    const stats = async (): Promise<ContextStats | null> => this.#context.stats(sessionId, provider, model)
    const hasChanged = ({ changed }: T): boolean => changed
    return withUndoEvent(this.#context.events, { phase, sessionId, targetId }, stats, () =>
      withReasoningChange(this.#context, sessionId, hasChanged, work, [provider, model]),
    )
  }

  // ── Background ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Queues a compaction and returns at once; only `whenIdle` waits for it. A session has one open job at most: while there is one, that
   * job is returned, with the settings it was queued with. Settings of the call that are plain data are stored with the job; a summarizer
   * and stages of the application apply as long as this store is open. The run counts as automatic (`trigger: 'auto'`); a `signal`
   * cancels it.
   *
   * Throws `CIRCUIT_OPEN`, `ABORTED`.
   */
  async compactInBackground(
    sessionId: string,
    config: CompactOptions = {},
  ): Promise<{ readonly jobId: string; readonly state: JobState }> {
    const id = checkId(sessionId)
    const call = readCall(config, 'compactInBackground')
    if (call.trigger !== undefined && call.trigger !== 'auto')
      throw invalid('compactInBackground: trigger can only be "auto"')
    const job = await this.#background.start(await this.#context.requireSession(id), call)
    return { jobId: job.id, state: job.state }
  }

  /** Lists a session's jobs, newest first, at most `limit` (100). The last hundred are kept. */
  async listJobs(sessionId: string, options: ListJobsOptions = {}): Promise<Job[]> {
    const { limit } = check(listJobsSchema, options, 'listJobs')
    return this.#context.storage.jobs.list(checkId(sessionId), limit)
  }

  /** Returns one job. Throws `JOB_NOT_FOUND`. */
  async getJob(jobId: string): Promise<Job> {
    const job = await this.#context.storage.jobs.job(checkId(jobId, 'jobId'))
    if (job === undefined) throw new UndertextError('JOB_NOT_FOUND', { jobId })
    return job
  }

  /**
   * Waits until no job of the session runs or is due; jobs that a dead process left are resumed. Without a session it waits until this
   * store runs nothing and nothing is due. It does not wait for jobs that are scheduled for later (the next try, a limit). Returns
   * `false` when `timeoutMs` passed first. Throws `ABORTED` after the signal, with an empty `sessionId` when none was given.
   */
  async whenIdle(sessionId?: string, options: IdleOptions = {}): Promise<boolean> {
    const limits = check(idleSchema, options, 'whenIdle')
    return this.#background.whenIdle(sessionId === undefined ? undefined : checkId(sessionId), limits)
  }

  /**
   * Cancels a job by its id, or the open job of a session: the call to the model is aborted, nothing changes, and its cost is recorded. A
   * job that another process runs is marked, so that its commit is refused. Returns the job, or `null` when none was open. Throws
   * `SESSION_NOT_FOUND` when the id is neither of a job nor of a session.
   */
  async cancel(sessionOrJobId: string): Promise<Job | null> {
    const target = checkId(sessionOrJobId, 'sessionOrJobId')
    const cancelled = await this.#background.cancel(target)
    if (cancelled !== undefined) return cancelled
    if ((await this.#context.storage.jobs.job(target)) === undefined)
      await this.#context.requireSession(target)
    return null
  }

  // ── Notes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Stores a note for a session, or for an owner, whose notes apply to all of the owner's sessions. Returns it. A note with a `key`
   * replaces the current note of that key, which stays stored and is no longer recalled; an equal one is not written again. A text has
   * at most 20,000 characters. Throws `MESSAGE_NOT_FOUND` for an unknown `source`.
   */
  async remember(text: string, options: RememberOptions): Promise<Note> {
    return rememberNote(this.#context, text, options)
  }

  /**
   * Returns notes. Without a query, the newest come first; with a query, only notes that contain its words, best first. Those of a
   * session come together with those of its owner. Considers the newest 128 (the setting `maxNotes`) of the session and of the owner;
   * with `all`, also replaced and forgotten ones, up to 10,000.
   */
  async recall(query: string | undefined, options: RecallOptions): Promise<RecalledNote[]> {
    return recallNotes(this.#context, query, options)
  }

  /**
   * Takes a note out of use: it stays stored and is no longer recalled. With `purge: true` its text is removed for good, with the notes
   * of its key before it, and the files are cleared as by `purgeSession`. Only ids stay in the audit. Throws `NOTE_NOT_FOUND`.
   */
  async forget(noteId: string, options: ForgetOptions = {}): Promise<ForgottenNote> {
    const { purge, actor, reason } = check(forgetSchema, options, 'forget')
    return this.#context.storage.notes.forget(checkId(noteId, 'noteId'), { purge, actor, reason })
  }

  // ── Requests to a model ───────────────────────────────────────────────────────────────────────────────────────────────

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
    this.#compactor.refuseReentry(id)
    return this.#prepare(id, checked, checkPrompt(checked))
  }

  /** Notes go into the system prompt as a section of a persistent context does. */
  async #prepare(
    ...[id, options, ...rest]: Parameters<RequestPreparer['prepare']>
  ): Promise<PreparedRequest> {
    const section = await notesForRequest(this.#context, id, options)
    if (section === undefined) {
      const request = await this.#preparer.prepare(id, options, ...rest)
      this.#context.warnOfWindow(id, request.stats)
      return request
    }
    const { persistentContext } = options
    const texts = (): string[] => [persistentContext?.render() ?? '', section.text]
    const render = (): string =>
      texts()
        .filter((text) => text !== '')
        .join('\n\n')
    const request = await this.#preparer.prepare(id, { ...options, persistentContext: { render } }, ...rest)
    this.#context.warnOfWindow(id, request.stats)
    return { ...request, notes: section.notes }
  }

  /**
   * Appends the prompt, when it is not stored yet, and the answer, all or nothing; records the usage that the provider reported; derives
   * the next step from the stop reason; and emits `turnComplete` at the end of a turn. Never compacts before it returns.
   *
   * `usage` may be a provider's response as it came. A usage that cannot be read is reported (`usageProblem`) and never thrown, because
   * the answer was paid for.
   *
   * `request` is the result of `prepareRequest`: the usage then counts for exactly that request, whatever was appended since. After a
   * compaction it no longer describes the view, and `usage.recorded` is false. What was sent is recorded with it, for `getRequest`.
   * With idempotency keys on all messages the call can be repeated: then nothing is written, counted or emitted twice.
   *
   * Throws what `append` and `recordUsage` throw; appended messages stay.
   */
  async recordResponse(sessionId: string, response: ResponseInput): Promise<RecordedResponse> {
    const id = checkId(sessionId)
    return recordResponse(this.#context, id, response, {
      append: (messages, options) => this.append(id, messages, options),
      recordUsage: (usage, requestOf) => {
        const report = check(usageSchema, withRequestNames(usage), 'recordUsage')
        return recordUsage(this.#context, id, report, { requestOf })
      },
      offer: (stats) => this.#background.offer(id, stats),
    })
  }

  /**
   * Records the positions of a request's answer, first and last. Call it if you store answers with something other than `recordResponse`;
   * `getRequest` with `{ answer }` then finds the request. Returns whether they were recorded: they are written once, and only for
   * messages of the log after the moment of the request.
   *
   * Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`, `INVALID_INPUT`.
   */
  async recordAnswer(sessionId: string, requestId: string, answerPositions: PositionRange): Promise<boolean> {
    const id = checkId(sessionId)
    const request = check(nameSchema, requestId, 'recordAnswer: requestId')
    const range = check(answerPositionsSchema, answerPositions, 'recordAnswer: answerPositions')
    return this.#context.storage.recordAnswer(id, request, range)
  }

  /**
   * Lists the recorded requests of a session, oldest first: what `recordResponse`, the middleware and the adapters recorded. A page has up
   * to `limit` (100) requests; for the next one pass the last `id` as `after`. Throws `REQUEST_NOT_FOUND` for an `after` that is not an
   * id of this session.
   */
  async listRequests(sessionId: string, options: ListRequestsOptions = {}): Promise<RecordedRequest[]> {
    const id = checkId(sessionId)
    const query = check(requestsSchema, options, 'listRequests')
    const stored = await this.#context.storage.requests(id, query)
    return stored.map((one) => recordedRequest(id, one))
  }

  /**
   * Returns a recorded request: what the model was sent. `request` is its id, or `{ answer }` with the id or the position of a message
   * that it produced. The messages are not stored: they are rendered again from the view of that moment, and compared with the hash of what
   * was sent. `matches` says whether they are the same bytes, and `reason` why they are not.
   *
   * Throws `REQUEST_NOT_FOUND`, also for a message whose request was not recorded, and `MESSAGE_NOT_FOUND` for an unknown id of a message.
   */
  async getRequest(
    sessionId: string,
    request: string | { readonly answer: string | number },
  ): Promise<RenderedRequest> {
    const id = checkId(sessionId)
    const key = check(requestKeySchema, request, 'getRequest: request')
    const found = await this.#context.storage.request(id, key)
    const view = await this.#context.namedView(id, found.view)
    return this.#context.rendered((resizeImage) => renderedRequest(id, { ...found, view }, resizeImage))
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
    this.#compactor.refuseReentry(id)
    const port = {
      settings: (session: string) => this.#settingsOf(session),
      prepare: (...args: Parameters<RequestPreparer['prepare']>) => this.#prepare(...args),
      recordOverflow: this.recordOverflow.bind(this),
      compact: this.compactSession.bind(this),
      stats: async (...args: Parameters<StoreContext['stats']>) => this.#context.stats(...args),
      read: (...args: Parameters<ReadSnapshot>) => readSnapshot(this.#context, ...args),
      repair: (...args: Parameters<RepairPort['repair']>) => this.#repair(...args),
      undo: (session: string, compactionId: string) => this.undoCompaction(session, compactionId),
      redo: (session: string, compactionId: string) => this.redoCompaction(session, compactionId),
    }
    return withRecovery(port, id, call, checked, checkPrompt(checked))
  }

  /** Shows parts differently that a provider refused, unless a hook refuses; returns the compaction's id. */
  #repair(id: string, repair: Parameters<RepairPort['repair']>[1]): Promise<string | undefined> {
    const providerOf = (session: Session): string => this.#context.modelFor(session).key
    const { storage, events } = this.#context
    return repairParts(storage, id, repair, { actor: undefined, reason: undefined }, providerOf, (run) =>
      events.allows(beforeCompaction({ runId: run.runId, trigger: 'refusal' }, { ...run, after: run.view })),
    )
  }

  /**
   * Runs before a request to the model: returns how full the context is with what is about to be sent, warns when usage has crossed a
   * level, compacts when that is due (0.8) and `auto` is not off (it waits for a run in the background and uses its result), and
   * returns the system prompt of this request with the texts of an injector and the sections of a persistent context. Nothing of that
   * prompt is stored. For a model that binds its reasoning to what precedes it, the system prompt stays your own, and `added` is a message
   * with these texts: append it, so that later requests have it in the same place.
   *
   * Throws what `compactSession` throws. An unknown session, or one without messages, is not an error.
   */
  async beforeTurn(sessionId: string, options: BeforeTurnOptions = {}): Promise<BeforeTurnResult> {
    const id = checkId(sessionId)
    const checked = check(beforeTurnSchema, withRequestNames(options), 'beforeTurn')
    const result = await this.#turns.before(id, checked)
    this.#context.warnOfWindow(id, result.stats)
    return withAddedMessage(this.#context, id, checked, result)
  }

  /**
   * Runs after an answer: appends it when it is given, derives the next step from the stop reason, and at the end of a turn emits
   * `turnComplete` and compacts when that is due (0.8) and `auto` is not off.
   *
   * Throws what `append` and `compactSession` throw; appended messages stay.
   */
  async afterTurn(sessionId: string, options: AfterTurnOptions = {}): Promise<AfterTurnResult> {
    return this.#turns.after(
      checkId(sessionId),
      check(afterTurnSchema, withRequestNames(options), 'afterTurn'),
    )
  }

  async #settingsOf(sessionId: string): Promise<ResolvedSettings> {
    const session = await this.#context.storage.session(sessionId)
    return this.#context.configuration.ofSession(session?.config).settings
  }

  // ── Import, export and restore: the code is loaded on first use, because most stores never need it ────────────────────

  /**
   * Imports a conversation from another system: its messages, its metadata, and the compactions that system made, which can be undone and
   * redone like any other. `importFile` of `undertext/transfer` reads files into such events.
   *
   * A new session is written in batches of one short transaction each; it appears in no list until it is complete, and a failed import
   * leaves nothing. In a session that was imported before, messages are recognized by their `idempotencyKey`, also when they were hidden
   * since: only new ones are appended at the end, batch by batch, and repeating the import writes nothing. Compactions cover what may
   * be hidden; each has an outcome, and one that cannot be applied is not an error.
   *
   * Throws `INVALID_INPUT`, `SESSION_EXISTS` when the id belongs to another conversation or another owner, `IMPORT_DIVERGED` when the
   * session is not the beginning of the import, `IDEMPOTENCY_CONFLICT`, `MESSAGE_ID_TAKEN`, `POSITION_CONFLICT` when another writer
   * appends at the same time, `ABORTED`, and what `events` and `beforePublish` throw.
   */
  async importSession(
    sessionId: string,
    events: ImportEvents,
    options: ImportOptions,
  ): Promise<SessionImport> {
    // Copies: the caller may change its own objects while the code is loaded.
    const given = {
      events: readable('importSession: events', () => (Array.isArray(events) ? taken(events) : events)),
      options: readable('importSession', () => taken(options)),
    }
    const { importSession } = await import('./history/import/import-session.ts')
    const context = this.#context
    const host = {
      storage: context.storage,
      estimator: context.estimators.standard.name,
      modelFor: (session: Pick<Session, 'provider' | 'model'>) => context.modelFor(session),
      recordAppended: recordAppended.bind(undefined, context),
    }
    return importSession(host, checkId(sessionId), given.events, given.options)
  }

  /**
   * Yields a whole session as records: everything stored of it, tags, compactions and audit included, and nothing that belongs to this
   * machine. `restoreSession` makes the same session of them. docs/history-format.md describes each record; `historyLines` of
   * `undertext/transfer` writes them as lines.
   *
   * The records are of one moment: what others append, compact or undo while they are read is not included. They come in pages of some
   * megabytes, so that a session of any size can be exported, and no transaction is open between two pages.
   *
   * Throws `SESSION_NOT_FOUND`, also when the session is purged meanwhile, and `STORE_CORRUPT` for what cannot be read.
   */
  async *exportSession(sessionId: string): AsyncGenerator<HistoryRecord, void, undefined> {
    const id = checkId(sessionId)
    const { exportSession } = await import('./history/export-session.ts')
    yield* exportSession(this.#context.storage, id)
  }

  /**
   * Makes a session of exported records: the same messages with the same ids, the same view, and every compaction ready to be undone and
   * redone. Every record is checked, so they may come from an untrusted source. The session is written in batches; it appears in no list
   * until it is complete and `verifySession` finds no violation, and a failed restore leaves nothing.
   *
   * `id` and `owner` override those of the records. Ids of messages, compactions and runs are unique in a store: under another session
   * id, and when they are in use, they are replaced by others, always the same ones for the same session; ids and keys that callers gave
   * to messages stay. A summary attempt that was running at the export is expired. When the same session exists already, nothing is
   * written and the result has `existing: true`.
   *
   * Throws `HISTORY_REFUSED` with the number of the record and the rule, `SESSION_EXISTS` for a session that is different or of another
   * moment, `ESTIMATOR_UNKNOWN`, `INVALID_INPUT`, `ABORTED`, and what the records throw.
   */
  async restoreSession(records: HistoryRecords, options: RestoreOptions = {}): Promise<SessionRestore> {
    const given = {
      records: readable('restoreSession: records', () => (Array.isArray(records) ? taken(records) : records)),
      options: readable('restoreSession', () => taken(options)),
    }
    const { restoreSchema, restoreSession } = await import('./history/restore-session.ts')
    const checked = check(restoreSchema, given.options, 'restoreSession')
    if (!isIterable(given.records)) throw invalid('restoreSession: records must be iterable')
    const host = {
      storage: this.#context.storage,
      admit: ({ estimator, config }: { estimator: string; config?: unknown }, sessionId: string) => {
        check(createSchema.shape.config, config, 'config')
        this.#context.estimatorNamed(estimator, sessionId)
      },
    }
    return restoreSession(host, given.records, checked)
  }

  // ── Events and closing ────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Adds a listener for an event (see `StoreEvents`) of this store object; the work of other processes emits no events here. Returns a
   * function that removes it. An error of a listener does no harm: it becomes a `listenerError` event.
   */
  on<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#context.events.add(event, listener, false, 'on')
  }

  /** Adds a listener for the next event only. Returns a function that removes it. */
  once<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#context.events.add(event, listener, true, 'once')
  }

  /** Removes a listener, however often it was added. An unknown listener is not an error. */
  off<E extends StoreEventName>(event: E, listener: StoreListener<E>): void {
    this.#context.events.off(event, listener)
  }

  /**
   * Adds a hook that is called, and awaited, before every run of `compactSession` commits. When it returns `false`, or throws, nothing
   * changes and the result has the reason `VETOED`. Returns a function that removes the hook.
   */
  onBeforeCompaction(hook: CompactionHook): () => void {
    return this.#context.events.addHook(hook)
  }

  /**
   * Closes the store; a connection of the application stays open. Closing twice has no effect. Waits up to `timeoutMs` (0) for runs in
   * the background; later ones are aborted, change nothing, and stay queued for the next process.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = check(closeSchema, options, 'close')
    const ending = this.#background.close(timeoutMs)
    if (ending !== undefined) await ending
    const indexing = this.#searcher.index.close()
    if (indexing !== undefined) await indexing
    await this.#context.storage.close()
  }

  /** Closes the store, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function copyOf({ settings, sources }: ResolvedConfig): ResolvedConfig {
  return { settings: { ...settings }, sources: { ...sources } }
}

/** A session without the fields that only the storage needs. */
function publicSession<S extends Session>(session: S): S {
  const { no: _no, inserted: _inserted, retired: _retired, ...rest } = session as S & Record<string, unknown>
  return rest as unknown as S
}
