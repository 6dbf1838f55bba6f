import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { Compactor } from './compaction/compactor.ts'
import { resolveModel } from './compaction/model.ts'
import { CompactionPreview } from './compaction/preview.ts'
import { type ProviderCompactionResult, recordProvider } from './compaction/record-provider.ts'
import type { CompactionResult } from './compaction/result.ts'
import { type Configuration, configurationOf } from './config/configuration.ts'
import { readCall, readPreview } from './config/layers.ts'
import { type ResolvedConfig, saidOf } from './config/resolve.ts'
import { runConfig } from './config/run-config.ts'
import { type Layer, RENDERING_KEYS } from './config/settings.ts'
import { estimateOf, estimateRequest } from './core/budget.ts'
import type { LearnedTokens, Readings } from './core/calibration.ts'
import { headOf } from './core/characters.ts'
import { check, invalid, nameSchema } from './core/check.ts'
import { lastBlockOf } from './core/compaction-block.ts'
import type { ExpandedSummary } from './core/expansion.ts'
import {
  type ImportanceOptions,
  importanceSchema,
  type SessionImportance,
  scoreSession,
} from './core/importance/session.ts'
import type { NewMessage, StoredMessage, ViewMessage } from './core/message.ts'
import { messageProblem } from './core/message-check.ts'
import {
  getContextOverflowProvider,
  isContextOverflowError,
  parseProviderOverflowDetails,
} from './core/overflow/overflow.ts'
import type { AppliedEdit } from './core/provider-compaction.ts'
import { canonicalProvider } from './core/providers.ts'
import { type Rendering, type RenderOptions, renderView } from './core/render.ts'
import type { Estimator } from './core/tokens.ts'
import type { ToolCall, ToolOutput } from './core/tool-calls.ts'
import type { Finding } from './core/verify.ts'
import { isUndertextError, UndertextError } from './errors.ts'
import { type CompactionHook, Events, type StoreEventName, type StoreListener } from './events.ts'
import { type ContextStats, contextStats } from './stats.ts'
import type {
  AppendedMessage,
  AuditEntry,
  Awaitable,
  Compaction,
  Estimators,
  LearnedLimit,
  Session,
  SessionFigures,
  Storage,
  UndoOutcome,
  UsageReport,
} from './storage/storage.ts'
import {
  type AppendOptions,
  type AuditLogOptions,
  type AuthorshipOptions,
  appendSchema,
  auditSchema,
  authorshipSchema,
  type CompactOptions,
  callIdSchema,
  compactionsSchema,
  createSchema,
  type EffectiveHistoryOptions,
  type ExpandOptions,
  expandSchema,
  type GetMessagesOptions,
  type GetSourcesOptions,
  historySchema,
  idsSchema,
  type LimitInput,
  type ListCompactionsOptions,
  type ListSessionsOptions,
  type ListToolCallsOptions,
  limitSchema,
  listSchema,
  messagesSchema,
  type OverflowInput,
  overflowSchema,
  type PreviewOptions,
  type ProviderCompactionInput,
  providerCompactionSchema,
  renderSchema,
  type SessionChange,
  type SessionInput,
  type StatsOptions,
  sourcesSchema,
  statsSchema,
  type ToolOutputOptions,
  toolCallsSchema,
  toolOutputSchema,
  type UndoIfFitsOptions,
  type UndoOptions,
  type UsageInput,
  undoIfFitsSchema,
  undoSchema,
  updateSchema,
  usageSchema,
  type VerifyOptions,
  verifySchema,
} from './store-options.ts'
import { toldTurned } from './turn/told-turned.ts'
import { type AfterTurnResult, type BeforeTurnResult, TurnHooks } from './turn/turn-hooks.ts'
import {
  type AfterTurnOptions,
  afterTurnSchema,
  type BeforeTurnOptions,
  beforeTurnSchema,
} from './turn/turn-options.ts'
import { type UndoIfFitsResult, undoIfFits } from './undo-if-fits.ts'
import {
  limitNamed,
  type OverflowResult,
  overflowResult,
  sizeNamed,
  type UsageResult,
  usageResult,
} from './usage-result.ts'

/** What an append answers. */
export type AppendResult = {
  readonly sessionId: string
  /** One entry a message, in order. */
  readonly messages: AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** What was recorded of a provider's compaction block among the messages. */
  readonly providerCompaction?: ProviderCompactionResult
}

/** What `openStore` was told that concerns all sessions. */
export type StoreSettings = {
  readonly estimators: Estimators
  /** Settings of all sessions, weightiest layer first. */
  readonly layers?: readonly Layer[]
}

