import type { Role, RowKind } from '../messages/message.ts'
import type { Sizes } from '../tokens/measure.ts'

/** Lines of a file, from 1, both ends included; without `to`, up to the end. */
export type LineRange = { readonly from: number; readonly to?: number }

/** A call in the planning index. */
export type CallEntry = {
  readonly part: number
  readonly id: string
  readonly name: string
  /** The path argument, if there is one. */
  readonly path?: string
  /** The requested lines, if the arguments have them. */
  readonly range?: LineRange
}

/** A result in the planning index. Sizes are the original's. */
export type ResultEntry = {
  readonly part: number
  readonly id: string
  readonly name?: string
  readonly units: number
  readonly media: number
  readonly failed: boolean
  /** Its images and the bytes of its media; absent for a result without media. */
  readonly attached?: Pick<Sizes, 'images' | 'mediaBytes' | 'largeImages'>
  /** Whether it has words of a person: the reason of a refusal. Absent when it has none. */
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
  /** Sizes as shown, replacements applied. */
  readonly sizes: Sizes
  readonly pinned: boolean
  readonly hasReasoning: boolean
  /** Whether it has content besides calls and results. A block that only its provider can read does not count. */
  readonly speaks: boolean
  /** Whether it is a message of the log of which nothing is sent, to any provider. It counts as no message and no tokens. */
  readonly silent: boolean
  readonly calls: readonly CallEntry[]
  readonly results: readonly ResultEntry[]
  readonly shown: readonly ShownReplacement[]
}
