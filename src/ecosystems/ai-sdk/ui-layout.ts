import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import { ownOfMessage } from './checks.ts'
import { AI_SDK } from './options.ts'

/*
 * How a message of a chat lies over the rows of the log: one row for what a user says; for an assistant's, per step, one row with what it
 * says and calls and one with the results that came. Each row says in `metadata['ai-sdk'].ui` which message it is of, and how its parts
 * were shown. A row speaks for itself, for others of its message may be hidden.
 */

/**
 * How one part of a message was shown, in order:
 *
 * - a number: the part of the row's content with this index, with nothing besides;
 * - `'step-start'`: where a step begins;
 * - `at`: the part with this index, and what was shown besides in `fields`; of a tool also `dynamic`, and `state` where it does not follow
 *   from what is there; `noInput` where there was none;
 * - `part`: something models do not read, as it was; with `at` beside it, what a model reads in its place has this index.
 */
export type Shown =
  | number
  | 'step-start'
  | {
      readonly at: number
      readonly fields?: JsonObject
      readonly dynamic?: true
      readonly state?: string
      readonly noInput?: true
      readonly approval?: JsonObject
    }
  | { readonly part: JsonObject; readonly at?: number }

/** What a row says of its message. */
export type UiRow = {
  /** The id of the message. */
  readonly id: string
  /** On its first row: what else the message says, `metadata` and fields nobody here knows. */
  readonly first?: JsonObject
  /** On a row of what a user said between two steps: the id of that part. */
  readonly steering?: string
  /** How its parts were shown; absent where all were, in order and with nothing besides, and on rows of results. */
  readonly parts?: readonly Shown[]
}

/** The metadata of a row. */
export function uiMetadata(row: UiRow): JsonObject {
  return { [AI_SDK]: { ui: row as unknown as Json } }
}

/** What a row says of its message; `undefined` where it came from elsewhere. */
export function uiRowOf(metadata: JsonObject | undefined): UiRow | undefined {
  const { ui } = ownOfMessage(metadata)
  if (!isObject(ui) || typeof ui.id !== 'string') return undefined
  const parts = Array.isArray(ui.parts) ? (ui.parts as readonly Shown[]) : undefined
  return {
    id: ui.id,
    ...(isObject(ui.first) && { first: ui.first as JsonObject }),
    ...(typeof ui.steering === 'string' && { steering: ui.steering }),
    ...(parts !== undefined && { parts }),
  }
}

/** A layout where it says more than that all parts were shown in order. */
export function worthKeeping(parts: readonly Shown[], count: number): { readonly parts?: readonly Shown[] } {
  const isPlain = parts.length === count && parts.every((part, index) => part === index)
  return isPlain ? {} : { parts }
}
