import { Guard } from '../compaction/background/guard.ts'
import { Compactor, type FillConfig } from '../compaction/compactor.ts'
import { CompactionPreview } from '../compaction/preview.ts'
import { type ProviderCompactionResult, recordProvider } from '../compaction/record-provider.ts'
import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { type UndoIfFitsResult, undoIfFits } from '../compaction/undo-if-fits.ts'
import { readCall, readPreview } from '../config/layers.ts'
import { resolveModel } from '../config/model.ts'
import { runConfig } from '../config/run-config.ts'
import {
  type AuditLogOptions,
  type AuthorshipOptions,
  auditSchema,
  authorshipSchema,
  type CompactOptions,
  compactionsSchema,
  idsSchema,
  type ListCompactionsOptions,
  type PreviewOptions,
  type ProviderCompactionInput,
  providerCompactionSchema,
  type RedoOptions,
  redoSchema,
  type UndoIfFitsOptions,
  type UndoOptions,
  undoIfFitsSchema,
  undoSchema,
} from '../config/store-options.ts'
import { invalid, UndertextError } from '../errors.ts'
import { percentOf } from '../events.ts'
import { check, taken } from '../messages/check.ts'
import { toldTurned } from '../requests/undo-events.ts'
import type { AppliedEdit } from '../stages/provider-compaction.ts'
import type { AuditEntry, Compaction, Storage, UndoOutcome } from '../storage/storage.ts'
import type { StoreSettings } from './base.ts'
import { checkId } from './check-arguments.ts'
import { UsageVerbs } from './usage-verbs.ts'

/** Making room, taking it back, and the audit of both. */
export class CompactionVerbs<S extends Storage> extends UsageVerbs<S> {
  readonly #compactor: Compactor
  /** What holds back runs that nobody asked for. */
  protected readonly guard: Guard

  constructor(storage: S, settings: StoreSettings) {
    super(storage, settings)
    const { modelOf, ofStore } = this.configuration
    const { contextWindows } = ofStore.settings
    this.guard = new Guard(storage, this.configuration, this.events)
    const { events, guard } = this
    this.#compactor = new Compactor(storage, { modelOf, contextWindows, events, guard })
  }

  /** A run by a config that was read already. */
  protected readonly compact = (sessionId: string, fill: FillConfig): Promise<CompactionResult | null> =>
    this.#compactor.compact(sessionId, fill)

  /** Refuses what is called from within a compaction of the session: it would wait for itself. Throws `COMPACTION_IN_PROGRESS`. */
  protected refuseWithin(sessionId: string): void {
    this.#compactor.refuseReentry(sessionId)
  }

  /** Work that makes room without a model while nobody else is paid for the same. */
  protected readonly undisturbed: Compactor['undisturbed'] = (sessionId, waiting, work) =>
    this.#compactor.undisturbed(sessionId, waiting, work)

  /**
   * What `compactSession` would do with this config: the same planner with the write removed. A summarizer that
   * calls a model is not called, unless `summarize: true`; then its costs are noted and applying the preview uses
   * that very text. `null` for a session without messages and for an unknown one. Throws `STALE_PLAN` when the session
   * was purged while it was planned, `ABORTED`, and with `summarize` `COMPACTION_IN_PROGRESS`.
   */
  async previewCompaction(sessionId: string, config: PreviewOptions = {}): Promise<CompactionPreview | null> {
    const id = checkId(sessionId)
    const { call, summarize } = readPreview(config, 'previewCompaction')
    return this.#compactor.preview(id, (session) => runConfig(this.configuration, session, call), summarize)
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
    return this.#compactor.compact(id, (session) => runConfig(this.configuration, session, call))
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
    const result = await recordProvider(this.storage, id, {
      messageId,
      provider,
      appliedEdits: taken(appliedEdits) as readonly AppliedEdit[],
      excludeTools,
      actor,
      reason,
    })
    await this.#tellRecorded(id, result)
    return result
  }

