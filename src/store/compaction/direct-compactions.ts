import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { isUndertextError, UndertextError } from '../../core/errors.ts'
import { lastBlockOf } from '../../core/messages/compaction-block.ts'
import type { Part, ProviderPart } from '../../core/messages/message.ts'
import { checkLaws } from '../../core/model/laws.ts'
import { applyPlan, type Plan, type PlannedReplacement, type PlannedStep } from '../../core/model/plan.ts'
import type { View } from '../../core/model/view.ts'
import {
  type AppliedEdit,
  type BlockPlace,
  clearedBy,
  planBlock,
  planClearedReasoning,
  planClearedResults,
  planRequestedBlock,
  rowsOfOldestReasoning,
} from '../../core/stages/provider-compaction.ts'
import type { Authorship, Compaction, Session, Snapshot, Storage, Trigger } from '../../storage/storage.ts'
import { resolveModel } from '../config/model.ts'
import type { Cause } from '../config/store-options.ts'
import { savingsOf } from './draft-plan.ts'

/* Compactions that no stage plans: messages hidden by the application, parts that a provider rejected, and a provider's own compactions. */

/** Maximum number of plans if other writers change the view in between. */
export const MAX_PLANS = 5
const SEARCH_ROWS = 64

/** Plans and commits without a model, so nothing was paid for: a stale plan is made again. */
async function withReplans<T>(planAndCommit: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await planAndCommit()
    } catch (error) {
      if (!isUndertextError(error, 'STALE_PLAN') || attempt === MAX_PLANS) throw error
    }
  }
}

/** The steps of one run, each on the view that the previous one left. */
export class DirectRun {
  readonly runId = uuidv7()
  readonly steps: (PlannedStep & { readonly id: string; readonly createdAt: number })[] = []
  readonly snapshot: Snapshot

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot
  }

  get sessionId(): string {
    return this.snapshot.session.id
  }

  get view(): View {
    return this.steps.at(-1)?.after ?? this.snapshot.view
  }

  add(plan: Plan): void {
    checkLaws(this.sessionId, this.view, plan)
    const step = applyPlan(this.view, plan, -1 - this.steps.length, this.snapshot.nextOrdinal)
    this.steps.push({ ...step, id: uuidv7(), createdAt: Date.now() })
  }

  async commit(storage: Storage, trigger: Trigger, { actor, reason }: Authorship): Promise<void> {
    const run = { runId: this.runId, trigger, actor, reason, steps: this.steps, failed: [] }
    await storage.commit(this.snapshot, run, undefined)
  }
}

/** `providerOf`: the canonical provider for which tokens are counted. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
async function startRun(
  storage: Storage,
  sessionId: string,
  messageIds: readonly string[],
  providerOf: (session: Session) => string,
): Promise<DirectRun> {
  const session = await storage.session(sessionId)
  if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  if (messageIds.length > 0) await storage.requireMessages(sessionId, messageIds)
  const snapshot = await storage.snapshot(sessionId, providerOf(session))
  if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  return new DirectRun(snapshot)
}

/**
 * Hides messages; returns the compaction's id. Plans again if the view changes in the meantime.
 *
 * Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `ILLEGAL_BOUNDARY`, and `STALE_PLAN` for messages that are already hidden.
 */
export function hideMessages(
  storage: Storage,
  sessionId: string,
  messageIds: readonly string[],
  { params, ...authorship }: Authorship & { readonly params: Cause | undefined },
  providerOf: (session: Session) => string,
): Promise<string> {
  return withReplans(async () => {
    const run = await startRun(storage, sessionId, messageIds, providerOf)
    const missing = new Set(messageIds)
    const hide = run.view.rows.filter((row) => missing.delete(row.id))
    if (missing.size > 0) {
      const why = 'they are already hidden'
      throw new UndertextError('STALE_PLAN', { sessionId, why, messageIds: [...missing] })
    }
    run.add({ kind: 'manual', hide, replace: [], requires: [], params: { ...params } })
    await run.commit(storage, 'manual', authorship)
    return run.steps[0]!.id
  })
}

/** A part that a provider rejected, its current content, and the text to show. */
export type PartRepair = {
  readonly messageId: string
  readonly part: number
  readonly shown: Part
  readonly text: string
}

/** A repair of a view at this epoch, to which the content of its parts belongs. */
export type Repair = {
  readonly parts: readonly PartRepair[]
  readonly params: Plan['params']
  readonly viewEpoch: number
}

