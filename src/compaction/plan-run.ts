import { v7 as uuidv7 } from 'uuid'
import { isStorableText, MAX_NAME_LENGTH } from '../core/check.ts'
import type { JsonObject } from '../core/json.ts'
import { checkLaws } from '../core/laws.ts'
import type { Message, Part } from '../core/message.ts'
import { overlaid } from '../core/overlay.ts'
import { applyPlan, type CompactionStage, type Plan, type PlannedInsert } from '../core/plan.ts'
import { cut } from '../core/stages/cut.ts'
import { deduplicate } from '../core/stages/deduplicate.ts'
import { prune } from '../core/stages/prune.ts'
import type { PlanningStage, SummaryTask } from '../core/stages/stage.ts'
import { bareCondensePlan, condensePlan, planSummaries } from '../core/stages/summarize.ts'
import { truncate } from '../core/stages/truncate.ts'
import { measureMessage, NO_SIZES } from '../core/tokens.ts'
import type { View, ViewRow } from '../core/view.ts'
import { UndertextError } from '../errors.ts'
import type { CommitStep, FailedAttempt, Snapshot, Storage, SummaryRecord } from '../storage/storage.ts'
import { extractiveSummarizer } from '../summarizers/extractive.ts'
import type { Summarizer } from '../summarizers/summarizer.ts'
import { type CheckedConfig, type RunSettings, SUMMARY_TIMEOUT_MS } from './config.ts'
import { givenSummary, type SummarySource, type WrittenSummary, writeSummary } from './write-summary.ts'

/** What a model would be asked for, shown in place of a summary that was not made. */
export type PendingSummary = {
  readonly summarizer: string
  /** What it would read. */
  readonly messages: readonly Message[]
  readonly inputTokens: number
  /** Upper bound of what it may answer; the figures of the preview count it in full. */
  readonly maxTokens: number
}

/** A planned run: everything a commit needs, and nothing written. */
export type PlannedRun = {
  readonly snapshot: Snapshot
  readonly settings: RunSettings
  readonly steps: readonly CommitStep[]
  readonly failed: readonly FailedAttempt[]
  readonly stagesUsed: readonly CompactionStage[]
  readonly after: View
  readonly pending: readonly PendingSummary[]
}

/** How a run comes by its summaries. */
export type SummaryMode =
  /** Ask the summarizer. `started` is called before each question, with the id the compaction will have. */
  | {
      readonly kind: 'write'
      readonly started?: (attempt: StartedAttempt) => unknown
      /** Called with what it cost as soon as a summary was answered, accepted or not. */
      readonly answered?: (id: string, record: SummaryRecord) => unknown
    }
  /** Do not ask a model: leave an upper bound. Summarizers without a model are asked all the same. */
  | { readonly kind: 'estimate' }
  /** Go on with the stages that need no model. */
  | { readonly kind: 'skip' }

/** What planning reads of a storage, besides the snapshot. */
export type ContentReader = Pick<Storage, 'contents' | 'metadata' | 'shownTexts'>

/** The longest time a timer of Node's can wait; a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

export type StartedAttempt = {
  readonly id: string
  readonly view: View
  readonly rows: readonly ViewRow[]
  readonly summarizer: string
}

/**
 * Plans a run over a snapshot: the stages in order, each on what the one before left, until the target is met.
 * Nothing is written; the only slow thing is the summarizer, and no transaction is open while it works.
 *
 * Throws what `checkLaws` throws for a range of the caller's own, and `ABORTED`.
 */
export async function planRun(
  storage: ContentReader,
  snapshot: Snapshot,
  settings: RunSettings,
  config: CheckedConfig,
  mode: SummaryMode,
): Promise<PlannedRun> {
  const run = new RunPlanner(storage, snapshot, settings, config, mode)
  if (config.range !== undefined) await run.condenseRange(config.range)
  else await run.pipeline()
  return run.result()
}

