import { v7 as uuidv7 } from 'uuid'
import { resolveModel } from '../config/model.ts'
import { UndertextError } from '../errors.ts'
import { lastBlockOf } from '../messages/compaction-block.ts'
import type { Part } from '../messages/message.ts'
import { checkLaws } from '../model/laws.ts'
import { applyPlan, type Plan, type PlannedStep } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import {
  type AppliedEdit,
  type BlockPlace,
  clearedBy,
  planBlock,
  planClearedReasoning,
  planClearedResults,
  rowsOfOldestReasoning,
} from '../stages/provider-compaction.ts'
import type { Authorship, Compaction, Snapshot, Storage } from '../storage/storage.ts'
import { replanned } from './planned-run.ts'

/** The checked options of `recordProviderCompaction`. */
export type ProviderRecord = Authorship & {
  readonly messageId: string | undefined
  readonly provider: string | undefined
  readonly appliedEdits: readonly AppliedEdit[]
  readonly excludeTools: readonly string[]
}

/**
 * What became of a provider's compaction block:
 *
 * - `recorded`: it stands in the view for what is before it;
 * - `known`: it was recorded before, in force or undone, and nothing was done;
 * - `nothing-before`: nothing that may be hidden stands before it, so it stays where it is and is sent from there;
 * - `hidden`: its message is hidden, so the view does not need it;
 * - `none`: there is none.
 */
export type BlockOutcome = 'recorded' | 'known' | 'nothing-before' | 'hidden' | 'none'

/** What recording did. */
export type ProviderCompactionResult = {
  /** Whether anything was written. */
  readonly recorded: boolean
  /** The run that holds the compactions; absent when nothing was written. */
  readonly runId?: string
  readonly compactionIds: readonly string[]
  readonly block: BlockOutcome
  /**
   * The edits in the order given: how many results or turns the provider says it cleared, and how many of those there are
   * in the view, cleared now or before. Edits of other types count 0.
   */
  readonly edits: readonly { readonly type: string; readonly reported: number; readonly applied: number }[]
  /** Tokens of the history around it, by the session's estimator. */
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** How many messages are read at a time in search of a block. */
const SEARCH_ROWS = 64

/**
 * Records what a provider did to a conversation as compactions of kind `provider`, in one transaction.
 *
 * Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `STALE_PLAN`.
 */
export function recordProvider(
  storage: Storage,
  sessionId: string,
  record: ProviderRecord,
): Promise<ProviderCompactionResult> {
  return replanned(() => recordOnce(storage, sessionId, record))
}

async function recordOnce(
  storage: Storage,
  sessionId: string,
  record: ProviderRecord,
): Promise<ProviderCompactionResult> {
  const session = await storage.session(sessionId)
  if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  if (record.messageId !== undefined) await storage.requireMessages(sessionId, [record.messageId])
  const snapshot = await storage.snapshot(sessionId, resolveModel(session, record.provider, undefined).key)
  if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })

  const steps = new Steps(snapshot)
  const edits = await planEdits(storage, steps, record)
  const block = await planBlockOf(storage, steps, record)
  const result = {
    block,
    edits,
    tokensBefore: snapshot.view.tokens,
    tokensAfter: steps.view.tokens,
    compactionIds: steps.all.map(({ id }) => id),
  }
  if (steps.all.length === 0) return { recorded: false, ...result }
  const { actor, reason } = record
  const run = { runId: uuidv7(), trigger: 'provider' as const, actor, reason }
  await storage.commit(snapshot, { ...run, steps: steps.all, failed: [] }, undefined)
  return { recorded: true, runId: run.runId, ...result }
}

/** The steps of one recording, each on what the one before left. */
class Steps {
  readonly all: (PlannedStep & { readonly id: string; readonly createdAt: number })[] = []
  readonly #snapshot: Snapshot

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  get sessionId(): string {
    return this.#snapshot.session.id
  }

  get view(): View {
    return this.all.at(-1)?.after ?? this.#snapshot.view
  }

  add(plan: Plan): void {
    checkLaws(this.sessionId, this.view, plan)
    const step = applyPlan(this.view, plan, -1 - this.all.length, this.#snapshot.nextOrdinal)
    this.all.push({ ...step, id: uuidv7(), createdAt: Date.now() })
  }
}

async function planEdits(
  storage: Storage,
  steps: Steps,
  { appliedEdits, excludeTools, messageId }: ProviderRecord,
): Promise<ProviderCompactionResult['edits']> {
  const done: { type: string; reported: number; applied: number }[] = []
  for (const edit of appliedEdits) {
    const { view } = steps
    // The edits were made to the request, which the answer is not part of.
    const answer = messageId === undefined ? -1 : view.rows.findIndex(({ id }) => id === messageId)
    const end = answer === -1 ? view.rows.length : answer
    let planned: { plan: Plan | undefined; applied: number } = { plan: undefined, applied: 0 }
    let reported = 0
    if (edit.type.startsWith('clear_tool_uses')) {
      reported = clearedBy(edit, 'tool_uses')
      planned = planClearedResults(view, end, reported, edit, excludeTools)
    } else if (edit.type.startsWith('clear_thinking')) {
      reported = clearedBy(edit, 'thinking_turns')
      const keys = rowsOfOldestReasoning(view, end, reported).map(({ key }) => key)
      const contents = keys.length === 0 ? new Map<number, readonly Part[]>() : await storage.contents(keys)
      planned = planClearedReasoning(view, end, reported, edit, (row) => contents.get(row.key) ?? [])
    }
    if (planned.plan !== undefined) steps.add(planned.plan)
    done.push({ type: edit.type, reported, applied: planned.applied })
  }
  return done
}

async function planBlockOf(storage: Storage, steps: Steps, record: ProviderRecord): Promise<BlockOutcome> {
  const { messageId, appliedEdits } = record
  const isOnlyEdits =
    messageId === undefined &&
    appliedEdits.length > 0 &&
    !appliedEdits.some(({ type }) => type.startsWith('compact'))
  if (isOnlyEdits) return 'none'
  const place = await findBlock(storage, steps.view, messageId)
  if (typeof place === 'string') return place
  const known = await storage.compactions(steps.sessionId, {})
  if (known.some((compaction) => isOf(compaction, place))) return 'known'
  const plan = planBlock(steps.view, place)
  if (plan === undefined) return 'nothing-before'
  steps.add(plan)
  return 'recorded'
}

function isOf({ kind, params, status }: Compaction, { row, part }: BlockPlace): boolean {
  const wasMade = status === 'active' || status === 'undone'
  return kind === 'provider' && wasMade && params.messageId === row.id && params.part === part
}

/** The block of a message, or the newest one of the view. */
async function findBlock(
  storage: Storage,
  view: View,
  messageId: string | undefined,
): Promise<BlockPlace | 'hidden' | 'none'> {
  const rows = view.rows.filter(
    ({ kind, role, id }) =>
      kind === 'message' && (messageId === undefined ? role === 'assistant' : id === messageId),
  )
  if (messageId !== undefined && rows.length === 0) return 'hidden'
  for (let end = rows.length; end > 0; end -= SEARCH_ROWS) {
    const some = rows.slice(Math.max(0, end - SEARCH_ROWS), end)
    const contents = await storage.contents(some.map(({ key }) => key))
    for (const row of some.reverse()) {
      const parts = contents.get(row.key) ?? []
      const part = lastBlockOf(parts)
      if (part !== undefined) return { row, parts, part }
    }
  }
  return 'none'
}
