import { z } from 'zod'
import { UndertextError } from '../../core/errors.ts'
import { headOf } from '../../core/messages/characters.ts'
import { check } from '../../core/messages/check.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import type { ExpandedSummary } from '../../core/model/expansion.ts'
import { type Moment, type MomentPoint, publicPoint } from '../../core/model/moment.ts'
import type { RowsSize } from '../../core/model/timeline.ts'
import type { ToolCall, ToolOutput } from '../../core/model/tool-calls.ts'
import {
  type ImportanceOptions,
  importanceSchema,
  type SessionImportance,
  scoreSession,
} from '../../core/stages/importance/scorer.ts'
import { type Sizes, tokensOf } from '../../core/tokens/measure.ts'
import type { PastFigures, ViewChange } from '../../storage/storage.ts'
import { checkId } from '../arguments.ts'
import { type AuthorshipOptions, authorshipSchema, idsSchema, momentSchema } from '../config/store-options.ts'
import type { Services } from '../services.ts'

/** Call ids are chosen by providers, so any text is valid. */
const callIdSchema = z.string()
const toolOutputSchema = z.strictObject({ position: z.int().positive().optional() })
/** Options of `messages.toolOutput`. */
export type ToolOutputOptions = z.input<typeof toolOutputSchema>
const toolCallsSchema = z.strictObject({
  after: z.int().nonnegative().default(0),
  limit: z.int().positive().max(100_000).default(1_000),
})
/** Options of `messages.toolCalls`. */
export type ListToolCallsOptions = z.input<typeof toolCallsSchema>
const expandTreeSchema = z.strictObject({
  /** Number of levels of summaries to open. */
  depth: z.int().positive().default(1),
  flat: z.literal(false).optional(),
})
/** Options of `messages.expand`. */
export type ExpandOptions = z.input<typeof expandTreeSchema>
const expandFlatSchema = z.strictObject({
  /** Whether to return the messages of the log, through all levels of summaries, instead of a tree. */
  flat: z.literal(true),
  after: z.int().nonnegative().default(0),
  limit: z.int().positive().optional(),
})
/** Options of `messages.expand` for a list of messages. */
export type ExpandFlatOptions = z.input<typeof expandFlatSchema>
const expandSchema = z.union([expandFlatSchema, expandTreeSchema])
const timelineSchema = z.strictObject({
  /** Positions of the first and the last answer to include. Default: the whole session. */
  from: z.int().positive().default(1),
  to: z.int().positive().optional(),
  /** Maximum number of points, from 2 to 5,000. Default 500. */
  points: z.int().min(2).max(5_000).default(500),
})
/** Options of `messages.timeline`. */
export type TimelineOptions = z.input<typeof timelineSchema>

/** The point in a session's log and audit that a moment refers to. */
export type ResolvedMoment = MomentPoint & {
  /** The time of the last message or audit entry, milliseconds since 1970; `undefined` in an empty session. */
  readonly time: number | undefined
}

/** The difference between two views of a session. */
export type ViewDiff = {
  readonly from: MomentPoint
  readonly to: MomentPoint
  /** The number of rows of each view. */
  readonly rows: { readonly before: number; readonly after: number }
  /** The tokens of each view, by the session's estimator, for its provider. */
  readonly tokens: { readonly before: number; readonly after: number }
  /** The rows that differ, in the order of the view. */
  readonly changes: readonly ViewChange[]
}

/** The size of the context when an answer was written. */
export type TimelinePoint = {
  /** The position of the answer. */
  readonly answer: number
  /** The last position of the log in what was sent: the one before the answer. */
  readonly position: number
  /**
   * The number of the last entry of the audit in force for the answer: that of its recorded request, otherwise the last one before the answer
   * was appended. 0 before the first.
   */
  readonly auditNo: number
  /** The time of the answer, in milliseconds since 1970. */
  readonly time: number
  /** The number of rows of the view that are sent. */
  readonly rows: number
  /** The sizes of the view by category, in the estimator's units, like `sizes` of `getContextStats`. */
  readonly sizes: Sizes
  /** The tokens of the view, by the session's estimator, for its provider. */
  readonly tokens: number
  /** The tokens of all messages stored up to `position`, as if nothing had been compacted, shortened or rewound. */
  readonly logTokens: number
  /** The id of the recorded request whose answer contains the message. */
  readonly requestId?: string
}