/**
 * A store of conversations. Made by `openStore`.
 *
 * Every verb but `getContextStats`, `needsCompaction` and `compactSession` throws `SESSION_NOT_FOUND` for an
 * unknown session; all throw `INVALID_INPUT` for arguments that cannot be, `STORE_CLOSED`, `STORE_BUSY`,
 * `STORE_CORRUPT`, `STORE_UNAVAILABLE`, `IN_TRANSACTION` (a connection handed in), and writing ones
 * `STORE_READONLY` and `STORE_FULL`. After any error nothing is written and the store is usable. One exception:
 * `compactSession` and `hideMessages` read what they answer behind their commit; when only that fails, the work is done.
 */
export class Store<S extends Storage = Storage> {
  protected readonly storage: S
  readonly #estimators: Estimators
  readonly #configuration: Configuration
  readonly #compactor: Compactor
  readonly #events = new Events()
  readonly #turns: TurnHooks

  constructor(storage: S, options: StoreSettings) {
    this.storage = storage
    this.#estimators = options.estimators
    this.#configuration = configurationOf(options.layers ?? [])
    const { modelOf, ofStore } = this.#configuration
    const { contextWindows } = ofStore.settings
    this.#compactor = new Compactor(storage, { modelOf, contextWindows, events: this.#events })
    this.#turns = new TurnHooks(
      {
        settings: async (id) =>
          this.#configuration.ofSession((await this.storage.session(id))?.config).settings,
        stats: async (id, provider, model, request) => this.stats(id, provider, model, request),
        compact: (id, config) => this.compactSession(id, config),
        append: (id, messages) => this.append(id, messages),
      },
      this.#events,
    )
  }

  /**
   * Makes a session and answers it. Without an `id` it gets a uuid. Settings in its `config` count before the store's
   * (docs/configuration.md); it is counted by the estimator they name. Throws `SESSION_EXISTS`.
   */
  async createSession(session: SessionInput = {}): Promise<Session> {
    const { id, ...fields } = check(createSchema, session, 'createSession')
    const estimator = this.#estimatorFor(fields.config ?? undefined)
    return publicSession(await this.storage.createSession(id ?? uuidv7(), fields, estimator))
  }

  #estimatorFor(config: Session['config']): string {
    const { standard, byName } = this.#estimators
    // A copy: settings are remembered by the object, and this one is the caller's.
    const { settings, sources } = this.#configuration.ofSession(config && { ...config })
    const isTheStores = settings.estimator === this.#configuration.ofStore.settings.estimator
    if (isTheStores || sources.estimator === 'default') return standard.name
    if (!byName.has(settings.estimator))
      throw invalid('createSession: config: estimator is none that this store was given')
    return settings.estimator
  }

  /** A session with its counters. */
  async getSession(sessionId: string): Promise<Session> {
    return publicSession(await this.#requireSession(checkId(sessionId)))
  }

  /** Sessions, newest first, archived ones apart; `after` is the id of the last session of the page before. */
  async listSessions(options: ListSessionsOptions = {}): Promise<Session[]> {
    const { owner, archived, limit, after } = check(listSchema, options, 'listSessions')
    return (await this.storage.listSessions({ owner, archived, limit, after })).map(publicSession)
  }

  /** Changes fields of a session: what is left out stays, `null` clears. */
  async updateSession(sessionId: string, changes: SessionChange): Promise<Session> {
    const fields = check(updateSchema, changes, 'updateSession')
    return publicSession(await this.storage.updateSession(checkId(sessionId), fields))
  }

  /**
   * Takes a session out of the ordinary list, or back into it. It stays as it is otherwise; where the setting
   * `autoCompactOnFinish` is on, it is compacted first, and what `compactSession` throws keeps it in the list.
   */
  async archiveSession(sessionId: string, archived = true): Promise<Session> {
    const id = checkId(sessionId)
    check(z.boolean(), archived, 'archived')
    if (archived) await this.#compactAtEnd(await this.#requireSession(id))
    return publicSession(await this.storage.archiveSession(id, archived))
  }

  async #compactAtEnd({ id, config }: Session): Promise<void> {
    if (!this.#configuration.ofSession(config).settings.autoCompactOnFinish) return
    await this.compactSession(id, { trigger: 'auto', reason: 'the session was archived' })
  }

  /**
   * Removes a session and all it holds for good. The one verb that destroys; it leaves a receipt of ids and
   * numbers in the audit of the store. Answers what was removed.
   */
  async purgeSession(
    sessionId: string,
    options: AuthorshipOptions = {},
  ): Promise<{ messages: number; compactions: number; blobs: number }> {
    const { actor, reason } = check(authorshipSchema, options, 'purgeSession')
    const id = checkId(sessionId)
    const removed = await this.storage.purgeSession(id, { actor, reason })
    this.#turns.forget(id)
    return removed
  }

  /**
   * Adds messages at the end of a session's log, all or none, in order, and makes the session if need be.
   *
   * `expectedPosition` is the position the caller believes is last (0 for an empty log): `POSITION_CONFLICT` when
   * it is not. A message with an `idempotencyKey` that was used with the same body is not written again; with
   * another body `IDEMPOTENCY_CONFLICT`. An `id` that is taken: `MESSAGE_ID_TAKEN`. A result without its call is
   * accepted, it may be an import; `validateHistory` reports it.
   *
   * When an answer holds a block with which its provider compacted the conversation, that is recorded right behind (see
   * `recordProviderCompaction`); `providerCompaction` says what came of it, and is absent when it could not be recorded now.
   */
  async append(
    sessionId: string,
    messages: readonly NewMessage[],
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    const id = checkId(sessionId)
    const isBare = isEmptyObject(options) && options.expectedPosition === undefined
    const { expectedPosition } = isBare ? {} : check(appendSchema, options, 'append')
    checkMessages(messages)
    let appended: AppendedMessage[]
    try {
      appended = await this.storage.append(id, messages, expectedPosition)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw invalid('append: a message is larger than a text can be')
    }
    // What was written last stands last; when all was known already, the session says where it stands.
    let position = 0
    let isNew = false
    for (const one of appended) {
      if (one.position > position) position = one.position
      if (!one.existing) isNew = true
    }
    if (!isNew) position = Math.max(position, (await this.#requireSession(id)).messageCount)
    const answer = { sessionId: id, messages: appended, position }
    const holder = lastWithBlock(messages)
    if (holder === -1) return answer
    const providerCompaction = await this.#recordAppended(id, appended[holder]!.id)
    return providerCompaction === undefined ? answer : { ...answer, providerCompaction }
  }

  /** The messages are there, whatever becomes of this: without it everything is sent, and it can be recorded later. */
  async #recordAppended(sessionId: string, messageId: string): Promise<ProviderCompactionResult | undefined> {
    try {
      return await this.recordProviderCompaction(sessionId, { messageId })
    } catch (error) {
      if (isUndertextError(error)) return undefined
      throw error
    }
  }

  /**
   * The rows as they are stored, hidden ones included, with their tags. `limit` counts messages of the log;
   * summaries and markers come with the message they stand behind. For the next page pass the last position as
   * `after` (or, backward, the first as `before`).
   */
  async getMessages(sessionId: string, options: GetMessagesOptions = {}): Promise<StoredMessage[]> {
    const { after, before, limit, order } = check(messagesSchema, options, 'getMessages')
    return this.storage.messages(checkId(sessionId), { after, before, limit, order })
  }

  /**
   * The effective history: what a model would be sent now, replacements applied, in order. With `provenance` each
   * entry says which positions of the log it stands for.
   */
  async getEffectiveHistory(
    sessionId: string,
    options: EffectiveHistoryOptions = {},
  ): Promise<ViewMessage[]> {
    const { provenance } = check(historySchema, options, 'getEffectiveHistory')
    return this.storage.view(checkId(sessionId), provenance)
  }

  /**
   * The effective history made valid for a provider, and what was mended for it. Default provider: the
   * session's own, else "openai". Changes no row.
   */
  async renderHistory(sessionId: string, options: Partial<RenderOptions> = {}): Promise<Rendering> {
    const id = checkId(sessionId)
    const { provider, ...rest } = check(renderSchema, options, 'renderHistory')
    const session = await this.#requireSession(id)
    const chosen = resolveModel(this.#configuration.modelOf(session), provider, undefined).provider
    const config = this.#configuration.ofSession(session.config)
    const manner = { preset: config.settings.preset, ...saidOf(config, RENDERING_KEYS) }
    const shown = { ...manner, ...rest, provider: chosen } as RenderOptions
    return renderView(await this.storage.view(id, false), shown)
  }

  /**
   * The settings in force for the store, or for one session, and which layer each comes from: `session`, `store`
   * (`openStore`), `environment`, `file`, `preset` or `default`. What is missing scales with the window or does not apply.
   * Throws `SESSION_NOT_FOUND`.
   */
  async getConfig(sessionId?: string): Promise<ResolvedConfig> {
    if (sessionId === undefined) return copyOf(this.#configuration.ofStore)
    const session = await this.#requireSession(checkId(sessionId))
    const { settings, sources } = this.#configuration.ofSession(session.config)
    const { provider, model } = this.#configuration.modelOf(session)
    return {
      settings: {
        ...settings,
        ...(provider !== undefined && { provider }),
        ...(model !== undefined && { model }),
      },
      sources: {
        ...sources,
        ...(session.provider !== undefined && { provider: 'session' as const }),
        ...(session.model !== undefined && { model: 'session' as const }),
      },
    }
  }

  /**
   * What a tool was given and what it answered, in full, whatever compactions did to it. Ids of calls repeat within a session:
   * without `position` the newest call counts, else the one whose call or result is the message there.
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
    const found = await this.storage.toolOutput(id, call, position)
    if (found !== undefined) return found
    const facts = { sessionId: id, callId: headOf(call, 200), ...(position !== undefined && { position }) }
    throw new UndertextError('TOOL_CALL_NOT_FOUND', facts)
  }

  /**
   * The calls of tools in the order of the log, hidden ones included: how each ended, its size, and what the view shows of its
   * output. A page ends with the message in which `limit` (1,000) calls are reached, so it may hold a few more; for the next
   * pass the position of the last call's message as `after`. Results without a call are not among them. Throws `ESTIMATOR_UNKNOWN`.
   */
  async listToolCalls(sessionId: string, options: ListToolCallsOptions = {}): Promise<ToolCall[]> {
    return this.storage.toolCalls(checkId(sessionId), check(toolCallsSchema, options, 'listToolCalls'))
  }

  /**
   * Opens a summary: what its compaction covered, originals, in order, and the summaries among that opened in turn down to
   * `depth` levels (1). Each row tells its positions, times and tokens, each summary its level and how many messages it stands
   * for. Works for summaries that are hidden or whose compaction was undone.
   *
   * Throws `MESSAGE_NOT_FOUND`, `INVALID_INPUT` for a message that is no summary, `ESTIMATOR_UNKNOWN`.
   */
  async expand(sessionId: string, summaryId: string, options: ExpandOptions = {}): Promise<ExpandedSummary> {
    const { depth } = check(expandSchema, options, 'expand')
    return this.storage.expand(checkId(sessionId), checkId(summaryId, 'summaryId'), depth)
  }

  /**
   * The messages of the log a summary stands for in the end, through all summaries beneath it: originals with their tags, in
   * order. For the next page pass the last position as `after`. Throws `MESSAGE_NOT_FOUND`, `INVALID_INPUT` for a message that is no summary.
   */
  async getSources(
    sessionId: string,
    summaryId: string,
    options: GetSourcesOptions = {},
  ): Promise<StoredMessage[]> {
    const { after, limit } = check(sourcesSchema, options, 'getSources')
    return this.storage.sources(checkId(sessionId), checkId(summaryId, 'summaryId'), { after, limit })
  }

  /** Pins messages: no compaction hides or changes them. Answers how many were not pinned before. Throws `MESSAGE_NOT_FOUND`. */
  async pin(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<number> {
    return this.#setPin('pin', sessionId, messageIds, true, options)
  }

  /** Takes pins off; takes effect at the next plan. Answers how many were pinned. Throws `MESSAGE_NOT_FOUND`. */
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
    return this.storage.pin(id, ids, pinned, { actor, reason })
  }

  /**
   * What each visible message or tool group is worth, 0 to 1, and why; nothing is hidden by it, and nothing is stored: the same
   * history gives the same scores again, also after a restart. `weights` differ from the default ones; a `scorer` of the
   * application's own may ask a model, and when it fails the default scorer steps in and `warning` says so. Reads every
   * visible message. Throws `SESSION_NOT_FOUND`.
   */
  async getImportance(sessionId: string, options: ImportanceOptions = {}): Promise<SessionImportance> {
    const id = checkId(sessionId)
    const checked = check(importanceSchema, options, 'getImportance')
    // Scores do not depend on the provider: its name is only asked for.
    const snapshot = await this.storage.snapshot(id, resolveModel(undefined, undefined, undefined).key)
    if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    const contents = await this.storage.contents(snapshot.view.rows.map(({ key }) => key))
    return scoreSession(snapshot.view, (row) => contents.get(row.key) ?? [], checked)
  }

  /**
   * Hides messages by hand: a compaction of kind `manual`, undoable like all others. Answers it.
   *
   * The hard laws hold: `ILLEGAL_BOUNDARY` names what would be parted, pinned or is a system message or summary,
   * `PENDING_TOOL_CALLS` calls that still wait; `MESSAGE_NOT_FOUND`; `STALE_PLAN` for what is hidden already.
   */
  async hideMessages(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<Compaction> {
    const id = checkId(sessionId)
    const ids = check(idsSchema, messageIds, 'hideMessages: messageIds')
    const { actor, reason } = check(authorshipSchema, options, 'hideMessages')
    const compactionId = await this.#compactor.hide(id, ids, { actor, reason })
    return this.getCompaction(id, compactionId)
  }

  /**
   * Records what a provider did to the conversation by itself, as compactions of kind `provider`, undoable like all others:
   *
   * - A compaction block in an answer stands from now on for everything before it that the laws let be hidden; the view
   *   shows it as a summary, `renderHistory` gives it back to its provider as it came. Undone, everything is sent again and
   *   the block is not. `append` does this by itself.
   * - `appliedEdits` are what the answer's `context_management.applied_edits` says: the oldest results of tools show a
   *   placeholder, the oldest turns no reasoning, as many as the provider cleared.
   *
   * Recording the same again does nothing, also when it was undone. Throws `MESSAGE_NOT_FOUND`, and `STALE_PLAN` when others
   * will not stop changing the view.
   */
  async recordProviderCompaction(
    sessionId: string,
    input: ProviderCompactionInput = {},
  ): Promise<ProviderCompactionResult> {
    const id = checkId(sessionId)
    const { messageId, provider, appliedEdits, excludeTools, actor, reason } = check(
      providerCompactionSchema,
      input,
      'recordProviderCompaction',
    )
    return recordProvider(this.storage, id, {
      messageId,
      provider,
      appliedEdits: appliedEdits as readonly AppliedEdit[],
      excludeTools,
      actor,
      reason,
    })
  }

  /**
   * How full the context is, from the counters of one row, so it costs the same for any length. `null` for a
   * session without messages and for an unknown one. Provider and model: these, else the session's own, else
   * "openai". `options` is what is about to be sent besides the history.
   */
  async getContextStats(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): Promise<ContextStats | null> {
    return this.stats(sessionId, provider, model, checkStats(sessionId, provider, model, options))
  }

  /** Whether compaction is due: usage at or above the threshold (0.8). `false` for a session without messages. */
  needsCompaction(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): Awaitable<boolean> {
    const stats = this.stats(sessionId, provider, model, checkStats(sessionId, provider, model, options))
    return when(stats, (found) => found?.shouldCompact ?? false)
  }

  /**
   * Tells the store what a provider reported of a request, so that its figures become true: call it after each answer,
   * before or after appending the answer. Keeps the report with the view it is of (`getContextStats` builds on it until
   * the view changes by anything but appends) and moves the ratio of the model, which all sessions share.
   *
   * A report more than twice, or less than half, of what was expected counts only as that much until the next one
   * confirms it. A report above a limit learnt from an overflow takes that limit away. A report of nothing is none.
   * Throws `SESSION_NOT_FOUND`.
   */
  async recordUsage(sessionId: string, usage: UsageInput): Promise<UsageResult> {
    const id = checkId(sessionId)
    const checked = check(usageSchema, usage, 'recordUsage')
    const session = await this.#requireSession(id)
    const tokens = checked.inputTokens + (checked.cacheReadTokens ?? 0) + (checked.cacheCreationTokens ?? 0)
    const { usage: result } = await this.#record(session, tokens, checked, {
      wentThrough: true,
      limit: undefined,
    })
    return result
  }

  /**
   * Tells the store of an error that may be an overflow, after a request that failed: the size it names counts as a report
   * (see `recordUsage`), the limit it names is learnt (see `learnLimit`). An error that is none changes nothing.
   * Throws `SESSION_NOT_FOUND`, never because of the error.
   */
  async recordOverflow(
    sessionId: string,
    error: unknown,
    request: OverflowInput = {},
  ): Promise<OverflowResult> {
    const id = checkId(sessionId)
    const checked = check(overflowSchema, request, 'recordOverflow')
    const session = await this.#requireSession(id)
    const named = checked.provider ?? session.provider
    if (!isContextOverflowError(error, { provider: named })) return { isOverflow: false }
    // Where nobody says whose request it was, the error does.
    const called = named ?? getContextOverflowProvider(error) ?? undefined
    const own = this.#configuration.modelOf(session)
    const { provider, key, model = '' } = resolveModel(own, called, checked.model)
    const details = parseProviderOverflowDetails(error, { provider })
    const size = sizeNamed(details)
    const limit = limitNamed(details)
    // Size and limit in one transaction; a limit alone has no report to go with.
    if (size !== undefined) {
      const { usage, learned } = await this.#record(
        session,
        size,
        { ...checked, provider },
        { wentThrough: false, limit },
      )
      const lowest = limit && { ...limit, tokens: learned[limit.kind] ?? limit.tokens }
      return overflowResult(details, lowest, usage)
    }
    const lowest = limit && { ...limit, tokens: await this.storage.learnLimit(key, model, limit) }
    return overflowResult(details, lowest)
  }

  async #record(
    { id, provider, model, estimator }: Session,
    tokens: number,
    request: OverflowInput,
    { wentThrough, limit }: Pick<UsageReport, 'wentThrough' | 'limit'>,
  ): Promise<{ readonly usage: UsageResult; readonly learned: LearnedTokens }> {
    const own = this.#configuration.modelOf({ provider, model })
    const chosen = resolveModel(own, request.provider, request.model)
    const counting = this.#estimatorNamed(estimator, id)
    const raw = estimateRequest(chosen.key, request, 0, counting)
    const { standing, pending } = estimateOf(raw)
    const report = {
      provider: chosen.key,
      model: chosen.model ?? '',
      tokens,
      position: request.position,
      viewEpoch: request.viewEpoch,
      wentThrough,
      limit,
      standing,
      pending,
    }
    const outcome = await this.storage.recordUsage(id, report)
    return { usage: usageResult(report, outcome, estimator), learned: outcome.after.learned }
  }

  /**
   * Notes a limit a provider enforces, tokens, for all sessions and this very model name: of the context window (`kind: 'window'`, the
   * default), which counts when it is lower than what the tables say, or of the input alone (`'input'`). Of several of a kind the
   * lowest stays. Answers it.
   */
  async learnLimit(limit: LimitInput): Promise<number> {
    const { provider, model = '', tokens, kind } = check(limitSchema, limit, 'learnLimit')
    return this.storage.learnLimit(canonicalProvider(provider), model, { tokens, kind })
  }

  /** The limits that were learnt. */
  async listLimits(): Promise<LearnedLimit[]> {
    return this.storage.limits()
  }

  /** Forgets the limit that was learnt of a model. Answers whether there was one. */
  async forgetLimit(provider: string, model?: string): Promise<boolean> {
    const name = check(nameSchema, provider, 'forgetLimit: provider')
    const of = check(nameSchema.optional(), model, 'forgetLimit: model') ?? ''
    return this.storage.forgetLimit(canonicalProvider(name), of)
  }

  /**
   * What `compactSession` would do with this config: the same planner with the write removed. A summarizer that
   * calls a model is not called, unless `summarize: true`; then its costs are noted and applying the preview uses
   * that very text. `null` for a session without messages and for an unknown one. Throws `STALE_PLAN` when the session
   * was purged while it was planned, `ABORTED`, and with `summarize` `COMPACTION_IN_PROGRESS`.
   */
  async previewCompaction(sessionId: string, config: PreviewOptions = {}): Promise<CompactionPreview | null> {
    const id = checkId(sessionId)
    const { call, summarize } = readPreview(config, 'previewCompaction')
    return this.#compactor.preview(id, (session) => runConfig(this.#configuration, session, call), summarize)
  }

  /**
   * Makes room: prune, deduplicate, summarize, truncate, in this order, each only while the history is over the
   * target; in one transaction at the end. Or applies a preview. `null` for a session without messages and for an
   * unknown one; a run with nothing to do is a result with a `reason`.
   *
   * Throws `STALE_PLAN` when the view was changed while the plan was made (appends do not count),
   * `COMPACTION_IN_PROGRESS`, `ABORTED`, and for a `range` `ILLEGAL_BOUNDARY` and `PENDING_TOOL_CALLS`.
   */
  async compactSession(
    sessionId: string,
    config: CompactOptions | CompactionPreview = {},
  ): Promise<CompactionResult | null> {
    const id = checkId(sessionId)
    if (config instanceof CompactionPreview) {
      if (config.sessionId !== id) throw invalid('compactSession: the preview is of another session')
      return this.#compactor.apply(id, config)
    }
    const call = readCall(config, 'compactSession')
    return this.#compactor.compact(id, (session) => runConfig(this.#configuration, session, call))
  }

  /** The audit: all compactions of a session, or of one run, oldest first, failed ones included. */
  async listCompactions(sessionId: string, options: ListCompactionsOptions = {}): Promise<Compaction[]> {
    const { runId } = check(compactionsSchema, options, 'listCompactions')
    return this.storage.compactions(checkId(sessionId), { run: runId })
  }

  /** One compaction. Throws `COMPACTION_NOT_FOUND`. */
  async getCompaction(sessionId: string, compactionId: string): Promise<Compaction> {
    const id = checkId(sessionId)
    const [compaction] = await this.storage.compactions(id, { id: checkId(compactionId, 'compactionId') })
    if (compaction === undefined)
      throw new UndertextError('COMPACTION_NOT_FOUND', { sessionId: id, compactionId })
    return compaction
  }

  /** What happened to a session, oldest first: ids and numbers. For the next page pass the last `no` as `after`. */
  async getAuditLog(sessionId: string, options: AuditLogOptions = {}): Promise<AuditEntry[]> {
    return this.storage.auditLog(checkId(sessionId), check(auditSchema, options, 'getAuditLog'))
  }

  /**
   * Takes a compaction, or all of a run, out of force; the view is again what it was, byte for byte. A second time
   * it answers `changed: false` and writes nothing.
   *
   * Throws `COMPACTION_NOT_FOUND`, and `HAS_ACTIVE_DEPENDENTS` when others in force build on it, unless
   * `cascade: true` is given.
   */
  async undoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options: UndoOptions = {},
  ): Promise<UndoOutcome> {
    const { cascade, actor, reason } = check(undoSchema, options, 'undoCompaction')
    const target = checkId(compactionOrRunId, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#turned('undone', id, target, async () =>
      this.storage.undo(id, target, { cascade, actor, reason }),
    )
  }

  /**
   * Puts a compaction back, or exactly those of a run that its last undo took down: same rows, same ids, no model.
   *
   * Throws `COMPACTION_NOT_FOUND`, and `INPUT_NOT_VISIBLE` when what it covers is not there to be covered;
   * `cascade: true` first puts back what it builds on.
   */
  async redoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options: UndoOptions = {},
  ): Promise<UndoOutcome> {
    const { cascade, actor, reason } = check(undoSchema, options, 'redoCompaction')
    const target = checkId(compactionOrRunId, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#turned('redone', id, target, async () =>
      this.storage.redo(id, target, { cascade, actor, reason }),
    )
  }

  #turned<T extends UndoOutcome>(
    phase: 'undone' | 'redone',
    sessionId: string,
    targetId: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const stats = async (): Promise<ContextStats | null> => this.stats(sessionId, undefined, undefined, {})
    return toldTurned(this.#events, { phase, sessionId, targetId }, stats, work)
  }

  /**
   * Before a request to the model: how full the context is with what is about to be sent, a warning when usage has
   * crossed a level, a compaction when it is due (0.8) and `auto` is not off, and the system prompt of this one request with
   * the texts of an injector and the sections of a persistent context. Nothing of that prompt is stored.
   *
   * Throws what `compactSession` throws. A session that is unknown or has no messages is no error.
   */
  async beforeTurn(sessionId: string, options: BeforeTurnOptions = {}): Promise<BeforeTurnResult> {
    return this.#turns.before(checkId(sessionId), check(beforeTurnSchema, options, 'beforeTurn'))
  }

  /**
   * After an answer: appends it when it is handed in, says by the stop reason what comes next, and at the end of a turn tells
   * `turnComplete` and compacts when that is due (0.75) and `auto` is not off.
   *
   * Throws what `append` and `compactSession` throw; what was appended stays.
   */
  async afterTurn(sessionId: string, options: AfterTurnOptions = {}): Promise<AfterTurnResult> {
    return this.#turns.after(checkId(sessionId), check(afterTurnSchema, options, 'afterTurn'))
  }

  /**
   * Calls a listener with every event of a kind (see `StoreEvents`) of this store object: what other processes do is not
   * told. Answers what takes it away again. A listener harms nothing: what it throws becomes a `listenerError`.
   */
  on<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#events.add(event, listener, false, 'on')
  }

  /** The same for the next event alone. */
  once<E extends StoreEventName>(event: E, listener: StoreListener<E>): () => void {
    return this.#events.add(event, listener, true, 'once')
  }

  /** Takes a listener away, however often it was added. One that is not there is no error. */
  off<E extends StoreEventName>(event: E, listener: StoreListener<E>): void {
    this.#events.off(event, listener)
  }

  /**
   * Asks a hook before any run of `compactSession` is committed, and waits for it. When it answers `false`, or throws, nothing
   * changes, and the result has the reason `VETOED`. Answers what takes the hook away again.
   */
  onBeforeCompaction(hook: CompactionHook): () => void {
    return this.#events.addHook(hook)
  }

  /**
   * Undoes compactions, newest first, as long as the whole request stays within the target (0.6 of the available input) of a model:
   * for the day a larger one is chosen. Whole compactions, in one transaction; what people hid by hand and what a provider
   * compacted stays, unless `kinds` names it. Nothing is undone that would make compaction due again. Say what is about to be sent
   * besides the history, so that it counts. Redoing them, last first, brings back the view there was.
   *
   * Throws `ESTIMATOR_UNKNOWN`.
   */
  async undoIfFits(sessionId: string, options: UndoIfFitsOptions = {}): Promise<UndoIfFitsResult> {
    const id = checkId(sessionId)
    const checked = check(undoIfFitsSchema, options, 'undoIfFits')
    const own = this.#configuration.modelOf(await this.#requireSession(id))
    const chosen = resolveModel(own, checked.provider, checked.model)
    return this.#turned('undone', id, 'undoIfFits', () =>
      undoIfFits(this.storage, id, checked, {
        chosen,
        statsOf: (figures, readings, request) =>
          this.#statsOf(id, figures, readings, { provider: chosen.provider, model: chosen.model, request }),
      }),
    )
  }

  /**
   * Holds a session to what must be true of it and answers what is not. With `repair: true` tags, sizes and
   * counters are rebuilt from coverage, statuses and contents, which are never touched.
   */
  async verifySession(
    sessionId: string,
    options: VerifyOptions = {},
  ): Promise<{ findings: Finding[]; repaired: boolean }> {
    const { repair } = check(verifySchema, options, 'verifySession')
    return this.storage.verify(checkId(sessionId), repair)
  }

  /** Counts a session anew, with the store's own estimator or another it was given. Throws `ESTIMATOR_UNKNOWN`. */
  async reestimate(sessionId: string, estimator: string = this.#estimators.standard.name): Promise<Session> {
    const id = checkId(sessionId)
    const found = this.#estimators.byName.get(estimator)
    if (found === undefined)
      throw new UndertextError('ESTIMATOR_UNKNOWN', {
        sessionId: id,
        estimator: String(estimator).slice(0, 100),
      })
    return publicSession(await this.storage.reestimate(id, found))
  }

  /** Closes the store; a connection that was handed in stays open. Closing twice is nothing. */
  async close(): Promise<void> {
    await this.storage.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Counters, then readings, then the sum. Between the two somebody may write; each is right for its own moment. */
  protected stats(
    sessionId: string,
    provider: string | undefined,
    model: string | undefined,
    request: StatsOptions,
  ): Awaitable<ContextStats | null> {
    return when(this.storage.figures(sessionId), (figures) => {
      if (figures === undefined || figures.messageCount === 0) return null
      const { settings } = this.#configuration.ofSession(figures.config)
      if (!settings.enabled) return null
      const own = this.#configuration.modelOf(figures)
      const { key, model: chosen = '' } = resolveModel(own, provider, model)
      return when(this.storage.readings(sessionId, key, chosen), (readings) =>
        this.#statsOf(sessionId, figures, readings, { provider, model, request }),
      )
    })
  }

  #statsOf(
    sessionId: string,
    figures: SessionFigures,
    readings: Readings,
    asked: Pick<Parameters<typeof contextStats>[2], 'provider' | 'model' | 'request'>,
  ): ContextStats {
    return contextStats(figures, readings, {
      ...asked,
      settings: this.#configuration.ofSession(figures.config).settings,
      own: this.#configuration.modelOf(figures),
      estimator: this.#estimatorNamed(figures.estimator, sessionId),
      contextWindows: this.#configuration.ofStore.settings.contextWindows,
    })
  }

  #estimatorNamed(name: string, sessionId: string): Estimator {
    const estimator = this.#estimators.byName.get(name)
    if (estimator !== undefined) return estimator
    throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId, estimator: name })
  }

  async #requireSession(id: string): Promise<Session> {
    const session = await this.storage.session(id)
    if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    return session
  }
}