  /** Figures that cannot be read are no reason for the verb to fail: then nothing is told. */
  async #tellRecorded(sessionId: string, result: ProviderCompactionResult): Promise<void> {
    if (result.runId === undefined || !this.events.hears('compaction')) return
    const read = async (): Promise<ContextStats | null> => this.stats(sessionId, undefined, undefined, {})
    const stats = await read().catch(() => null)
    if (stats === null) return
    this.events.emit('compaction', {
      phase: 'recorded',
      sessionId,
      targetId: result.runId,
      compactionIds: [...result.compactionIds],
      tokensBefore: result.tokensBefore,
      tokensAfter: result.tokensAfter,
      percent: percentOf(stats.estimatedInputTokens, stats.availableInputTokens),
    })
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
   * it returns `changed: false` and writes nothing. A rewind puts back the compactions that it lifted. Where a user undoes what
   * was compacted automatically, the threshold alone does not repeat it: only a request that does not fit, or the user, compacts
   * again.
   *
   * Throws `COMPACTION_NOT_FOUND`, `HAS_ACTIVE_DEPENDENTS` when others in force build on it, unless `cascade: true` is given,
   * and for a rewind `BRANCH_MOVED` when messages were appended after it, unless `both: true` is given: then the former messages
   * show before them.
   */
  async undoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options: UndoOptions = {},
  ): Promise<UndoOutcome> {
    const { cascade, both, actor, reason } = check(undoSchema, options, 'undoCompaction')
    const target = checkId(compactionOrRunId, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#turned('undone', id, target, async () =>
      this.storage.undo(id, target, { cascade, both, actor, reason }),
    )
  }

  /**
   * Puts a compaction back, or exactly what the last undo of a run took down, members of other runs that went by `cascade`
   * included: same rows, same ids, no model. Members of the run that this does not redo are in `notTurned`.
   *
   * Throws `COMPACTION_NOT_FOUND`, and `INPUT_NOT_VISIBLE` when what it covers is not there to be covered;
   * `cascade: true` first puts back what it builds on.
   */
  async redoCompaction(
    sessionId: string,
    compactionOrRunId: string,
    options: RedoOptions = {},
  ): Promise<UndoOutcome> {
    const { cascade, actor, reason } = check(redoSchema, options, 'redoCompaction')
    const target = checkId(compactionOrRunId, 'compactionOrRunId')
    const id = checkId(sessionId)
    return this.#turned('redone', id, target, async () =>
      this.storage.redo(id, target, { cascade, both: false, actor, reason }),
    )
  }

  /**
   * Undoes compactions, newest first, as long as the whole request stays within the target (0.4 of the available input) of a model:
   * for the day a larger one is chosen. Whole compactions, in one transaction; what people hid by hand and what a provider
   * compacted stays, unless `kinds` names it. Nothing is undone that would make compaction due again. Say what is about to be sent
   * besides the history, so that it counts. Redoing them, last first, brings back the view there was.
   *
   * Throws `ESTIMATOR_UNKNOWN`.
   */
  async undoIfFits(sessionId: string, options: UndoIfFitsOptions = {}): Promise<UndoIfFitsResult> {
    const id = checkId(sessionId)
    const checked = check(undoIfFitsSchema, options, 'undoIfFits')
    const session = await this.requireSession(id)
    const own = this.configuration.modelOf(session)
    const chosen = resolveModel(own, checked.provider, checked.model)
    const { target, targetTokens } = this.configuration.ofSession(session.config).settings
    return this.#turned(
      'undone',
      id,
      'undoIfFits',
      () =>
        undoIfFits(this.storage, id, checked, {
          chosen,
          target,
          targetTokens,
          statsOf: (figures, readings, request) =>
            this.statsOf(id, figures, readings, { provider: chosen.provider, model: chosen.model, request }),
        }),
      chosen,
    )
  }

  #turned<T extends UndoOutcome>(
    phase: 'undone' | 'redone',
    sessionId: string,
    targetId: string,
    work: () => Promise<T>,
    { provider, model }: { readonly provider?: string; readonly model?: string | undefined } = {},
  ): Promise<T> {
    const stats = async (): Promise<ContextStats | null> => this.stats(sessionId, provider, model, {})
    return toldTurned(this.events, { phase, sessionId, targetId }, stats, work)
  }
}
