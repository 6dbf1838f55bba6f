import { v5 as uuidv5, v7 as uuidv7 } from 'uuid'
import { isUndertextError } from '../../../core/errors.ts'
import { check } from '../../../core/messages/check.ts'
import { defined } from '../../../core/messages/json.ts'
import type { PositionRange } from '../../../core/messages/message.ts'
import { checkLaws } from '../../../core/model/laws.ts'
import {
  applyPlan,
  type Plan,
  type PlannedInsert,
  type PlannedStep,
  planRewind,
} from '../../../core/model/plan.ts'
import type { View } from '../../../core/model/view.ts'
import type { ViewRow } from '../../../core/model/view-row.ts'
import { condensePlan } from '../../../core/stages/summarize.ts'
import { measureMessage } from '../../../core/tokens/measure.ts'
import type { CommitStep, Compaction, Snapshot, Storage, UndoRequest } from '../../../storage/storage.ts'
import { resolveModel } from '../../config/model.ts'
import {
  type CompactionOutcome,
  type ImportedCompaction,
  type ImportRun,
  importedCompactionSchema,
  labelOf,
} from './import-types.ts'

/** The namespace of ids made from a session and another system's compaction id. */
const NAMESPACE = 'b1cf9f5f-52f1-4a44-9a0e-7d2f5b8e6c11'

/** Number of audit entries that are read at once. */
const AUDIT_PAGE = 500

/** Applies a conversation's compactions, one by one, while it is written. */
export class AppliedCompactions {
  readonly #storage: Storage
  readonly #run: ImportRun
  readonly outcomes: CompactionOutcome[] = []
  /** Ids of compactions that were undone before the first event. */
  readonly #rewound = new Set<string>()
  /**
   * Compactions that their own system has undone and that are still in force, so that the next one builds on them as it did there and both
   * can be redone.
   */
  #toUndo: { readonly runId: string; readonly reason: string | undefined }[] = []
  /** Undone compactions among them that an earlier import made. */
  #inactiveRuns: { readonly id: string; readonly runId: string }[] = []
  /** Ids of compactions that a user has undone or redone, and the last audit entry that was read for them. */
  readonly #turned = new Set<string>()
  #auditedTo = 0
  /** Ids of compactions that earlier imports made, by the ids of their source. */
  #before: ReadonlyMap<unknown, string> | undefined

  constructor(storage: Storage, run: ImportRun) {
    this.#storage = storage
    this.#run = run
  }

