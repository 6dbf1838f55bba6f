import { invalid } from '../core/errors.ts'
import { check, readable } from '../core/messages/check.ts'
import { defined } from '../core/messages/json.ts'
import type { NewMessage } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import type {
  Authorship,
  Previewing,
  Session,
  Storage,
  UndoOutcome,
  UndoRequest,
} from '../storage/storage.ts'
import { type AppendResult, appendMessages, previewingFor } from './append.ts'
import { isEmptyObject } from './arguments.ts'
import { Background, type BackgroundOf } from './compaction/background/background.ts'
import { Guard } from './compaction/background/guard.ts'
import { Compactor } from './compaction/compactor.ts'
import { type Repair, repairParts } from './compaction/direct-compactions.ts'
import { CompactionPreview, type CompactionResult } from './compaction/result.ts'
import { beforeCompaction } from './compaction/run-progress.ts'
import type { ContextStats } from './compaction/stats.ts'
import { readCall, readPreview } from './config/read-settings.ts'
import type { ResolvedSettings } from './config/settings.ts'
import {
  type AppendOptions,
  appendSchema,
  type CompactOptions,
  type PreviewOptions,
} from './config/store-options.ts'
import type { StoreContext } from './context.ts'
import { percentOf } from './events.ts'
import type { ReasoningChange } from './requests/reasoning.ts'
import { Warnings } from './requests/warnings.ts'
import { withReasoningChange } from './requests.ts'
import { Searcher } from './search.ts'

const NO_OPTIONS: AppendOptions = {}
const UNSIGNED: Authorship = { actor: undefined, reason: undefined }
const PLAINLY: UndoRequest = { ...UNSIGNED, cascade: false, both: false }

/** The services that the methods of a store share. */
export class Services<S extends Storage = Storage> {
  readonly context: StoreContext<S>
  readonly compactor: Compactor
  readonly background: Background
  readonly warnings: Warnings
  readonly searcher: Searcher
  /** How appends shorten large tool outputs, by the settings of the store. */
  readonly previewing: Previewing

  constructor(context: StoreContext<S>, backgroundOf: BackgroundOf) {
    this.context = context
    const { storage } = context
    const { configuration, events } = this.context
    const guard = new Guard(storage, configuration, events)
    this.previewing = previewingFor(this.context, undefined)
    this.searcher = new Searcher(storage, events)
    this.compactor = new Compactor(storage, configuration, events, guard)
    const { compactor } = this
    this.background = new Background({ storage, configuration, events, guard, compactor }, backgroundOf)
    this.warnings = new Warnings(events)
  }

  append(id: string, messages: readonly NewMessage[], options: AppendOptions = {}): Promise<AppendResult> {
    const isBare = isEmptyObject(options) && options.expectedPosition === undefined
    const checked = isBare ? NO_OPTIONS : check(appendSchema, options, 'append')
    const { expectedPosition, previewToolOutputs } = checked
    checkMessages(messages)
    const previewing =
      previewToolOutputs === undefined ? this.previewing : previewingFor(this.context, previewToolOutputs)
    this.searcher.index.offer()
    return appendMessages(this.context, id, messages, expectedPosition, previewing)
  }

  async preview(id: string, config: PreviewOptions): Promise<CompactionPreview | null> {
    const { call, summarize } = readPreview(config, 'previewCompaction')
    return this.compactor.preview(id, call, summarize)
  }

  async compact(id: string, config: CompactOptions | CompactionPreview): Promise<CompactionResult | null> {
    const preview = readable('compactSession', () =>
      config instanceof CompactionPreview ? config : undefined,
    )
    if (preview === undefined) return this.compactor.compact(id, readCall(config, 'compactSession'))
    if (preview.sessionId !== id) throw invalid('compactSession: the preview belongs to another session')
    return this.compactor.apply(id, preview)
  }

  undo(id: string, target: string, request: UndoRequest = PLAINLY): Promise<UndoOutcome & ReasoningChange> {
    return this.turned('undone', id, target, async () => this.context.storage.undo(id, target, request))
  }

  redo(id: string, target: string, request: UndoRequest = PLAINLY): Promise<UndoOutcome & ReasoningChange> {
    return this.turned('redone', id, target, async () => this.context.storage.redo(id, target, request))
  }

  /**
   * Undoes or redoes, reports the reasoning that this invalidates or restores, and emits a `compaction` event with the tokens before and
   * after. Without a listener the stats aren't read. If they can't be read, the method doesn't fail: it just emits nothing.
   */
  async turned<T extends UndoOutcome>(
    phase: 'undone' | 'redone',
    sessionId: string,
    targetId: string,
    work: () => Promise<T>,
    provider?: string,
    model?: string,
  ): Promise<T & ReasoningChange> {
    const { events } = this.context
    const turn = (): Promise<T & ReasoningChange> =>
      withReasoningChange(this.context, sessionId, ({ changed }) => changed, work, [provider, model])
    if (!events.hasListener('compaction')) return turn()
    const stats = (): Promise<ContextStats | null> =>
      (async () => this.context.stats(sessionId, provider, model))().catch(() => null)
    const before = await stats()
    const outcome = await turn()
    if (!outcome.changed) return outcome
    const after = await stats()
    if (before === null || after === null) return outcome
    const { compactionIds, invalidatedReasoning, restoredReasoning } = outcome
    events.emit('compaction', {
      ...{ phase, sessionId, targetId },
      compactionIds: [...compactionIds],
      ...defined({ invalidatedReasoning, restoredReasoning }),
      tokensBefore: before.estimated,
      tokensAfter: after.estimated,
      percent: percentOf(after.estimatedInputTokens, after.availableInputTokens),
    })
    return outcome
  }

  /** Changes how the parts that a provider rejected are shown, unless a hook vetoes it; returns the compaction's id. */
  repair(id: string, repair: Repair): Promise<string | undefined> {
    const providerOf = (session: Session): string => this.context.modelFor(session).key
    const { storage, events } = this.context
    return repairParts(storage, id, repair, UNSIGNED, providerOf, (run) =>
      events.allows(beforeCompaction({ runId: run.runId, trigger: 'refusal' }, { ...run, after: run.view })),
    )
  }

  async settingsOf(sessionId: string): Promise<ResolvedSettings> {
    const session = await this.context.storage.session(sessionId)
    return this.context.configuration.ofSession(session?.config).settings
  }
}