/** The size of the context over time. */
export type Timeline = {
  /** Oldest first. */
  readonly points: readonly TimelinePoint[]
  /** The number of answers in the range. If it is more than the number of points, the points are at even distances. */
  readonly answers: number
}

/** Single messages and tool calls of a session, pins, and the views at other moments. */
export class Messages {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Pins messages: no compaction hides or changes them. Returns the number of messages that weren't pinned before. Throws
   * `MESSAGE_NOT_FOUND`.
   */
  async pin(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<number> {
    return this.#setPin('messages.pin', sessionId, messageIds, true, options)
  }

  /** Unpins messages, with effect from the next plan. Returns the number of messages that were pinned. Throws `MESSAGE_NOT_FOUND`. */
  async unpin(
    sessionId: string,
    messageIds: readonly string[],
    options: AuthorshipOptions = {},
  ): Promise<number> {
    return this.#setPin('messages.unpin', sessionId, messageIds, false, options)
  }

  /**
   * Opens a summary: returns the originals that its compaction covers, in order, and opens the summaries among them down to `depth` levels
   * (default 1). Each row has its positions, times and tokens; each summary also has its level and the number of messages it represents.
   * With `flat`, returns the messages of the log that the summary represents through all summaries below it, with their tags; for the next
   * page, pass the last position as `after`. Also works for summaries that are hidden or whose compaction was undone.
   *
   * Throws `MESSAGE_NOT_FOUND`, `INVALID_INPUT` for a message that isn't a summary, `ESTIMATOR_UNKNOWN`, and `STORE_CORRUPT` if the content
   * of a row is missing.
   */
  async expand(sessionId: string, summaryId: string, options: ExpandFlatOptions): Promise<StoredMessage[]>
  async expand(sessionId: string, summaryId: string, options?: ExpandOptions): Promise<ExpandedSummary>
  async expand(
    sessionId: string,
    summaryId: string,
    options: ExpandOptions | ExpandFlatOptions = {},
  ): Promise<ExpandedSummary | StoredMessage[]> {
    const checked = check(expandSchema, options, 'messages.expand')
    const id = checkId(sessionId)
    const summary = checkId(summaryId, 'summaryId')
    const { storage } = this.#services.context
    if (checked.flat === true)
      return storage.sources(id, summary, { after: checked.after, limit: checked.limit })
    return storage.expand(id, summary, checked.depth)
  }

  /**
   * Returns the input and the output of a tool call in full, whatever compactions did to them. Call ids may repeat within a session:
   * without `position` the newest call is used; otherwise, the one whose call or result is the message at that position.
   *
   * Throws `TOOL_CALL_NOT_FOUND`, `ESTIMATOR_UNKNOWN`.
   */
  async toolOutput(sessionId: string, callId: string, options: ToolOutputOptions = {}): Promise<ToolOutput> {
    const id = checkId(sessionId)
    const call = check(callIdSchema, callId, 'messages.toolOutput: callId')
    const { position } = check(toolOutputSchema, options, 'messages.toolOutput')
    const found = await this.#services.context.storage.toolOutput(id, call, position)
    if (found !== undefined) return found
    const facts = { sessionId: id, callId: headOf(call, 200), ...(position !== undefined && { position }) }
    throw new UndertextError('TOOL_CALL_NOT_FOUND', facts)
  }

  /**
   * Lists the tool calls in the order of the log, including hidden ones: how each ended, its size, and what the view shows of its output. A
   * page ends with the message in which `limit` (default 1,000) calls are reached, so it may contain a few more; for the next page, pass
   * the position of the last call's message as `after`. Results without a call aren't listed. Rewound messages are paired separately: a
   * call whose result was rewound is pending again, and isn't paired with a result of another branch that repeats its id. Throws
   * `ESTIMATOR_UNKNOWN`.
   */
  async toolCalls(sessionId: string, options: ListToolCallsOptions = {}): Promise<ToolCall[]> {
    return this.#services.context.storage.toolCalls(
      checkId(sessionId),
      check(toolCallsSchema, options, 'messages.toolCalls'),
    )
  }