class RunPlanner {
  readonly #storage: ContentReader
  readonly #snapshot: Snapshot
  readonly #settings: RunSettings
  readonly #config: CheckedConfig
  readonly #mode: SummaryMode
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
    mode: SummaryMode,
  ) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#settings = settings
    this.#config = config
    this.#mode = mode
    this.#view = snapshot.view
    this.#ordinal = snapshot.nextOrdinal
  }

  result(): PlannedRun {
    return {
      snapshot: this.#snapshot,
      settings: this.#settings,
      steps: this.#steps,
      failed: this.#failed,
      stagesUsed: [...this.#used],
      after: this.#view,
      pending: this.#pending,
    }
  }

  async pipeline(): Promise<void> {
    const { enabled, targetTokens, limitTokens } = this.#settings
    const isOver = (): boolean => this.#view.tokens > targetTokens
    if (enabled.prune && isOver()) await this.#runStage(prune, 'prune')
    if (enabled.deduplicate && isOver()) await this.#runStage(deduplicate, 'deduplicate')
    if (enabled.summarize && isOver() && this.#mode.kind !== 'skip') await this.#summarize()
    if (enabled.truncate && isOver()) await this.#runStage(truncate, 'truncate')
    if (enabled.cut && this.#view.tokens > limitTokens) await this.#runStage(cut, 'truncate')
  }

  /** Condenses what is visible between two positions, with the text given or asked for. */
  async condenseRange({ from, to }: { from: number; to: number }): Promise<void> {
    const rows = this.#view.rows.filter(({ anchor }) => anchor >= from && anchor <= to)
    const sessionId = this.#snapshot.session.id
    if (rows.length === 0) {
      throw new UndertextError('ILLEGAL_BOUNDARY', {
        sessionId,
        why: 'nothing is visible in the range',
        messageIds: [],
      })
    }
    checkLaws(sessionId, this.#view, bareCondensePlan(rows))
    const tokens = this.#view.tokensOfRows(rows)
    const task = {
      rows,
      tokens,
      maxTokens: Math.max(1, Math.min(this.#settings.stages.summaryMaxTokens, Math.floor(tokens / 2))),
    }
    const { summary } = this.#config
    if (summary === undefined) return this.#condense(task)
    const written = givenSummary(summary, await this.#sourcesOf(rows))
    this.#accept(task, written, uuidv7(), { summarizer: 'given' })
  }

  async #runStage(stage: PlanningStage<Plan>, used: CompactionStage): Promise<void> {
    const context = {
      settings: this.#settings.stages,
      targetTokens: this.#settings.targetTokens,
      limitTokens: this.#settings.limitTokens,
    }
    const needed = stage.reads?.(this.#view, context) ?? []
    const keys = needed.map(({ key }) => key).filter((key) => key > 0)
    const contents =
      keys.length === 0 ? new Map<number, readonly Part[]>() : await this.#storage.contents(keys)
    const plan = stage.plan(this.#view, {
      ...context,
      contentOf: (row) => contents.get(row.key) ?? [],
      metadataOf: () => undefined,
    })
    if (plan === undefined) return
    this.#add(plan, uuidv7())
    this.#used.add(used)
  }

  async #summarize(): Promise<void> {
    const context = {
      settings: this.#settings.stages,
      targetTokens: this.#settings.targetTokens,
      limitTokens: this.#settings.limitTokens,
    }
    for (const task of planSummaries(this.#view, context)) await this.#condense(task)
  }

  async #condense(task: SummaryTask): Promise<void> {
    const summarizer = this.#config.summarizer ?? extractiveSummarizer
    const sources = await this.#sourcesOf(task.rows)
    if (this.#mode.kind === 'estimate' && summarizer.usesModel)
      return this.#estimate(task, sources, summarizer)
    if (await this.#ask(task, sources, summarizer)) return
    if (this.#config.offlineFallback === true && summarizer !== extractiveSummarizer) {
      await this.#ask(task, sources, extractiveSummarizer)
    }
  }

  /** Asks one summarizer; answers whether its text was accepted. Whatever it did is noted. */
  async #ask(task: SummaryTask, sources: readonly SummarySource[], summarizer: Summarizer): Promise<boolean> {
    const id = uuidv7()
    const record: SummaryRecord = { summarizer: summarizer.name }
    this.#throwIfAborted()
    if (this.#mode.kind === 'write' && summarizer.usesModel) {
      await this.#mode.started?.({ id, view: this.#view, rows: task.rows, summarizer: summarizer.name })
    }
    const timeout = new AbortController()
    // Not AbortSignal.timeout: its timer would let the process end in the middle of the wait.
    const timer = setTimeout(
      () => timeout.abort(),
      Math.min(this.#config.summaryTimeoutMs ?? SUMMARY_TIMEOUT_MS, MAX_TIMER_MS),
    )
    const { signal: own } = this.#config
    const signal = own === undefined ? timeout.signal : AbortSignal.any([own, timeout.signal])
    let written: WrittenSummary
    try {
      const request = { ...this.#requestFor(task), signal }
      written = await unlessAborted(
        writeSummary(summarizer, sources, request, this.#view.estimator, this.#view.provider),
        signal,
      )
    } catch (error) {
      this.#throwIfAborted()
      this.#fail(id, 'failed', timeout.signal.aborted ? 'SUMMARY_TIMEOUT' : errorName(error), task, record)
      return false
    } finally {
      clearTimeout(timer)
    }
    const full = { ...record, ...recordOf(written) }
    if (this.#mode.kind === 'write') this.#mode.answered?.(id, full)
    return this.#accept(task, written, id, full)
  }

  #requestFor(task: SummaryTask): Parameters<typeof writeSummary>[2] {
    const { summarizationProvider, summarizationModel } = this.#config
    return {
      sessionId: this.#snapshot.session.id,
      sections: this.#settings.stages.summarySections,
      maxTokens: task.maxTokens,
      ...(summarizationProvider !== undefined && { provider: summarizationProvider }),
      ...(summarizationModel !== undefined && { model: summarizationModel }),
    }
  }

  /** Law 7: a summary that is empty or no smaller than what it stands for is not committed. */
  #accept(task: SummaryTask, written: WrittenSummary, id: string, record: SummaryRecord): boolean {
    const insert = this.#summaryRow(written.text, written.metadata)
    const tokens = this.#view.tokensOfRow(insert.sizes)
    if (written.text.trim() === '' || written.answer.text.trim() === '') {
      this.#fail(id, 'failed', 'EMPTY_SUMMARY', task, record)
      return false
    }
    if (tokens >= task.tokens) {
      this.#fail(id, 'rejected', 'SUMMARY_NOT_SMALLER', task, record)
      return false
    }
    this.#add(
      condensePlan(task.rows, insert, { maxTokens: task.maxTokens, coveredTokens: task.tokens }),
      id,
      record,
    )
    this.#used.add('summarize')
    return true
  }

  #summaryRow(text: string, metadata: JsonObject): PlannedInsert {
    return {
      kind: 'summary',
      role: 'system',
      text,
      metadata,
      sizes: measureMessage({ content: text }, this.#view.estimator),
    }
  }

  #estimate(task: SummaryTask, sources: readonly SummarySource[], summarizer: Summarizer): void {
    this.#pending.push({
      summarizer: summarizer.name,
      messages: sources.map(({ shown }) => shown),
      inputTokens: task.tokens,
      maxTokens: task.maxTokens,
    })
    // The largest number of units that is worth no more than maxTokens.
    let units = 0
    for (let step = task.maxTokens; step >= 1; step = Math.floor(step / 2)) {
      while (this.#view.estimator.toTokens(units + step, this.#view.provider) <= task.maxTokens) units += step
    }
    const insert: PlannedInsert = {
      kind: 'summary',
      role: 'system',
      text: '',
      metadata: {},
      sizes: { ...NO_SIZES, text: units },
    }
    this.#add(condensePlan(task.rows, insert, {}), uuidv7())
    this.#used.add('summarize')
  }

  #add(plan: Plan, id: string, summary?: SummaryRecord): void {
    this.#throwIfAborted()
    checkLaws(this.#snapshot.session.id, this.#view, plan)
    this.#plans += 1
    const step = applyPlan(this.#view, plan, -this.#plans, this.#ordinal)
    if (plan.insert !== undefined) this.#ordinal += 1
    this.#steps.push({ ...step, id, createdAt: Date.now(), summary })
    this.#view = step.after
  }

  #fail(
    id: string,
    status: FailedAttempt['status'],
    error: string,
    task: SummaryTask,
    summary: SummaryRecord,
  ): void {
    const { tokens } = this.#view
    this.#failed.push({
      id,
      status,
      error,
      tokensBefore: tokens,
      tokensAfter: tokens,
      summary,
      coveredTokens: task.tokens,
    })
  }

  #throwIfAborted(): void {
    if (this.#config.signal?.aborted)
      throw new UndertextError('ABORTED', { sessionId: this.#snapshot.session.id })
  }

  /** The rows as the view shows them, steps planned before included, and as they are stored. */
  async #sourcesOf(rows: readonly ViewRow[]): Promise<SummarySource[]> {
    const keys = rows.map(({ key }) => key)
    const [contents, metadata, shownTexts] = await Promise.all([
      this.#storage.contents(keys),
      this.#storage.metadata(rows.filter(({ kind }) => kind === 'summary').map(({ key }) => key)),
      this.#storage.shownTexts(rows.filter(({ shown }) => shown.length > 0).map(({ key }) => key)),
    ])
    const planned = new Map<string, string>()
    for (const { plan } of this.#steps) {
      for (const { row, part, text } of plan.replace) planned.set(`${row.key}:${part}`, text)
    }
    return rows.map((row) => {
      const original = contents.get(row.key) ?? []
      const shown = original.map((part, index) => {
        const text = planned.get(`${row.key}:${index}`) ?? shownTexts.get(row.key)?.get(index)
        return text === undefined ? part : overlaid(part, text)
      })
      return {
        kind: row.kind,
        shown: { role: row.role, content: shown },
        original: { role: row.role, content: original },
        metadata: metadata.get(row.key),
      }
    })
  }
}

/** A promise, or the signal's end of it: a summarizer that hears no signal must not hold a run for ever. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error('aborted'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** What is noted of an answer: known fields of the right kind. A summarizer may say anything. */
function recordOf({ answer }: WrittenSummary): Omit<SummaryRecord, 'summarizer'> {
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' && isStorableText(value) ? value.slice(0, MAX_NAME_LENGTH) : undefined
  const number = (value: unknown): number | undefined =>
    typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
  const [inputTokens, outputTokens] = [number(answer.usage?.inputTokens), number(answer.usage?.outputTokens)]
  const usage = {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
  }
  return {
    model: text(answer.model),
    promptVersion: text(answer.promptVersion),
    usage: Object.keys(usage).length === 0 ? undefined : usage,
    cost: number(answer.cost),
  }
}

/** What an error is called. Its sentence may quote the conversation, so it is not kept. */
function errorName(error: unknown): string {
  if (error instanceof Error) {
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code)) return code
    return /^[A-Z][A-Za-z0-9]{0,50}(?:Error|Exception)$/.test(error.name) ? error.name : 'Error'
  }
  return typeof error
}
