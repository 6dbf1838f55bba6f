import { addedParts, ownParts } from '../../core/messages/added.ts'
import { isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  isFailed,
  type Message,
  type Part,
  type ProviderPart,
  partsOf,
  type StoredMessage,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { AI_SDK, ownOf, ownOfMessage } from './fields.ts'

/*
 * How rows of the log store a message of a chat: a user's message is one row; each step of an assistant's message is one row with its texts
 * and calls and one with the results. `metadata['ai-sdk'].ui` of each row records its message and how its parts were shown. Rows do not
 * refer to each other, because others may be hidden.
 */

/** A shown call: `state` if it does not follow from the stored parts, `noInput` if the call had none. */
export type ShownTool = {
  readonly at: number
  readonly fields?: JsonObject
  readonly dynamic?: true
  readonly state?: string
  readonly noInput?: true
  readonly approval?: JsonObject
}

/**
 * How one part of a message was shown, in order:
 *
 * - a number: the part of the row's content with this index, without further fields;
 * - `'step-start'`: the beginning of a step;
 * - `at`: the part with this index, with further `fields`;
 * - `part`: a part that models do not read, unchanged; with `at`, models read the part with this index instead.
 */
export type Shown = number | 'step-start' | ShownTool | { readonly part: JsonObject; readonly at?: number }

/** The record on a row about its message. */
export type UiRow = {
  /** The id of the message. */
  readonly id: string
  /** On its first row: the message's `metadata` and unknown fields. */
  readonly first?: JsonObject
  /** On a row of a user's message between two steps: the id of the `steering-message` part. */
  readonly steering?: string
  /** How its parts were shown; absent if all were, in order and without further fields, and on rows of results. */
  readonly parts?: readonly Shown[]
}

/** The metadata of a row. */
export function uiMetadata(row: UiRow): JsonObject {
  return { [AI_SDK]: { ui: row as unknown as Json } }
}

/** Returns what a row records about its message, or `undefined` for a row from elsewhere. */
export function uiRowOf(metadata: JsonObject | undefined): UiRow | undefined {
  const { ui } = ownOfMessage(metadata)
  if (!isObject(ui) || typeof ui.id !== 'string') return undefined
  return {
    id: ui.id,
    ...(isObject(ui.first) && { first: ui.first as JsonObject }),
    ...(typeof ui.steering === 'string' && { steering: ui.steering }),
    ...(Array.isArray(ui.parts) && { parts: ui.parts as readonly Shown[] }),
  }
}

/** A row of a log or a view, or a message that was never stored. */
export type AnyRow = Message &
  Partial<
    Pick<
      StoredMessage,
      'id' | 'kind' | 'condenseId' | 'condenseParent' | 'truncationId' | 'truncationParent' | 'retiredBy'
    >
  >

/** A row of a group, with its parts, its layout and its index in the given list. */
export type GroupRow = {
  readonly row: AnyRow
  readonly parts: readonly Part[]
  readonly ui: UiRow | undefined
  readonly index: number
}

/** Rows that are one message of a chat. */
export type Group = {
  readonly role: 'system' | 'user' | 'assistant'
  /** The id of the message; `undefined` for rows of another origin. */
  readonly uiId: string | undefined
  readonly rows: GroupRow[]
}

/**
 * Groups rows by messages of a chat. Rows of one message name it; for rows from elsewhere, an assistant's turn with its tool results is one
 * message. Summaries and markers are left out if they were retired, or if the rows they replace are in the list.
 */
export function groupsOf(rows: readonly AnyRow[]): Group[] {
  const groups: Group[] = []
  const replaced = new Set(
    rows.flatMap(({ condenseParent, truncationParent }) => [condenseParent, truncationParent]),
  )
  for (const [index, row] of rows.entries()) {
    if (row.kind === undefined || row.kind === 'message') {
      addRow(groups, row, index)
      continue
    }
    const compaction = row.condenseId ?? row.truncationId
    if (row.retiredBy !== undefined || (compaction !== undefined && replaced.has(compaction))) continue
    groups.push({
      role: 'system',
      uiId: undefined,
      rows: [{ row, parts: partsOf(row), ui: undefined, index }],
    })
  }
  return groups
}

function addRow(groups: Group[], row: AnyRow, index: number): void {
  const ui = uiRowOf(row.metadata)
  const parts = ownParts(row)
  // A row that a request added isn't a message of the chat.
  if (parts.length === 0 && addedParts(row).size > 0) return
  const last = groups.at(-1)
  const open = last?.role === 'assistant' ? last : undefined
  const begin = (role: Group['role'], some = parts): void => {
    groups.push({ role, uiId: ui?.id, rows: [{ row, parts: some, ui, index }] })
  }
  /** Adds to the assistant's turn. */
  const join = (some = parts): void => {
    if (open === undefined) begin('assistant', some)
    else open.rows.push({ row, parts: some, ui, index })
  }
  if (ui !== undefined) {
    // Results stored later than their message may come after another row.
    if (ui.first === undefined && open?.uiId === ui.id) join()
    else begin(row.role === 'tool' || ui.steering !== undefined ? 'assistant' : row.role)
    return
  }
  const results = parts.filter(({ type }) => type === 'tool-result')
  if (row.role === 'assistant' || row.role === 'tool') join()
  else if (row.role === 'system' || results.length === 0) begin(row.role)
  else {
    // In Anthropic's format, results are part of a user's message.
    join(results)
    const others = parts.filter(({ type }) => type !== 'tool-result')
    if (others.length > 0) begin('user', others)
  }
}

/** Whether a part of a chat is a tool part: it holds a call, its approval and its result, which models read as separate parts. */
export function isToolPart({ type }: { readonly type: string }): boolean {
  return type === 'dynamic-tool' || type.startsWith('tool-')
}

/** The state of a tool part that follows from the parts that models read. */
export function derivedState(call: {
  readonly hasRequest: boolean
  readonly response: ProviderPart | undefined
  readonly result: ToolResultPart | undefined
}): string {
  const { hasRequest, response, result } = call
  if (result !== undefined) {
    if (ownOf(result).denied === true) return 'output-denied'
    return isFailed(result.output) ? 'output-error' : 'output-available'
  }
  if (response !== undefined) return 'approval-responded'
  return hasRequest ? 'approval-requested' : 'input-available'
}
