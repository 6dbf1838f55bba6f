import type { Role, RowKind, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import type { Moment, Point } from '../core/model/moment.ts'
import type { Readings } from '../core/tokens/calibration.ts'
import type { Awaitable } from './jobs.ts'
import type { MessageQuery, SessionFigures } from './sessions.ts'

/** The figures of a session that change with its log and its compactions. */
export type PastFigures = Pick<
  SessionFigures,
  'messageCount' | 'visibleCount' | 'visibleSizes' | 'hidden' | 'activeCompactions'
>

/** What past stats are computed from. */
export type PastStats = {
  readonly point: Point
  readonly figures: SessionFigures
  readonly readings: Readings
}

/** A row that two views of a session show differently. */
export type ViewChange = {
  /** Whether only the second view has the row, only the first has it, or both with other texts. */
  readonly change: 'appeared' | 'disappeared' | 'changed'
  readonly id: string
  readonly kind: RowKind
  readonly role: Role
  /** Place in the log; absent on summaries and markers. */
  readonly position?: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /**
   * The compaction that hides the row in the view without it, or that inserted it and was not in force then. Absent for a message that
   * was not stored yet, and for changed rows.
   */
  readonly compactionId?: string
  /** The parts with other texts: the compactions whose texts they show, `null` for the original. Absent unless the row changed. */
  readonly parts?: readonly {
    readonly part: number
    readonly before: string | null
    readonly after: string | null
  }[]
}

/** Two points of a session, the figures of their views, and the rows that differ, in the order of the view. */
export type PastDiff = {
  readonly from: Point
  readonly to: Point
  readonly before: PastFigures
  readonly after: PastFigures
  readonly changes: readonly ViewChange[]
}

/**
 * The past of sessions. Every method throws `SESSION_NOT_FOUND`, and for a moment `MESSAGE_NOT_FOUND`, `COMPACTION_NOT_FOUND` and
 * `INVALID_INPUT`; `undefined` as a moment is the present.
 */
export interface Past {
  /** The point that a moment names, and the time of its last event. */
  point(id: string, moment: Moment | undefined): Awaitable<Point & { readonly time: number | undefined }>
  /** The effective history at a moment. */
  view(
    id: string,
    moment: Moment,
    provenance: boolean,
  ): Awaitable<{ readonly point: Point; readonly messages: ViewMessage[] }>
  /** Stored rows with the tags that they had at a moment. */
  messages(id: string, query: MessageQuery, moment: Moment): Awaitable<StoredMessage[]>
  /** The figures at a moment, without a report of a provider; `undefined` for an unknown session. */
  stats(id: string, provider: string, model: string, moment: Moment): Awaitable<PastStats | undefined>
  diff(id: string, from: Moment, to: Moment | undefined): Awaitable<PastDiff>
}
