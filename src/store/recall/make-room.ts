import { z } from 'zod'
import { isUndertextError, type UndertextError } from '../../core/errors.ts'
import { headOf } from '../../core/messages/characters.ts'
import { labelSchema } from '../../core/messages/check.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import type { Awaitable } from '../../storage/jobs.ts'
import type { CompactionPreview, CompactionResult } from '../compaction/result.ts'
import type { CompactOptions } from '../config/store-options.ts'
import type { Store } from '../store.ts'
import { type Ask, answered, headWithin, problemAnswer, remarkAnswer } from './answer.ts'
import type { RecallAnswer } from './data.ts'
import { MODEL } from './log-notes.ts'
import { type RecallRemark, wrong } from './remarks.ts'
import type { RecallBounds, RecallScope, Scope } from './scope.ts'

const DEFAULT_SHARE = 0.5

const roomInput = z.strictObject({
  reason: labelSchema.min(1).describe('Why room is needed, in one sentence. It is recorded.'),
  targetShare: z
    .number()
    .min(0.05)
    .max(0.95)
    .optional()
    .describe('The share of the tokens of the conversation that should stay. Default 0.5.'),
  upToPosition: z
    .int()
    .positive()
    .optional()
    .describe(
      'Use this instead of targetShare. A summary replaces the messages up to this position. Pinned messages, system messages and the question that you are answering stay, and only messages after the last of these are replaced.',
    ),
  summary: z
    .string()
    .min(1)
    .max(100_000)
    .optional()
    .describe('With upToPosition: your summary of these messages. Default: one is written.'),
})
/** The input of `makeRoom`. */
export type MakeRoomInput = z.input<typeof roomInput>

/** The decision of a policy: apply the proposal, or refuse it with a reason, which the model reads. */
export type MakeRoomDecision = 'apply' | { readonly refuse: string }

/** Decides on a model's proposal. The preview shows what would happen; nothing is written yet. */
export type MakeRoomPolicy = (
  preview: CompactionPreview,
  proposal: MakeRoomInput,
) => Awaitable<MakeRoomDecision>

/**
 * Applies a proposal that reaches the share that the model asked for, or replaces the range that it specified. Everything can be undone.
 */
const applyIfTargetReached: MakeRoomPolicy = (preview, { upToPosition }) =>
  preview.reachedTarget || upToPosition !== undefined
    ? 'apply'
    : {
        refuse:
          'Compaction would not reach this share, because the newest messages are too large. Ask for a larger share.',
      }

/** The answer of `makeRoom`. */
export type MakeRoomAnswer = RecallAnswer & {
  /** What was applied; absent if nothing was. */
  readonly room?: {
    /** The id to pass to `undoCompaction`. */
    readonly runId: string
    readonly rowsHidden: number
    readonly partsReplaced: number
    readonly tokensBefore: number
    readonly tokensAfter: number
  }
}

/**
 * Compacts the session of a scope as a model proposes: previews it with the planner and the laws of every compaction, lets a policy decide,
 * and applies exactly the preview, with the actor `model` and the reason in the audit.
 */
export function makeRoom(
  store: Store,
  scope: RecallScope,
  input: MakeRoomInput,
  policy?: MakeRoomPolicy,
  bounds: RecallBounds = {},
): Promise<MakeRoomAnswer> {
  return answered(store, scope, roomBy(policy), input, bounds)
}

/** Returns the tool with a policy. */
export function roomBy(policy: MakeRoomPolicy = applyIfTargetReached): Ask<typeof roomInput, MakeRoomAnswer> {
  return {
    tool: 'make_room',
    input: roomInput,
    async work(scope, proposal, maxTokens) {
      const { base } = scope
      if (base === undefined) throw wrong('This tool has no conversation of its own.')
      try {
        return await propose(scope, base.id, proposal, policy, maxTokens)
      } catch (error) {
        const sentence = await refusalOf(scope, base.id, error)
        if (sentence === undefined) throw error
        return problemAnswer((error as UndertextError).code, sentence, scope)
      }
    },
  }
}

async function propose(
  scope: Scope,
  sessionId: string,
  proposal: z.output<typeof roomInput>,
  policy: MakeRoomPolicy,
  maxTokens: number,
): Promise<MakeRoomAnswer> {
  const { store } = scope
  const { options, trail } = await planOf(scope, sessionId, proposal)
  const preview = await store.previewCompaction(sessionId, options)
  if (preview === null || !preview.compacted) return remarkAnswer(scope, { code: 'nothing-hidden' })
  const decision = await policy(preview, proposal)
  if (decision !== 'apply') {
    const why = headWithin(scope, headOf(decision.refuse, 600), maxTokens - SENTENCE_TOKENS)
    return remarkAnswer(scope, { code: 'refused', why })
  }
  const result = await store.compactSession(sessionId, preview)
  if (result === null || !result.compacted) return remarkAnswer(scope, { code: 'vetoed' })
  return roomAnswer(scope, result, trail)
}

/** Tokens for the words before the reason of a refusal. */
const SENTENCE_TOKENS = 60