  /**
   * Scores each visible message or tool group from 0 to 1, with reasons. Hides and stores nothing; the same history gives the same scores,
   * even after a restart. `weights` override the default weights. A `scorer` of the application may call a model; if it fails, the default
   * scorer is used and `warning` is set. Reads every visible message.
   */
  async importance(sessionId: string, options: ImportanceOptions = {}): Promise<SessionImportance> {
    const id = checkId(sessionId)
    const checked = check(importanceSchema, options, 'messages.importance')
    const { storage } = this.#services.context
    // A snapshot needs a provider, but scores don't depend on it.
    const snapshot = await storage.snapshot(id, this.#services.context.modelFor(undefined).key)
    if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    const contents = await storage.contents(
      id,
      snapshot.view.rows.map(({ key }) => key),
    )
    return scoreSession(snapshot.view, (row) => contents.get(row.key) ?? [], checked)
  }

  /**
   * Resolves a moment of a session: returns the last position of its log, the number of the last entry of its audit, and the time of the
   * later of the two.
   *
   * Throws `MESSAGE_NOT_FOUND`, `COMPACTION_NOT_FOUND`, `REQUEST_NOT_FOUND`, and `INVALID_INPUT` for an audit entry that the session
   * doesn't have.
   */
  async moment(sessionId: string, at: Moment): Promise<ResolvedMoment> {
    const id = checkId(sessionId)
    const { time, ...point } = await this.#services.context.storage.past.point(
      id,
      check(momentSchema, at, 'messages.moment: at'),
    )
    return { ...publicPoint(point), time }
  }

  /**
   * Compares the views at two moments; the second defaults to now. Returns the rows that appeared, disappeared or changed, in the order of
   * the view, the compactions responsible, and the rows and tokens of both views, by the session's estimator. Contains no text of the
   * conversation. Throws the errors of `messages.moment`, and `ESTIMATOR_UNKNOWN`.
   */
  async diff(sessionId: string, from: Moment, to?: Moment): Promise<ViewDiff> {
    const id = checkId(sessionId)
    const first = check(momentSchema, from, 'messages.diff: from')
    const second = to === undefined ? undefined : check(momentSchema, to, 'messages.diff: to')
    const session = await this.#services.context.requireSession(id)
    const estimator = this.#services.context.estimatorNamed(session.estimator, id)
    const { key } = this.#services.context.modelFor(session)
    const diff = await this.#services.context.storage.past.diff(id, first, second)
    const tokens = ({ visibleSizes, visibleCount }: PastFigures): number =>
      tokensOf(visibleSizes, visibleCount, estimator, key)
    return {
      from: publicPoint(diff.from),
      to: publicPoint(diff.to),
      rows: { before: diff.before.visibleCount, after: diff.after.visibleCount },
      tokens: { before: tokens(diff.before), after: tokens(diff.after) },
      changes: diff.changes,
    }
  }

  /**
   * Returns the size of the context at the answers of a session: at each message of the assistant that isn't silent, even if it was
   * rewound, the rows, sizes and tokens of the view before it. The figures are those of `getContextStats` with `at`. If there are more than
   * `points` (default 500) answers between the positions `from` and `to`, the points are evenly spaced, and include the first and the last.
   * Reads no contents; the time grows with the rows and compactions, not with the number of points.
   *
   * Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`.
   */
  async timeline(sessionId: string, options: TimelineOptions = {}): Promise<Timeline> {
    const id = checkId(sessionId)
    const { from, to, points } = check(timelineSchema, options, 'messages.timeline')
    const { context } = this.#services
    const session = await context.requireSession(id)
    const estimator = context.estimatorNamed(session.estimator, id)
    const { key } = context.modelFor(session)
    const found = await context.storage.past.timeline(id, { from, to, points })
    const tokens = ({ rows, sizes }: RowsSize): number => tokensOf(sizes, rows, estimator, key)
    return {
      points: found.points.map(({ answer, point, time, view, log, request }) => ({
        ...{ answer, ...publicPoint(point), time },
        ...{ rows: view.rows, sizes: view.sizes, tokens: tokens(view), logTokens: tokens(log) },
        ...(request !== undefined && { requestId: request }),
      })),
      answers: found.answers,
    }
  }

  async #setPin(
    verb: string,
    sessionId: string,
    messageIds: readonly string[],
    pinned: boolean,
    options: AuthorshipOptions,
  ): Promise<number> {
    const id = checkId(sessionId)
    const ids = check(idsSchema, messageIds, `${verb}: messageIds`)
    const { actor, reason } = check(authorshipSchema, options, verb)
    return this.#services.context.storage.pin(id, ids, pinned, { actor, reason })
  }
}
