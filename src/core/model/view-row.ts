import type { Role, RowKind } from '../messages/message.ts'
import type { Sizes } from '../tokens/measure.ts'

/** Lines of a file, counted from 1, both ends included; without `to`, up to the end. */
export type LineRange = { readonly from: number; readonly to?: number }

/** A call in the planning index. */
export type CallEntry = {
  readonly part: number
  readonly id: string
  readonly name: string
  /** The path argument, if any. */
  readonly path?: string
  /** The requested lines, if the arguments specify them. */
  readonly range?: LineRange
}

/** A result in the planning index. Sizes are those of the original. */
export type ResultEntry = {
  readonly part: number
  readonly id: string
  readonly name?: string
  readonly units: number
  readonly media: number
  readonly failed: boolean
  /** Its images and the bytes of its media; absent if it has no media. */
  readonly attached?: Pick<Sizes, 'images' | 'mediaBytes' | 'largeImages'>
  /** Whether it contains a person's words: the reason for a refusal. Absent if it contains none. */
  readonly spoken?: true
}

/** A part of a row that shows a replacement, with its compaction. */
export type ShownReplacement = { readonly part: number; readonly compaction: number }

/** A row of the planning index: figures, pairs and tags, no content. */
export interface ViewRow {
  /** The key in the storage. Negative for a row that a plan of this run inserts. */
  readonly key: number
  readonly id: string
  readonly kind: RowKind
  readonly role: Role
  /** The position in the log; `undefined` for summaries and markers. */
  readonly position: number | undefined
  readonly anchor: number
  readonly ordinal: number
  /** Sizes as shown, with replacements applied. */
  readonly sizes: Sizes
  readonly pinned: boolean
  readonly hasReasoning: boolean
  /** Whether the row has content other than calls and results. A block that only its provider can read doesn't count. */
  readonly speaks: boolean
  /** Whether the row is a silent message: no part of it is sent to any provider. It adds nothing to the counts of messages and tokens. */
  readonly silent: boolean
  readonly calls: readonly CallEntry[]
  readonly results: readonly ResultEntry[]
  readonly shown: readonly ShownReplacement[]
}