async function planOf(
  { store }: Scope,
  sessionId: string,
  { reason, targetShare, upToPosition, summary }: z.output<typeof roomInput>,
): Promise<{ readonly options: CompactOptions; readonly trail: readonly RecallRemark[] }> {
  const authorship = { actor: MODEL, reason }
  if (upToPosition === undefined) {
    if (summary !== undefined)
      throw wrong('A summary needs upToPosition: the last position that it replaces.')
    const stats = await store.getContextStats(sessionId)
    const tokens = stats?.breakdown.conversationHistory ?? 0
    const targetTokens = Math.floor(tokens * (targetShare ?? DEFAULT_SHARE))
    return { options: { ...authorship, targetTokens }, trail: [] }
  }
  if (targetShare !== undefined) throw wrong('Pass either targetShare or upToPosition.')
  const rows = await store.getMessages(sessionId, { visible: true })
  const question = rows.findLast(({ kind, role }) => kind === 'message' && role === 'user')
  const reasonKept = (row: StoredMessage): string | undefined => {
    if (row.pinned) return 'it is pinned'
    if (row.kind !== 'message') return undefined
    if (row.role === 'system') return 'it is a system message'
    return row.id === question?.id ? 'it is the question that you are answering' : undefined
  }
  const isKept = (row: StoredMessage): boolean => reasonKept(row) !== undefined
  const lastBefore = (position: number): StoredMessage | undefined =>
    rows.findLast((row) => row.anchor < position && !isKept(row))
  const covering = rows.find(({ anchor }) => anchor > upToPosition)
  if (covering?.kind === 'summary') {
    const [first, last] = (await store.messages.expand(sessionId, covering.id)).positions
    if (first <= upToPosition) {
      const whole = lastBefore(first)
      const ends = whole === undefined ? `${last}` : `${whole.anchor}, ${last}`
      throw wrong(
        `Position ${upToPosition} is within a summary of the positions ${first} to ${last}. Choose ${ends} or a position after ${last}.`,
      )
    }
  }
  const stays = rows.findLast((row) => row.anchor <= upToPosition && isKept(row))
  const before = stays && lastBefore(stays.anchor)
  const from = (stays?.anchor ?? 0) + 1
  const isShown = (row: StoredMessage): boolean => row.anchor <= upToPosition && !isKept(row)
  if (!rows.some((row) => row.anchor >= from && isShown(row))) {
    if (stays === undefined) throw wrong(`All messages up to position ${upToPosition} are already hidden.`)
    const after = `a position after ${Math.max(stays.anchor, upToPosition)}`
    throw wrong(
      `Position ${stays.anchor} stays, because ${reasonKept(stays)}. Choose ${before === undefined ? '' : `${before.anchor}, or `}${after}.`,
    )
  }
  return {
    options: {
      ...{ ...authorship, range: { from, to: upToPosition } },
      ...(summary !== undefined && { summary }),
    },
    trail:
      stays === undefined || before === undefined
        ? []
        : [{ code: 'stays', position: stays.anchor, why: reasonKept(stays)!, before: before.anchor }],
  }
}

function roomAnswer(scope: Scope, result: CompactionResult, more: readonly RecallRemark[]): MakeRoomAnswer {
  const { runId, tokensBefore, tokensAfter, compactions } = result
  const rowsHidden = compactions.reduce((sum, one) => sum + one.rowsHidden, 0)
  const partsReplaced = compactions.reduce((sum, one) => sum + one.partsReplaced, 0)
  const room = { rowsHidden, partsReplaced, tokensBefore, tokensAfter }
  const trail: RecallRemark[] = [{ code: 'can-undo', runId }, { code: 'still-stored' }, ...more]
  return { ...remarkAnswer(scope, { code: 'room', ...room }, trail), room: { runId, ...room } }
}

const MAX_POSITIONS = 5

/** Returns what a model should do if the store refuses; `undefined` if the model can neither fix it nor wait for it. */
async function refusalOf({ store }: Scope, sessionId: string, error: unknown): Promise<string | undefined> {
  if (isUndertextError(error, 'PENDING_TOOL_CALLS'))
    return 'Calls that wait for a result cannot be hidden. Choose a position before them.'
  if (isUndertextError(error, 'STALE_PLAN') || isUndertextError(error, 'COMPACTION_IN_PROGRESS'))
    return 'The conversation is being compacted or has changed meanwhile. Nothing was hidden.'
  if (!isUndertextError(error, 'ILLEGAL_BOUNDARY')) return undefined
  const named = new Set(error.facts.messageIds)
  const rows = await store.getMessages(sessionId, { visible: true })
  const positions = rows.filter(({ id }) => named.has(id)).map(({ anchor }) => anchor)
  const which =
    positions.length === 0
      ? 'some belong to a tool call that would be split'
      : positions.length === 1
        ? `position ${positions[0]} belongs to a tool call that would be split`
        : `positions ${positions.slice(0, MAX_POSITIONS).join(', ')} belong to tool calls that would be split`
  return `These messages cannot be hidden together: ${which}. Choose a position after the results of the call, or before the call.`
}