  /**
   * Applies a compaction to the rows at its positions that are visible now. If the laws forbid it, that is an outcome, not an error. Throws
   * `INVALID_INPUT` and the storage's errors.
   */
  async apply(
    sessionId: string,
    given: ImportedCompaction,
    positionsOf: (covers: readonly PositionRange[]) => readonly PositionRange[],
  ): Promise<void> {
    const compaction = check(importedCompactionSchema, given, 'compaction') as ImportedCompaction
    const { id } = compaction
    if (compaction.undone !== true) await this.settle(sessionId)
    const own = await this.#ownId(sessionId, id)
    const known = await this.#known(sessionId, id, own)
    if (known !== undefined) {
      this.outcomes.push(await this.#follow(sessionId, known, compaction))
      return
    }
    if (compaction.undone === true) await this.#wake(sessionId)
    let { snapshot, planned } = await this.#planned(sessionId, compaction, positionsOf)
    if ('why' in planned && this.#toUndo.length > 0) {
      // The compaction that hides its rows is undone in the source too, but only later here: the next import would find them visible.
      await this.settle(sessionId)
      ;({ snapshot, planned } = await this.#planned(sessionId, compaction, positionsOf))
    }
    if ('why' in planned) {
      this.outcomes.push({ id, status: 'refused', why: planned.why })
      return
    }
    const steps = planned.steps.map((step, at): CommitStep => {
      const isLast = at === planned.steps.length - 1
      const createdAt = compaction.createdAt ?? Date.now()
      const summary = { summarizer: this.#run.source, model: labelOf(compaction.model) }
      return {
        ...step,
        id: isLast ? own : uuidv5(String(at), own),
        createdAt,
        ...(step.plan.kind === 'condense' && { summary }),
      }
    })
    await this.#commit(snapshot, compaction, steps, { id, compactionId: own, rowsLeft: planned.rowsLeft })
  }

  /**
   * Undoes compactions that their own system has undone since they were imported, along with those that build on them, before others that
   * need their rows visible are redone. Compactions that users have undone or redone here since then stay.
   */
  async takeBack(sessionId: string, given: readonly ImportedCompaction[]): Promise<void> {
    for (const one of given) {
      const { id } = check(importedCompactionSchema, one, 'compaction') as ImportedCompaction
      const known = await this.#known(sessionId, id, await this.#ownId(sessionId, id))
      if (known?.status !== 'active' || (await this.#wasTurnedHere(sessionId, known.id))) continue
      await this.#storage.undo(sessionId, known.runId, { ...this.#request(), cascade: true })
      this.#rewound.add(id)
    }
  }

  /** Undoes the compactions that were applied only to be undone. */
  async settle(sessionId: string): Promise<void> {
    const runs = this.#toUndo.toReversed()
    this.#toUndo = []
    this.#inactiveRuns = []
    for (const { runId, reason } of runs)
      await this.#storage.undo(sessionId, runId, { ...this.#request(reason), cascade: false })
  }

  /** Temporarily redoes compactions of an earlier import that precede one that is applied only to be undone. */
  async #wake(sessionId: string): Promise<void> {
    const asleep = this.#inactiveRuns
    this.#inactiveRuns = []
    for (const { id, runId } of asleep) {
      // Compactions that users have undone here aren't redone, not even temporarily.
      if (await this.#wasTurnedHere(sessionId, id)) continue
      this.#toUndo.push({ runId, reason: undefined })
      try {
        await this.#putBack(sessionId, runId)
      } catch (error) {
        // Other compactions hide its rows at the moment, so nothing can build on it.
        if (!isUndertextError(error, 'INPUT_NOT_VISIBLE')) throw error
      }
    }
  }

  async #planned(
    sessionId: string,
    compaction: ImportedCompaction,
    positionsOf: (covers: readonly PositionRange[]) => readonly PositionRange[],
  ): Promise<{ readonly snapshot: Snapshot; readonly planned: ImportedPlan | NoPlan }> {
    const { key } = resolveModel(undefined, undefined, undefined)
    const snapshot = (await this.#storage.snapshot(sessionId, key))!
    const rows = rowsWithin(snapshot.view.rows, positionsOf(compaction.covers))
    const params = { source: this.#run.source, importedId: compaction.id }
    const text = compaction.text && (this.#storage.redaction?.text(compaction.text) ?? compaction.text)
    const given = { ...compaction, ...defined({ text }) }
    return { snapshot, planned: planImported(snapshot.view, rows, given, params, snapshot.nextOrdinal) }
  }

  async #ownId(sessionId: string, id: string): Promise<string> {
    const { incarnation } = (await this.#storage.session(sessionId))!
    // Includes the session's id, because a copy restored under another id may have the incarnation of the first.
    return uuidv5(`${incarnation}\n${sessionId}\n${this.#run.source}\n${id}`, NAMESPACE)
  }

  #request(reason = this.#run.reason): Omit<UndoRequest, 'cascade'> {
    const { actor, source } = this.#run
    return { actor, reason, source, both: true, showRetired: true }
  }

  /** Returns a compaction that was already imported, by this import or an earlier one. */
  async #known(sessionId: string, importedId: string, own: string): Promise<Compaction | undefined> {
    const [found] = await this.#storage.compactions(sessionId, { id: own })
    if (found !== undefined) return found
    this.#before ??= await this.#importedBefore(sessionId)
    const before = this.#before.get(importedId)
    return before === undefined ? undefined : (await this.#storage.compactions(sessionId, { id: before }))[0]
  }

  /** Returns them by the ids of their source: a new session gets its id at the end, and a restored one may have other ids. */
  async #importedBefore(sessionId: string): Promise<ReadonlyMap<unknown, string>> {
    const there = await this.#storage.compactions(sessionId, {})
    const ofSource = there.filter(({ params }) => params.source === this.#run.source)
    // If a run has several steps, the last one is used.
    return new Map(ofSource.map((one) => [one.params.importedId, one.id]))
  }

  /** Undoes or redoes an existing compaction to match its own system, unless a user has undone or redone it here. */
  async #follow(
    sessionId: string,
    { id: compactionId, runId, status }: Compaction,
    given: ImportedCompaction,
  ): Promise<CompactionOutcome> {
    const { id } = given
    const isAsGiven = (status === 'undone') === (given.undone === true)
    const stays = isAsGiven || (await this.#wasTurnedHere(sessionId, compactionId))
    if (given.undone === true && (status === 'undone' || !stays))
      this.#inactiveRuns.push({ id: compactionId, runId })
    if (stays) return { id, status: this.#rewound.has(id) ? 'applied' : 'known', compactionId }
    try {
      if (given.undone === true)
        await this.#storage.undo(sessionId, runId, { ...this.#request(), cascade: true })
      else await this.#putBack(sessionId, runId)
    } catch (error) {
      if (!isUndertextError(error, 'INPUT_NOT_VISIBLE')) throw error
      return { id, status: 'refused', why: error.code, compactionId }
    }
    return { id, status: 'applied', compactionId }
  }

  async #putBack(sessionId: string, runId: string): Promise<void> {
    const members = await this.#storage.compactions(sessionId, { run: runId })
    for (const { id, status } of members)
      if (status === 'undone') await this.#storage.redo(sessionId, id, { ...this.#request(), cascade: false })
  }

  async #wasTurnedHere(sessionId: string, id: string): Promise<boolean> {
    await this.#readTurned(sessionId)
    return this.#turned.has(id)
  }

  async #readTurned(sessionId: string): Promise<void> {
    for (;;) {
      const entries = await this.#storage.auditLog(sessionId, { after: this.#auditedTo, limit: AUDIT_PAGE })
      for (const { event, compactionId, detail } of entries)
        if (isTurn(event) && compactionId !== undefined && detail?.source === undefined)
          this.#turned.add(compactionId)
      this.#auditedTo = entries.at(-1)?.no ?? this.#auditedTo
      if (entries.length < AUDIT_PAGE) return
    }
  }

  async #commit(
    snapshot: Snapshot,
    { reason, undone }: ImportedCompaction,
    steps: readonly CommitStep[],
    given: { readonly id: string; readonly compactionId: string; readonly rowsLeft: number },
  ): Promise<void> {
    const sessionId = snapshot.session.id
    const { id, compactionId, rowsLeft } = given
    const { actor } = this.#run
    const authorship = { actor, reason: labelOf(reason) ?? this.#run.reason }
    try {
      for (const step of steps) checkLaws(sessionId, step.before, step.plan)
    } catch (error) {
      if (!isUndertextError(error, 'ILLEGAL_BOUNDARY') && !isUndertextError(error, 'PENDING_TOOL_CALLS'))
        throw error
      this.outcomes.push({ id, status: 'refused', why: error.code })
      return
    }
    const runId = uuidv7()
    await this.#storage.commit(
      snapshot,
      { runId, trigger: 'import', ...authorship, steps, failed: [] },
      undefined,
    )
    if (undone === true) this.#toUndo.push({ runId, reason: authorship.reason })
    this.outcomes.push({ id, status: 'applied', compactionId, ...(rowsLeft > 0 && { rowsLeft }) })
  }
}

function isTurn(event: string): boolean {
  return event === 'undone' || event === 'redone'
}

/** Returns the rows within some positions; inserted rows count at the last position they cover. */
function rowsWithin(rows: readonly ViewRow[], ranges: readonly PositionRange[]): ViewRow[] {
  const ordered = [...ranges].sort((a, b) => a[0] - b[0])
  const within: ViewRow[] = []
  let next = 0
  for (const row of rows) {
    while (next < ordered.length && ordered[next]![1] < row.anchor) next += 1
    const range = ordered[next]
    if (range !== undefined && range[0] <= row.anchor) within.push(row)
  }
  return within
}

/*
 * Plans for another system's compactions. That system may have hidden more than the laws allow: half of a tool call, a system message. Such
 * rows stay visible; nothing else changes.
 */

type ImportedPlan = {
  readonly steps: readonly PlannedStep[]
  /** Number of rows that the other system hid and that stay visible here. */
  readonly rowsLeft: number
}

/** Why there is no plan, as a sentence without a period. */
type NoPlan = { readonly why: string }

/**
 * Returns the plans for a compaction of these rows of a view. A summary represents consecutive rows, so if a row in between stays, the rows
 * before it are hidden by a truncation of the same run.
 */
function planImported(
  view: View,
  rows: readonly ViewRow[],
  compaction: ImportedCompaction,
  params: Plan['params'],
  nextOrdinal: number,
): ImportedPlan | NoPlan {
  const { kind, text = '' } = compaction
  if (kind === 'condense' && text.trim() === '') return { why: 'it has no summary' }
  if (kind === 'manual' && isEndOf(view, rows)) return rewound(view, rows, params, nextOrdinal)
  const hide = legalAmong(view, rows, kind === 'condense')
  if (hide.length === 0) return { why: 'none of the messages that it covers is visible and may be hidden' }
  const rowsLeft = rows.length - hide.length
  if (kind !== 'condense') {
    const insert = text === '' || kind === 'manual' ? {} : { insert: insertOf(view, 'marker', text) }
    const plan: Plan = { kind, hide, replace: [], requires: [], params, ...insert }
    return { steps: [applyPlan(view, plan, -1, nextOrdinal)], rowsLeft }
  }
  const runs = adjacentRuns(view, hide)
  const steps: PlannedStep[] = []
  let now = view
  for (const run of runs.slice(0, -1)) {
    const hidden = run.filter((row) => row.kind !== 'summary')
    if (hidden.length === 0) continue
    const plan: Plan = { kind: 'truncate', hide: hidden, replace: [], requires: [], params }
    steps.push(applyPlan(now, plan, -1 - steps.length, nextOrdinal))
    now = steps.at(-1)!.after
  }
  const plan = condensePlan(runs.at(-1)!, insertOf(view, 'summary', text), params)
  steps.push(applyPlan(now, plan, -1 - steps.length, nextOrdinal))
  return { steps, rowsLeft: rowsLeft + summariesIn(runs.slice(0, -1)) }
}

/** Plans a rewind at the end of the conversation, to which other laws apply. */
function rewound(
  view: View,
  rows: readonly ViewRow[],
  params: Plan['params'],
  nextOrdinal: number,
): ImportedPlan {
  const plan = { ...planRewind(view, view.rows.length - rows.length, [], true), params }
  return { steps: [applyPlan(view, plan, -1, nextOrdinal)], rowsLeft: 0 }
}

function isEndOf(view: View, rows: readonly ViewRow[]): boolean {
  const start = view.rows.length - rows.length
  return rows.length > 0 && rows.every((row, at) => row === view.rows[start + at])
}

/** Returns the rows that a plan may hide: no system messages, pinned rows or pending calls, and only whole groups. */
function legalAmong(view: View, rows: readonly ViewRow[], isCondensing: boolean): ViewRow[] {
  const { turns } = view
  const wanted = new Set(rows.map((row) => view.indexOf(row.key)!))
  const stays = (index: number): boolean => {
    const row = view.rows[index]!
    if (!wanted.has(index) || row.pinned || turns.pending.has(index)) return true
    return row.kind === 'message' ? row.role === 'system' : row.kind === 'summary' && !isCondensing
  }
  return rows.filter((row) => !turns.groupOf(view.indexOf(row.key)!).some(stays))
}

function adjacentRuns(view: View, rows: readonly ViewRow[]): ViewRow[][] {
  const runs: ViewRow[][] = []
  let last = -2
  for (const row of rows) {
    const index = view.indexOf(row.key)!
    if (index === last + 1) runs.at(-1)!.push(row)
    else runs.push([row])
    last = index
  }
  return runs
}

function summariesIn(runs: readonly (readonly ViewRow[])[]): number {
  return runs.flat().filter(({ kind }) => kind === 'summary').length
}

function insertOf(view: View, kind: PlannedInsert['kind'], text: string): PlannedInsert {
  const sizes = measureMessage({ content: text }, view.estimator)
  return { kind, role: 'system', text, metadata: {}, sizes }
}
