import type { Role, RowKind, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import type { Moment, Point } from '../core/model/moment.ts'
import type { RowsSize } from '../core/model/timeline.ts'
import type { Readings } from '../core/tokens/calibration.ts'
import type { Awaitable } from './jobs.ts'
import type { MessageQuery, SessionFigures } from './sessions.ts'

/** The figures of a session that change with its log and its compactions. */
export type PastFigures = Pick<
  SessionFigures,
  'messageCount' | 'visibleCount' | 'visibleSizes' | 'hidden' | 'activeCompactions'
>

/** The input of stats for a moment of the past. */
export type PastStats = {
  readonly point: Point
  readonly figures: SessionFigures
  readonly readings: Readings
}

/** A row that two views of a session show differently. */
export type ViewChange = {
  /** Whether only the second view has the row, only the first has it, or both have it with different texts. */
  readonly change: 'appeared' | 'disappeared' | 'changed'
  readonly id: string
  readonly kind: RowKind
  readonly role: Role
  /** The position in the log; absent for summaries and markers. */
  readonly position?: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /**
   * The compaction that hides the row in the view without it, or that inserted the row and wasn't in force at that point. Absent for
   * changed rows, and for a message that wasn't stored yet.
   */
  readonly compactionId?: string
  /**
   * The parts whose texts differ, with the compactions that these texts come from, `null` for the original. Absent unless the row changed.
   */
  readonly parts?: readonly {
    readonly part: number
    readonly before: string | null
    readonly after: string | null
  }[]
}

/** Two points of a session, the figures of their views, and the rows that differ, in view order. */
export type PastDiff = {
  readonly from: Point
  readonly to: Point
  readonly before: PastFigures
  readonly after: PastFigures
  readonly changes: readonly ViewChange[]
}

/** The answers of a timeline. `from` and `to` are positions; `points` is the maximum number of answers, at least 2. */
export type TimelineQuery = {
  readonly from: number
  readonly to: number | undefined
  readonly points: number
}

/** An answer: its position, the point of what was sent for it, and the sizes there of the view and of the whole log. */
export type PastAnswer = {
  readonly answer: number
  readonly point: Point
  /** When the answer was created, in milliseconds since 1970. */
  readonly time: number
  readonly view: RowsSize
  readonly log: RowsSize
  /** The id of the recorded request that it answers. */
  readonly request: string | undefined
}

/** Answers of a session, oldest first, and how many there are in the range. */
export type PastTimeline = { readonly points: readonly PastAnswer[]; readonly answers: number }

/**
 * The past of sessions. `undefined` as a moment means the present. Every method throws `SESSION_NOT_FOUND`; a moment can cause
 * `MESSAGE_NOT_FOUND`, `COMPACTION_NOT_FOUND` or `INVALID_INPUT`.
 */
export interface Past {
  /** Returns the point that a moment refers to, and the time of its last event. */
  point(id: string, moment: Moment | undefined): Awaitable<Point & { readonly time: number | undefined }>
  /** Returns the view at a moment. */
  view(
    id: string,
    moment: Moment,
    provenance: boolean,
  ): Awaitable<{ readonly point: Point; readonly messages: ViewMessage[] }>
  /** Returns stored rows with their tags at a moment. */
  messages(id: string, query: MessageQuery, moment: Moment): Awaitable<StoredMessage[]>
  /** Returns the figures at a moment, without a provider's report; `undefined` for an unknown session. */
  stats(id: string, provider: string, model: string, moment: Moment): Awaitable<PastStats | undefined>
  diff(id: string, from: Moment, to: Moment | undefined): Awaitable<PastDiff>
  /** Returns the sizes of the view at the answers of a session. */
  timeline(id: string, query: TimelineQuery): Awaitable<PastTimeline>
}
