import type { StoredMessage } from '../../core/messages/message.ts'

/* The rows of the log beside a request: what was hidden, by what, in runs. */

/** Rows with the same reason to be shown or hidden, next to each other. */
export type LogGroup = {
  /** The compaction that hid them; `''` if it isn't known, undefined for visible rows. */
  readonly hiddenBy: string | undefined
  readonly rows: readonly StoredMessage[]
}

/** Returns the compaction that hides a row. */
export function hiderOf(row: StoredMessage): string | undefined {
  if (!row.hidden) return undefined
  return row.condenseParent ?? row.truncationParent ?? row.retiredBy ?? ''
}

/** Joins neighbors that the same compaction hides; each visible row is in a group of visible ones. */
export function logGroups(rows: readonly StoredMessage[]): LogGroup[] {
  const groups: { hiddenBy: string | undefined; rows: StoredMessage[] }[] = []
  for (const row of rows) {
    const hiddenBy = hiderOf(row)
    const last = groups.at(-1)
    if (last !== undefined && last.hiddenBy === hiddenBy) last.rows.push(row)
    else groups.push({ hiddenBy, rows: [row] })
  }
  return groups
}

/** The part of the log that is read: positions after `after` and before `before`. */
export type Window = { readonly after: number; readonly before: number }

/** Returns the window at the end of the log. */
export function lastWindow(position: number, size: number): Window {
  return { after: Math.max(0, position - size), before: position + 1 }
}

/** Returns a window with a position in it: the same if it is in it, or near, otherwise one around it. */
export function windowWith(window: Window, position: number, last: number, size: number): Window {
  const { after, before } = window
  if (position > after && position < before) return window
  if (position <= after && after - position < 2 * size) return { after: Math.max(0, position - 10), before }
  if (position >= before && position - before < 2 * size)
    return { after, before: Math.min(last + 1, position + 10) }
  return { after: Math.max(0, position - 10), before: Math.min(last + 1, position + size) }
}
