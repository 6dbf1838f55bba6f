import type { CheckedConfig, RunSettings } from '../config/compaction.ts'
import { UndertextError } from '../errors.ts'
import { listIn } from '../messages/lists.ts'
import { type Part, partsOf } from '../messages/message.ts'
import { overlaid } from '../messages/overlay.ts'
import { checkLaws } from '../model/laws.ts'
import {
  applyPlan,
  type CompactionStage,
  type Plan,
  type PlannedInsert,
  type PlannedReplacement,
} from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { SummaryTask } from '../stages/stage.ts'
import type { CommitStep, FailedAttempt, Snapshot, Storage, SummaryRecord } from '../storage/storage.ts'
import type { PendingSummary, PlannedRun } from './planned-run.ts'
import type { SummarySource } from './summary-chunks.ts'

/** What planning reads of a storage, besides the snapshot. */
export type ContentReader = Pick<Storage, 'contents' | 'metadata' | 'shownTexts'>

/** Rows whose contents are read at once. */
const SOURCES_AT_ONCE = 500

/** A run while it is planned: the view as the steps so far leave it, and what came of each. */
export class RunDraft {
  readonly settings: RunSettings
  readonly config: CheckedConfig
  readonly #storage: ContentReader
  readonly #snapshot: Snapshot
  readonly #onStage: ((step: CommitStep) => void) | undefined
  #view: View
  #ordinal: number
  #plans = 0
  readonly #steps: CommitStep[] = []
  readonly #failed: FailedAttempt[] = []
  readonly #pending: PendingSummary[] = []
  readonly #used = new Set<CompactionStage>()

  constructor(
    storage: ContentReader,
    snapshot: Snapshot,
    settings: RunSettings,
    config: CheckedConfig,
    onStage?: (step: CommitStep) => void,
  ) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.settings = settings
    this.config = config
    this.#onStage = onStage
    this.#view = snapshot.view
    this.#ordinal = snapshot.nextOrdinal
  }

  get sessionId(): string {
    return this.#snapshot.session.id
  }

  /** The view with everything that was added. */
  get view(): View {
    return this.#view
  }

  /** The run as far as it is planned. */
  result(): PlannedRun {
    return {
      snapshot: this.#snapshot,
      settings: this.settings,
      steps: this.#steps,
      failed: this.#failed,
      stagesUsed: [...this.#used],
      after: this.#view,
      pending: this.#pending,
    }
  }

  /** Notes that a stage was used. */
  used(stage: CompactionStage): void {
    this.#used.add(stage)
  }

  /** Notes what a model would be asked for. */
  wouldAsk(pending: PendingSummary): void {
    this.#pending.push(pending)
  }

  /** Puts a plan that keeps the laws on top of the steps before. Throws what `checkLaws` throws, and `ABORTED`. */
  add(plan: Plan, id: string, summary?: SummaryRecord): void {
    this.throwIfAborted()
    checkLaws(this.sessionId, this.#view, plan)
    this.#plans += 1
    const step = applyPlan(this.#view, plan, -this.#plans, this.#ordinal)
    if (plan.insert !== undefined) this.#ordinal += 1
    const committed = { ...step, id, createdAt: Date.now(), summary }
    this.#steps.push(committed)
    this.#view = step.after
    this.#onStage?.(committed)
  }

  /** Notes a summary that was not accepted. */
  fail(
    id: string,
    status: FailedAttempt['status'],
    error: string,
    task: SummaryTask,
    summary: SummaryRecord,
    wasAsked = true,
  ): void {
    const { tokens } = this.#view
    this.#failed.push({
      ...(!wasAsked && { wasAsked }),
      id,
      status,
      error,
      tokensBefore: tokens,
      tokensAfter: tokens,
      summary,
      coveredTokens: task.tokens,
    })
  }

  /** Throws `ABORTED` when the caller's signal has fired. */
  throwIfAborted(): void {
    if (this.config.signal?.aborted) throw new UndertextError('ABORTED', { sessionId: this.sessionId })
  }

  /** The rows as the view shows them, steps planned before included, and as they are stored. */
  async sourcesOf(rows: readonly ViewRow[]): Promise<SummarySource[]> {
    const sources: SummarySource[] = []
    await this.readSources(rows, (source) => sources.push(source))
    return sources
  }

  /** The same one after another, read in pages: a caller that keeps none of them needs no more memory for more rows. */
  async readSources(
    rows: readonly ViewRow[],
    use: (source: SummarySource, row: ViewRow) => unknown,
  ): Promise<void> {
    const planned = new Map<number, PlannedReplacement[]>()
    for (const { plan } of this.#steps) {
      for (const replacement of plan.replace) listIn(planned, replacement.row.key).push(replacement)
    }
    for (let from = 0; from < rows.length; from += SOURCES_AT_ONCE) {
      this.throwIfAborted()
      const page = rows.slice(from, from + SOURCES_AT_ONCE)
      for (const [i, source] of (await this.#pageOf(page, planned)).entries()) use(source, page[i]!)
    }
  }

  async #pageOf(
    rows: readonly ViewRow[],
    planned: ReadonlyMap<number, readonly PlannedReplacement[]>,
  ): Promise<readonly SummarySource[]> {
    const stored = rows.filter(({ key }) => key > 0)
    const [contents, metadata, shownTexts] = await Promise.all([
      this.#storage.contents(stored.map(({ key }) => key)),
      this.#storage.metadata(stored.filter(({ kind }) => kind === 'summary').map(({ key }) => key)),
      this.#storage.shownTexts(rows.filter(({ shown }) => shown.length > 0).map(({ key }) => key)),
    ])
    return rows.map((row) => {
      const content = contents.get(row.key) ?? this.#plannedContent(row.key) ?? []
      const original = { role: row.role, content }
      const texts = new Map(shownTexts.get(row.key))
      for (const { part, text } of planned.get(row.key) ?? []) texts.set(part, text)
      const show = (part: Part, index: number): Part => {
        const text = texts.get(index)
        return text === undefined ? part : overlaid(part, text)
      }
      return {
        kind: row.kind,
        shown: texts.size === 0 ? original : { role: row.role, content: content.map(show) },
        original,
        metadata: metadata.get(row.key) ?? this.#plannedInsert(row.key)?.metadata,
      }
    })
  }

  #plannedInsert(key: number): PlannedInsert | undefined {
    return key > 0 ? undefined : this.#steps.find(({ inserted }) => inserted?.key === key)?.plan.insert
  }

  #plannedContent(key: number): readonly Part[] | undefined {
    const insert = this.#plannedInsert(key)
    return insert && partsOf({ content: insert.text })
  }
}
