import { invalid } from '../../errors.ts'
import { check, nameSchema } from '../../messages/check.ts'
import { canonicalJson } from '../../messages/json.ts'
import { isObject } from '../wire.ts'
import type { AgentItem } from './item-types.ts'
import { normalItems } from './session-rewrites.ts'

/** A change of a history that is made whole or not at all, and once however often it is asked for. */
export type HistoryTransaction =
  | { readonly type: 'append_items'; readonly items: readonly object[] }
  | {
      readonly type: 'replace_suffix'
      readonly expectedSuffix: readonly object[]
      readonly replacement: readonly object[]
    }

/** A transaction in the form its items are stored in, and what tells it from another. */
type CheckedTransaction = {
  readonly operationId: string
  readonly operationBody: string
  /** What must stand at the end; empty for an append. */
  readonly expected: readonly AgentItem[]
  readonly replacement: readonly AgentItem[]
}

const FIELDS: { readonly [type: string]: readonly string[] } = {
  append_items: ['items'],
  replace_suffix: ['expectedSuffix', 'replacement'],
}

/** Throws `INVALID_INPUT` for a transaction of another form, and for items that are none. */
export function checkTransaction(args: unknown): CheckedTransaction {
  const what = 'applyHistoryTransaction'
  const { operationId, transaction } = isObject(args) ? args : ({} as { readonly [name: string]: unknown })
  const id = check(nameSchema, operationId, `${what}: operationId`)
  if (id.trim() === '') throw invalid(`${what}: operationId: must not be blank`)
  if (!isObject(transaction)) throw invalid(`${what}: transaction: must be an object`)
  const { type, ...lists } = transaction as { readonly [name: string]: unknown }
  const names = typeof type === 'string' && Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined
  if (names === undefined)
    throw invalid(`${what}: transaction.type: must be one of ${Object.keys(FIELDS).join(', ')}`)
  if (Object.keys(lists).length !== names.length || !names.every((name) => Array.isArray(lists[name])))
    throw invalid(`${what}: transaction: must have the lists ${names.join(' and ')} and nothing else`)
  const items = names.map((name) => normalItems(lists[name] as object[]))
  const operationBody = canonicalJson([type, ...items])
  return {
    operationId: id,
    operationBody,
    expected: items.length === 1 ? [] : items[0]!,
    replacement: items.at(-1)!,
  }
}
