import { invalid } from '../core/errors.ts'
import { check, readable } from '../core/messages/check.ts'
import type { NewMessage } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import type { Previewing, Session, Storage, UndoOutcome } from '../storage/storage.ts'
import { type AppendResult, appendMessages, previewingFor } from './append.ts'
import { isEmptyObject } from './arguments.ts'
import { Background } from './compaction/background/background.ts'
import { Guard } from './compaction/background/guard.ts'
import { Compactor } from './compaction/compactor.ts'
import { repairParts } from './compaction/direct-compactions.ts'
import { CompactionPreview, type CompactionResult } from './compaction/result.ts'
import { beforeCompaction } from './compaction/run-progress.ts'
import type { ContextStats } from './compaction/stats.ts'
import { readCall, readPreview } from './config/read-settings.ts'
import type { ResolvedSettings } from './config/resolve.ts'
import {
  type AppendOptions,
  appendSchema,
  type CompactOptions,
  type PreviewOptions,
} from './config/store-options.ts'
import { StoreContext, type StoreSettings } from './context.ts'
import { notesForRequest } from './notes.ts'
import { RequestPreparer } from './requests/prepare.ts'
import type { PreparedRequest } from './requests/prepared.ts'
import type { RepairPort } from './requests/repairs.ts'
import type { ReasoningChange } from './requests/sent-reasoning.ts'
import { TurnHooks } from './requests/turn-hooks.ts'
import { withUndoEvent } from './requests/undo-events.ts'
import { readSnapshot, withReasoningChange } from './requests.ts'
import { Searcher } from './search.ts'

const NO_OPTIONS: AppendOptions = {}

/** What the methods of a store share. */
export class Services<S extends Storage = Storage> {
  readonly context: StoreContext<S>
  readonly compactor: Compactor
  readonly background: Background
  readonly turns: TurnHooks
  readonly searcher: Searcher
  /** How appends shorten large tool outputs, by the settings of the store. */
  readonly previewing: Previewing
  readonly #preparer: RequestPreparer

  constructor(storage: S, settings: StoreSettings) {
    this.context = new StoreContext(storage, settings)
    const { configuration, events } = this.context
    const guard = new Guard(storage, configuration, events)
    this.previewing = previewingFor(this.context, undefined)
    this.searcher = new Searcher(storage, events)
    this.compactor = new Compactor(storage, configuration, events, guard)
    this.background = new Background({ storage, configuration, events, guard, compactor: this.compactor })
    this.turns = new TurnHooks(
      {
        settings: (id) => this.settingsOf(id),
        stats: async (...args) => this.context.stats(...args),
        compact: (id, config) => this.compact(id, config),
        append: (id, messages) => this.append(id, messages),
        settle: async (id, ...waits) => {
          this.compactor.refuseReentry(id)
          return this.background.settle(id, ...waits)
        },
        offer: (id, stats) => this.background.offer(id, stats),
      },
      events,
    )
    this.#preparer = new RequestPreparer({
      turns: this.turns,
      read: (...args) => readSnapshot(this.context, ...args),
      compact: (id, config) => this.compact(id, config),
      preview: (id, config) => this.preview(id, config),
      undisturbed: (id, waiting, work) => this.compactor.undisturbed(id, waiting, work),
      settle: (...args) => this.background.settle(...args),
      offer: (id, stats) => this.background.offer(id, stats),
    })
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

  /** Runs a compaction, or applies a preview. */
  async compact(id: string, config: CompactOptions | CompactionPreview): Promise<CompactionResult | null> {
    const preview = readable('compactSession', () =>
      config instanceof CompactionPreview ? config : undefined,
    )
    if (preview === undefined) return this.compactor.compact(id, readCall(config, 'compactSession'))
    if (preview.sessionId !== id) throw invalid('compactSession: the preview is of another session')
    return this.compactor.apply(id, preview)
  }

  /** Notes go into the system prompt as a section of a persistent context does. */
  async prepare(...[id, options, ...rest]: Parameters<RequestPreparer['prepare']>): Promise<PreparedRequest> {
    const section = await notesForRequest(this.context, id, options)
    const render = (): string =>
      [options.persistentContext?.render() ?? '', section?.text ?? '']
        .filter((text) => text !== '')
        .join('\n\n')
    const withNotes = section === undefined ? options : { ...options, persistentContext: { render } }
    const request = await this.#preparer.prepare(id, withNotes, ...rest)
    this.context.warnOfWindow(id, request.stats)
    return section === undefined ? request : { ...request, notes: section.notes }
  }

  /** Undoes or redoes, emits the event, and reports the reasoning that this invalidates or restores. */
  turned<T extends UndoOutcome>(
    phase: 'undone' | 'redone',
    sessionId: string,
    targetId: string,
    work: () => Promise<T>,
    provider?: string,
    model?: string,
  ): Promise<T & ReasoningChange> {
    const stats = async (): Promise<ContextStats | null> => this.context.stats(sessionId, provider, model)
    const hasChanged = ({ changed }: T): boolean => changed
    return withUndoEvent(this.context.events, { phase, sessionId, targetId }, stats, () =>
      withReasoningChange(this.context, sessionId, hasChanged, work, [provider, model]),
    )
  }

  /** Shows parts differently that a provider refused, unless a hook refuses; returns the compaction's id. */
  repair(id: string, repair: Parameters<RepairPort['repair']>[1]): Promise<string | undefined> {
    const providerOf = (session: Session): string => this.context.modelFor(session).key
    const { storage, events } = this.context
    return repairParts(storage, id, repair, { actor: undefined, reason: undefined }, providerOf, (run) =>
      events.allows(beforeCompaction({ runId: run.runId, trigger: 'refusal' }, { ...run, after: run.view })),
    )
  }

  async settingsOf(sessionId: string): Promise<ResolvedSettings> {
    const session = await this.context.storage.session(sessionId)
    return this.context.configuration.ofSession(session?.config).settings
  }
}
