import { type Message, type Part, partsOf } from '../../messages/message.ts'
import { type UiRow, uiRowOf } from './ui-layout.ts'

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
