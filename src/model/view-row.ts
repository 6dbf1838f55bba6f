import type { Role, RowKind } from '../messages/message.ts'
import type { Sizes } from '../tokens/tokens.ts'

/** Lines of a file, from 1, both ends included; without `to`, up to the end. */
export type LineRange = { readonly from: number; readonly to?: number }

/** A call, as planning sees it. */
export type CallEntry = {
  readonly part: number
  readonly id: string
  readonly name: string
  /** The path argument, when there is one. */
  readonly path?: string
  /** The lines asked for, when the arguments say. */
  readonly range?: LineRange
}

/** A result, as planning sees it. Sizes are the original's. */
export type ResultEntry = {
  readonly part: number
  readonly id: string
  readonly name?: string
  readonly units: number
  readonly media: number
  readonly failed: boolean
}

/** A part of a row that shows a replacement, and which compaction's. */
export type ShownReplacement = { readonly part: number; readonly compaction: number }

/** One row of the view as planning sees it: figures, pairs and tags, no content. */
export interface ViewRow {
  /** The storage's own handle. Negative for a row that a plan of this very run inserts. */
  readonly key: number
  readonly id: string
  readonly kind: RowKind
  readonly role: Role
  /** Place in the log; `undefined` for summaries and markers. */
  readonly position: number | undefined
  readonly anchor: number
  readonly ordinal: number
  /** Sizes as shown, replacements applied. */
  readonly sizes: Sizes
  readonly pinned: boolean
  readonly hasReasoning: boolean
  /** Whether it says something besides calls and results. A block that only its provider can read says nothing. */
  readonly speaks: boolean
  readonly calls: readonly CallEntry[]
  readonly results: readonly ResultEntry[]
  readonly shown: readonly ShownReplacement[]
}