/**
 * Changes how parts that a provider rejected are shown, with a compaction of kind `repair`. Returns its id; `undefined` if `isAllowed`
 * returns false.
 *
 * Throws `SESSION_NOT_FOUND`, and `STALE_PLAN` if the view has changed. It isn't planned again here, because its texts are made from the
 * current content of the parts.
 */
export async function repairParts(
  storage: Storage,
  sessionId: string,
  { parts, params, viewEpoch }: Repair,
  authorship: Authorship,
  providerOf: (session: Session) => string,
  isAllowed: (run: DirectRun) => Promise<boolean>,
): Promise<string | undefined> {
  const run = await startRun(storage, sessionId, [], providerOf)
  const wanted = new Set(parts.map(({ messageId }) => messageId))
  const rows = new Map(run.view.rows.filter(({ id }) => wanted.has(id)).map((row) => [row.id, row]))
  if (run.snapshot.session.viewEpoch !== viewEpoch || rows.size < wanted.size) {
    const why = 'the view changed'
    throw new UndertextError('STALE_PLAN', { sessionId, why, messageIds: [...wanted] })
  }
  const keys = [...rows.values()].map(({ key }) => key)
  const contents = await storage.contents(sessionId, keys)
  const replace = parts.flatMap(({ messageId, part, shown, text: given }): PlannedReplacement[] => {
    const row = rows.get(messageId)!
    const text = storage.redaction?.text(given) ?? given
    const original = contents.get(row.key)?.[part]
    if (original === undefined) return []
    return [{ row, part, text, ...savingsOf(row, part, { original, shown, text }, run.view.estimator) }]
  })
  run.add({ kind: 'repair', hide: [], replace, requires: [], params })
  if (!(await isAllowed(run))) return undefined
  await run.commit(storage, 'refusal', authorship)
  return run.steps[0]!.id
}

/** The checked options of `compactions.recordProvider`. */
export type ProviderRecord = Authorship & {
  readonly messageId: string | undefined
  /** A block without a message, and the first message that it doesn't cover; `undefined` if it covers all. */
  readonly requested?:
    | {
        readonly block: ProviderPart
        readonly keepFrom: string | undefined
        /**
         * For reasoning that is bound to what precedes it: the prefixes of the messages that the block replaces, at a moment of the
         * session.
         */
        readonly replaced?: Pick<Session, 'messageCount' | 'viewEpoch'> & {
          readonly prefixes: readonly string[]
        }
      }
    | undefined
  readonly provider: string | undefined
  readonly appliedEdits: readonly AppliedEdit[]
  readonly excludeTools: readonly string[]
}

/**
 * The outcome for a provider's compaction block:
 *
 * - `recorded`: in the view it replaces everything before it;
 * - `known`: it was recorded before, in force or undone, and nothing was done;
 * - `nothing-before`: nothing before it may be hidden, so it stays in its message and is sent from there;
 * - `hidden`: its message is hidden, so the view doesn't need it;
 * - `none`: there is no block.
 */
export type BlockOutcome = 'recorded' | 'known' | 'nothing-before' | 'hidden' | 'none'

/** The result of `compactions.recordProvider`. */
export type ProviderCompactionResult = {
  /** Whether anything was written. */
  readonly recorded: boolean
  /** The run that contains the compactions; absent if nothing was written. */
  readonly runId?: string
  readonly compactionIds: readonly string[]
  readonly block: BlockOutcome
  /**
   * The edits in the given order: the number of results or turns that the provider reports as cleared, and how many of those are in the
   * view, cleared now or before. Edits of other types count 0.
   */
  readonly edits: readonly { readonly type: string; readonly reported: number; readonly applied: number }[]
  /** Tokens of the history before and after, by the session's estimator. */
  readonly tokensBefore: number
  readonly tokensAfter: number
}

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
  return withReplans(async () => {
    const messageIds = [record.messageId, record.requested?.keepFrom].filter((id) => id !== undefined)
    const providerOf = (session: Session) => resolveModel(session, record.provider, undefined).key
    const run = await startRun(storage, sessionId, messageIds, providerOf)
    const edits = await planEdits(storage, run, record)
    const block = await planBlockOf(storage, run, record)
    const isRecorded = run.steps.length > 0
    if (isRecorded) await run.commit(storage, 'provider', record)
    return {
      recorded: isRecorded,
      ...(isRecorded && { runId: run.runId }),
      block,
      edits,
      tokensBefore: run.snapshot.view.tokens,
      tokensAfter: run.view.tokens,
      compactionIds: run.steps.map(({ id }) => id),
    }
  })
}

