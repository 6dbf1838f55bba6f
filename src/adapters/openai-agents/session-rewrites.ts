import { isDeepStrictEqual } from 'node:util'
import { invalid, isUndertextError, UndertextError } from '../../core/errors.ts'
import { check, nameSchema } from '../../core/messages/check.ts'
import { canonicalJson, isObject } from '../../core/messages/json.ts'
import {
  type Message,
  type NewMessage,
  type Part,
  partsOf,
  type StoredMessage,
  type ToolResultPart,
  type ViewMessage,
} from '../../core/messages/message.ts'
import { resultAsParts } from '../../core/rendering/contents.ts'
import { type RenderOptions, renderView } from '../../core/rendering/render.ts'
import type { RewindOptions } from '../../store/rewind.ts'
import type { ConversionOptions } from '../conversion.ts'
import { oneOf } from '../shapes.ts'
import { listAt, objectAt, stringAt } from '../wire.ts'
import { fromAgentItems } from './from-items.ts'
import type { AgentFunctionCallItem, AgentItem } from './item-shapes.ts'
import type { SessionStore } from './session-options.ts'
import { toAgentItems, toItemsOfEach } from './to-items.ts'

/** A change of a history, applied atomically and once per operation id. */
export type HistoryTransaction =
  | { readonly type: 'append_items'; readonly items: readonly object[] }
  | {
      readonly type: 'replace_suffix'
      readonly expectedSuffix: readonly object[]
      readonly replacement: readonly object[]
    }

/** A checked transaction with its items in stored form, and the text that identifies it. */
type CheckedTransaction = {
  readonly operationId: string
  readonly operationBody: string
  /** The items expected at the end; empty for an append. */
  readonly expected: readonly AgentItem[]
  readonly replacement: readonly AgentItem[]
}

const FIELDS: { readonly [type in HistoryTransaction['type']]: readonly string[] } = {
  append_items: ['items'],
  replace_suffix: ['expectedSuffix', 'replacement'],
}

/** Checks a transaction. Throws `INVALID_INPUT` for another form, and for values that are not items. */
export function checkTransaction(args: unknown): CheckedTransaction {
  const what = 'applyHistoryTransaction'
  const { operationId, transaction } = isObject(args) ? args : ({} as { readonly [name: string]: unknown })
  const id = check(nameSchema, operationId, `${what}: operationId`)
  if (id.trim() === '') throw invalid(`${what}: operationId: must not be blank`)
  const { type, ...lists } = objectAt(transaction, `${what}: transaction`)
  const names = FIELDS[oneOf('append_items', 'replace_suffix')(type, `${what}: transaction.type`)]
  if (Object.keys(lists).length !== names.length || !names.every((name) => Array.isArray(lists[name])))
    throw invalid(`${what}: transaction: must have the lists ${names.join(' and ')} and nothing else`)
  const items = names.map((name) => normalizeItems(lists[name] as object[]))
  const operationBody = canonicalJson([type, ...items])
  return {
    operationId: id,
    operationBody,
    expected: items.length === 1 ? [] : items[0]!,
    replacement: items.at(-1)!,
  }
}

/** Decides how a history is rewritten. Called again when the history changed meanwhile. */
export type Decide = (rows: readonly ShownRow[], originals: Originals) => Rewrite

/** The id under which a rewrite is applied once, and the text that identifies it. */
export type Operation = { readonly operationId: string; readonly operationBody: string }

type RewindDetails = Partial<Operation> &
  Pick<RewindOptions, 'reason' | 'params'> & { readonly actor?: string }

/** Rewinds and appends as decided, in one transaction. An error of the decision aborts it. */
export async function rewriteHistory(
  store: SessionStore,
  sessionId: string,
  show: (view: readonly ViewMessage[]) => readonly ShownRow[],
  decide: Decide,
  details: RewindDetails,
): Promise<void> {
  const originals = new Map<string, StoredMessage>()
  for (;;) {
    let append: readonly NewMessage[] = []
    const from = (view: readonly ViewMessage[]) => {
      const rows = show(view)
      const rewrite = decide(rows, originals)
      if (rewrite === undefined) throw new NoChange()
      append = rewrite.append
      const first = rows[rewrite.from]
      return first === undefined ? ('end' as const) : { beforeMessage: first.row.id }
    }
    try {
      await store.rewind(sessionId, { from, append: () => append, keepCompactions: true, ...details })
      return
    } catch (error) {
      if (error instanceof NoChange) return
      if (error instanceof OriginalsNeeded) await fetchOriginals(store, sessionId, error.rows, originals)
      else if (!isUndertextError(error, 'SESSION_NOT_FOUND')) throw error
      else if (details.operationId !== undefined) {
        await createIfMissing(store, sessionId)
        // If another owner has it, it exists but counts as not found.
        await store.sessions.get(sessionId)
      } else if (decide([], originals) === undefined) return
      else throw error
    }
  }
}

class NoChange extends Error {}

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

/** A transaction is recorded in its session, so the session must exist. */
async function createIfMissing(store: SessionStore, sessionId: string): Promise<void> {
  try {
    await store.sessions.create({ id: sessionId })
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_EXISTS')) throw error
  }
}

/** A row of a view and the items it is shown as: one for a message added as an item, more or none for other messages. */
export type ShownRow = { readonly row: ViewMessage; readonly shown: readonly AgentItem[] }

/** How rows inserted by a compaction are shown. */
type InsertedManner = Pick<RenderOptions, 'summaryRole' | 'summaryHeader' | 'preset'>

