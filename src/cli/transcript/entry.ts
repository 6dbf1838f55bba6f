import type { Part, PositionRange, Role, RowKind } from '../../messages/message.ts'
import type { HiddenBy } from './hidden-by.ts'

/** One row of a session, ready to be shown. */
export type Entry = {
  readonly id: string
  readonly kind: RowKind
  readonly role: Role
  readonly position: number | undefined
  readonly createdAt: number
  readonly content: string | readonly Part[]
  /** Why it is not in the view. */
  readonly hidden: HiddenBy | undefined
  readonly pinned: boolean
  /** Parts in whose place the view shows another text, whether or not that is what `content` has. */
  readonly replacedParts: readonly number[]
  /** Positions a summary or marker stands for. */
  readonly standsFor: readonly PositionRange[]
  /** The compaction that inserted it. */
  readonly insertedBy: string | undefined
}
