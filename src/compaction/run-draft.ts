import type { RunConfig, RunSettings } from '../config/run-config.ts'
import { UndertextError } from '../errors.ts'
import { listIn } from '../messages/lists.ts'
import { type Message, type Part, partsOf } from '../messages/message.ts'
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
import type { SummarySource } from './summary-chunks.ts'

/** The request to a summarizer that was not made, shown in place of its summary. */
export type PendingSummary = {
  readonly summarizer: string
  /** The messages it would read. */
  readonly messages: readonly Message[]
  readonly inputTokens: number
  /** Maximum tokens of its summary; the figures of the preview count them in full. */
  readonly maxTokens: number
}

/** A run that is planned and not committed. */
export type PlannedRun = {
  readonly snapshot: Snapshot
  readonly settings: RunSettings
  readonly steps: readonly CommitStep[]
  readonly failed: readonly FailedAttempt[]
  readonly stagesUsed: readonly CompactionStage[]
  readonly after: View
  readonly pending: readonly PendingSummary[]
  /** Tokens of the view, by the estimator, that its provider reported as cached; `undefined` without a report. */
  readonly cachedTokens?: number | undefined
  /** The run would save less than its minimum, so its plans were dropped. */
  readonly heldBack?: true
}

/** The run with its plans dropped; failed summaries are kept. */
export function withoutSteps(planned: PlannedRun): PlannedRun {
  return { ...planned, steps: [], stagesUsed: [], pending: [], after: planned.snapshot.view }
}

/** What planning reads from a storage, besides the snapshot. */
export type ContentReader = Pick<Storage, 'contents' | 'metadata' | 'shownTexts'>

/** Rows whose contents are read at once. */
const PAGE_ROWS = 500

/** A run while it is planned: its steps so far, and the view they leave. */
export class RunDraft {
  readonly settings: RunSettings
  readonly config: RunConfig
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
    config: RunConfig,
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

  /** The view after the steps so far. */
  get view(): View {
    return this.#view
  }

  /** The run with the steps so far. */
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

  markUsed(stage: CompactionStage): void {
    this.#used.add(stage)
  }

  addPending(pending: PendingSummary): void {
    this.#pending.push(pending)
  }

  /** Adds a plan as the next step. Throws what `checkLaws` throws, and `ABORTED`. */
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

  /** Records a summary that was not accepted. `wasAsked`: false when the model was not called. */
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

  /** Throws `ABORTED` after the caller's signal. */
  throwIfAborted(): void {
    if (this.config.signal?.aborted) throw new UndertextError('ABORTED', { sessionId: this.sessionId })
  }

  /** The rows as they are stored, and as the view shows them after the steps so far. */
  async sourcesOf(rows: readonly ViewRow[]): Promise<SummarySource[]> {
    const sources: SummarySource[] = []
    await this.readSources(rows, (source) => sources.push(source))
    return sources
  }

  /** The same, one after another, read in pages: memory does not grow with the rows unless the caller keeps them. */
  async readSources(
    rows: readonly ViewRow[],
    use: (source: SummarySource, row: ViewRow) => unknown,
  ): Promise<void> {
    const planned = new Map<number, PlannedReplacement[]>()
    for (const { plan } of this.#steps) {
      for (const replacement of plan.replace) listIn(planned, replacement.row.key).push(replacement)
    }
    for (let from = 0; from < rows.length; from += PAGE_ROWS) {
      this.throwIfAborted()
      const page = rows.slice(from, from + PAGE_ROWS)
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