/** The rows of a view with the items they are shown as. */
export function shownRows(
  view: readonly ViewMessage[],
  manner: InsertedManner,
  options: ConversionOptions,
): ShownRow[] {
  const rows = withResultsOfTexts(view)
  const messages = rows.map((row) => shownMessages(row, manner))
  const items = toItemsOfEach(messages.flat(), options)
  let next = 0
  return rows.map((row, i) => {
    const from = next
    next += messages[i]!.length
    return { row, shown: items.slice(from, next).flat() }
  })
}

/** The rows, with a result as text if a repair shows its call as text, because the API rejects a result without its call. */
function withResultsOfTexts(view: readonly ViewMessage[]): readonly ViewMessage[] {
  const isText = ({ kind, role, content, replacedParts }: ViewMessage): boolean =>
    kind === 'message' &&
    role === 'assistant' &&
    typeof content !== 'string' &&
    replacedParts?.some((part) => content[part]?.type === 'text') === true
  const from = view.findIndex(isText)
  if (from === -1) return view
  const calls = new Set<string>()
  for (const row of view)
    for (const part of partsOf(row)) if (part.type === 'tool-call') calls.add(part.toolCallId)
  return view.map((row, at) => {
    const parts = partsOf(row)
    const isLone = (part: Part): part is ToolResultPart =>
      part.type === 'tool-result' && !calls.has(part.toolCallId)
    if (at < from || row.role !== 'tool' || !parts.some(isLone)) return row
    // The row is shown with content other than its own, like a row with a replacement.
    const content = parts.flatMap((part) => (isLone(part) ? resultAsParts(part) : [part]))
    const role = content.some(({ type }) => type === 'tool-result') ? 'tool' : 'user'
    return { ...row, role, content, replacedParts: row.replacedParts ?? [] }
  })
}

/** The messages a row is sent as. Emptied parts are dropped, and so is a row that holds nothing else. */
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

/** Thrown when the original content of rows is needed, and only their shown content is known. */
class OriginalsNeeded extends Error {
  readonly rows: readonly ViewMessage[]

  constructor(rows: readonly ViewMessage[]) {
    super('originals of replaced rows are needed')
    this.rows = rows
  }
}

/** Original rows by id. Contents never change, so each is read once. */
type Originals = ReadonlyMap<string, StoredMessage>

/** The original row. Throws `OriginalsNeeded` for this row and all later rows that are shown with other content. */
function originalRow(rows: readonly ShownRow[], index: number, originals: Originals): Message {
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

/** The original items of a row, without previews and placeholders; none for a row that is not shown. */
function originalItems(rows: readonly ShownRow[], index: number, originals: Originals): readonly AgentItem[] {
  const { row, shown } = rows[index]!
  const message = shown.length === 0 ? row : originalRow(rows, index, originals)
  // Items shown unchanged also hold what other rows provide (the name of a tool).
  return message === row ? shown : toItemsOfEach([message], {}).flat()
}

/* How the SDK changes a history: pure functions of the view, so that they can run again if the history has changed meanwhile. */

/** The first row to hide (the number of rows: none), and the messages to append. `undefined`: nothing to do. */
type Rewrite = { readonly from: number; readonly append: readonly NewMessage[] } | undefined

/** Replaces the arguments or the name of one call in the history. */
export type HistoryMutation = {
  readonly type: 'replace_function_call'
  readonly callId: string
  readonly replacement: AgentFunctionCallItem
}

/** The newest item, and the rewrite that removes it. Other items of its row stay. */
export function popNewest(
  rows: readonly ShownRow[],
  originals: Originals,
): { readonly item: AgentItem; readonly rewrite: Rewrite } | undefined {
  const from = rows.findLastIndex(({ shown }) => shown.length > 0)
  if (from === -1) return undefined
  const items = originalItems(rows, from, originals)
  const item = items.at(-1)
  return item && { item, rewrite: { from, append: fromAgentItems(items.slice(0, -1)) } }
}

/** Items in stored form, so that equal items compare equal; copied. */
function normalizeItems(items: readonly object[]): AgentItem[] {
  return structuredClone(toAgentItems(fromAgentItems(items)))
}

/** Checked mutations with replacements in stored form. Throws `INVALID_INPUT`. */
export function checkMutations(args: unknown): HistoryMutation[] {
  const { mutations } = objectAt(args, 'applyHistoryMutations')
  return listAt(mutations, 'mutations').map((mutation, i) => {
    const place = `mutations[${i}]`
    const { type, callId, replacement } = objectAt(mutation, place)
    if (type !== 'replace_function_call') throw invalid(`${place}.type: must be replace_function_call`)
    if (objectAt(replacement, `${place}.replacement`).type !== 'function_call')
      throw invalid(`${place}.replacement.type: must be function_call`)
    const [call] = normalizeItems([replacement as object])
    return { type, callId: stringAt(callId, `${place}.callId`), replacement: call as AgentFunctionCallItem }
  })
}

/** The rewrite that replaces the newest items; `'other'` when the newest items are not the expected ones. */
export function replaceSuffix(
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
    newestFirst.push(originalItems(rows, from, originals))
  }
  const found = newestFirst.reverse().flat()
  const before = found.slice(0, Math.max(found.length - expected.length, 0))
  const end = normalizeItems(found.slice(before.length))
  if (!isDeepStrictEqual(end, expected)) return 'other'
  return { from, append: [...fromAgentItems(before), ...append] }
}

/**
 * The rewrite that changes calls: rewinds from the first changed row, and appends everything after it again with the changes. Of several
 * calls with one id the first is replaced and the others are removed, as the SDK's own sessions do.
 */
export function applyMutations(
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
    const { role, content, metadata } = originalRow(rows, from + i, originals)
    return [{ role, content, createdAt: row.createdAt, ...(metadata !== undefined && { metadata }) }]
  })
  return { from, append }
}
