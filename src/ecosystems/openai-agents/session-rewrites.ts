import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import type { NewMessage } from '../../messages/message.ts'
import { listAt, objectAt, stringAt } from '../wire.ts'
import { fromAgentItems } from './from-items.ts'
import type { AgentFunctionCallItem, AgentItem } from './item-types.ts'
import { itemsSaidAt, type Originals, type ShownRow, saidAt } from './session-rows.ts'
import { toAgentItems } from './to-items.ts'

/*
 * What is taken back, and said instead, when the SDK changes a history: functions of the view, so that they can be asked again
 * when somebody else changed it meanwhile.
 */

/** The first row that is hidden (the number of rows: none), and what is appended. `undefined`: nothing is to be done. */
export type Rewrite = { readonly from: number; readonly append: readonly NewMessage[] } | undefined

/** One call in the history gets other arguments, or another name. */
export type HistoryMutation = {
  readonly type: 'replace_function_call'
  readonly callId: string
  readonly replacement: AgentFunctionCallItem
}

/** The newest item, and the rewrite that takes it back. What its row says besides stays. */
export function poppedOf(
  rows: readonly ShownRow[],
  originals: Originals,
): { readonly item: AgentItem; readonly rewrite: Rewrite } | undefined {
  const from = rows.findLastIndex(({ shown }) => shown.length > 0)
  if (from === -1) return undefined
  const items = itemsSaidAt(rows, from, originals)
  const item = items.at(-1)
  return item && { item, rewrite: { from, append: fromAgentItems(items.slice(0, -1)) } }
}

/** Items as they come back from a store, so that equal ones are equal, and nobody else's. */
export function normalItems(items: readonly object[]): AgentItem[] {
  return structuredClone(toAgentItems(fromAgentItems(items)))
}

/** Mutations with replacements in the form items are stored in. Throws `INVALID_INPUT`. */
export function checkMutations(args: unknown): HistoryMutation[] {
  const { mutations } = objectAt(args, 'applyHistoryMutations')
  return listAt(mutations, 'mutations').map((mutation, i) => {
    const place = `mutations[${i}]`
    const { type, callId, replacement } = objectAt(mutation, place)
    if (type !== 'replace_function_call') throw invalid(`${place}.type: must be replace_function_call`)
    if (objectAt(replacement, `${place}.replacement`).type !== 'function_call')
      throw invalid(`${place}.replacement.type: must be function_call`)
    const [call] = normalItems([replacement as object])
    return { type, callId: stringAt(callId, `${place}.callId`), replacement: call as AgentFunctionCallItem }
  })
}

/** The rewrite that puts items in place of the newest ones; `'other'` when the newest ones are not these. */
export function suffixReplaced(
  rows: readonly ShownRow[],
  expected: readonly AgentItem[],
  replacement: readonly object[],
  originals: Originals,
): Rewrite | 'other' {
  const append = fromAgentItems(replacement)
  if (expected.length === 0) return { from: rows.length, append }
  let from = rows.length
  const newestFirst: (readonly AgentItem[])[] = []
  for (let count = 0; count < expected.length && from > 0; count += newestFirst.at(-1)!.length) {
    from -= 1
    newestFirst.push(itemsSaidAt(rows, from, originals))
  }
  const found = newestFirst.reverse().flat()
  const before = found.slice(0, Math.max(found.length - expected.length, 0))
  const end = normalItems(found.slice(before.length))
  if (!isDeepStrictEqual(end, expected)) return 'other'
  return { from, append: [...fromAgentItems(before), ...append] }
}

/**
 * The rewrite that changes calls: from the first row that changes on all is said again, changed rows as the mutations say. Of several
 * calls with one id the first is replaced and the others go, as the SDK's own sessions do.
 */
export function mutated(
  rows: readonly ShownRow[],
  mutations: readonly HistoryMutation[],
  originals: Originals,
): Rewrite {
  const items = rows.map(({ shown }) => shown.map((item): AgentItem | undefined => item))
  for (const { callId, replacement } of mutations) {
    let isReplaced = false
    for (const shown of items)
      shown.forEach((item, i) => {
        if (item?.type !== 'function_call' || item.callId !== callId) return
        shown[i] = isReplaced ? undefined : replacement
        isReplaced = true
      })
  }
  const isChanged = items.map((now, i) => !isDeepStrictEqual(now, rows[i]!.shown))
  const from = isChanged.indexOf(true)
  if (from === -1) return undefined
  const append = rows.slice(from).flatMap(({ row, shown }, i): readonly NewMessage[] => {
    const left = items[from + i]!.filter((item) => item !== undefined)
    if (shown.length === 0 || left.length === 0) return []
    if (isChanged[from + i] || row.kind !== 'message')
      return fromAgentItems(left).map((message) => ({ ...message, createdAt: row.createdAt }))
    const { role, content, metadata } = saidAt(rows, from + i, originals)
    return [{ role, content, createdAt: row.createdAt, ...(metadata !== undefined && { metadata }) }]
  })
  return { from, append }
}
