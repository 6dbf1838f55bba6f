import type { Role, RowKind } from '../../core/messages/message.ts'
import type { RecallRemark } from './remarks.ts'

/** Part of the text of a message. */
export type RecalledPassage = {
  /** Its place in the text of the message, UTF-16 units. */
  readonly from: number
  readonly to: number
  readonly text: string
}

/** What an answer shows of a stored message, and where that is from. */
export type RecalledPiece = {
  readonly sessionId: string
  readonly messageId: string
  readonly kind: RowKind
  /** The position of a message; absent for a summary. */
  readonly position?: number
  /** The position of a message; of a summary, the last position that it covers. */
  readonly anchor: number
  readonly role: Role
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The tools that it calls or holds a result of. Absent for none. */
  readonly tools?: readonly string[]
  /** The compaction that hides it; absent for a row of the view. */
  readonly hiddenBy?: string
  /** Compactions because of which the view shows other texts in place of parts of it; absent for none. */
  readonly replacedBy?: readonly string[]
  /** In the order of the text. */
  readonly passages: readonly RecalledPassage[]
  /** The length of its whole text, UTF-16 units. */
  readonly length: number
  /** The text after the last passage: a cursor of `open_history`. Absent at the end of the text. */
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
  /** The text after this part: a cursor of the same tool. Absent at the end of the text. */
  readonly cursor?: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** The answer of a recall tool: a text for the model, and the same as plain values. */
export type RecallAnswer = {
  /** At most `maxTokens` tokens by the estimator of the session. Stored text is between marks that it cannot contain. */
  readonly text: string
  /** Tokens of the text. */
  readonly tokens: number
  readonly pieces: readonly RecalledPiece[]
  readonly notes?: readonly RecalledNoteText[]
  /** What the answer says of them, as codes and facts: the sentences of the text. */
  readonly remarks: readonly RecallRemark[]
  /** A cursor of the same tool for what follows; absent at the end. */
  readonly cursor?: string
  /** A cursor of the same tool for what comes before; absent at the beginning. */
  readonly previous?: string
  /** Of a search: rows that are not in the index, which cannot be written, were not searched. */
  readonly complete?: false
  /** Of a search without hits: no word of the query could be looked for. `leftOut` are those that are too common. */
  readonly noWords?: true
  readonly leftOut?: readonly string[]
  /** The code of what prevented an answer, such as `INVALID_INPUT`; `text` says what to do. */
  readonly problem?: string
}

/** What an answer consists of, before its text is made. */
export type AnswerData = {
  /** In the order in which they are shown. */
  readonly pieces?: readonly RecalledPiece[]
  /** The index of the piece that is cut first; `-1` when none may be. Default the last one. */
  readonly cut?: number
  /** Where the text of the only piece ends, when its message goes on after it. */
  readonly end?: number | undefined
  readonly notes?: readonly RecalledNoteText[]
  readonly lead: RecallRemark
  readonly trail?: readonly RecallRemark[]
  readonly cursor?: string | undefined
  readonly previous?: string | undefined
}