/** Goes on with what is there already, or with what will be: storages may answer at once. */
function when<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** The session id that was checked last: verbs of one conversation follow each other, and this stands before all of them. */
let lastId: unknown

function checkId(value: unknown, what = 'sessionId'): string {
  if (value === lastId && typeof value === 'string') return value
  // The usual id takes no detour through zod.
  const isUsual = typeof value === 'string' && value.length <= 200 && /^[\x20-\x7e]+$/.test(value)
  lastId = isUsual ? value : check(nameSchema, value, what)
  return lastId as string
}

function checkStats(sessionId: unknown, provider: unknown, model: unknown, options: unknown): StatsOptions {
  checkId(sessionId)
  if (provider !== undefined) checkId(provider, 'provider')
  if (model !== undefined) checkId(model, 'model')
  if (isEmptyObject(options)) return {}
  return check(statsSchema, options, 'options') as StatsOptions
}

function isEmptyObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const _ in value) return false
  return true
}

function checkMessages(messages: unknown): asserts messages is readonly NewMessage[] {
  if (!Array.isArray(messages)) throw invalid('messages must be an array')
  if (messages.length === 0) throw invalid('messages must not be empty')
  for (let index = 0; index < messages.length; index++) {
    const problem = messageProblem(messages[index])
    if (problem !== undefined)
      throw invalid(`messages[${index}]${problem.startsWith('.') ? '' : ' '}${problem}`)
  }
}

function copyOf({ settings, sources }: ResolvedConfig): ResolvedConfig {
  return { settings: { ...settings }, sources: { ...sources } }
}

/** The last message that holds a compaction block, or -1. */
function lastWithBlock(messages: readonly NewMessage[]): number {
  for (let index = messages.length - 1; index >= 0; index--)
    if (lastBlockOf(messages[index]!.content) !== undefined) return index
  return -1
}

/** A session without what only the storage needs. */
function publicSession(session: Session): Session {
  const {
    no: _no,
    inserted: _inserted,
    retired: _retired,
    ...rest
  } = session as Session & Record<string, unknown>
  return rest as Session
}
