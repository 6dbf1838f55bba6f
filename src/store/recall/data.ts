import type { Role, RowKind } from '../../core/messages/message.ts'
import type { RecallRemark } from './remarks.ts'

/** Part of the text of a message. */
export type RecalledPassage = {
  /** Its place in the text of the message, UTF-16 units. */
  readonly from: number
  readonly to: number
  readonly text: string
}

/** The part of a stored message that an answer shows, and its origin. */
export type RecalledPiece = {
  readonly sessionId: string
  readonly messageId: string
  readonly kind: RowKind
  /** The position of a message; absent for a summary. */
  readonly position?: number
  /** The position of a message; for a summary, the last position that it covers. */
  readonly anchor: number
  readonly role: Role
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The tools that the message calls or contains a result of. Absent if there are none. */
  readonly tools?: readonly string[]
  /** The compaction that hides the message; absent for a row of the view. */
  readonly hiddenBy?: string
  /** Compactions that replace parts of the message with other texts in the view; absent if there are none. */
  readonly replacedBy?: readonly string[]
  /** In the order of the text. */
  readonly passages: readonly RecalledPassage[]
  /** The length of the message's whole text, UTF-16 units. */
  readonly length: number
  /** A cursor of `open_history` for the text after the last passage. Absent at the end of the text. */
  readonly cursor?: string
}

/** A note, as an answer shows it. */
export type RecalledNoteText = {
  readonly id: string
  readonly key?: string
  readonly owner?: string
  readonly sessionId?: string
  /** The text, or a part of it. */
  readonly text: string
  /** The place of the part, and the length of the whole text, UTF-16 units. */
  readonly from: number
  readonly length: number
  /** A cursor of the same tool for the text after this part. Absent at the end of the text. */
  readonly cursor?: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** The answer of a recall tool: a text for the model, and the same as plain values. */
export type RecallAnswer = {
  /** At most `maxTokens` tokens, by the session's estimator. Stored text is between marks that it can't contain. */
  readonly text: string
  /** Tokens of the text. */
  readonly tokens: number
  readonly pieces: readonly RecalledPiece[]
  readonly notes?: readonly RecalledNoteText[]
  /** The remarks in the text, as codes and facts. */
  readonly remarks: readonly RecallRemark[]
  /** A cursor of the same tool for the next page; absent at the end. */
  readonly cursor?: string
  /** A cursor of the same tool for the previous page; absent at the beginning. */
  readonly previous?: string
  /** For a search: some rows weren't searched, because they aren't in the index and it can't be written. */
  readonly complete?: false
  /** For a search without hits: the query has no searchable word. `leftOut` has the words that are too common. */
  readonly noWords?: true
  readonly leftOut?: readonly string[]
  /** The code of the problem that prevented an answer, such as `INVALID_INPUT`; `text` explains what to do. */
  readonly problem?: string
}

/** The content of an answer, before its text is rendered. */
export type AnswerData = {
  /** In display order. */
  readonly pieces?: readonly RecalledPiece[]
  /** The index of the piece that is cut first; `-1` if none may be. Default: the last one. */
  readonly cut?: number
  /** Where the text of the only piece ends, if its message continues after it. */
  readonly end?: number | undefined
  readonly notes?: readonly RecalledNoteText[]
  readonly lead: RecallRemark
  readonly trail?: readonly RecallRemark[]
  readonly cursor?: string | undefined
  readonly previous?: string | undefined
}
