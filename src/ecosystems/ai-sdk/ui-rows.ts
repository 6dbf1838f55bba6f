import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import { type Message, type Part, partsOf } from '../../messages/message.ts'
import { AI_SDK, ownOfMessage } from './fields.ts'

/** A row of a log or a view, or a message that was never stored. */
export type AnyRow = Message & {
  readonly id?: string
  readonly kind?: 'message' | 'summary' | 'marker'
  readonly condenseId?: string
  readonly condenseParent?: string
  readonly truncationId?: string
  readonly truncationParent?: string
  readonly retiredBy?: string
}

/** A row of a group: its parts, what it says of its message, and its index in the list that was given. */
export type GroupRow<R extends AnyRow = AnyRow> = {
  readonly row: R
  readonly parts: readonly Part[]
  readonly ui: UiRow | undefined
  readonly index: number
}

/** Rows that are one message of a chat. */
export type Group<R extends AnyRow = AnyRow> = {
  readonly role: 'system' | 'user' | 'assistant'
  /** The id its rows name; `undefined` when they came from elsewhere. */
  readonly uiId: string | undefined
  readonly rows: GroupRow<R>[]
}

/**
 * Parts rows into messages of a chat. Rows of one message name it; of others an assistant's turn with the results of its tools is one
 * message. Rows that stand for others are left out where those are there, and where they count no more.
 */
export function groupsOf<R extends AnyRow>(rows: readonly R[]): Group<R>[] {
  const groups: Group<R>[] = []
  const stoodFor = new Set(
    rows.flatMap(({ condenseParent, truncationParent }) => [condenseParent, truncationParent]),
  )
  for (const [index, row] of rows.entries()) {
    if (isInserted(row)) {
      const standsFor = row.condenseId ?? row.truncationId
      if (row.retiredBy !== undefined || (standsFor !== undefined && stoodFor.has(standsFor))) continue
      groups.push({
        role: 'system',
        uiId: undefined,
        rows: [{ row, parts: partsOf(row), ui: undefined, index }],
      })
    } else addRow(groups, row, index)
  }
  return groups
}

function isInserted({ kind }: AnyRow): boolean {
  return kind !== undefined && kind !== 'message'
}

function addRow<R extends AnyRow>(groups: Group<R>[], row: R, index: number): void {
  const ui = uiRowOf(row.metadata)
  const parts = partsOf(row)
  const open = openTurn(groups)
  const add = (role: Group['role'], some: readonly Part[] = parts): void => {
    groups.push({ role, uiId: ui?.id, rows: [{ row, parts: some, ui, index }] })
  }
  if (ui !== undefined) {
    // Results that came later than their message was stored may follow on from another row.
    if (ui.first === undefined && open?.uiId === ui.id) open.rows.push({ row, parts, ui, index })
    else add(row.role === 'tool' || ui.steering !== undefined ? 'assistant' : row.role)
    return
  }
  if (row.role === 'assistant' || row.role === 'tool') {
    if (open === undefined) add('assistant')
    else open.rows.push({ row, parts, ui, index })
    return
  }
  const results = parts.filter(({ type }) => type === 'tool-result')
  if (row.role === 'system' || results.length === 0) {
    add(row.role)
    return
  }
  // Anthropic's form has results beside the words of a user.
  if (open === undefined) add('assistant', results)
  else open.rows.push({ row, parts: results, ui, index })
  const words = parts.filter(({ type }) => type !== 'tool-result')
  if (words.length > 0) add('user', words)
}

/** The assistant's turn that rows may still belong to. */
function openTurn<R extends AnyRow>(groups: readonly Group<R>[]): Group<R> | undefined {
  const last = groups.at(-1)
  return last?.role === 'assistant' ? last : undefined
}

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
