import { isDeepStrictEqual } from 'node:util'
import { invalid, isUndertextError, UndertextError } from '../../errors.ts'
import { check, nameSchema } from '../../messages/check.ts'
import { canonicalJson } from '../../messages/json.ts'
import type { Message, NewMessage, StoredMessage, ViewMessage } from '../../messages/message.ts'
import { type RenderOptions, renderView } from '../../rendering/render.ts'
import type { ConversionOptions } from '../conversion.ts'
import { isObject, listAt, objectAt, stringAt } from '../wire.ts'
import { fromAgentItems } from './from-items.ts'
import type { AgentFunctionCallItem, AgentItem } from './item-types.ts'
import type { SessionStore } from './session-options.ts'
import { toAgentItems, toItemsOfEach } from './to-items.ts'

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

/** What is to be done with a history as it stands. Asked again when somebody else changed it meanwhile. */
export type Decide = (rows: readonly ShownRow[], originals: Originals) => Rewrite

/** An id under which a rewrite is done once, and what it is. */
export type Operation = { readonly operationId: string; readonly operationBody: string }

type Said = Partial<Operation> & { readonly reason: string; readonly actor?: string }

/** Takes back what a decision says and appends what it says, in one transaction. What the decision throws ends it. */
export async function rewriteHistory(
  store: SessionStore,
  sessionId: string,
  show: (view: readonly ViewMessage[]) => readonly ShownRow[],
  decide: Decide,
  said: Said,
): Promise<void> {
  const originals = new Map<string, StoredMessage>()
  for (;;) {
    let append: readonly NewMessage[] = []
    const from = (view: readonly ViewMessage[]) => {
      const rows = show(view)
      const rewrite = decide(rows, originals)
      if (rewrite === undefined) throw new NothingToDo()
      append = rewrite.append
      const first = rows[rewrite.from]
      return first === undefined ? ('end' as const) : { messageId: first.row.id }
    }
    try {
      await store.rewind(sessionId, { from, append: () => append, keepCompactions: true, ...said })
      return
    } catch (error) {
      if (error instanceof NothingToDo) return
      if (error instanceof OriginalsNeeded) await fetchOriginals(store, sessionId, error.rows, originals)
      else if (said.operationId !== undefined && isUndertextError(error, 'SESSION_NOT_FOUND'))
        await make(store, sessionId)
      else throw error
    }
  }
}

class NothingToDo extends Error {}

async function fetchOriginals(
  store: SessionStore,
  sessionId: string,
  rows: readonly ViewMessage[],
  originals: Map<string, StoredMessage>,
): Promise<void> {
  for (const { id, position = 1 } of rows) {
    const [message] = await store.getMessages(sessionId, { after: position - 1, limit: 1 })
    if (message?.id !== id) throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId, messageId: id })
    originals.set(id, message)
  }
}

/** A transaction that says nothing has nowhere to be remembered without a session. */
async function make(store: SessionStore, sessionId: string): Promise<void> {
  try {
    await store.createSession({ id: sessionId })
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_EXISTS')) throw error
  }
}

/** A row of a view and the items it is shown as: one for what was added as an item, more or none for messages of others. */
export type ShownRow = { readonly row: ViewMessage; readonly shown: readonly AgentItem[] }

/** How rows that a compaction inserted are shown. */
type InsertedManner = Pick<RenderOptions, 'summaryRole' | 'summaryHeader' | 'preset'>

/** The rows of a view with the items they are shown as. */
export function shownRows(
  view: readonly ViewMessage[],
  manner: InsertedManner,
  options: ConversionOptions,
): ShownRow[] {
  const messages = view.map((row) => shownMessages(row, manner))
  const items = toItemsOfEach(messages.flat(), options)
  let next = 0
  return view.map((row, i) => {
    const from = next
    next += messages[i]!.length
    return { row, shown: items.slice(from, next).flat() }
  })
}

/** What a row says to a model. Parts that are shown as nothing say nothing; a row of them alone is none. */
function shownMessages(row: ViewMessage, manner: InsertedManner): readonly Message[] {
  if (row.kind !== 'message') return renderView([row], { ...manner, provider: 'openai' }).messages
  const { replacedParts, content } = row
  if (replacedParts === undefined || typeof content === 'string') return [row]
  const left = content.filter(
    (part, i) =>
      !((part.type === 'text' || part.type === 'reasoning') && part.text === '' && replacedParts.includes(i)),
  )
  return left.length === 0 ? [] : [{ ...row, content: left }]
}

/** Thrown where rows are needed as they were said, and are known only as they are shown. */
export class OriginalsNeeded extends Error {
  readonly rows: readonly ViewMessage[]

  constructor(rows: readonly ViewMessage[]) {
    super('originals of replaced rows are needed')
    this.rows = rows
  }
}

/** Rows as they were said, by id: contents never change, so one look is enough. */
export type Originals = ReadonlyMap<string, StoredMessage>

/** The row as it was said. Throws `OriginalsNeeded`, naming it and all of the rows behind it that are shown differently. */
export function saidAt(rows: readonly ShownRow[], index: number, originals: Originals): Message {
  const { row } = rows[index]!
  if (row.replacedParts === undefined || row.kind !== 'message') return row
  const original = originals.get(row.id)
  if (original !== undefined) return original
  throw new OriginalsNeeded(
    rows
      .slice(index)
      .flatMap(({ row: { id }, row: other }) =>
        other.replacedParts !== undefined && other.kind === 'message' && !originals.has(id) ? [other] : [],
      ),
  )
}

/** The items of a row as they were added, previews and placeholders aside; none where none are shown. */
export function itemsSaidAt(
  rows: readonly ShownRow[],
  index: number,
  originals: Originals,
): readonly AgentItem[] {
  const { row, shown } = rows[index]!
  const said = shown.length === 0 ? row : saidAt(rows, index, originals)
  // A row that is shown as it was said keeps what its neighbours say about it (the name of a tool).
  return said === row ? shown : toItemsOfEach([said], {}).flat()
}

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