async function planEdits(
  storage: Storage,
  run: DirectRun,
  { appliedEdits, excludeTools, messageId }: ProviderRecord,
): Promise<ProviderCompactionResult['edits']> {
  const done: { type: string; reported: number; applied: number }[] = []
  for (const edit of appliedEdits) {
    const { view } = run
    // The edits were made to the request, which doesn't contain the answer.
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
      const contents =
        keys.length === 0
          ? new Map<number, readonly Part[]>()
          : await storage.contents(run.snapshot.session.id, keys)
      planned = planClearedReasoning(view, end, reported, edit, (row) => contents.get(row.key) ?? [])
    }
    if (planned.plan !== undefined) run.add(planned.plan)
    done.push({ type: edit.type, reported, applied: planned.applied })
  }
  return done
}

async function planBlockOf(storage: Storage, run: DirectRun, record: ProviderRecord): Promise<BlockOutcome> {
  const { messageId, appliedEdits, requested } = record
  if (requested !== undefined) return planRequested(storage, run, requested)
  const isOnlyEdits =
    messageId === undefined &&
    appliedEdits.length > 0 &&
    !appliedEdits.some(({ type }) => type.startsWith('compact'))
  if (isOnlyEdits) return 'none'
  const place = await findBlock(storage, run, messageId)
  if (typeof place === 'string') return place
  const compactions = await storage.compactions(run.sessionId, {})
  if (compactions.some((compaction) => isOf(compaction, place))) return 'known'
  const plan = planBlock(run.view, place)
  if (plan === undefined) return 'nothing-before'
  run.add(plan)
  return 'recorded'
}

async function planRequested(
  storage: Storage,
  run: DirectRun,
  { block, keepFrom, replaced }: NonNullable<ProviderRecord['requested']>,
): Promise<BlockOutcome> {
  const { sessionId, view } = run
  const hash = createHash('sha256').update(JSON.stringify(block.data)).digest('hex').slice(0, 32)
  const compactions = await storage.compactions(sessionId, {})
  if (compactions.some(({ kind, params }) => kind === 'provider' && params.block === hash)) return 'known'
  const end = keepFrom === undefined ? view.rows.length : view.rows.findIndex(({ id }) => id === keepFrom)
  if (end === -1) {
    const why = 'the first kept message is hidden'
    throw new UndertextError('STALE_PLAN', { sessionId, why, messageIds: [keepFrom!] })
  }
  const { messageCount, viewEpoch } = run.snapshot.session
  const isNow = replaced?.messageCount === messageCount && replaced.viewEpoch === viewEpoch
  const metadata = isNow ? { prefixes: [...replaced.prefixes] } : {}
  const plan = planRequestedBlock(view, end, block, { block: hash }, metadata)
  if (plan === undefined) return 'nothing-before'
  run.add(plan)
  return 'recorded'
}

function isOf({ kind, params, status }: Compaction, { row, part }: BlockPlace): boolean {
  const wasInForce = status === 'active' || status === 'undone'
  return kind === 'provider' && wasInForce && params.messageId === row.id && params.part === part
}

/** Returns the block of a message, or the newest one in the view. */
async function findBlock(
  storage: Storage,
  { view, snapshot }: DirectRun,
  messageId: string | undefined,
): Promise<BlockPlace | 'hidden' | 'none'> {
  const rows = view.rows.filter(
    ({ kind, role, id }) =>
      kind === 'message' && (messageId === undefined ? role === 'assistant' : id === messageId),
  )
  if (messageId !== undefined && rows.length === 0) return 'hidden'
  for (let end = rows.length; end > 0; end -= SEARCH_ROWS) {
    const some = rows.slice(Math.max(0, end - SEARCH_ROWS), end)
    const contents = await storage.contents(
      snapshot.session.id,
      some.map(({ key }) => key),
    )
    for (const row of some.reverse()) {
      const parts = contents.get(row.key) ?? []
      const part = lastBlockOf(parts)
      if (part !== undefined) return { row, parts, part }
    }
  }
  return 'none'
}
